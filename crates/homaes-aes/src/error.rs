//! What a user's key or choice of parameters can cause. What only our code can cause panics.

/// Multiplicative depth, in the unit of the view: products or conjunctions.
pub type Depth = u32;

/// A mistake in the clear inputs of AES.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The AES key has none of the three lengths of FIPS-197.
    #[error("AES key of {found} bytes, expected 16, 24 or 32")]
    KeyLength {
        /// bytes given
        found: usize,
    },
}

/// What can stop an evaluation.
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
    /// A cipher needs a key before its first round and one for each round.
    #[error("{found} round keys, expected at least {expected}")]
    TooFewRoundKeys {
        /// round keys given
        found: usize,
        /// fewest that make a cipher
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
        assert_eq!(
            Error::KeyLength { found: 17 }.to_string(),
            "AES key of 17 bytes, expected 16, 24 or 32"
        );
        assert_eq!(
            EvalError::OutOfDepth { needed: 3, left: 1 }.to_string(),
            "out of depth: 3 levels needed, 1 left"
        );
        assert_eq!(
            EvalError::MissingKey {
                what: "relinearisation"
            }
            .to_string(),
            "the evaluation key has no relinearisation key"
        );
        assert_eq!(
            EvalError::TooFewRoundKeys {
                found: 1,
                expected: 2
            }
            .to_string(),
            "1 round keys, expected at least 2"
        );
    }
}
