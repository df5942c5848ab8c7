//! What a run will do and write, known before it starts.

use crate::input::aes_input::AesInput;
use crate::input::split::Split;
use crate::results::meta::Meta;
use crate::run::writer::Results;
use crate::{Error, Output, Result};
use core::fmt;
use homaes_aes::Layout;
use homaes_wire::hex;
use homaes_wire::{CHECKSUM_BYTES, Contents, Header, WireError, Writer};

/// Separates digests of runs from others.
const RUN_CONTEXT: &str = "homaes job 1";

/// Names what a run computes: message, keys and layout. Two runs with the same id write the same bytes.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct RunId(pub [u8; 32]);

impl fmt::Display for RunId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&hex(&self.0))
    }
}

impl fmt::Debug for RunId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RunId({self})")
    }
}

/// A run: its message, how that is cut, and the file of its results. Made by [`Transcipher::plan`](crate::Transcipher::plan).
#[derive(Debug, Clone)]
pub struct Plan {
    pub(crate) message: AesInput,
    /// In which AES is evaluated.
    pub(crate) layout: Layout,
    /// How AES is evaluated: the file has other batches where results cross a bridge.
    pub(crate) split: Split,
    /// What the file says of the message.
    pub(crate) meta: Meta,
    pub(crate) header: Header,
    /// The records before the batches, with their tags.
    pub(crate) front: Vec<(u16, Vec<u8>)>,
    /// BLAKE3 of the header and these.
    pub(crate) front_digest: [u8; 32],
    /// Length of the record of a batch, and of the last one.
    pub(crate) batch_bytes: [u64; 2],
    /// The last checksums of the files of keys.
    pub(crate) keys: [[u8; CHECKSUM_BYTES]; 3],
}

impl Plan {
    /// The message.
    #[must_use]
    pub fn message(&self) -> &AesInput {
        &self.message
    }

    /// What the file will say of the message.
    #[must_use]
    pub fn meta(&self) -> &Meta {
        &self.meta
    }

    /// The layout in which AES is evaluated.
    #[must_use]
    pub fn layout(&self) -> Layout {
        self.layout
    }

    /// How the message is cut into batches.
    #[must_use]
    pub fn split(&self) -> Split {
        self.split
    }

    /// The header of the file of results.
    #[must_use]
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// Length of the file of results.
    #[must_use]
    pub fn file_bytes(&self) -> u64 {
        self.header.file_bytes()
    }

    /// The id of the run, for which all of the message is read.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub fn id(&self) -> Result<RunId> {
        Ok(self.id_of(&self.message.digests()?))
    }

    /// The id of the run, given the BLAKE3 digests of its parts ([`AesInput::digests`]).
    #[must_use]
    pub fn id_of(&self, parts: &[[u8; 32]]) -> RunId {
        let mut hasher = blake3::Hasher::new_derive_key(RUN_CONTEXT);
        // set, key id, layout, level, blocks a batch, and of each part its mode and length
        hasher.update(&self.front_digest);
        self.keys.iter().for_each(|key| {
            hasher.update(key);
        });
        parts.iter().for_each(|part| {
            hasher.update(part);
        });
        RunId(hasher.finalize().into())
    }

    /// The first bytes of the file: its header, and the records before the batches.
    ///
    /// # Errors
    /// None but those of a fault of the program.
    pub fn front(&self) -> Result<Vec<u8>> {
        front_bytes(&self.header, &self.front)
    }

    /// Writes the front of the file.
    pub(crate) fn begin(&self, output: Output) -> Result<Results> {
        let mut file = output.container(self.header.clone())?;
        for (tag, body) in &self.front {
            file.record(*tag, 0, body)?;
        }
        Ok(Results::new(file, 0))
    }

    /// Records before the batches.
    pub(crate) fn front_records(&self) -> u64 {
        self.front.len() as u64
    }
}

/// How long a file is with these records, and batches of this length, the last one of another.
pub(crate) fn contents(front: &[(u16, Vec<u8>)], meta: &Meta, [full, last]: [u64; 2]) -> Contents {
    let sum = |sum: Contents, (_, body): &(u16, Vec<u8>)| sum.record(body.len() as u64);
    let contents = front.iter().fold(Contents::default(), sum);
    let contents = match meta.split.batches().checked_sub(1) {
        None => contents,
        // the last one may be shorter than the others
        Some(others) => contents.records(others, full).record(last),
    };
    contents.record(meta.steps_bytes())
}

/// A header and the records before the batches, as they stand in a file.
pub(crate) fn front_bytes(header: &Header, front: &[(u16, Vec<u8>)]) -> Result<Vec<u8>> {
    let written = || {
        let mut writer = Writer::new(Vec::new(), header.clone())?;
        for (tag, body) in front {
            writer.write_record(*tag, 0, body)?;
        }
        Ok(std::mem::take(writer.output()))
    };
    written().map_err(in_memory)
}

/// An error about a file in memory.
pub(crate) fn in_memory(source: WireError) -> Error {
    Error::file("<memory>".as_ref(), source)
}

#[cfg(test)]
mod tests {
    use super::*;
    use homaes_aes::KeySize;

    #[test]
    fn the_last_batch_may_be_shorter() {
        for (bytes, records, body_bytes) in [
            (0, 0, 0),
            (1, 1, 10),
            (512, 1, 320),
            (513, 2, 330),
            (1024 + 17, 3, 660),
        ] {
            let split = Split {
                bytes,
                blocks_per_batch: 32,
            };
            let meta = Meta::new(Vec::new(), KeySize::Aes128, (Layout::Bits, 1), split);
            let last = split.batches().saturating_sub(1);
            let lengths = [0, last].map(|batch| 10 * split.batch_blocks(batch));
            let sum = contents(&[], &meta, lengths);
            // the record of steps follows
            let steps = meta.steps_bytes();
            assert_eq!(
                (sum.records, sum.body_bytes),
                (records + 1, body_bytes + steps)
            );
            let front = [(1, vec![0; 7]), (5, vec![0; 3])];
            let more = contents(&front, &meta, lengths);
            assert_eq!(
                (more.records, more.body_bytes),
                (sum.records + 2, sum.body_bytes + 10)
            );
        }
    }
}
