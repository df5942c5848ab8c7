// The rows of a conversion from some primes to others: back from the axis of 257 for each source, the conversion, and forward for each target.
//
// A block has a tile of one digit of an element. Its warps take the sources in turn, and then the targets; where there are few blocks, several share
// the targets of one:
//
//     words   [element][limb][N]           after the columns of the way back, in the order of tiles
//     y       [count + 1][TILE], shared    coefficients times a constant, canonical; the last are the quotients
//     outs    [element][digit][target][N]  before the columns of the way forward, in the order of tiles: doubles, not reduced
//
// The conversion to p is Σ y_s c_s, where c_s is a constant modulo p. A thread sums it modulo 2^59, and rounded, divided by p, which gives the
// quotient. To have both from one load, y is kept as the double 1 + y / 2^47, whose bits are those of 1 plus 32 y.

// sources of a digit, the quotient among them
#define SOURCES 16
#define ONE_BITS 0x3ff0000000000000ull
#define TWO_47 140737488355328.0

struct Target {
    // -Σ 2^47 c_s/p, and -Σ ONE_BITS c_s + 32 MAGIC_BITS p
    double near;
    u64 low;
    // c_s, and 2^47 c_s/p
    struct {
        u64 whole;
        double part;
    } c[SOURCES];
};

struct Digit {
    // how many, and their places among the limbs
    int count, places[SOURCES];
    // how many, and their places among the targets of all digits
    int targets, target[47];
    // 2^47 / p
    double inverses[SOURCES];
};

#define FOR_POINTS(i) _Pragma("unroll") for (int i = 0; i < PER; i++)

static __device__ inline double converted(Mod k, double near, u64 low) {
    low -= bits(near + MAGIC) * (32 * k.whole);
    return small((u64)((long long)low >> 5));
}

extern "C" __global__ void __launch_bounds__(192, 3) rows_convert(
    const double* primes, const int* source_prime, const int* target_prime, int targets, const double* scale, const Digit* digits,
    int digit_count, const Target* table, const u64* words, int limbs, u64* outs) {
    AFTER_THE_LAST();
    DYNAMIC_SHARED(shared);
    int warp = UNIFORM((int)threadIdx.x >> 5), thread = threadIdx.x & 31, warps = blockDim.x >> 5;
    int tile = blockIdx.x, element = blockIdx.y / digit_count, number = blockIdx.y % digit_count;
    const Digit& digit = digits[number];
    int count = digit.count;
    double* scratch = shared + warp * SCRATCH;
    double* y = shared + warps * SCRATCH;
    words += (long long)element * limbs * N + tile * TILE + thread;
#pragma unroll 1
    for (int s = warp; s < count; s += warps) {
        int place = digit.places[s], prime = source_prime[place];
        const double* constants = prime_at(primes, prime);
        Mod k = modulus(constants);
        double x[PER];
        FOR_POINTS(i) x[i] = centred(k, words[(long long)place * N + 32 * i]);
        axis257(k, tables(constants, 1), ROOTS(prime, 1), scratch, x);
        FOR_POINTS(i) {
            double v = mul_const(k, x[i], scale + 2 * place);
            y[s * TILE + 32 * i + thread] = fma(v < 0.0 ? v + k.p : v, 1.0 / TWO_47, 1.0);
        }
    }
    __syncthreads();
    // the nearest integer to the sum of y_s / p_s, with the roundings of the processor
    for (int i = threadIdx.x; i < TILE; i += blockDim.x) {
        double sum = 0.5;
        for (int s = 0; s < count; s++) sum = sum + (y[s * TILE + i] - 1.0) * digit.inverses[s];
        y[count * TILE + i] = fma(floor(sum), 1.0 / TWO_47, 1.0);
    }
    __syncthreads();
#pragma unroll 1
    for (int t = blockIdx.z * warps + warp; t < digit.targets; t += gridDim.z * warps) {
        int at = digit.target[t], prime = target_prime[at];
        const Target& target = table[number * targets + at];
        const double* constants = prime_at(primes, prime);
        Mod k = modulus(constants);
        double x[PER];
        double near[PER];
        u64 low[PER];
        FOR_POINTS(i) {
            near[i] = target.near;
            low[i] = target.low;
        }
#pragma unroll 1
        for (int s = 0; s <= count; s++) {
            u64 c = target.c[s].whole;
            double part = target.c[s].part;
            FOR_POINTS(i) {
                double v = y[s * TILE + 32 * i + thread];
                near[i] = fma(v, part, near[i]);
                low[i] += bits(v) * c;
            }
        }
        FOR_POINTS(i) x[i] = converted(k, near[i], low[i]);
        axis257(k, tables(constants, 0), ROOTS(prime, 0), scratch, x);
        u64* out = outs + ((long long)blockIdx.y * targets + at) * N + tile * TILE + thread;
        FOR_POINTS(i) out[32 * i] = bits(x[i]);
    }
}
