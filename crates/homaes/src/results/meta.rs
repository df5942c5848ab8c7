//! The records of an `.hct` or `.hlw` file other than ciphertexts; numbers in parentheses are bytes.
//!
//! ```text
//! tag 1, index 0   mode (text) ‖ layout (text) ‖ AES key bits (2) ‖ level (2) ‖ message bytes (8) ‖ AES blocks (8)
//!                  ‖ blocks per batch (8) ‖ iv or nonce (sized) ‖ GCM tag (sized) ‖ associated data (sized)
//! tag 5, index 0   in files of version 2 and 3: the parts of the message, see [`Meta::encode_parts`]
//! tag 4, index 0   in an `.hlw` file only: the end of the bridge, as in the bridge key
//! tag 2, index i   the ciphertexts of batch i, in the scheme's encoding
//! tag 3, index 0   per step of AES: level (2) ‖ noise bits (8) ‖ capacity bits (8) ‖ seconds (8)
//!                  empty without batches
//! ```

use crate::error::malformed;
use crate::input::part_meta::{MAX_AAD_BYTES, MAX_NAME_BYTES, PartKey, PartMeta, check_names};
use crate::input::places::{Piece, Places};
use crate::input::split::Split;
use crate::{Error, ErrorKind, Quality, Step};
use homaes_aes::{Block, KeySize, Layout, Mode};
use homaes_scheme::MAX_KEY_NAME_BYTES;
use homaes_scheme::traits::Shape;
use homaes_wire::{Decoder, Encoder, WireError};
use std::ops::Range;
use std::path::Path;

pub(crate) const TAG_META: u16 = 1;

pub(crate) const TAG_BATCH: u16 = 2;

pub(crate) const TAG_STEPS: u16 = 3;

/// Names the user of LWE ciphertexts.
pub(crate) const TAG_TARGET: u16 = 4;

/// The table of parts follows the first record.
pub(crate) const TAG_PARTS: u16 = 5;

/// Replaces the mode if parts have their own modes.
const PARTS: &str = "parts";

pub(crate) const MAX_META_BYTES: u64 = 256 + MAX_AAD_BYTES as u64;

const MAX_TEXT_BYTES: usize = 32;

/// Level (2), noise, capacity and seconds (8 each).
const STEP_BYTES: u64 = 26;

/// Records other than batches.
const FRAME_RECORDS: u64 = 2;

/// The description of the message in an `.hct` file.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Meta {
    /// One part without a name, or any number of parts with names.
    pub parts: Vec<PartMeta>,
    /// Size of the AES key.
    pub key_size: KeySize,
    /// The layout of bytes in the ciphertexts.
    pub layout: Layout,
    /// Level of the ciphertexts, at least 1: one more than the multiplications left, if the scheme has levels.
    pub level: usize,
    /// Length and batches of the message; the last block of every part but the last counts as full.
    pub split: Split,
    /// The places of blocks under many AES keys; otherwise they follow each other.
    pub(crate) places: Option<Places>,
}

impl Meta {
    pub(crate) fn new(
        parts: Vec<PartMeta>,
        key_size: KeySize,
        (layout, level): (Layout, usize),
        split: Split,
    ) -> Self {
        Self {
            parts,
            key_size,
            layout,
            level,
            split,
            places: None,
        }
    }

    /// Number of AES keys, if every part names its own.
    #[must_use]
    pub fn aes_keys(&self) -> Option<u64> {
        self.places.as_ref().map(Places::keys)
    }

    /// Version of the file.
    pub(crate) fn version(&self) -> u16 {
        match self.has_parts() {
            _ if self.places.is_some() => 3,
            true => 2,
            false => 1,
        }
    }

