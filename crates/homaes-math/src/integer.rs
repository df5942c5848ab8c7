//! Products of large integers, for schemes over the integers.
//!
//! Integers are lists of 64-bit words, lowest first ([`natural`]). The functions take the same time for all values of the same lengths.
//!
//! | object | computes | cost |
//! |---|---|---|
//! | [`Convolution`] | products modulo X^L - 1 of lists of digits, by three number-theoretic transforms | L log L |
//! | [`Spectrum`] | a factor in transformed form, for many products | three words per digit |
//! | [`accumulate`] | Σ v_s·d_s for rows v_s of a large table | the schoolbook's, eight products at a time |
//! | [`Reducer`] | remainders modulo a fixed number | four products, by cached spectra |

mod convolution;
mod dft;
pub(crate) mod kernel;
pub(crate) mod lanes;
pub mod natural;
mod reducer;
pub(crate) mod rows;

pub use convolution::{Convolution, Form, Spectrum};
pub use reducer::Reducer;

use crate::simd::{self, Backend};

/// Eight words.
pub type Lanes = [u64; lanes::LANES];

/// sums\[m\] += the sums of the low and of the high 52 bits of v_s·d\[s·stride + m\] over all vectors v_s, for all m < `sums.len()`, lane by lane.
///
/// Limbs and digits are below 2^52. A sum holds 4096 products before it overflows.
///
/// # Panics
/// If `digits` is shorter than (`vectors.len()` - 1)·`stride` + `sums.len()`.
pub fn accumulate(
    backend: Backend,
    vectors: &[Lanes],
    digits: &[u64],
    stride: usize,
    sums: &mut [[Lanes; 2]],
) {
    simd::integer::accumulate(backend, vectors, digits, stride, sums);
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
        let [mut x, y] = spectra;
        c.multiply_assign(&mut x, &y);
        c.inverse(x, 0, &mut out);
    }
    out
}

/// Below it the schoolbook method is faster.
const SCHOOLBOOK_WORDS: usize = 100;
