//! Records of a key that are unpacked when they are used.

use homaes_wire::{Stored, WireError};

/// The bodies of consecutive records, as the file has them.
#[derive(Debug)]
pub enum KeyRecords {
    /// All in memory.
    Memory(Vec<Vec<u8>>),
    /// Left in the file, and read anew whenever they are used.
    File(Stored),
}

impl KeyRecords {
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
