// From ciphertexts over one prime to LWE ciphertexts under a key of the subring; homaes-bgv/src/subring.rs does the same
// on the processor.
//
//   c1 -> columns_inverse -> words -> rows_digits -> digits -> columns_forward -> inner_product -> body, mask
//   body, mask -> slot_sums -> sums -> slot_words -> LWE ciphertexts

// Coefficients of c1, rounded to multiples of 2^low, as digits of `base` bits; the last one has the rest. A warp has a
// tile of item blockIdx.y. The factors are 1/R and R.
//
//     words  [item][N]          after the columns of the inverse transform, in tile order
//     outs   [item][digit][N]   before the columns of the forward transform, in tile order, not reduced
extern "C" __global__ void __launch_bounds__(128) rows_digits(
    const num* primes, int prime, const num* factors, int low, int base, int digits, const u64* words, u64* outs) {
    AFTER_THE_LAST();
    DYNAMIC_SHARED(shared);
    int warp = UNIFORM((int)threadIdx.x >> 5), thread = threadIdx.x & 31, warps = blockDim.x >> 5;
    const num* constants = prime_at(primes, prime);
    Mod k = modulus(constants);
    Factor unit = constant(factors), r = constant(factors + 2);
    int first = (blockIdx.x * warps + warp) * TILE + thread;
    long long p = (long long)k.p, most = p >> 1, half = 1ll << (base - 1), rest[PER];
    words += (long long)blockIdx.y * N + first;
    num x[PER];
    FOR_POINTS(i) x[i] = centred(k, words[32 * i]);
    axis257(k, tables(constants, 1), ROOTS(prime, 1), shared + warp * SCRATCH, x);
    FOR_POINTS(i) {
        // within p
        long long y = (long long)mul_by(k, x[i], unit);
        y += y < -most ? p : y > most ? -p : 0;
        rest[i] = (y + (1ll << (low - 1))) >> low;
    }
#pragma unroll 1
    for (int digit = 0; digit < digits; digit++) {
        FOR_POINTS(i) {
            long long d = digit + 1 == digits ? rest[i] : ((rest[i] + half) & (2 * half - 1)) - half;
            rest[i] = (rest[i] - d) >> base;
            x[i] = mul_by(k, (num)d, r);
        }
        axis257(k, tables(constants, 0), ROOTS(prime, 0), shared + warp * SCRATCH, x);
        u64* out = outs + ((long long)blockIdx.y * digits + digit) * N + first;
        FOR_POINTS(i) out[32 * i] = bits(x[i]);
    }
}

// words of a row, and readings that share each load of a ciphertext
#define ROW_WORDS (WIDTH * 8)
#define SHARING 4

// Readings of one ciphertext by translations of one functional; those from `count` on are ignored.
struct Group {
    const u64 *body, *mask, *dual;
    Map maps[SHARING];
    int count;
};

// Sums over the rows of functional times mask and body.
//
//     outs   [group][reading][2][ROW_WORDS]   of masks, in tile order; of bodies
extern "C" __global__ void __launch_bounds__(128) slot_sums(const num* primes, int prime, const Group* groups, u64* outs) {
    AFTER_THE_LAST();
    int at = blockIdx.x * blockDim.x + threadIdx.x, col = at >> 3, lane = at & 7;
    if (at >= ROW_WORDS) return;
    const Group& group = groups[blockIdx.y];
    const num* constants = prime_at(primes, prime);
    Mod k = modulus(constants);
    Sum sums[2][SHARING];
    num total[2][SHARING] = {};
#pragma unroll
    for (int r = 0; r < SHARING; r++) clear(sums[0][r]), clear(sums[1][r]);
#pragma unroll 1
    for (int row = 0; row < ROWS; row++) {
        Both a = centred_both(k, group.mask[row * ROW_WORDS + at]), b = centred_both(k, group.body[row * ROW_WORDS + at]);
        Place place = {row, col, lane};
#pragma unroll
        for (int r = 0; r < SHARING; r++) {
            Both d = canonical_both(group.dual[word_of(source_of(group.maps[r], place))]);
            add(sums[0][r], a, d);
            add(sums[1][r], b, d);
            if (TERMS < ROWS && row == ROWS / 2 - 1)
                for (int c = 0; c < 2; c++) {
                    total[c][r] = reduce(k, reduce(k, sums[c][r]));
                    clear(sums[c][r]);
                }
        }
    }
    Factor unit = constant(constants + UNIT);
    u64* out = outs + (long long)blockIdx.y * SHARING * 2 * ROW_WORDS;
#pragma unroll
    for (int r = 0; r < SHARING; r++)
        for (int c = 0; c < 2; c++)
            out[(2 * r + c) * ROW_WORDS + (c ? at : tiled(0, col, lane))] =
                lazy(k, reduce(k, mul_by(k, reduce(k, total[c][r] + reduce(k, sums[c][r])), unit)));
}

