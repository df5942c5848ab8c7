//! The header: what a file is, which set and key it belongs to, and how long it is.

use crate::error::WireError;
use crate::hash::{Checksum, header_checksum};
use crate::kind::{KeyId, Kind};
use crate::{CHECKSUM_BYTES, RECORD_OVERHEAD};
use std::io::{self, Read};
use std::path::Path;

/// The first bytes of every file.
pub const MAGIC: [u8; 8] = *b"HOMAES\r\n";

/// The newest format version that is read.
pub const VERSION: u16 = 3;

/// The version of files that need no newer one.
const FIRST_VERSION: u16 = 1;

/// Bytes of the header before the set name.
pub const HEADER_FIXED_BYTES: usize = 76;

/// Longest set name in bytes.
pub const MAX_SET_NAME_BYTES: usize = 64;

const MIN_HEADER_BYTES: u64 = (HEADER_FIXED_BYTES + 1 + CHECKSUM_BYTES) as u64;

/// The number of records of a file, and the bytes of their bodies.
///
/// The header announces the length of the file, so a writer adds up its records before it starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Contents {
    /// Number of records.
    pub records: u64,
    /// Bytes of all bodies.
    pub body_bytes: u64,
}

impl Contents {
    /// Adds one record with a body of `len` bytes.
    #[must_use]
    pub const fn record(self, len: u64) -> Self {
        self.records(1, len)
    }

    /// Adds `count` records with bodies of `len` bytes each. Absurd sums saturate and are refused by [`Header::new`].
    #[must_use]
    pub const fn records(self, count: u64, len: u64) -> Self {
        Self {
            records: self.records.saturating_add(count),
            body_bytes: self.body_bytes.saturating_add(count.saturating_mul(len)),
        }
    }
}

/// The header of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Header {
    version: u16,
    kind: Kind,
    set: String,
    digest: [u8; 32],
    key_id: KeyId,
    records: u64,
    file_bytes: u64,
}

impl Header {
    /// A header for a file to be written.
    ///
    /// # Errors
    /// [`WireError::Malformed`] for a bad set name, [`WireError::ValueTooLarge`] for a length beyond 64 bits.
    pub fn new(
        kind: Kind,
        set: &str,
        digest: [u8; 32],
        key_id: KeyId,
        contents: Contents,
    ) -> Result<Self, WireError> {
        if !valid_set_name(set.as_bytes()) {
            return Err(WireError::Malformed {
                what: "set name",
                expected: "1 to 64 of a-z, 0-9, '-', '+', '_', '.', '/'",
            });
        }
        let header_bytes = (HEADER_FIXED_BYTES + set.len() + CHECKSUM_BYTES) as u64;
        let file_bytes = contents
            .records
            .checked_mul(RECORD_OVERHEAD)
            .and_then(|overhead| overhead.checked_add(contents.body_bytes))
            .and_then(|records| records.checked_add(header_bytes))
            .ok_or(WireError::ValueTooLarge {
                what: "file length",
                found: contents.body_bytes,
                expected: u64::MAX - header_bytes,
            })?;
        Ok(Self {
            version: FIRST_VERSION,
            kind,
            set: set.to_owned(),
            digest,
            key_id,
            records: contents.records,
            file_bytes,
        })
    }

    /// This header for a file of `version`, which readers of older versions refuse.
    #[must_use]
    pub fn of_version(self, version: u16) -> Self {
        Self { version, ..self }
    }

    /// The format version of the file.
    #[must_use]
    pub fn version(&self) -> u16 {
        self.version
    }

    /// Kind of file.
    #[must_use]
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// Name of the parameter set.
    #[must_use]
    pub fn set(&self) -> &str {
        &self.set
    }

    /// Digest of the parameter set.
    #[must_use]
    pub fn digest(&self) -> &[u8; 32] {
        &self.digest
    }

    /// Id of the secret key the file belongs to.
    #[must_use]
    pub fn key_id(&self) -> KeyId {
        self.key_id
    }

    /// Number of records. In a header that was read, at most the file's length / [`RECORD_OVERHEAD`].
    #[must_use]
    pub fn records(&self) -> u64 {
        self.records
    }

    /// Length of the whole file.
    #[must_use]
    pub fn file_bytes(&self) -> u64 {
        self.file_bytes
    }

    /// Length of the header itself.
    #[must_use]
    pub fn header_bytes(&self) -> u64 {
        (HEADER_FIXED_BYTES + self.set.len() + CHECKSUM_BYTES) as u64
    }

    /// Bytes of all record bodies.
    pub(crate) fn body_bytes(&self) -> u64 {
        self.file_bytes - self.header_bytes() - self.records * RECORD_OVERHEAD
    }

    /// The header's bytes with their checksum, which is also returned.
    pub(crate) fn to_bytes(&self) -> (Vec<u8>, Checksum) {
        let mut bytes =
            Vec::with_capacity(HEADER_FIXED_BYTES + MAX_SET_NAME_BYTES + CHECKSUM_BYTES);
        bytes.extend_from_slice(&MAGIC);
        bytes.extend_from_slice(&self.version.to_le_bytes());
        bytes.push(self.kind as u8);
        bytes.push(u8::try_from(self.set.len()).expect("a checked set name has at most 64 bytes"));
        bytes.extend_from_slice(&self.digest);
        bytes.extend_from_slice(&self.key_id.0);
        bytes.extend_from_slice(&self.records.to_le_bytes());
        bytes.extend_from_slice(&self.file_bytes.to_le_bytes());
        bytes.extend_from_slice(self.set.as_bytes());
        let checksum = header_checksum(&bytes);
        bytes.extend_from_slice(&checksum);
        (bytes, checksum)
    }

