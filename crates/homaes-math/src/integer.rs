//! Products of large integers, for schemes over the integers.
//!
//! Integers are lists of 64-bit words, lowest first ([`crate::natural`]). Times depend on lengths only.
//!
//! | object | computes | cost |
//! |---|---|---|
//! | [`Convolution`] | products modulo X^L - 1 of lists of digits, by three number-theoretic transforms | L log L |
//! | [`Spectrum`] | a factor in transformed form, for many products | three words per digit |
//! | [`Accumulation`] | Σ v_s·d_s for rows v_s of a large table | the schoolbook's, eight products at a time |
//! | [`Reducer`] | remainders modulo a fixed number | four products, by cached spectra |
//! | [`pass_fermat`] | 2^(1-n) modulo eight n of 1024 bits | as many squarings as bits |

mod convolution;
pub(crate) mod convolution_ntt;
mod dft;
#[cfg(any(test, target_arch = "x86_64", target_arch = "aarch64"))]
pub(crate) mod doubles;
pub(crate) mod fermat;
mod reducer;
pub(crate) mod rows;
pub(crate) mod word_lanes;

pub use convolution::{Convolution, Form, Spectrum};
pub use fermat::{FERMAT_BITS, pass_fermat};
pub use reducer::Reducer;

use crate::modulus::{MASK, WORD_BITS};
use crate::natural;
use crate::simd::{self, Backend};
use zeroize::Zeroize;

/// Eight words.
pub type Lanes = [u64; word_lanes::LANES];

/// The shape of an accumulation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Accumulation {
    /// digits between the windows of successive vectors
    pub stride: usize,
    /// digits of a window: places of the result
    pub outputs: usize,
    /// words between successive places of the result: 1 if the lanes are limbs of one number, 8 if of eight numbers
    pub spacing: usize,
}

impl Accumulation {
    /// Words of a result.
    pub fn words(&self) -> usize {
        (self.outputs + 1) * self.spacing + word_lanes::LANES
    }

    /// out += Σ_s v_s·d_s: adds the 52-bit limbs of v_s\[lane\]·d\[s·stride + m\] to `out[m·spacing + lane]` and the
    /// two places above.
    ///
    /// Limbs and digits are below 2^52. A call with at most 4096 vectors adds less than 2^54 + 2^15 to a word, 9
    /// times that where lanes overlap; the caller carries in time ([`carry_limbs`]).
    ///
    /// # Panics
    /// If `digits` is shorter than (`vectors.len()` - 1)·`stride` + `outputs`, or `out` than [`words`](Self::words).
    pub fn add(&self, backend: Backend, vectors: &[Lanes], digits: &[u64], out: &mut [u64]) {
        assert!(out.len() >= self.words());
        assert!(
            vectors.is_empty() || digits.len() >= (vectors.len() - 1) * self.stride + self.outputs
        );
        let is_limb = |x: &u64| *x <= MASK;
        debug_assert!(vectors.as_flattened().iter().all(is_limb) && digits.iter().all(is_limb));
        let shape = (self.stride, self.outputs);
        simd::integer::accumulate(backend, vectors, digits, shape, out, self.spacing);
    }
}

/// Carries the bits above 52 of each word to the next; the last word keeps its own.
pub fn carry_limbs(limbs: &mut [u64]) {
    let mut carry = 0;
    if let Some((last, rest)) = limbs.split_last_mut() {
        for limb in rest {
            let sum = *limb + carry;
            *limb = sum & MASK;
            carry = sum >> WORD_BITS;
        }
        *last += carry;
    }
}

/// The `out.len()` limbs of 52 bits of `words`; zeros beyond its end.
pub fn limbs_of_words(words: &[u64], out: &mut [u64]) {
    let bits = WORD_BITS as usize;
    let word = |i: usize| words.get(i).copied().unwrap_or(0);
    for (i, out) in out.iter_mut().enumerate() {
        let (first, shift) = (i * bits / 64, (i * bits % 64) as u32);
        let high = word(first + 1).checked_shl(64 - shift).unwrap_or(0);
        *out = (word(first) >> shift | high) & MASK;
    }
}

