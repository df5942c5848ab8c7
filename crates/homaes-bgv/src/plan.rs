//! What key switches do at every level, worked out once per parameter set.

use crate::chain::Tail;
use homaes_leveled::{Digit, Lowering};
use homaes_math::Shoup;

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
    pub(crate) down: Lowering,
    /// level of the result
    pub(crate) to_level: usize,
    /// number of special primes in use
    pub(crate) special: usize,
    /// log2 of the root mean square over the digits of their moduli over the special modulus in use
    pub(crate) log2_digit_excess: f64,
}
