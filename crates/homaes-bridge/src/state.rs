//! Bytes across: those of results of AES, block by block, or of every slot of other ciphertexts.

use crate::error::{Error, Result};
use crate::noise::{BATCH, KEY_LOG2};
use crate::slots_to_lwe::{Numbers, ReadingNoise, SlotsToLwe, Switched, TOGETHER};
use crate::target::Other;
use homaes_bgv::{Ciphertext, Evaluator, Lifted, Params, State};
use homaes_math::Words;
use homaes_scheme::{Cancel, FieldError, Owner};
use homaes_tfhe::noise::NOMINAL_LOG2_SIGMA;
use rayon::prelude::*;
use std::ops::Range;

/// Bytes of a block.
const BYTES: usize = 16;
/// Slots of a ciphertext that one task reads.
const PER_TASK: usize = 32;
/// log2 of the largest probability of a wrong reading in a batch.
const LOG2_P_FAIL: f64 = -64.0;

/// Bytes that have been lifted and switched to the subring, ready to be read.
pub struct Crossed {
    /// by ciphertext: its numbers, the lowest bits first
    numbers: Vec<Vec<Switched>>,
    /// ciphertext and slot of every byte
    places: Vec<(usize, usize)>,
    noise: ReadingNoise,
    crosses: Numbers,
    /// the set that it comes from, and the key that its LWE ciphertexts are under
    owner: Owner,
}

impl Crossed {
    /// What the LWE ciphertexts of all bytes have.
    pub fn noise(&self) -> ReadingNoise {
        self.noise
    }

    /// How many bytes there are.
    pub fn bytes(&self) -> usize {
        self.places.len()
    }
}

