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
