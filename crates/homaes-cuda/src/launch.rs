//! The kernels as functions: grids, and arguments in the order of `kernels/`.
//!
//! Callers guarantee the lengths behind the addresses of tables and limbs; a grid covers them exactly.

use crate::Result;
use crate::args::Arg::{self, At, Int, Map, Words};
use crate::driver::Driver;
use crate::kernels::Size;
use crate::memory::Buffer;
use crate::plans::Placed;
use crate::switch_tables::Convert;
use homaes_math::Modulus;
use homaes_math::kernel::torus_constants;
use std::sync::Arc;

const BLOCK: usize = 128;
/// Most warps per block of rows.
const MOST_WARPS: usize = 10;
/// Warps of rows that fit the registers of a multiprocessor.
const MOST_RESIDENT: usize = 20;
/// Bytes of shared memory that a block takes besides its own.
const RESERVED: usize = 1024;
/// Doubles per warp for a transform.
const SCRATCH: usize = 16 * 34;
/// Doubles of the factors that join the axes of columns, in K with those between the halves.
const JOINED: [usize; 2] = [512, 520];
/// Most items of a kernel.
pub(crate) const MOST_ITEMS: usize = 64;
/// Most products per call.
pub(crate) const MOST_PRODUCTS: usize = 16;
/// Most outputs per call whose keys are added.
pub(crate) const MOST_OUTPUTS: usize = 16;
/// Most digits of keys for a product.
const MOST_KEYS: usize = 32;
/// Most products in a sum modulo primes below 2^47; half as many modulo primes of 48 bits. Each is within 9p/16, the
/// sum within 2^51.
pub(crate) const MOST_SUMMED: usize = 28;
/// Most words of terms, pieces and addends of a sum.
pub(crate) const MOST_WORDS: usize = 320;
/// Outputs that share each load of keys.
const GROUP: usize = 4;
/// Readings that share each load of a ciphertext.
pub(crate) const SHARING: usize = 4;
/// Words per thread of a sum's terms whose loads are in flight.
const FETCHED: usize = 24;

pub(crate) struct Gpu {
    pub(crate) driver: Arc<Driver>,
    pub(crate) primes: Buffer,
    pub(crate) rows: usize,
    pub(crate) cols: usize,
    pub(crate) halves: usize,
}

/// The words, padded with zeros to `most`.
fn padded(words: impl IntoIterator<Item = u64>, most: usize) -> Vec<u64> {
    let mut words: Vec<u64> = words.into_iter().collect();
    assert!(words.len() <= most, "more than a kernel has room for");
    words.resize(most, 0);
    words
}

/// `struct Sources`.
fn sources_arg(sources: &[u64]) -> Arg {
    Words(padded(sources.iter().copied(), MOST_ITEMS))
}

/// Addresses of the components of products, first and second alternating.
pub(crate) struct Factors {
    pub(crate) x: Vec<u64>,
    pub(crate) y: Vec<u64>,
    pub(crate) map: [u32; 3],
}

impl Factors {
    fn args(&self) -> [Arg; 2] {
        let mut words = padded(self.x.iter().copied(), 2 * MOST_PRODUCTS);
        words.extend(padded(self.y.iter().copied(), 2 * MOST_PRODUCTS));
        [Words(words), Map(self.map)]
    }
}

/// `struct ProductTables`.
pub(crate) struct ProductTables {
    pub(crate) prime_of: u64,
    pub(crate) owner: u64,
    pub(crate) dropped: u64,
    pub(crate) by_row: u64,
    pub(crate) sources: usize,
    pub(crate) digits: usize,
}

/// `struct SumTables`.
pub(crate) struct SumTables {
    pub(crate) prime_of: u64,
    pub(crate) own: u64,
    pub(crate) scale: u64,
    pub(crate) by_row: u64,
    pub(crate) addends: u64,
    pub(crate) sources: usize,
    pub(crate) digits: usize,
    pub(crate) pieces: usize,
    pub(crate) terms: usize,
    pub(crate) addend_count: usize,
    pub(crate) outputs: usize,
}

