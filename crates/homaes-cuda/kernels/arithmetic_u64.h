// Arithmetic modulo a prime in integers, for GPUs with slow doubles. Operations and words are those of
// arithmetic_double.h.
//
// Numbers are signed integers, |x| < 2^58, and 2^16 < p < 2^PRIME_BITS, where PRIME_BITS is 47 or 48. A multiple of p
// makes them positive before a product, as the GPU multiplies and adds 32-bit halves in one instruction. Results are
// small; bits above 2^64 are dropped.
//
// A factor is w with q = floor(2^64 w/2p) < 2^63. With x = 2^32 h + l < 2^60, quotient(x, q) omits the product of both
// low halves, less than 1, adds 1 and rounds down. It is below x w/2p by at most 1 + 2^-4, for q, and above by at most
// 1. So a product by a constant is within 2p + p/8, and a sum of two within twice that.
//
// A product of x < 2p and y <= p is computed modulo P = 2^t p with 2^46 < P < 2^47. u = floor(2^t x y / 2^32) is below
// 2^63. Its quotient by 2P is off by another 1/2 for the rounded constant, and by 2^31/P < 2^-14 for u. So the product
// is within 3p + p/16, times 2^t. If PRIME_BITS is 48, P is twice as large and u is floor(2^t x y / 2^34), with these
// bounds.
//
// A reduction of |x| <= 2^10 p adds 2^10 p. It multiplies 1/2^s of the sum, below 2^27, by the integer nearest to
// 2^(s + 32) / p, where p has s + 16 bits. The quotient is off by 1/2, by 2^s/p < 2^-14 and by 2^27 2^-33: within 5p/8.
//
// Transforms need no reduction in between. A DFT of 16 grows numbers at most 16 times, or to 17p after products: 34p
// for rows, whose factors leave 17p/8. Columns begin with a butterfly, 2p, and their DFT leaves 32p; sums of two leave
// 17p/4, two butterflies 17p, and the second DFT 272p. In K columns begin with sums of two, 17p/4, so their first DFT
// leaves 136p, and the next butterfly 272p.

typedef unsigned long long u64;
typedef long long num;
typedef longlong2 Factor;

// words of a row factor, and constants of a prime
#define ROW_FACTOR 2
#define CONSTANTS 10
// s of the longest primes
#define MOST_SHIFT (PRIME_BITS - 16)

struct Mod {
    num p;
    // -2p, a multiple of p of at least 2^58, 2^95/P or 2^97/P
    u64 minus, lift, wide;
    // for reductions: the constant, and s; t is MOST_SHIFT - s
    unsigned inverse, shift;
    // the factors 2^24 and 1
    Factor step, one;
};

static __device__ inline Mod modulus(const num* prime) {
    u64 inverse = (u64)prime[1];
    Factor step = {prime[4], prime[5]}, one = {1, prime[7]};
    u64 minus = (u64)prime[8], lift = (u64)prime[9], wide = (u64)prime[6];
    Mod k = {prime[0], minus, lift, wide, (unsigned)inverse, (unsigned)(inverse >> 32), step, one};
    return k;
}

static __device__ inline u64 bits(num x) {
    return (u64)x;
}

static __device__ inline num number(u64 x) {
    return (num)x;
}

static __device__ inline Factor constant(const num* at) {
    return __ldg((const Factor*)at);
}

// a * b + c in one instruction; the compiler would take two or three
#ifdef __CUDA_ARCH__
static __device__ inline u64 wide(unsigned a, unsigned b, u64 c) {
    unsigned low, high;
    asm("mad.lo.cc.u32 %0, %2, %3, %4;\n\tmadc.hi.u32 %1, %2, %3, %5;"
        : "=&r"(low), "=r"(high)
        : "r"(a), "r"(b), "r"((unsigned)c), "r"((unsigned)(c >> 32)));
    return (u64)high << 32 | low;
}
#else
static inline u64 wide(unsigned a, unsigned b, u64 c) {
    return (u64)a * b + c;
}
#endif

// a * b + c * d
static __device__ inline u64 sum_of_products(u64 a, u64 b, u64 c, u64 d) {
    unsigned al = (unsigned)a, bl = (unsigned)b, cl = (unsigned)c, dl = (unsigned)d;
    unsigned high = (unsigned)(a >> 32) * bl + al * (unsigned)(b >> 32) + (unsigned)(c >> 32) * dl + cl * (unsigned)(d >> 32);
    return wide(cl, dl, wide(al, bl, (u64)high << 32));
}

