//! What a file, a key or a choice of parameters can cause.

use homaes_aes::KeySize;

/// Errors of the BGV scheme and of its files.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The container is damaged or belongs elsewhere.
    #[error(transparent)]
    Wire(#[from] homaes_wire::WireError),
    /// The circuit could not be evaluated.
    #[error(transparent)]
    Eval(#[from] homaes_aes::EvalError),
    /// The decrypted polynomial is not made of bytes.
    #[error(
        "the decryption is not a vector of bytes: wrong secret key, or the noise has outgrown the modulus"
    )]
    NotBytes,
    /// A field of a file has a value outside its range.
    #[error("record {what}: found {found}, expected {expected}")]
    Field {
        /// which field
        what: &'static str,
        /// value found
        found: u64,
        /// what it should be
        expected: u64,
    },
    /// A noise figure in a file is outside what any chain can hold.
    #[error("record noise bits: found {found}, expected -64 to 4096")]
    NoiseBits {
        /// value found
        found: f64,
    },
    /// A ciphertext does not have the level or the size that the parameters give it.
    #[error("ciphertext of another set: found {found} {what}, expected {expected}")]
    OtherShape {
        /// what was counted
        what: &'static str,
        /// count found
        found: usize,
        /// what it should be; at most that, for levels
        expected: usize,
    },
    /// The AES key needs more rounds than the parameter set carries.
    #[error("{size:?} needs {needed} rounds, set {set} carries {available}")]
    Rounds {
        /// size of the AES key
        size: KeySize,
        /// its rounds
        needed: usize,
        /// the set's rounds
        available: usize,
        /// the set
        set: &'static str,
    },
    /// More blocks than one batch holds.
    #[error("{found} blocks in a batch of {expected}")]
    TooManyBlocks {
        /// blocks given
        found: usize,
        /// capacity
        expected: usize,
    },
    /// Two objects were made for different parameter sets.
    #[error("the {what} belongs to set {found}, expected {expected}")]
    OtherSet {
        /// which object
        what: &'static str,
        /// its set
        found: &'static str,
        /// the set it was used with
        expected: &'static str,
    },
    /// Two objects were made under different secret keys.
    #[error("the {what} was made under key {found:?}, expected key {expected:?}")]
    OtherKey {
        /// which object
        what: &'static str,
        /// its key
        found: homaes_wire::KeyId,
        /// the key it was used with
        expected: homaes_wire::KeyId,
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

/// Result of this crate.
pub type Result<T, E = Error> = core::result::Result<T, E>;
