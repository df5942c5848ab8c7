// All rows kernels: block (row, limb, item) of 128 threads, or of 8 where there is no axis of 257. `VALUE` is the value at word `at` of the limb, in terms of row, col and
// lane.
#define ROWS(VALUE)                                                                          \
    __shared__ double shared[16 * 136];                                                      \
    int row = blockIdx.x, lane = threadIdx.x & 7, j = threadIdx.x >> 3;                      \
    if (cols == 1) {                                                                         \
        int col = 0, at = row * 8 + lane;                                                    \
        (void)col;                                                                           \
        out[at] = lazy(k, reduce(k, VALUE));                                                 \
        return;                                                                              \
    }                                                                                        \
    double x[16];                                                                            \
    _Pragma("unroll") for (int i = 0; i < 16; i++) {                                         \
        int col = 16 * i + j, at = (row * 256 + col) * 8 + lane;                             \
        (void)col;                                                                           \
        x[i] = VALUE;                                                                        \
    }                                                                                        \
    axis257(k, t, shared, x);                                                                \
    _Pragma("unroll") for (int i = 0; i < 16; i++) out[(row * 256 + 16 * i + j) * 8 + lane] = lazy(k, x[i]);

// The first axis of the way back, of limbs `place` of the sources.
extern "C" __global__ void __launch_bounds__(128) rows_inverse(
    const double* primes, int rows, int cols, const int* prime_of, const int* place, const u64* const* sources, u64* outs) {
    int limb = blockIdx.y, item = blockIdx.z;
    long long n = (long long)rows * cols * 8;
    const double* prime = prime_at(primes, prime_of[limb]);
    Mod k = modulus(prime);
    const double* t = tables(prime, 1);
    const u64* source = sources[item] + place[limb] * n;
    u64* out = outs + ((long long)item * gridDim.y + limb) * n;
    ROWS(load(source[at]))
}

// The first axis of the way back, of the parts of a product that are switched: x * sigma(y) * scale, for x and y of each part.
extern "C" __global__ void __launch_bounds__(128) rows_product(
    const double* primes, int rows, int cols, const int* prime_of, const double* scale, const u64* const* xs, const u64* const* ys, Map map,
    u64* outs) {
    int limb = blockIdx.y, item = blockIdx.z;
    long long n = (long long)rows * cols * 8;
    const double* prime = prime_at(primes, prime_of[limb]);
    Mod k = modulus(prime);
    const double* t = tables(prime, 1);
    const u64 *x0 = xs[item] + limb * n, *y0 = ys[item] + limb * n;
    const double* c = scale + 2 * limb;
    u64* out = outs + ((long long)item * gridDim.y + limb) * n;
    ROWS(mul(k, centred(k, x0[at]), mul_const(k, centred(k, y0[source_of(map, rows, cols, row, col, lane)]), c)))
}

// (1) Base conversion to each target and the first axis there. An item is a digit of an element: item = element * digits + digit.
extern "C" __global__ void __launch_bounds__(128) rows_combine(
    const double* primes, int rows, int cols, const int* prime_of, const double* constants, const int* places, const int* counts,
    const int* skip, int digits, const u64* ys, int y_limbs, const u64* vs, u64* outs) {
    int target = blockIdx.y, item = blockIdx.z, targets = gridDim.y;
    int element = item / digits, digit = item % digits;
    if (skip[digit * targets + target]) return;
    long long n = (long long)rows * cols * 8;
    const double* prime = prime_at(primes, prime_of[target]);
    Mod k = modulus(prime);
    const double* t = tables(prime, 0);
    const u64* y = ys + (long long)element * y_limbs * n;
    const u64* v = vs + (long long)item * n;
    const double* c = constants + (long long)(digit * targets + target) * SOURCES;
    const int* place = places + digit * SOURCES;
    int count = counts[digit];
    u64* out = outs + ((long long)item * targets + target) * n;
    __shared__ double shared[16 * 136];
    int row = blockIdx.x, lane = threadIdx.x & 7, j = threadIdx.x >> 3;
    int per_thread = cols == 1 ? 1 : 16;
    double x[16];
    Sum sums[16];
#pragma unroll
    for (int i = 0; i < 16; i++) clear(sums[i]);
    int first = row * cols * 8 + j * 8 + lane;
    for (int s = 0; s <= count; s++) {
        const u64* source = (s < count ? y + place[s] * n : v) + first;
        double w = c[s];
#pragma unroll
        for (int i = 0; i < 16; i++)
            if (i < per_thread) add(sums[i], load(source[128 * i]), w);
    }
#pragma unroll
    for (int i = 0; i < 16; i++) x[i] = reduce(k, reduce(k, sums[i]));
    if (cols == 1) {
        out[first] = lazy(k, x[0]);
        return;
    }
    axis257(k, t, shared, x);
#pragma unroll
    for (int i = 0; i < 16; i++) out[first + 128 * i] = lazy(k, x[i]);
}

