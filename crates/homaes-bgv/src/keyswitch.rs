//! Key switching with digits and special primes (GHS12 §3.1 and its hybrid with digit decomposition).
//!
//! A key from t to s holds a pair (b_i, a_i) for every digit i of the gadget, modulo the primes of its part
//! ([`KeyPart`]), with b_i + a_i s = 2 e_i + P g_i t. P is the product of the part's special primes; g_i is 1 modulo
//! the primes of digit i and 0 modulo the others. A polynomial d modulo Q is split into centred digits d_i =
//! \[d\]_{Q_i}. Then Σ d_i·(b_i, a_i) encrypts P·d·t modulo Q·P, and the modulus switch that follows divides by P. At
//! low levels a factor P_l of P is enough and saves limbs: with d·(P/P_l)^{-1} in place of d, the sum encrypts P_l·d·t.
//!
//! Between the two basis conversions all work is local to one prime. It goes prime by prime, and within a prime over
//! all outputs of a pass, so a key's limbs are read from memory once for all of them. The outputs are all [`Products`]
//! or all [`Sums`].

mod key;
mod pass;
mod sums;

pub use key::{KeyPoly, SwitchKey};
pub use pass::Products;
pub use sums::{Addend, Post, Shape, Summands, Sums};

use crate::params::Params;
use homaes_rns::{Meter, SwitchPlan};
use homaes_scheme::Cancel;

/// Context of a pass of key switching.
#[derive(Clone, Copy)]
pub struct Pass<'a> {
    /// The set.
    pub params: &'a Params,
    /// Counts transforms and times.
    pub meter: &'a Meter,
    /// Checked before every group of products.
    pub cancel: &'a Cancel,
    /// The bases and digits.
    pub plan: &'a SwitchPlan,
    /// Whether primes may be spread over threads; false if parallel passes keep all threads busy.
    pub spread: bool,
}
