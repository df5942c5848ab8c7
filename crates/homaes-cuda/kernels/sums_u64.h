// Sums of products in integers, on the numbers of arithmetic_u64.h.

// A sum of products of numbers split at 24 bits; its parts are below 2^58.
struct Sum {
    u64 low, middle, high;
};
#define TERMS 320

static __device__ inline void clear(Sum& s) {
    s.low = s.middle = s.high = 0;
}

static __device__ inline void add(Sum& s, unsigned xl, unsigned xh, unsigned yl, unsigned yh) {
    s.low = wide(xl, yl, s.low);
    s.middle = wide(xh, yl, wide(xl, yh, s.middle));
    s.high = wide(xh, yh, s.high);
}

static __device__ inline void add(Sum& s, Both x, Both y) {
    add(s, (unsigned)x.number & 0xffffff, (unsigned)(x.number >> 24), (unsigned)y.number & 0xffffff, (unsigned)(y.number >> 24));
}

// the sum mod p
static __device__ inline num reduce(Mod k, Sum s) {
    num upper = times(k, (num)s.high, k.step) + (num)s.middle;
    return reduce(k, sum_by(k, upper, k.step, (num)s.low, k.one));
}

// Conversions to p: Σ y_s c_s with constants c_s modulo p. Coefficients and constants are kept as two 24-bit numbers.

// sources of a digit, including the quotient
#define SOURCES 16
#define ONE_BITS 0x3ff0000000000000ull
struct Target {
    num c[SOURCES];
};
// sums per thread at a time
#define SUMS (PER < 4 ? PER : 4)

static __device__ inline num kept(num y) {
    return (y >> 24) << 32 | (y & 0xffffff);
}

// for products by a constant
static __device__ inline num kept(Mod k, num x) {
    return kept(x < 0 ? x + k.p : x);
}

static __device__ inline u64 whole(num y) {
    return (u64)y >> 32 << 24 | (u64)(unsigned)y;
}

// the integer nearest to the sum of y_s / p_s, rounded as on the processor
static __device__ inline num rounded(const num* y, const double* inverses, int count) {
    double sum = 0.5;
    for (int s = 0; s < count; s++) sum = sum + (__longlong_as_double((long long)(whole(y[s * TILE]) << (52 - PRIME_BITS) | ONE_BITS)) - 1.0) * inverses[s];
    return kept((num)floor(sum));
}

// The same from 2^PRIME_BITS / p_s = 2^t m with 1 <= m < 2. In units of 2^-59 a term is 2^t y / 2^(PRIME_BITS - 32)
// times 2^31 m / 16. The first factor is below 2^32 and both are rounded down, so 15 terms are low by less than 2^-26.
// Doubles decide close cases.
static __device__ inline num nearest(const num* y, const double* inverses, int count) {
    u64 sum = 1ull << 58, one = 1ull << 59, near = 1ull << 34;
    for (int s = 0; s < count; s++) {
        u64 inverse = (u64)__double_as_longlong(inverses[s]);
        int t = (int)(inverse >> 52) - 1023;
        sum += wide((unsigned)(whole(y[s * TILE]) << t >> (PRIME_BITS - 32)), (unsigned)(inverse >> 21) | 1u << 31, 0) >> 4;
    }
    if ((sum + near & one - 1) < 2 * near) return rounded(y, inverses, count);
    return kept((num)(sum >> 59));
}

typedef Sum Conversion;

static __device__ inline void begin(Conversion& sum, const Target&) {
    clear(sum);
}

static __device__ inline void add(Conversion& sum, num y, const Target& target, int s) {
    num c = target.c[s];
    add(sum, (unsigned)y, (unsigned)(y >> 32), (unsigned)c, (unsigned)(c >> 32));
}

static __device__ inline num converted(Mod k, Conversion sum) {
    return reduce(k, sum);
}
