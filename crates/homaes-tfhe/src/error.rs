//! Errors of the TFHE scheme and its files.

use homaes_scheme::{Cancelled, ErrorKind, Failure, FieldError, Mismatch};
use homaes_wire::WireError;

/// Errors of the TFHE scheme and its files.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The container is damaged, or belongs to another kind or set.
    #[error(transparent)]
    Wire(#[from] WireError),
    /// The run was cancelled.
    #[error(transparent)]
    Cancelled(#[from] Cancelled),
    /// A decrypted value is not a digit.
    #[error("decryption does not give digits: wrong secret key, or too much noise")]
    NotDigits,
    /// Batches of the set fail too often.
    #[error(
        "set {set} is too noisy: a batch is wrong with probability 2^{found:.1}, expected at most 2^{expected}"
    )]
    TooNoisySet {
        /// the set
        set: &'static str,
        /// log2, by the model
        found: f64,
        /// log2 of the largest accepted probability
        expected: f64,
    },
    /// The noise in a record is not between 2^-64 and 1.
    #[error("record noise: found 2^{found:e}, expected 2^-64 to 2^0")]
    NoiseBits {
        /// value found
        found: f64,
    },
    /// Objects of different sets or keys.
    #[error(transparent)]
    Mismatch(#[from] Mismatch),
    /// A field of a file has a value outside its range.
    #[error(transparent)]
    Field(#[from] FieldError),
    /// More blocks than a batch holds, or a number that differs from the state's.
    #[error("{found} blocks, expected {expected}")]
    Blocks {
        /// blocks given
        found: usize,
        /// the maximum, or the exact number
        expected: usize,
    },
    /// The set is on base-16 digits; the operation needs bits.
    #[error(
        "states of set {set} are base-16 digits, expected bits: use another set, such as tfhe/p64"
    )]
    NotBits {
        /// the set
        set: &'static str,
    },
    /// The set has block binary keys, and the secret key is not block binary.
    #[error(
        "the secret key does not have blocks of three bits with at most one 1, which set {set} needs"
    )]
    NotInBlocks {
        /// the set
        set: &'static str,
    },
    /// A key of the crate `tfhe` has unsupported parameters.
    #[error(
        "{what} of the tfhe key is {found}, expected {expected}: use parameters such as PARAM_MESSAGE_2_CARRY_2_KS_PBS"
    )]
    TfheKey {
        /// which number
        what: &'static str,
        /// value found
        found: u64,
        /// supported value
        expected: u64,
    },
    /// A server key of the crate `tfhe` does not match the export key.
    #[error("parameters of the tfhe server key differ from those of the export key's client key")]
    OtherTfheKey,
    /// An operation on noisy blocks could misread them.
    #[error("{what} would be wrong with probability 2^{found:.1}, expected at most 2^-64")]
    Unreliable {
        /// the operation
        what: &'static str,
        /// log2 of the probability that any digit is misread
        found: f64,
    },
    /// Too much noise for a bootstrap, or for a value of the crate `tfhe`.
    #[error("{what} has noise of 2^{found:.2}, expected at most 2^{limit:.2}")]
    TooNoisy {
        /// what is noisy
        what: &'static str,
        /// log2 of the standard deviation by the model
        found: f64,
        /// largest accepted
        limit: f64,
    },
}

/// Result of this crate.
pub type Result<T, E = Error> = core::result::Result<T, E>;

impl Failure for Error {
    fn kind(&self) -> ErrorKind {
        match self {
            Self::Wire(error) => error.into(),
            Self::Cancelled(_) => ErrorKind::Cancelled,
            Self::Mismatch(mismatch) => mismatch.kind(),
            Self::NotDigits => ErrorKind::Undecryptable,
            Self::Unreliable { .. } | Self::TooNoisy { .. } => ErrorKind::Noise,
            Self::TooNoisySet { .. } => ErrorKind::Fault,
            Self::Field(_) | Self::NoiseBits { .. } => ErrorKind::Damaged,
            _ => ErrorKind::Argument,
        }
    }

    fn into_wire(self: Box<Self>) -> Result<WireError, Box<dyn Failure>> {
        match *self {
            Self::Wire(error) => Ok(error),
            error => Err(Box::new(error)),
        }
    }
}
