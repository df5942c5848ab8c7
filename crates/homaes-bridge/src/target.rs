//! Where a bridge leads.

use homaes_wire::KeyId;

/// The key that a bridge leads to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    /// its name: that of a secret key of TFHE, or a random one
    pub id: KeyId,
    /// whose it is
    pub other: Other,
}

/// Whose key a bridge leads to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Other {
    /// of a set of `homaes-tfhe` with this name
    Set(&'static str),
    /// of a user of the crate `tfhe`
    User {
        /// the order of key switch and bootstrap, as `pattern` of `homaes_tfhe::interop::Format` numbers them
        pattern: u8,
        /// the tag of the user's keys
        tag: Vec<u8>,
    },
}

impl core::fmt::Display for Other {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Self::Set(name) => write!(f, "a key of set {name}"),
            Self::User { .. } => f.write_str("a client key of the crate tfhe"),
        }
    }
}
