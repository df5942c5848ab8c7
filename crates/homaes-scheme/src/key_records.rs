//! Records of a key that are unpacked when they are used.

use crate::{FieldError, read};
use homaes_wire::{Reader, Stored, WireError};
use std::fs::File;
use std::io::Read;

/// The bodies of consecutive records, as the file has them.
#[derive(Debug)]
pub enum KeyRecords {
    /// All in memory.
    Memory(Vec<Vec<u8>>),
    /// Left in the file, and read anew whenever they are used.
    File(Stored),
}

/// Checks a record: its number and its body.
pub type Check<'c, E> = &'c mut dyn FnMut(usize, &[u8]) -> Result<(), E>;

/// [`KeyRecords::read`] or [`KeyRecords::open`].
pub type Load<R, E> = fn(Reader<R>, u16, &[u64], Check<'_, E>) -> Result<KeyRecords, E>;

impl KeyRecords {
    /// Reads all records that a file has left into memory: with this tag, numbered from 0, with `lengths` bytes.
    ///
    /// # Errors
    /// If they are other ones; what `check` finds.
    pub fn read<R: Read, E: From<WireError> + From<FieldError>>(
        mut r: Reader<R>,
        tag: u16,
        lengths: &[u64],
        check: Check<'_, E>,
    ) -> Result<Self, E> {
        let bodies = lengths.iter().enumerate().map(|(number, &len)| {
            let body = read::record::<_, E>(&mut r, tag, number as u64, len)?;
            check(number, &body)?;
            Ok(body)
        });
        let bodies = bodies.collect::<Result<_, E>>()?;
        r.finish()?;
        Ok(Self::Memory(bodies))
    }

    /// As [`read`](Self::read), but leaves the records in the file after they were all read once.
    ///
    /// # Errors
    /// As there.
    pub fn open<E: From<WireError> + From<FieldError>>(
        r: Reader<File>,
        tag: u16,
        lengths: &[u64],
        check: Check<'_, E>,
    ) -> Result<Self, E> {
        let checked = |number: usize, index, body: &[u8]| {
            read::check_record(index, body, number as u64, lengths[number])?;
            check(number, body)
        };
        let stored = Stored::of::<E>(r, tag, lengths.iter().copied(), checked)?;
        Ok(Self::File(stored))
    }

    /// Body `number`; one that comes from the file is put into `buffer`.
    ///
    /// # Errors
    /// If the file has become unreadable, or was changed.
    ///
    /// # Panics
    /// If there are not so many.
    pub fn body<'b>(
        &'b self,
        number: usize,
        buffer: &'b mut Vec<u8>,
    ) -> Result<&'b [u8], WireError> {
        match self {
            Self::Memory(bodies) => Ok(&bodies[number]),
            Self::File(stored) => {
                stored.read(number, buffer)?;
                Ok(buffer)
            }
        }
    }
}
