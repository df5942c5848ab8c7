//! Errors of the NTRU scheme and its files.

use homaes_math::sample::LOT;
pub use homaes_scheme::bits::{Error, Result};

/// Why a [`ParamSet`](crate::sets::ParamSet) is rejected.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ParamsError {
    /// The conductor is not supported.
    #[error(
        "conductor {m}: expected a product of distinct primes 3, 5, 17, 257 that includes 17, of a ring whose degree is a multiple of {LOT}"
    )]
    Conductor {
        /// found
        m: u64,
    },
    /// A modulus does not fit the ring.
    #[error("modulus {p}: expected a prime below 2^48 that is 1 modulo {step}")]
    Modulus {
        /// found
        p: u64,
        /// expected residue class
        step: u64,
    },
    /// The number of rounds is not one of AES.
    #[error("{rounds} rounds: expected 10 to 14")]
    Rounds {
        /// found
        rounds: usize,
    },
}
