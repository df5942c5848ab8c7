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
    #[error(
        "bridge from set {set}: the key on the other side has {found} bits, expected {expected}"
    )]
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
        "set {set} has no bridges: they lead from sets of BGV with multiplications left on bytes after AES"
    )]
    NoBridge {
        /// the set
        set: &'static str,
    },
    /// No bridge leads to keys of this set.
    #[error("set {set} is no end of a bridge")]
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
    #[error(
        "the values would have the format of other keys of the crate tfhe than those that the bridge leads to"
    )]
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
        "with this secret key a value of a batch would be off by 2^{room:.2} of the torus with a probability of 2^{found:.0}, above 2^{most}"
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
        "the bits of the key on the other side are too uneven to have been drawn at random; the file is damaged, and a bridge to it would show the secret key"
    )]
    UnevenBits,
    /// What is lifted has more noise than bridge keys allow for.
    #[error(
        "bytes to be lifted have noise of 2^{found:.1} at an embedding, expected at most 2^{most}; multiply less before they cross, or start with more levels"
    )]
    Handed {
        /// log2 of its largest embedding after the switch before the squarings
        found: f64,
        /// log2 of the most
        most: f64,
    },
    /// What is read would be wrong too often.
    #[error(
        "the bits would be read wrongly with a probability of 2^{failure_log2:.0}, above 2^-64; cross fewer ciphertexts at once"
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
