//! A message cut into batches: blocks 0, 1, 2, … in runs of as many as a batch of the set holds.

use crate::{Error, Result};
use homaes_aes::Block;
use homaes_aes::state::to_blocks;
use std::io::{self, Read};
use std::path::PathBuf;

/// How a message of some length is cut.
///
/// ```
/// let split = homaes::Split { bytes: 1000, blocks_per_batch: 16 };
/// assert_eq!((split.blocks(), split.batches()), (63, 4));
/// assert_eq!(split.batch_bytes(3), 1000 - 3 * 256);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Split {
    /// Bytes of the message.
    pub bytes: u64,
    /// AES blocks of one batch, not 0.
    pub blocks_per_batch: u64,
}

impl Split {
    /// AES blocks; the last one may be partial.
    #[must_use]
    pub const fn blocks(&self) -> u64 {
        self.bytes.div_ceil(16)
    }

    /// Batches; the last one may be partial.
    #[must_use]
    pub const fn batches(&self) -> u64 {
        self.blocks().div_ceil(self.blocks_per_batch)
    }

    /// Number of the first block of batch `index`.
    #[must_use]
    pub const fn first_block(&self, index: u64) -> u64 {
        index.saturating_mul(self.blocks_per_batch)
    }

    /// Bytes of the message in batch `index`: 0 beyond the last one.
    #[must_use]
    pub const fn batch_bytes(&self, index: u64) -> u64 {
        let full = self.blocks_per_batch.saturating_mul(16);
        let left = self.bytes.saturating_sub(index.saturating_mul(full));
        if left < full { left } else { full }
    }

    /// AES blocks in batch `index`: fewer than the others have in the last one, and 0 beyond it.
    #[must_use]
    pub const fn batch_blocks(&self, index: u64) -> u64 {
        self.batch_bytes(index).div_ceil(16)
    }
}

/// The AES ciphertext of one batch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Batch {
    /// Number of the batch, from 0.
    pub(crate) index: u64,
    /// Number of its first block in the message.
    pub(crate) first_block: u64,
    /// The block before its first one; none at the start of the message.
    pub(crate) before: Option<Block>,
    /// Its blocks; zeros complete the last one of the message.
    pub(crate) blocks: Vec<Block>,
}

/// Reads a message batch by batch.
pub(crate) struct Batches<R> {
    input: R,
    path: PathBuf,
    split: Split,
    next: u64,
    before: Option<Block>,
    trailer: Vec<u8>,
}

impl<R: Read> Batches<R> {
    /// `path` names the input in errors.
    pub(crate) fn new(input: R, path: PathBuf, split: Split) -> Self {
        Self {
            input,
            path,
            split,
            next: 0,
            before: None,
            trailer: Vec::new(),
        }
    }

    /// Expects these bytes after the message.
    pub(crate) fn with_trailer(self, trailer: Vec<u8>) -> Self {
        Self { trailer, ..self }
    }

    /// Up to `count` further batches; none at the end. Memory is taken for these only.
    pub(crate) fn window(&mut self, count: usize) -> Result<Vec<Batch>> {
        let end = self.split.batches().min(self.next + count as u64);
        (self.next..end).map(|_| self.read()).collect()
    }

    /// Checks that the input ends with the trailer, right after the message.
    pub(crate) fn finish(mut self) -> Result<()> {
        let mut rest = Vec::new();
        let most = self.trailer.len() as u64 + 1;
        let read = self.input.by_ref().take(most).read_to_end(&mut rest);
        read.map_err(|source| self.error(source))?;
        if rest == self.trailer {
            return Ok(());
        }
        Err(self.error(changed()))
    }

    fn read(&mut self) -> Result<Batch> {
        let (index, len) = (self.next, self.split.batch_bytes(self.next));
        let mut bytes = Vec::new();
        let read = self.input.by_ref().take(len).read_to_end(&mut bytes);
        if read.map_err(|source| self.error(source))? as u64 != len {
            return Err(self.error(changed()));
        }
        self.next += 1;
        let blocks = to_blocks(&bytes);
        let before = std::mem::replace(&mut self.before, blocks.last().copied());
        Ok(Batch {
            index,
            first_block: self.split.first_block(index),
            before,
            blocks,
        })
    }

    fn error(&self, source: io::Error) -> Error {
        Error::io(&self.path, source)
    }
}

fn changed() -> io::Error {
    io::Error::new(
        io::ErrorKind::InvalidData,
        "the file changed while it was read",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn batches_cover_the_message() {
        for bytes in [0u64, 1, 15, 16, 17, 31, 32, 33, 64, 100] {
            let split = Split {
                bytes,
                blocks_per_batch: 2,
            };
            let message: Vec<u8> = (0..bytes as u8).collect();
            let mut batches = Batches::new(&message[..], "m".into(), split);
            let mut read = Vec::new();
            loop {
                let window = batches.window(3).unwrap();
                assert!(window.len() <= 3);
                if window.is_empty() {
                    break;
                }
                read.extend(window);
            }
            batches.finish().unwrap();
            assert_eq!(read.len() as u64, split.batches());
            let mut back = Vec::new();
            let mut before = None;
            for (i, batch) in read.iter().enumerate() {
                assert_eq!(batch.before, before);
                before = batch.blocks.last().copied();
                assert_eq!((batch.index, batch.first_block), (i as u64, 2 * i as u64));
                let used = split.batch_bytes(batch.index) as usize;
                assert_eq!(batch.blocks.len(), used.div_ceil(16));
                assert_eq!(batch.blocks.len() as u64, split.batch_blocks(batch.index));
                back.extend_from_slice(&batch.blocks.as_flattened()[..used]);
            }
            assert_eq!(back, message);
        }
    }

    #[test]
    fn other_lengths_are_noticed() {
        let split = Split {
            bytes: 40,
            blocks_per_batch: 2,
        };
        let mut short = Batches::new(&[0; 39][..], "m".into(), split);
        assert!(short.window(9).is_err());
        let mut long = Batches::new(&[0; 41][..], "m".into(), split);
        assert_eq!(long.window(9).unwrap().len(), 2);
        assert!(long.finish().is_err());
    }

    #[test]
    fn the_message_ends_with_its_trailer() {
        let split = Split {
            bytes: 40,
            blocks_per_batch: 2,
        };
        let file: Vec<u8> = (0..43).collect();
        for (trailer, right) in [
            (&file[40..], true),
            (&[40, 41], false),
            (&[40, 41, 43], false),
            (&[40, 41, 42, 43], false),
        ] {
            let mut batches =
                Batches::new(&file[..], "m".into(), split).with_trailer(trailer.to_vec());
            batches.window(9).unwrap();
            assert_eq!(batches.finish().is_ok(), right, "{trailer:?}");
        }
    }

    #[test]
    fn absurd_lengths_do_not_overflow() {
        let split = Split {
            bytes: u64::MAX,
            blocks_per_batch: 2048,
        };
        assert_eq!(split.batch_bytes(split.batches() - 1), 32767);
        assert_eq!(split.batch_bytes(u64::MAX), 0);
        assert_eq!(split.batch_blocks(split.batches() - 1), 2048);
    }
}
