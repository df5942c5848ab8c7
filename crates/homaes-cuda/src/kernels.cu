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

// DFT of length 16, natural order on both sides
static __device__ inline void dft16(Mod k, const double* w, double x[16]) {
    double y[16];
#pragma unroll
    for (int i = 0; i < 4; i++) {
        double a = x[i], b = x[i + 4], c = x[i + 8], d = x[i + 12];
        double s = a + c, t = b + d, u = a - c;
        if (i > 0) u = mul_const(k, u, w + 2 * i);
        double v = mul_const(k, b - d, w + 2 * (i + 4));
        y[i] = s + t;
        y[i + 8] = u + v;
        double e = s - t, f = u - v;
        if (i > 0) {
            e = mul_const(k, e, w + 4 * i);
            f = mul_const(k, f, w + 4 * i);
        }
        y[i + 4] = e;
        y[i + 12] = f;
    }
#pragma unroll
    for (int i = 0; i < 4; i++) {
        // 0, 2, 1, 3
        int out = (i & 1) * 2 + (i >> 1);
        double a = y[4 * i], b = y[4 * i + 1], c = y[4 * i + 2], d = y[4 * i + 3];
        double s = a + c, t = b + d, u = a - c, v = mul_const(k, b - d, w + 8);
        x[out] = s + t;
        x[out + 8] = s - t;
        x[out + 4] = u + v;
        x[out + 12] = u - v;
    }
}

// the value of the thread whose lane differs by `mask`
#ifndef SHUFFLE
#define SHUFFLE(value, mask) __shfl_xor_sync(0xffu << (threadIdx.x & 24), value, mask)
#endif

// correlations on the axes of 3 and 5: the eight lanes are those of eight neighbouring threads; twice the result, reduced
static __device__ inline double lanes(Mod k, const double* t, int lane, double a) {
    double other = SHUFFLE(a, 4);
    double y = mul_const(k, a - other, t + THREE) - other;
    double opposite = SHUFFLE(y, 2);
    double u = y + opposite, v = y - opposite;
    double u_next = SHUFFLE(u, 1), v_next = SHUFFLE(v, 1);
    double even = mul_const(k, u - u_next, t + FIVE_EVEN) - u_next;
    double odd = mul_const(k, v, t + FIVE_ODD + 2 * lane) + mul_const(k, v_next, t + FIVE_SWAP);
    return reduce(k, even + odd);
}

// an automorphism as a translation; four bits for the source of each lane
struct Map {
    int row_shift, col_shift;
    unsigned lanes;
};

static __device__ inline int source_of(Map map, int rows, int cols, int row, int col, int lane) {
    int r = (row + map.row_shift) & (rows - 1);
    int c = (col + map.col_shift) & (cols - 1);
    return (r * cols + c) * 8 + (int)(map.lanes >> (4 * lane) & 7);
}

// The axis of 257 of one row by 128 threads: x[i] is the value at column 16 i + j of the thread (j, lane), and so is the result, reduced.
static __device__ inline void axis257(Mod k, const double* t, double* shared, double x[16]) {
    int lane = threadIdx.x & 7, j = threadIdx.x >> 3;
    const double* w = t + ROOT_257;
    dft16(k, w, x);
#pragma unroll
    for (int i = 0; i < 16; i++) shared[i * 136 + j * 8 + lane] = mul_const(k, x[i], t + TWIDDLE + 2 * (16 * j + i));
    __syncthreads();
    double* own = shared + j * 136 + lane;
#pragma unroll
    for (int i = 0; i < 16; i++) x[i] = own[8 * i];
    dft16(k, w, x);
#pragma unroll
    for (int i = 0; i < 16; i++) x[i] = mul_const(k, x[i], t + MIDDLE_257 + 2 * (16 * j + i));
    dft16(k, w, x);
#pragma unroll
    for (int i = 0; i < 16; i++) own[8 * i] = mul_const(k, x[i], t + TWIDDLE + 2 * (16 * j + i));
    __syncthreads();
#pragma unroll
    for (int i = 0; i < 16; i++) x[i] = shared[i * 136 + j * 8 + lane];
    dft16(k, w, x);
#pragma unroll
    for (int i = 0; i < 16; i++) x[i] = reduce(k, x[i]);
}

