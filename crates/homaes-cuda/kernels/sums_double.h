// Sums of products in double precision, on the numbers of arithmetic_double.h.

// A sum of at most TERMS products of numbers within p: rounded, off by at most 5p, and exact mod 2^64.
struct Sum {
    double near;
    u64 low;
};
#define TERMS (PRIME_BITS == 48 ? 12 : 24)

static __device__ inline void clear(Sum& s) {
    s.near = 0.0;
    s.low = 0;
}

static __device__ inline void add(Sum& s, Both x, Both y) {
    s.near = fma(x.number, y.number, s.near);
    s.low += x.whole * y.whole;
}

// the sum mod p, within 6p; the quotient is even, as it can reach 24 * 2^47
static __device__ inline double reduce(Mod k, Sum s) {
    double n = fma(s.near, k.inverse, 2.0 * MAGIC);
    return small(s.low - bits(n) * (2 * k.whole) + 2 * (MAGIC_BITS + (1ull << 52)) * k.whole);
}

// Conversions to p: Σ y_s c_s with constants c_s modulo p. A thread keeps the sum modulo 2^59, and rounded and divided
// by p, which gives the quotient. To serve both with one load, y is stored as the double 1 + y / 2^47, whose bits
// exceed those of 1 by 32 y.
//
// The quotient starts at -Σ 2^47 c_s/p, so it stays within SOURCES 2^46. The start and each sum are off by at most
// 2^-4; the constants 2^47 c_s/p are off by 2^-7 each and multiplied by less than 2. With the rounding to an integer
// the result is within 1/2 + 1 + 2^-4 + 2^-2, times p: within 2p.
//
// If PRIME_BITS is 48, y is stored as 1 + y / 2^48, whose bits exceed those of 1 by 16 y, and the sum is kept modulo
// 2^60. The errors but the 1/2 double, so the result is within 4p, and is reduced.

// sources of a digit, including the quotient
#define SOURCES 16
#define ONE_BITS 0x3ff0000000000000ull
// above every y
#define END ((double)(1ull << PRIME_BITS))
// bits of 1 + y / END below those of y
#define BELOW (52 - PRIME_BITS)

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
// sums per thread at a time
#define SUMS PER

static __device__ inline num kept_whole(double x) {
    return fma(x, 1.0 / END, 1.0);
}

// for products by a constant
static __device__ inline num kept(Mod k, double x) {
    return kept_whole(x < 0.0 ? x + k.p : x);
}

// the integer nearest to the sum of y_s / p_s, rounded as on the processor, from END / p_s
static __device__ inline num nearest(const num* y, const double* inverses, int count) {
    double sum = 0.5;
    for (int s = 0; s < count; s++) sum = sum + (y[s * TILE] - 1.0) * inverses[s];
    return kept_whole(floor(sum));
}

struct Conversion {
    double near;
    u64 low;
};

static __device__ inline void begin(Conversion& sum, const Target& target) {
    sum.near = target.near;
    sum.low = target.low;
}

static __device__ inline void add(Conversion& sum, num y, const Target& target, int s) {
    sum.near = fma(y, target.c[s].part, sum.near);
    sum.low += bits(y) * target.c[s].whole;
}

static __device__ inline double converted(Mod k, Conversion sum) {
    u64 low = sum.low - bits(sum.near + MAGIC) * ((1ull << BELOW) * k.whole);
    double x = small((u64)((long long)low >> BELOW));
    return PRIME_BITS == 48 ? reduce(k, x) : x;
}
