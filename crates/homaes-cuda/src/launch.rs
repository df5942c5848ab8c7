//! The kernels as functions: grids, and arguments in the order of `kernels/`.
//!
//! Addresses are of tables and limbs whose lengths the callers in `pass.rs` vouch for; a grid covers them exactly.

use crate::Result;
use crate::args::Arg::{self, At, Int, Map};
use crate::driver::Driver;
use crate::memory::Buffer;
use std::sync::Arc;

/// Threads of a block.
const BLOCK: usize = 128;

/// A GPU with the primes of a set.
pub(crate) struct Gpu {
    pub(crate) driver: Arc<Driver>,
    pub(crate) primes: Buffer,
    pub(crate) rows: usize,
    pub(crate) cols: usize,
}

/// Digits that are converted: places of their primes among the limbs of an element, how many, and what is skipped.
#[derive(Clone, Copy)]
pub(crate) struct Digits {
    pub(crate) count: usize,
    /// sixteen for each
    pub(crate) places: u64,
    pub(crate) counts: u64,
    /// per digit and target
    pub(crate) skip: u64,
    /// sixteen for each digit and target
    pub(crate) constants: u64,
    /// sixteen for each
    pub(crate) inverses: u64,
    /// limbs of an element
    pub(crate) limbs: usize,
}

impl Gpu {
    pub(crate) fn n(&self) -> usize {
        self.rows * self.cols * 8
    }

    /// `args` after the primes and the shape of the ring.
    fn launch(
        &self,
        kernel: &'static str,
        grid: [usize; 3],
        block: usize,
        args: &[Arg],
    ) -> Result<()> {
        let ring = [At(self.primes.at(0)), Int(self.rows), Int(self.cols)];
        self.launch_all(kernel, grid, block, &[&ring, args].concat())
    }

    /// `args` after the primes and the words of a limb.
    fn launch_words(
        &self,
        kernel: &'static str,
        [limbs, items]: [usize; 2],
        args: &[Arg],
    ) -> Result<()> {
        let ring = [At(self.primes.at(0)), Int(self.n())];
        self.launch_all(
            kernel,
            self.words(limbs, items),
            BLOCK,
            &[&ring, args].concat(),
        )
    }

    fn launch_all(
        &self,
        kernel: &'static str,
        grid: [usize; 3],
        block: usize,
        args: &[Arg],
    ) -> Result<()> {
        if grid.contains(&0) {
            return Ok(());
        }
        // SAFETY: the functions below give the arguments in the order of the source; addresses are of buffers that live until the launch, and memory is given back in
        // the order of the stream.
        unsafe { self.driver.launch(kernel, grid, block, 0, args) }
    }

    fn words(&self, limbs: usize, items: usize) -> [usize; 3] {
        [self.n() / BLOCK, limbs, items]
    }

    fn on_rows(
        &self,
        kernel: &'static str,
        [limbs, items]: [usize; 2],
        args: &[Arg],
    ) -> Result<()> {
        let block = if self.cols == 1 { 8 } else { BLOCK };
        self.launch(kernel, [self.rows, limbs, items], block, args)
    }

    fn on_columns(
        &self,
        kernel: &'static str,
        [limbs, items]: [usize; 2],
        args: &[Arg],
    ) -> Result<()> {
        let block = BLOCK.min(8 * self.cols);
        self.launch(kernel, [8 * self.cols / block, limbs, items], block, args)
    }

    pub(crate) fn rows_inverse(
        &self,
        size: [usize; 2],
        [prime_of, place, sources, out]: [u64; 4],
    ) -> Result<()> {
        let args = [prime_of, place, sources, out].map(At);
        self.on_rows("rows_inverse", size, &args)
    }

    pub(crate) fn rows_product(
        &self,
        size: [usize; 2],
        [prime_of, scale, xs, ys]: [u64; 4],
        map: [u32; 3],
        out: u64,
    ) -> Result<()> {
        let args = [At(prime_of), At(scale), At(xs), At(ys), Map(map), At(out)];
        self.on_rows("rows_product", size, &args)
    }

    /// For every digit of `elements` elements.
    pub(crate) fn rows_combine(
        &self,
        [targets, elements]: [usize; 2],
        prime_of: u64,
        digits: &Digits,
        [ys, vs, out]: [u64; 3],
    ) -> Result<()> {
        let args = [
            At(prime_of),
            At(digits.constants),
            At(digits.places),
            At(digits.counts),
            At(digits.skip),
            Int(digits.count),
            At(ys),
            Int(digits.limbs),
            At(vs),
            At(out),
        ];
        self.on_rows("rows_combine", [targets, elements * digits.count], &args)
    }

    pub(crate) fn columns_forward(
        &self,
        [targets, elements]: [usize; 2],
        prime_of: u64,
        digits: &Digits,
        limbs: u64,
    ) -> Result<()> {
        let args = [At(prime_of), At(digits.skip), Int(digits.count), At(limbs)];
        self.on_columns("columns_forward", [targets, elements * digits.count], &args)
    }

    pub(crate) fn columns_scale(
        &self,
        size: [usize; 2],
        [prime_of, scale, limbs]: [u64; 3],
    ) -> Result<()> {
        self.on_columns("columns_scale", size, &[prime_of, scale, limbs].map(At))
    }

    pub(crate) fn columns_finish(
        &self,
        size: [usize; 2],
        [prime_of, place, factor, sources, limbs]: [u64; 5],
    ) -> Result<()> {
        let args = [prime_of, place, factor, sources, limbs].map(At);
        self.on_columns("columns_finish", size, &args)
    }

    pub(crate) fn quotient(
        &self,
        elements: usize,
        digits: &Digits,
        [ys, vs]: [u64; 2],
    ) -> Result<()> {
        let args = [
            Int(self.n()),
            At(digits.inverses),
            At(digits.places),
            At(digits.counts),
            Int(digits.count),
            At(ys),
            Int(digits.limbs),
            At(vs),
        ];
        self.launch_all("quotient", self.words(digits.count, elements), BLOCK, &args)
    }

    pub(crate) fn product_columns(&self, [limbs, outputs]: [usize; 2], args: &[Arg]) -> Result<()> {
        self.on_columns("product_columns", [outputs, limbs], args)
    }

    pub(crate) fn inner_product(&self, [limbs, groups]: [usize; 2], args: &[Arg]) -> Result<()> {
        self.launch("inner_product", self.words(limbs, groups), BLOCK, args)
    }

    pub(crate) fn mix_keys(&self, limbs: usize, args: &[Arg]) -> Result<()> {
        self.launch("mix_keys", self.words(limbs, 2), BLOCK, args)
    }

    /// To the first `limbs` limbs of items of `all`.
    pub(crate) fn add_keys(
        &self,
        size: [usize; 2],
        prime_of: u64,
        all: usize,
        [factor, keys, sums]: [u64; 3],
    ) -> Result<()> {
        let args = [At(prime_of), Int(all), At(factor), At(keys), At(sums)];
        self.launch_words("add_keys", size, &args)
    }

    pub(crate) fn scale_limbs(
        &self,
        size: [usize; 2],
        [prime_of, scale, sources, out]: [u64; 4],
    ) -> Result<()> {
        let args = [prime_of, scale, sources, out].map(At);
        self.launch_words("scale_limbs", size, &args)
    }

    pub(crate) fn sum_limbs(&self, limbs: usize, [prime_of, a, b, out]: [u64; 4]) -> Result<()> {
        self.launch_words("sum_limbs", [limbs, 1], &[prime_of, a, b, out].map(At))
    }
}
