// The rows of a base conversion: inverse transform on the axis of 257 for each source, the conversion, forward
// transform for each target.
//
// A block has a tile of one digit of an element. Its warps take the sources in turn, then the targets. If there are few
// blocks, several share the targets of one:
//
//     words   [element][limb][N]           after the columns of the inverse transform, in tile order
//     y       [count + 1][TILE], shared    canonical coefficients times a constant, as kept, and quotients
//     outs    [element][digit][target][N]  before the columns of the forward transform, in tile order, not reduced

struct Digit {
    // number of sources, and their positions among the limbs
    int count, places[SOURCES];
    // number of targets, and their positions among those of all digits
    int targets, target[47];
    // 2^PRIME_BITS / p
    double inverses[SOURCES];
};

#define FOR_POINTS(i) _Pragma("unroll") for (int i = 0; i < PER; i++)

extern "C" __global__ void __launch_bounds__(320, 2) rows_convert(
    const num* primes, const int* source_prime, const int* target_prime, int targets, const num* scale, const Digit* digits,
    int digit_count, const Target* table, const u64* words, int limbs, u64* outs) {
    AFTER_THE_LAST();
    DYNAMIC_SHARED(shared);
    int warp = UNIFORM((int)threadIdx.x >> 5), thread = threadIdx.x & 31, warps = blockDim.x >> 5;
    int tile = blockIdx.x, element = blockIdx.y / digit_count, number = blockIdx.y % digit_count;
    const Digit& digit = digits[number];
    int count = digit.count;
    num* scratch = shared + warp * SCRATCH;
    num* y = shared + warps * SCRATCH;
    words += (long long)element * limbs * N + tile * TILE + thread;
#pragma unroll 1
    for (int s = warp; s < count; s += warps) {
        int place = digit.places[s], prime = source_prime[place];
        const num* constants = prime_at(primes, prime);
        Mod k = modulus(constants);
        num x[PER];
        FOR_POINTS(i) x[i] = centred(k, words[(long long)place * N + 32 * i]);
        axis257(k, tables(constants, 1), ROOTS(prime, 1), scratch, x);
        FOR_POINTS(i) y[s * TILE + 32 * i + thread] = kept(k, mul_by(k, x[i], constant(scale + 2 * place)));
    }
    __syncthreads();
    for (int i = threadIdx.x; i < TILE; i += blockDim.x) y[count * TILE + i] = nearest(y + i, digit.inverses, count);
    __syncthreads();
#pragma unroll 1
    for (int t = blockIdx.z * warps + warp; t < digit.targets; t += gridDim.z * warps) {
        int at = digit.target[t], prime = target_prime[at];
        const Target& target = table[number * targets + at];
        const num* constants = prime_at(primes, prime);
        Mod k = modulus(constants);
        num x[PER];
#pragma unroll
        for (int first = 0; first < PER; first += SUMS) {
            Conversion sums[SUMS];
#pragma unroll
            for (int i = 0; i < SUMS; i++) begin(sums[i], target);
#pragma unroll 1
            for (int s = 0; s <= count; s++) {
                const num* own = y + s * TILE + 32 * first + thread;
#pragma unroll
                for (int i = 0; i < SUMS; i++) add(sums[i], own[32 * i], target, s);
            }
#pragma unroll
            for (int i = 0; i < SUMS; i++) x[first + i] = converted(k, sums[i]);
        }
        axis257(k, tables(constants, 0), ROOTS(prime, 0), scratch, x);
        u64* out = outs + ((long long)blockIdx.y * targets + at) * N + tile * TILE + thread;
        FOR_POINTS(i) out[32 * i] = bits(x[i]);
    }
}
