//! Parsers of option values.

use super::BridgeEnd;
use clap::builder::{
    OsStringValueParser, PathBufValueParser, PossibleValue, PossibleValuesParser, TypedValueParser,
};
use homaes::{Block, Devices, Direction, Expansion, KeySize, Layout, Scheme, Variant, unhex};
use homaes_job::Location;
use std::num::NonZeroUsize;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The schemes cannot be covered in less time.
const MIN_BUDGET: Duration = Duration::from_secs(30);

/// More than any machine has cores.
const MAX_THREADS: usize = 4096;

/// More text than demonstrations and benchmarks need: 1 GiB.
const MAX_BLOCKS: u64 = 1 << 26;

pub(crate) const MODES: [(&str, &str); 10] = [
    ("ecb", ""),
    ("cbc", ""),
    ("cfb", "segments of 128 bits"),
    ("ctr", "counting in 128 bits, big-endian"),
    ("gcm", ""),
    ("ctr64", "counting in the last 64 bits, big-endian"),
    ("ctr32", "counting in the last 32 bits, big-endian"),
    ("ctr-le", "counting in 128 bits, little-endian"),
    ("ctr64-le", "counting in the first 64 bits, little-endian"),
    ("ctr32-le", "counting in the first 32 bits, little-endian"),
];

/// An option's value; `None` for `auto`.
pub(crate) type Auto<T> = Option<T>;

/// Accepts the words of triples (word, help, value); an empty help shows none.
pub(super) fn one_of<T: Clone + Send + Sync + 'static>(
    values: Vec<(&'static str, &'static str, T)>,
) -> impl TypedValueParser<Value = T> {
    let words = values.iter().map(|&(word, help, _)| match help {
        "" => PossibleValue::new(word),
        help => PossibleValue::new(word).help(help),
    });
    let words: Vec<_> = words.collect();
    PossibleValuesParser::new(words).map(move |found| {
        let value = values.iter().find(|(word, ..)| *word == found);
        value.expect("the parser takes these words").2.clone()
    })
}

pub(super) fn schemes() -> impl TypedValueParser<Value = Scheme> {
    let schemes = Scheme::ALL.iter();
    one_of(schemes.map(|&scheme| (scheme.name(), "", scheme)).collect())
}

pub(super) fn variants() -> impl TypedValueParser<Value = Variant> {
    let variants = Scheme::ALL.iter().flat_map(|scheme| scheme.variants());
    let variants = variants.map(|&variant| (variant.name, variant.about, variant));
    one_of(variants.collect())
}

pub(super) fn layouts() -> impl TypedValueParser<Value = Auto<Layout>> {
    let sliced = "byte i of every block in ciphertext i of 16";
    let packed = "all bytes in one ciphertext";
    let bits = "every bit in a ciphertext of its own";
    one_of(vec![
        ("auto", "", None),
        ("sliced", sliced, Some(Layout::Sliced)),
        ("packed", packed, Some(Layout::Packed)),
        ("bits", bits, Some(Layout::Bits)),
    ])
}

/// Names of layouts with commas, or `all`.
pub(super) fn parse_layouts(text: &str) -> Result<Auto<Vec<Layout>>, String> {
    if text == "all" {
        return Ok(None);
    }
    let one = |name: &str| {
        Layout::from_name(name).ok_or_else(|| {
            let all = Layout::list(&Layout::ALL);
            format!("found layout {name:?}, expected 'all' or some of {all}")
        })
    };
    text.split(',').map(one).collect::<Result<_, _>>().map(Some)
}

pub(super) fn directions() -> impl TypedValueParser<Value = Direction> {
    let (encrypt, decrypt) = (Direction::Encrypt, Direction::Decrypt);
    one_of(vec![("encrypt", "", encrypt), ("decrypt", "", decrypt)])
}

/// One direction, or both.
pub(super) fn directions_or_both() -> impl TypedValueParser<Value = Auto<Direction>> {
    one_of(vec![
        ("encrypt", "", Some(Direction::Encrypt)),
        ("decrypt", "", Some(Direction::Decrypt)),
        ("both", "", None),
    ])
}

pub(super) fn expansions() -> impl TypedValueParser<Value = Auto<Expansion>> {
    one_of(vec![
        ("auto", "", None),
        ("server", "", Some(Expansion::Server)),
        ("client", "", Some(Expansion::Client)),
    ])
}

pub(super) fn modes() -> impl TypedValueParser<Value = &'static str> {
    let modes = MODES.into_iter();
    one_of(modes.map(|(name, help)| (name, help, name)).collect())
}

pub(super) fn parse_blocks() -> impl TypedValueParser<Value = u64> {
    clap::value_parser!(u64).range(1..=MAX_BLOCKS)
}

const NO_STREAM: &str = "expected a file, not standard input or output ('./-' names a file '-')";

