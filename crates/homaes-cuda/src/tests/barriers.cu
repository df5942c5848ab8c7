// Reverses the halves of a block's values through the last doubles of its memory: the upper half, then the lower half
// backwards. The upper half of the threads ends at once.
extern "C" __global__ void __launch_bounds__(256, 2) test_block(int offset, const double* in, double* out) {
    AFTER_THE_LAST();
    DYNAMIC_SHARED(shared);
    int t = threadIdx.x, half = blockDim.x / 2, other = blockDim.x - 1 - t, at = blockIdx.x * blockDim.x;
    if (t >= half) return;
    shared[offset + t] = in[at + t];
    shared[offset + other] = in[at + other];
    __syncthreads();
    out[at + t] = shared[offset + half + t];
    out[at + half + t] = shared[offset + half - 1 - t];
}

// The sum of each warp by shuffles, and turns of its values through shared memory on diverging paths.
extern "C" __global__ void __launch_bounds__(256) test_warp(const double* in, double* sums, double* turned) {
    AFTER_THE_LAST();
    DYNAMIC_SHARED(shared);
    int t = threadIdx.x, at = blockIdx.x * blockDim.x + t;
    double x = in[at], sum = x;
    for (int mask = 1; mask < 32; mask *= 2) sum += SHUFFLE(sum, mask);
    sums[at] = sum;
    for (int mask = 1; mask < 32; mask *= 2) {
        shared[t] = x;
        __syncwarp();
        x = shared[t ^ mask];
        for (int i = 0; i < t % 4; i++) x += 1.0;
        __syncwarp();
    }
    turned[at] = x;
}

struct TestWords {
    u64 words[500];
};

extern "C" __global__ void test_words(int first, TestWords table, u64* out) {
    AFTER_THE_LAST();
    int at = blockIdx.x * blockDim.x + threadIdx.x;
    out[at] = table.words[first + at];
}

extern "C" __global__ void test_without_barrier(int mask, double* out) {
    AFTER_THE_LAST();
    DYNAMIC_SHARED(shared);
    int t = threadIdx.x;
    shared[t] = 1.0;
    out[blockIdx.x * blockDim.x + t] = shared[t ^ mask];
}

extern "C" __global__ void test_beyond_memory() {
    AFTER_THE_LAST();
    DYNAMIC_SHARED(shared);
    shared[blockDim.x] = 1.0;
}

extern "C" __global__ void test_mixed_barriers() {
    AFTER_THE_LAST();
    if (threadIdx.x & 1)
        __syncthreads();
    else
        __syncwarp();
}
