// Operations on numbers, to test their bounds: 0 mul_by, 1 reduce, 2 turned, 3 sum_by of x and itself, 4 mul of a word
// and its product by the factor, 5 a sum of TERMS such products.
extern "C" __global__ void test_numbers(const num* primes, int prime, int operation, const u64* x, const num* factors, u64* out) {
    AFTER_THE_LAST();
    int at = blockIdx.x * blockDim.x + threadIdx.x;
    Mod k = modulus(prime_at(primes, prime));
    num own = number(x[at]), result = 0;
    const num* f = factors + 2 * at;
    if (operation == 0) result = mul_by(k, own, constant(f));
    if (operation == 1) result = reduce(k, own);
    if (operation == 2) result = turned(k, own, f, 0);
    if (operation == 3) result = sum_by(k, own, f, own, f);
    Both a = centred_both(k, x[at]), b = both(k, mul_by(k, load(x[at]), constant(f)));
    if (operation == 4) result = mul(k, a, b);
    if (operation == 5) {
        Sum s;
        clear(s);
        for (int i = 0; i < TERMS; i++) add(s, a, b);
        result = reduce(k, s);
    }
    out[at] = bits(result);
}

// The quotients of conversions of `count` sources; y has room for as many tiles.
extern "C" __global__ void test_nearest(const u64* x, const double* inverses, int count, num* y, u64* out) {
    AFTER_THE_LAST();
    int at = threadIdx.x;
    Mod none = {};
    for (int s = 0; s < count; s++) y[s * TILE + at] = kept(none, (num)x[s * blockDim.x + at]);
    out[at] = bits(nearest(y + at, inverses, count));
}
