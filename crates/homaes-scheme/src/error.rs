//! What schemes refuse or find wrong: each one's own errors, and those that are the same for all.

use crate::failure::{Failure, remedy};
use crate::{Cancelled, FieldError, Mismatch};
use homaes_wire::WireError;
use std::error::Error;

/// Errors about a scheme's keys, ciphertexts and parameters. Boxed, so that results stay small whatever the schemes.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SchemeError {
    /// An error of one scheme's own.
    #[error("{0}")]
    Own(Box<dyn Failure>),
    /// The container is damaged or belongs elsewhere.
    #[error(transparent)]
    Wire(#[from] WireError),
    /// The run was cancelled.
    #[error(transparent)]
    Cancelled(#[from] Cancelled),
    /// Multiplications are to be left on an output that has no levels.
    #[error(
        "{wanted} multiplications to be left on the output, expected none: that of set {set} has no levels and can be bootstrapped"
    )]
    NoLevels {
        /// Multiplications asked for.
        wanted: usize,
        /// The set.
        set: &'static str,
    },
    /// The server is to expand the AES key, which the set has no circuit for.
    #[error("key expansion by the server, expected by the client: set {set} has no circuit for it")]
    ClientExpands {
        /// The set.
        set: &'static str,
    },
    /// Objects that do not go together.
    #[error(transparent)]
    Mismatch(#[from] Mismatch),
    /// A field of a file has a value that the set does not allow.
    #[error(transparent)]
    Field(#[from] FieldError),
}

/// Why a declared parameter set is unsound.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
pub struct ParamsError(Box<dyn Error + Send + Sync>);

impl ParamsError {
    /// An error of one scheme's own.
    pub fn of(error: impl Error + Send + Sync + 'static) -> Self {
        Self(Box::new(error))
    }
}

impl SchemeError {
    /// An error of one scheme's own.
    pub fn of(error: impl Failure) -> Self {
        Self::Own(Box::new(error))
    }

    /// What to do, in one clause.
    #[must_use]
    pub fn remedy(&self) -> &'static str {
        match self {
            Self::Own(error) => error.remedy(),
            Self::Wire(error) => error.remedy(),
            Self::Cancelled(_) => "run it again",
            Self::Mismatch(mismatch) => mismatch.remedy(),
            Self::NoLevels { .. } => "leave --levels-left out",
            Self::ClientExpands { .. } => {
                "leave --expand out, or choose a scheme whose server can expand the key"
            }
            Self::Field { .. } => remedy::ANEW,
        }
    }

    /// Whether the run was cancelled.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        match self {
            Self::Own(error) => error.is_cancelled(),
            error => matches!(error, Self::Cancelled(_)),
        }
    }

    /// The error of the container, if it is one; otherwise this error.
    ///
    /// # Errors
    /// Itself.
    pub fn into_wire(self) -> Result<WireError, Self> {
        match self {
            Self::Own(error) => error.into_wire().map_err(Self::Own),
            Self::Wire(error) => Ok(error),
            error => Err(error),
        }
    }
}

impl<E: Failure> From<E> for SchemeError {
    fn from(error: E) -> Self {
        Self::of(error)
    }
}
