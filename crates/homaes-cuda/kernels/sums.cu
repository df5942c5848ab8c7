// Sums of images: Σ σ(digit) · key + Σ σ(addend) · constant, modulo one prime, word by word.

// outputs that share each load of a key word: a column of the state
#define GROUP 4

// σ(source) * constant, to the first or the second half
struct Addend {
    Map map;
    int second;
};

// Terms σ(digit) · key of TERM words: piece and digit, the automorphism in two words, addresses of both halves of the
// key. After them, addresses of all outputs' pieces and addends.
#define TERM 5
struct Words {
    u64 at[320];
};

// What follows the sums: MixColumns of the four outputs, then the addition of constant times key.
struct Post {
    // "2" by prime of the extended basis and row, and P_l by source prime
    const num *two, *factor;
    // by output and half
    const u64* keys[32];
    int mix, add;
};

struct SumTables {
    const int* prime_of;
    // whether the digit owns the prime, by digit and prime
    const int* own;
    // factor of pieces at primes that a digit owns
    const num* scale;
    // by addend, source prime and row
    const num* by_row;
    const Addend* addends;
    int sources, digits, pieces, term_count, addend_count, outputs;
};

// Words per thread of the terms in flight. A term has both halves of its key, and a word per output of the group.
#define FETCHED 24

// Requests the words of term or addend s for this thread; `first` and `count` describe the group.
template <int OUTPUTS>
static __device__ inline void fetch_term(
    const SumTables& t, const Words& words, const u64* extended, int s, int first, int count, int prime, Place place, u64* to) {
    int limb = blockIdx.y, limbs = gridDim.y, stored = TERM * t.term_count, added = stored + t.outputs * t.pieces;
    if (s < t.term_count) {
        const u64* term = words.at + TERM * s;
        int piece = (int)term[0], number = (int)(term[0] >> 32), at = prime * N + word_of(place);
        Map map = {(int)term[1], (int)(term[1] >> 32), (unsigned)term[2]};
        Place from = source_of(map, place);
        COPY(8, to, (const u64*)term[3] + at);
        COPY(8, to + blockDim.x, (const u64*)term[4] + at);
        int own = t.own[number * limbs + limb];
#pragma unroll
        for (int o = 0; o < OUTPUTS; o++) {
            int element = (first + o) * t.pieces + piece;
            const u64* x = own ? (const u64*)words.at[stored + element] + limb * N + word_of(from)
                               : extended + ((element * t.digits + number) * limbs + limb) * N + tiled(from);
            if (o < count) COPY(8, to + (2 + o) * blockDim.x, x);
        }
    } else {
        int a = s - t.term_count, from = limb * N + word_of(source_of(t.addends[a].map, place));
#pragma unroll
        for (int o = 0; o < OUTPUTS; o++)
            if (o < count) COPY(8, to + (2 + o) * blockDim.x, (const u64*)words.at[added + (first + o) * t.addend_count + a] + from);
    }
}

