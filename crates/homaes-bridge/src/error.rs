//! Errors of the bridge.

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
    /// From the BGV side.
    #[error(transparent)]
    Bgv(#[from] homaes_bgv::Error),
    /// From the TFHE side.
    #[error(transparent)]
    Tfhe(#[from] homaes_tfhe::Error),
    /// Objects of different sets or keys.
    #[error(transparent)]
    Mismatch(#[from] Mismatch),
    /// The LWE key does not have the degree of the subring.
    #[error("bridge from set {set}: the TFHE key has {found} bits, expected {expected}")]
    Dimension {
        /// bits found
        found: usize,
        /// coefficients of the subring
        expected: usize,
        /// the BGV set
        set: &'static str,
    },
    /// AES results under this BGV set cannot be lifted.
    #[error(
        "set {set} has no bridges: they need a BGV byte set with multiplications left after AES"
    )]
    NoBridge {
        /// the set
        set: &'static str,
    },
    /// The subring of this set has no ring for packing, as link keys need.
    #[error(
        "set {set} has no bridge to link keys: found a ring of degree {degree} to pack in, expected 128 to 2048, as \
         bgv/aes192+5 and bgv/toy-4369 have"
    )]
    NoPacking {
        /// the set
        set: &'static str,
        /// degree of the subring
        degree: usize,
    },
    /// No link takes bytes modulo this power of two.
    #[error("bytes modulo 2^{found}, expected modulo 2^8 or 2^11")]
    LinkBits {
        /// log2 found
        found: u32,
    },
    /// AES results under this set have too few multiplications left for a link.
    #[error(
        "set {set} has no bridge to link keys for bytes modulo 2^{log2_t}: found {found} multiplications left after \
         AES-128, expected {needed}"
    )]
    LinkLevels {
        /// the set
        set: &'static str,
        /// log2 of the modulus of the bytes
        log2_t: u32,
        /// multiplications left
        found: usize,
        /// multiplications that the crossing takes
        needed: usize,
    },
    /// No bridge leads to keys of this set.
    #[error("bridges do not lead to set {set}")]
    NoEnd {
        /// the set
        set: &'static str,
    },
    /// The bridge leads to another key.
    #[error("the bridge key leads to {found}, expected {expected}")]
    Target {
        /// where it leads
        found: Other,
        /// where it should
        expected: Other,
    },
    /// The requested format belongs to other keys than those that the bridge leads to.
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
    /// A secret key that is too large at some embeddings.
    #[error(
        "with this secret key a value is off by 2^{room:.2} of the torus with probability 2^{found:.0}, expected at most 2^{most}"
    )]
    UnfitKey {
        /// log2 of the bound on the probability
        found: f64,
        /// log2 of the allowed error on the torus
        room: f64,
        /// log2 of the largest allowed probability
        most: f64,
    },
    /// The bits of the target key cannot have been drawn at random.
    #[error(
        "the bits of the TFHE key are not random: the file is damaged, and a bridge to it would reveal the secret key"
    )]
    UnevenBits,
    /// The bytes to lift have more noise than bridge keys allow for.
    #[error(
        "the noise before the bridge is 2^{found:.1} at an embedding, expected at most 2^{most}; multiply less, or start with more levels"
    )]
    Handed {
        /// log2 of the noise at the largest embedding, after the switch before the squarings
        found: f64,
        /// log2 of the largest allowed noise
        most: f64,
    },
    /// Readings would be wrong too often.
    #[error(
        "the bits are read wrongly with probability 2^{failure_log2:.0}, expected at most 2^{most}; convert fewer \
         ciphertexts at once"
    )]
    TooNoisy {
        /// log2 of the bound on the probability
        failure_log2: f64,
        /// log2 of the largest one allowed
        most: f64,
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
            Self::LinkLevels { needed, .. } => ErrorKind::BridgeLevels(*needed),
            Self::NoBridge { .. }
            | Self::NoPacking { .. }
            | Self::LinkBits { .. }
            | Self::NoEnd { .. }
            | Self::Format => ErrorKind::Argument,
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
