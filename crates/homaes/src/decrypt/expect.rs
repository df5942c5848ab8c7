//! Compares a client's expectations with a file's description of the message, before anything is decrypted.

use crate::error::quoted;
use crate::{Error, ErrorKind, PartMeta, Result};
use homaes_wire::hex;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// The client's knowledge about the requested message. `None` accepts any value.
///
/// The file comes from the server. With a checked GCM tag, a message that passes was encrypted by a holder of the AES
/// key with this nonce, associated data and length. Without a tag the server can state the expected values and return
/// other bytes, so the comparison finds mistakes, not attacks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Expect<'e> {
    /// [Name](homaes_aes::Mode::name) of the mode.
    pub mode: Option<&'e str>,
    /// The nonce of GCM (12 bytes), the initial counter block of CTR or the IV of CBC or CFB (16 bytes).
    pub nonce: Option<&'e [u8]>,
    /// The associated data of GCM.
    pub aad: Option<&'e [u8]>,
    /// Length of the decrypted file, without removed padding.
    pub bytes: Option<u64>,
    /// Name of the part's AES key, in a message under many. A valid tag shows only that a holder of that key made the
    /// part.
    pub key_name: Option<&'e str>,
}

impl Expect<'_> {
    /// Checks all that is known before decryption; `unpad`: padding will be removed.
    pub(crate) fn check(&self, path: &Path, part: &PartMeta, unpad: bool) -> Result<()> {
        let mode = part.mode.name();
        let refuse = |what, found, expected| Err(unexpected(path, what, found, expected));
        if let Some(expected) = self.mode
            && expected != mode
        {
            return refuse("mode", mode.to_owned(), expected.to_owned());
        }
        if let Some(expected) = self.nonce
            && expected != part.mode.iv()
        {
            let found = match part.mode.iv() {
                [] => format!("none (mode {mode})"),
                iv => format!("{} (mode {mode})", hex(iv)),
            };
            return refuse("nonce or IV", found, hex(expected));
        }
        if let Some(expected) = self.aad
            && (part.tag.is_none() || expected != part.aad)
        {
            let found = match part.tag {
                None => format!("none (mode {mode})"),
                Some(_) => data(&part.aad),
            };
            return refuse("associated data", found, data(expected));
        }
        if let Some(expected) = self.key_name
            && part.key.as_ref().is_none_or(|key| key.name != expected)
        {
            let found = part.key.as_ref();
            let found = found.map_or("none".to_owned(), |key| quoted(&key.name));
            return refuse("AES key", found, quoted(expected));
        }
        let found = part.bytes;
        match self.bytes {
            // n bytes are followed by 1 to 16 bytes of padding
            Some(expected)
                if unpad && found != (expected / 16).saturating_add(1).saturating_mul(16) =>
            {
                refuse(
                    LENGTH,
                    format!("{found} bytes with padding"),
                    format!("{expected} bytes and padding up to the next multiple of 16"),
                )
            }
            Some(expected) if !unpad && found != expected => self.length(path, found),
            _ => Ok(()),
        }
    }

    /// Checks the length that remains after padding is removed.
    pub(crate) fn length(&self, path: &Path, found: u64) -> Result<()> {
        match self.bytes {
            Some(expected) if found != expected => Err(unexpected(
                path,
                LENGTH,
                format!("{found} bytes"),
                format!("{expected} bytes"),
            )),
            _ => Ok(()),
        }
    }
}

pub(crate) fn unexpected(path: &Path, what: &str, found: String, expected: String) -> Error {
    let message = format!("{what}: found {found}, expected {expected}");
    Error::refused(ErrorKind::Unexpected, message)
        .with(found, expected)
        .at(path)
}

