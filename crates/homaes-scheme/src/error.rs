//! Errors of schemes: those of one scheme, and those common to all.

use crate::{Cancelled, Detail, ErrorKind, Failure, FieldError, Mismatch};
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
    /// Multiplications are wanted on an output that has no levels.
    #[error(
        "{wanted} multiplications left, expected none: results of set {set} have no levels, because they can be bootstrapped"
    )]
    NoLevels {
        /// Multiplications asked for.
        wanted: usize,
        /// The set.
        set: &'static str,
    },
    /// The set has no circuit for key expansion by the server.
    #[error("key expansion by the server, expected by the client: set {set} has no circuit for it")]
    ClientExpands {
        /// The set.
        set: &'static str,
    },
    /// The scheme has no files of expanded round keys, or not of many AES keys.
    #[error("expanded round keys, expected none: this wrapped key of set {set} has one form")]
    NoRoundKeys {
        /// The set.
        set: &'static str,
    },
    /// Both directions are wanted in a file that holds one.
    #[error(
        "both directions in one wrapped key: only the compact form holds both, and it is not for set {set} or --full; \
             wrap the key for each direction, in two files"
    )]
    OneDirection {
        /// The set.
        set: &'static str,
    },
    /// Many AES keys are wrapped in one file for a scheme that wraps one.
    #[error("many AES keys in one wrapped key, expected one: only sets bgv/… wrap a list of keys")]
    OneKey,
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

    /// Which kind of error it is.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::Own(error) => error.kind(),
            Self::Wire(error) => error.into(),
            Self::Cancelled(_) => ErrorKind::Cancelled,
            Self::Mismatch(mismatch) => mismatch.kind(),
            Self::NoLevels { .. } => ErrorKind::NoLevels,
            Self::ClientExpands { .. } => ErrorKind::ClientExpands,
            Self::NoRoundKeys { .. } | Self::OneDirection { .. } | Self::OneKey => {
                ErrorKind::Argument
            }
            Self::Field { .. } => ErrorKind::Damaged,
        }
    }

    /// What was found and expected, if the error says so.
    #[must_use]
    pub fn details(&self) -> Option<[Detail; 2]> {
        match self {
            Self::Own(error) => error.details(),
            Self::Wire(error) => Detail::of_wire(error),
            Self::Mismatch(mismatch) => mismatch.details(),
            _ => None,
        }
    }

    /// Whether the run was cancelled.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.kind() == ErrorKind::Cancelled
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
