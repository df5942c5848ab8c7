//! Products of large integers, for schemes over the integers.
//!
//! Integers are lists of 64-bit words, lowest first ([`natural`]). The functions take the same time for all values of the same lengths.
//!
//! | object | computes | cost |
//! |---|---|---|
//! | [`Convolution`] | products modulo X^L - 1 of lists of digits, by three number-theoretic transforms | L log L |
//! | [`Spectrum`] | a factor in transformed form, for many products | three words per digit |
//! | [`Accumulator`] | Σ v_s·d_s for rows v_s of a large table | the schoolbook's, eight products at a time |

mod convolution;
mod dft;
pub(crate) mod kernel;
pub(crate) mod lanes;
pub mod natural;
pub(crate) mod rows;

pub use convolution::{Convolution, Form, Spectrum};