/// Checks that a message has exactly the expected parts.
pub(crate) fn check_names<'p>(
    path: &Path,
    expected: &BTreeMap<String, Expect<'_>>,
    found: impl Iterator<Item = &'p str>,
) -> Result<()> {
    let refuse = |found, expected: &str| Err(unexpected(path, "parts", found, expected.into()));
    let mut missing: BTreeSet<&str> = expected.keys().map(String::as_str).collect();
    for name in found {
        if !missing.remove(name) {
            return refuse(quoted(name), "no part of this name");
        }
    }
    match missing.first() {
        Some(name) => refuse(format!("no part {}", quoted(name)), "one"),
        None => Ok(()),
    }
}

const LENGTH: &str = "length of the message";

/// Shortens associated data to length and hash.
fn data(aad: &[u8]) -> String {
    let hash = hex(&crate::input::part_meta::sha256(aad));
    format!("{} bytes with SHA-256 {hash}", aad.len())
}

#[cfg(test)]
mod tests {
    use super::*;
    use homaes_aes::Mode;

    fn meta(mode: Mode, bytes: u64) -> PartMeta {
        let mut part = PartMeta::new(mode, bytes);
        if let Mode::Gcm { .. } = mode {
            (part.tag, part.aad) = (Some([1; 16]), b"abc".to_vec());
        }
        part
    }

    #[track_caller]
    fn refused(expect: Expect<'_>, part: &PartMeta, unpad: bool) -> String {
        let error = expect.check(Path::new("f"), part, unpad).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unexpected);
        error.to_string()
    }

    #[test]
    fn what_is_expected_passes_and_anything_else_is_named() {
        let nonce = [7; 12];
        let gcm = meta(Mode::Gcm { nonce }, 20);
        let ecb = meta(Mode::Ecb, 32);
        let any = Expect::default();
        let right = Expect {
            mode: Some("gcm"),
            nonce: Some(&nonce),
            aad: Some(b"abc"),
            bytes: Some(20),
            key_name: None,
        };
        for expect in [any, right] {
            expect.check(Path::new("f"), &gcm, false).unwrap();
        }
        let (mode, bytes) = (Some("ctr"), Some(21));
        let (nonce, aad) = (Some(&[7; 16][..]), Some(&b""[..]));
        let (mode, bytes) = (Expect { mode, ..any }, Expect { bytes, ..any });
        let (nonce, aad) = (Expect { nonce, ..any }, Expect { aad, ..any });
        // SHA-256 of "abc": FIPS 180-4, example
        let abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        let [found, expected] = [12, 16].map(|count| "07".repeat(count));
        let nonces = format!("nonce or IV: found {found} (mode gcm), expected {expected}");
        let hashes = format!(
            "associated data: found 3 bytes with SHA-256 {abc}, expected 0 bytes with SHA-256 e3b0"
        );
        let lengths = "length of the message: found 20 bytes, expected 21 bytes";
        for (expect, part, words) in [
            (mode, &gcm, "mode: found gcm, expected ctr"),
            (nonce, &gcm, &nonces),
            (aad, &gcm, &hashes),
            (bytes, &gcm, lengths),
            // an empty expectation would equal the file's empty fields
            (aad, &ecb, "associated data: found none (mode ecb)"),
            (nonce, &ecb, "nonce or IV: found none (mode ecb)"),
        ] {
            let error = refused(expect, part, false);
            assert!(error.starts_with(&format!("f: {words}")), "{error}");
        }
    }

    #[test]
    fn lengths_without_padding_fit_the_padded_length() {
        let cbc = meta(Mode::Cbc { iv: [0; 16] }, 32);
        let bytes = |n| Expect {
            bytes: Some(n),
            ..Expect::default()
        };
        for n in 16..32 {
            bytes(n).check(Path::new("f"), &cbc, true).unwrap();
        }
        for n in [0, 15, 32, u64::MAX] {
            let error = refused(bytes(n), &cbc, true);
            assert!(error.contains("found 32 bytes with padding"), "{error}");
        }
        assert!(bytes(17).length(Path::new("f"), 17).is_ok());
        assert!(bytes(17).length(Path::new("f"), 18).is_err());
    }
}
