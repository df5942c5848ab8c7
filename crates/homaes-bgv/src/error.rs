//! Errors of files, keys and parameters.

use homaes_aes::{KeySize, Layout};
use homaes_rns::Fault;
use homaes_scheme::{
    Cancelled, Detail, ErrorKind, Failure, FieldError, Gpu, MAX_KEY_NAME_BYTES, Mismatch,
};
use homaes_wire::WireError;

/// Errors of the BGV scheme and of its files.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The container is damaged or of the wrong kind.
    #[error(transparent)]
    Wire(#[from] WireError),
    /// The run was cancelled.
    #[error(transparent)]
    Cancelled(#[from] Cancelled),
    /// A [`Device`](crate::device::Device) other than the processor failed. Keys and public blocks are unchanged, so
    /// the batch can be computed again, for example on the processor.
    #[error(transparent)]
    Device(#[from] Fault),
    /// The circuit could not be evaluated.
    #[error(transparent)]
    Eval(#[from] homaes_aes::EvalError),
    /// The decrypted polynomial does not encode bytes.
    #[error("the decryption is not a vector of bytes: wrong secret key, or too much noise")]
    NotBytes,
    /// Objects that do not fit together.
    #[error(transparent)]
    Mismatch(#[from] Mismatch),
    /// A field of a file is outside its range.
    #[error(transparent)]
    Field(#[from] FieldError),
    /// A noise figure in a file is outside the range of any chain.
    #[error("record noise bits: found {found:?}, expected -64 to 4096")]
    NoiseBits {
        /// value found
        found: f64,
    },
    /// A ciphertext's level or size does not match the parameters.
    #[error("ciphertext of another set: found {found} {what}, expected {expected}")]
    OtherShape {
        /// what was counted
        what: &'static str,
        /// count found
        found: usize,
        /// expected count; for levels, the maximum
        expected: usize,
    },
    /// A user's circuit multiplies more often than its inputs allow.
    #[error(
        "out of depth: {needed} more multiplications needed, {left} left; wrap the AES key with more levels left, or \
         with a set that leaves more than {set}"
    )]
    TooDeep {
        /// multiplications that the operation needs, at least
        needed: usize,
        /// multiplications left on its inputs
        left: usize,
        /// the set
        set: &'static str,
    },
    /// An operation of users' circuits would return a ciphertext whose noise may not fit its modulus.
    #[error(
        "{what} at level {level} of set {set}: the noise may reach 2^{noise_bits:.1} under a modulus of \
         2^{modulus_bits:.1}, and the bound on the probability of a wrong result would be 2^{failure_log2:.0}, above \
         2^-64; switch the operands down or multiply them earlier, add or scale less, or use a set with more levels"
    )]
    TooNoisy {
        /// refused operation
        what: &'static str,
        /// log2 of the bound on the probability of a wrong result
        failure_log2: f64,
        /// log2 of the bound on the noise
        noise_bits: f64,
        /// log2 of the modulus
        modulus_bits: f64,
        /// level of the result
        level: usize,
        /// the set
        set: &'static str,
    },
    /// There is no key for an operation of users' circuits, or none at this level.
    #[error(
        "no key for a {what} at level {level} of set {set}: {}",
        if *most == 0 {
            "it leaves no multiplications after AES; use a set that does, such as bgv/aes128+8".to_owned()
        } else {
            format!("there are keys up to level {most}; switch down first, or wrap the AES key with fewer levels left")
        }
    )]
    NoKey {
        /// rotation or three-way product
        what: &'static str,
        /// level of the operands
        level: usize,
        /// highest level with keys; 0 without keys
        most: usize,
        /// the set
        set: &'static str,
    },
    /// The chain of moduli lacks the levels in which bits are lifted.
    #[error(
        "set {set}: its levels are those of bits, and its bytes cannot be lifted; use a set for bytes, such as \
         bgv/aes192"
    )]
    NoLift {
        /// the set
        set: &'static str,
    },
    /// Bytes or masks of this level cannot be lifted to integers of so many bits.
    #[error(
        "integers of {found} bits from level {level} of set {set}, {}",
        if *most == 0 {
            "which is too low for any; leave more levels".to_owned()
        } else {
            format!("expected 3 to {most}; ask for a number of bits in this range, or leave more levels")
        }
    )]
    LiftBits {
        /// bits asked for
        found: u32,
        /// most that are right; 0 without a lift from this level
        most: u32,
        /// level of the bytes
        level: usize,
        /// the set
        set: &'static str,
    },
    /// Bytes have too much noise to lift them at their level.
    #[error(
        "bits with a noise of 2^{found:.1} in set {set}, expected at most 2^{most:.1} for a lift; switch the bytes \
         down first"
    )]
    PlaneNoise {
        /// log2 of the largest embedding that the bits carry over from above
        found: f64,
        /// most
        most: f64,
        /// the set
        set: &'static str,
    },
    /// A decryption is no vector of integers.
    #[error(
        "the result does not decode to integers: wrong key, damaged ciphertext, or a mask with other bytes than 0 and 1"
    )]
    NotIntegers,
    /// A state between rounds was passed instead of a result of AES.
    #[error("found a state between rounds, expected a result of AES")]
    NotFinished,
    /// A final result was passed to an operation.
    #[error(
        "found a final result, which is rounded for decryption alone; to compute on results, leave multiplications on \
         them (levels left)"
    )]
    Final,
    /// A state of bits was passed instead of one of bytes.
    #[error("found layout bits, expected a byte layout; use sliced or packed")]
    BitsLayout,
    /// An operation over several ciphertexts got none.
    #[error("no ciphertexts to combine, expected at least one")]
    NoOperands,
    /// A wrapped key was requested without any layout.
    #[error("no layout to wrap the key for, expected at least one")]
    NoLayouts,
    /// A set has too few levels for the key schedule of many AES keys.
    #[error(
        "AES-128 under many keys, with {wanted} multiplications left: set {set} {}, expected {}",
        most.map_or("has too few levels for it".to_owned(), |m| format!("leaves at most {m}")),
        match &sets[..] {
            [] => "fewer".to_owned(),
            sets => sets.join(" or "),
        }
    )]
    ManyKeyLevels {
        /// multiplications to be left on the output
        wanted: usize,
        /// most that the set can leave; none if AES itself does not fit
        most: Option<usize>,
        /// the set
        set: &'static str,
        /// the secure sets that can leave so many
        sets: Vec<&'static str>,
    },
    /// One of many AES keys has a size without a key schedule on the server.
    #[error(
        "AES key {number} has {} bits, expected 128: only such keys share a wrapped key",
        8 * size.key_bytes()
    )]
    ManyKeySize {
        /// its place in the list, from 1
        number: usize,
        /// its size
        size: KeySize,
    },
    /// The name of one of many AES keys cannot be used.
    #[error(
        "the name of AES key {number} {found}, expected different names of 1 to {MAX_KEY_NAME_BYTES} bytes without \
         control characters"
    )]
    KeyName {
        /// place of the key in the list, from 1
        number: usize,
        /// what is wrong with its name
        found: &'static str,
    },
    /// A wrapped key of many AES keys was requested without any.
    #[error("no AES keys to wrap, expected at least one")]
    NoAesKeys,
    /// The evaluation key cannot expand wrapped keys of the compact form.
    #[error(
        "the evaluation key is of an older version, expected one that expands compact wrapped keys"
    )]
    NoExpansion,
    /// A layout occurs twice in a request or a file.
    #[error("layout {layout} twice in one wrapped key, expected once")]
    LayoutTwice {
        /// layout
        layout: Layout,
    },
    /// No acceptable secret was drawn.
    #[error(
        "{tries} secrets in a row failed the noise-quality check; the parameter set is unsound"
    )]
    KeyQuality {
        /// secrets drawn
        tries: usize,
    },
}

