//! Blind rotation of several accumulators in one pass over the keys, by one key bit, two, or a block per step.
//!
//! Two independent bits per step halve the transforms and take three keys in place of two. At most one bit of a block
//! is 1, so a step takes a whole block with one key per bit.

use crate::ciphertext::{Glwe, Lwe, Polynomial, Small};
use crate::secret::one_of_three;
use crate::set::{Gadget, LweKey};
use homaes_math::fourier::GROUP;
use homaes_math::{Fourier, Reals};
use homaes_scheme::Cancel;

/// Accumulators per tile: their digits meet a step's keys while these are in the second-level cache.
const TILE: usize = 4;

pub(crate) struct BlindRotation<'k> {
    pub(crate) fourier: &'k Fourier,
    /// see [`Fourier::rotation_step`]
    pub(crate) steps: &'k [Reals],
    pub(crate) lwe_key: LweKey,
    /// key bits per step
    pub(crate) unroll: usize,
    pub(crate) rank: usize,
    pub(crate) mask: Gadget,
    pub(crate) body: Gadget,
    /// checked in every step; a cancelled rotation returns garbage
    pub(crate) cancel: &'k Cancel,
}

#[derive(Clone, Copy)]
pub(crate) struct Rotation<'a> {
    pub(crate) exponents: &'a Exponents,
    pub(crate) test: Polynomial<'a>,
}

impl BlindRotation<'_> {
    /// Digit polynomials of one accumulator.
    fn rows(&self) -> usize {
        self.rank * self.mask.levels + self.body.levels
    }

    /// X^-phase · test for each of `rotations`, in one pass over the key; also returns the number of transforms. Noise:
    /// that of the test polynomial, plus [`rotation`](crate::noise::rotation) in every coefficient.
    pub(crate) fn run(&self, rotations: &[Rotation<'_>]) -> (Vec<Glwe>, usize) {
        let full_turn = 2 * self.fourier.degree();
        let start = |rotation: &Rotation<'_>| {
            let amount = full_turn - rotation.exponents.body;
            rotation.test.rotated(self.rank, amount)
        };
        let mut accumulators: Vec<Glwe> = rotations.iter().map(start).collect();
        let all = &mut accumulators[..];
        let transforms = match (self.lwe_key, self.unroll) {
            (LweKey::Independent, 1) => self.multiply(all, rotations, bits_of_step::<1>),
            (LweKey::Blocks, 3) => self.multiply(all, rotations, bits_of_step::<3>),
            (LweKey::Independent, 2) => self.multiply(all, rotations, |mask, step| {
                let (a, b) = (mask[2 * step], mask[2 * step + 1]);
                [a, b, a + b]
            }),
            _ => unreachable!("sets are checked"),
        };
        (accumulators, transforms)
    }

    /// Multiplies every accumulator by X^(Σ a_i s_i), and returns the number of transforms. `powers_of` takes the
    /// exponents of one step from a mask.
    fn multiply<const M: usize>(
        &self,
        accumulators: &mut [Glwe],
        rotations: &[Rotation<'_>],
        powers_of: impl Fn(&[usize], usize) -> [usize; M],
    ) -> usize {
        let (n, count) = (self.fourier.degree(), rotations.len());
        let (rows, columns) = (self.rows(), self.rank + 1);
        let mut digits = Reals::zeroed(TILE * rows * n);
        let mut sums = Reals::zeroed(TILE * columns * n);
        for (step, key) in self.steps.iter().enumerate() {
            if self.cancel.is_cancelled() {
                break;
            }
            // each tile prefetches its share of the next key
            let next: &[f64] = self.steps.get(step + 1).map_or(&[], |next| next);
            let share = next.len() / GROUP / count.div_ceil(TILE).max(1) * GROUP + GROUP;
            let mut next = next.chunks(share);
            let tiles = accumulators.chunks_mut(TILE);
            for (tile, rotations) in tiles.zip(rotations.chunks(TILE)) {
                let next = next.next().unwrap_or(&[]);
                let mut powers = [[0; M]; TILE];
                for (powers, rotation) in powers.iter_mut().zip(rotations) {
                    *powers = powers_of(&rotation.exponents.mask, step);
                }
                let powers = &powers[..rotations.len()];
                let digits = &mut digits[..powers.len() * rows * n];
                let sums = &mut sums[..powers.len() * columns * n];
                for (i, acc) in tile.iter().enumerate() {
                    self.digits(acc, digits, i * rows);
                }
                self.fourier
                    .rotation_step(powers, digits, key, sums, [rows, columns], next);
                let polynomials = tile.iter_mut().flat_map(Glwe::polynomials_mut);
                for (i, poly) in polynomials.enumerate() {
                    self.fourier.inverse_add(sums, i, poly);
                }
            }
        }
        count * self.steps.len() * (rows + columns)
    }

    /// Writes the spectra of an accumulator's digits from number `place` on.
    fn digits(&self, acc: &Glwe, out: &mut [f64], place: usize) {
        let n = self.fourier.degree();
        let (masks, body) = acc.split();
        for (i, mask) in masks.chunks_exact(n).enumerate() {
            let place = place + i * self.mask.levels;
            self.fourier
                .forward_digits(self.mask.digits(), mask, out, place);
        }
        let place = place + self.rank * self.mask.levels;
        self.fourier
            .forward_digits(self.body.digits(), body, out, place);
    }
}

fn bits_of_step<const M: usize>(mask: &[usize], step: usize) -> [usize; M] {
    core::array::from_fn(|i| mask[M * step + i])
}

/// The messages of a step's keys; at most one of them is 1.
pub(crate) fn messages(key: LweKey, bits: &[u64]) -> Vec<u64> {
    match (key, bits) {
        (LweKey::Independent, &[s1, s2]) => one_of_three([s1, s2]).to_vec(),
        _ => bits.to_vec(),
    }
}

/// An LWE ciphertext in steps of 1/(2N): exponents of X below 2N.
pub(crate) struct Exponents {
    /// one per bit of the LWE key
    pub(crate) mask: Vec<usize>,
    pub(crate) body: usize,
}

impl Exponents {
    /// Rounds to multiples of 2^grid steps, for a ring of degree n.
    ///
    /// Key bits have mean 1/`per_one`. The mean effect of the mask's rounding errors is public and subtracted from the
    /// body. For mean 1/2, (s_i - 1/2) ε_i is left, with half the variance of s_i ε_i.
    pub(crate) fn new(lwe: &Lwe<Small>, per_one: usize, n: usize, grid: u32) -> Self {
        let shift = step_log(n) + grid;
        let round = |x: u64| x.wrapping_add(1 << (shift - 1)) >> shift;
        let exponent = |rounded: u64| (rounded as usize) << grid & (2 * n - 1);
        let mut lost = 0i64;
        let each = lwe.mask().iter().map(|&a| {
            let rounded = round(a);
            lost = lost.wrapping_add(a.wrapping_sub(rounded << shift) as i64);
            exponent(rounded)
        });
        let mask = each.collect();
        let body = lwe.body().wrapping_sub((lost / per_one as i64) as u64);
        Self {
            mask,
            body: exponent(round(body)),
        }
    }

    pub(crate) fn rotations<'a>(&'a self, tests: &'a [Glwe]) -> impl Iterator<Item = Rotation<'a>> {
        let tests = tests.iter().map(Polynomial::Encrypted);
        tests.map(|test| Rotation {
            exponents: self,
            test,
        })
    }
}

/// log2 of one step: 2^64 / 2N.
pub(crate) fn step_log(n: usize) -> u32 {
    63 - n.trailing_zeros()
}
