//! What a file, a key or a choice of parameters can cause.

use homaes_math::sample::LOT;
use homaes_scheme::{Cancelled, ErrorKind, Failure, FieldError, Mismatch};
use homaes_wire::WireError;

/// Errors of the NTRU scheme and of its files.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The container is damaged or belongs elsewhere.
    #[error(transparent)]
    Wire(#[from] WireError),
    /// The run was cancelled.
    #[error(transparent)]
    Cancelled(#[from] Cancelled),
    /// The circuit could not be evaluated.
    #[error(transparent)]
    Eval(#[from] homaes_aes::EvalError),
    /// The decrypted polynomial is not made of bits.
    #[error("the decryption is not a vector of bits: wrong secret key, or too much noise")]
    NotBits,
    /// Objects that do not go together.
    #[error(transparent)]
    Mismatch(#[from] Mismatch),
    /// A field of a file has a value outside its range.
    #[error(transparent)]
    Field(#[from] FieldError),
    /// A noise figure in a file is outside what any chain can hold.
    #[error("record noise bits: found {found:?}, expected -64 to 4096")]
    NoiseBits {
        /// value found
        found: f64,
    },
    /// No acceptable secret was drawn.
    #[error(
        "{tries} secrets in a row are not invertible, or too large at an embedding; the parameter set is unsound"
    )]
    NoSecret {
        /// secrets drawn
        tries: usize,
    },
}

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

impl Failure for Error {
    fn kind(&self) -> ErrorKind {
        match self {
            Self::Wire(error) => error.into(),
            Self::Cancelled(_) => ErrorKind::Cancelled,
            Self::Mismatch(mismatch) => mismatch.kind(),
            Self::NotBits => ErrorKind::Undecryptable,
            Self::Eval(_) => ErrorKind::Levels,
            Self::NoSecret { .. } => ErrorKind::Fault,
            Self::Field(_) | Self::NoiseBits { .. } => ErrorKind::Damaged,
        }
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
