// Public bytes to limbs, and limbs to the words of a file.
//
//   bytes, signs -> block_values -> values -> block_coefficients -> coefficients -> block_rows -> columns_finish
//   limbs -> pack_limbs -> words
//
// An item is one polynomial. h is 128, the columns up to sign, or 1 without the axis of 257. In K the slots of w = 1
// follow those of w = 0: bytes a and b are the polynomial a + w(a + b). Arrays of an item:
//
//   input         bytes: 16 h slots of each half, then signs: a byte per row and column, a bit per lane
//   values        bytes [half][16 rows][8 lanes][h, padded to 8]: elements of GF(2^8), after all axes but that of 257
//   coefficients  bytes [N] in tile order: 1, 0 or -1; equal up to sign at columns f and f + h
//
// Tables of a ring, made by slots.rs:
//
//   origin        ints [h][16 rows][8 lanes]: slot of a value, times eight, plus how often its byte is squared
//   by_row        bytes [16]: the kernel of the axis of 17
//   by_lane       bytes [8 from][8 to]: the kernels of the axes of 3 and 5
//   masks         words [h / 8, at least 1][h]: the axis of 257. Byte i of word w of column f selects the bits of value
//                 8 w + i whose sum is bit 0 of its product with the kernel

// product in GF(2^8), modulo x^8 + x^4 + x^3 + x + 1
static __device__ inline unsigned field_mul(unsigned a, unsigned b) {
    unsigned product = 0;
#pragma unroll
    for (int i = 7; i >= 0; i--) product = (product << 1) ^ (product >> 7 & 1) * 0x11b ^ (b >> i & 1) * a;
    return product;
}

// Values of column blockIdx.x, and the axes of 17, 3 and 5, of the half of an item. Thread (row, lane); each has `step`
// bytes of values.
extern "C" __global__ void __launch_bounds__(128) block_values(
    const num*, const int* origin, const unsigned char* by_row, const unsigned char* by_lane, int step, const unsigned char* input,
    int input_bytes, unsigned char* values) {
    AFTER_THE_LAST();
    __shared__ unsigned char shared[128];
    int at = threadIdx.x, row = at >> 3, lane = at & 7, col = blockIdx.x, item = blockIdx.z / HALVES;
    int from = origin[col * 128 + at];
    const unsigned char* slot = input + (long long)item * input_bytes + (from >> 3);
    unsigned x = *slot;
    if (HALVES == 2 && blockIdx.z % HALVES) x ^= slot[16 * gridDim.x];
    for (int k = from & 7; k > 0; k--) x = field_mul(x, x);
    shared[at] = (unsigned char)x;
    __syncthreads();
    unsigned sum = 0;
    for (int e = 0; e < 16; e++) sum ^= field_mul(by_row[(e + row) & 15], shared[e * 8 + lane]);
    __syncthreads();
    shared[at] = (unsigned char)sum;
    __syncthreads();
    sum = 0;
    for (int e = 0; e < 8; e++) sum ^= field_mul(by_lane[e * 8 + lane], shared[row * 8 + e]);
    values[((long long)blockIdx.z * 128 + at) * step + col] = (unsigned char)sum;
}

// The axis of 257, whose results are bits, and their signs. Block (row, 0, half of an item), one thread per column up
// to sign.
extern "C" __global__ void __launch_bounds__(128) block_coefficients(
    const num*, const u64* masks, int words, const u64* values, const unsigned char* input, int input_bytes, signed char* coefficients) {
    AFTER_THE_LAST();
    int row = blockIdx.x, item = blockIdx.z / HALVES, first = blockIdx.z % HALVES * COLS, half = blockDim.x;
    const u64* x = values + ((long long)blockIdx.z * ROWS + row) * 8 * words;
    unsigned bits = 0;
    for (int lane = 0; lane < 8; lane++) {
        u64 sum = 0;
        for (int w = 0; w < words; w++) sum ^= x[lane * words + w] & masks[w * half + threadIdx.x];
        for (int shift = 32; shift > 0; shift >>= 1) sum ^= sum >> shift;
        bits |= (unsigned)(sum & 1) << lane;
    }
    const unsigned char* signs = input + (long long)(item + 1) * input_bytes - ROWS * WIDTH;
    for (int col = threadIdx.x; col < COLS; col += half) {
        unsigned sign = signs[row * WIDTH + first + col];
        for (int lane = 0; lane < 8; lane++) {
            int bit = bits >> lane & 1, at = tiled(row, first + col, lane);
            coefficients[(long long)item * N + at] = (signed char)(sign >> lane & 1 ? -bit : bit);
        }
    }
}

// Coefficients times R (`scale`), and the rows of the forward transform, in tile order. A warp has a tile of limb
// blockIdx.y of item blockIdx.z. columns_finish completes the limbs and adds them to those of a state.
extern "C" __global__ void __launch_bounds__(128) block_rows(
    const num* primes, const int* prime_of, const num* scale, const signed char* coefficients, u64* outs) {
    AFTER_THE_LAST();
    DYNAMIC_SHARED(shared);
    int limb = blockIdx.y, item = blockIdx.z, prime = prime_of[limb];
    int warp = UNIFORM((int)threadIdx.x >> 5), thread = threadIdx.x & 31, warps = blockDim.x >> 5;
    const num* constants = prime_at(primes, prime);
    Mod k = modulus(constants);
    int first = (blockIdx.x * warps + warp) * TILE + thread;
    const signed char* a = coefficients + (long long)item * N + first;
    num factor = scale[limb], x[PER];
    FOR_POINTS(i) x[i] = a[32 * i] * factor;
    axis257(k, tables(constants, 0), ROOTS(prime, 0), shared + warp * SCRATCH, x);
    u64* out = outs + ((long long)item * gridDim.y + limb) * N + first;
    FOR_POINTS(i) out[32 * i] = bits(x[i]);
}

// Limbs as in files: canonical residues at the length of their prime, concatenated, lowest bit first. Limb l begins at
// word start[l] of an item and has bits[l] bits per residue; start[limbs] is an item's length. A thread writes a word.
extern "C" __global__ void __launch_bounds__(128) pack_limbs(
    const num* primes, const int* prime_of, const int* bits, const int* start, const u64* const* sources, u64* outs) {
    AFTER_THE_LAST();
    int limb = blockIdx.y, item = blockIdx.z, word = blockIdx.x * blockDim.x + threadIdx.x;
    if (word >= start[limb + 1] - start[limb]) return;
    u64 p = (u64)prime_at(primes, prime_of[limb])[0];
    const u64* a = sources[item] + (long long)limb * N;
    int length = bits[limb], begin = 64 * word;
    u64 out = 0;
    for (int i = begin / length; i * length < begin + 64; i++) {
        u64 x = a[i] >= p ? a[i] - p : a[i];
        int shift = i * length - begin;
        out |= shift < 0 ? x >> -shift : x << shift;
    }
    outs[(long long)item * start[gridDim.y] + start[limb] + word] = out;
}
