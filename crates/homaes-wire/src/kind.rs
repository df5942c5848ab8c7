//! Kinds of files, and the names of secret keys.

use core::fmt;

/// The kind of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    /// Secret key.
    SecretKey = 1,
    /// Evaluation key.
    EvalKey = 2,
    /// AES key schedule under FHE.
    WrappedKey = 3,
    /// FHE ciphertexts.
    Ciphertext = 4,
    /// FHE ciphertexts of some batches of a run: a shard.
    Shard = 5,
    /// Values that programs computed on results.
    Computed = 6,
    /// Key from one scheme to another.
    BridgeKey = 8,
    /// LWE ciphertexts under a key from elsewhere.
    Values = 9,
    /// RLWE ciphertexts under a link key.
    Packed = 10,
}

impl Kind {
    /// Every kind.
    pub const ALL: [Self; 9] = [
        Self::SecretKey,
        Self::EvalKey,
        Self::WrappedKey,
        Self::Ciphertext,
        Self::Shard,
        Self::Computed,
        Self::BridgeKey,
        Self::Values,
        Self::Packed,
    ];

    /// Extension of the file name, without the dot.
    #[must_use]
    pub const fn extension(self) -> &'static str {
        match self {
            Self::SecretKey => "hsk",
            Self::EvalKey => "hek",
            Self::WrappedKey => "hwk",
            Self::Ciphertext => "hct",
            Self::Shard => "hcs",
            Self::Computed => "hcv",
            Self::BridgeKey => "hbk",
            Self::Values => "hlw",
            Self::Packed => "hrl",
        }
    }

    /// The kind in words.
    #[must_use]
    pub const fn description(self) -> &'static str {
        match self {
            Self::SecretKey => "secret key",
            Self::EvalKey => "evaluation key",
            Self::WrappedKey => "wrapped AES key",
            Self::Ciphertext => "FHE ciphertexts",
            Self::Shard => "results of some batches",
            Self::Computed => "computed values",
            Self::BridgeKey => "bridge key",
            Self::Values => "LWE ciphertexts for the crate tfhe",
            Self::Packed => "RLWE ciphertexts for CKKS libraries",
        }
    }

    /// The newest version that there is of such files.
    pub(crate) const fn newest_version(self) -> u16 {
        match self {
            Self::EvalKey | Self::Ciphertext => 3,
            Self::WrappedKey | Self::Values | Self::Packed => 2,
            Self::SecretKey | Self::Shard | Self::Computed | Self::BridgeKey => 1,
        }
    }

    pub(crate) fn from_byte(byte: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|&kind| kind as u8 == byte)
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} (.{})", self.description(), self.extension())
    }
}

/// Names a secret key; everything made with that key carries the same id. Not secret.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct KeyId(pub [u8; 16]);

impl fmt::Display for KeyId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&hex(&self.0))
    }
}

impl fmt::Debug for KeyId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "KeyId({self})")
    }
}

/// Bytes in hex digits, two in lower case for each.
#[must_use]
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The bytes of hex digits in upper or lower case; nothing if there are other characters, or half a byte.
#[must_use]
pub fn unhex(text: &str) -> Option<Vec<u8>> {
    let digit = |digit: u8| char::from(digit).to_digit(16).map(|digit| digit as u8);
    let (pairs, rest) = text.as_bytes().as_chunks();
    let bytes = pairs
        .iter()
        .map(|&[high, low]| Some(16 * digit(high)? + digit(low)?));
    bytes.collect::<Option<_>>().filter(|_| rest.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hex_digits_are_bytes_and_back() {
        let bytes: Vec<u8> = (0..=255).collect();
        assert_eq!(unhex(&hex(&bytes)), Some(bytes));
        assert_eq!(
            (hex(&[0, 0xaf]), unhex("00aF")),
            ("00af".into(), Some(vec![0, 0xaf]))
        );
        assert_eq!(unhex(""), Some(Vec::new()));
        for bad in ["0", "000", "0g", "é0", "0x", "+1", " 1"] {
            assert_eq!(unhex(bad), None, "{bad:?}");
        }
    }
}
