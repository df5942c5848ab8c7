//! What a file, a key or a choice of parameters can cause.

use homaes_scheme::{Cancelled, ErrorKind, Failure, FieldError, Mismatch};
use homaes_wire::WireError;

/// Errors of the DGHV scheme and of its files.
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
    /// The noise is as large as a secret prime.
    #[error("the noise fills a secret prime: wrong secret key, or too much noise")]
    Noise,
    /// Objects that do not go together.
    #[error(transparent)]
    Mismatch(#[from] Mismatch),
    /// A field of a file has a value outside its range.
    #[error(transparent)]
    Field(#[from] FieldError),
    /// A noise figure in a file is outside what a prime can hold.
    #[error("record noise bits: found {found:?}, expected -64 to 4096")]
    NoiseBits {
        /// value found
        found: f64,
    },
    /// The secret primes of a file are not what they should be.
    #[error("secret prime {number} is {what}")]
    Prime {
        /// which one
        number: usize,
        /// what is wrong
        what: &'static str,
    },
}

/// Why a [`ParamSet`](crate::sets::ParamSet) is not usable.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ParamsError {
    /// A number is outside its range.
    #[error("{what} {found}: expected {least} to {most}")]
    Range {
        /// which number
        what: &'static str,
        /// found
        found: usize,
        /// least
        least: usize,
        /// most
        most: usize,
    },
}

impl Failure for Error {
    fn kind(&self) -> ErrorKind {
        match self {
            Self::Wire(error) => error.into(),
            Self::Cancelled(_) => ErrorKind::Cancelled,
            Self::Mismatch(mismatch) => mismatch.kind(),
            Self::Noise => ErrorKind::Undecryptable,
            Self::Eval(_) => ErrorKind::Levels,
            Self::Field(_) | Self::NoiseBits { .. } | Self::Prime { .. } => ErrorKind::Damaged,
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
