//! Errors that a user's key or choice of parameters can cause. Bugs panic.

/// Multiplicative depth: products in the byte views, ANDs in the bit view.
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
        let (what, found) = ("relinearisation", 1);
        let depth = EvalError::OutOfDepth { needed: 3, left: 1 };
        let keys = EvalError::TooFewRoundKeys { found, expected: 2 };
        for (error, message) in [
            (depth, "out of depth: 3 levels needed, 1 left"),
            (
                EvalError::MissingKey { what },
                "the evaluation key has no relinearisation key",
            ),
            (keys, "1 round keys, expected at least 2"),
        ] {
            assert_eq!(error.to_string(), message);
        }
        let message = Error::KeyLength { found: 17 }.to_string();
        assert_eq!(message, "AES key of 17 bytes, expected 16, 24 or 32");
    }
}
