//! Names of parameter sets: `scheme/rest`.

use core::fmt;

/// Longest name in bytes; files store the length in one byte with the same bound.
pub const MAX_NAME_BYTES: usize = 64;

/// Name of a parameter set, `scheme/rest`, such as `bgv/toy-255`.
///
/// One slash with something on both sides, at most [`MAX_NAME_BYTES`] bytes of `a-z`, `0-9`, `-`, `+`, `_`, `.`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SetName(&'static str);

/// Why a text is not the name of a set.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SetNameError {
    /// The text is longer than a name may be.
    #[error("set name has {found} bytes, at most {expected} are allowed")]
    TooLong {
        /// Bytes in the text.
        found: usize,
        /// [`MAX_NAME_BYTES`].
        expected: usize,
    },
    /// The text is not `scheme/rest` in the allowed characters.
    #[error("set name {found:?} is not scheme/rest in a-z, 0-9, '-', '+', '_', '.'")]
    Malformed {
        /// The text.
        found: String,
    },
}

impl SetName {
    /// Checks a name.
    ///
    /// # Errors
    /// [`SetNameError`] says which rule is broken.
    pub fn new(name: &'static str) -> Result<Self, SetNameError> {
        if name.len() > MAX_NAME_BYTES {
            return Err(SetNameError::TooLong {
                found: name.len(),
                expected: MAX_NAME_BYTES,
            });
        }
        if !well_formed(name.as_bytes()) {
            return Err(SetNameError::Malformed {
                found: name.to_owned(),
            });
        }
        Ok(Self(name))
    }

    /// A name in a `const` table; a bad one does not compile.
    ///
    /// # Panics
    /// If the name breaks a rule of [`SetName`].
    #[must_use]
    pub const fn from_static(name: &'static str) -> Self {
        assert!(
            name.len() <= MAX_NAME_BYTES && well_formed(name.as_bytes()),
            "malformed set name"
        );
        Self(name)
    }

    /// The whole name.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        self.0
    }

    /// The part before the slash.
    #[must_use]
    pub fn scheme(self) -> &'static str {
        self.0
            .split('/')
            .next()
            .expect("split yields at least one part")
    }
}

const fn well_formed(name: &[u8]) -> bool {
    let mut slashes = 0;
    let mut i = 0;
    while i < name.len() {
        match name[i] {
            b'a'..=b'z' | b'0'..=b'9' | b'-' | b'+' | b'_' | b'.' => {}
            b'/' if i > 0 && i + 1 < name.len() => slashes += 1,
            _ => return false,
        }
        i += 1;
    }
    slashes == 1
}

impl fmt::Display for SetName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.0)
    }
}

impl fmt::Debug for SetName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SetName({})", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TOY: SetName = SetName::from_static("bgv/toy-255");

    #[test]
    fn good_names() {
        assert_eq!(TOY.scheme(), "bgv");
        assert_eq!(TOY.to_string(), "bgv/toy-255");
        let shown = format!("{TOY:>13}|{TOY:?}");
        assert_eq!(shown, "  bgv/toy-255|SetName(bgv/toy-255)");
        assert_eq!(SetName::new("tfhe/a_1.b"), Ok(SetName("tfhe/a_1.b")));
    }

    #[test]
    fn bad_names() {
        for bad in [
            "", "bgv", "/", "bgv/", "/toy", "a/b/c", "BGV/toy", "bgv/to y", "bgv/tö", "bgv/t\n",
        ] {
            let found = bad.to_owned();
            assert_eq!(SetName::new(bad), Err(SetNameError::Malformed { found }));
        }
        let long: &'static str = Box::leak(format!("a/{}", "b".repeat(63)).into_boxed_str());
        let error = SetName::new(long).unwrap_err();
        let message = "set name has 65 bytes, at most 64 are allowed";
        assert_eq!(error.to_string(), message);
        let message = "set name \"bgv\" is not scheme/rest in a-z, 0-9, '-', '+', '_', '.'";
        assert_eq!(SetName::new("bgv").unwrap_err().to_string(), message);
    }
}
