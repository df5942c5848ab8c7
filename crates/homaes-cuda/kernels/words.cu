// Operations word by word, modulo one prime.

// Σ_t c_t · x_t for every row of constants, the first parts plus a number. Lists of ciphertexts, at most 32 terms each:
//
//     constants  [limb][row of the ring][row of constants][term]
//     sources    [list][part][term]
//     outs       [list][row of constants][part][limb][N]
extern "C" __global__ void __launch_bounds__(128) combine_limbs(
    const num* primes, const int* prime_of, const num* constants, const num* plus, int rows, int terms, const __grid_constant__ Sources sources, u64* outs) {
    AFTER_THE_LAST();
    int limb = blockIdx.y, limbs = gridDim.y, list = blockIdx.z >> 1, part = blockIdx.z & 1;
    Mod k = modulus(prime_at(primes, prime_of[limb]));
    int at = blockIdx.x * blockDim.x + threadIdx.x, row = (at >> 3) / WIDTH;
    const u64* const* own = sources.at + blockIdx.z * terms;
    const num* c = constants + 2 * (16 * limb + row) * rows * terms;
    for (int r = 0; r < rows; r++) {
        num sum = part ? 0 : plus[limb];
        for (int t = 0; t < terms; t++, c += 2) sum += mul_by(k, centred(k, own[t][limb * N + at]), constant(c));
        outs[((long long)(2 * (list * rows + r) + part) * limbs + limb) * N + at] = lazy(k, reduce(k, sum));
    }
}

extern "C" __global__ void __launch_bounds__(128) sum_limbs(const num* primes, const int* prime_of, const u64* a, const u64* b, u64* out) {
    AFTER_THE_LAST();
    int limb = blockIdx.y;
    Mod k = modulus(prime_at(primes, prime_of[limb]));
    int at = limb * N + blockIdx.x * blockDim.x + threadIdx.x;
    out[at] = lazy(k, reduce(k, centred(k, a[at]) + centred(k, b[at])));
}

// The components of x · σ(y): under 1, s and s² if there are three, otherwise under 1, s, σ(s) and s·σ(s). Those that
// will be switched are times a constant, which is over R as `scale`.
extern "C" __global__ void __launch_bounds__(128) tensor_limbs(
    const num* primes, const int* prime_of, const num* scale, const __grid_constant__ Factors factors, Map map, int components, u64* outs) {
    AFTER_THE_LAST();
    int limb = blockIdx.y, limbs = gridDim.y;
    const num* constants = prime_at(primes, prime_of[limb]);
    Mod k = modulus(constants);
    Factor unit = constant(constants + UNIT), f = constant(scale + 2 * limb);
    int word = blockIdx.x * blockDim.x + threadIdx.x, at = limb * N + word;
    Place place = {(word >> 3) / WIDTH, (word >> 3) & (WIDTH - 1), word & 7};
    int from = limb * N + word_of(source_of(map, place));
    Both x[2];
    num y[2];
#pragma unroll
    for (int part = 0; part < 2; part++) {
        x[part] = centred_both(k, factors.x[part][at]);
        y[part] = centred(k, factors.y[part][from]);
    }
    Both y0 = both(k, mul_by(k, y[0], unit)), y1 = both(k, mul_by(k, y[1], f));
    num out[4] = {mul(k, x[0], y0), mul(k, x[1], y0), mul(k, x[0], y1), mul(k, x[1], y1)};
    if (components == 3) {
        out[1] = reduce(k, out[1] + mul(k, x[0], both(k, mul_by(k, y[1], unit))));
        out[2] = out[3];
    }
#pragma unroll
    for (int i = 0; i < 4; i++)
        if (i < components) outs[i * limbs * N + at] = lazy(k, out[i]);
}
