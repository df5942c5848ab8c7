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
