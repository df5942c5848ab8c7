//! One record of a file, read as a stream.

use super::Reader;
use crate::{RecordHead, WireError};
use std::io::Read;

/// One record read in parts. Until [`finish`](Self::finish) succeeds, the bytes read may be damaged.
#[derive(Debug)]
pub struct RecordReader<'r, R> {
    pub(super) reader: &'r mut Reader<R>,
    pub(super) head: RecordHead,
}

impl<R: Read> RecordReader<'_, R> {
    /// Tag, index and length.
    #[must_use]
    pub fn head(&self) -> RecordHead {
        self.head
    }

    /// Position in the file, from 0.
    #[must_use]
    pub fn position(&self) -> u64 {
        self.reader.next - 1
    }

    /// Bytes of the body not yet read.
    #[must_use]
    pub fn left(&self) -> u64 {
        self.reader.body_left()
    }

    /// Fills `part` with the next bytes of the body.
    ///
    /// # Errors
    /// [`WireError::ValueTruncated`] if the body has fewer bytes left, or [`WireError::Io`].
    pub fn read_exact(&mut self, part: &mut [u8]) -> Result<(), WireError> {
        let (found, expected) = (self.left(), part.len() as u64);
        if found < expected {
            return Err(WireError::ValueTruncated {
                what: "record body",
                found,
                expected,
            });
        }
        self.reader.body(part)
    }

    /// Skips what is left of the body and checks the record.
    ///
    /// # Errors
    /// [`WireError::RecordCorrupted`] or [`WireError::Io`].
    pub fn finish(self) -> Result<(), WireError> {
        self.reader.close()
    }
}