// All rows kernels: block (row, limb, item) of 128 threads, or of 8 where there is no axis of 257. `VALUE` is the value at word `at` of the limb, in terms of row, col and
// lane.
#define ROWS(VALUE)                                                                          \
    __shared__ double shared[16 * 136];                                                      \
    int row = blockIdx.x, lane = threadIdx.x & 7, j = threadIdx.x >> 3;                      \
    if (cols == 1) {                                                                         \
        int col = 0, at = row * 8 + lane;                                                    \
        (void)col;                                                                           \
        out[at] = lazy(k, reduce(k, VALUE));                                                 \
        return;                                                                              \
    }                                                                                        \
    double x[16];                                                                            \
    _Pragma("unroll") for (int i = 0; i < 16; i++) {                                         \
        int col = 16 * i + j, at = (row * 256 + col) * 8 + lane;                             \
        (void)col;                                                                           \
        x[i] = VALUE;                                                                        \
    }                                                                                        \
    axis257(k, t, shared, x);                                                                \
    _Pragma("unroll") for (int i = 0; i < 16; i++) out[(row * 256 + 16 * i + j) * 8 + lane] = lazy(k, x[i]);

// The first axis of the way back, of limbs `place` of the sources.
extern "C" __global__ void __launch_bounds__(128) rows_inverse(
    const double* primes, int rows, int cols, const int* prime_of, const int* place, const u64* const* sources, u64* outs) {
    int limb = blockIdx.y, item = blockIdx.z;
    long long n = (long long)rows * cols * 8;
    const double* prime = prime_at(primes, prime_of[limb]);
    Mod k = modulus(prime);
    const double* t = tables(prime, 1);
    const u64* source = sources[item] + place[limb] * n;
    u64* out = outs + ((long long)item * gridDim.y + limb) * n;
    ROWS(load(source[at]))
}

// The first axis of the way back, of the parts of a product that are switched: x * sigma(y) * scale, for x and y of each part.
extern "C" __global__ void __launch_bounds__(128) rows_product(
    const double* primes, int rows, int cols, const int* prime_of, const double* scale, const u64* const* xs, const u64* const* ys, Map map,
    u64* outs) {
    int limb = blockIdx.y, item = blockIdx.z;
    long long n = (long long)rows * cols * 8;
    const double* prime = prime_at(primes, prime_of[limb]);
    Mod k = modulus(prime);
    const double* t = tables(prime, 1);
    const u64 *x0 = xs[item] + limb * n, *y0 = ys[item] + limb * n;
    const double* c = scale + 2 * limb;
    u64* out = outs + ((long long)item * gridDim.y + limb) * n;
    ROWS(mul(k, centred(k, x0[at]), mul_const(k, centred(k, y0[source_of(map, rows, cols, row, col, lane)]), c)))
}

// (1) Base conversion to each target and the first axis there. An item is a digit of an element: item = element * digits + digit.
extern "C" __global__ void __launch_bounds__(128) rows_combine(
    const double* primes, int rows, int cols, const int* prime_of, const double* constants, const int* places, const int* counts,
    const int* skip, int digits, const u64* ys, int y_limbs, const u64* vs, u64* outs) {
    int target = blockIdx.y, item = blockIdx.z, targets = gridDim.y;
    int element = item / digits, digit = item % digits;
    if (skip[digit * targets + target]) return;
    long long n = (long long)rows * cols * 8;
    const double* prime = prime_at(primes, prime_of[target]);
    Mod k = modulus(prime);
    const double* t = tables(prime, 0);
    const u64* y = ys + (long long)element * y_limbs * n;
    const u64* v = vs + (long long)item * n;
    const double* c = constants + (long long)(digit * targets + target) * SOURCES;
    const int* place = places + digit * SOURCES;
    int count = counts[digit];
    u64* out = outs + ((long long)item * targets + target) * n;
    __shared__ double shared[16 * 136];
    int row = blockIdx.x, lane = threadIdx.x & 7, j = threadIdx.x >> 3;
    int per_thread = cols == 1 ? 1 : 16;
    double x[16];
    Sum sums[16];
#pragma unroll
    for (int i = 0; i < 16; i++) clear(sums[i]);
    int first = row * cols * 8 + j * 8 + lane;
    for (int s = 0; s <= count; s++) {
        const u64* source = (s < count ? y + place[s] * n : v) + first;
        double w = c[s];
#pragma unroll
        for (int i = 0; i < 16; i++)
            if (i < per_thread) add(sums[i], load(source[128 * i]), w);
    }
#pragma unroll
    for (int i = 0; i < 16; i++) x[i] = reduce(k, reduce(k, sums[i]));
    if (cols == 1) {
        out[first] = lazy(k, x[0]);
        return;
    }
    axis257(k, t, shared, x);
#pragma unroll
    for (int i = 0; i < 16; i++) out[first + 128 * i] = lazy(k, x[i]);
}