//     extended  [output][piece][digit][limb][N]  in tile order
//     outs      [output][2][limb][N]             in natural order
template <int OUTPUTS>
static __device__ inline void inner_products(
    const num* primes, const SumTables& t, const Words& words, const u64* extended, const Post& post, u64* outs, num* shared) {
    const int term_words = 2 + OUTPUTS, ahead = FETCHED / term_words;
    int limb = blockIdx.y, limbs = gridDim.y, first = blockIdx.z * OUTPUTS, count = t.outputs - first;
    int i = t.prime_of[limb], is_source = limb < t.sources, all = t.term_count + (is_source ? t.addend_count : 0);
    Mod k = modulus(prime_at(primes, i));
    int at = blockIdx.x * blockDim.x + threadIdx.x;
    Place place = {(at >> 3) / WIDTH, (at >> 3) & (WIDTH - 1), at & 7};
    u64* fetched = (u64*)shared + threadIdx.x;
    Sum sums[2][OUTPUTS];
#pragma unroll
    for (int o = 0; o < OUTPUTS; o++)
        for (int c = 0; c < 2; c++) clear(sums[c][o]);
    num total[2][OUTPUTS] = {};
    int held = 0;
    Factor scale = is_source ? constant(t.scale + 2 * limb) : Factor{};
#pragma unroll 1
    for (int s = 1 - ahead; s < all; s++) {
        int next = s + ahead - 1;
        if (s >= 0) {
            WAIT_FOR_ALL_BUT(ahead - 2);
            const u64* own_words = fetched + s % ahead * term_words * blockDim.x;
            if (TERMS < sizeof(Words) / 8 && held++ == TERMS) {
                held = 1;
#pragma unroll
                for (int o = 0; o < OUTPUTS; o++)
                    for (int c = 0; c < 2; c++) {
                        total[c][o] = reduce(k, total[c][o] + reduce(k, sums[c][o]));
                        clear(sums[c][o]);
                    }
            }
            if (s < t.term_count) {
                Both y0 = canonical_both(own_words[0]), y1 = canonical_both(own_words[blockDim.x]);
                int own = t.own[(int)(words.at[TERM * s] >> 32) * limbs + limb];
#pragma unroll
                for (int o = 0; o < OUTPUTS; o++) {
                    u64 word = own_words[(2 + o) * blockDim.x];
                    Both x = centred_both(k, word);
                    if (own) x = both(k, mul_by(k, x.number, scale));
                    add(sums[0][o], x, y0);
                    add(sums[1][o], x, y1);
                }
            } else {
                int a = s - t.term_count, second = t.addends[a].second;
                Both y = both(k, t.by_row[(a * t.sources + limb) * 16 + place.row]);
#pragma unroll
                for (int o = 0; o < OUTPUTS; o++) {
                    Both x = centred_both(k, own_words[(2 + o) * blockDim.x]);
                    if (second)
                        add(sums[1][o], x, y);
                    else
                        add(sums[0][o], x, y);
                }
            }
        }
        if (next < all) fetch_term<OUTPUTS>(t, words, extended, next, first, count, i, place, fetched + next % ahead * term_words * blockDim.x);
        END_GROUP();
    }
    Factor unit = constant(prime_at(primes, i) + UNIT);
    Factor two = post.mix ? constant(post.two + 2 * (16 * limb + place.row)) : Factor{};
    int add = post.add && is_source;
    Factor factor = add ? constant(post.factor + 2 * limb) : Factor{};
#pragma unroll
    for (int c = 0; c < 2; c++) {
        num x[OUTPUTS], d[OUTPUTS];
#pragma unroll
        for (int o = 0; o < OUTPUTS; o++) x[o] = mul_by(k, total[c][o] + reduce(k, sums[c][o]), unit);
        if (OUTPUTS == 4 && post.mix) {
#pragma unroll
            for (int o = 0; o < OUTPUTS; o++) d[o] = mul_by(k, x[o], two);
            num sum = 0;
#pragma unroll
            for (int o = 0; o < OUTPUTS; o++) sum += x[o];
#pragma unroll
            for (int o = 0; o < OUTPUTS; o++) x[o] = (sum - x[o]) + (d[o] + d[(o + 1) % OUTPUTS]);
        }
#pragma unroll
        for (int o = 0; o < OUTPUTS; o++) {
            if (o < count) {
                int item = 2 * (first + o) + c;
                if (add) x[o] += mul_by(k, load(post.keys[item][limb * N + at]), factor);
                outs[(item * limbs + limb) * N + at] = lazy(k, reduce(k, x[o]));
            }
        }
    }
}

#define INNER_PRODUCT_ARGS \
    const num *primes, const __grid_constant__ SumTables t, const __grid_constant__ Words words, const u64 *extended, const __grid_constant__ Post post, u64 *outs

extern "C" __global__ void __launch_bounds__(128, 6) inner_product(INNER_PRODUCT_ARGS) {
    AFTER_THE_LAST();
    DYNAMIC_SHARED(shared);
    inner_products<GROUP>(primes, t, words, extended, post, outs, shared);
}

// for one output: four of a group would be three too many
extern "C" __global__ void __launch_bounds__(128, 6) inner_product_of_one(INNER_PRODUCT_ARGS) {
    AFTER_THE_LAST();
    DYNAMIC_SHARED(shared);
    inner_products<1>(primes, t, words, extended, post, outs, shared);
}
