//! Batches of a message: blocks 0, 1, 2, … in runs of as many as a batch of the set holds.

use crate::input::aes_input::{AesInput, PublicBlocks};
use crate::input::split::Split;
use crate::{Cancel, Error, Result};
use std::collections::VecDeque;
use std::ops::Range;

/// One batch of a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Batch {
    /// Its number, from 0.
    pub(crate) index: u64,
    /// What is public about its blocks.
    pub(crate) blocks: PublicBlocks,
}

/// Digests of a message that are kept, at most: 256 KiB.
const GROUPS: u64 = 8192;

/// Reads batches of a message, one after the other.
///
/// What a run reads must be what it began with: a file that somebody writes to, or a buffer, would give results of neither content, and a run that is resumed
/// would take them for those of the old one. So all of it is read before the first batch is evaluated, and each group of batches again, into memory, before
/// its first batch is handed out: their digests must be the same.
pub(crate) struct Batches<'m> {
    message: &'m AesInput,
    split: Split,
    left: Range<u64>,
    /// Batches that are read at once.
    at_once: u64,
    /// Of each group that is left, the last one first.
    digests: Vec<blake3::Hash>,
    /// Batches of a group that are not handed out yet.
    read: VecDeque<Batch>,
}

impl<'m> Batches<'m> {
    /// Those numbered `range`; `cancel` ends reading them.
    pub(crate) fn new(
        message: &'m AesInput,
        split: Split,
        range: Range<u64>,
        cancel: &Cancel,
    ) -> Result<Self> {
        let count = range.end - range.start;
        let mut batches = Self {
            message,
            split,
            left: range,
            at_once: count.div_ceil(GROUPS).max(1),
            digests: Vec::new(),
            read: VecDeque::new(),
        };
        let groups = batches.groups().map(|group| {
            if cancel.is_cancelled() {
                return Err(Error::Cancelled);
            }
            Ok(batches.group(group)?.1)
        });
        batches.digests = groups.rev().collect::<Result<_>>()?;
        Ok(batches)
    }

    /// The groups that are left.
    fn groups(&self) -> impl DoubleEndedIterator<Item = Range<u64>> + use<> {
        let (Range { start, end }, at_once) = (self.left.clone(), self.at_once);
        let groups = 0..(end - start).div_ceil(at_once);
        groups.map(move |group| {
            let first = start + group * at_once;
            first..end.min(first + at_once)
        })
    }

    /// Reads a group, and its digest.
    fn group(&self, group: Range<u64>) -> Result<(VecDeque<Batch>, blake3::Hash)> {
        let mut hasher = blake3::Hasher::new();
        let batches = group.map(|index| {
            let (first, count) = (
                self.split.first_block(index),
                self.split.batch_blocks(index),
            );
            let blocks = self.message.read(first, count as usize)?;
            for part in [&blocks.input, &blocks.mask] {
                hasher.update(&(part.len() as u64).to_le_bytes());
                hasher.update(part.as_flattened());
            }
            Ok(Batch { index, blocks })
        });
        let batches = batches.collect::<Result<_>>()?;
        Ok((batches, hasher.finalize()))
    }

    /// Reads the next group, which must be as it was.
    fn read_on(&mut self) -> Result<()> {
        let Some(group) = self.groups().next() else {
            return Ok(());
        };
        let (batches, found) = self.group(group.clone())?;
        if self.digests.pop() != Some(found) {
            let blocks = self.split.first_block(group.start)..self.split.first_block(group.end);
            return Err(self.message.changed(blocks));
        }
        self.left.start = group.end;
        self.read = batches;
        Ok(())
    }

