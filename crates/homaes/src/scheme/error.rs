//! What schemes refuse or find wrong: each one's own errors, and those that are the same for all.

use crate::error::wire_remedy;
use homaes_aes::Layout;
use homaes_wire::{KeyId, WireError};

/// Errors about a scheme's keys, ciphertexts and parameters. Boxed, so that results stay small whatever the schemes.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SchemeError {
    /// An error of BGV.
    #[error(transparent)]
    Bgv(Box<homaes_bgv::Error>),
    /// An error of TFHE.
    #[error(transparent)]
    Tfhe(Box<homaes_tfhe::Error>),
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
    #[error("record {what}: found {found}, expected {expected}")]
    Field {
        /// Which field.
        what: &'static str,
        /// Value found.
        found: u64,
        /// What it should be; at most that, for levels.
        expected: u64,
    },
}

/// Why a declared parameter set is unsound.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ParamsError {
    /// A set of BGV.
    #[error(transparent)]
    Bgv(#[from] homaes_bgv::ParamsError),
    /// A set of TFHE.
    #[error(transparent)]
    Tfhe(#[from] homaes_tfhe::ParamsError),
}

impl SchemeError {
    /// What to do, in one clause.
    pub(crate) fn remedy(&self) -> &'static str {
        match self {
            Self::Bgv(error) => bgv_remedy(error),
            Self::Tfhe(error) => tfhe_remedy(error),
            Self::NoLayout { .. } => "choose a layout that the set offers, see 'homaes params'",
            Self::NotWrapped { .. } => "wrap the AES key for this layout, or choose another one",
            Self::NoLevels { .. } => "leave --levels-left out",
            Self::ClientExpands { .. } => "leave --expand out, or choose a set of scheme tfhe",
            Self::OtherSet { .. } => OTHER_SET,
            Self::OtherKey { .. } => OTHER_KEY,
            Self::Field { .. } => ANEW,
        }
    }

    /// The error of the container, if it is one; otherwise this error.
    pub(crate) fn into_wire(self) -> Result<WireError, Self> {
        match self {
            Self::Bgv(error) => match *error {
                homaes_bgv::Error::Wire(source) => Ok(source),
                error => Err(error.into()),
            },
            Self::Tfhe(error) => match *error {
                homaes_tfhe::Error::Wire(source) => Ok(source),
                error => Err(error.into()),
            },
            error => Err(error),
        }
    }
}

impl From<homaes_bgv::Error> for SchemeError {
    fn from(error: homaes_bgv::Error) -> Self {
        Self::Bgv(Box::new(error))
    }
}

impl From<homaes_tfhe::Error> for SchemeError {
    fn from(error: homaes_tfhe::Error) -> Self {
        Self::Tfhe(Box::new(error))
    }
}

const OTHER_SET: &str = "use files of one parameter set";
const OTHER_KEY: &str = "use files made with one secret key";
const WRONG_KEY: &str = "check that the secret key belongs to the file, or transcipher again";
const ANEW: &str = "make the file anew";

fn bgv_remedy(error: &homaes_bgv::Error) -> &'static str {
    use homaes_bgv::Error as Bgv;
    match error {
        Bgv::Wire(source) => wire_remedy(source),
        Bgv::NotBytes => WRONG_KEY,
        Bgv::Levels { most: None, .. } => {
            "choose a parameter set for this size of AES key (see 'homaes params')"
        }
        Bgv::Levels { .. } => {
            "choose a parameter set with more levels (see 'homaes params'), a shorter AES key, or fewer --levels-left"
        }
        Bgv::NoLayout { .. } => "choose a layout that the set offers, see 'homaes params'",
        Bgv::NoLayouts | Bgv::LayoutTwice { .. } => "name every layout once",
        Bgv::TooDeep { .. } => "choose a set with more levels left, or more --levels-left",
        Bgv::NotWrapped { .. } => "wrap the AES key for this layout, or choose another one",
        Bgv::OtherSet { .. } | Bgv::OtherShape { .. } => OTHER_SET,
        Bgv::OtherKey { .. } => OTHER_KEY,
        Bgv::Eval(_) => "choose a parameter set with more levels, or make the keys anew",
        _ => ANEW,
    }
}

fn tfhe_remedy(error: &homaes_tfhe::Error) -> &'static str {
    use homaes_tfhe::Error as Tfhe;
    match error {
        Tfhe::Wire(source) => wire_remedy(source),
        Tfhe::OtherSet { .. } => OTHER_SET,
        Tfhe::OtherKey { .. } => OTHER_KEY,
        Tfhe::NotDigits => WRONG_KEY,
        Tfhe::OnlyRead => "copy the file",
        _ => ANEW,
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
            assert_eq!(error.remedy(), wire_remedy(&short()));
            assert_eq!(error.into_wire().unwrap().to_string(), short().to_string());
        }
        let other = SchemeError::from(homaes_bgv::Error::NotBytes);
        assert!(other.into_wire().is_err());
    }
}
