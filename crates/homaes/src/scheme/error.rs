//! What schemes refuse or find wrong: each one's own errors, and those that are the same for all.

use homaes_aes::Layout;
use homaes_scheme::failure::{Failure, remedy};
use homaes_scheme::{Cancelled, FieldError};
use homaes_wire::{KeyId, WireError};
use std::error::Error;

/// Errors about a scheme's keys, ciphertexts and parameters. Boxed, so that results stay small whatever the schemes.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SchemeError {
    /// An error of one scheme's own.
    #[error("{0}")]
    Own(Box<dyn Failure>),
    /// The container is damaged or belongs elsewhere.
    #[error(transparent)]
    Wire(#[from] WireError),
    /// The run was cancelled.
    #[error(transparent)]
    Cancelled(#[from] Cancelled),
    /// The set has no keys for a layout.
    #[error(
        "set {set} does not offer layout {layout}, expected {}",
        names(offered)
    )]
    NoLayout {
        /// Layout asked for.
        layout: Layout,
        /// The set.
        set: &'static str,
        /// What it offers.
        offered: &'static [Layout],
    },
    /// A wrapped key was not made for a layout.
    #[error(
        "the wrapped key holds no round keys for layout {layout}, expected {}",
        names(held)
    )]
    NotWrapped {
        /// Layout asked for.
        layout: Layout,
        /// What it holds.
        held: Vec<Layout>,
    },
    /// Multiplications are to be left on an output that has no levels.
    #[error(
        "{wanted} multiplications to be left on the output, expected none: that of set {set} has no levels and can be bootstrapped"
    )]
    NoLevels {
        /// Multiplications asked for.
        wanted: usize,
        /// The set.
        set: &'static str,
    },
    /// The server is to expand the AES key, which the set has no circuit for.
    #[error("key expansion by the server, expected by the client: set {set} has no circuit for it")]
    ClientExpands {
        /// The set.
        set: &'static str,
    },
    /// Two keys were made for different parameter sets.
    #[error("the {what} belongs to set {found}, expected {expected}")]
    OtherSet {
        /// Which key.
        what: &'static str,
        /// Its set.
        found: &'static str,
        /// The set it was used with.
        expected: &'static str,
    },
    /// Two keys were made under different secret keys.
    #[error("the {what} was made under key {found:?}, expected key {expected:?}")]
    OtherKey {
        /// Which key.
        what: &'static str,
        /// The secret key it was made with.
        found: KeyId,
        /// The one it was used with.
        expected: KeyId,
    },
    /// A field of a file has a value that the set does not allow.
    #[error(transparent)]
    Field(#[from] FieldError),
}

/// Why a declared parameter set is unsound.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
pub struct ParamsError(Box<dyn Error + Send + Sync>);

impl ParamsError {
    /// An error of one scheme's own.
    pub(crate) fn of(error: impl Error + Send + Sync + 'static) -> Self {
        Self(Box::new(error))
    }
}

impl SchemeError {
    /// An error of one scheme's own.
    pub(crate) fn of(error: impl Failure) -> Self {
        Self::Own(Box::new(error))
    }

    /// What to do, in one clause.
    pub(crate) fn remedy(&self) -> &'static str {
        match self {
            Self::Own(error) => error.remedy(),
            Self::Wire(error) => error.remedy(),
            Self::Cancelled(_) => "run it again",
            Self::NoLayout { .. } => "choose a layout that the set offers, see 'homaes params'",
            Self::NotWrapped { .. } => "wrap the AES key for this layout, or choose another one",
            Self::NoLevels { .. } => "leave --levels-left out",
            Self::ClientExpands { .. } => {
                "leave --expand out, or choose a scheme whose server can expand the key"
            }
            Self::OtherSet { .. } => remedy::OTHER_SET,
            Self::OtherKey { .. } => remedy::OTHER_KEY,
            Self::Field { .. } => remedy::ANEW,
        }
    }

    pub(crate) fn is_cancelled(&self) -> bool {
        match self {
            Self::Own(error) => error.is_cancelled(),
            error => matches!(error, Self::Cancelled(_)),
        }
    }

    /// The error of the container, if it is one; otherwise this error.
    pub(crate) fn into_wire(self) -> Result<WireError, Self> {
        match self {
            Self::Own(error) => error.into_wire().map_err(Self::Own),
            Self::Wire(error) => Ok(error),
            error => Err(error),
        }
    }
}

/// `sliced or packed`.
fn names(layouts: &[Layout]) -> String {
    let names: Vec<&str> = layouts.iter().map(|layout| layout.name()).collect();
    names.join(" or ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_say_what_was_found_and_expected() {
        let set = "tfhe/toy";
        for (error, message) in [
            (
                SchemeError::NoLayout {
                    layout: Layout::Packed,
                    set,
                    offered: &[Layout::Sliced, Layout::Bits],
                },
                "set tfhe/toy does not offer layout packed, expected sliced or bits",
            ),
            (
                SchemeError::NotWrapped {
                    layout: Layout::Sliced,
                    held: vec![Layout::Bits],
                },
                "the wrapped key holds no round keys for layout sliced, expected bits",
            ),
            (
                SchemeError::NoLevels { wanted: 3, set },
                "3 multiplications to be left on the output, expected none: that of set tfhe/toy has no levels and can be bootstrapped",
            ),
            (
                SchemeError::ClientExpands { set: "bgv/toy-255" },
                "key expansion by the server, expected by the client: set bgv/toy-255 has no circuit for it",
            ),
            (
                homaes_tfhe::Error::Blocks {
                    found: 33,
                    expected: 32,
                }
                .into(),
                "33 blocks, expected 32",
            ),
        ] {
            assert_eq!(error.to_string(), message);
            assert!(!error.remedy().is_empty() && !error.remedy().ends_with('.'));
        }
    }

    #[test]
    fn errors_of_the_container_are_found_in_every_scheme() {
        let short = || WireError::Truncated {
            found: 1,
            expected: 2,
        };
        for error in [
            SchemeError::from(homaes_bgv::Error::from(short())),
            homaes_tfhe::Error::from(short()).into(),
        ] {
            assert_eq!(error.remedy(), short().remedy());
            assert_eq!(error.into_wire().unwrap().to_string(), short().to_string());
        }
        let other = SchemeError::from(homaes_bgv::Error::NotBytes);
        assert!(other.into_wire().is_err());
    }
}
