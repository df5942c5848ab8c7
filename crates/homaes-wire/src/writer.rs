//! Writing a file as a stream.

use crate::hash::{Checksum, RecordHash};
use crate::{
    AtomicFile, CHECKSUM_BYTES, Front, Header, OutputOptions, RECORD_OVERHEAD, RecordHead,
    WireError,
};
use std::io::Write;
use std::path::{Path, PathBuf};

/// Writes one file from front to back: the header at once, then the records it announced.
///
/// Writes are small and many; give it a buffered output. [`AtomicFile`] is one.
pub struct Writer<W> {
    output: W,
    path: PathBuf,
    header: Header,
    records: u64,
    body_bytes: u64,
    previous: Checksum,
}

impl Writer<AtomicFile> {
    /// Creates a file that appears under its name only with [`commit`](Self::commit).
    ///
    /// # Errors
    /// [`WireError::AlreadyExists`] unless `options` allow to overwrite, or [`WireError::Io`].
    pub fn create(
        path: impl AsRef<Path>,
        options: OutputOptions,
        header: Header,
    ) -> Result<Self, WireError> {
        let file = AtomicFile::create(path.as_ref(), options)?;
        Self::start(file, path.as_ref().to_owned(), header)
    }

    /// Checks that the file is complete and gives it its name.
    ///
    /// # Errors
    /// As [`finish`](Self::finish) and [`AtomicFile::commit`].
    pub fn commit(self) -> Result<(), WireError> {
        self.finish()?.commit()
    }
}

impl<W: Write> Writer<W> {
    /// Writes the header.
    ///
    /// # Errors
    /// [`WireError::Io`].
    pub fn new(output: W, header: Header) -> Result<Self, WireError> {
        Self::start(output, PathBuf::from("<memory>"), header)
    }

    fn start(mut output: W, path: PathBuf, header: Header) -> Result<Self, WireError> {
        let (bytes, previous) = header.to_bytes();
        output
            .write_all(&bytes)
            .map_err(|source| WireError::io(&path, source))?;
        Ok(Self {
            output,
            path,
            header,
            records: 0,
            body_bytes: 0,
            previous,
        })
    }

    /// Goes on with a file whose front is in `output` already.
    #[must_use]
    pub fn resume(output: W, header: Header, front: &Front) -> Self {
        Self {
            output,
            path: PathBuf::from("<memory>"),
            header,
            records: front.records,
            body_bytes: front.body_bytes,
            previous: front.previous,
        }
    }

    /// The header.
    #[must_use]
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// The output.
    pub fn output(&mut self) -> &mut W {
        &mut self.output
    }

    /// The checksum of the last record, or of the header: it covers everything before it.
    #[must_use]
    pub fn checksum(&self) -> [u8; CHECKSUM_BYTES] {
        self.previous
    }

    /// Records that the header announced and that are not begun.
    #[must_use]
    pub fn records_left(&self) -> u64 {
        self.header.records() - self.records
    }

    /// Writes a whole record.
    ///
    /// # Errors
    /// As [`begin_record`](Self::begin_record).
    pub fn write_record(&mut self, tag: u16, index: u64, body: &[u8]) -> Result<(), WireError> {
        let mut record = self.begin_record(tag, index, body.len() as u64)?;
        record.write(body)?;
        record.finish()
    }

    /// Starts a record whose body of `len` bytes follows in parts.
    ///
    /// # Errors
    /// [`WireError::RecordCount`] or [`WireError::Length`] if the header announced less, or [`WireError::Io`].
    pub fn begin_record(
        &mut self,
        tag: u16,
        index: u64,
        len: u64,
    ) -> Result<RecordWriter<'_, W>, WireError> {
        if self.records == self.header.records() {
            return Err(WireError::RecordCount {
                found: self.records + 1,
                expected: self.records,
            });
        }
        let (body_bytes, announced) = (
            self.body_bytes.saturating_add(len),
            self.header.body_bytes(),
        );
        if body_bytes > announced {
            return Err(WireError::Length {
                what: "file without overhead",
                found: body_bytes,
                expected: announced,
            });
        }
        let head = RecordHead { tag, index, len };
        self.put(&head.to_bytes())?;
        self.records += 1;
        self.body_bytes = body_bytes;
        let hash = RecordHash::new(&self.previous, head);
        Ok(RecordWriter {
            writer: self,
            len,
            left: len,
            hash,
        })
    }

    /// Checks that everything announced was written, flushes, and gives the output back.
    ///
    /// # Errors
    /// [`WireError::RecordCount`] or [`WireError::Length`] if records are missing, or [`WireError::Io`].
    pub fn finish(mut self) -> Result<W, WireError> {
        let (found, expected) = (self.records, self.header.records());
        if found != expected {
            return Err(WireError::RecordCount { found, expected });
        }
        let found = self.header.header_bytes() + self.records * RECORD_OVERHEAD + self.body_bytes;
        let expected = self.header.file_bytes();
        if found != expected {
            return Err(WireError::Length {
                what: "file",
                found,
                expected,
            });
        }
        self.output
            .flush()
            .map_err(|source| WireError::io(&self.path, source))?;
        Ok(self.output)
    }

    fn put(&mut self, bytes: &[u8]) -> Result<(), WireError> {
        self.output
            .write_all(bytes)
            .map_err(|source| WireError::io(&self.path, source))
    }
}

crate::debug_fields!(Writer<W> where W: Sized, path, header, records);

/// One record written in parts. Without [`finish`](Self::finish) the file stays damaged and will not be read.
#[must_use = "a record without its checksum makes the file unreadable"]
pub struct RecordWriter<'w, W> {
    writer: &'w mut Writer<W>,
    len: u64,
    left: u64,
    hash: RecordHash,
}

impl<W: Write> RecordWriter<'_, W> {
    /// Writes the next bytes of the body.
    ///
    /// # Errors
    /// [`WireError::Length`] if the body gets longer than announced, or [`WireError::Io`].
    pub fn write(&mut self, part: &[u8]) -> Result<(), WireError> {
        let part_len = part.len() as u64;
        if part_len > self.left {
            return Err(self.length_error(self.len - self.left + part_len));
        }
        self.hash.update(part);
        self.left -= part_len;
        self.writer.put(part)
    }

    /// Writes the checksum.
    ///
    /// # Errors
    /// [`WireError::Length`] if the body is shorter than announced, or [`WireError::Io`].
    pub fn finish(self) -> Result<(), WireError> {
        if self.left > 0 {
            return Err(self.length_error(self.len - self.left));
        }
        let Self { writer, hash, .. } = self;
        let checksum = hash.finish();
        writer.previous = checksum;
        writer.put(&checksum)
    }

    fn length_error(&self, found: u64) -> WireError {
        WireError::Length {
            what: "record body",
            found,
            expected: self.len,
        }
    }
}

crate::debug_fields!(RecordWriter<'_, W> where W: Sized, len, left);