/// A path; `-` is refused.
pub(super) fn file_path() -> impl TypedValueParser<Value = PathBuf> {
    PathBufValueParser::new().try_map(|path| match is_stream(&path) {
        true => Err(NO_STREAM),
        false => Ok(path),
    })
}

/// `ckks`, `ckks:8` or a path; `./ckks` names a file.
pub(super) fn bridge_end() -> impl TypedValueParser<Value = BridgeEnd> {
    file_path().try_map(|path| {
        let log2_t = match path.to_str() {
            Some("ckks") => Some("11"),
            Some(text) => text.strip_prefix("ckks:"),
            None => None,
        };
        match log2_t.map(str::parse) {
            None => Ok(BridgeEnd::Key(path)),
            Some(Ok(log2_t @ (8 | 11))) => Ok(BridgeEnd::Ckks(log2_t)),
            Some(_) => {
                Err("expected ckks for Lattigo (bytes modulo 2^11) or ckks:8 for OpenFHE (2^8)")
            }
        }
    })
}

pub(super) fn parse_location() -> impl TypedValueParser<Value = Location> {
    OsStringValueParser::new().try_map(|text| match text == "-" {
        true => Err(NO_STREAM.to_owned()),
        false => Location::parse(text).map_err(|error| error.to_string()),
    })
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Shards(pub(crate) Vec<Range<u64>>);

/// Numbers of shards, such as `0-99,200`.
pub(super) fn parse_shards(text: &str) -> Result<Shards, String> {
    let number = |text: &str| text.parse::<u64>().ok().filter(|&number| number < u64::MAX);
    let range = |text: &str| {
        let (first, last) = text.split_once('-').unwrap_or((text, text));
        let (first, last) = (number(first)?, number(last)?);
        (first <= last).then_some(first..last + 1)
    };
    let ranges: Option<Vec<_>> = text.split(',').map(range).collect();
    let mut ranges = ranges.ok_or("expected numbers and ranges of numbers, such as '0-99,200'")?;
    ranges.sort_by_key(|range| range.start);
    // overlapping ranges would list a shard twice
    ranges.dedup_by(|next, last| {
        let touches = next.start <= last.end;
        if touches {
            last.end = last.end.max(next.end);
        }
        touches
    });
    Ok(Shards(ranges))
}

pub(super) fn parse_share(text: &str) -> Result<f64, String> {
    let share = text.parse().ok();
    let share = share.filter(|&share| share > 0.0 && share <= 1.0);
    share.ok_or_else(|| "expected a number above 0 and at most 1, such as 0.02".to_owned())
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

pub(super) fn parse_device(text: &str) -> Result<Devices, String> {
    let expected = "expected auto, cpu, cuda, or GPU numbers such as cuda:0,1";
    text.parse().map_err(|_| expected.to_owned())
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

/// `what` names the value in errors.
pub(crate) fn parse_iv(text: &str, what: &str) -> Result<Block, String> {
    parse_hex(text, what)
}

pub(crate) fn parse_nonce(text: &str) -> Result<[u8; 12], String> {
    let what =
        "nonces of other lengths are hashed under the AES key, which the server does not have";
    parse_hex(text, what)
}

/// The bytes of a GCM nonce, an initial counter or an IV.
pub(crate) fn parse_expected_nonce(text: &str) -> Result<Vec<u8>, String> {
    if text.len() == 24 {
        return parse_nonce(text).map(Vec::from);
    }
    let what = "a CTR counter block or CBC IV, or 24 for a GCM nonce";
    parse_iv(text, what).map(Vec::from)
}

fn parse_hex<const N: usize>(text: &str, what: &str) -> Result<[u8; N], String> {
    let (found, digits) = (text.len(), 2 * N);
    if let Some(other) = text.chars().find(|c| !c.is_ascii_hexdigit()) {
        return Err(format!("found {other:?}, expected {digits} hex digits"));
    }
    let bytes = unhex(text).and_then(|bytes| bytes.try_into().ok());
    bytes.ok_or_else(|| format!("found {found} hex digits, expected {digits}: {what}"))
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
    fn shards_are_numbers_and_ranges() {
        let shards = |text| parse_shards(text).map(|shards| shards.0);
        assert_eq!(shards("7,9").unwrap(), [7..8, 9..10]);
        assert_eq!(shards("200,0-99,50-120").unwrap(), [0..121, 200..201]);
        for bad in ["", "x", "3-2", "1,", "-1", "1-", "18446744073709551615"] {
            assert!(shards(bad).is_err(), "{bad:?}");
        }
        for bad in ["-0.1", "1.1", "NaN", "", "inf"] {
            assert!(parse_share(bad).is_err(), "{bad:?}");
        }
        assert_eq!(parse_share("0.02"), Ok(0.02));
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