// The axes of 17, 3 and 5 of one column and lane: x[r] is the value at row r.
static __device__ inline void other_axes(Mod k, const double* t, int rows, int lane, double x[16]) {
    if (rows == 1) {
        x[0] = lanes(k, t, lane, reduce(k, x[0]));
        return;
    }
    dft16(k, t + ROOT_17, x);
#pragma unroll
    for (int i = 0; i < 16; i++) x[i] = mul_const(k, x[i], t + MIDDLE_17 + 2 * i);
    dft16(k, t + ROOT_17, x);
#pragma unroll
    for (int i = 0; i < 16; i++) x[i] = lanes(k, t, lane, reduce(k, x[i]));
}

// All columns kernels: thread (column, lane) of limb blockIdx.y of item blockIdx.z; STORE(r, at) with x[r].
#define COLUMNS(A, STORE)                                                                    \
    long long stride = (long long)cols * 8;                                                  \
    int at0 = blockIdx.x * blockDim.x + threadIdx.x, lane = threadIdx.x & 7;                 \
    double x[16];                                                                            \
    _Pragma("unroll") for (int r = 0; r < 16; r++) x[r] = r < rows ? load((A)[at0 + r * stride]) : 0.0; \
    other_axes(k, t, rows, lane, x);                                                         \
    _Pragma("unroll") for (int r = 0; r < 16; r++) {                                         \
        if (r < rows) {                                                                      \
            long long at = at0 + r * stride;                                                 \
            (A)[at] = STORE;                                                                 \
        }                                                                                    \
    }

// The other axes of the way forward, in place; limbs that a digit skips are left alone.
extern "C" __global__ void __launch_bounds__(128) columns_forward(
    const double* primes, int rows, int cols, const int* prime_of, const int* skip, int digits, u64* limbs) {
    int limb = blockIdx.y, item = blockIdx.z;
    if (skip[item % digits * gridDim.y + limb]) return;
    const double* prime = prime_at(primes, prime_of[limb]);
    Mod k = modulus(prime);
    const double* t = tables(prime, 0);
    u64* a = limbs + ((long long)item * gridDim.y + limb) * rows * cols * 8;
    COLUMNS(a, lazy(k, x[r]))
}

// (3) The other axes of the way back, in place, and the product by a constant: canonical.
extern "C" __global__ void __launch_bounds__(128) columns_scale(
    const double* primes, int rows, int cols, const int* prime_of, const double* scale, u64* limbs) {
    int limb = blockIdx.y, item = blockIdx.z;
    const double* prime = prime_at(primes, prime_of[limb]);
    Mod k = modulus(prime);
    const double* t = tables(prime, 1);
    u64* a = limbs + ((long long)item * gridDim.y + limb) * rows * cols * 8;
    COLUMNS(a, canonical(k, mul_const(k, x[r], scale + 2 * limb)))
}

