// Loops that use one unit of a GPU at its full rate.

// Copies n doubles of each block's part back and forth for `rounds` rounds.
extern "C" __global__ void __launch_bounds__(256) ceiling_copy(int n, int rounds, double2* a, double2* b) {
    AFTER_THE_LAST();
    long long first = (long long)blockIdx.x * n;
    for (int round = 0; round < rounds; round++) {
        for (int i = threadIdx.x; i < n; i += blockDim.x) b[first + i] = a[first + i];
        double2* c = a;
        a = b;
        b = c;
    }
}

// Sixteen steps per round of each requested kind: fused products of doubles, and products of 32 bits to 64 (IMAD.WIDE,
// and an addition on another pipe).
extern "C" __global__ void __launch_bounds__(256) ceiling_arithmetic(
    int rounds, int doubles, int integers, double factor, double* outs) {
    AFTER_THE_LAST();
    int at = blockIdx.x * blockDim.x + threadIdx.x;
    double x[8];
    u64 y[8];
    unsigned m = (unsigned)at | 1;
#pragma unroll
    for (int i = 0; i < 8; i++) {
        x[i] = i + at;
        y[i] = i + at;
    }
    // three loops, so that none branches inside
    if (doubles && integers) {
        for (int round = 0; round < rounds; round++) {
#pragma unroll
            for (int i = 0; i < 16; i++) {
                x[i & 7] = fma(x[i & 7], factor, 1.0);
                y[i & 7] += (u64)(unsigned)y[i & 7] * m;
            }
        }
    } else if (doubles) {
        for (int round = 0; round < rounds; round++) {
#pragma unroll
            for (int i = 0; i < 16; i++) x[i & 7] = fma(x[i & 7], factor, 1.0);
        }
    } else {
        for (int round = 0; round < rounds; round++) {
#pragma unroll
            for (int i = 0; i < 16; i++) y[i & 7] += (u64)(unsigned)y[i & 7] * m;
        }
    }
    double sum = 0.0;
#pragma unroll
    for (int i = 0; i < 8; i++) sum += x[i] + (double)y[i];
    outs[at] = sum;
}

// Sixteen exchanges of doubles per round.
extern "C" __global__ void __launch_bounds__(256) ceiling_shuffle(int rounds, double* outs) {
    AFTER_THE_LAST();
    int at = blockIdx.x * blockDim.x + threadIdx.x;
    double x[8];
#pragma unroll
    for (int i = 0; i < 8; i++) x[i] = i + at;
    for (int round = 0; round < rounds; round++) {
#pragma unroll
        for (int i = 0; i < 16; i++) x[i & 7] = SHUFFLE(x[i & 7], 1);
    }
    double sum = 0.0;
#pragma unroll
    for (int i = 0; i < 8; i++) sum += x[i];
    outs[at] = sum;
}

// Sixteen loads of doubles per round, from changing positions.
extern "C" __global__ void __launch_bounds__(256) ceiling_shared(int rounds, double* outs) {
    AFTER_THE_LAST();
    DYNAMIC_SHARED(shared);
    int t = threadIdx.x, size = blockDim.x;
    for (int i = 0; i < 16; i++) shared[i * size + t] = i;
    __syncthreads();
    double x[4] = {};
    for (int round = 0; round < rounds; round++) {
        const num* place = shared + (t + round & size - 1);
#pragma unroll
        for (int i = 0; i < 16; i++) x[i & 3] += place[i * 256];
    }
    outs[blockIdx.x * size + t] = (x[0] + x[1]) + (x[2] + x[3]);
}

extern "C" __global__ void ceiling_nothing() {
    AFTER_THE_LAST();
}
