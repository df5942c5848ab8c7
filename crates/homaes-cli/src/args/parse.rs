//! Values of options, from their text.

use clap::builder::{PathBufValueParser, TypedValueParser};
use homaes::{Block, KeySize};
use std::num::NonZeroUsize;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Less does not cover the schemes.
const MIN_BUDGET: Duration = Duration::from_secs(30);

/// More than any machine has cores.
const MAX_THREADS: usize = 4096;

/// A path; `-` is refused by name, where neither standard input nor standard output will do.
pub(super) fn file_path() -> impl TypedValueParser<Value = PathBuf> {
    PathBufValueParser::new().try_map(|path| match is_stream(&path) {
        true => Err(
            "standard input and output are not taken here; give a file ('./-' if that is its name)",
        ),
        false => Ok(path),
    })
}

/// Whether a path stands for standard input or output.
pub(crate) fn is_stream(path: &Path) -> bool {
    path.as_os_str() == "-"
}

pub(super) fn parse_threads(text: &str) -> Result<NonZeroUsize, String> {
    text.parse::<NonZeroUsize>()
        .ok()
        .filter(|threads| threads.get() <= MAX_THREADS)
        .ok_or_else(|| format!("expected a number from 1 to {MAX_THREADS}"))
}

pub(super) fn parse_budget(text: &str) -> Result<Duration, String> {
    let longest = Duration::from_secs(7 * 24 * 3600);
    humantime::parse_duration(text)
        .ok()
        .filter(|time| (MIN_BUDGET..=longest).contains(time))
        .ok_or_else(|| "expected a time from 30s to 7days, such as '20m' or '1h 30m'".to_owned())
}

pub(super) fn parse_range(text: &str) -> Result<Range<u64>, String> {
    let ends = text.split_once("..");
    let range = ends.and_then(|(start, end)| Some(start.parse().ok()?..end.parse().ok()?));
    range.ok_or_else(|| "expected two numbers, such as '0..16' for the first 16 bytes".to_owned())
}

pub(super) fn parse_key_bits(text: &str) -> Result<KeySize, String> {
    let mut sizes = KeySize::ALL.into_iter();
    sizes
        .find(|size| text.parse() == Ok(8 * size.key_bytes()))
        .ok_or_else(|| "expected 128, 192 or 256".to_owned())
}

/// The 16 bytes of an IV; `what` it is, for errors.
pub(crate) fn parse_iv(text: &str, what: &str) -> Result<Block, String> {
    check_hex(text, 32, what)?;
    let value = u128::from_str_radix(text, 16).map_err(|error| error.to_string())?;
    Ok(value.to_be_bytes())
}

/// The 12 bytes of a nonce of GCM.
pub(crate) fn parse_nonce(text: &str) -> Result<[u8; 12], String> {
    let what =
        "a nonce of another length needs GHASH under the AES key, which the server does not have";
    check_hex(text, 24, what)?;
    let value = u128::from_str_radix(text, 16).map_err(|error| error.to_string())?;
    let bytes: Block = value.to_be_bytes();
    Ok(std::array::from_fn(|i| bytes[i + 4]))
}

/// The bytes of a nonce of GCM, or of an initial counter or an IV.
pub(crate) fn parse_expected_nonce(text: &str) -> Result<Vec<u8>, String> {
    if text.len() == 24 {
        return parse_nonce(text).map(Vec::from);
    }
    let what = "that of CTR or CBC, or 24 for a nonce of GCM";
    parse_iv(text, what).map(Vec::from)
}

fn check_hex(text: &str, digits: usize, what: &str) -> Result<(), String> {
    if let Some(other) = text.chars().find(|c| !c.is_ascii_hexdigit()) {
        return Err(format!("found {other:?}, expected {digits} hex digits"));
    }
    let found = text.len();
    if found != digits {
        return Err(format!(
            "found {found} hex digits, expected {digits}: {what}"
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ivs_have_32_digits_and_nonces_24() {
        let digits = "000102030405060708090a0B0c0d0e0f";
        assert_eq!(parse_iv(digits, "").unwrap()[11..13], [11, 12]);
        let nonce = parse_nonce(&digits[..24]).unwrap();
        assert!(nonce.into_iter().eq(0..12));
        for len in [24, 32] {
            assert!(
                parse_expected_nonce(&digits[..len])
                    .unwrap()
                    .into_iter()
                    .eq(0..len as u8 / 2)
            );
        }
        for bad in [
            "",
            "00",
            &"0".repeat(31),
            &"0".repeat(33),
            &"+".repeat(32),
            &"+".repeat(24),
            &"é".repeat(16),
            &"é".repeat(12),
        ] {
            assert!(parse_iv(bad, "").is_err(), "{bad:?}");
            assert!(parse_nonce(bad).is_err(), "{bad:?}");
            assert!(parse_expected_nonce(bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn keys_have_three_sizes() {
        assert_eq!(parse_key_bits("192"), Ok(KeySize::Aes192));
        for bad in ["", "0", "127", "-128", "1280"] {
            assert!(parse_key_bits(bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn threads_are_bounded() {
        assert!(parse_threads("1").is_ok() && parse_threads("4096").is_ok());
        for bad in ["0", "-1", "4097", "x", ""] {
            assert!(parse_threads(bad).is_err(), "{bad:?}");
        }
    }
}