// The other axes of the way forward, in place, plus a constant times limb `place` of the source, if there is one.
extern "C" __global__ void __launch_bounds__(128) columns_finish(
    const double* primes, int rows, int cols, const int* prime_of, const int* place, const double* factor, const u64* const* sources,
    u64* limbs) {
    int limb = blockIdx.y, item = blockIdx.z;
    const double* prime = prime_at(primes, prime_of[limb]);
    Mod k = modulus(prime);
    const double* t = tables(prime, 0);
    long long n = (long long)rows * cols * 8;
    u64* a = limbs + ((long long)item * gridDim.y + limb) * n;
    const u64* source = sources[item] + (place[limb] < 0 ? 0 : place[limb]) * n;
    const double* c = factor + 2 * limb;
    int kept = place[limb] >= 0;
    COLUMNS(a, kept ? lazy(k, reduce(k, x[r] + mul_const(k, load(source[at]), c))) : lazy(k, x[r]))
}

// (3) The quotient: the nearest integer to the sum of y_i / p_i, with the roundings of the processor.
extern "C" __global__ void quotient(
    int n, const double* inverses, const int* places, const int* counts, int digits, const u64* ys, int y_limbs, u64* vs) {
    int at = blockIdx.x * blockDim.x + threadIdx.x, digit = blockIdx.y, element = blockIdx.z;
    const u64* y = ys + (long long)element * y_limbs * n + at;
    double sum = 0.5;
    for (int s = 0; s < counts[digit]; s++) {
        double x = load(y[(long long)places[digit * SOURCES + s] * n]);
        sum = sum + x * inverses[digit * SOURCES + s];
    }
    vs[((long long)element * digits + digit) * n + at] = (u64)__double_as_longlong(floor(sum) + TWO_52) ^ TWO_52_BITS;
}

// (2) Of products modulo one prime: the other axes of the digits, the product itself, and the sums with keys and constants. Piece b of output o meets digit d of key
// keys[2 (b * digits + d) + c]; own[d * primes + i] says whether the prime is one of the digit's own.
extern "C" __global__ void __launch_bounds__(128) product_columns(
    const double* primes, int rows, int cols, const int* prime_of, int sources, const int* own, int digits, const u64* extended,
    const u64* const* xs, const u64* const* ys, Map map, const double* scale, const double* by_row, const u64* const* keys, u64* outs) {
    // outputs next to each other meet the same keys
    int limb = blockIdx.z, output = blockIdx.y, limbs = gridDim.z;
    int i = prime_of[limb];
    const double* prime = prime_at(primes, i);
    Mod k = modulus(prime);
    const double* t = tables(prime, 0);
    long long n = (long long)rows * cols * 8, stride = (long long)cols * 8;
    int at0 = blockIdx.x * blockDim.x + threadIdx.x, lane = threadIdx.x & 7, col = at0 >> 3;
    double acc0[16], acc1[16];
#pragma unroll
    for (int r = 0; r < 16; r++) acc0[r] = acc1[r] = 0.0;
    if (limb < sources) {
        const u64 *x0 = xs[2 * output] + limb * n, *x1 = xs[2 * output + 1] + limb * n;
        const u64 *y0 = ys[2 * output] + limb * n, *y1 = ys[2 * output + 1] + limb * n;
        int owner = -1;
        for (int d = 0; d < digits; d++)
            if (own[d * limbs + limb]) owner = d;
        const u64* key[4];
        for (int b = 0; b < 2; b++)
            for (int c = 0; c < 2; c++) key[2 * b + c] = owner < 0 ? 0 : keys[2 * (b * digits + owner) + c] + i * n;
#pragma unroll
        for (int r = 0; r < 16; r++) {
            if (r < rows) {
                long long at = at0 + r * stride;
                int from = source_of(map, rows, cols, r, col, lane);
                double a = centred(k, x0[at]), b = centred(k, x1[at]);
                double y = mul_const(k, centred(k, y0[from]), prime + 2);
                double c = by_row[limb * 16 + r];
                acc0[r] += mul(k, mul(k, a, y), c);
                acc1[r] += mul(k, mul(k, b, y), c);
                if (owner >= 0) {
                    double z = mul_const(k, centred(k, y1[from]), scale + 2 * limb);
                    double third = mul(k, a, z), fourth = mul(k, b, z);
                    acc0[r] += mul(k, third, centred(k, key[0][at])) + mul(k, fourth, centred(k, key[2][at]));
                    acc1[r] += mul(k, third, centred(k, key[1][at])) + mul(k, fourth, centred(k, key[3][at]));
                }
            }
        }
    }
    for (int b = 0; b < 2; b++) {
        for (int d = 0; d < digits; d++) {
            if (own[d * limbs + limb]) continue;
            const u64* a = extended + (((long long)output * 2 + b) * digits + d) * limbs * n + limb * n + at0;
            double x[16];
#pragma unroll
            for (int r = 0; r < 16; r++) x[r] = r < rows ? load(a[r * stride]) : 0.0;
            other_axes(k, t, rows, lane, x);
            const u64* key0 = keys[2 * (b * digits + d)] + i * n + at0;
            const u64* key1 = keys[2 * (b * digits + d) + 1] + i * n + at0;
#pragma unroll
            for (int r = 0; r < 16; r++) {
                if (r < rows) {
                    acc0[r] += mul(k, x[r], centred(k, key0[r * stride]));
                    acc1[r] += mul(k, x[r], centred(k, key1[r * stride]));
                }
            }
        }
    }
    u64* out = outs + ((long long)output * 2 * limbs + limb) * n + at0;
#pragma unroll
    for (int r = 0; r < 16; r++) {
        if (r < rows) {
            out[r * stride] = lazy(k, mul_const(k, acc0[r], prime + 2));
            out[limbs * n + r * stride] = lazy(k, mul_const(k, acc1[r], prime + 2));
        }
    }
}