    /// Up to `count` further batches; none at the end. Memory is taken for these and for the group that the last one is in.
    ///
    /// # Errors
    /// [`Error::Io`] if the message has changed.
    pub(crate) fn window(&mut self, count: usize) -> Result<Vec<Batch>> {
        let mut window = Vec::new();
        while window.len() < count {
            if self.read.is_empty() {
                self.read_on()?;
            }
            match self.read.pop_front() {
                Some(batch) => window.push(batch),
                None => break,
            }
        }
        Ok(window)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::input::source::{Memory, Source};
    use crate::{AesFile, Mode};
    use std::io;
    use std::path::Path;
    use std::sync::{Arc, Mutex};

    fn message(bytes: &[u8], mode: Mode) -> AesInput {
        AesFile::of(Memory::new(bytes.to_vec(), "m"), mode)
            .unwrap()
            .into()
    }

    #[test]
    fn batches_cover_the_message() {
        let mode = Mode::Cfb { iv: [9; 16] };
        for bytes in [0u64, 1, 15, 16, 17, 31, 32, 33, 64, 100] {
            let text: Vec<u8> = (0..bytes as u8).collect();
            let message = message(&text, mode);
            let split = message.split(2);
            assert_eq!(split.bytes, bytes);
            let mut batches =
                Batches::new(&message, split, 0..split.batches(), &Cancel::new()).unwrap();
            let mut read = Vec::new();
            loop {
                let window = batches.window(3).unwrap();
                assert!(window.len() <= 3);
                if window.is_empty() {
                    break;
                }
                read.extend(window);
            }
            message.finish().unwrap();
            assert_eq!(read.len() as u64, split.batches());
            let mut back = Vec::new();
            for (i, batch) in read.iter().enumerate() {
                assert_eq!(batch.index, i as u64);
                let blocks = &batch.blocks;
                assert_eq!(blocks.input.len() as u64, split.batch_blocks(batch.index));
                // under CFB what is added is the ciphertext, and what enters is the block before it
                for (input, mask) in blocks.input.iter().zip(&blocks.mask) {
                    let before = back.last().unwrap_or(&[9; 16]);
                    assert_eq!(input, before);
                    back.push(*mask);
                }
                // any batch by itself is the same
                let own = batch.index..batch.index + 1;
                let mut alone = Batches::new(&message, split, own, &Cancel::new()).unwrap();
                assert_eq!(&alone.window(9).unwrap()[0], batch);
            }
            assert_eq!(back.as_flattened()[..text.len()], text);
            assert!(back.as_flattened()[text.len()..].iter().all(|&x| x == 0));
        }
    }

    /// Bytes that somebody writes to.
    #[derive(Clone, Default)]
    struct Changing(Arc<Mutex<Vec<u8>>>);

    impl Source for Changing {
        fn name(&self) -> &Path {
            Path::new("changing")
        }

        fn bytes(&self) -> u64 {
            self.0.lock().unwrap().len() as u64
        }

        fn read_at(&self, offset: u64, into: &mut [u8]) -> io::Result<()> {
            let bytes = self.0.lock().unwrap();
            into.copy_from_slice(&bytes[offset as usize..][..into.len()]);
            Ok(())
        }
    }

    #[test]
    fn bytes_that_change_are_not_handed_out() {
        let blocks = 2 * GROUPS as usize + 100;
        let source = Changing(Arc::new(Mutex::new(vec![7; 16 * blocks])));
        let mode = Mode::Ctr { iv: [0; 16] };
        let message = AesInput::from(AesFile::of(source.clone(), mode).unwrap());
        let all = 0..blocks as u64;
        let mut batches = Batches::new(&message, message.split(1), all, &Cancel::new()).unwrap();
        // three batches a group: the first one is read
        assert_eq!(batches.window(1).unwrap().len(), 1);
        // one that is in memory, and one that is not
        for (at, handed_out) in [(2, 2), (100, 96)] {
            source.0.lock().unwrap()[16 * at + 5] ^= 1;
            let window = batches.window(handed_out).unwrap();
            let same = |batch: &Batch| batch.blocks.mask == [[7; 16]];
            assert!(window.len() == handed_out && window.iter().all(same));
        }
        let error = batches.window(1).unwrap_err().to_string();
        assert!(error.contains("changing: it changed"), "{error}");
    }
}
