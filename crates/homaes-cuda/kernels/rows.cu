// The rows of a conversion from some primes to others: back from the axis of 257 for each source, the conversion, and forward for each target.
//
// A block has a tile of one digit of an element. Its warps take the sources in turn, and then the targets, two at a time:
//
//     words   [element][limb][N]           after the columns of the way back, in the order of tiles
//     y       [count + 1][TILE], shared    coefficients times a constant, canonical; the last are the quotients
//     outs    [element][digit][target][N]  before the columns of the way forward, in the order of tiles
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

extern "C" __global__ void __launch_bounds__(192, 2) rows_convert(
    const double* primes, const int* source_prime, const int* target_prime, int targets, const double* scale, const Digit* digits,
    int digit_count, const Target* table, const u64* words, int limbs, u64* outs) {
    DYNAMIC_SHARED(shared);
    int warp = UNIFORM((int)threadIdx.x >> 5), thread = threadIdx.x & 31, warps = blockDim.x >> 5;
    int tile = blockIdx.x, element = blockIdx.y / digit_count, number = blockIdx.y % digit_count;
    const Digit& digit = digits[number];
    int count = digit.count;
    double* scratch = shared + warp * (SCRATCH + TILE);
    double* parked = scratch + SCRATCH + thread;
    double* y = shared + warps * (SCRATCH + TILE);
    words += (long long)element * limbs * N + tile * TILE + thread;
#pragma unroll 1
    for (int s = warp; s < count; s += warps) {
        int place = digit.places[s], prime = source_prime[place];
        const double* constants = prime_at(primes, prime);
        Mod k = modulus(constants);
        double x[PER];
        FOR_POINTS(i) x[i] = centred(k, words[(long long)place * N + 32 * i]);
        axis257(k, tables(constants, 1), roots[prime][1], scratch, x);
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
    for (int t = 2 * warp; t < digit.targets; t += 2 * warps) {
        int pair = t + 1 < digit.targets, a = digit.target[t], b = digit.target[t + pair];
        const Target &ta = table[number * targets + a], &tb = table[number * targets + b];
        int prime = target_prime[a], next = target_prime[b];
        Mod ka = modulus(prime_at(primes, prime)), kb = modulus(prime_at(primes, next));
        double x[PER];
#pragma unroll
        for (int h = 0; h < PER; h += 8) {
            double near_a[8], near_b[8];
            u64 low_a[8], low_b[8];
#pragma unroll
            for (int i = 0; i < 8; i++) {
                near_a[i] = ta.near;
                near_b[i] = tb.near;
                low_a[i] = ta.low;
                low_b[i] = tb.low;
            }
#pragma unroll 1
            for (int s = 0; s <= count; s++) {
                u64 ca = ta.c[s].whole, cb = tb.c[s].whole;
                double qa = ta.c[s].part, qb = tb.c[s].part;
#pragma unroll
                for (int i = 0; i < 8; i++) {
                    if (h + i < PER) {
                        double v = y[s * TILE + 32 * (h + i) + thread];
                        near_a[i] = fma(v, qa, near_a[i]);
                        low_a[i] += bits(v) * ca;
                        near_b[i] = fma(v, qb, near_b[i]);
                        low_b[i] += bits(v) * cb;
                    }
                }
            }
#pragma unroll
            for (int i = 0; i < 8; i++) {
                if (h + i < PER) {
                    x[h + i] = converted(ka, near_a[i], low_a[i]);
                    parked[32 * (h + i)] = converted(kb, near_b[i], low_b[i]);
                }
            }
        }
        u64* out = outs + ((long long)blockIdx.y * targets + a) * N + tile * TILE + thread;
#pragma unroll 1
        for (int second = 0; second <= pair; second++) {
            if (second) {
                FOR_POINTS(i) x[i] = parked[32 * i];
                out += (long long)(b - a) * N;
                prime = next;
            }
            const double* constants = prime_at(primes, prime);
            Mod k = modulus(constants);
            axis257(k, tables(constants, 0), roots[prime][0], scratch, x);
            FOR_POINTS(i) out[32 * i] = lazy(k, reduce(k, x[i]));
        }
    }
}
