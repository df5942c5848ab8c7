//! Batches of a message: blocks 0, 1, 2, … in runs of as many as a batch of the set holds.

use crate::Result;
use crate::message::{Message, PublicBlocks};
use crate::split::Split;
use std::ops::Range;

/// One batch of a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Batch {
    /// Its number, from 0.
    pub(crate) index: u64,
    /// What is public about its blocks.
    pub(crate) blocks: PublicBlocks,
}

/// Reads batches of a message, one after the other.
pub(crate) struct Batches<'m> {
    message: &'m Message,
    split: Split,
    left: Range<u64>,
}

impl<'m> Batches<'m> {
    /// Those numbered `range`.
    pub(crate) fn new(message: &'m Message, split: Split, range: Range<u64>) -> Self {
        let left = range;
        Self {
            message,
            split,
            left,
        }
    }

    /// Up to `count` further batches; none at the end. Memory is taken for these only.
    pub(crate) fn window(&mut self, count: usize) -> Result<Vec<Batch>> {
        let batches = self.left.by_ref().take(count).map(|index| {
            let (first, count) = (
                self.split.first_block(index),
                self.split.batch_blocks(index),
            );
            let blocks = self.message.read(first, count as usize)?;
            Ok(Batch { index, blocks })
        });
        batches.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::Memory;
    use crate::{Mode, Part};

    fn message(bytes: &[u8], mode: Mode) -> Message {
        Part::of(Memory::new(bytes.to_vec(), "m"), mode)
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
            let mut batches = Batches::new(&message, split, 0..split.batches());
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
                let mut alone = Batches::new(&message, split, batch.index..batch.index + 1);
                assert_eq!(&alone.window(9).unwrap()[0], batch);
            }
            assert_eq!(back.as_flattened()[..text.len()], text);
            assert!(back.as_flattened()[text.len()..].iter().all(|&x| x == 0));
        }
    }
}
