//! Where the bytes of a message are in batches of layout sliced.

use crate::input::part_meta::PartMeta;
use crate::results::meta::Meta;
use std::ops::Range;

/// A batch, and the number of a byte in its blocks.
pub(super) type Lane = (u64, usize);

/// Where the blocks of a message are.
pub(super) struct Places {
    /// of each part, its place in the message, and the same if parts are filled up to whole blocks
    parts: Vec<[u64; 2]>,
    /// bytes of the message with filled parts; their batch; position of the first block in it, distance to the next
    runs: Vec<(Range<u64>, u64, [usize; 2])>,
}

impl Places {
    pub(super) fn of(meta: &Meta) -> Self {
        let mut start = 0;
        let place = |part: &PartMeta| {
            let place = [start, 16 * part.first_block];
            start += part.bytes;
            place
        };
        let parts = meta.parts.iter().map(place).collect();
        let runs = (0..meta.split.batches()).flat_map(|batch| {
            let pieces = meta.pieces(batch).into_iter();
            pieces.map(move |(bytes, piece)| (bytes, batch, piece.positions))
        });
        let mut runs: Vec<_> = runs.collect();
        runs.sort_by_key(|(bytes, ..)| bytes.start);
        Self { parts, runs }
    }

    /// The lane and slot of a byte of the message.
    pub(super) fn find(&self, byte: u64) -> (Lane, usize) {
        let part = self.parts.partition_point(|[start, _]| *start <= byte) - 1;
        let [start, filled] = self.parts[part];
        let byte = filled + byte - start;
        let run = self.runs.partition_point(|(bytes, ..)| bytes.start <= byte) - 1;
        let (bytes, batch, [first, step]) = &self.runs[run];
        let block = (byte - bytes.start) / 16;
        (
            (*batch, (byte % 16) as usize),
            first + block as usize * step,
        )
    }
}
