// Sums of products with keys, modulo one prime.

// Both halves of keys, by piece and digit.
struct Keys {
    const u64* half[32][2];
};

// Tables of sums of a product, per prime of the extended basis unless stated otherwise.
struct ProductTables {
    const int* prime_of;
    // the digit that owns the prime, or -1
    const int* owner;
    // position among the dropped primes, or -1
    const int* dropped;
    // P_l times the constant over R by row, per source prime
    const num* by_row;
    int sources, digits;
};

// Sums of products x · σ(y), each of four components. The last two come as digits: they pass the columns of the forward
// transform, except at their own primes, and meet the keys. The first two are added, times a constant. Limbs of dropped
// primes continue through the columns of the inverse transform.
//
//     extended  [output][piece][digit][limb][N]  in tile order
//     outs      [output][2][limb][N]             in natural order
//     lowered   [output][2][dropped][N]          in tile order
extern "C" __global__ void __launch_bounds__(128, 3) key_columns(
    const num* primes, const __grid_constant__ ProductTables t, const __grid_constant__ Factors factors, Map map, const __grid_constant__ Keys keys,
    const u64* extended, u64* outs, u64* lowered, int lowered_limbs) {
    // neighbouring outputs meet the same keys
    int limb = blockIdx.z, output = blockIdx.y, limbs = gridDim.z;
    int owner = t.owner[limb], terms = 2 * t.digits;
    Column c = column_of(primes, t.prime_of[limb], blockIdx.x);
    Mod k = c.k;
    DYNAMIC_SHARED(shared);
    num *joined = shared, *joined_back = shared + JOINED_WORDS;
    // the column of a digit, then of both halves of its key
    u64 *column = column_in(joined_back), *half = column + 16 * blockDim.x;
    const u64* a = extended + ((long long)output * terms * limbs + limb) * N + c.tile;
    fetch_joined(tables(c.constants, 0), joined);
    fetch_joined(tables(c.constants, 1), joined_back);
    AFTER_THE_LAST();
    fetch_column(column, a);
    END_GROUP();
    // sums of equally many products
    u64 sum0[16], sum1[16];
    FOR_ROWS(r) sum0[r] = sum1[r] = 0;
    int products = terms;
    if (limb < t.sources) {
        products++;
        const u64 *x0 = factors.x[2 * output] + limb * N + c.at, *x1 = factors.x[2 * output + 1] + limb * N + c.at;
        const u64* y0 = factors.y[2 * output] + limb * N;
        FOR_ROWS(r) {
            num y = centred(k, y0[word_of(source_of(map, place_of(c, r)))]);
            Both factor = both(k, mul_by(k, y, constant(t.by_row + 2 * (16 * limb + r))));
            sum0[r] = product(k, centred_both(k, x0[r * ROW]), factor);
            sum1[r] = product(k, centred_both(k, x1[r * ROW]), factor);
        }
    }
#pragma unroll 1
    for (int term = 0; term < terms; term++) {
        const u64* const* key = keys.half[term];
        fetch_column(half, key[0] + c.prime * N + c.at);
        fetch_column(half + 16 * blockDim.x, key[1] + c.prime * N + c.at);
        END_GROUP();
        WAIT_FOR_ALL_BUT(1);
        __syncthreads();
        int whole = term % t.digits == owner;
        num x[16];
        FOR_ROWS(r) {
            u64 word = column[r * blockDim.x];
            x[r] = whole ? centred(k, word) : reduce(k, number(word));
        }
        a += limbs * N;
        if (term + 1 < terms) fetch_column(column, a);
        END_GROUP();
        if (!whole) other_axes(k, joined, ROOTS(c.prime, 0), x);
        WAIT_FOR_ALL_BUT(1);
        FOR_ROWS(r) {
            Both v = both(k, x[r]);
            sum0[r] += product(k, v, canonical_both(half[r * blockDim.x]));
            sum1[r] += product(k, v, canonical_both(half[(16 + r) * blockDim.x]));
        }
    }
    int drop = t.dropped[limb];
    Factor unit = constant(c.constants + UNIT);
#pragma unroll 1
    for (int half = 0; half < 2; half++) {
        num x[16];
        FOR_ROWS(r) x[r] = mul_by(k, settled(k, half ? sum1[r] : sum0[r], products), unit);
        u64* out;
        if (drop >= 0) {
            other_axes(k, joined_back, ROOTS(c.prime, 1), x);
            out = lowered + ((2LL * output + half) * lowered_limbs + drop) * N + c.tile;
        } else {
            out = outs + ((2LL * output + half) * limbs + limb) * N + c.at;
        }
        FOR_ROWS(r) out[r * ROW] = lazy(k, x[r]);
    }
}
