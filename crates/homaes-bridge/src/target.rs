use crate::numbers::{Digits, Numbers};
use homaes_wire::KeyId;

/// The key that a bridge leads to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    /// id of a TFHE secret key, or a random one
    pub id: KeyId,
    /// whose it is
    pub other: Other,
}

/// Whose key a bridge leads to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Other {
    /// of the set of `homaes-tfhe` with this name
    Set(&'static str),
    /// of a user of the crate `tfhe`
    User {
        /// order of key switch and bootstrap, numbered as `pattern` of `homaes_tfhe::interop::Format`
        pattern: u8,
        /// the tag of the user's keys
        tag: Vec<u8>,
    },
    /// a link key, from which a user of a CKKS library makes a key to their own
    Link {
        /// log2 of the modulus of the numbers, one per byte
        log2_t: u32,
    },
}

impl Other {
    /// Values of log2 t that a link takes: 8 for OpenFHE's functional bootstrapping, 11 for Lattigo's parameters, whose
    /// arcsine of degree 7 needs numbers below 1/16 of the torus.
    pub const LINK_BITS: [u32; 2] = [8, 11];

    /// Digits of c1 in the switch to a key of this kind.
    pub(crate) fn digits(&self) -> Digits {
        match self {
            Self::Set(_) | Self::User { .. } => Digits {
                levels: 4,
                base: 9,
                low: 11,
            },
            // reading a byte modulo 2^11 multiplies the noise by 2^6
            Self::Link { .. } => Digits {
                levels: 10,
                base: 4,
                low: 7,
            },
        }
    }

    /// What crosses to such a key.
    pub(crate) fn numbers(&self) -> Vec<Numbers> {
        match self {
            Self::Set(_) | Self::User { .. } => vec![Numbers::Bits, Numbers::Pairs],
            Self::Link { log2_t } => vec![Numbers::Bytes(*log2_t)],
        }
    }
}

impl core::fmt::Display for Other {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Self::Set(name) => write!(f, "a key of set {name}"),
            Self::User { .. } => f.write_str("a client key of the crate tfhe"),
            Self::Link { log2_t } => write!(f, "a link key for bytes modulo 2^{log2_t}"),
        }
    }
}
