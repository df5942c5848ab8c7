// Arithmetic modulo a prime in double precision; homaes-math/src/simd/double.rs derives the bounds of products.
//
// Numbers are signed integers, exact as doubles, and p < 2^PRIME_BITS, where PRIME_BITS is 47 or 48. The rounded
// product of x and y gives the quotient n by p. As x·y - n·p is small, it is known from its value modulo 2^64, which
// the integer units compute.
//
// Compiled without contraction: only fma fuses. Words in memory are lazy, below 2p, and in evaluation form carry the
// factor R = 2^52, as on the processor.

typedef unsigned long long u64;
typedef double num;
// a constant, and its quotient by p
typedef double2 Factor;

#define TWO_52 4503599627370496.0
#define TWO_52_BITS 0x4330000000000000ull
// 1.5 * 2^52: sums with it round numbers within 2^51 to integers
#define MAGIC 6755399441055744.0
#define MAGIC_BITS 0x4338000000000000ull
// words of a row factor, and constants of a prime
#define ROW_FACTOR 1
#define CONSTANTS 8

struct Mod {
    double p, inverse;
    // p, and MAGIC_BITS * p: the bits of a quotient n times p exceed n * p by this
    u64 whole, excess;
    // MAGIC * p
    double wide;
};

static __device__ inline Mod modulus(const num* prime) {
    u64 p = (u64)prime[0];
    Mod k = {prime[0], prime[1], p, MAGIC_BITS * p, prime[4]};
    return k;
}

static __device__ inline u64 bits(double x) {
    return (u64)__double_as_longlong(x);
}

static __device__ inline double number(u64 x) {
    return __longlong_as_double((long long)x);
}

// an integer within 2^51, in two's complement
static __device__ inline u64 whole(double x) {
    return bits(x + MAGIC) - MAGIC_BITS;
}

static __device__ inline double small(u64 x) {
    return number(x + MAGIC_BITS) - MAGIC;
}

static __device__ inline Factor constant(const num* at) {
    return __ldg((const Factor*)at);
}

// x * w mod p for |x| <= 2^52: within 3p/4
static __device__ inline double mul_by(Mod k, double x, Factor f) {
    double h = x * f.x;
    double n = fma(x, f.y, MAGIC) - MAGIC;
    double l = fma(x, f.x, -h);
    return fma(-n, k.p, h) + l;
}

// x * w^i, where w is one of the roots
static __device__ inline double turned(Mod k, double x, const num* w, int i) {
    Factor f = {w[2 * i], w[2 * i + 1]};
    return mul_by(k, x, f);
}

// x * w mod p for |x| <= 2^52, |w| <= p/2, without a stored quotient of w, which would not fit the cache. x w / p is at
// most 2^51 and off by 1/4 for each of two roundings: within p, and for |x| <= 2^51 within 3p/4.
static __device__ inline double twisted(Mod k, double x, const num* factor) {
    double w = __ldg(factor), h = x * w;
    double n = fma(h, k.inverse, MAGIC) - MAGIC;
    return fma(-n, k.p, h) + fma(x, w, -h);
}

// x * a + y * b mod p for |x| + |y| <= 2^52 and constants with their quotients by p: within 5p/4
static __device__ inline double sum_by(Mod k, double x, const double* f, double y, const double* g) {
    Factor a = *(const Factor*)f, b = *(const Factor*)g;
    double first = fma(x, a.x, k.wide);
    double both = fma(y, b.x, first);
    double n = fma(x, a.y, fma(y, b.y, MAGIC));
    double low = fma(x, a.x, -(first - k.wide));
    return (fma(-n, k.p, both) + low) + fma(y, b.x, -(both - first));
}

typedef double Sign;

static __device__ inline Sign sign(int negative) {
    return negative ? -1.0 : 1.0;
}

// x times a sign, plus y
static __device__ inline double signed_sum(double x, Sign s, double y) {
    return fma(x, s, y);
}

// A number, also in two's complement.
struct Both {
    double number;
    u64 whole;
};

// for |x| <= 2^51
static __device__ inline Both both(Mod, double x) {
    Both out = {x, whole(x)};
    return out;
}

// product + excess is x * y less a multiple of p, mod 2^64: within 5p/8 for |x| <= p, |y| <= p
static __device__ inline u64 product(Mod k, Both x, Both y) {
    double n = fma(x.number * y.number, k.inverse, MAGIC);
    return x.whole * y.whole - bits(n) * k.whole;
}

// the value of a sum of `products` results of product(), within 2^51
static __device__ inline double settled(Mod k, u64 sum, int products) {
    return small(sum + products * k.excess);
}

// x * y mod p for |x| <= p, |y| <= p
static __device__ inline double mul(Mod k, Both x, Both y) {
    return settled(k, product(k, x, y), 1);
}

// x mod p for |x| <= 2^53: within 5p/8
static __device__ inline double reduce(Mod k, double x) {
    return fma(-(fma(x, k.inverse, MAGIC) - MAGIC), k.p, x);
}

static __device__ inline double load(u64 word) {
    return number(word | TWO_52_BITS) - TWO_52;
}

// a lazy word less p
static __device__ inline double centred(Mod k, u64 word) {
    return number(word | TWO_52_BITS) - (TWO_52 + k.p);
}

static __device__ inline Both centred_both(Mod k, u64 word) {
    Both out = {centred(k, word), word - k.whole};
    return out;
}

static __device__ inline Both canonical_both(u64 word) {
    Both out = {load(word), word};
    return out;
}

// a reduced value as a lazy word
static __device__ inline u64 lazy(Mod k, double x) {
    return bits(x + (TWO_52 + k.p)) ^ TWO_52_BITS;
}