/// `struct Post`.
pub(crate) struct PostTables {
    pub(crate) two: u64,
    pub(crate) factor: u64,
    pub(crate) keys: Vec<u64>,
    pub(crate) mix: bool,
}

impl PostTables {
    /// Nothing.
    pub(crate) const NONE: Self = Self {
        two: 0,
        factor: 0,
        keys: Vec::new(),
        mix: false,
    };
}

fn ints(a: usize, b: usize) -> u64 {
    a as u64 | (b as u64) << 32
}

/// Tables that encode bytes, as `kernels/blocks.cu` names them.
#[derive(Clone, Copy)]
pub(crate) struct Encoding {
    pub(crate) origin: u64,
    pub(crate) by_row: u64,
    pub(crate) by_lane: u64,
    pub(crate) masks: u64,
    /// columns up to sign
    pub(crate) half: usize,
    /// words per row and lane of values
    pub(crate) words: usize,
}

impl Gpu {
    pub(crate) fn n(&self) -> usize {
        self.rows * self.cols * 8
    }

    fn tile(&self) -> usize {
        if self.cols == self.halves { 32 } else { 512 }
    }

    /// Launches a kernel with `args` after the primes.
    fn launch(
        &self,
        kernel: &'static str,
        grid: [usize; 3],
        [block, shared]: [usize; 2],
        args: impl IntoIterator<Item = Arg>,
    ) -> Result<()> {
        if grid.contains(&0) {
            return Ok(());
        }
        let args: Vec<Arg> = core::iter::once(At(self.primes.at(0)))
            .chain(args)
            .collect();
        // SAFETY: callers give the arguments in the order of the source; addresses are of buffers that live until the
        // launch, and memory is freed in the order of the stream.
        unsafe { self.driver.launch(kernel, grid, block, shared, &args) }
    }

    /// Launches blocks of columns. `y` and `z` complete the grid; `joined` and `columns` count the sets of factors, and
    /// the columns per thread, in shared memory.
    fn on_columns(
        &self,
        kernel: &'static str,
        [y, z]: [usize; 2],
        [joined, columns]: [usize; 2],
        args: impl IntoIterator<Item = Arg>,
    ) -> Result<()> {
        let block = BLOCK.min(8 * self.cols);
        let joined = joined * JOINED[self.halves - 1];
        let shared = 8 * (joined + columns * self.rows * block);
        let grid = [8 * self.cols / block, y, z];
        self.launch(kernel, grid, [block, shared], args)
    }

    fn on_words(
        &self,
        kernel: &'static str,
        [y, z]: [usize; 2],
        args: impl IntoIterator<Item = Arg>,
    ) -> Result<()> {
        self.launch(kernel, [self.n() / BLOCK, y, z], [BLOCK, 0], args)
    }

    /// Converts every digit of `elements` elements from `words` to `out`.
    pub(crate) fn rows_convert<T>(
        &self,
        tables: &Placed<T>,
        convert: &Convert,
        elements: usize,
        [words, out]: [u64; 2],
    ) -> Result<()> {
        let tile = self.tile();
        let [x, y] = [self.n() / tile, elements * convert.sizes.len()];
        let [warps, sharing] = shape(self.driver.size, &convert.sizes, x * y, tile);
        let shared = shared_bytes(&convert.sizes, warps, tile);
        let args = [
            At(tables.at(convert.source_prime)),
            At(tables.at(convert.target_prime)),
            Int(convert.targets),
            At(tables.at(convert.scale)),
            At(tables.at(convert.digits)),
            Int(convert.sizes.len()),
            At(tables.at(convert.table)),
            At(words),
            Int(convert.limbs),
            At(out),
        ];
        self.launch("rows_convert", [x, y, sharing], [32 * warps, shared], args)
    }

    pub(crate) fn columns_inverse(
        &self,
        limbs: usize,
        [prime_of, place]: [u64; 2],
        sources: &[u64],
        out: u64,
    ) -> Result<()> {
        let size = [limbs, sources.len()];
        let args = [At(prime_of), At(place), sources_arg(sources), At(out)];
        self.on_columns("columns_inverse", size, [1, 0], args)
    }

