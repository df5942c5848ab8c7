//! What a file, a key or a choice of parameters can cause.

use homaes_math::sample::LOT;
pub use homaes_scheme::bits::{Error, Result};

/// Why a [`ParamSet`](crate::sets::ParamSet) is not usable.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ParamsError {
    /// The conductor does not fit.
    #[error(
        "conductor {m}: expected a product of distinct primes 3, 5, 17, 257 that includes 17, of a ring whose degree is a multiple of {LOT}"
    )]
    Conductor {
        /// found
        m: u64,
    },
    /// A modulus is unusable in this ring.
    #[error("modulus {p}: expected a prime below 2^47 that is 1 modulo {step}")]
    Modulus {
        /// found
        p: u64,
        /// expected residue class
        step: u64,
    },
    /// The number of rounds does not fit AES.
    #[error("{rounds} rounds: expected 10 to 14")]
    Rounds {
        /// found
        rounds: usize,
    },
}
