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

