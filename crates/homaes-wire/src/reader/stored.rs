//! A file that was read through once, and whose records are read again while they are used.

use super::Reader;
use crate::hash::{Checksum, RecordHash};
use crate::{CHECKSUM_BYTES, RECORD_HEAD_BYTES, RecordHead, WireError};
use std::fs::File;
use std::io::{ErrorKind, Read, Seek, SeekFrom};
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

/// The records of a file that were verified once. Each is verified again whenever it is read, against the first
/// checksums, so a change of the file is noticed.
pub struct Stored {
    file: Mutex<File>,
    path: PathBuf,
    /// records of the file before them
    before: u64,
    places: Vec<Place>,
}

struct Place {
    /// of the record's head
    at: u64,
    head: RecordHead,
    /// of the record before, and its own
    checksums: [Checksum; 2],
}

impl Stored {
    /// Reads all records that `reader` has left: as many as `lengths`, with the tag `expected` and at most these
    /// lengths. `check` gets the number of each among them, its index and its body.
    ///
    /// # Errors
    /// The first fault.
    pub fn of<E: From<WireError>>(
        mut reader: Reader<File>,
        expected: u16,
        lengths: impl Iterator<Item = u64>,
        mut check: impl FnMut(usize, u64, &[u8]) -> Result<(), E>,
    ) -> Result<Self, E> {
        let before = reader.next;
        let mut places = Vec::new();
        let mut body = Vec::new();
        for (number, len) in lengths.enumerate() {
            let at = reader.header.file_bytes() - reader.left;
            let previous = reader.previous;
            let mut record = reader.begin_record(expected, len)?;
            let head = record.head();
            body.resize(usize::try_from(head.len).unwrap_or(usize::MAX), 0);
            record.read_exact(&mut body)?;
            record.finish()?;
            check(number, head.index, &body)?;
            places.push(Place {
                at,
                head,
                checksums: [previous, reader.previous],
            });
        }
        let path = reader.path().to_owned();
        let file = reader.finished()?;
        Ok(Self {
            file: Mutex::new(file),
            path,
            before,
            places,
        })
    }

    /// Number of records.
    #[must_use]
    pub fn len(&self) -> usize {
        self.places.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    /// Reads the body of record `number` of them into `body`, in place of what that held.
    ///
    /// # Errors
    /// [`WireError::Io`], or [`WireError::Changed`].
    ///
    /// # Panics
    /// If there is no such record.
    pub fn read(&self, number: usize, body: &mut Vec<u8>) -> Result<(), WireError> {
        let place = &self.places[number];
        let changed = || WireError::Changed {
            path: self.path.clone(),
            record: self.before + number as u64,
        };
        body.resize(usize::try_from(place.head.len).unwrap_or(usize::MAX), 0);
        let mut head = [0; RECORD_HEAD_BYTES];
        let mut checksum = [0; CHECKSUM_BYTES];
        {
            let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
            file.seek(SeekFrom::Start(place.at))
                .and_then(|_| file.read_exact(&mut head))
                .and_then(|()| file.read_exact(body))
                .and_then(|()| file.read_exact(&mut checksum))
                .map_err(|source| match source.kind() {
                    ErrorKind::UnexpectedEof => changed(),
                    _ => WireError::io(&self.path, source),
                })?;
        }
        let [previous, own] = &place.checksums;
        let mut hash = RecordHash::new(previous, place.head);
        hash.update(body);
        if hash.finish() != *own || head != place.head.to_bytes() || checksum != *own {
            return Err(changed());
        }
        Ok(())
    }
}

crate::debug_fields!(Stored, path, before);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Contents, Header, KeyId, Kind, Writer};
    use std::fs::OpenOptions;
    use std::io::Write;

    #[test]
    fn records_are_read_again_and_changes_are_noticed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("f");
        let contents = Contents::default().record(3).record(5).record(4);
        let header = Header::new(Kind::WrappedKey, "a/b", [7; 32], KeyId([1; 16]), contents);
        let mut writer = Writer::new(Vec::new(), header.unwrap()).unwrap();
        for (index, (tag, body)) in [(1, &b"one"[..]), (2, b"three"), (2, b"four")]
            .into_iter()
            .enumerate()
        {
            writer.write_record(tag, index as u64, body).unwrap();
        }
        let bytes = writer.finish().unwrap();
        std::fs::write(&path, &bytes).unwrap();
        let open = |lengths: &[u64]| {
            let mut reader = Reader::open(&path, Kind::WrappedKey).unwrap();
            reader.next_record(1, 3).unwrap();
            let mut seen = Vec::new();
            let check = |number, index, body: &[u8]| {
                seen.push((number, index, body.to_vec()));
                Ok::<(), WireError>(())
            };
            let stored = Stored::of(reader, 2, lengths.iter().copied(), check);
            stored.map(|stored| (stored, seen))
        };
        let (stored, seen) = open(&[5, 5]).unwrap();
        assert_eq!(seen, [(0, 1, b"three".to_vec()), (1, 2, b"four".to_vec())]);
        assert_eq!((stored.len(), stored.is_empty()), (2, false));
        let mut body = vec![9; 100];
        for (number, expected) in [(1, &b"four"[..]), (0, b"three"), (1, b"four")] {
            stored.read(number, &mut body).unwrap();
            assert_eq!(body, expected);
        }
        // too few, too many, too long
        assert!(open(&[5]).is_err() && open(&[5, 5, 5]).is_err() && open(&[4, 5]).is_err());
        // every byte of the last record
        let start = bytes.len() as u64 - 34 - 4;
        for at in start..bytes.len() as u64 {
            let mut file = OpenOptions::new().write(true).open(&path).unwrap();
            file.seek(SeekFrom::Start(at)).unwrap();
            file.write_all(&[bytes[at as usize] ^ 1]).unwrap();
            let error = stored.read(1, &mut body).unwrap_err();
            assert!(
                matches!(error, WireError::Changed { record: 2, .. }),
                "{at}: {error}"
            );
            assert!(stored.read(0, &mut body).is_ok());
            file.seek(SeekFrom::Start(at)).unwrap();
            file.write_all(&bytes[at as usize..][..1]).unwrap();
        }
        stored.read(1, &mut body).unwrap();
        OpenOptions::new()
            .write(true)
            .open(&path)
            .unwrap()
            .set_len(start)
            .unwrap();
        assert!(matches!(
            stored.read(1, &mut body),
            Err(WireError::Changed { .. })
        ));
    }
}
