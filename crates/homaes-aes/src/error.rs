//! Errors that a user's key or choice of parameters can cause. Bugs panic.

/// Multiplicative depth, in ANDs or products of bytes.
pub type Depth = u32;

/// An invalid AES input.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The AES key is not 16, 24 or 32 bytes long.
    #[error("AES key of {found} bytes, expected 16, 24 or 32")]
    KeyLength {
        /// bytes given
        found: usize,
    },
}

/// Why an evaluation stopped.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum EvalError {
    /// A ciphertext has fewer levels left than the next operation uses.
    #[error("out of depth: {needed} levels needed, {left} left")]
    OutOfDepth {
        /// levels the operation is about to use
        needed: Depth,
        /// levels left
        left: Depth,
    },
    /// The evaluation key lacks a part that the operation needs.
    #[error("the evaluation key has no {what} key")]
    MissingKey {
        /// the kind of key, for example `relinearisation`
        what: &'static str,
    },
    /// A cipher needs one round key before its first round and one for each round.
    #[error("{found} round keys, expected at least {expected}")]
    TooFewRoundKeys {
        /// round keys given
        found: usize,
        /// the minimum
        expected: usize,
    },
}

/// Result of an evaluation.
pub type Result<T, E = EvalError> = core::result::Result<T, E>;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_name_what_was_found_and_expected() {
        let what = "relinearisation";
        let errors = [
            Error::KeyLength { found: 17 }.to_string(),
            EvalError::OutOfDepth { needed: 3, left: 1 }.to_string(),
            EvalError::MissingKey { what }.to_string(),
        ];
        let messages = [
            "AES key of 17 bytes, expected 16, 24 or 32",
            "out of depth: 3 levels needed, 1 left",
            "the evaluation key has no relinearisation key",
        ];
        assert_eq!(errors, messages);
    }
}