/// The `out.len()` words of a number in limbs of 52 bits, as far as it goes.
pub fn words_of_limbs(limbs: &[u64], out: &mut [u64]) {
    let bits = WORD_BITS as usize;
    let limb = |i: usize| u128::from(limbs.get(i).copied().unwrap_or(0));
    for (i, out) in out.iter_mut().enumerate() {
        let (first, shift) = (64 * i / bits, 64 * i % bits);
        let all = limb(first) | limb(first + 1) << bits | (limb(first + 2) << bits) << bits;
        *out = (all >> shift) as u64;
    }
}

/// The product of two numbers of any length.
pub fn product(a: &[u64], b: &[u64], backend: Backend) -> Vec<u64> {
    let mut out = vec![0; a.len() + b.len()];
    let shorter = a.len().min(b.len());
    if shorter < SCHOOLBOOK_WORDS {
        natural::product(a, b, &mut out);
    } else {
        let c = Convolution::new(64 * out.len(), 64 * shorter / 52 + 1, backend);
        let spectra = [(a, Form::Plain), (b, Form::Stored)].map(|(x, form)| c.forward(x, form));
        let [mut x, mut y] = spectra;
        c.multiply_assign(&mut x, &y);
        // a factor may be secret
        y.zeroize();
        c.inverse(x, 0, &mut out);
    }
    out
}

/// Below this length the schoolbook method is faster.
const SCHOOLBOOK_WORDS: usize = 100;

#[cfg(test)]
mod tests {
    use super::convolution::tests::{big, random};
    use super::*;
    use num_bigint::BigUint;
    use rand_chacha::ChaCha20Rng;
    use rand_core::SeedableRng;

    /// On all backends, with rows of one number and of eight.
    #[test]
    fn sums_over_rows_are_those_of_integers() {
        let mut rng = ChaCha20Rng::from_seed([3; 32]);
        let limb = |x: u64| x & MASK;
        for (rows, outputs) in [(1, 1), (7, 9), (100, 11), (5000, 12), (300, 25)] {
            let vector = |_| core::array::from_fn(|_| limb(random(&mut rng, 1)[0]));
            let vectors: Vec<Lanes> = (0..rows).map(vector).collect();
            for stride in [1, outputs] {
                let digits = random(&mut rng, rows * stride + outputs).into_iter();
                let largest = if rows == 5000 { MASK } else { 0 };
                let digits: Vec<u64> = digits.map(|x| limb(x) | largest).collect();
                let value = |s: usize| {
                    let limbs = digits[s * stride..][..outputs].iter().rev();
                    limbs.fold(BigUint::from(0u8), |sum, &d| (sum << WORD_BITS) + d)
                };
                for spacing in [1, word_lanes::LANES] {
                    let shape = Accumulation {
                        stride,
                        outputs,
                        spacing,
                    };
                    let results = Backend::available().map(|backend| {
                        let mut out = vec![0; shape.words()];
                        shape.add(backend, &vectors, &digits, &mut out);
                        out
                    });
                    let results: Vec<_> = results.collect();
                    assert!(results.windows(2).all(|pair| pair[0] == pair[1]));
                    let out = &results[0];
                    for lane in 0..word_lanes::LANES {
                        let mut own: Vec<u64> = match spacing {
                            1 => out.clone(),
                            _ => out.iter().skip(lane).step_by(spacing).copied().collect(),
                        };
                        own.push(0);
                        carry_limbs(&mut own);
                        let mut words = vec![0; own.len()];
                        words_of_limbs(&own, &mut words);
                        let mut back = vec![0; own.len()];
                        limbs_of_words(&words, &mut back);
                        assert_eq!(back, own);
                        let of_lane = |lane: usize| -> BigUint {
                            let products = vectors.iter().enumerate();
                            products.map(|(s, v)| value(s) * v[lane]).sum()
                        };
                        let lanes = (0..word_lanes::LANES).map(|lane| of_lane(lane) << (52 * lane));
                        let expected = match spacing {
                            1 => lanes.sum(),
                            _ => of_lane(lane),
                        };
                        assert_eq!(big(&words), expected, "{rows} {outputs} {stride} {spacing}");
                    }
                }
            }
        }
    }
}
