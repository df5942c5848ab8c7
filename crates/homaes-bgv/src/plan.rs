//! What modulus switches and key switches do at every level, worked out once per parameter set.

use crate::chain::Tail;
use homaes_math::Shoup;
use homaes_math::rns::Conversion;

/// A modulus switch from one basis to another: `c' = (Y c + δ)/X` with X the primes dropped, Y those
/// added, and δ ≡ -Y c mod X even (GHS12 §3.2, with added primes).
#[derive(Clone)]
pub(crate) struct DownPlan {
    /// positions in the source basis that are dropped
    pub(crate) dropped: Vec<usize>,
    /// the primes there
    pub(crate) dropped_primes: Vec<usize>,
    pub(crate) conversion: Conversion,
    /// target basis
    pub(crate) to: Vec<usize>,
    /// per target prime: position in the source basis and the factor Y/X, or nothing for added ones
    pub(crate) kept: Vec<Option<(usize, Shoup)>>,
    /// log2 (X / Y)
    pub(crate) log2_drop: f64,
}

/// One digit of a key-switching decomposition.
pub(crate) struct Digit {
    /// which digit of the gadget
    pub(crate) number: usize,
    /// positions in the source basis
    pub(crate) own: Vec<usize>,
    /// to every prime of source basis and special primes outside the digit, in that order
    pub(crate) conversion: Conversion,
    /// per prime of the extended basis: index among the conversion's targets
    pub(crate) target: Vec<Option<usize>>,
}

/// Key switching at one level, followed by the switch back to a basis without special primes.
pub(crate) struct SwitchPlan {
    pub(crate) from: Vec<usize>,
    /// the part of every key that holds the primes of `from`
    pub(crate) tail: Tail,
    /// from, then the special primes in use
    pub(crate) extended: Vec<usize>,
    pub(crate) digits: Vec<Digit>,
    /// (P/P_l)^{-1} per prime of `from`: compensates for the special primes left out
    pub(crate) scale: Vec<Shoup>,
    pub(crate) all_special: bool,
    pub(crate) down: DownPlan,
    /// level of the result
    pub(crate) to_level: usize,
    /// number of special primes in use
    pub(crate) special: usize,
    /// log2 of the root mean square over the digits of their moduli over the special modulus in use
    pub(crate) log2_digit_excess: f64,
}

impl DownPlan {
    /// Placeholder until the plans are made.
    pub(crate) fn empty() -> Self {
        Self {
            dropped: Vec::new(),
            dropped_primes: Vec::new(),
            conversion: Conversion::new(&[], &[], |_| 0, |_| 0),
            to: Vec::new(),
            kept: Vec::new(),
            log2_drop: 0.0,
        }
    }
}
