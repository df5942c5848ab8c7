//! Reading a file as a stream, each record checked at its end.

mod front;
mod record;
mod stored;

pub use front::Front;
pub use record::RecordReader;
pub use stored::Stored;

use crate::hash::{Checksum, RecordHash};
use crate::header::fill;
use crate::{
    CHECKSUM_BYTES, Header, KeyId, Kind, RECORD_HEAD_BYTES, RECORD_OVERHEAD, RecordHead, WireError,
};
use std::fs::{self, File};
use std::io::{self, Read, Seek};
use std::path::{Path, PathBuf};
use zeroize::Zeroizing;

/// Bytes read at a time while a record is skipped.
const SKIP_BYTES: usize = 1 << 16;

/// Reads one file from front to back.
///
/// The header is checked on opening. There is no buffer of its own, so no copy of a secret key stays behind: a record
/// costs three reads.
pub struct Reader<R> {
    input: R,
    path: PathBuf,
    header: Header,
    /// Bytes between here and the end of the file.
    left: u64,
    /// Position of the next record.
    next: u64,
    previous: Checksum,
    open: Option<OpenRecord>,
}

struct OpenRecord {
    head: RecordHead,
    body_left: u64,
    hash: RecordHash,
}

crate::debug_fields!(OpenRecord, head);

impl Reader<File> {
    /// Opens a file of the expected kind.
    ///
    /// # Errors
    /// The first thing wrong with the header or the file's length.
    pub fn open(path: impl AsRef<Path>, expected: Kind) -> Result<Self, WireError> {
        Self::open_file(path.as_ref(), Some(expected))
    }

    /// Opens a file of any kind.
    ///
    /// # Errors
    /// As [`open`](Self::open), without [`WireError::WrongKind`].
    pub fn open_any(path: impl AsRef<Path>) -> Result<Self, WireError> {
        Self::open_file(path.as_ref(), None)
    }

    fn open_file(path: &Path, expected: Option<Kind>) -> Result<Self, WireError> {
        let error = |source| WireError::io(path, source);
        // checked before opening: opening a pipe would wait for its writer
        if !fs::metadata(path).map_err(error)?.is_file() {
            return Err(error(io::Error::new(
                io::ErrorKind::InvalidInput,
                "not a regular file",
            )));
        }
        let file = File::open(path).map_err(error)?;
        Self::of_file(file, path, expected)
    }

    /// Reads a file that is open, from its beginning; `path` is for messages. It may be of any kind if none is
    /// expected.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub fn of_file(mut file: File, path: &Path, expected: Option<Kind>) -> Result<Self, WireError> {
        let size = file.rewind().and_then(|()| Ok(file.metadata()?.len()));
        let size = size.map_err(|source| WireError::io(path, source))?;
        Self::new(file, size, expected, path.to_owned())
    }

    /// The last bytes of the file: the checksum of its last record, which covers all of it. Reading shows whether it is
    /// right.
    ///
    /// # Errors
    /// [`WireError::Io`].
    pub fn last_checksum(&self) -> Result<[u8; CHECKSUM_BYTES], WireError> {
        let at = self.header.file_bytes() - CHECKSUM_BYTES as u64;
        let mut checksum = Checksum::default();
        let read = read_exact_at(&self.input, &mut checksum, at);
        read.map_err(|source| WireError::io(&self.path, source))?;
        Ok(checksum)
    }
}

/// Fills `into` with the bytes of a file from number `at` on, and leaves its place alone.
///
/// # Errors
/// [`io::ErrorKind::UnexpectedEof`] if there are not as many.
#[cfg(unix)]
pub fn read_exact_at(file: &File, into: &mut [u8], at: u64) -> io::Result<()> {
    std::os::unix::fs::FileExt::read_exact_at(file, into, at)
}

/// [`read_exact_at`] for one thread at a time.
///
/// # Errors
/// [`io::ErrorKind::UnexpectedEof`] if there are not as many.
#[cfg(not(unix))]
pub fn read_exact_at(mut file: &File, into: &mut [u8], at: u64) -> io::Result<()> {
    let place = file.stream_position()?;
    file.seek(io::SeekFrom::Start(at))?;
    file.read_exact(into)?;
    file.seek(io::SeekFrom::Start(place)).map(|_| ())
}

impl<R: Read> Reader<R> {
    /// Reads a file of the expected kind from where its bytes come one after the other; `name` is for messages. It has
    /// `bytes` if that is known; otherwise [`finish`](Self::finish) shows whether it ends where its header says.
    ///
    /// # Errors
    /// As [`Reader::open`].
    pub fn of_read(
        mut input: R,
        bytes: Option<u64>,
        expected: Kind,
        name: &Path,
    ) -> Result<Self, WireError> {
        if let Some(bytes) = bytes {
            return Self::new(input, bytes, Some(expected), name.to_owned());
        }
        let (header, checksum) = Header::read_any(&mut input, expected, name)?;
        Ok(Self::after(input, header, checksum, name.to_owned()))
    }
}

