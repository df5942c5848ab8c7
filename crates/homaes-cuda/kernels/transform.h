// The ring's transform. A limb has ROWS x COLS x 8 words, for the axes of 17, of 257, and of 3 and 5. Rows are
// transformed on the axis of 257, columns on the others, in either order. ROWS is 16; COLS is 256, or 1 without the
// axis of 257. In K a row is two lines of COLS columns, its halves (HALVES is 2), and columns are transformed between
// the halves as well.
//
// Between both parts of a transform words are in tile order: a tile, two lanes of the columns of a line, is transformed
// by one warp. There inverse transforms leave lazy words, forward transforms the bits of numbers, which columns reduce.
//
// Bounds, in p, are those of homaes-math/src/simd/double/ntt.rs: inputs are within 1. Converted rows are within 2, so
// their first DFT is within 32; if PRIME_BITS is 48 they are reduced, as products take at most 16. In K the sums
// between the halves are within 5/4, and a butterfly follows. arithmetic_u64.h has the bounds of integers.

#define ROWS 16
// columns of a row
#define WIDTH (HALVES * COLS)
#define N (ROWS * WIDTH * 8)
#if COLS == 1
#define PER 1
#else
#define PER 16
#endif
#define TILE (32 * PER)

// words per prime: constants (words UNIT and UNIT + 1 are the factor 1/R), and the tables of both directions
#define TWIDDLE 0
#define MIDDLE (256 * ROW_FACTOR)
#define JOINED (2 * MIDDLE)
// factors between the halves: of either one, for its own number and for the other's
#define BETWEEN 512
#define JOINED_WORDS (BETWEEN + 8 * (HALVES - 1))
#define DIRECTION (JOINED + JOINED_WORDS)
#define PRIME (CONSTANTS + 2 * DIRECTION)
#define UNIT 2

// w^0 … w^7 with their quotients for the DFTs of length 16, by prime, direction and axis (257 before 17)
extern "C" {
__constant__ num roots[MOST_PRIMES * 4][16];
}
#define ROOTS(prime, inverse) (4 * (prime) + 2 * (inverse))

static __device__ inline const num* prime_at(const num* primes, int i) {
    return primes + i * PRIME;
}

static __device__ inline const num* tables(const num* prime, int inverse) {
    return prime + CONSTANTS + inverse * DIRECTION;
}

// `t`, but only once x is known (no number has the tested bits): keeps the compiler from loading factors into registers
// early.
static __device__ inline const num* after(num x, const num* t) {
    return t + ((int)(bits(x) >> 32) == 0x7ff00000);
}

// DFT of length 16, natural order on both sides. Reduces the entries of the set `reduced` between its two halves.
static __device__ inline void dft16(Mod k, int number, num x[16], unsigned reduced) {
    const num* w = roots[number];
    num y[16];
#pragma unroll
    for (int i = 0; i < 4; i++) {
        num a = x[i], b = x[i + 4], c = x[i + 8], d = x[i + 12];
        num s = a + c, t = b + d, u = a - c;
        if (i > 0) u = turned(k, u, w, i);
        num v = turned(k, b - d, w, i + 4);
        y[i] = s + t;
        y[i + 8] = u + v;
        num e = s - t, f = u - v;
        if (i > 0) {
            e = turned(k, e, w, 2 * i);
            f = turned(k, f, w, 2 * i);
        }
        y[i + 4] = e;
        y[i + 12] = f;
    }
#pragma unroll
    for (int i = 0; i < 16; i++)
        if (reduced >> i & 1) y[i] = reduce(k, y[i]);
#pragma unroll
    for (int i = 0; i < 4; i++) {
        int out = (i & 1) * 2 + (i >> 1);
        num a = y[4 * i], b = y[4 * i + 1], c = y[4 * i + 2], d = y[4 * i + 3];
        num s = a + c, t = b + d, u = a - c, v = turned(k, b - d, w, 4);
        x[out] = s + t;
        x[out + 8] = s - t;
        x[out + 4] = u + v;
        x[out + 12] = u - v;
    }
}

// position of a word in tile order
static __device__ inline int tiled(int row, int col, int lane) {
#if COLS == 1
    return (row * WIDTH + col) * 8 + lane;
#else
    int at = ((4 * HALVES * row + (lane >> 1)) * COLS + col) * 2 + (lane & 1);
    // the second half of a row comes after all lanes of the first
    return HALVES == 1 ? at : at + 6 * (col & COLS);
#endif
}