    pub(crate) fn columns_forward(
        &self,
        size: [usize; 2],
        [prime_of, own]: [u64; 2],
        digits: usize,
        limbs: u64,
    ) -> Result<()> {
        let args = [At(prime_of), At(own), Int(digits), At(limbs)];
        self.on_columns("columns_forward", size, [1, 0], args)
    }

    pub(crate) fn columns_finish(
        &self,
        limbs: usize,
        [prime_of, place, factor]: [u64; 3],
        sources: &[u64],
        [converted, out]: [u64; 2],
    ) -> Result<()> {
        let size = [limbs, sources.len()];
        let tables = [prime_of, place, factor].map(At);
        let rest = [sources_arg(sources), At(converted), At(out)];
        let args = tables.into_iter().chain(rest);
        self.on_columns("columns_finish", size, [1, 1], args)
    }

    pub(crate) fn parts_columns(
        &self,
        limbs: usize,
        [prime_of, scale, owner]: [u64; 3],
        factors: &Factors,
        (extended, digits, extended_limbs): (u64, usize, usize),
        out: u64,
    ) -> Result<()> {
        let size = [limbs, factors.x.len()];
        let tables = [At(prime_of), At(scale), At(owner), Int(digits)];
        let to = [At(extended), Int(extended_limbs), At(out)];
        let args = tables.into_iter().chain(factors.args()).chain(to);
        self.on_columns("parts_columns", size, [1, 0], args)
    }

    /// `keys`: addresses of both halves by piece and digit; `(lowered, dropped)`: address and number of dropped limbs.
    pub(crate) fn key_columns(
        &self,
        limbs: usize,
        t: &ProductTables,
        factors: &Factors,
        keys: &[[u64; 2]],
        [extended, out]: [u64; 2],
        (lowered, dropped): (u64, usize),
    ) -> Result<()> {
        let tables = [t.prime_of, t.owner, t.dropped, t.by_row];
        let tables = tables.into_iter().chain([ints(t.sources, t.digits)]);
        let [parts, map] = factors.args();
        let args = [
            Words(tables.collect()),
            parts,
            map,
            Words(padded(keys.iter().flatten().copied(), 2 * MOST_KEYS)),
            At(extended),
            At(out),
            At(lowered),
            Int(dropped),
        ];
        let size = [factors.x.len() / 2, limbs];
        self.on_columns("key_columns", size, [2, 3], args)
    }

    /// `words` has the terms, then the addresses of pieces and addends.
    pub(crate) fn inner_product(
        &self,
        limbs: usize,
        t: &SumTables,
        words: Vec<u64>,
        extended: u64,
        post: &PostTables,
        out: u64,
    ) -> Result<()> {
        let tables = [t.prime_of, t.own, t.scale, t.by_row, t.addends];
        let counts = [
            ints(t.sources, t.digits),
            ints(t.pieces, t.terms),
            ints(t.addend_count, t.outputs),
        ];
        let mut rest = vec![post.two, post.factor];
        rest.extend(padded(post.keys.iter().copied(), 2 * MOST_OUTPUTS));
        rest.push(ints(
            usize::from(post.mix),
            usize::from(!post.keys.is_empty()),
        ));
        let args = [
            Words(tables.into_iter().chain(counts).collect()),
            Words(padded(words, MOST_WORDS)),
            At(extended),
            Words(rest),
            At(out),
        ];
        let (kernel, groups) = match t.outputs {
            1 => ("inner_product_of_one", 1),
            more => ("inner_product", more.div_ceil(GROUP)),
        };
        let grid = [self.n() / BLOCK, limbs, groups];
        self.launch(kernel, grid, [BLOCK, 8 * FETCHED * BLOCK], args)
    }

    /// Sums of `lists` lists of `terms` ciphertexts, with `rows` rows of constants; see `kernels/words.cu`.
    pub(crate) fn combine_limbs(
        &self,
        [limbs, lists]: [usize; 2],
        tables: [u64; 3],
        [rows, terms]: [usize; 2],
        sources: &[u64],
        out: u64,
    ) -> Result<()> {
        let sizes = [Int(rows), Int(terms), sources_arg(sources), At(out)];
        let args = tables.map(At).into_iter().chain(sizes);
        self.on_words("combine_limbs", [limbs, 2 * lists], args)
    }