static __device__ inline u64 canonical(Mod k, num x) {
    long long y = (long long)reduce(k, x);
    return (u64)(y < 0 ? y + (long long)k.p : y);
}

// x/p on the torus for canonical x, as the processor rounds it: x times 2^shift is below 2^52, as is the factor
static __device__ inline u64 to_torus(u64 x, int shift, u64 factor) {
    x <<= shift;
    return (__umul64hi(x, factor) << 12 | x * factor >> 52) << 13 | 1 << 12;
}

// The transform of the subring of a reading's mask, and the sum of its body. A block has a reading. The axes of 3 and 5
// are a product by a matrix of 8 x 8, `by_lane`.
//
//     outs   [reading][words]   words of 64 bits, or their upper halves, rounded, and then padding to an even number
extern "C" __global__ void __launch_bounds__(128) slot_words(
    const num* primes, int prime, const num* by_lane, const Group* groups, const u64* sums, int shift, u64 factor, int halves, u64* outs) {
    AFTER_THE_LAST();
    DYNAMIC_SHARED(shared);
    int warp = UNIFORM((int)threadIdx.x >> 5), thread = threadIdx.x & 31, reading = blockIdx.x;
    if (reading % SHARING >= groups[reading / SHARING].count) return;
    const num* constants = prime_at(primes, prime);
    Mod k = modulus(constants);
    const u64 *mask = sums + (long long)reading * 2 * ROW_WORDS, *body = mask + ROW_WORDS;
    num* row = shared + 4 * SCRATCH;
    u64* parts = (u64*)(row + ROW_WORDS);
#if COLS == 1
    if (threadIdx.x < ROW_WORDS) row[threadIdx.x] = centred(k, mask[threadIdx.x]);
#else
    num x[PER];
    FOR_POINTS(i) x[i] = centred(k, mask[warp * TILE + 32 * i + thread]);
    axis257(k, tables(constants, 0), ROOTS(prime, 0), shared + warp * SCRATCH, x);
    FOR_POINTS(i) row[(16 * i + (thread >> 1)) * 8 + 2 * warp + (thread & 1)] = reduce(k, x[i]);
#endif
    u64 part = 0;
    for (int at = threadIdx.x; at < ROW_WORDS; at += blockDim.x) part += body[at];
    parts[threadIdx.x] = part;
    __syncthreads();
    int words = ROW_WORDS + 1, length = words + 1 & ~1;
    u64* out = outs + (long long)reading * (halves ? length / 2 : words);
    for (int at = threadIdx.x; at < words; at += blockDim.x) {
        u64 word = 0;
        if (at < ROW_WORDS) {
            num sum = 0;
            for (int e = 0; e < 8; e++) sum += mul_by(k, row[(at & ~7) + e], constant(by_lane + 2 * (8 * e + (at & 7))));
            word = to_torus(canonical(k, sum), shift, factor);
        } else {
            for (unsigned i = 0; i < blockDim.x; i++) word += parts[i];
            word = 0 - to_torus(word % (u64)k.p, shift, factor);
        }
        if (halves)
            ((unsigned*)out)[at] = (unsigned)((word + (1ull << 31)) >> 32);
        else
            out[at] = word;
    }
}