    /// Reads a header from the start of a file of `size` bytes. `expected`: refuse other kinds.
    pub(crate) fn read(
        input: &mut impl Read,
        size: u64,
        expected: Option<Kind>,
        path: &Path,
    ) -> Result<(Self, Checksum), WireError> {
        let (header, checksum) = Self::read_of(input, size, expected, path)?;
        let (found, expected) = (size, header.file_bytes);
        match found.cmp(&expected) {
            core::cmp::Ordering::Less => Err(WireError::Truncated { found, expected }),
            core::cmp::Ordering::Greater => Err(WireError::TrailingBytes { found, expected }),
            core::cmp::Ordering::Equal => Ok((header, checksum)),
        }
    }

    /// Reads a header from the start of a part of a file, of any length.
    pub(crate) fn read_any(
        input: &mut impl Read,
        expected: Kind,
        path: &Path,
    ) -> Result<(Self, Checksum), WireError> {
        Self::read_of(input, u64::MAX, Some(expected), path)
    }

    fn read_of(
        input: &mut impl Read,
        size: u64,
        expected: Option<Kind>,
        path: &Path,
    ) -> Result<(Self, Checksum), WireError> {
        let mut bytes = Vec::new();
        let mut extend = |bytes: &mut Vec<u8>, len: usize, expected: u64| {
            let start = bytes.len();
            bytes.resize(len, 0);
            let filled = match size < expected {
                true => {
                    return Err(WireError::TooShort {
                        found: size,
                        expected,
                    });
                }
                false => fill(input, &mut bytes[start..]),
            };
            let found = start + filled.map_err(|source| WireError::io(path, source))?;
            match found < len {
                true => Err(WireError::TooShort {
                    found: found as u64,
                    expected,
                }),
                false => Ok(()),
            }
        };
        extend(&mut bytes, HEADER_FIXED_BYTES, MIN_HEADER_BYTES)?;
        let (kind, name_len) = check_start(&bytes, expected)?;
        let header_bytes = HEADER_FIXED_BYTES + name_len + CHECKSUM_BYTES;
        extend(&mut bytes, header_bytes, header_bytes as u64)?;
        let (checked, checksum) = bytes
            .split_last_chunk()
            .expect("the header ends with its checksum");
        if header_checksum(checked) != *checksum {
            return Err(WireError::HeaderCorrupted);
        }
        Ok((Self::from_checked(kind, checked)?, *checksum))
    }

    /// The fields of a header whose checksum is right; a faulty writer may still have filled them with nonsense.
    fn from_checked(kind: Kind, bytes: &[u8]) -> Result<Self, WireError> {
        let name = &bytes[HEADER_FIXED_BYTES..];
        if !valid_set_name(name) {
            return Err(WireError::HeaderCorrupted);
        }
        let header = Self {
            version: version(bytes),
            kind,
            set: core::str::from_utf8(name)
                .expect("a valid name is ASCII")
                .to_owned(),
            digest: field(bytes, 12),
            key_id: KeyId(field(bytes, 44)),
            records: u64::from_le_bytes(field(bytes, 60)),
            file_bytes: u64::from_le_bytes(field(bytes, 68)),
        };
        let least = header
            .records
            .checked_mul(RECORD_OVERHEAD)
            .and_then(|overhead| overhead.checked_add(header.header_bytes()));
        if least.is_none_or(|least| least > header.file_bytes) {
            return Err(WireError::HeaderCorrupted);
        }
        Ok(header)
    }
}

/// Checks magic, version and kind; gives the kind and the length of the set name.
fn check_start(fixed: &[u8], expected: Option<Kind>) -> Result<(Kind, usize), WireError> {
    let found = field(fixed, 0);
    if found != MAGIC {
        return Err(WireError::NotHomaes {
            found,
            expected: MAGIC,
        });
    }
    let newest = |expected| match version(fixed) {
        // there never was an older version
        0 => Err(WireError::HeaderCorrupted),
        found if found <= expected => Ok(()),
        found => Err(WireError::NewerVersion { found, expected }),
    };
    newest(VERSION)?;
    let found = Kind::from_byte(fixed[10]).ok_or(WireError::UnknownKind { found: fixed[10] })?;
    newest(found.newest_version())?;
    if let Some(expected) = expected
        && found != expected
    {
        return Err(WireError::WrongKind { found, expected });
    }
    let name_len = usize::from(fixed[11]);
    if name_len == 0 || name_len > MAX_SET_NAME_BYTES {
        return Err(WireError::HeaderCorrupted);
    }
    Ok((found, name_len))
}

/// The version field.
fn version(bytes: &[u8]) -> u16 {
    u16::from_le_bytes(field(bytes, 8))
}

/// The field that begins at byte `at`.
fn field<const N: usize>(bytes: &[u8], at: usize) -> [u8; N] {
    *bytes[at..]
        .first_chunk()
        .expect("the fixed part holds all fields")
}

/// Fills `into` as far as `input` goes; the number of bytes read.
pub(crate) fn fill(input: &mut impl Read, into: &mut [u8]) -> io::Result<usize> {
    let mut filled = 0;
    while filled < into.len() {
        match input.read(&mut into[filled..]) {
            Ok(0) => break,
            Ok(read) => filled += read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(filled)
}

fn valid_set_name(name: &[u8]) -> bool {
    let allowed =
        |byte: &u8| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'-' | b'+' | b'_' | b'.' | b'/');
    (1..=MAX_SET_NAME_BYTES).contains(&name.len()) && name.iter().all(allowed)
}

#[cfg(test)]
mod tests;
