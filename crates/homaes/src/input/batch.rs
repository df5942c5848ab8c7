//! The batches of a message: runs of as many blocks as the set's batches hold.

use crate::Result;
use crate::input::aes_input::{AesInput, PublicBlocks};
use crate::input::split::Split;
use std::ops::Range;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Batch {
    pub(crate) index: u64,
    pub(crate) blocks: PublicBlocks,
}

/// Reads each batch of a message once, in order.
///
/// A file that is written to meanwhile would give results of neither content, and a resumed run would mix the results
/// of both. Therefore the length and time of the files, and the tag of a GCM message, are compared with those at the
/// start after each window, and once more at the end of the run.
pub(crate) struct Batches<'m> {
    message: &'m AesInput,
    split: Split,
    left: Range<u64>,
}

impl<'m> Batches<'m> {
    pub(crate) fn new(message: &'m AesInput, split: Split, range: Range<u64>) -> Self {
        Self {
            message,
            split,
            left: range,
        }
    }

    /// Up to `count` further batches; none at the end.
    ///
    /// # Errors
    /// [`Error::Io`](crate::Error::Io), also if the message has changed.
    pub(crate) fn window(&mut self, count: usize) -> Result<Vec<Batch>> {
        let Range { start, end } = self.left;
        let end = end.min(start.saturating_add(count as u64));
        let read = |index| {
            let (first, count) = (
                self.split.first_block(index),
                self.split.batch_blocks(index),
            );
            let blocks = self.message.read(first, count as usize)?;
            Ok(Batch { index, blocks })
        };
        let batches = (start..end).map(read).collect::<Result<_>>()?;
        if start < end {
            let blocks = self.split.first_block(start)..self.split.first_block(end);
            self.message.check(blocks)?;
        }
        self.left.start = end;
        Ok(batches)
    }
}