// sigma(source) * key, with source digit `digit` of piece `piece`
struct Term {
    int piece, digit;
    Map map;
    int pad;
    const u64* key[2];
};

// sigma(source) * constant
struct Addend {
    Map map;
    int second;
};

// outputs of one call that share each load of a key word
#define GROUP 4

// Sums over terms and addends of up to four outputs modulo one prime.
extern "C" __global__ void __launch_bounds__(128) inner_product(
    const double* primes, int rows, int cols, const int* prime_of, int sources, const int* own, int digits, int pieces, const u64* extended,
    const u64* const* stored, const Term* terms, int term_count, const Addend* addends, int addend_count, const u64* const* added,
    const double* by_row, int outputs, u64* outs) {
    int limb = blockIdx.y, limbs = gridDim.y, first = blockIdx.z * GROUP;
    int i = prime_of[limb];
    const double* prime = prime_at(primes, i);
    Mod k = modulus(prime);
    long long n = (long long)rows * cols * 8;
    int at = blockIdx.x * blockDim.x + threadIdx.x, lane = at & 7, col = (at >> 3) & (cols - 1), row = (at >> 3) / cols;
    Sum sums[2][GROUP];
    double totals[2][GROUP];
#pragma unroll
    for (int o = 0; o < GROUP; o++)
        for (int c = 0; c < 2; c++) {
            clear(sums[c][o]);
            totals[c][o] = 0.0;
        }
    int held = 0, all = term_count + (limb < sources ? addend_count : 0);
    for (int s = 0; s < all; s++) {
        if (held == TERMS) {
            held = 0;
#pragma unroll
            for (int o = 0; o < GROUP; o++)
                for (int c = 0; c < 2; c++) {
                    totals[c][o] += mul_const(k, reduce(k, sums[c][o]), prime + 2);
                    clear(sums[c][o]);
                }
        }
        held++;
        if (s < term_count) {
            Term term = terms[s];
            int from = source_of(term.map, rows, cols, row, col, lane);
            double y0 = centred(k, term.key[0][i * n + at]), y1 = centred(k, term.key[1][i * n + at]);
            int is_own = own[term.digit * limbs + limb];
#pragma unroll
            for (int o = 0; o < GROUP; o++) {
                if (first + o < outputs) {
                    int element = (first + o) * pieces + term.piece;
                    const u64* x = is_own ? stored[element] : extended + ((long long)element * digits + term.digit) * limbs * n;
                    double v = centred(k, x[limb * n + from]);
                    add(sums[0][o], v, y0);
                    add(sums[1][o], v, y1);
                }
            }
        } else {
            int a = s - term_count;
            Addend addend = addends[a];
            int from = source_of(addend.map, rows, cols, row, col, lane);
            double y = by_row[((long long)a * sources + limb) * 16 + row];
#pragma unroll
            for (int o = 0; o < GROUP; o++) {
                if (first + o < outputs) {
                    double v = centred(k, added[(first + o) * addend_count + a][limb * n + from]);
                    if (addend.second)
                        add(sums[1][o], v, y);
                    else
                        add(sums[0][o], v, y);
                }
            }
        }
    }
#pragma unroll
    for (int o = 0; o < GROUP; o++)
        for (int c = 0; c < 2; c++) {
            if (first + o < outputs) {
                double sum = totals[c][o] + mul_const(k, reduce(k, sums[c][o]), prime + 2);
                outs[(((long long)(first + o) * 2 + c) * limbs + limb) * n + at] = lazy(k, reduce(k, sum));
            }
        }
}

