//! Errors of the DGHV scheme and its files.

use homaes_scheme::failure::{Failure, remedy};
use homaes_scheme::{Cancelled, FieldError, Mismatch};
use homaes_wire::WireError;

/// Errors of the DGHV scheme and its files.
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
    /// The noise is as large as a secret prime.
    #[error("noise exceeds the secret prime: wrong secret key, or too much noise")]
    Noise,
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
    /// A secret prime in a file is invalid.
    #[error("secret prime {number} is {what}")]
    Prime {
        /// index of the prime
        number: usize,
        /// what is wrong
        what: &'static str,
    },
}

/// Why a [`ParamSet`](crate::sets::ParamSet) is rejected.
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
    fn remedy(&self) -> &'static str {
        match self {
            Self::Wire(error) => error.remedy(),
            Self::Noise => remedy::WRONG_KEY,
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
