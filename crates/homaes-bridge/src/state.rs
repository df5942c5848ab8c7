//! Whole states across: results of AES, block by block.

use crate::crossing::{Crossing, Numbers, ReadingNoise, Switched};
use crate::error::{Error, Result};
use crate::target::Other;
use homaes_bgv::{Ciphertext, Evaluator, Lifted, Params, State};
use homaes_math::Words;
use rayon::prelude::*;
use std::ops::Range;

/// Blocks that a task reads from all ciphertexts: as many as make it worth while to fetch those once.
const GROUP: usize = 32;
/// Bytes of a block.
const BYTES: usize = 16;
/// log2 of the largest probability of a wrong reading in a batch.
const LOG2_P_FAIL: f64 = -64.0;

/// A state whose bytes have been lifted and switched to the subring, ready to be read.
pub struct Crossed {
    /// by ciphertext of the state: its numbers, the lowest bits first
    numbers: Vec<Vec<Switched>>,
    /// ciphertext and slot of every byte of every block
    places: Vec<[(usize, usize); BYTES]>,
    noise: ReadingNoise,
}

impl Crossed {
    /// What the LWE ciphertexts of the whole batch have.
    pub fn noise(&self) -> ReadingNoise {
        self.noise
    }

    /// Blocks of the batch.
    pub fn blocks(&self) -> usize {
        self.places.len()
    }
}

impl Crossing<'_> {
    /// The numbers of every byte of `a`, the lowest bits first: 8 bits, or 4 pairs of them.
    ///
    /// # Errors
    /// As [`Evaluator::bit_planes`] and [`Evaluator::bit_pairs`].
    fn lifted(&self, eval: &Evaluator<'_>, a: &Ciphertext) -> Result<Vec<Lifted>> {
        Ok(match self.numbers() {
            Numbers::Bits => eval.bit_planes(a)?,
            Numbers::Pairs => eval.bit_pairs(a)?,
        })
    }

    /// Every slot of a ciphertext of bytes, for [`read`](Self::read): of results of AES and of circuits.
    ///
    /// # Errors
    /// As [`cross`](Self::cross).
    pub fn cross_ciphertext(
        &self,
        eval: &Evaluator<'_>,
        a: &Ciphertext,
    ) -> Result<(Vec<Switched>, ReadingNoise)> {
        let lifted = self.lifted(eval, a)?;
        let count = lifted.len() * self.params().slots().count();
        let noise = self.noise(&lifted[0], count).checked()?;
        let switched = lifted.par_iter().with_max_len(1);
        let switched = switched.map(|c| self.switched(eval, c));
        Ok((switched.collect::<Result<_>>()?, noise))
    }

    /// A result of AES, ready to be read.
    ///
    /// Cost: by ciphertext of the state, that of lifting, and ten transforms of the ring for each number.
    ///
    /// # Errors
    /// If the state is one of bits, or belongs to another set or key; if its level is too low; if a reading of the batch would be wrong with a probability above 2^-64.
    pub fn cross(&self, eval: &Evaluator<'_>, state: &State) -> Result<Crossed> {
        let params = self.params();
        let blocks = params.blocks_per_batch(state.layout());
        let mut places = vec![[(0, 0); BYTES]; blocks];
        for (block, places) in places.iter_mut().enumerate() {
            for (byte, to) in places.iter_mut().enumerate() {
                *to = state.place(params, block, byte)?;
            }
        }
        let mut noise = ReadingNoise::NONE;
        let ciphertexts = state.ciphertexts().iter();
        let numbers = ciphertexts.map(|c| {
            let (switched, own) = self.cross_ciphertext(eval, c)?;
            noise = noise.and(own);
            Ok(switched)
        });
        let numbers = numbers.collect::<Result<Vec<_>>>()?;
        Ok(Crossed {
            numbers,
            places,
            noise: noise.checked()?,
        })
    }

    /// LWE ciphertexts of the blocks numbered `blocks`, one block after the other, in each the bytes, in each byte its numbers, the lowest bits first;
    /// [`words`](Self::words) each.
    ///
    /// Cost: that of [`read`](Self::read) for each, with the current thread pool.
    ///
    /// # Panics
    /// If there are no such blocks.
    pub fn lwes(&self, crossed: &Crossed, blocks: Range<usize>) -> Words {
        let numbers = self.numbers().count();
        let (len, places) = (self.words(), &crossed.places[blocks]);
        let block = BYTES * numbers * len;
        let mut out = Words::scratch(places.len() * block);
        let groups = out.par_chunks_mut(GROUP * block);
        groups
            .zip(places.par_chunks(GROUP))
            .for_each(|(out, places)| {
                let mut scratch = self.scratch();
                for byte in 0..BYTES {
                    for number in 0..numbers {
                        let at = (byte * numbers + number) * len;
                        let mut outs = out.chunks_exact_mut(block);
                        let mut outs: Vec<&mut [u64]> =
                            outs.by_ref().map(|out| &mut out[at..at + len]).collect();
                        let places: Vec<_> = places.iter().map(|places| places[byte]).collect();
                        let mut done = 0;
                        for own in places.chunk_by(|a, b| a.0 == b.0) {
                            let slots: Vec<usize> = own.iter().map(|place| place.1).collect();
                            let c = &crossed.numbers[own[0].0][number];
                            let outs = &mut outs[done..done + own.len()];
                            self.read(c, &slots, &mut scratch, outs);
                            done += own.len();
                        }
                    }
                }
            });
        out
    }

    /// The blocks numbered `blocks` as a state of a set of TFHE on bits, whose key of results is that of the bridge.
    ///
    /// # Errors
    /// If the crossing is not one of bits; if the bridge does not lead to a key of this set; if there is more noise than states of AES have.
    pub fn state(
        &self,
        crossed: &Crossed,
        blocks: Range<usize>,
        params: &homaes_tfhe::Params,
    ) -> Result<homaes_tfhe::State> {
        self.check(Numbers::Bits)?;
        let (found, expected) = (&self.key().target().other, params.set().name.as_str());
        if *found != Other::Set(expected) {
            return Err(Error::Target {
                found: found.clone(),
                expected: Other::Set(expected),
            });
        }
        let lwes = self.lwes(crossed, blocks);
        Ok(homaes_tfhe::State::from_lwes(
            params,
            self.key().target().id,
            lwes,
            crossed.noise.log2_sigma,
        )?)
    }
}