// (4) MixColumns of the four outputs' part blockIdx.z, and constant times key.
extern "C" __global__ void __launch_bounds__(128) mix_keys(
    const double* primes, int rows, int cols, const int* prime_of, int sources, const double* two, const double* factor,
    const u64* const* keys, u64* sums) {
    int limb = blockIdx.y, limbs = gridDim.y, part = blockIdx.z;
    const double* prime = prime_at(primes, prime_of[limb]);
    Mod k = modulus(prime);
    long long n = (long long)rows * cols * 8;
    int at = blockIdx.x * blockDim.x + threadIdx.x, row = (at >> 3) / cols;
    const double* c = two + ((long long)limb * 16 + row) * 2;
    double x[4], d[4];
#pragma unroll
    for (int o = 0; o < 4; o++) {
        x[o] = centred(k, sums[((long long)(2 * o + part) * limbs + limb) * n + at]);
        d[o] = mul_const(k, x[o], c);
    }
    double sum = (x[0] + x[1]) + (x[2] + x[3]);
#pragma unroll
    for (int o = 0; o < 4; o++) {
        double y = (sum - x[o]) + (d[o] + d[(o + 1) & 3]);
        if (limb < sources) y += mul_const(k, load(keys[2 * o + part][limb * n + at]), factor + 2 * limb);
        sums[((long long)(2 * o + part) * limbs + limb) * n + at] = lazy(k, reduce(k, y));
    }
}

// Constant times key, added to each part of the outputs.
extern "C" __global__ void __launch_bounds__(128) add_keys(
    const double* primes, int n, const int* prime_of, int limbs, const double* factor, const u64* const* keys, u64* sums) {
    int limb = blockIdx.y, item = blockIdx.z;
    Mod k = modulus(prime_at(primes, prime_of[limb]));
    int at = blockIdx.x * blockDim.x + threadIdx.x;
    u64* sum = sums + ((long long)item * limbs + limb) * n + at;
    double y = centred(k, *sum) + mul_const(k, load(keys[item][(long long)limb * n + at]), factor + 2 * limb);
    *sum = lazy(k, reduce(k, y));
}

// Limbs times a constant each.
extern "C" __global__ void __launch_bounds__(128) scale_limbs(
    const double* primes, int n, const int* prime_of, const double* scale, const u64* const* sources, u64* outs) {
    int limb = blockIdx.y, item = blockIdx.z;
    Mod k = modulus(prime_at(primes, prime_of[limb]));
    int at = blockIdx.x * blockDim.x + threadIdx.x;
    double x = load(sources[item][(long long)limb * n + at]);
    outs[((long long)item * gridDim.y + limb) * n + at] = lazy(k, mul_const(k, x, scale + 2 * limb));
}

// a + b.
extern "C" __global__ void __launch_bounds__(128) sum_limbs(
    const double* primes, int n, const int* prime_of, const u64* a, const u64* b, u64* out) {
    int limb = blockIdx.y;
    Mod k = modulus(prime_at(primes, prime_of[limb]));
    long long at = (long long)limb * n + blockIdx.x * blockDim.x + threadIdx.x;
    out[at] = lazy(k, reduce(k, centred(k, a[at]) + centred(k, b[at])));
}