impl<'b> Reader<&'b [u8]> {
    /// Reads a file of the expected kind from memory, or of any kind if none is expected.
    ///
    /// # Errors
    /// As [`Reader::open`].
    pub fn from_slice(
        bytes: &'b [u8],
        expected: impl Into<Option<Kind>>,
    ) -> Result<Self, WireError> {
        let size = bytes.len() as u64;
        Self::new(bytes, size, expected.into(), PathBuf::from("<memory>"))
    }
}

impl<'r, R: Read + Send + 'r> Reader<R> {
    /// The same reader, with its input behind a trait object.
    #[must_use]
    pub fn boxed(self) -> Reader<Box<dyn Read + Send + 'r>> {
        Reader {
            input: Box::new(self.input),
            path: self.path,
            header: self.header,
            left: self.left,
            next: self.next,
            previous: self.previous,
            open: self.open,
        }
    }
}

crate::debug_fields!(Reader<R> where R: Sized, path, header);

impl<R: Read> Reader<R> {
    fn new(
        mut input: R,
        size: u64,
        expected: Option<Kind>,
        path: PathBuf,
    ) -> Result<Self, WireError> {
        let (header, checksum) = Header::read(&mut input, size, expected, &path)?;
        Ok(Self::after(input, header, checksum, path))
    }

    /// Starts after the header.
    fn after(input: R, header: Header, previous: Checksum, path: PathBuf) -> Self {
        Self {
            input,
            path,
            left: header.file_bytes() - header.header_bytes(),
            header,
            next: 0,
            previous,
            open: None,
        }
    }

    /// The header.
    #[must_use]
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// The source of the bytes.
    #[must_use]
    pub fn input(&self) -> &R {
        &self.input
    }

    /// Gives the source of the bytes back.
    #[must_use]
    pub fn into_input(self) -> R {
        self.input
    }

    /// The file, for messages.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Records not yet begun.
    #[must_use]
    pub fn records_left(&self) -> u64 {
        self.header.records() - self.next
    }

    /// Checks that the file belongs to a parameter set.
    ///
    /// # Errors
    /// [`WireError::OtherSet`] or [`WireError::OtherDigest`].
    pub fn check_set(&self, name: &str, digest: &[u8; 32]) -> Result<(), WireError> {
        if self.header.set() != name {
            return Err(WireError::OtherSet {
                found: self.header.set().to_owned(),
                expected: name.to_owned(),
            });
        }
        if self.header.digest() != digest {
            return Err(WireError::OtherDigest {
                set: name.to_owned(),
                found: *self.header.digest(),
                expected: *digest,
            });
        }
        Ok(())
    }

    /// Checks that the file belongs to a secret key.
    ///
    /// # Errors
    /// [`WireError::OtherKey`].
    pub fn check_key(&self, expected: KeyId) -> Result<(), WireError> {
        let found = self.header.key_id();
        if found == expected {
            Ok(())
        } else {
            Err(WireError::OtherKey { found, expected })
        }
    }

    /// Reads a whole record that must have the given tag and at most `max_len` bytes; its index is dropped.
    ///
    /// # Errors
    /// As [`begin_record`](Self::begin_record) and [`RecordReader::finish`].
    pub fn next_record(&mut self, expected_tag: u16, max_len: u64) -> Result<Vec<u8>, WireError> {
        self.next_indexed(expected_tag, max_len)
            .map(|(_, body)| body)
    }

    /// Reads a whole record as [`next_record`](Self::next_record) does, and gives its index too.
    ///
    /// # Errors
    /// As [`begin_record`](Self::begin_record) and [`RecordReader::finish`].
    pub fn next_indexed(
        &mut self,
        expected_tag: u16,
        max_len: u64,
    ) -> Result<(u64, Vec<u8>), WireError> {
        let mut record = self.begin_record(expected_tag, max_len)?;
        let RecordHead { index, len, tag } = record.head();
        let Ok(len) = usize::try_from(len) else {
            let (found, expected) = (len, usize::MAX as u64);
            return Err(WireError::RecordTooLong {
                record: record.position(),
                tag,
                found,
                expected,
            });
        };
        let mut body = vec![0; len];
        record.read_exact(&mut body)?;
        record.finish()?;
        Ok((index, body))
    }