    /// The components of one product.
    pub(crate) fn tensor_limbs(
        &self,
        limbs: usize,
        [prime_of, scale]: [u64; 2],
        factors: &Factors,
        components: usize,
        out: u64,
    ) -> Result<()> {
        let args = [At(prime_of), At(scale)].into_iter().chain(factors.args());
        let args = args.chain([Int(components), At(out)]);
        self.on_words("tensor_limbs", [limbs, 1], args)
    }

    pub(crate) fn sum_limbs(&self, limbs: usize, [prime_of, a, b, out]: [u64; 4]) -> Result<()> {
        self.on_words("sum_limbs", [limbs, 1], [prime_of, a, b, out].map(At))
    }

    /// Encodes `items` plaintexts of `input_bytes` each, at `input`.
    pub(crate) fn block_values(
        &self,
        items: usize,
        encoding: &Encoding,
        (input, input_bytes): (u64, usize),
        values: u64,
    ) -> Result<()> {
        let tables = [encoding.origin, encoding.by_row, encoding.by_lane].map(At);
        let args = tables.into_iter().chain([
            Int(8 * encoding.words),
            At(input),
            Int(input_bytes),
            At(values),
        ]);
        let grid = [encoding.half, 1, self.halves * items];
        self.launch("block_values", grid, [BLOCK, 0], args)
    }

    pub(crate) fn block_coefficients(
        &self,
        items: usize,
        encoding: &Encoding,
        values: u64,
        (input, input_bytes): (u64, usize),
        coefficients: u64,
    ) -> Result<()> {
        let args = [
            At(encoding.masks),
            Int(encoding.words),
            At(values),
            At(input),
            Int(input_bytes),
            At(coefficients),
        ];
        let grid = [self.rows, 1, self.halves * items];
        self.launch("block_coefficients", grid, [encoding.half, 0], args)
    }

    pub(crate) fn block_rows(&self, [limbs, items]: [usize; 2], args: [u64; 4]) -> Result<()> {
        let warps = BLOCK / 32;
        let grid = [self.n() / (warps * self.tile()), limbs, items];
        let block = [BLOCK, 8 * warps * SCRATCH];
        self.launch("block_rows", grid, block, args.map(At))
    }

    /// Digits of `items` polynomials modulo `prime`, from the factors 1/R and R; `[low, base, digits]` is how they are
    /// cut.
    pub(crate) fn rows_digits(
        &self,
        items: usize,
        (prime, factors): (usize, u64),
        [low, base, digits]: [usize; 3],
        [words, out]: [u64; 2],
    ) -> Result<()> {
        let warps = BLOCK / 32;
        let grid = [self.n() / (warps * self.tile()), items, 1];
        let block = [BLOCK, 8 * warps * SCRATCH];
        let sizes = [Int(low), Int(base), Int(digits)];
        let args = [Int(prime), At(factors)].into_iter().chain(sizes);
        self.launch("rows_digits", grid, block, args.chain([At(words), At(out)]))
    }

    /// Sums over rows of `row` words, of groups of readings.
    pub(crate) fn slot_sums(
        &self,
        [row, groups]: [usize; 2],
        prime: usize,
        table: u64,
        out: u64,
    ) -> Result<()> {
        let grid = [row.div_ceil(BLOCK), groups, 1];
        let args = [Int(prime), At(table), At(out)];
        self.launch("slot_sums", grid, [BLOCK, 0], args)
    }

    /// LWE ciphertexts from these sums. `tables`: the matrix of the lanes, the groups, and the sums.
    pub(crate) fn slot_words(
        &self,
        [row, groups]: [usize; 2],
        prime: usize,
        [lanes, table, sums]: [u64; 3],
        (m, halves): (&Modulus, bool),
        out: u64,
    ) -> Result<()> {
        let [shift, factor] = torus_constants(m);
        let args = [Int(prime), At(lanes), At(table), At(sums)];
        let rest = [Int(shift as usize), At(factor), Int(halves.into()), At(out)];
        let shared = 8 * (BLOCK / 32 * SCRATCH + row + BLOCK);
        let grid = [groups * SHARING, 1, 1];
        let args = args.into_iter().chain(rest);
        self.launch("slot_words", grid, [BLOCK, shared], args)
    }