    /// The bytes of batch `index`, block by block: each run of blocks with the place of its bytes in the message, whose
    /// parts are filled up to whole blocks, and its positions in the batch.
    pub(crate) fn pieces(&self, index: u64) -> Vec<(Range<u64>, Piece)> {
        let Some(places) = &self.places else {
            let first = 16 * self.split.first_block(index);
            let piece = Piece {
                part: 0,
                own: 0..self.split.batch_blocks(index),
                positions: [0, 1],
            };
            return vec![(first..first + self.split.batch_bytes(index), piece)];
        };
        let pieces = places.pieces(index..index + 1).map(|piece| {
            let part = &self.parts[piece.part];
            let (first, end) = (16 * part.first_block, part.bytes.min(16 * piece.own.end));
            (first + 16 * piece.own.start..first + end, piece)
        });
        pieces.collect()
    }

    /// Whether the message has parts with names.
    #[must_use]
    pub fn has_parts(&self) -> bool {
        self.only().is_none()
    }

    /// Bytes of all parts.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.parts.iter().map(|part| part.bytes).sum()
    }

    /// The part of a message without named parts.
    #[must_use]
    pub fn only(&self) -> Option<&PartMeta> {
        match &self.parts[..] {
            [part] if part.name.is_none() => Some(part),
            _ => None,
        }
    }

    /// The part called `name`, or the only part without a name; `path` names the file in errors.
    pub(crate) fn chosen(&self, path: &Path, name: Option<&str>) -> Result<&PartMeta, Error> {
        match (self.only(), name) {
            (Some(part), None) => Ok(part),
            (Some(_), Some(_)) => Err(Self::no_parts(path)),
            (None, None) => Err(self.many(path)),
            (None, Some(name)) => {
                let mut parts = self.parts.iter();
                let found = parts.find(|part| part.name.as_deref() == Some(name));
                found.ok_or_else(|| {
                    Error::refused(ErrorKind::NoPart, format!("has no part '{name}'")).at(path)
                })
            }
        }
    }

    /// The error if one of several parts must be chosen.
    pub(crate) fn many(&self, path: &Path) -> Error {
        let message = format!("holds {} parts", self.parts.len());
        Error::refused(ErrorKind::ManyParts, message).at(path)
    }

    /// The error if parts are required and the message has none.
    #[must_use]
    pub fn no_parts(path: &Path) -> Error {
        Error::refused(ErrorKind::NoParts, "holds one message without parts").at(path)
    }

    pub(crate) fn encode(&self) -> Vec<u8> {
        let bits = self.key_size.key_bytes() as u16 * 8;
        let only = self.only();
        let out = Encoder::new()
            .str(only.map_or(PARTS, |part| part.mode.name()))
            .str(self.layout.name())
            .u16(bits)
            .u16(self.level as u16)
            .u64(self.split.bytes)
            .u64(self.split.blocks())
            .u64(self.split.blocks_per_batch);
        match only {
            Some(part) => part.put(out).finish(),
            None => out.finish(),
        }
    }

    /// The table of parts, `None` without parts: their number (8); for each its name (text) ‖ mode (text) ‖ bytes (8) ‖
    /// iv or nonce (sized) ‖ GCM tag (sized) ‖ associated data (sized). In version 3 the number of AES keys (8) follows
    /// that of parts, and each part ends with the number (8) and the name (text) of its key.
    pub(crate) fn encode_parts(&self) -> Option<Vec<u8>> {
        if !self.has_parts() {
            return None;
        }
        let out = Encoder::new().u64(self.parts.len() as u64);
        let out = match self.aes_keys() {
            Some(keys) => out.u64(keys),
            None => out,
        };
        let add = |out: Encoder, part: &PartMeta| {
            let name = part.name.as_deref().unwrap_or_default();
            let out = part.put(out.str(name).str(part.mode.name()).u64(part.bytes));
            match &part.key {
                Some(key) => out.u64(key.number).str(&key.name),
                None => out,
            }
        };
        Some(self.parts.iter().fold(out, add).finish())
    }

    /// Reads the first record; `records` counts all records of the file, including this one and the table of parts.
    /// `parts`: [`decode_parts`](Self::decode_parts) will read a table.
    pub(crate) fn decode(body: &[u8], records: u64, parts: bool) -> Result<Self, WireError> {
        let mut decoder = Decoder::new(body);
        let mode_name = decoder.str("mode", MAX_TEXT_BYTES)?;
        let layout = decoder.str("layout", MAX_TEXT_BYTES)?;
        let layout = Layout::from_name(layout);
        let layout = layout.ok_or_else(|| malformed("layout", "packed, sliced or bits"))?;
        let bits = usize::from(decoder.u16("AES key bits")?);
        let mut sizes = KeySize::ALL.into_iter();
        let key_size = sizes.find(|size| size.key_bytes() * 8 == bits);
        let key_size = key_size.ok_or_else(|| malformed("AES key bits", "128, 192 or 256"))?;
        let level = usize::from(decoder.u16("level")?);
        if level == 0 {
            return Err(malformed("level", "at least 1"));
        }
        let split = split(&mut decoder, records.saturating_sub(u64::from(parts)))?;
        let parts = match parts {
            true if mode_name == PARTS => Vec::new(),
            true => return Err(malformed("mode", "\"parts\", in a file of version 2")),
            false => vec![part(None, mode_name, split.bytes, 0, &mut decoder)?],
        };
        decoder.finish("message record")?;
        Ok(Self::new(parts, key_size, (layout, level), split))
    }

    /// Reads the table of parts, of version 3 if there are many AES keys.
    pub(crate) fn decode_parts(&mut self, body: &[u8], many: bool) -> Result<(), WireError> {
        let mut decoder = Decoder::new(body);
        let count = decoder.u64("number of parts")?;
        let keys = many
            .then(|| decoder.u64("number of AES keys"))
            .transpose()?;
        let mut first_block = 0_u64;
        for _ in 0..count {
            let name = decoder.str("name of a part", MAX_NAME_BYTES)?.to_owned();
            let mode = decoder.str("mode of a part", MAX_TEXT_BYTES)?;
            let bytes = decoder.u64("bytes of a part")?;
            let mut read = part(Some(name), mode, bytes, first_block, &mut decoder)?;
            if many {
                let number = decoder.u64("number of an AES key")?;
                let name = decoder
                    .str("name of an AES key", MAX_KEY_NAME_BYTES)?
                    .to_owned();
                if name.is_empty() {
                    return Err(malformed("name of an AES key", "1 to 255 bytes"));
                }
                read.key = Some(PartKey { name, number });
            }
            let next = first_block.checked_add(read.blocks());
            first_block = next.ok_or_else(|| malformed("bytes of a part", "as the message has"))?;
            self.parts.push(read);
        }
        decoder.finish("table of parts")?;
        let names = self.parts.iter().filter_map(|part| part.name.as_deref());
        check_names(names).map_err(|(_, expected)| malformed("name of a part", expected))?;
        if let Some(keys) = keys {
            let places = Places::of(keys, self.split.blocks_per_batch, &self.parts);
            self.places = places.filter(|places| places.split() == self.split);
            return match self.places {
                Some(_) => Ok(()),
                None => Err(malformed("AES keys of the parts", "as the message has")),
            };
        }
        let last = self.parts.last().map_or(0, |part| part.bytes);
        // the missing bytes of the last block
        let missing = last.wrapping_neg() % 16;
        let padded = first_block.checked_mul(16);
        match padded.and_then(|padded| padded.checked_sub(missing)) == Some(self.split.bytes) {
            true => Ok(()),
            false => Err(malformed("bytes of a part", "as the message has")),
        }
    }

    pub(crate) fn shape(&self, index: u64) -> Shape {
        Shape {
            layout: self.layout,
            level: self.level,
            blocks: self.split.batch_blocks(index) as usize,
        }
    }

    /// Steps of AES in the last record.
    fn steps(&self) -> u64 {
        match self.split.batches() {
            0 => 0,
            _ => self.key_size.round_keys() as u64,
        }
    }

    pub(crate) fn steps_bytes(&self) -> u64 {
        steps_bytes(self.steps())
    }

    pub(crate) fn decode_steps(&self, body: &[u8]) -> Result<Vec<Step>, WireError> {
        decode_steps(body, self.steps())
    }
}

