//! The client's AES key and its files.

use crate::error::At;
use crate::{Error, ErrorKind, Result};
use core::fmt;
use homaes_aes::{KeySize, RoundKeys};
use std::io::Read;
use std::path::Path;
use zeroize::Zeroizing;

/// Exceeds every AES key file; no more bytes are read.
pub const MAX_AES_KEY_FILE_BYTES: usize = 128;

const MAX_KEY_BYTES: usize = 32;

/// An expanded AES key. Overwritten when dropped; `Debug` shows its size only.
#[derive(Clone)]
pub struct AesKey {
    round_keys: RoundKeys,
    ambiguous: bool,
}

impl AesKey {
    /// A key of 16, 24 or 32 bytes.
    ///
    /// # Errors
    /// `ErrorKind::AesKey` for any other length.
    pub fn from_bytes(key: &[u8]) -> Result<Self> {
        Self::expand(key, Path::new("<memory>"), key.len())
    }

    /// Reads a key file; `name` names it in errors.
    ///
    /// It holds 32, 48 or 64 hex digits, with or without a line end, or 16, 24 or 32 raw bytes. A file of 32 hex digits
    /// is an AES-128 key in hex, not a raw AES-256 key, which looks like this with probability 2^-113; see
    /// [`is_ambiguous`](Self::is_ambiguous). 32 characters that are mostly but not all hex digits are refused, because
    /// a mistyped AES-128 key would become an AES-256 key.
    ///
    /// # Errors
    /// `ErrorKind::AesKey` for any other content, [`Error::Io`].
    pub fn read(input: impl Read, name: impl AsRef<Path>) -> Result<Self> {
        let name = name.as_ref();
        // final capacity, so that growing leaves no copies
        let mut content = Zeroizing::new(Vec::with_capacity(MAX_AES_KEY_FILE_BYTES));
        let mut input = input.take(MAX_AES_KEY_FILE_BYTES as u64);
        input.read_to_end(&mut content).at(name)?;
        let (content, len) = (&content[..], content.len());
        let mut key = Zeroizing::new([0; MAX_KEY_BYTES]);
        match from_hex(content, &mut key) {
            Some(bytes) => {
                let mut hex = Self::expand(&key[..bytes], name, len)?;
                hex.ambiguous = len == MAX_KEY_BYTES;
                Ok(hex)
            }
            None if is_almost_hex(content) => Err(wrong(
                name,
                "most of its 32 characters are hex digits, but not all",
            )),
            None => Self::expand(content, name, len),
        }
    }

    /// The key in 32, 48 or 64 hex digits.
    pub(super) fn of_hex(digits: &[u8]) -> Option<Self> {
        let mut key = Zeroizing::new([0; MAX_KEY_BYTES]);
        let bytes = from_hex(digits, &mut key)?;
        Self::from_bytes(&key[..bytes]).ok()
    }

    /// Its size.
    #[must_use]
    pub fn size(&self) -> KeySize {
        self.round_keys.size()
    }

    /// Whether its file of 32 hex digits without a line end could also be a raw AES-256 key.
    #[must_use]
    pub fn is_ambiguous(&self) -> bool {
        self.ambiguous
    }

    /// The key is the front of its round keys (FIPS-197 section 5.2).
    pub(crate) fn bytes(&self) -> &[u8] {
        let round_keys = self.round_keys.as_slice().as_flattened();
        &round_keys[..self.size().key_bytes()]
    }

    pub(crate) fn round_keys(&self) -> &RoundKeys {
        &self.round_keys
    }

    fn expand(key: &[u8], name: &Path, found: usize) -> Result<Self> {
        let round_keys = RoundKeys::expand(key).map_err(|_| {
            let more = if found >= MAX_AES_KEY_FILE_BYTES {
                " or more"
            } else {
                ""
            };
            let expected = "16, 24 or 32 bytes";
            let message = format!(
                "found {found} bytes{more}, expected {expected}, or 32, 48 or 64 hex digits"
            );
            wrong(name, &message).with(found, expected)
        })?;
        Ok(Self {
            round_keys,
            ambiguous: false,
        })
    }
}

impl fmt::Debug for AesKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AesKey")
            .field("size", &self.size())
            .finish_non_exhaustive()
    }
}