    /// Packs limbs of at most `most` words.
    pub(crate) fn pack_limbs(
        &self,
        [limbs, items]: [usize; 2],
        most: usize,
        args: [u64; 5],
    ) -> Result<()> {
        let grid = [most.div_ceil(BLOCK), limbs, items];
        self.launch("pack_limbs", grid, [BLOCK, 0], args.map(At))
    }
}

/// Bytes of shared memory of a block of rows: a transform per warp, and coefficients of all sources with quotients.
fn shared_bytes(sizes: &[[usize; 2]], warps: usize, tile: usize) -> usize {
    let sources = sizes.iter().map(|size| size[0]).max().unwrap_or(0);
    8 * (warps * SCRATCH + (sources + 1) * tile)
}

/// The number of warps per block of rows, and of blocks that share the targets of a digit, with the least estimated
/// time for digits of `sizes` (sources, targets) and `blocks` blocks without sharing. A source takes as long as a
/// target; w busy warps of a multiprocessor take about w + 12 times as long as one that never waits. A full
/// multiprocessor with fewer than three blocks takes longer, as none computes while others wait for their slowest warp.
fn shape(size: Size, sizes: &[[usize; 2]], blocks: usize, tile: usize) -> [usize; 2] {
    let time = |[warps, sharing]: [usize; 2]| {
        let by_memory = size.shared / (shared_bytes(sizes, warps, tile) + RESERVED);
        let room = by_memory.min(MOST_RESIDENT / warps) as f64;
        let all = (blocks * sharing) as f64 / size.multiprocessors as f64;
        let phase = |work: usize, among: usize| {
            let busy = work.min(among) * warps / among;
            work.div_ceil(among) as f64 * (all.min(room) * busy as f64 + 12.0)
        };
        let digit = |&[sources, targets]: &[usize; 2]| {
            phase(sources, warps) + phase(targets, warps * sharing)
        };
        let missing = if all > room {
            (3.0 - room).max(0.0)
        } else {
            0.0
        };
        let full = (1.0 + missing / 2.0) * (all / room).max(1.0);
        sizes.iter().map(digit).sum::<f64>() * full
    };
    let shapes = (1..=4).flat_map(|sharing| (2..=MOST_WARPS).map(move |w| [w, sharing]));
    let fits = |&[warps, _]: &[usize; 2]| shared_bytes(sizes, warps, tile) <= size.block_shared;
    shapes
        .filter(fits)
        .min_by(|&a, &b| time(a).total_cmp(&time(b)))
        .unwrap_or([2, 1])
}

#[cfg(test)]
mod tests {
    use super::{RESERVED, Size, shape, shared_bytes};

    #[test]
    fn warps_do_not_wait_for_each_other() {
        assert_eq!(shape(Size::H100, &[[5, 10], [5, 10]], 4096, 512), [5, 1]);
        assert_eq!(shape(Size::H100, &[[7, 7]], 4096, 512), [4, 1]);
    }

    #[test]
    fn a_small_batch_is_spread_over_the_gpu() {
        assert_eq!(shape(Size::H100, &[[5, 10], [5, 10]], 256, 512), [10, 1]);
        assert_eq!(shape(Size::H100, &[[7, 7]], 128, 512), [7, 1]);
    }

    /// An RTX 4090 has less than half the shared memory of an H100.
    #[test]
    fn blocks_fit_small_gpus() {
        let size = Size {
            multiprocessors: 128,
            shared: 100 << 10,
            block_shared: 99 << 10,
        };
        for sources in 1..=15 {
            for blocks in [64, 4096] {
                let sizes = [[sources, 20]];
                let [warps, _] = shape(size, &sizes, blocks, 512);
                let own = shared_bytes(&sizes, warps, 512);
                assert!(own <= size.block_shared);
                let resident = warps * (size.shared / (own + RESERVED));
                assert!(blocks < 4096 || resident >= 6, "{sources}");
            }
        }
    }
}
