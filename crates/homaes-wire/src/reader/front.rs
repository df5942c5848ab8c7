//! The front of a file that was not written to its end.

use super::Reader;
use crate::hash::Checksum;
use crate::{CHECKSUM_BYTES, Header, Kind, RECORD_OVERHEAD, WireError};
use std::io::{BufReader, Read};
use std::path::{Path, PathBuf};

/// The front of a file that was not written to its end: the header and whole records.
#[derive(Debug, Clone)]
pub struct Front {
    /// at most those that the header announces
    pub(crate) records: u64,
    /// the header included
    bytes: u64,
    /// Bytes of the bodies.
    pub(crate) body_bytes: u64,
    pub(crate) previous: Checksum,
}

impl Front {
    /// Number of records.
    #[must_use]
    pub fn records(&self) -> u64 {
        self.records
    }

    /// Bytes, the header included.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The checksum of its last record, or of the header: it covers everything before it.
    #[must_use]
    pub fn checksum(&self) -> [u8; CHECKSUM_BYTES] {
        self.previous
    }

    /// The whole records of `input`, if it begins with this header. Every checksum is verified.
    #[must_use]
    pub fn of(input: impl Read, header: &Header) -> Option<Self> {
        Self::walk(input, header, |_| ())
    }

    /// As [`of`](Self::of); `each` sees the front that ends with the header, and with each whole record.
    #[must_use]
    pub fn walk(input: impl Read, header: &Header, mut each: impl FnMut(&Self)) -> Option<Self> {
        let mut reader = as_if_whole(input, header)?;
        let mut front = Self {
            records: 0,
            bytes: header.header_bytes(),
            body_bytes: 0,
            previous: reader.previous,
        };
        loop {
            each(&front);
            let len = match reader.begin_any() {
                Ok(Some(record)) => record.head().len,
                _ => return Some(front),
            };
            if reader.close().is_err() {
                return Some(front);
            }
            front.records += 1;
            front.bytes += RECORD_OVERHEAD + len;
            front.body_bytes += len;
            front.previous = reader.previous;
        }
    }

    /// The header and the whole records of the front of a file.
    ///
    /// # Errors
    /// The first fault of the header.
    pub fn of_any(bytes: &[u8], kind: Kind) -> Result<(Header, Self), WireError> {
        let path = Path::new("<memory>");
        let (header, _) = Header::read_any(&mut &bytes[..], kind, path)?;
        let front = Self::of(bytes, &header).ok_or(WireError::HeaderCorrupted)?;
        Ok((header, front))
    }

    /// The body of the first record of what `input` gives, at most `most` bytes, if it is whole and follows this
    /// header.
    #[must_use]
    pub fn first_body(input: impl Read, header: &Header, most: u64) -> Option<Vec<u8>> {
        let mut reader = as_if_whole(input, header)?;
        let mut record = reader.begin_any().ok()??;
        if record.left() > most {
            return None;
        }
        let mut body = vec![0; record.left() as usize];
        record.read_exact(&mut body).ok()?;
        record.finish().ok()?;
        Some(body)
    }
}

/// Reads as if the file were whole: where it ends, reading fails.
fn as_if_whole<R: Read>(input: R, header: &Header) -> Option<Reader<BufReader<R>>> {
    let (size, kind) = (header.file_bytes(), Some(header.kind()));
    let reader = Reader::new(BufReader::new(input), size, kind, PathBuf::new());
    reader.ok().filter(|reader| reader.header == *header)
}
