// Sums of products with keys, modulo one prime.

// Both halves of keys, by piece and digit.
struct Keys {
    const u64* half[32][2];
};

// What the sums of a product are made of, per prime i of the extended basis unless said otherwise.
struct ProductTables {
    const int* prime_of;
    // the digit that owns the prime, or -1
    const int* owner;
    // place among the primes that are dropped, or -1
    const int* dropped;
    // (P/P_l)^-1 for the digits of the third and fourth part, and P_l times the constant over R by row, per source prime
    const double *scale, *by_row;
    int sources, digits;
};

// Of products x · σ(y) in four parts: the columns of the way forward of the digits of the last two, their sums with keys, and the first two parts times
// a constant. Limbs of primes that are dropped go back through the columns.
//
//     extended  [output][part][digit][limb][N]  in the order of tiles
//     outs      [output][2][limb][N]            in natural order
//     lowered   [output][2][dropped][N]         in the order of tiles
extern "C" __global__ void __launch_bounds__(128, 3) key_columns(
    const double* primes, const __grid_constant__ ProductTables t, const __grid_constant__ Factors factors, Map map, const __grid_constant__ Keys keys, const u64* extended, u64* outs, u64* lowered, int lowered_limbs) {
    // outputs next to each other meet the same keys
    int limb = blockIdx.z, output = blockIdx.y, limbs = gridDim.z;
    int owner = t.owner[limb];
    Column c = column_of(primes, t.prime_of[limb], blockIdx.x);
    Mod k = c.k;
    long long key_at = (long long)c.prime * N + c.at;
    // each an integer in two's complement, plus so many excesses of a product
    u64 sum0[16], sum1[16];
    FOR_ROWS(r) sum0[r] = sum1[r] = 0;
    int products = 0;
    if (limb < t.sources) {
        products = owner < 0 ? 1 : 3;
        const u64 *x0 = factors.x[2 * output] + (long long)limb * N, *x1 = factors.x[2 * output + 1] + (long long)limb * N;
        const u64 *y0 = factors.y[2 * output] + (long long)limb * N, *y1 = factors.y[2 * output + 1] + (long long)limb * N;
        double2 scale = __ldg((const double2*)(t.scale + 2 * limb));
#pragma unroll
        for (int r = 0; r < 16; r++) {
            int from = word_of(source_of(map, place_of(c, r)));
            Both a = centred_both(k, x0[c.at + r * ROW]), b = centred_both(k, x1[c.at + r * ROW]);
            Both y = both(mul_const(k, centred(k, y0[from]), t.by_row + 2 * (16 * limb + r)));
            sum0[r] = product(k, a, y);
            sum1[r] = product(k, b, y);
            if (owner >= 0) {
                Both z = both(mul_by(k, centred(k, y1[from]), scale.x, scale.y));
                Both third = both(mul(k, a, z)), fourth = both(mul(k, b, z));
                const u64* const* key = keys.half[owner];
                const u64* other = keys.half[t.digits + owner][0];
                const u64* last = keys.half[t.digits + owner][1];
                sum0[r] += product(k, third, canonical_both(key[0][key_at + r * ROW])) + product(k, fourth, canonical_both(other[key_at + r * ROW]));
                sum1[r] += product(k, third, canonical_both(key[1][key_at + r * ROW])) + product(k, fourth, canonical_both(last[key_at + r * ROW]));
            }
        }
    }
#pragma unroll 1
    for (int term = 0; term < 2 * t.digits; term++) {
        if (term % t.digits == owner) continue;
        products++;
        const u64* a = extended + (((long long)output * 2 * t.digits + term) * limbs + limb) * N + c.tile;
        double x[16];
        FOR_ROWS(r) x[r] = centred(k, a[r * ROW]);
        forward(c, x);
        const u64 *key0 = keys.half[term][0] + key_at, *key1 = keys.half[term][1] + key_at;
        FOR_ROWS(r) {
            Both v = both(x[r]);
            sum0[r] += product(k, v, canonical_both(key0[r * ROW]));
            sum1[r] += product(k, v, canonical_both(key1[r * ROW]));
        }
    }
    int drop = t.dropped[limb];
    u64 excess = products * k.excess;
    double2 unit = __ldg((const double2*)(c.constants + 2));
#pragma unroll
    for (int half = 0; half < 2; half++) {
        double x[16];
        FOR_ROWS(r) x[r] = mul_by(k, small((half ? sum1[r] : sum0[r]) + excess), unit.x, unit.y);
        u64* out;
        if (drop >= 0) {
            backward(c, x);
            out = lowered + ((2LL * output + half) * lowered_limbs + drop) * N + c.tile;
        } else {
            out = outs + ((2LL * output + half) * limbs + limb) * N + c.at;
        }
        FOR_ROWS(r) out[r * ROW] = lazy(k, x[r]);
    }
}
