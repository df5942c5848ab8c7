//! Where the bytes of a block lie in ciphertexts.

use core::fmt;

/// How AES blocks are spread over the slots of ciphertexts.
///
/// | layout | ciphertexts | blocks per batch |
/// |---|---|---|
/// | [`Packed`](Self::Packed) | 1 | slots / 16 |
/// | [`Sliced`](Self::Sliced) | 16 | slots |
/// | [`Bits`](Self::Bits) | 128 | slots |
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Layout {
    /// The 16 bytes of a block in 16 slots of one ciphertext
    Packed,
    /// Byte i of every block in ciphertext i
    Sliced,
    /// Bit j of byte i of every block in ciphertext 8i + j, bit 0 the least significant:
    /// [`FoldedBits`](crate::FoldedBits)
    Bits,
}

impl Layout {
    /// The three layouts, fewest ciphertexts first.
    pub const ALL: [Self; 3] = [Self::Packed, Self::Sliced, Self::Bits];

    /// The name in options and files: `packed`, `sliced` or `bits`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Packed => "packed",
            Self::Sliced => "sliced",
            Self::Bits => "bits",
        }
    }

    /// The layout called `name`, in lower case.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|layout| layout.name() == name)
    }

    /// The names of some layouts with commas, as the command takes and prints them.
    #[must_use]
    pub fn list(layouts: &[Self]) -> String {
        let names: Vec<&str> = layouts.iter().map(|layout| layout.name()).collect();
        names.join(",")
    }

    /// Ciphertexts per batch of blocks: 1, 16 or 128.
    pub const fn ciphertexts(self) -> usize {
        match self {
            Self::Packed => 1,
            Self::Sliced => 16,
            Self::Bits => 128,
        }
    }
}

impl fmt::Display for Layout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_round_trip() {
        for layout in Layout::ALL {
            assert_eq!(Layout::from_name(layout.name()), Some(layout));
            assert_eq!(layout.to_string(), layout.name());
        }
        assert_eq!(Layout::from_name("Packed"), None);
        assert_eq!(Layout::from_name(""), None);
    }
}
