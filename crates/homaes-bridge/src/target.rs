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
}

impl core::fmt::Display for Other {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Self::Set(name) => write!(f, "a key of set {name}"),
            Self::User { .. } => f.write_str("a client key of the crate tfhe"),
        }
    }
}