impl Error {
    /// Names the GPU if it failed.
    pub fn on(self, gpu: &Gpu) -> Self {
        match self {
            Self::Device(fault) => Self::Device(Fault(format!("{gpu}: {fault}"))),
            error => error,
        }
    }

    /// An error for a field or argument whose value should be `expected`.
    pub(crate) fn field(what: &'static str, found: usize, expected: usize) -> Self {
        FieldError::new(what, found as u64, expected as u64).into()
    }
}

impl Failure for Error {
    fn kind(&self) -> ErrorKind {
        match self {
            Self::Wire(error) => error.into(),
            Self::Cancelled(_) => ErrorKind::Cancelled,
            Self::Mismatch(mismatch) => mismatch.kind(),
            Self::Device(_) => ErrorKind::DeviceFault,
            Self::NotBytes | Self::NotIntegers => ErrorKind::Undecryptable,
            Self::TooDeep { .. }
            | Self::TooNoisy { .. }
            | Self::LiftBits { .. }
            | Self::PlaneNoise { .. }
            | Self::Final => ErrorKind::TooDeep,
            Self::NoKey { .. } => ErrorKind::NoKey,
            Self::NoExpansion => ErrorKind::NoExpansion,
            Self::Eval(_) | Self::ManyKeyLevels { .. } => ErrorKind::Levels,
            Self::KeyQuality { .. } => ErrorKind::Fault,
            Self::Field(_) | Self::NoiseBits { .. } | Self::OtherShape { .. } => ErrorKind::Damaged,
            _ => ErrorKind::Argument,
        }
    }

    fn details(&self) -> Option<[Detail; 2]> {
        match self {
            Self::TooDeep { needed, left, .. } => Some([*left, *needed].map(Detail::from)),
            Self::Mismatch(mismatch) => mismatch.details(),
            Self::Wire(error) => Detail::of_wire(error),
            _ => None,
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