impl SlotsToLwe<'_> {
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

    /// A result of AES, ready to be read: its bytes one after the other, 16 a block.
    ///
    /// Cost: by ciphertext of the state, that of lifting, and nine to eleven transforms of the ring for each number.
    ///
    /// # Errors
    /// If the state is one of bits, or belongs to another set or key; if its level is too low; if a reading of the batch would be wrong with a probability above 2^-64.
    pub fn cross(&self, eval: &Evaluator<'_>, state: &State) -> Result<Crossed> {
        self.cross_until(eval, state, &Cancel::new())
    }

    /// As [`cross`](Self::cross), unless `cancel` ends it: that is looked at before every ciphertext.
    ///
    /// # Errors
    /// As there, and [`homaes_bgv::Error::Cancelled`].
    pub fn cross_until(
        &self,
        eval: &Evaluator<'_>,
        state: &State,
        cancel: &Cancel,
    ) -> Result<Crossed> {
        let params = self.params();
        let blocks = params.blocks_per_batch(state.layout());
        let bytes = (0..blocks).flat_map(|block| (0..BYTES).map(move |byte| (block, byte)));
        let places = bytes.map(|(block, byte)| Ok(state.place(params, block, byte)?));
        let places = places.collect::<Result<_>>()?;
        self.crossed(eval, state.ciphertexts(), places, cancel)
    }

    /// Bytes in slots, ready to be read: results of an [`Evaluator`](homaes_bgv::Evaluator), every slot of the first ciphertext, then of the next; at most 64, which is
    /// what the bound on wrong readings is for.
    ///
    /// Cost: as [`cross`](Self::cross).
    ///
    /// # Errors
    /// As [`cross`](Self::cross).
    pub fn cross_slots(&self, eval: &Evaluator<'_>, inputs: &[Ciphertext]) -> Result<Crossed> {
        let count = self.params().slots().count();
        let places = (0..inputs.len()).flat_map(|i| (0..count).map(move |slot| (i, slot)));
        self.crossed(eval, inputs, places.collect(), &Cancel::new())
    }

    fn crossed(
        &self,
        eval: &Evaluator<'_>,
        inputs: &[Ciphertext],
        places: Vec<(usize, usize)>,
        cancel: &Cancel,
    ) -> Result<Crossed> {
        // each adds its part of what the key allows for; before the work
        let failure_log2 = KEY_LOG2 + (inputs.len() as f64 / BATCH as f64).log2();
        if failure_log2 > LOG2_P_FAIL {
            return Err(Error::TooNoisy { failure_log2 });
        }
        let mut noise = ReadingNoise::NONE;
        let numbers = inputs.iter().map(|a| {
            cancel.check().map_err(homaes_bgv::Error::from)?;
            let lifted = self.lifted(eval, a)?;
            noise = noise.and(self.noise(&lifted[0])?);
            let lifted = lifted.par_iter().with_max_len(1);
            let switched = lifted.map(|c| self.switched(eval, c));
            switched.collect::<Result<Vec<_>>>()
        });
        let numbers = numbers.collect::<Result<Vec<_>>>()?;
        Ok(Crossed {
            numbers,
            places,
            noise: noise.checked()?,
            crosses: self.numbers(),
            owner: Owner::new(self.params().id(), Some(self.key().target().id)),
        })
    }

    /// LWE ciphertexts of the bytes numbered `bytes`, one byte after the other, in each its numbers, the lowest bits first; [`words`](Self::words) each.
    ///
    /// Cost: n products for mask and body and one transform of the subring for each, with the current thread pool.
    ///
    /// # Errors
    /// If what has crossed are other numbers, or belong to another set or key; if there are no such bytes.
    pub fn lwes(&self, crossed: &Crossed, bytes: Range<usize>) -> Result<Words> {
        self.check_crossed(crossed, &bytes)?;
        let len = self.words();
        let mut out = Words::scratch(bytes.len() * self.numbers().count() * len);
        self.read_bytes(crossed, bytes, &mut out, len, <[u64]>::copy_from_slice);
        Ok(out)
    }

    /// [`lwes`](Self::lwes) as bytes, without those in memory all at once: pairs for a user of the crate `tfhe`. Of every word the upper 32 bits, rounded, in little endian.
    ///
    /// That adds noise of at most √((d + 1)/12)·2^-32 of the torus, d the dimension: 2^-28.3 for d = 2048.
    ///
    /// # Errors
    /// As [`lwes`](Self::lwes); if the crossing is not one of pairs; if a block would have more than nominal noise.
    pub fn record(&self, crossed: &Crossed, bytes: Range<usize>) -> Result<Vec<u8>> {
        self.check_crossed(crossed, &bytes)?;
        self.check(Numbers::Pairs)?;
        crossed.noise.nominal()?;
        let len = WORD_BYTES * self.words();
        let mut out = vec![0; bytes.len() * self.numbers().count() * len];
        self.read_bytes(crossed, bytes, &mut out, len, |out, lwe| {
            for (out, &x) in out.as_chunks_mut().0.iter_mut().zip(lwe) {
                *out = encode_word(x);
            }
        });
        Ok(out)
    }

    /// Whether this reads these bytes of what has crossed.
    fn check_crossed(&self, crossed: &Crossed, bytes: &Range<usize>) -> Result<()> {
        let what = "crossed state";
        crossed.owner.check_set(what, self.params().id())?;
        crossed.owner.check_key(what, self.key().target().id)?;
        self.check(crossed.crosses)?;
        let (end, most) = (bytes.end.max(bytes.start) as u64, crossed.bytes() as u64);
        match bytes.start <= bytes.end && end <= most {
            true => Ok(()),
            false => Err(FieldError::new("end of the bytes to read", end, most).into()),
        }
    }

    /// Puts every LWE ciphertext of the bytes into its part of `out`, of length `len`.
    fn read_bytes<T: Send>(
        &self,
        crossed: &Crossed,
        bytes: Range<usize>,
        out: &mut [T],
        len: usize,
        put: impl Fn(&mut [T], &[u64]) + Sync,
    ) {
        let (numbers, places) = (self.numbers().count(), &crossed.places[bytes]);
        let mut parts: Vec<Option<&mut [T]>> = out.chunks_exact_mut(len).map(Some).collect();
        // Slots of one ciphertext and class that follow each other are read together.
        let key = |&i: &usize| (places[i].0, self.class(places[i].1), places[i].1);
        let mut order: Vec<usize> = (0..places.len()).collect();
        order.sort_unstable_by_key(key);
        let mut tasks = Vec::new();
        for number in 0..numbers {
            for own in order.chunk_by(|&i, &j| places[i].0 == places[j].0) {
                for some in own.chunks(PER_TASK) {
                    let c = &crossed.numbers[places[some[0]].0][number];
                    let slots: Vec<usize> = some.iter().map(|&i| places[i].1).collect();
                    let parts = some
                        .iter()
                        .filter_map(|i| parts[i * numbers + number].take());
                    tasks.push((c, slots, parts.collect::<Vec<_>>()));
                }
            }
        }
        let scratch = || (self.scratch(), Words::scratch(TOGETHER * self.words()));
        let tasks = tasks.into_par_iter();
        tasks.for_each_init(scratch, |(scratch, lwes), (c, slots, mut parts)| {
            let together = slots.chunks(TOGETHER).zip(parts.chunks_mut(TOGETHER));
            for (slots, parts) in together {
                let lwes = lwes.chunks_exact_mut(self.words()).take(slots.len());
                let mut lwes: Vec<&mut [u64]> = lwes.collect();
                self.read(c, slots, scratch, &mut lwes);
                for (lwe, part) in lwes.iter().zip(parts) {
                    put(part, lwe);
                }
            }
        });
    }

    /// The blocks numbered `blocks`, of 16 bytes each, as a state of a set of TFHE on bits, whose key of results is that of the bridge.
    ///
    /// # Errors
    /// As [`lwes`](Self::lwes); if the crossing is not one of bits; if the bridge does not lead to a key of this set; if there is more noise than states of AES have.
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
        let bytes = BYTES.saturating_mul(blocks.start)..BYTES.saturating_mul(blocks.end);
        let lwes = self.lwes(crossed, bytes)?;
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
/// Bytes of a word in a record.
const WORD_BYTES: usize = 4;

