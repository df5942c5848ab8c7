// Arithmetic modulo a prime in double precision: that of homaes-math/src/simd/double.rs, whose head has the bounds of products.
//
// Numbers are integers of either sign, exact as doubles, and p < 2^47. A product of x and y is known by its rounded value, which gives the
// quotient n by p, and modulo 2^64: x·y - n·p is small, and so it is what it is modulo 2^64. The integer units do the second half of the work.
//
// Compiled with contraction off: products and sums are fused where fma says so. Words in memory are lazy, below 2p, and stored with the factor
// R = 2^52 in evaluation form, as on the processor.

typedef unsigned long long u64;

#define TWO_52 4503599627370496.0
#define TWO_52_BITS 0x4330000000000000ull
// 1.5 * 2^52: numbers within 2^51 of it are integers
#define MAGIC 6755399441055744.0
#define MAGIC_BITS 0x4338000000000000ull

struct Mod {
    double p, inverse;
    // p, and what a quotient's bits times p exceed the quotient times p by
    u64 whole, excess;
    // MAGIC * p
    double wide;
};

static __device__ inline u64 bits(double x) {
    return (u64)__double_as_longlong(x);
}

static __device__ inline double real(u64 x) {
    return __longlong_as_double((long long)x);
}

// an integer within 2^51 in two's complement
static __device__ inline u64 whole(double x) {
    return bits(x + MAGIC) - MAGIC_BITS;
}

static __device__ inline double small(u64 x) {
    return real(x + MAGIC_BITS) - MAGIC;
}

// x * w mod p for |x| <= 2^52, where q is w/p: within 3p/4
static __device__ inline double mul_by(Mod k, double x, double w, double q) {
    double h = x * w;
    double n = fma(x, q, MAGIC) - MAGIC;
    double l = fma(x, w, -h);
    return fma(-n, k.p, h) + l;
}

static __device__ inline double mul_const(Mod k, double x, const double* factor) {
    double2 f = __ldg((const double2*)factor);
    return mul_by(k, x, f.x, f.y);
}

// x * a + y * b mod p for |x| + |y| <= 2^52, where the factors are constants with their quotients by p: within 5p/4
static __device__ inline double sum_by(Mod k, double x, const double* f, double y, const double* g) {
    double2 a = *(const double2*)f, b = *(const double2*)g;
    double first = fma(x, a.x, k.wide);
    double both = fma(y, b.x, first);
    double n = fma(x, a.y, fma(y, b.y, MAGIC));
    double low = fma(x, a.x, -(first - k.wide));
    return (fma(-n, k.p, both) + low) + fma(y, b.x, -(both - first));
}

// A number, and the same in two's complement.
struct Both {
    double real;
    u64 whole;
};

// of a number within 2^51
static __device__ inline Both both(double x) {
    Both out = {x, whole(x)};
    return out;
}

// x * y, plus `excess` mod 2^64, less a multiple of p: within 5p/8, for |x| <= p, |y| <= p
static __device__ inline u64 product(Mod k, Both x, Both y) {
    double n = fma(x.real * y.real, k.inverse, MAGIC);
    return x.whole * y.whole - bits(n) * k.whole;
}

// x * y mod p for |x| <= p, |y| <= p
static __device__ inline double mul(Mod k, Both x, Both y) {
    return small(product(k, x, y) + k.excess);
}

// x mod p for |x| <= 2^52: within 5p/8
static __device__ inline double reduce(Mod k, double x) {
    return fma(-(fma(x, k.inverse, MAGIC) - MAGIC), k.p, x);
}

static __device__ inline double load(u64 word) {
    return real(word | TWO_52_BITS) - TWO_52;
}

// lazy words less p
static __device__ inline double centred(Mod k, u64 word) {
    return real(word | TWO_52_BITS) - (TWO_52 + k.p);
}

static __device__ inline Both centred_both(Mod k, u64 word) {
    Both out = {centred(k, word), word - k.whole};
    return out;
}

// canonical words as they are
static __device__ inline Both canonical_both(u64 word) {
    Both out = {load(word), word};
    return out;
}

// a reduced value as a lazy word
static __device__ inline u64 lazy(Mod k, double x) {
    return bits(x + (TWO_52 + k.p)) ^ TWO_52_BITS;
}

// A sum of at most 24 products of numbers within p: rounded, by 5p at most, and mod 2^64.
struct Sum {
    double near;
    u64 low;
};
#define TERMS 24

static __device__ inline void clear(Sum& s) {
    s.near = 0.0;
    s.low = 0;
}

static __device__ inline void add(Sum& s, Both x, Both y) {
    s.near = fma(x.real, y.real, s.near);
    s.low += x.whole * y.whole;
}

// the sum mod p, within 6p: by an even quotient, as it can be up to 24p
static __device__ inline double reduce(Mod k, Sum s) {
    double n = fma(s.near, k.inverse, 2.0 * MAGIC);
    return small(s.low - bits(n) * (2 * k.whole) + 2 * (MAGIC_BITS + (1ull << 52)) * k.whole);
}
