//! Reading the records of keys.

use crate::{Expansion, SetId};
use homaes_aes::{Direction, KeySize};
use homaes_wire::{Contents, Decoder, Encoder, Header, Reader, WireError};
use std::io::Read;

/// Bytes of a seed.
pub const SEED_BYTES: u64 = 32;

/// A field of a record has a value outside its range.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("record {what}: found {found}, expected {expected}")]
pub struct FieldError {
    /// Which field.
    pub what: &'static str,
    /// The value found.
    pub found: u64,
    /// The value expected.
    pub expected: u64,
}

impl FieldError {
    /// A field that should be `expected`.
    pub fn new(what: &'static str, found: impl Into<u64>, expected: u64) -> Self {
        let found = found.into();
        Self {
            what,
            found,
            expected,
        }
    }
}

/// Checks that a file belongs to the set.
///
/// # Errors
/// [`WireError::OtherSet`] or [`WireError::OtherDigest`].
pub fn check_set<R: Read>(set: SetId<'_>, r: &Reader<R>) -> Result<(), WireError> {
    r.check_set(set.name, set.digest)
}

/// Checks that a file has the records that it should have: their number, and the length of all.
///
/// # Errors
/// [`FieldError`] for the number of records or the length of the file.
pub fn check_length<E>(set: SetId<'_>, header: &Header, contents: Contents) -> Result<(), E>
where
    E: From<WireError> + From<FieldError>,
{
    let expected = set.header(header.kind(), header.key_id(), contents)?;
    for (what, found, expected) in [
        ("count", header.records(), expected.records()),
        ("bytes in all", header.file_bytes(), expected.file_bytes()),
    ] {
        if found != expected {
            return Err(FieldError::new(what, found, expected).into());
        }
    }
    Ok(())
}

/// The next record, which must have this tag, this index and `len` bytes.
///
/// # Errors
/// If its tag, its index or its length is another.
pub fn record<R: Read, E>(
    r: &mut Reader<R>,
    tag: u16,
    expected: u64,
    len: u64,
) -> Result<Vec<u8>, E>
where
    E: From<WireError> + From<FieldError>,
{
    let (found, body) = r.next_indexed(tag, len)?;
    check_record(found, &body, expected, len)?;
    Ok(body)
}

/// Checks the index of a record, and that its body has `len` bytes.
///
/// # Errors
/// If they are other ones.
pub fn check_record(found: u64, body: &[u8], expected: u64, len: u64) -> Result<(), FieldError> {
    let bytes = body.len() as u64;
    match (bytes == len, found == expected) {
        (true, true) => Ok(()),
        (false, _) => Err(FieldError::new("length", bytes, len)),
        (true, false) => Err(FieldError::new("number", found, expected)),
    }
}

/// Words as bytes, little endian.
#[must_use]
pub fn put_words(words: &[u64]) -> Vec<u8> {
    let mut out = Vec::with_capacity(8 * words.len());
    out.extend(words.iter().flat_map(|word| word.to_le_bytes()));
    out
}

/// The words that [`put_words`] has written. Allocates once: words may be secret, and growing would leave some behind.
#[must_use]
pub fn take_words(bytes: &[u8]) -> Vec<u64> {
    let words = bytes.as_chunks().0.iter();
    words.map(|&word| u64::from_le_bytes(word)).collect()
}

/// A body that is a seed.
///
/// # Errors
/// If it has another length.
pub fn seed(body: &[u8]) -> Result<[u8; 32], WireError> {
    let mut input = Decoder::new(body);
    let seed = input.array::<32>("seed")?;
    input.finish("seed")?;
    Ok(seed)
}

/// Appends size of the AES key and direction, 3 bytes.
pub fn put_cipher(out: Encoder, size: KeySize, direction: Direction) -> Encoder {
    let bits = (size.key_bytes() * 8) as u16;
    out.u16(bits).u8(u8::from(direction == Direction::Decrypt))
}

/// Takes what [`put_cipher`] has appended.
///
/// # Errors
/// If it is none of the sizes and directions.
pub fn take_cipher<E>(input: &mut Decoder<'_>) -> Result<(KeySize, Direction), E>
where
    E: From<WireError> + From<FieldError>,
{
    let bits = input.u16("AES key bits")?;
    let size = KeySize::from_key_bytes(usize::from(bits) / 8)
        .ok()
        .filter(|_| bits.is_multiple_of(8));
    let size = size.ok_or_else(|| FieldError::new("AES key bits", bits, 128))?;
    let direction = match input.u8("direction")? {
        0 => Direction::Encrypt,
        1 => Direction::Decrypt,
        found => return Err(FieldError::new("direction", found, 0).into()),
    };
    Ok((size, direction))
}

/// Appends who expands the key, 1 byte.
pub fn put_expansion(out: Encoder, expansion: Expansion) -> Encoder {
    out.u8(u8::from(expansion == Expansion::Client))
}

/// Takes what [`put_expansion`] has appended.
///
/// # Errors
/// If it is neither.
pub fn take_expansion<E>(input: &mut Decoder<'_>) -> Result<Expansion, E>
where
    E: From<WireError> + From<FieldError>,
{
    match input.u8("expansion")? {
        0 => Ok(Expansion::Server),
        1 => Ok(Expansion::Client),
        found => Err(FieldError::new("expansion", found, 0).into()),
    }
}
