//! Keys, ciphertexts and choices that do not go together.

use crate::failure::remedy;
use crate::file::SetId;
use homaes_aes::Layout;
use homaes_wire::KeyId;

/// Two objects, or an object and a choice, that do not go together.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Misfit {
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
    #[error("the {what} was made under key {found:?}, expected key {expected:?}")]
    OtherKey {
        /// Which object.
        what: &'static str,
        /// The secret key it was made under.
        found: KeyId,
        /// The one it was used with.
        expected: KeyId,
    },
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
}

impl Misfit {
    /// What to do, in one clause.
    #[must_use]
    pub const fn remedy(&self) -> &'static str {
        match self {
            Self::OtherSet { .. } => remedy::OTHER_SET,
            Self::OtherKey { .. } => "use files made with one secret key",
            Self::NoLayout { .. } => "choose a layout that the set offers, see 'homaes params'",
            Self::NotWrapped { .. } => "wrap the AES key for this layout, or choose another one",
        }
    }
}

/// Whether `what`, of the set and the secret key `found`, goes with objects of `expected`.
///
/// # Errors
/// [`Misfit::OtherSet`] if the digests of the sets differ, otherwise [`Misfit::OtherKey`] if the keys do.
pub fn check(
    what: &'static str,
    found: (SetId<'_>, KeyId),
    expected: (SetId<'_>, KeyId),
) -> Result<(), Misfit> {
    if found.0.digest != expected.0.digest {
        return Err(Misfit::OtherSet {
            what,
            found: found.0.name,
            expected: expected.0.name,
        });
    }
    if found.1 != expected.1 {
        return Err(Misfit::OtherKey {
            what,
            found: found.1,
            expected: expected.1,
        });
    }
    Ok(())
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
            assert_eq!(error.remedy(), "use files of one parameter set");
        }
        let error = check("wrapped key", (set("bgv/toy-255", &a), two), here).unwrap_err();
        let message = format!("the wrapped key was made under key {two:?}, expected key {one:?}");
        assert_eq!(error.to_string(), message);
        assert_eq!(error.remedy(), "use files made with one secret key");
    }

    #[test]
    fn layouts_are_named() {
        let error = Misfit::NoLayout {
            layout: Layout::Packed,
            set: "tfhe/toy",
            offered: &[Layout::Sliced, Layout::Bits],
        };
        assert_eq!(
            error.to_string(),
            "set tfhe/toy does not offer layout packed, expected sliced or bits"
        );
        let error = Misfit::NotWrapped {
            layout: Layout::Sliced,
            held: vec![Layout::Bits],
        };
        assert_eq!(
            error.to_string(),
            "the wrapped key holds no round keys for layout sliced, expected bits"
        );
    }
}
