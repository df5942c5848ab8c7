//! Errors of the NTRU scheme and its files.

use homaes_math::sample::LOT;
use homaes_scheme::failure::{Failure, remedy};
use homaes_scheme::{Cancelled, FieldError, Mismatch};
use homaes_wire::WireError;

/// Errors of the NTRU scheme and its files.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The container is damaged, or belongs to another kind or set.
    #[error(transparent)]
    Wire(#[from] WireError),
    /// The run was cancelled.
    #[error(transparent)]
    Cancelled(#[from] Cancelled),
    /// The circuit could not be evaluated.
    #[error(transparent)]
    Eval(#[from] homaes_aes::EvalError),
    /// A decrypted slot is not a bit.
    #[error("decryption does not give bits: wrong secret key, or too much noise")]
    NotBits,
    /// Objects of different sets or keys.
    #[error(transparent)]
    Mismatch(#[from] Mismatch),
    /// A field of a file has a value outside its range.
    #[error(transparent)]
    Field(#[from] FieldError),
    /// The noise in a record is out of range.
    #[error("record noise bits: found {found:?}, expected -64 to 4096")]
    NoiseBits {
        /// value found
        found: f64,
    },
    /// No acceptable secret was drawn.
    #[error(
        "{tries} secrets in a row are not invertible or too large at an embedding: the parameter set is unsound"
    )]
    NoSecret {
        /// secrets drawn
        tries: usize,
    },
}

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
    #[error("modulus {p}: expected a prime below 2^47 that is 1 modulo {step}")]
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

impl Failure for Error {
    fn remedy(&self) -> &'static str {
        match self {
            Self::Wire(error) => error.remedy(),
            Self::NotBits => remedy::WRONG_KEY,
            Self::Mismatch(mismatch) => mismatch.remedy(),
            Self::Eval(_) => "choose a parameter set with more levels, or make the keys anew",
            _ => remedy::ANEW,
        }
    }

    fn is_cancelled(&self) -> bool {
        matches!(self, Self::Cancelled(_))
    }

    fn into_wire(self: Box<Self>) -> Result<WireError, Box<dyn Failure>> {
        match *self {
            Self::Wire(error) => Ok(error),
            error => Err(Box::new(error)),
        }
    }
}

/// Result of this crate.
pub type Result<T, E = Error> = core::result::Result<T, E>;
