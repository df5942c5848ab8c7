//! Blind rotation for several accumulators in one pass over the keys: plain, by one key bit a step, or unrolled, by two.
//!
//! Two bits at once take half of the transforms and three keys in place of two: faster, and half as much key again.

use crate::set::Gadget;
use homaes_math::fourier::GROUP;
use homaes_math::{Fourier, Reals};
use homaes_scheme::Cancel;

/// Accumulators whose digits meet a step's keys while these are in the second-level cache.
const TILE: usize = 2;

/// The keys of blind rotation in their ring.
pub(crate) struct BlindRotation<'k> {
    pub(crate) fourier: &'k Fourier,
    /// see [`Fourier::rotation_step`]
    pub(crate) steps: &'k [Reals],
    /// key bits of a step, 1 or 2
    pub(crate) unroll: usize,
    /// mask polynomials k of an accumulator
    pub(crate) rank: usize,
    /// digits of the mask
    pub(crate) mask: Gadget,
    /// digits of the body
    pub(crate) body: Gadget,
    /// looked at before every step; the accumulators of a cancelled rotation are of no use
    pub(crate) cancel: &'k Cancel,
}

impl BlindRotation<'_> {
    /// Digit polynomials of one accumulator.
    fn rows(&self) -> usize {
        self.rank * self.mask.levels + self.body.levels
    }

    /// Multiplies every accumulator, k + 1 polynomials each, by X^(Σ a_i s_i), its own `amounts` being a_0, a_1, …; the number of
    /// transforms that took.
    ///
    /// Noise: [`rotation`](crate::noise::rotation) in every coefficient.
    pub(crate) fn run(&self, accumulators: &mut [u64], amounts: &[impl AsRef<[usize]>]) -> usize {
        match self.unroll {
            1 => self.run_by(accumulators, amounts, |a, step| [a[step]]),
            2 => self.run_by(accumulators, amounts, |amounts, step| {
                let (a, b) = (amounts[2 * step], amounts[2 * step + 1]);
                [a, b, a + b]
            }),
            _ => unreachable!("sets are checked"),
        }
    }

    /// As `run`, with the exponents of an accumulator's step.
    fn run_by<const M: usize>(
        &self,
        accumulators: &mut [u64],
        amounts: &[impl AsRef<[usize]>],
        exponents: impl Fn(&[usize], usize) -> [usize; M],
    ) -> usize {
        let (n, count) = (self.fourier.degree(), amounts.len());
        let (rows, columns) = (self.rows(), self.rank + 1);
        let mut digits = Reals::zeroed(TILE * rows * n);
        let mut sums = Reals::zeroed(TILE * columns * n);
        for (step, key) in self.steps.iter().enumerate() {
            if self.cancel.is_cancelled() {
                break;
            }
            // while one key is at work, every tile fetches its share of the next one
            let next: &[f64] = self.steps.get(step + 1).map_or(&[], |next| next);
            let share = next.len() / GROUP / count.div_ceil(TILE).max(1) * GROUP + GROUP;
            let mut next = next.chunks(share);
            let tiles = accumulators.chunks_mut(TILE * columns * n);
            for (tile, amounts) in tiles.zip(amounts.chunks(TILE)) {
                let next = next.next().unwrap_or(&[]);
                let mut powers = [[0; M]; TILE];
                for (powers, amounts) in powers.iter_mut().zip(amounts) {
                    *powers = exponents(amounts.as_ref(), step);
                }
                let powers = &powers[..amounts.len()];
                let digits = &mut digits[..powers.len() * rows * n];
                let sums = &mut sums[..powers.len() * columns * n];
                for (i, acc) in tile.chunks_exact(columns * n).enumerate() {
                    self.digits(acc, digits, (i * rows, powers.len() * rows));
                }
                self.fourier
                    .rotation_step(powers, digits, key, sums, [rows, columns], next);
                for (i, poly) in tile.chunks_exact_mut(n).enumerate() {
                    self.fourier
                        .inverse_add(sums, i, powers.len() * columns, poly);
                }
            }
        }
        count * self.steps.len() * (rows + columns)
    }

    /// Spectra of the digits of an accumulator.
    fn digits(&self, acc: &[u64], out: &mut [f64], (place, count): (usize, usize)) {
        let n = self.fourier.degree();
        let (masks, body) = acc.split_at(self.rank * n);
        for (i, mask) in masks.chunks_exact(n).enumerate() {
            let place = place + i * self.mask.levels;
            self.fourier
                .forward_digits(self.mask.digits(), mask, out, place, count);
        }
        let place = place + self.rank * self.mask.levels;
        self.fourier
            .forward_digits(self.body.digits(), body, out, place, count);
    }
}

/// Keys of a step that takes `unroll` key bits.
pub(crate) const fn keys(unroll: usize) -> usize {
    (1 << unroll) - 1
}

/// What the keys of a step encrypt, from its one or two key bits; exactly one of them, or none, is 1.
pub(crate) fn messages(bits: &[u64]) -> Vec<u64> {
    match *bits {
        [s1, s2] => vec![s1 & (s2 ^ 1), (s1 ^ 1) & s2, s1 & s2],
        _ => bits.to_vec(),
    }
}

/// Mask and body of an LWE ciphertext in steps of 1/(2N), multiples of 2^grid: exponents of X.
///
/// What rounding takes from the mask meets key bits of mean 1/2; half of it is public and taken from the body, so that only (s_i - 1/2)
/// times the rounding errors is left: a quarter of the variance without that, in place of a half.
pub(crate) fn exponents(lwe: &[u64], n: usize, grid: u32) -> Vec<usize> {
    // 2^64 / (2N / 2^grid)
    let shift = step_log(n) + grid;
    let round = |x: u64| x.wrapping_add(1 << (shift - 1)) >> shift;
    let (mask, body) = lwe.split_at(lwe.len() - 1);
    let mut lost = 0i64;
    let mut out: Vec<usize> = mask
        .iter()
        .map(|&a| {
            let rounded = round(a);
            lost = lost.wrapping_add(a.wrapping_sub(rounded << shift) as i64);
            (rounded as usize) << grid & (2 * n - 1)
        })
        .collect();
    let body = body[0].wrapping_sub((lost / 2) as u64);
    out.push((round(body) as usize) << grid & (2 * n - 1));
    out
}

/// log2 of the torus step that one X stands for: 2^64 / 2N.
pub(crate) fn step_log(n: usize) -> u32 {
    63 - n.trailing_zeros()
}
