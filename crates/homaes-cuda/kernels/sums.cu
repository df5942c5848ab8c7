// Sums of images: Σ σ(digit) · key + Σ σ(addend) · constant, modulo one prime, word by word.

// outputs of one call that share each load of a key word: those of a column of the state
#define GROUP 4

// σ(source) * constant, to the first or the second half
struct Addend {
    Map map;
    int second;
};

// Terms σ(digit) · key of TERM words: piece and digit, the automorphism in two words, and the addresses of both halves of the key; then addresses of all
// outputs' pieces, and of their addends.
#define TERM 5
struct Words {
    u64 at[320];
};

// What is done to the sums: constant times key is added; before that, the four outputs go through MixColumns.
struct Post {
    // "2" by prime of the extended basis and row, and P_l by source prime
    const double *two, *factor;
    // by output and half
    const u64* keys[32];
    int mix, add;
};

struct SumTables {
    const int* prime_of;
    // by digit and prime: whether it is one of the digit's own
    const int* own;
    // what pieces are multiplied by where a digit owns the prime
    const double* scale;
    // by addend, source prime and row
    const double* by_row;
    const Addend* addends;
    int sources, digits, pieces, term_count, addend_count, outputs;
};

//     extended  [output][piece][digit][limb][N]  in the order of tiles, as are the pieces' digits
//     outs      [output][2][limb][N]             in natural order
extern "C" __global__ void __launch_bounds__(128) inner_product(
    const double* primes, SumTables t, const __grid_constant__ Words words, const u64* extended, const __grid_constant__ Post post, u64* outs) {
    int limb = blockIdx.y, limbs = gridDim.y, first = blockIdx.z * GROUP;
    int i = t.prime_of[limb];
    Mod k = modulus(prime_at(primes, i));
    int at = blockIdx.x * blockDim.x + threadIdx.x;
    Place place = {(at >> 3) / COLS, (at >> 3) & (COLS - 1), at & 7};
    Sum sums[2][GROUP];
#pragma unroll
    for (int o = 0; o < GROUP; o++)
        for (int c = 0; c < 2; c++) clear(sums[c][o]);
    double total[2][GROUP] = {};
    int held = 0, stored = TERM * t.term_count, added = stored + t.outputs * t.pieces;
    double2 scale = limb < t.sources ? __ldg((const double2*)(t.scale + 2 * limb)) : double2{0.0, 0.0};
    for (int s = 0; s < t.term_count + (limb < t.sources ? t.addend_count : 0); s++) {
        if (held++ == TERMS) {
            held = 1;
#pragma unroll
            for (int o = 0; o < GROUP; o++)
                for (int c = 0; c < 2; c++) {
                    total[c][o] = reduce(k, total[c][o] + reduce(k, sums[c][o]));
                    clear(sums[c][o]);
                }
        }
        if (s < t.term_count) {
            const u64* term = words.at + TERM * s;
            int piece = (int)term[0], number = (int)(term[0] >> 32);
            Map map = {(int)term[1], (int)(term[1] >> 32), (unsigned)term[2]};
            Place from = source_of(map, place);
            const u64 *key0 = (const u64*)term[3], *key1 = (const u64*)term[4];
            Both y0 = canonical_both(key0[i * N + at]), y1 = canonical_both(key1[i * N + at]);
            int own = t.own[number * limbs + limb];
#pragma unroll
            for (int o = 0; o < GROUP; o++) {
                if (first + o < t.outputs) {
                    int element = (first + o) * t.pieces + piece;
                    Both x;
                    if (own) {
                        const u64* whole = (const u64*)words.at[stored + element] + limb * N;
                        x = both(mul_by(k, centred(k, whole[word_of(from)]), scale.x, scale.y));
                    } else {
                        const u64* digit = extended + ((element * t.digits + number) * limbs + limb) * N;
                        x = centred_both(k, digit[tiled(from)]);
                    }
                    add(sums[0][o], x, y0);
                    add(sums[1][o], x, y1);
                }
            }
        } else {
            int a = s - t.term_count;
            const Addend& addend = t.addends[a];
            int from = word_of(source_of(addend.map, place));
            Both y = both(t.by_row[(a * t.sources + limb) * 16 + place.row]);
#pragma unroll
            for (int o = 0; o < GROUP; o++) {
                if (first + o < t.outputs) {
                    const u64* source = (const u64*)words.at[added + (first + o) * t.addend_count + a] + limb * N;
                    Both x = centred_both(k, source[from]);
                    if (addend.second)
                        add(sums[1][o], x, y);
                    else
                        add(sums[0][o], x, y);
                }
            }
        }
    }
    double2 unit = __ldg((const double2*)(prime_at(primes, i) + 2));
    double2 two = post.mix ? __ldg((const double2*)(post.two + 2 * (16 * limb + place.row))) : double2{0.0, 0.0};
    int add = post.add && limb < t.sources;
    double2 factor = add ? __ldg((const double2*)(post.factor + 2 * limb)) : double2{0.0, 0.0};
#pragma unroll
    for (int c = 0; c < 2; c++) {
        double x[GROUP], d[GROUP];
#pragma unroll
        for (int o = 0; o < GROUP; o++) x[o] = mul_by(k, total[c][o] + reduce(k, sums[c][o]), unit.x, unit.y);
        if (post.mix) {
#pragma unroll
            for (int o = 0; o < GROUP; o++) d[o] = mul_by(k, x[o], two.x, two.y);
            double sum = (x[0] + x[1]) + (x[2] + x[3]);
#pragma unroll
            for (int o = 0; o < GROUP; o++) x[o] = (sum - x[o]) + (d[o] + d[(o + 1) & 3]);
        }
#pragma unroll
        for (int o = 0; o < GROUP; o++) {
            if (first + o < t.outputs) {
                int item = 2 * (first + o) + c;
                if (add) x[o] += mul_by(k, load(post.keys[item][limb * N + at]), factor.x, factor.y);
                outs[(item * limbs + limb) * N + at] = lazy(k, reduce(k, x[o]));
            }
        }
    }
}

// a + b.
extern "C" __global__ void __launch_bounds__(128) sum_limbs(const double* primes, const int* prime_of, const u64* a, const u64* b, u64* out) {
    int limb = blockIdx.y;
    Mod k = modulus(prime_at(primes, prime_of[limb]));
    int at = limb * N + blockIdx.x * blockDim.x + threadIdx.x;
    out[at] = lazy(k, reduce(k, centred(k, a[at]) + centred(k, b[at])));
}
