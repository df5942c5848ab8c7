//! Results of the first rounds that batches of one counter run have in common.
//!
//! The blocks of a counter run differ in their last bytes alone. A batch of a multiple of 256 blocks has the values of
//! byte 15 that the batch before has, in the same slots, and the bytes before 14 seldom change: so all inversions of
//! round 1 but one and three of its columns were computed before, and the inversions of these columns in round 2.
//! Deeper states depend on all bytes.
//!
//! Ciphertexts are told apart by where they come from: two are equal, bit for bit, if they were made of the same public
//! bytes by the same steps under the same keys.

use crate::ciphertext::Ciphertext;
use crate::error::Result;
use homaes_aes::Block;
use std::sync::{Arc, Mutex, PoisonError};

/// Rounds whose inversions are kept.
const ROUNDS: usize = 2;

/// Names what a ciphertext was made of.
type Id = blake3::Hash;

/// What the sixteen bytes of a state were made of.
#[derive(Clone, Debug)]
pub(crate) struct Origin {
    /// rounds that are done
    round: usize,
    ids: [Id; 16],
}

impl Origin {
    /// Of public `blocks`, if most of their bytes seldom change from block to block: those of other batches may then be
    /// the same.
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

    /// Names the columns that the next round makes, column `c` of the bytes at `sources(c)`.
    fn columns(&self, sources: impl Fn(usize) -> [usize; 4]) -> [Id; 4] {
        core::array::from_fn(|column| {
            let mut hasher = blake3::Hasher::new();
            for at in sources(column) {
                hasher.update(self.ids[at].as_bytes());
            }
            hasher.finalize()
        })
    }

    /// Of the state after the next round; nothing if no later round is kept.
    fn after(&self, columns: [Id; 4]) -> Option<Self> {
        let round = self.round + 1;
        (round < ROUNDS).then(|| Self {
            round,
            // the place within a column is that in the state
            ids: core::array::from_fn(|i| columns[i / 4]),
        })
    }
}

/// What was made last at a place, with the name of its origin.
type Made<T> = Option<(Id, Arc<T>)>;

/// What was made last at each of N places.
#[derive(Debug)]
struct Last<T, const N: usize>([Mutex<Made<T>>; N]);

impl<T, const N: usize> Default for Last<T, N> {
    fn default() -> Self {
        Self([(); N].map(|()| Mutex::new(None)))
    }
}

impl<T, const N: usize> Last<T, N> {
    /// What is named by `ids`: what is here, and what `make` makes of the other places.
    fn complete(
        &self,
        ids: [Id; N],
        make: impl FnOnce(&[usize]) -> Result<Vec<T>>,
    ) -> Result<Vec<Arc<T>>> {
        let mut found: [Option<Arc<T>>; N] = core::array::from_fn(|i| {
            let last = self.0[i].lock().unwrap_or_else(PoisonError::into_inner);
            let (id, made) = last.as_ref()?;
            (*id == ids[i]).then(|| made.clone())
        });
        let missing: Vec<usize> = (0..N).filter(|&i| found[i].is_none()).collect();
        for (&i, made) in missing.iter().zip(make(&missing)?) {
            let made = Arc::new(made);
            let mut last = self.0[i].lock().unwrap_or_else(PoisonError::into_inner);
            *last = Some((ids[i], made.clone()));
            found[i] = Some(made);
        }
        Ok(found.into_iter().flatten().collect())
    }
}

/// The last results of rounds 1 and 2 of one AES key: x^127 of the bytes that enter either, and the columns that round
/// 1 makes.
///
/// Memory: three states of sixteen ciphertexts, at the levels below the first.
#[derive(Debug, Default)]
pub(crate) struct Reuse {
    inversions: [Last<Ciphertext, 16>; ROUNDS],
    columns: [Last<Vec<Ciphertext>, 4>; ROUNDS - 1],
}

impl Reuse {
    /// One result for each byte of a state: what is here, and what `make` makes of the bytes at the other places.
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

    /// The four columns that a round makes, column `c` of the bytes at `sources(c)`, with the origin of the new state.
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
                let all = columns.iter().flat_map(|column| column.iter().cloned());
                Ok((all.collect(), origin.after(ids)))
            }
            _ => Ok((make(&ALL[..4])?.into_iter().flatten().collect(), None)),
        }
    }
}

/// The places of a state.
const ALL: [usize; 16] = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15];
