// Columns of limbs: thread (column, lane) of limb blockIdx.y of item blockIdx.z holds the sixteen values of its column.

#define FOR_ROWS(r) _Pragma("unroll") for (int r = 0; r < ROWS; r++)

// A limb, and the thread's position in it.
struct Column {
    int prime;
    const num* constants;
    Mod k;
    // position of the column's word in row 0, in natural and in tile order
    int at, tile;
};
#define ROW (WIDTH * 8)

static __device__ inline Column column_of(const num* primes, int prime, int block) {
    int at = block * blockDim.x + threadIdx.x;
    // both halves of a column are in one warp
    if (HALVES == 2) at = ((at >> 3 & 1) * COLS + (at >> 4)) * 8 + (at & 7);
    const num* constants = prime_at(primes, prime);
    Column out = {prime, constants, modulus(constants), at, tiled(0, at >> 3, at & 7)};
    return out;
}

// Shared memory of a kernel of columns: factors that join its axes, then one column per thread.
static __device__ inline u64* column_in(num* shared) {
    return (u64*)(shared + JOINED_WORDS) + threadIdx.x;
}

static __device__ inline void fetch_column(u64* column, const u64* from) {
    FOR_ROWS(r) COPY(8, &column[r * blockDim.x], &from[r * ROW]);
}

struct Sources {
    const u64* at[64];
};

// The inverse transform of limbs `place` of the sources, to tile order.
extern "C" __global__ void __launch_bounds__(128) columns_inverse(
    const num* primes, const int* prime_of, const int* place, const __grid_constant__ Sources sources, u64* outs) {
    int limb = blockIdx.y, item = blockIdx.z;
    Column c = column_of(primes, prime_of[limb], blockIdx.x);
    DYNAMIC_SHARED(joined);
    fetch_joined(tables(c.constants, 1), joined);
    AFTER_THE_LAST();
    END_GROUP();
    const u64* a = sources.at[item] + (long long)place[limb] * N + c.at;
    num x[16];
    FOR_ROWS(r) x[r] = centred(c.k, a[r * ROW]);
    WAIT_FOR_ALL_BUT(0);
    __syncthreads();
    other_axes(c.k, joined, ROOTS(c.prime, 1), x);
    u64* out = outs + ((long long)item * gridDim.y + limb) * N + c.tile;
    FOR_ROWS(r) out[r * ROW] = lazy(c.k, x[r]);
}

// The forward transform, in place in tile order; skips limbs that a digit owns.
extern "C" __global__ void __launch_bounds__(128) columns_forward(
    const num* primes, const int* prime_of, const int* own, int digits, u64* limbs) {
    int limb = blockIdx.y, item = blockIdx.z;
    if (own[item % digits * gridDim.y + limb]) return;
    Column c = column_of(primes, prime_of[limb], blockIdx.x);
    DYNAMIC_SHARED(joined);
    fetch_joined(tables(c.constants, 0), joined);
    AFTER_THE_LAST();
    END_GROUP();
    u64* a = limbs + ((long long)item * gridDim.y + limb) * N + c.tile;
    num x[16];
    FOR_ROWS(r) x[r] = reduce(c.k, number(a[r * ROW]));
    WAIT_FOR_ALL_BUT(0);
    __syncthreads();
    other_axes(c.k, joined, ROOTS(c.prime, 0), x);
    FOR_ROWS(r) a[r * ROW] = lazy(c.k, x[r]);
}

// The forward transform from tile order, plus a constant times limb `place` of the source, if there is one.
extern "C" __global__ void __launch_bounds__(128) columns_finish(
    const num* primes, const int* prime_of, const int* place, const num* factor, const __grid_constant__ Sources sources, const u64* limbs, u64* outs) {
    int limb = blockIdx.y, item = blockIdx.z, kept = place[limb];
    Column c = column_of(primes, prime_of[limb], blockIdx.x);
    long long to = ((long long)item * gridDim.y + limb) * N;
    DYNAMIC_SHARED(joined);
    u64* source = column_in(joined);
    fetch_joined(tables(c.constants, 0), joined);
    AFTER_THE_LAST();
    if (kept >= 0) fetch_column(source, sources.at[item] + (long long)kept * N + c.at);
    END_GROUP();
    const u64* a = limbs + to + c.tile;
    num x[16];
    FOR_ROWS(r) x[r] = reduce(c.k, number(a[r * ROW]));
    WAIT_FOR_ALL_BUT(0);
    __syncthreads();
    other_axes(c.k, joined, ROOTS(c.prime, 0), x);
    u64* out = outs + to + c.at;
    if (kept < 0) {
        FOR_ROWS(r) out[r * ROW] = lazy(c.k, x[r]);
        return;
    }
    Factor f = constant(factor + 2 * limb);
    FOR_ROWS(r) out[r * ROW] = lazy(c.k, reduce(c.k, x[r] + mul_by(c.k, load(source[r * blockDim.x]), f)));
}

// Components of the factors x and y of products, grouped by product, y before its automorphism.
struct Factors {
    const u64 *x[32], *y[32];
};

static __device__ inline Place place_of(const Column& c, int row) {
    Place out = {row, c.at >> 3, c.at & 7};
    return out;
}

// The components of products that are key-switched, x_0 σ(y_1) and x_1 σ(y_1), times a constant: unchanged to the digit
// of `extended` that owns their prime, and after the inverse transform to `outs`, in tile order. Two items per product.
extern "C" __global__ void __launch_bounds__(128) parts_columns(
    const num* primes, const int* prime_of, const num* scale, const int* owner, int digits, const __grid_constant__ Factors factors, Map map,
    u64* extended, int extended_limbs, u64* outs) {
    int limb = blockIdx.y, item = blockIdx.z;
    Column c = column_of(primes, prime_of[limb], blockIdx.x);
    const u64 *x0 = factors.x[item] + limb * N + c.at, *y1 = factors.y[item | 1] + limb * N;
    u64* whole = extended + ((long long)(item * digits + owner[limb]) * extended_limbs + limb) * N + c.tile;
    DYNAMIC_SHARED(joined);
    fetch_joined(tables(c.constants, 1), joined);
    AFTER_THE_LAST();
    END_GROUP();
    Factor f = constant(scale + 2 * limb);
    num x[16];
    FOR_ROWS(r) {
        num y = mul_by(c.k, centred(c.k, y1[word_of(source_of(map, place_of(c, r)))]), f);
        x[r] = mul(c.k, centred_both(c.k, x0[r * ROW]), both(c.k, y));
    }
    FOR_ROWS(r) whole[r * ROW] = lazy(c.k, x[r]);
    WAIT_FOR_ALL_BUT(0);
    __syncthreads();
    other_axes(c.k, joined, ROOTS(c.prime, 1), x);
    u64* out = outs + ((long long)item * gridDim.y + limb) * N + c.tile;
    FOR_ROWS(r) out[r * ROW] = lazy(c.k, x[r]);
}