/// The upper 32 bits of a word of the torus, rounded, in little endian.
fn encode_word(x: u64) -> [u8; WORD_BYTES] {
    let half = 1 << (RECORD_BITS - 1);
    ((x.wrapping_add(half) >> RECORD_BITS) as u32).to_le_bytes()
}

/// The words of LWE ciphertexts in a [`SlotsToLwe::record`].
pub fn decode_lwes(bytes: &[u8]) -> Vec<u64> {
    let (words, _) = bytes.as_chunks();
    let word = |x: &[u8; WORD_BYTES]| u64::from(u32::from_le_bytes(*x)) << RECORD_BITS;
    words.iter().map(word).collect()
}

/// Bytes of the record of so many blocks of pairs, for a crossing from `params`.
pub fn record_bytes(params: &Params, blocks: usize) -> u64 {
    let words = params.bridge_ring().map_or(0, |ring| ring.n() + 1);
    (blocks * BYTES * Numbers::Pairs.count() * words * WORD_BYTES) as u64
}

impl ReadingNoise {
    /// Of no readings.
    pub(crate) const NONE: Self = Self {
        log2_sigma: f64::NEG_INFINITY,
        failure_log2: f64::NEG_INFINITY,
    };

    /// If a wrong reading is improbable enough.
    fn checked(self) -> Result<Self> {
        // a figure that is no number is refused
        match self.failure_log2 <= LOG2_P_FAIL {
            true => Ok(self),
            false => Err(Error::TooNoisy {
                failure_log2: self.failure_log2,
            }),
        }
    }

    /// If a value of the crate `tfhe` may have it.
    pub(crate) fn nominal(self) -> Result<()> {
        let (found, limit) = (self.log2_sigma, NOMINAL_LOG2_SIGMA);
        match found <= limit {
            true => Ok(()),
            false => Err(Error::Tfhe(homaes_tfhe::Error::TooNoisy {
                what: "a block for tfhe",
                found,
                limit,
            })),
        }
    }

    /// Of both: the larger noise, the sum of both probabilities.
    pub(crate) fn and(self, other: Self) -> Self {
        let sum = match (self.failure_log2, other.failure_log2) {
            (f64::NEG_INFINITY, p) | (p, f64::NEG_INFINITY) => p,
            (a, b) => homaes_rns::log2::sum(a, b),
        };
        Self {
            log2_sigma: self.log2_sigma.max(other.log2_sigma),
            failure_log2: sum,
        }
    }
}
