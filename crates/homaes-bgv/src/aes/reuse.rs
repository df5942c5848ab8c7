//! Reuse of first-round results between batches of one counter run.
//!
//! The blocks of a counter run differ only in their last bytes. If a batch holds a multiple of 256 blocks, its byte 15
//! equals that of the batch before it, slot by slot, and bytes 0 to 13 seldom change. So 15 of the 16 inversions of
//! round 1, three of its columns and the inversions of these columns in round 2 are already known. Deeper states depend
//! on all bytes.
//!
//! Ciphertexts are identified by their origin: the same steps on the same public bytes under the same keys give the
//! same ciphertext, bit for bit. A result is kept only if its origin comes twice in a row, which saves the memory of
//! single batches and of places that change with every batch.

use crate::ciphertext::Ciphertext;
use crate::error::Result;
use homaes_aes::Block;
use std::sync::{Arc, Mutex, PoisonError};

/// Rounds whose inversions are cached.
const ROUNDS: usize = 2;

/// Identifies the origin of a ciphertext.
type Id = blake3::Hash;

#[derive(Clone, Debug)]
pub(crate) struct Origin {
    /// completed rounds
    round: usize,
    ids: [Id; 16],
}

impl Origin {
    /// The origin of public `blocks`, if most of their bytes seldom change from block to block: other batches may then
    /// share them.
    pub(crate) fn of_counter(blocks: &[Block]) -> Option<Self> {
        let seldom = |i: &usize| {
            let pairs = blocks.windows(2);
            pairs.filter(|pair| pair[0][*i] != pair[1][*i]).count() <= blocks.len() / 64
        };
        let is_counter = blocks.len() > 1 && (0..16).filter(seldom).count() >= 12;
        is_counter.then(|| Self {
            round: 0,
            ids: core::array::from_fn(|i| {
                let column: Vec<u8> = blocks.iter().map(|block| block[i]).collect();
                blake3::hash(&column)
            }),
        })
    }

    /// Identifies the next round's columns; column `c` depends on the bytes at `sources(c)`.
    fn columns(&self, sources: impl Fn(usize) -> [usize; 4]) -> [Id; 4] {
        core::array::from_fn(|column| {
            let mut hasher = blake3::Hasher::new();
            for at in sources(column) {
                hasher.update(self.ids[at].as_bytes());
            }
            hasher.finalize()
        })
    }

    /// The origin of the state after the next round; `None` if no later round is cached.
    fn after(&self, columns: [Id; 4]) -> Option<Self> {
        let round = self.round + 1;
        (round < ROUNDS).then(|| Self {
            round,
            ids: core::array::from_fn(|i| columns[i / 4]),
        })
    }
}

/// The latest origin at a place, with its result if it came twice.
type Made<T> = Option<(Id, Option<Arc<T>>)>;

#[derive(Debug)]
struct Last<T, const N: usize>([Mutex<Made<T>>; N]);

impl<T, const N: usize> Default for Last<T, N> {
    fn default() -> Self {
        Self([(); N].map(|()| Mutex::new(None)))
    }
}

impl<T, const N: usize> Last<T, N> {
    /// The results of origins `ids`: cached ones, and those of `make` for the other places.
    fn complete(
        &self,
        ids: [Id; N],
        make: impl FnOnce(&[usize]) -> Result<Vec<T>>,
    ) -> Result<Vec<Arc<T>>> {
        let mut found: [Option<Arc<T>>; N] = core::array::from_fn(|i| {
            let last = self.0[i].lock().unwrap_or_else(PoisonError::into_inner);
            let (id, made) = last.as_ref()?;
            made.clone().filter(|_| *id == ids[i])
        });
        let missing: Vec<usize> = (0..N).filter(|&i| found[i].is_none()).collect();
        for (&i, made) in missing.iter().zip(make(&missing)?) {
            let made = Arc::new(made);
            let mut last = self.0[i].lock().unwrap_or_else(PoisonError::into_inner);
            let again = last.as_ref().is_some_and(|(id, _)| *id == ids[i]);
            *last = Some((ids[i], again.then(|| made.clone())));
            found[i] = Some(made);
        }
        Ok(found.into_iter().flatten().collect())
    }
}

/// The latest results of rounds 1 and 2 under one AES key: x^127 of the bytes that enter either round, and the columns
/// that leave round 1.
///
/// Memory: three states of sixteen ciphertexts, below the first level.
#[derive(Debug, Default)]
pub(crate) struct Reuse {
    inversions: [Last<Ciphertext, 16>; ROUNDS],
    columns: [Last<Vec<Ciphertext>, 4>; ROUNDS - 1],
}

impl Reuse {
    /// One result per byte of a state: cached ones, and those of `make` for the other places.
    pub(crate) fn inversions(
        &self,
        origin: Option<&Origin>,
        make: impl FnOnce(&[usize]) -> Result<Vec<Ciphertext>>,
    ) -> Result<Vec<Arc<Ciphertext>>> {
        match origin {
            Some(origin) => self.inversions[origin.round].complete(origin.ids, make),
            None => Ok(make(&ALL)?.into_iter().map(Arc::new).collect()),
        }
    }

    /// The four columns of a round, with the origin of the new state; column `c` depends on the bytes at `sources(c)`.
    pub(crate) fn columns(
        &self,
        origin: Option<&Origin>,
        sources: impl Fn(usize) -> [usize; 4],
        make: impl FnOnce(&[usize]) -> Result<Vec<Vec<Ciphertext>>>,
    ) -> Result<(Vec<Ciphertext>, Option<Origin>)> {
        let named = origin.map(|origin| (origin.round, origin.columns(sources), origin));
        match named {
            Some((round, ids, origin)) if round < self.columns.len() => {
                let columns = self.columns[round].complete(ids, make)?;
                let all = columns.into_iter().flat_map(Arc::unwrap_or_clone);
                Ok((all.collect(), origin.after(ids)))
            }
            _ => Ok((make(&ALL[..4])?.into_iter().flatten().collect(), None)),
        }
    }
}

const ALL: [usize; 16] = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15];