    /// Starts a record that must have the given tag and at most `max_len` bytes. A record that was begun and not
    /// finished is skipped and checked first.
    ///
    /// # Errors
    /// [`WireError::RecordCount`], [`WireError::RecordTooLong`], [`WireError::OtherTag`], or [`WireError::Io`].
    pub fn begin_record(
        &mut self,
        expected_tag: u16,
        max_len: u64,
    ) -> Result<RecordReader<'_, R>, WireError> {
        let found = self.header.records();
        let record = self.begin(Some((expected_tag, max_len)))?;
        record.ok_or(WireError::RecordCount {
            found,
            expected: found + 1,
        })
    }

    /// Starts the next record whatever it is; `None` after the last one. For looking at a file and for skipping.
    ///
    /// # Errors
    /// As [`begin_record`](Self::begin_record).
    pub fn begin_any(&mut self) -> Result<Option<RecordReader<'_, R>>, WireError> {
        self.begin(None)
    }

    /// Ends reading: skips and checks nothing but a begun record, and requires that no record and no byte is left, and
    /// that the input ends.
    ///
    /// # Errors
    /// [`WireError::RecordCount`] or [`WireError::TrailingBytes`].
    pub fn finish(self) -> Result<(), WireError> {
        self.finished().map(drop)
    }

    /// As [`finish`](Self::finish); gives the source of the bytes back.
    fn finished(mut self) -> Result<R, WireError> {
        self.close()?;
        let (found, expected) = (self.header.records(), self.next);
        if found != expected {
            return Err(WireError::RecordCount { found, expected });
        }
        let found = self.header.file_bytes();
        if self.left > 0 {
            return Err(WireError::TrailingBytes {
                found,
                expected: found - self.left,
            });
        }
        let more = fill(&mut self.input, &mut [0]);
        if more.map_err(|source| WireError::io(&self.path, source))? > 0 {
            return Err(WireError::TrailingBytes {
                found: found.saturating_add(1),
                expected: found,
            });
        }
        Ok(self.input)
    }

    /// Skips and checks every record that is left, then [`finish`](Self::finish)es.
    ///
    /// # Errors
    /// The first damage.
    pub fn verify(mut self) -> Result<(), WireError> {
        while let Some(record) = self.begin_any()? {
            record.finish()?;
        }
        self.finish()
    }

    fn begin(
        &mut self,
        expected: Option<(u16, u64)>,
    ) -> Result<Option<RecordReader<'_, R>>, WireError> {
        self.close()?;
        if self.records_left() == 0 {
            return Ok(None);
        }
        let record = self.next;
        if self.left < RECORD_OVERHEAD {
            // earlier records were longer than the header's count allows
            let found = self.header.file_bytes();
            return Err(WireError::Truncated {
                found,
                expected: found + RECORD_OVERHEAD - self.left,
            });
        }
        let mut bytes = [0; RECORD_HEAD_BYTES];
        self.fill(&mut bytes)?;
        let head = RecordHead::from_bytes(&bytes);
        let (expected_tag, max_len) = expected.unwrap_or((head.tag, u64::MAX));
        if head.tag != expected_tag {
            return Err(WireError::OtherTag {
                record,
                found: head.tag,
                expected: expected_tag,
            });
        }
        let limit = max_len.min(self.left - CHECKSUM_BYTES as u64);
        if head.len > limit {
            return Err(WireError::RecordTooLong {
                record,
                tag: head.tag,
                found: head.len,
                expected: limit,
            });
        }
        self.next += 1;
        let hash = RecordHash::new(&self.previous, head);
        self.open = Some(OpenRecord {
            head,
            body_left: head.len,
            hash,
        });
        Ok(Some(RecordReader { head, reader: self }))
    }

    /// Reads part of the open record's body; the caller has checked that this much is left.
    fn body(&mut self, part: &mut [u8]) -> Result<(), WireError> {
        self.fill(part)?;
        if let Some(open) = &mut self.open {
            open.hash.update(part);
            open.body_left -= part.len() as u64;
        }
        Ok(())
    }

    fn body_left(&self) -> u64 {
        self.open.as_ref().map_or(0, |open| open.body_left)
    }

    /// Reads to the end of the open record, if there is one, and checks it.
    fn close(&mut self) -> Result<(), WireError> {
        if self.body_left() > 0 {
            let mut part = Zeroizing::new(vec![0; SKIP_BYTES.min(clamped(self.body_left()))]);
            while self.body_left() > 0 {
                let len = part.len().min(clamped(self.body_left()));
                self.body(&mut part[..len])?;
            }
        }
        let Some(OpenRecord { head, hash, .. }) = self.open.take() else {
            return Ok(());
        };
        let mut found = Checksum::default();
        self.fill(&mut found)?;
        self.previous = hash.finish();
        if found == self.previous {
            Ok(())
        } else {
            Err(WireError::RecordCorrupted {
                record: self.next - 1,
                tag: head.tag,
            })
        }
    }

    fn fill(&mut self, bytes: &mut [u8]) -> Result<(), WireError> {
        let filled = fill(&mut self.input, bytes);
        let filled = filled.map_err(|source| WireError::io(&self.path, source))?;
        if filled < bytes.len() {
            let expected = self.header.file_bytes();
            return Err(WireError::Truncated {
                found: expected - self.left + filled as u64,
                expected,
            });
        }
        self.left -= bytes.len() as u64;
        Ok(())
    }
}

/// `len`, or the largest length in memory.
fn clamped(len: u64) -> usize {
    usize::try_from(len).unwrap_or(usize::MAX)
}
