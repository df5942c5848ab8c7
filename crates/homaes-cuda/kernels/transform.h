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

// memory of a block whose size is given at the launch
#ifndef DYNAMIC_SHARED
#define DYNAMIC_SHARED(name) extern __shared__ double name[]
#endif

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

