//! Keys, ciphertexts and choices that do not go together.

use crate::failure::{Detail, ErrorKind};
use crate::file::SetId;
use homaes_aes::{KeySize, Layout};
use homaes_wire::KeyId;

/// Two objects, or an object and a choice, that do not go together.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Mismatch {
    /// Two objects were made for different parameter sets.
    #[error("the {what} belongs to set {found}, expected {expected}")]
    OtherSet {
        /// Which object.
        what: &'static str,
        /// Its set.
        found: &'static str,
        /// The set it was used with.
        expected: &'static str,
    },
    /// Two objects were made under different secret keys.
    #[error("the {what} was made under key {found}, expected key {expected}")]
    OtherKey {
        /// Which object.
        what: &'static str,
        /// The secret key it was made under.
        found: KeyId,
        /// The one it was used with.
        expected: KeyId,
    },
    /// The set has no keys for a layout.
    #[error("set {set} has no layout {layout}, expected {}", names(offered))]
    NoLayout {
        /// Layout asked for.
        layout: Layout,
        /// The set.
        set: &'static str,
        /// The layouts it offers.
        offered: &'static [Layout],
    },
    /// A wrapped key was not made for a layout.
    #[error("the wrapped key has no layout {layout}, expected {}", names(held))]
    NotWrapped {
        /// Layout asked for.
        layout: Layout,
        /// The layouts it holds.
        held: Vec<Layout>,
    },
    /// An evaluation key was made without the keys for a layout.
    #[error("the evaluation key has no layout {layout}, expected {}", names(held))]
    NotInEvalKey {
        /// Layout asked for.
        layout: Layout,
        /// The layouts it has keys for.
        held: Vec<Layout>,
    },
    /// A set has too few levels.
    #[error(
        "AES-{}, layout {layout}, with {wanted} multiplications left: set {set} {}",
        8 * size.key_bytes(),
        most.map_or("has too few levels for it".to_owned(), |m| format!("leaves at most {m}"))
    )]
    Levels {
        /// Layout asked for.
        layout: Layout,
        /// Size of the AES key.
        size: KeySize,
        /// Multiplications to be left on the output.
        wanted: usize,
        /// Most that the set can leave; none if AES itself does not fit.
        most: Option<usize>,
        /// The set.
        set: &'static str,
    },
    /// More than a batch holds.
    #[error("{found} {what} in a batch of {expected}")]
    TooMany {
        /// Blocks, bytes or bits.
        what: &'static str,
        /// Given.
        found: usize,
        /// Capacity.
        expected: usize,
    },
}

impl Mismatch {
    /// Which kind of error it is.
    #[must_use]
    pub const fn kind(&self) -> ErrorKind {
        match self {
            Self::OtherSet { .. } => ErrorKind::OtherSet,
            Self::OtherKey { .. } => ErrorKind::OtherKey,
            Self::NoLayout { .. } => ErrorKind::NoLayout,
            Self::NotWrapped { .. } => ErrorKind::NotWrapped,
            Self::NotInEvalKey { .. } => ErrorKind::NotInEvalKey,
            Self::Levels { most: None, .. } => ErrorKind::KeySize,
            Self::Levels { .. } => ErrorKind::Levels,
            Self::TooMany { .. } => ErrorKind::Argument,
        }
    }

    /// The value found and the one expected.
    #[must_use]
    pub fn details(&self) -> Option<[Detail; 2]> {
        match self {
            Self::OtherSet {
                found, expected, ..
            } => Some([*found, *expected].map(Detail::text)),
            Self::OtherKey {
                found, expected, ..
            } => Some([found, expected].map(Detail::text)),
            _ => None,
        }
    }
}

/// Checks that `what`, of the set and the secret key `found`, goes with objects of `expected`.
///
/// # Errors
/// [`Mismatch::OtherSet`] if the digests of the sets differ, otherwise [`Mismatch::OtherKey`] if the keys do.
pub fn check(
    what: &'static str,
    found: (SetId<'_>, KeyId),
    expected: (SetId<'_>, KeyId),
) -> Result<(), Mismatch> {
    if found.0.digest != expected.0.digest {
        return Err(Mismatch::OtherSet {
            what,
            found: found.0.name,
            expected: expected.0.name,
        });
    }
    if found.1 != expected.1 {
        return Err(Mismatch::OtherKey {
            what,
            found: found.1,
            expected: expected.1,
        });
    }
    Ok(())
}

/// Checks that `found` blocks, bytes or bits fit a batch of `expected`.
///
/// # Errors
/// [`Mismatch::TooMany`].
pub fn check_count(what: &'static str, found: usize, expected: usize) -> Result<(), Mismatch> {
    match found <= expected {
        true => Ok(()),
        false => Err(Mismatch::TooMany {
            what,
            found,
            expected,
        }),
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
    fn a_key_goes_with_its_own_set_and_secret() {
        let [a, b] = [[1; 32], [2; 32]];
        let set = |name, digest| SetId { name, digest };
        let [one, two] = [7, 8].map(|x| KeyId([x; 16]));
        let here = (set("bgv/toy-255", &a), one);
        assert_eq!(check("wrapped key", here, here), Ok(()));
        for (found, message) in [
            // sets are told apart by their numbers
            (
                (set("bgv/toy-255", &b), two),
                "the wrapped key belongs to set bgv/toy-255, expected bgv/toy-255",
            ),
            (
                (set("bgv/toy-4369", &b), one),
                "the wrapped key belongs to set bgv/toy-4369, expected bgv/toy-255",
            ),
        ] {
            let error = check("wrapped key", found, here).unwrap_err();
            assert_eq!(error.to_string(), message);
            assert_eq!(error.kind(), ErrorKind::OtherSet);
        }
        let error = check("wrapped key", (set("bgv/toy-255", &a), two), here).unwrap_err();
        let message = format!("the wrapped key was made under key {two}, expected key {one}");
        assert_eq!(error.to_string(), message);
        assert_eq!(error.kind(), ErrorKind::OtherKey);
    }

    #[test]
    fn choices_are_named() {
        let levels = |most| Mismatch::Levels {
            layout: Layout::Bits,
            size: KeySize::Aes256,
            wanted: 2,
            most,
            set: "ntru/toy-255",
        };
        let no_layout = Mismatch::NoLayout {
            layout: Layout::Packed,
            set: "tfhe/toy",
            offered: &[Layout::Sliced, Layout::Bits],
        };
        let not_wrapped = Mismatch::NotWrapped {
            layout: Layout::Sliced,
            held: vec![Layout::Bits],
        };
        let not_in_eval_key = Mismatch::NotInEvalKey {
            layout: Layout::Packed,
            held: vec![Layout::Sliced],
        };
        assert_eq!(check_count("blocks", 16, 16), Ok(()));
        let many = check_count("blocks", 17, 16).unwrap_err();
        let begin = "AES-256, layout bits, with 2 multiplications left: set ntru/toy-255";
        for (error, message) in [
            (
                no_layout,
                "set tfhe/toy has no layout packed, expected sliced or bits",
            ),
            (
                not_wrapped,
                "the wrapped key has no layout sliced, expected bits",
            ),
            (
                not_in_eval_key,
                "the evaluation key has no layout packed, expected sliced",
            ),
            (levels(None), &format!("{begin} has too few levels for it")),
            (levels(Some(1)), &format!("{begin} leaves at most 1")),
            (many, "17 blocks in a batch of 16"),
        ] {
            assert_eq!(error.to_string(), message);
        }
        assert_ne!(levels(None).kind(), levels(Some(1)).kind());
    }
}
