//! What an adversary sees, and what breaking it costs.

use core::fmt;
use std::borrow::Cow;

/// Cost of the cheapest known attack, and where the number comes from.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Estimate {
    /// log2 of the number of classical operations.
    pub bits: f64,
    /// The attack.
    pub attack: &'static str,
    /// Cost model and assumptions.
    pub model: &'static str,
    /// Tool and its commit, or the paper.
    pub tool: &'static str,
    /// Day of the computation, `YYYY-MM-DD`.
    pub date: &'static str,
}

/// One thing an adversary sees: a key or a ciphertext, at its own modulus.
#[derive(Debug, Clone, PartialEq)]
pub struct Published {
    /// What is published, such as `relinearisation key`; with dimension and noise where they differ from line to line
    /// ([`crate::lwe::published`]).
    pub what: Cow<'static, str>,
    /// log2 of the modulus it is published at.
    pub modulus_bits: f64,
    /// Its hardness; `None` where nothing is known or claimed (toy sets).
    pub estimate: Option<Estimate>,
}

/// How the coefficients of a ternary secret in {-1, 0, 1} are chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SecretWeight {
    /// Exactly this many coefficients are not zero.
    Hamming(u32),
    /// Every coefficient is uniform.
    Ternary,
}

impl fmt::Display for SecretWeight {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Hamming(h) => write!(f, "h={h}"),
            Self::Ternary => f.write_str("ternary"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weights_are_printable() {
        assert_eq!(SecretWeight::Hamming(64).to_string(), "h=64");
        assert_eq!(SecretWeight::Ternary.to_string(), "ternary");
    }
}
