//! Where the blocks of a message are in batches whose blocks are under many AES keys.
//!
//! With K keys, position b of every batch is under key b mod K, so key k has c_k positions b = k, k + K, … below the
//! blocks per batch. The blocks of all parts under key k, in order, fill its positions in batch 0, then in batch 1, and
//! so on: block m is in batch m / c_k, at position k + K·(m mod c_k). Other positions stay empty.

use crate::input::part_meta::PartMeta;
use crate::input::split::Split;
use std::collections::BTreeMap;
use std::ops::Range;

/// The places of all blocks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Places {
    /// number of AES keys
    keys: u64,
    split: Split,
    parts: Vec<Place>,
    /// numbers of the parts under each key that has some
    of_key: BTreeMap<u64, Vec<usize>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Place {
    key: u64,
    /// blocks of earlier parts under the same key
    first: u64,
    blocks: u64,
}

/// Blocks of one part in one batch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Piece {
    pub(crate) part: usize,
    /// their numbers in the part
    pub(crate) own: Range<u64>,
    /// the position of the first one in the batch, and the distance to the next
    pub(crate) positions: [usize; 2],
}

impl Piece {
    /// The position of each block.
    pub(crate) fn positions(&self) -> impl Iterator<Item = usize> {
        let [first, step] = self.positions;
        (first..)
            .step_by(step)
            .take((self.own.end - self.own.start) as usize)
    }
}

impl Places {
    /// The places of parts, each with the number of its key and its blocks. `None` if a number is not below `keys`,
    /// there are more keys than blocks in a batch, or the message would have 2^60 blocks or more.
    pub(crate) fn new(
        keys: u64,
        blocks_per_batch: u64,
        parts: impl Iterator<Item = (u64, u64)>,
    ) -> Option<Self> {
        let mut places = Self {
            keys,
            split: Split {
                bytes: 0,
                blocks_per_batch,
            },
            parts: Vec::new(),
            of_key: BTreeMap::new(),
        };
        for (number, (key, blocks)) in parts.enumerate() {
            if key >= keys || keys > blocks_per_batch {
                return None;
            }
            let of_key = places.of_key.entry(key).or_default();
            let before = of_key.last().map(|&part| places.parts[part]);
            let first = before.map_or(0, |before| before.first + before.blocks);
            of_key.push(number);
            places.parts.push(Place { key, first, blocks });
            let end = first.checked_add(blocks)?;
            if let Some(last) = end.checked_sub(1) {
                let [batch, position] = places.place(key, last);
                let blocks = batch
                    .checked_mul(blocks_per_batch)?
                    .checked_add(position + 1)?;
                let bytes = blocks.checked_mul(16)?;
                places.split.bytes = places.split.bytes.max(bytes);
            }
        }
        Some(places)
    }

    /// The places of these parts, if every one has a key.
    pub(crate) fn of(keys: u64, blocks_per_batch: u64, parts: &[PartMeta]) -> Option<Self> {
        let of_part = |part: &PartMeta| Some((part.key.as_ref()?.number, part.blocks()));
        let parts: Option<Vec<_>> = parts.iter().map(of_part).collect();
        Self::new(keys, blocks_per_batch, parts?.into_iter())
    }

    pub(crate) fn keys(&self) -> u64 {
        self.keys
    }

    /// The batches, empty positions included.
    pub(crate) fn split(&self) -> Split {
        self.split
    }

    /// Positions of a key in a batch.
    fn positions(&self, key: u64) -> u64 {
        (self.split.blocks_per_batch - key).div_ceil(self.keys)
    }

    /// Batch and position of block `block` under `key`.
    fn place(&self, key: u64, block: u64) -> [u64; 2] {
        let positions = self.positions(key);
        [block / positions, key + self.keys * (block % positions)]
    }

    /// The blocks in some batches, part by part. Positions are those in the first of the batches.
    pub(crate) fn pieces(&self, batches: Range<u64>) -> impl Iterator<Item = Piece> {
        self.of_key.iter().flat_map(move |(&key, parts)| {
            let [start, end] =
                [batches.start, batches.end].map(|batch| batch.saturating_mul(self.positions(key)));
            let ended = |&part: &usize| self.parts[part].first + self.parts[part].blocks <= start;
            let parts = parts[parts.partition_point(ended)..].iter();
            let parts = parts.take_while(move |&&part| self.parts[part].first < end);
            parts.filter_map(move |&part| {
                let Place { first, blocks, .. } = self.parts[part];
                let own = first.max(start)..end.min(first + blocks);
                let [_, position] = self.place(key, own.start);
                (!own.is_empty()).then(|| Piece {
                    part,
                    own: own.start - first..own.end - first,
                    positions: [position as usize, self.keys as usize],
                })
            })
        })
    }

    /// The batches of positions `blocks` of the message, counted over all batches.
    pub(crate) fn batches(&self, blocks: &Range<u64>) -> Range<u64> {
        let of = self.split.blocks_per_batch;
        blocks.start / of..blocks.end.div_ceil(of)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_block_has_one_place_under_its_key() {
        for (keys, per_batch) in [(1, 1), (1, 16), (3, 16), (5, 16), (16, 16), (7, 8)] {
            let parts: Vec<(u64, u64)> = (0..40)
                .map(|i: u64| (i * 5 % keys, [0, 1, 2, 9, 17][i as usize % 5]))
                .collect();
            let places = Places::new(keys, per_batch, parts.iter().copied()).unwrap();
            let split = places.split();
            let (mut seen, mut used, mut next) = (BTreeSet::new(), 0, vec![0; parts.len()]);
            for batch in 0..split.batches() {
                for piece in places.pieces(batch..batch + 1) {
                    assert_eq!(piece.own.start, next[piece.part], "in order");
                    next[piece.part] = piece.own.end;
                    for position in piece.positions() {
                        assert_eq!(position as u64 % keys, parts[piece.part].0);
                        assert!((position as u64) < per_batch);
                        assert!(seen.insert((batch, position)));
                        used = used.max(batch * per_batch + position as u64 + 1);
                    }
                }
            }
            let blocks: Vec<u64> = parts.iter().map(|part| part.1).collect();
            assert_eq!(next, blocks);
            assert_eq!(split.bytes, 16 * used);
            // several batches at once
            let all = places.pieces(0..split.batches());
            let all: Vec<_> = all.map(|piece| (piece.part, piece.own)).collect();
            let mut sorted = all.clone();
            sorted.sort_by_key(|piece| piece.0);
            let whole = blocks.iter().enumerate().filter(|(_, blocks)| **blocks > 0);
            let whole: Vec<_> = whole.map(|(part, &blocks)| (part, 0..blocks)).collect();
            assert_eq!(sorted, whole);
        }
    }

    #[test]
    fn absurd_numbers_are_refused() {
        assert!(Places::new(2, 16, [(2, 1)].into_iter()).is_none());
        assert!(Places::new(17, 16, [(0, 1)].into_iter()).is_none());
        assert!(Places::new(0, 16, [(0, 1)].into_iter()).is_none());
        assert!(Places::new(1, 16, [(0, u64::MAX)].into_iter()).is_none());
        assert!(Places::new(16, 16, [(0, 1 << 57), (1, 1)].into_iter()).is_none());
        assert!(Places::new(16, 16, [(0, u64::MAX), (0, u64::MAX)].into_iter()).is_none());
        let empty = Places::new(3, 16, core::iter::empty()).unwrap();
        assert_eq!(empty.split().batches(), 0);
    }
}