/// log2 of what the words of a record are multiples of.
const RECORD_BITS: u32 = 32;

/// LWE ciphertexts as bytes: of every word the upper 32 bits, rounded, in little endian.
///
/// That adds noise of at most √((d + 1)/12)·2^-32 of the torus, d the dimension: 2^-28.3 for d = 2048.
pub fn encode_lwes(lwes: &[u64]) -> Vec<u8> {
    let half = 1 << (RECORD_BITS - 1);
    let rounded = lwes
        .iter()
        .map(|x| (x.wrapping_add(half) >> RECORD_BITS) as u32);
    rounded.flat_map(u32::to_le_bytes).collect()
}

/// What [`encode_lwes`] wrote.
pub fn decode_lwes(bytes: &[u8]) -> Vec<u64> {
    let (words, _) = bytes.as_chunks::<4>();
    let word = |x: &[u8; 4]| u64::from(u32::from_le_bytes(*x)) << RECORD_BITS;
    words.iter().map(word).collect()
}

/// Bytes of the record of so many blocks of pairs, for a crossing from `params`.
pub fn record_bytes(params: &Params, blocks: usize) -> u64 {
    let words = params.bridge_ring().map_or(0, |ring| ring.n() + 1);
    (blocks * BYTES * Numbers::Pairs.count() * words) as u64 * u64::from(RECORD_BITS / 8)
}

impl ReadingNoise {
    /// Of no readings.
    pub(crate) const NONE: Self = Self {
        log2_sigma: f64::NEG_INFINITY,
        failure_log2: f64::NEG_INFINITY,
    };

    /// If a wrong reading is improbable enough.
    fn checked(self) -> Result<Self> {
        match self.failure_log2 > LOG2_P_FAIL {
            true => Err(Error::TooNoisy {
                failure_log2: self.failure_log2,
            }),
            false => Ok(self),
        }
    }

    /// Of both: the larger noise, the sum of both probabilities.
    pub(crate) fn and(self, other: Self) -> Self {
        let sum = match (self.failure_log2, other.failure_log2) {
            (f64::NEG_INFINITY, p) | (p, f64::NEG_INFINITY) => p,
            (a, b) => homaes_leveled::log2::sum(a, b),
        };
        Self {
            log2_sigma: self.log2_sigma.max(other.log2_sigma),
            failure_log2: sum,
        }
    }
}
