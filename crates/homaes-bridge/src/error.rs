//! What can go wrong on the way over.

use crate::target::Other;
use homaes_scheme::{ErrorKind, Failure, FieldError, Mismatch};
use homaes_wire::WireError;

/// Errors of the bridge.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The container is damaged or belongs elsewhere.
    #[error(transparent)]
    Wire(#[from] WireError),
    /// A field of a file has a value outside its range.
    #[error(transparent)]
    Field(#[from] FieldError),
    /// Of the BGV side.
    #[error(transparent)]
    Bgv(#[from] homaes_bgv::Error),
    /// Of the TFHE side.
    #[error(transparent)]
    Tfhe(#[from] homaes_tfhe::Error),
    /// Objects that do not go together.
    #[error(transparent)]
    Mismatch(#[from] Mismatch),
    /// The LWE key has another size than the subring.
    #[error("bridge from set {set}: the TFHE key has {found} bits, expected {expected}")]
    Dimension {
        /// bits found
        found: usize,
        /// coefficients of the subring
        expected: usize,
        /// the BGV set
        set: &'static str,
    },
    /// Results of AES under the set cannot be lifted.
    #[error(
        "set {set} has no bridges: they need a BGV byte set with multiplications left after AES"
    )]
    NoBridge {
        /// the set
        set: &'static str,
    },
    /// No bridge leads to keys of this set.
    #[error("bridges do not lead to set {set}")]
    NoEnd {
        /// the set
        set: &'static str,
    },
    /// The bridge leads to another place.
    #[error("the bridge key leads to {found}, expected {expected}")]
    Target {
        /// where it leads
        found: Other,
        /// where it should
        expected: Other,
    },
    /// Values in the format of other keys than the bridge leads to.
    #[error("the format belongs to other keys of the crate tfhe than the bridge key's")]
    Format,
    /// Numbers modulo another power of two.
    #[error("numbers modulo 2^{found}, expected 2^{expected}")]
    Modulus {
        /// log2 found
        found: u32,
        /// log2 expected
        expected: u32,
    },
    /// A secret key with large values at some embeddings.
    #[error(
        "with this secret key a value is off by 2^{room:.2} of the torus with probability 2^{found:.0}, expected at most 2^{most}"
    )]
    UnfitKey {
        /// log2 of the bound on the probability
        found: f64,
        /// log2 of how far values may be off
        room: f64,
        /// log2 of the most
        most: f64,
    },
    /// The key at the other end is not one that was drawn.
    #[error(
        "the bits of the TFHE key are not random: the file is damaged, and a bridge to it would reveal the secret key"
    )]
    UnevenBits,
    /// What is lifted has more noise than bridge keys allow for.
    #[error(
        "the noise before the bridge is 2^{found:.1} at an embedding, expected at most 2^{most}; multiply less, or start with more levels"
    )]
    Handed {
        /// log2 of its largest embedding after the switch before the squarings
        found: f64,
        /// log2 of the most
        most: f64,
    },
    /// What is read would be wrong too often.
    #[error(
        "the bits are read wrongly with probability 2^{failure_log2:.0}, expected at most 2^-64; convert fewer ciphertexts at once"
    )]
    TooNoisy {
        /// log2 of the bound on the probability
        failure_log2: f64,
    },
}

impl Failure for Error {
    fn kind(&self) -> ErrorKind {
        match self {
            Self::Wire(error) => error.into(),
            Self::Bgv(error) => error.kind(),
            Self::Tfhe(error) => error.kind(),
            Self::Mismatch(mismatch) => mismatch.kind(),
            Self::Dimension { .. } | Self::Modulus { .. } | Self::Target { .. } => {
                ErrorKind::OtherSet
            }
            Self::UnfitKey { .. } => ErrorKind::UnfitKey,
            Self::TooNoisy { .. } | Self::Handed { .. } => ErrorKind::Noise,
            Self::Field(_) | Self::UnevenBits => ErrorKind::Damaged,
            Self::NoBridge { .. } | Self::NoEnd { .. } | Self::Format => ErrorKind::Argument,
        }
    }

    fn into_wire(self: Box<Self>) -> Result<WireError, Box<dyn Failure>> {
        match *self {
            Self::Wire(error) => Ok(error),
            Self::Bgv(error) => Box::new(error).into_wire(),
            Self::Tfhe(error) => Box::new(error).into_wire(),
            error => Err(Box::new(error)),
        }
    }
}

/// Result of this crate.
pub type Result<T, E = Error> = core::result::Result<T, E>;
