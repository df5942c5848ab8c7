//! What a file, a key or a choice of parameters can cause.

use homaes_scheme::{Cancelled, ErrorKind, Failure, FieldError, Mismatch};
use homaes_wire::WireError;

/// Errors of the TFHE scheme and of its files.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The container is damaged or belongs elsewhere.
    #[error(transparent)]
    Wire(#[from] WireError),
    /// The run was cancelled.
    #[error(transparent)]
    Cancelled(#[from] Cancelled),
    /// The decryption is not made of digits.
    #[error("the decryption is not a list of digits: wrong secret key, or the noise is too large")]
    NotDigits,
    /// The set's noise leaves too little room.
    #[error(
        "set {set} is too noisy: a batch is wrong with probability 2^{found:.1}, expected at most 2^{expected}"
    )]
    TooNoisySet {
        /// the set
        set: &'static str,
        /// log2, by the model
        found: f64,
        /// log2 of the largest that is worth work
        expected: f64,
    },
    /// A noise figure in a file is outside the torus.
    #[error("record noise: found 2^{found:e}, expected 2^-64 to 2^0")]
    NoiseBits {
        /// value found
        found: f64,
    },
    /// Objects that do not go together.
    #[error(transparent)]
    Mismatch(#[from] Mismatch),
    /// A field of a file has a value outside its range.
    #[error(transparent)]
    Field(#[from] FieldError),
    /// More blocks than a batch holds, or other blocks than a state has.
    #[error("{found} blocks, expected {expected}")]
    Blocks {
        /// blocks given
        found: usize,
        /// at most that, or exactly that
        expected: usize,
    },
    /// Base-16 digits cannot become values of the crate `tfhe`.
    #[error(
        "states of set {set} are base-16 digits, expected bits: use another set, such as tfhe/p64"
    )]
    NotBits {
        /// its set
        set: &'static str,
    },
    /// A secret key is not one of a set whose LWE keys are in blocks.
    #[error(
        "the secret key does not have blocks of three bits with at most one 1, which set {set} needs"
    )]
    NotInBlocks {
        /// its set
        set: &'static str,
    },
    /// A key of the crate `tfhe` has other parameters than blocks are made for.
    #[error(
        "{what} of the tfhe key is {found}, expected {expected}: use parameters such as PARAM_MESSAGE_2_CARRY_2_KS_PBS"
    )]
    TfheKey {
        /// which number
        what: &'static str,
        /// value found
        found: u64,
        /// what it should be
        expected: u64,
    },
    /// A server key of the crate `tfhe` does not go with the export key.
    #[error("the tfhe server key has other parameters than the client key of the export key")]
    OtherTfheKey,
    /// Blocks have so much noise that they may be read wrongly.
    #[error("{what} would be wrong with probability 2^{found:.1}, expected at most 2^-64")]
    Unreliable {
        /// the reading
        what: &'static str,
        /// log2 of the probability that any of their digits is read wrongly
        found: f64,
    },
    /// Something has too much noise for a bootstrap, or to become a value of the crate `tfhe`.
    #[error("{what} has noise of 2^{found:.2}, expected at most 2^{limit:.2}")]
    TooNoisy {
        /// what
        what: &'static str,
        /// log2 of the standard deviation by the model
        found: f64,
        /// most that is allowed
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