// The axis of 257 of a tile by a warp. Thread 2j + lane holds column 16 i + j of that lane in x[i], also of the result,
// which is not reduced: within 16. `shared` has SCRATCH numbers for the warp. Factors come between four DFTs; before
// and after the middle two, threads transpose their sixteen numbers. A loop: unrolled code exceeds the instruction
// cache.
#define SCRATCH (16 * 34)
static __device__ inline void axis257(Mod k, const num* t, int r, num* shared, num x[PER]) {
#if COLS > 1
    int thread = threadIdx.x & 31, j = thread >> 1, from = thread, from_step = 34, to = j * 34 + (thread & 1), to_step = 2;
    t += ROW_FACTOR * j;
#pragma unroll 1
    for (int pass = 0;; pass++) {
        dft16(k, r, x, 0);
        if (pass == 3) break;
        const num* factors = after(x[15], t) + (pass == 1 ? MIDDLE : TWIDDLE);
#pragma unroll
        for (int i = 0; i < 16; i++) x[i] = twisted(k, x[i], factors + 16 * ROW_FACTOR * i);
        if (pass == 1) continue;
#pragma unroll
        for (int i = 0; i < 16; i++) shared[from + i * from_step] = x[i];
        __syncwarp();
#pragma unroll
        for (int i = 0; i < 16; i++) x[i] = shared[to + i * to_step];
        int other = from, step = from_step;
        from = to, from_step = to_step, to = other, to_step = step;
    }
#endif
}

// the sum of a pair of lanes in the lower one, their difference in the upper one
static __device__ inline num butterfly(num x, int mask, Sign sign) {
    return signed_sum(x, sign, SHUFFLE(x, mask));
}

// Factors that join the axes of 17, 3 and 5, for a block: by row those of a lane's own number, then its neighbour's.
// After them, in K, those between the halves.
static __device__ inline void fetch_joined(const num* t, num* joined) {
    for (int i = 2 * threadIdx.x; i < JOINED_WORDS; i += 2 * blockDim.x) COPY(16, joined + i, t + JOINED + i);
}

// Entries that are reduced within a DFT of the axis of 17. Results stay within 8; in K and for primes of 48 bits within
// 4, from inputs within 5/2.
#define REDUCED (HALVES == 1 && PRIME_BITS == 47 ? 0x1f : 0x1f1f)

// The axes of 17, 3 and 5 of a column and lane: x[r] is the value at row r, within 1; the result is reduced.
// Neighbouring threads hold the eight lanes, in K the next eight the other half of the column.
static __device__ inline void other_axes(Mod k, const num* joined, int r, num x[16]) {
    int lane = threadIdx.x & 7;
    Sign three = sign(lane & 4), five = sign(lane & 2);
    if (HALVES == 2) {
        const num* f = joined + BETWEEN + 4 * (threadIdx.x >> 3 & 1);
#pragma unroll
        for (int i = 0; i < 16; i++) x[i] = sum_by(k, x[i], f, SHUFFLE(x[i], 8), f + 2);
    }
#pragma unroll
    for (int i = 0; i < 16; i++) x[i] = butterfly(x[i], 4, three);
    // 2, as blocks are flat; the compiler cannot know this and does not unroll both passes
    int passes = 1 + (int)blockDim.z;
#pragma unroll 1
    for (int pass = 0; pass < passes; pass++) {
        dft16(k, r + 1, x, REDUCED);
        if (pass == 0) {
#pragma unroll
            for (int i = 0; i < 16; i++) {
                const num* f = joined + 32 * i + 2 * lane;
                num z = butterfly(x[i], 2, five);
                num y = sum_by(k, z, f, SHUFFLE(z, 1), f + 16);
                if (PRIME_BITS == 48) y = reduce(k, y);
                x[i] = butterfly(butterfly(y, 2, five), 4, three);
            }
        }
    }
#pragma unroll
    for (int i = 0; i < 16; i++) x[i] = reduce(k, x[i]);
}

// an automorphism as a translation, with four bits for the source of each lane
struct Map {
    int row_shift, col_shift;
    unsigned lanes;
};

struct Place {
    int row, col, lane;
};

static __device__ inline Place source_of(Map map, Place at) {
    int col = (at.col + map.col_shift) & (COLS - 1);
    // halves stay
    if (HALVES == 2) col += at.col & COLS;
    Place from = {(at.row + map.row_shift) & (ROWS - 1), col, (int)(map.lanes >> (4 * at.lane) & 7)};
    return from;
}

static __device__ inline int word_of(Place at) {
    return (at.row * WIDTH + at.col) * 8 + at.lane;
}

static __device__ inline int tiled(Place at) {
    return tiled(at.row, at.col, at.lane);
}
