//! Errors of schemes on bits.

use crate::{Cancelled, ErrorKind, Failure, FieldError, Mismatch};
use homaes_wire::WireError;

/// Errors of the schemes on bits and of their files.
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
    /// NTRU: the decrypted polynomial is not made of bits.
    #[error("the decryption is not a vector of bits: wrong secret key, or too much noise")]
    NotBits,
    /// DGHV: the noise is as large as a secret prime.
    #[error("the noise fills a secret prime: wrong secret key, or too much noise")]
    Noise,
    /// Objects that do not go together.
    #[error(transparent)]
    Mismatch(#[from] Mismatch),
    /// A field of a file has a value outside its range.
    #[error(transparent)]
    Field(#[from] FieldError),
    /// A noise figure in a file is outside what any modulus can hold.
    #[error("record noise bits: found {found:?}, expected -64 to 4096")]
    NoiseBits {
        /// value found
        found: f64,
    },
    /// NTRU: no acceptable secret was drawn.
    #[error(
        "{tries} secrets in a row are not invertible, or too large at an embedding; the parameter set is unsound"
    )]
    NoSecret {
        /// secrets drawn
        tries: usize,
    },
    /// DGHV: the secret primes of a file are not what they should be.
    #[error("secret prime {number} is {what}")]
    Prime {
        /// which one
        number: usize,
        /// what is wrong
        what: &'static str,
    },
}

impl Failure for Error {
    fn kind(&self) -> ErrorKind {
        match self {
            Self::Wire(error) => error.into(),
            Self::Cancelled(_) => ErrorKind::Cancelled,
            Self::Mismatch(mismatch) => mismatch.kind(),
            Self::NotBits | Self::Noise => ErrorKind::Undecryptable,
            Self::Eval(_) => ErrorKind::Levels,
            Self::NoSecret { .. } => ErrorKind::Fault,
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

/// Result of schemes on bits.
pub type Result<T, E = Error> = core::result::Result<T, E>;
