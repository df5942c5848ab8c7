//! Names of parameter sets: `scheme/rest`.

use core::fmt;

/// Longest name in bytes; files store the length in one byte with the same bound.
const MAX_NAME_BYTES: usize = 64;

/// Name of a parameter set, `scheme/rest`, such as `bgv/toy-255`.
///
/// One slash with something on both sides, at most 64 bytes of `a-z`, `0-9`, `-`, `+`, `_`, `.`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SetName(&'static str);

impl SetName {
    /// A name in a `const` table; a bad one does not compile.
    ///
    /// # Panics
    /// If the name breaks a rule of [`SetName`].
    #[must_use]
    pub const fn from_static(name: &'static str) -> Self {
        assert!(well_formed(name.as_bytes()), "malformed set name");
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
    slashes == 1 && name.len() <= MAX_NAME_BYTES
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
        assert!(well_formed(b"tfhe/a_1.b+c"));
    }

    #[test]
    fn bad_names() {
        let long = ["a/", &"b".repeat(63)].concat();
        let text = ["", "bgv", "/", "bgv/", "/toy", "a/b/c", &long];
        let letters = ["BGV/toy", "bgv/to y", "bgv/t\u{f6}", "bgv/t\n"];
        for bad in text.into_iter().chain(letters) {
            assert!(!well_formed(bad.as_bytes()), "{bad}");
        }
        assert!(well_formed(&long.as_bytes()[..MAX_NAME_BYTES]));
    }
}
