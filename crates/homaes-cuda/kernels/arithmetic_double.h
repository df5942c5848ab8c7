// The ring's kernels in double precision for CUDA: the arithmetic of homaes-math/src/simd/double.rs and double_products.rs, whose heads have the bounds
// of products. Four butterfly levels on words below 2p stay within 32p, and so do those on products by constants, within 12p; they need no
// offsets. Correlations of the lanes are given what is within 5p/8, and leave less than 5p before they are reduced.
//
// A limb has rows x cols x 8 words, where rows is 16 or 1 and cols 256 or 1. Words are lazy, below 2p, and stored with the factor R = 2^52 in evaluation form, as on the
// processor. Compiled with contraction off: products and sums are fused where fma says so.

typedef unsigned long long u64;

#define TWO_52 4503599627370496.0
#define MAGIC 6755399441055744.0
// 1.5 * 2^100
#define WIDE 1901475900342344102245054808064.0
#define TWO_52_BITS 0x4330000000000000ull
// products that a Sum holds
#define TERMS 24
#define SOURCES 16

// doubles per prime: p, 1/p, 1/R as a factor, and the tables of both directions
#define PRIME 2244
#define DIRECTION 1120
#define ROOT_257 0
#define ROOT_17 16
#define TWIDDLE 32
#define MIDDLE_257 544
#define MIDDLE_17 1056
#define THREE 1088
#define FIVE_EVEN 1090
#define FIVE_SWAP 1092
#define FIVE_ODD 1094

struct Mod {
    double p, inverse;
};

static __device__ inline const double* prime_at(const double* primes, int i) {
    return primes + (long long)i * PRIME;
}

static __device__ inline Mod modulus(const double* prime) {
    Mod k = {prime[0], prime[1]};
    return k;
}

static __device__ inline const double* tables(const double* prime, int inverse) {
    return prime + 4 + inverse * DIRECTION;
}

// x * w mod p for |x| <= 2^52, where q is w/p
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

// x * y mod p for |x| <= p, |y| <= p
static __device__ inline double mul(Mod k, double x, double y) {
    double h = x * y;
    double n = fma(h, k.inverse, MAGIC) - MAGIC;
    return fma(-n, k.p, h) + fma(x, y, -h);
}

// x mod p for |x| <= 2^52
static __device__ inline double reduce(Mod k, double x) {
    return fma(-(fma(x, k.inverse, MAGIC) - MAGIC), k.p, x);
}

static __device__ inline double load(u64 word) {
    return __longlong_as_double((long long)(word | TWO_52_BITS)) - TWO_52;
}

// lazy words less p
static __device__ inline double centred(Mod k, u64 word) {
    return __longlong_as_double((long long)(word | TWO_52_BITS)) - (TWO_52 + k.p);
}

// a reduced value as a lazy word
static __device__ inline u64 lazy(Mod k, double x) {
    return (u64)__double_as_longlong(x + (TWO_52 + k.p)) ^ TWO_52_BITS;
}

// a reduced value as a canonical word
static __device__ inline u64 canonical(Mod k, double x) {
    return (u64)__double_as_longlong((x < 0.0 ? x + k.p : x) + TWO_52) ^ TWO_52_BITS;
}

// a sum of products, exact
struct Sum {
    double high, low;
};

static __device__ inline void clear(Sum& s) {
    s.high = WIDE;
    s.low = 0.0;
}

static __device__ inline void add(Sum& s, double x, double y) {
    double high = fma(x, y, s.high);
    s.low = s.low + fma(x, y, -(high - s.high));
    s.high = high;
}

// the sum mod p, within 2^52
static __device__ inline double reduce(Mod k, Sum s) {
    double high = s.high - WIDE;
    double even = MAGIC + MAGIC;
    double q = fma(high, k.inverse, even) - even;
    return fma(-q, k.p, high) + s.low;
}

