//! Key switching with digits and special primes (GHS12 §3.1 and its hybrid with digit decomposition).
//!
//! A key from t to s holds, for every digit i of the gadget, a pair (b_i, a_i) modulo the primes of its part
//! ([`KeyPart`]) with b_i + a_i s = 2 e_i + P g_i t, where P is the product of the part's special primes and g_i is 1
//! modulo the primes of digit i and 0 modulo the others. A polynomial d known modulo Q is split into centred digits d_i
//! = \[d\]_{Q_i}; then Σ d_i·(b_i, a_i) = encryption of P·d·t modulo Q·P, which the modulus switch that follows divides
//! by P. Using only a factor P_l of P saves limbs at low levels: with d·(P/P_l)^{-1} in place of d the sum encrypts
//! P_l·d·t.
//!
//! Everything between the two basis conversions is local to one prime, so the work goes prime by
//! prime, and within a prime over all outputs of a pass: a key's limbs are read from memory once for
//! all of them. The outputs are all [`Products`] or all [`Sums`].

mod key;
mod pass;
mod products;
mod sums;

pub use key::{KeyPoly, SwitchKey};
pub use products::Products;
pub use sums::{Addend, Post, Shape, Summands, Sums};

use crate::params::Params;
use homaes_rns::{Meter, SwitchPlan};
use homaes_scheme::Cancel;

/// Where and how a pass of key switching works.
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
    /// Whether primes may be spread over threads: false if passes side by side keep all threads busy.
    pub spread: bool,
}
