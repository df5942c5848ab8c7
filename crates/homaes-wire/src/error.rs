//! Everything that can be wrong with a file.

use crate::kind::{KeyId, Kind, hex};
use std::io;
use std::path::PathBuf;

/// A fault of a file, with the value found and the one expected.
///
/// The message of [`WireError::Io`] includes that of its source, because the cause is what a user needs.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WireError {
    /// The operating system refused.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The output is there already and overwriting was not asked for.
    #[error("{}: file already exists", path.display())]
    AlreadyExists {
        /// The output.
        path: PathBuf,
    },
    /// There are fewer bytes than a header has.
    #[error("file has {found} bytes, expected at least {expected} for a header")]
    TooShort {
        /// Bytes in the file.
        found: u64,
        /// Bytes of the header.
        expected: u64,
    },
    /// The file does not start with the magic bytes.
    #[error("not a homaes file: it starts with \"{}\", expected \"{}\"", found.escape_ascii(), expected.escape_ascii())]
    NotHomaes {
        /// The first bytes.
        found: [u8; 8],
        /// [`MAGIC`](crate::MAGIC).
        expected: [u8; 8],
    },
    /// The file was written by a later version.
    #[error(
        "format version {found} is newer than this program, which reads up to version {expected}"
    )]
    NewerVersion {
        /// The file's version.
        found: u16,
        /// [`VERSION`](crate::VERSION).
        expected: u16,
    },
    /// The kind is none of the known ones.
    #[error("unknown kind of file {found}, expected 1 to 6 or 8 to 10")]
    UnknownKind {
        /// The kind byte.
        found: u8,
    },
    /// The file is of another kind.
    #[error("wrong kind of file: found {found}, expected {expected}")]
    WrongKind {
        /// The file's kind.
        found: Kind,
        /// The kind asked for.
        expected: Kind,
    },
    /// The header's checksum or fields are wrong.
    #[error("header is corrupted")]
    HeaderCorrupted,
    /// The file is shorter than its header says.
    #[error("file is truncated: found {found} bytes, expected {expected}")]
    Truncated {
        /// Bytes in the file.
        found: u64,
        /// Bytes the header announces.
        expected: u64,
    },
    /// The file is longer than its header, or its records, say.
    #[error("file has trailing bytes: found {found} bytes, expected {expected}")]
    TrailingBytes {
        /// Bytes in the file.
        found: u64,
        /// Bytes the header, or the last record, leads to.
        expected: u64,
    },
    /// The file belongs to another parameter set.
    #[error("file is for parameter set {found}, expected {expected}")]
    OtherSet {
        /// The file's set.
        found: String,
        /// The set asked for.
        expected: String,
    },
    /// The set has the same name but other numbers.
    #[error(
        "parameter set {set} has changed: digest {}…, expected {}…",
        start(found, expected),
        start(expected, found)
    )]
    OtherDigest {
        /// The set.
        set: String,
        /// The file's digest.
        found: [u8; 32],
        /// The set's digest.
        expected: [u8; 32],
    },
    /// The file belongs to another secret key.
    #[error("file belongs to key {found}, expected {expected}")]
    OtherKey {
        /// The file's key.
        found: KeyId,
        /// The key asked for.
        expected: KeyId,
    },
    /// A record's checksum is wrong.
    #[error("record {record} (tag {tag}) is corrupted")]
    RecordCorrupted {
        /// Position in the file, from 0.
        record: u64,
        /// Its tag as found.
        tag: u16,
    },
    /// A file changed after it was verified ([`Stored`](crate::Stored)).
    #[error("{}: record {record} changed while the file was in use", path.display())]
    Changed {
        /// The file.
        path: PathBuf,
        /// Position in the file, from 0.
        record: u64,
    },
    /// A record has another tag than its place asks for.
    #[error("record {record} has tag {found}, expected {expected}")]
    OtherTag {
        /// Position in the file, from 0.
        record: u64,
        /// The record's tag.
        found: u16,
        /// The tag asked for.
        expected: u16,
    },
    /// A record is longer than its place or the file allows.
    #[error("record {record} (tag {tag}) has {found} bytes, expected at most {expected}")]
    RecordTooLong {
        /// Position in the file, from 0.
        record: u64,
        /// Its tag.
        tag: u16,
        /// Its length.
        found: u64,
        /// The limit.
        expected: u64,
    },
    /// There are fewer or more records than needed.
    #[error("file has {found} records, expected {expected}")]
    RecordCount {
        /// Records in the file.
        found: u64,
        /// Records asked for.
        expected: u64,
    },
    /// Bytes end inside a value.
    #[error("{what} needs {expected} bytes, only {found} are left")]
    ValueTruncated {
        /// The value.
        what: &'static str,
        /// Bytes left.
        found: u64,
        /// Bytes needed.
        expected: u64,
    },
    /// A value is too large.
    #[error("{what} is {found}, expected at most {expected}")]
    ValueTooLarge {
        /// The value.
        what: &'static str,
        /// The value found.
        found: u64,
        /// The largest possible one.
        expected: u64,
    },
    /// A text or a number is not of the required form.
    #[error("{what} is malformed, expected {expected}")]
    Malformed {
        /// The value.
        what: &'static str,
        /// The required form.
        expected: &'static str,
    },
    /// Bytes are left after the last value, or written beside the announced number.
    #[error("{what} has {found} bytes, expected {expected}")]
    Length {
        /// The body or file.
        what: &'static str,
        /// Its length.
        found: u64,
        /// The length its values take, or that was announced.
        expected: u64,
    },
}

/// The start of a digest, four bytes of it or up to where it differs from another.
fn start(digest: &[u8; 32], other: &[u8; 32]) -> String {
    let same = digest.iter().zip(other).take_while(|(a, b)| a == b).count();
    hex(&digest[..(same + 1).clamp(4, 32)])
}

impl WireError {
    pub(crate) fn io(path: impl Into<PathBuf>, source: io::Error) -> Self {
        Self::Io {
            path: path.into(),
            source,
        }
    }
}