impl PartMeta {
    fn put(&self, out: Encoder) -> Encoder {
        out.sized_bytes(self.mode.iv())
            .sized_bytes(self.tag.as_ref().map_or(&[][..], |tag| tag))
            .sized_bytes(&self.aad)
    }
}

/// Bounds seconds, noise bits and bits left of a step, which are printed with all digits.
const MOST_FIGURE: f64 = 4_294_967_296.0;

pub(crate) fn steps_bytes(steps: u64) -> u64 {
    STEP_BYTES * steps
}

pub(crate) fn decode_steps(body: &[u8], steps: u64) -> Result<Vec<Step>, WireError> {
    let mut decoder = Decoder::new(body);
    let steps = (0..steps).map(|_| {
        let level = decoder.u16("level of a step")?.into();
        let noise_bits = decoder.f64("noise bits of a step")?;
        let capacity_bits = decoder.f64("capacity bits of a step")?;
        let seconds = decoder.f64("seconds of a step")?;
        if seconds.is_sign_negative() || seconds > MOST_FIGURE {
            return Err(malformed("seconds of a step", "a time"));
        }
        if noise_bits.abs().max(capacity_bits.abs()) > MOST_FIGURE {
            return Err(malformed("noise of a step", "2^32 bits at most"));
        }
        let quality = Quality {
            level,
            noise_bits,
            capacity_bits,
        };
        Ok(Step { seconds, quality })
    });
    let steps = steps.collect::<Result<_, _>>()?;
    decoder.finish("record of steps")?;
    Ok(steps)
}