/// Decodes 32, 48 or 64 hex digits, with or without a line end, into the front of `key`; returns the number of bytes.
fn from_hex(content: &[u8], key: &mut [u8; MAX_KEY_BYTES]) -> Option<usize> {
    let line = content.strip_suffix(b"\n").unwrap_or(content);
    let digits = line.strip_suffix(b"\r").unwrap_or(line);
    if !matches!(digits.len(), 32 | 48 | 64) {
        return None;
    }
    for (byte, pair) in key.iter_mut().zip(digits.as_chunks::<2>().0) {
        *byte = 16 * digit(pair[0])? + digit(pair[1])?;
    }
    Some(digits.len() / 2)
}

/// Whether 32 bytes, an AES-128 key in hex or a raw AES-256 key, are text with at least three hex digits in four
/// characters. Random bytes are with probability 2^-75.
fn is_almost_hex(content: &[u8]) -> bool {
    let digits = content.iter().filter(|&&c| digit(c).is_some()).count();
    let text = content
        .iter()
        .all(|c| c.is_ascii_graphic() || c.is_ascii_whitespace());
    content.len() == MAX_KEY_BYTES && text && 4 * digits >= 3 * MAX_KEY_BYTES
}

fn digit(c: u8) -> Option<u8> {
    match c {
        b'0'..=b'9' => Some(c - b'0'),
        b'a'..=b'f' => Some(c - b'a' + 10),
        b'A'..=b'F' => Some(c - b'A' + 10),
        _ => None,
    }
}

fn wrong(path: &Path, why: &str) -> Error {
    Error::refused(ErrorKind::AesKey, format!("not an AES key: {why}")).at(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(content: &[u8]) -> Result<AesKey> {
        AesKey::read(content, "k")
    }

    #[test]
    fn raw_bytes_and_hex_digits_are_the_same_key() {
        for (len, size) in [16, 24, 32].into_iter().zip(KeySize::ALL) {
            let raw: Vec<u8> = (0..len).map(|i: u8| (i * 7) ^ 0xa0).collect();
            let hex = homaes_wire::hex(&raw);
            for (text, ambiguous) in [
                (raw.clone(), false),
                (hex.clone().into_bytes(), len == 16),
                (hex.to_uppercase().into_bytes(), len == 16),
                (format!("{hex}\n").into_bytes(), false),
                (format!("{hex}\r\n").into_bytes(), false),
            ] {
                let key = read(&text).unwrap();
                assert_eq!((key.size(), key.bytes()), (size, &raw[..]));
                assert_eq!(key.is_ambiguous(), ambiguous, "{text:?}");
            }
        }
        // a raw key may end with a line end
        let mut raw = [b'z'; 32];
        raw[31] = b'\n';
        assert_eq!(read(&raw).unwrap().size(), KeySize::Aes256);
        assert_eq!(read(&[b'0'; 16]).unwrap().size(), KeySize::Aes128);
    }

    #[test]
    fn mistyped_digits_and_other_lengths_are_refused() {
        for text in [
            "000102030405060708090a0b0c0d0e0O",
            "000102030405060708090a0b0c0d0e0\n",
            "0x000102030405060708090a0b0c0d0e",
            "00010203 04050607 08090a0b 0c0d\n",
        ] {
            let error = read(text.as_bytes()).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::AesKey, "{text:?}: {error}");
            assert!(error.to_string().contains("hex digits, but not all"));
        }
        for len in (0..200usize).filter(|len| ![16, 24, 32].contains(len)) {
            let error = read(&vec![0xff; len]).unwrap_err();
            let found = len.min(MAX_AES_KEY_FILE_BYTES);
            assert_eq!(error.kind(), ErrorKind::AesKey, "{error}");
            assert_eq!(error.details().unwrap()[0], found.into());
        }
        assert!(read(&[b'0'; 33]).is_err() && read(&[b'0'; 31]).is_err());
        assert!(read(b"0x000102030405060708090a0b0c0d0e0f").is_err());
    }

    #[test]
    fn debug_output_shows_no_key() {
        let text = format!("{:?}", AesKey::from_bytes(&[1; 16]).unwrap());
        assert_eq!(text, "AesKey { size: Aes128, .. }");
    }
}