// about x q / 2^64
static __device__ inline u64 quotient(u64 x, u64 q) {
    unsigned l = (unsigned)x, h = (unsigned)(x >> 32), ql = (unsigned)q, qh = (unsigned)(q >> 32);
    u64 middle = wide(h, ql, wide(l, qh, 1ull << 32));
    return wide(h, qh, middle >> 32);
}

// x mod p for |x| <= 2^10 p: within 5p/8
static __device__ inline num reduce(Mod k, num x) {
    u64 lifted = (u64)(x + (k.p << 10));
    u64 n = wide((unsigned)(lifted >> k.shift), k.inverse, 1u << 31) >> 32;
    return (num)(lifted - n * (u64)k.p);
}

// x * w mod p: within 17p/8
static __device__ inline num times(Mod k, num x, Factor f) {
    u64 lifted = (u64)x + k.lift;
    return (num)sum_of_products(lifted, (u64)f.x, quotient(lifted, (u64)f.y), k.minus);
}

// x * w mod p: within 5p/8
static __device__ inline num mul_by(Mod k, num x, Factor f) {
    return reduce(k, times(k, x, f));
}

// x * a + y * b mod p: within 17p/4
static __device__ inline num sum_by(Mod k, num x, Factor a, num y, Factor b) {
    u64 first = (u64)x + k.lift, second = (u64)y + k.lift;
    u64 n = quotient(first, (u64)a.y) + quotient(second, (u64)b.y);
    return (num)(sum_of_products(first, (u64)a.x, second, (u64)b.x) + n * k.minus);
}

static __device__ inline num sum_by(Mod k, num x, const num* f, num y, const num* g) {
    return sum_by(k, x, *(const Factor*)f, y, *(const Factor*)g);
}

static __device__ inline num turned(Mod k, num x, const num* w, int i) {
    Factor f = {w[2 * i], w[2 * i + 1]};
    return times(k, x, f);
}

static __device__ inline num twisted(Mod k, num x, const num* factor) {
    return times(k, x, constant(factor));
}

typedef num Sign;

static __device__ inline Sign sign(int negative) {
    return negative ? -1 : 0;
}

// x times a sign, plus y
static __device__ inline num signed_sum(num x, Sign s, num y) {
    return (x ^ s) - s + y;
}

// A non-negative number.
struct Both {
    num number;
};

// for |x| <= p
static __device__ inline Both both(Mod k, num x) {
    Both out = {x < 0 ? x + k.p : x};
    return out;
}

// x * y mod p, times 2^t, for x < 2p and y <= p
static __device__ inline u64 product(Mod k, Both a, Both b) {
    int t = MOST_SHIFT - k.shift;
    u64 x = (u64)a.number << t, y = (u64)b.number;
#if PRIME_BITS == 48
    return x * y + quotient(__umul64hi(x << 15, y << 15), k.wide) * (k.minus << t);
#else
    unsigned xl = (unsigned)x, xh = (unsigned)(x >> 32), yl = (unsigned)y, yh = (unsigned)(y >> 32);
    u64 low = wide(xl, yl, 0), upper = wide(xl, yh, wide(xh, yl, low >> 32)) + ((u64)(xh * yh) << 32);
    return (upper << 32 | (unsigned)low) + quotient(upper, k.wide) * (k.minus << t);
#endif
}

// the value of a sum of results of product()
static __device__ inline num settled(Mod k, u64 sum, int) {
    return (num)sum >> (MOST_SHIFT - k.shift);
}

static __device__ inline num mul(Mod k, Both x, Both y) {
    return reduce(k, settled(k, product(k, x, y), 1));
}

static __device__ inline num load(u64 word) {
    return (num)word;
}

// a lazy word less p
static __device__ inline num centred(Mod k, u64 word) {
    return (num)word - k.p;
}

static __device__ inline Both centred_both(Mod, u64 word) {
    Both out = {(num)word};
    return out;
}

static __device__ inline Both canonical_both(u64 word) {
    Both out = {(num)word};
    return out;
}

// a number within p as a lazy word
static __device__ inline u64 lazy(Mod k, num x) {
    return (u64)(x + k.p);
}