/// The last record; `timed`: with the seconds of the steps, which differ between runs.
pub(crate) fn encode_steps(steps: &[Step], timed: bool) -> Vec<u8> {
    let add = |body: Encoder, step: &Step| {
        body.u16(step.quality.level as u16)
            .noise(step.quality.noise_bits)
            .noise_left(step.quality.capacity_bits)
            .f64(if timed { step.seconds } else { 0.0 })
    };
    steps.iter().fold(Encoder::new(), add).finish()
}

/// Reads the batches of the message, which must fit the number of records.
fn split(decoder: &mut Decoder<'_>, records: u64) -> Result<Split, WireError> {
    let bytes = decoder.u64("message bytes")?;
    let blocks = decoder.u64("AES blocks")?;
    let blocks_per_batch = decoder.u64("blocks per batch")?;
    let split = Split {
        bytes,
        blocks_per_batch,
    };
    if blocks_per_batch == 0 || blocks != split.blocks() {
        return Err(malformed("AES blocks", "as many as the message fills"));
    }
    let expected = split.batches().saturating_add(FRAME_RECORDS);
    if records != expected {
        return Err(WireError::RecordCount {
            found: records,
            expected,
        });
    }
    Ok(split)
}

/// Checks the parameters and the length that the mode requires.
fn part(
    name: Option<String>,
    mode: &str,
    bytes: u64,
    first_block: u64,
    decoder: &mut Decoder<'_>,
) -> Result<PartMeta, WireError> {
    let iv = decoder.sized_bytes("iv", MAX_TEXT_BYTES)?;
    let tag = decoder.sized_bytes("tag", MAX_TEXT_BYTES)?;
    let aad = decoder.sized_bytes("associated data", MAX_AAD_BYTES)?;
    let block = Block::try_from(iv).map_err(|_| malformed("iv", "16 bytes"));
    let mode = match mode {
        "ecb" if iv.is_empty() => Mode::Ecb,
        "ecb" => return Err(malformed("iv", "none in mode ecb")),
        "gcm" => {
            let nonce = iv.try_into().map_err(|_| malformed("iv", "12 bytes"))?;
            Mode::Gcm { nonce }
        }
        other => {
            let named = Mode::with_iv(other, *block.as_ref().unwrap_or(&[0; 16]));
            let expected = "ecb, cbc, cfb, ctr, gcm, ctr64, ctr32, ctr-le, ctr64-le or ctr32-le";
            let named = named.ok_or_else(|| malformed("mode", expected))?;
            block?;
            named
        }
    };
    let gcm = matches!(mode, Mode::Gcm { .. });
    let tag = match (gcm, Block::try_from(tag)) {
        (true, Ok(tag)) => Some(tag),
        (false, Err(_)) if tag.is_empty() && aad.is_empty() => None,
        (true, Err(_)) => return Err(malformed("tag", "16 bytes")),
        (false, _) => {
            return Err(malformed(
                "tag",
                "no tag and associated data but in mode gcm",
            ));
        }
    };
    if (mode.whole_blocks() && !bytes.is_multiple_of(16)) || bytes > mode.most_bytes() {
        return Err(malformed("message bytes", "a length that its mode allows"));
    }
    let aad = aad.to_vec();
    Ok(PartMeta {
        name,
        mode,
        tag,
        aad,
        bytes,
        first_block,
        key: None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use homaes_aes::Counter;
    use homaes_aes::mode::MAX_GCM_BYTES;

    fn part_of(name: Option<&str>, mode: Mode, bytes: u64, first_block: u64) -> PartMeta {
        let gcm = matches!(mode, Mode::Gcm { .. });
        PartMeta {
            name: name.map(str::to_owned),
            tag: gcm.then_some([7; 16]),
            aad: if gcm { vec![1, 2, 3] } else { Vec::new() },
            first_block,
            ..PartMeta::new(mode, bytes)
        }
    }

    fn meta(mode: Mode, bytes: u64, blocks_per_batch: u64) -> Meta {
        let parts = vec![part_of(None, mode, bytes, 0)];
        let split = Split {
            bytes,
            blocks_per_batch,
        };
        Meta::new(parts, KeySize::Aes192, (Layout::Sliced, 3), split)
    }

    /// Four parts of 3, 0, 1 and 2 blocks.
    fn with_parts() -> Meta {
        let [ecb, .., gcm, _, counter] = modes();
        let parts = vec![
            part_of(Some("a/b"), gcm, 33, 0),
            part_of(Some("a/c"), gcm, 0, 3),
            part_of(Some("z"), ecb, 16, 3),
            part_of(Some("é"), counter, 17, 4),
        ];
        let split = Split {
            bytes: 6 * 16 - 15,
            blocks_per_batch: 4,
        };
        Meta::new(parts, KeySize::Aes128, (Layout::Bits, 1), split)
    }

    /// The same parts under the second, first, first and third of three AES keys.
    fn under_many() -> Meta {
        let mut meta = with_parts();
        for (part, number) in meta.parts.iter_mut().zip([1, 0, 0, 2]) {
            let name = format!("key {number}");
            part.key = Some(PartKey { name, number });
        }
        meta.places = Places::of(3, 4, &meta.parts);
        meta.split = meta.places.as_ref().unwrap().split();
        meta
    }

    fn read_parts(body: &[u8], table: &[u8], many: bool) -> Result<Meta, WireError> {
        let mut meta = Meta::decode(body, if many { 6 } else { 5 }, true)?;
        meta.decode_parts(table, many)?;
        Ok(meta)
    }

    /// A cut is refused. A changed byte is refused or decoded as it is.
    fn every_byte_counts(body: &[u8], again: impl Fn(&[u8]) -> Result<Vec<u8>, WireError>) {
        for at in 0..body.len() {
            assert!(again(&body[..at]).is_err());
            for value in 0..=255 {
                let mut other = body.to_vec();
                other[at] = value;
                if let Ok(found) = again(&other) {
                    assert_eq!(found, other);
                }
            }
        }
    }

    #[test]
    fn parts_round_trip_and_every_byte_counts() {
        let parts = with_parts();
        let (body, table) = (parts.encode(), parts.encode_parts().unwrap());
        assert_eq!(read_parts(&body, &table, false).unwrap(), parts);
        assert!(read_parts(&body, &table, true).is_err());
        assert!(Meta::decode(&body, 5, false).is_err() && Meta::decode(&body, 4, true).is_err());
        every_byte_counts(&table, |table| {
            Ok(read_parts(&body, table, false)?.encode_parts().unwrap())
        });
        // the message must be as long as its parts together
        for bytes in [16, 18, 32, 33, u64::MAX] {
            let mut other = with_parts();
            other.parts[3].bytes = bytes;
            assert!(read_parts(&body, &other.encode_parts().unwrap(), false).is_err());
        }
        assert_eq!(meta(modes()[0], 16, 4).encode_parts(), None);
    }

    #[test]
    fn parts_under_many_keys_round_trip_and_lie_where_the_table_says() {
        let meta = under_many();
        assert_eq!((meta.version(), meta.split.batches()), (3, 3));
        let (body, table) = (meta.encode(), meta.encode_parts().unwrap());
        assert_eq!(read_parts(&body, &table, true).unwrap(), meta);
        every_byte_counts(&table, |table| {
            Ok(read_parts(&body, table, true)?.encode_parts().unwrap())
        });
        // positions 0 and 3 are those of the first key
        let found = [0, 1, 2].map(|batch| {
            let pieces = meta.pieces(batch).into_iter();
            let pieces = pieces.map(|(bytes, piece)| (bytes, piece.positions().collect()));
            pieces.collect::<Vec<(Range<u64>, Vec<usize>)>>()
        });
        assert_eq!(
            found,
            [
                vec![(48..64, vec![0]), (0..16, vec![1]), (64..80, vec![2])],
                vec![(16..32, vec![1]), (80..81, vec![2])],
                vec![(32..33, vec![1])],
            ]
        );
    }

    #[test]
    fn names_are_paths_below_a_folder() {
        let long = "x".repeat(MAX_NAME_BYTES + 1);
        let checked = |names: &str| check_names(names.split('|')).is_ok();
        assert!(
            checked("a|b/c|b/d|b.c|...") && checked("a|a b|ab/c|ab.d/e") && checked(&long[1..])
        );
        for names in [
            "",
            "/a",
            "a/",
            "a//b",
            "../a",
            "a/../b",
            "./a",
            "a\\b",
            "a\nb",
            "a\0",
            &long,
            "a|b|a",
            "a/b|a-b|a",
            "a/b/c|a/b",
            // later runs would remove or replace them
            "b|.a.homaes-tmp-0123456789abcdef",
            "b/.homaes-tmp-0123456789abcdef",
            ".o.hct.homaes-part",
            "b/.o.hct.homaes-journal",
        ] {
            assert!(!checked(names), "{names:?}");
        }
    }

    fn modes() -> [Mode; 6] {
        let iv = [5; 16];
        let nonce = [6; 12];
        let counter = Counter::Little32;
        [
            Mode::Ecb,
            Mode::Cbc { iv },
            Mode::Ctr { iv },
            Mode::Gcm { nonce },
            Mode::Cfb { iv },
            Mode::Counter { iv, counter },
        ]
    }

    #[test]
    fn records_round_trip_and_every_byte_counts() {
        for (mode, lengths) in modes().into_iter().zip([
            &[0, 16, 32768][..],
            &[0, 16, 1 << 40],
            &[0, 1, 16, 17, u64::MAX],
            &[0, 1, 17, MAX_GCM_BYTES],
            &[0, 1, 17],
            &[0, 1, 17, 1 << 36],
        ]) {
            for &bytes in lengths {
                let meta = meta(mode, bytes, 16);
                let body = meta.encode();
                assert!(body.len() as u64 <= MAX_META_BYTES);
                let records = meta.split.batches() + 2;
                assert_eq!(Meta::decode(&body, records, false).unwrap(), meta);
                assert!(Meta::decode(&body, records + 1, false).is_err());
            }
            every_byte_counts(&meta(mode, 1024, 16).encode(), |body| {
                Ok(Meta::decode(body, 6, false)?.encode())
            });
        }
        let mut longest = meta(modes()[3], 1, 16);
        longest.parts[0].aad = vec![0; MAX_AAD_BYTES];
        assert!(longest.encode().len() as u64 <= MAX_META_BYTES);
        let error = Meta::decode(&meta(modes()[2], 1, 0).encode(), 2, false).unwrap_err();
        let message = "AES blocks is malformed, expected as many as the message fills";
        assert_eq!(error.to_string(), message);
    }

    #[test]
    fn lengths_and_parameters_must_fit_the_mode() {
        let decode = |meta: &Meta| Meta::decode(&meta.encode(), meta.split.batches() + 2, false);
        let [ecb, cbc, ctr, gcm, cfb, counter] = modes();
        for (mode, bytes) in [
            (ecb, 17),
            (cbc, 15),
            (gcm, MAX_GCM_BYTES + 1),
            (counter, (1 << 36) + 1),
        ] {
            let error = decode(&meta(mode, bytes, 16)).unwrap_err();
            assert!(error.to_string().contains("a length that its mode allows"));
        }
        for mode in [ecb, cbc, ctr, cfb] {
            let (mut tagged, mut with_aad) = (meta(mode, 16, 16), meta(mode, 16, 16));
            tagged.parts[0].tag = Some([0; 16]);
            with_aad.parts[0].aad = vec![0];
            assert!(decode(&tagged).is_err() && decode(&with_aad).is_err());
        }
        let mut untagged = meta(gcm, 16, 16);
        untagged.parts[0].tag = None;
        assert!(decode(&untagged).is_err());
    }

    #[test]
    fn steps_round_trip() {
        let (quality, seconds) = (Quality::new(4, -3.5, 99.25), 0.125);
        let step = Step { seconds, quality };
        let full = meta(modes()[2], 17, 16);
        let body = encode_steps(&[step; 13], true);
        assert_eq!(body.len() as u64, full.steps_bytes());
        assert_eq!(full.decode_steps(&body).unwrap(), [step; 13]);
        let seconds = 0.0;
        let untimed = full.decode_steps(&encode_steps(&[step; 13], false));
        assert_eq!(untimed.unwrap(), [Step { seconds, ..step }; 13]);
        assert!(full.decode_steps(&body[1..]).is_err());
        assert!(full.decode_steps(&encode_steps(&[step; 14], true)).is_err());
        let (noise, time) = ("noise of a step", "seconds of a step");
        type Change = fn(&mut Step);
        let cases: [(Change, &str); 6] = [
            (|step| step.quality.noise_bits = 1e300, noise),
            (|step| step.quality.noise_bits = -1e10, noise),
            (|step| step.quality.capacity_bits = -1e300, noise),
            (|step| step.seconds = -1.0, time),
            (|step| step.seconds = f64::INFINITY, time),
            (|step| step.seconds = f64::NAN, time),
        ];
        for (change, words) in cases {
            let mut steps = [step; 13];
            change(&mut steps[12]);
            let error = full.decode_steps(&encode_steps(&steps, true)).unwrap_err();
            assert!(error.to_string().contains(words), "{error}");
        }
        let empty = meta(modes()[2], 0, 16);
        assert_eq!(empty.steps_bytes(), 0);
        assert_eq!(empty.decode_steps(&[]).unwrap(), []);
    }
}
