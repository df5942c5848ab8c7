//! AES over encrypted bits: the rounds of a batch of blocks.
//!
//! Blocks of a batch that agree in bytes share the work on these until the linear layer has mixed them with others. In
//! counter mode the blocks of a run of 256 differ in one byte: of round 1 they share all look-ups but one per
//! block, of round 2 those of twelve bytes.

use crate::bits::engine::{Engine, Ggsw};
use crate::bits::expand::expand;
use crate::bits::table::{Entry, HALF, entries, offsets, polynomials};
use crate::distinct::Distinct;
use crate::meter::Stage;
use crate::ring::{add, extract, rotate};
use homaes_aes::state::{mix_source, shift_source};
use homaes_aes::{Block, Direction, KeySize};
use homaes_math::Words;
use rayon::prelude::*;

/// Bytes whose bits are rotated together: 16 bits make good use of one pass over the key.
const BYTES_PER_TASK: usize = 2;

/// AES under one wrapped key.
pub(crate) struct BitsAes<'k> {
    pub(crate) engine: Engine<'k>,
    direction: Direction,
    /// 128 LWE ciphertexts each; those of round key 0 serve the observer of round 0 alone
    round_keys: Vec<Words>,
    /// the bits of round key 0
    first: Vec<Ggsw>,
    entries: Vec<Entry>,
    /// tables of the middle rounds and of the last one
    tables: [Vec<u64>; 2],
}

/// Bytes of a batch, each once: eight LWE ciphertexts, or the result of a look-up.
struct Pool {
    bytes: Vec<Words>,
    /// which of them the bytes of every block are
    blocks: Vec<[usize; 16]>,
}

impl<'k> BitsAes<'k> {
    /// Takes the LWE ciphertexts of the key's bits, or of all round keys of `direction`.
    ///
    /// Costs 128 circuit bootstraps, and the key schedule if it is to be run here.
    pub(crate) fn new(
        engine: Engine<'k>,
        (size, direction): (KeySize, Direction),
        key: Vec<Words>,
    ) -> Self {
        let round_keys = if key.len() == 8 * size.key_bytes() {
            expand(&engine, size, direction, key)
        } else {
            key.chunks(128).map(concatenate).collect()
        };
        let len = 8 * BYTES_PER_TASK * engine.lwe_len();
        let first = round_keys[0]
            .par_chunks(len)
            .flat_map_iter(|lwes| engine.circuit_bootstrap(lwes))
            .collect();
        let entries = entries(direction, false);
        let last = super::table::entries(direction, true);
        Self {
            tables: [polynomials(&entries, 0), polynomials(&last, 0)],
            engine,
            direction,
            round_keys,
            first,
            entries,
        }
    }

    /// The LWE ciphertexts of all blocks, 128 each; `observe` is called with those after every round.
    pub(crate) fn evaluate(
        &self,
        blocks: &[Block],
        mut observe: impl FnMut(usize, Words),
    ) -> Words {
        observe(0, self.key_addition(blocks));
        let rounds = self.round_keys.len() - 1;
        let mut found = self.first_round(blocks);
        for round in 1..rounds {
            let state = self.mixed(round, &found);
            observe(round, self.assembled(&state));
            let table = &self.tables[usize::from(round + 1 == rounds)];
            found = self.looked_up(&state, table);
        }
        let state = self.shifted(&found);
        let out = self.assembled(&state);
        observe(rounds, out.clone());
        out
    }

    /// Public blocks plus round key 0.
    fn key_addition(&self, blocks: &[Block]) -> Words {
        let key = &self.round_keys[0];
        let mut out = Words::scratch(blocks.len() * key.len());
        for (block, out) in blocks.iter().zip(out.chunks_exact_mut(key.len())) {
            out.copy_from_slice(key);
            add_public(out, self.engine.lwe_len(), block);
        }
        out
    }

    /// SubBytes of the first round: the index is public but for the key, whose bits are GGSW ciphertexts already.
    fn first_round(&self, blocks: &[Block]) -> Pool {
        let mut distinct = Distinct::default();
        let blocks = blocks
            .iter()
            .map(|block| core::array::from_fn(|i| distinct.number((i, block[i]))))
            .collect();
        let bytes = distinct.keys.into_par_iter().map(|(i, x)| {
            let table = polynomials(&self.entries, x);
            self.engine
                .look_up_ggsw(&self.first[8 * i..8 * i + 8], &table)
        });
        Pool {
            bytes: bytes.collect(),
            blocks,
        }
    }

    /// SubBytes of all other rounds.
    fn looked_up(&self, state: &Pool, table: &[u64]) -> Pool {
        let tasks = tasks(&state.bytes, rayon::current_num_threads());
        // handed out in order, so that the small tasks come last and fill what the threads' different speeds leave open
        let mut found: Vec<(usize, Vec<Words>)> = tasks
            .into_iter()
            .enumerate()
            .par_bridge()
            .map(|(i, bytes)| {
                let tables = vec![table; bytes.len()];
                (i, self.engine.look_up(&concatenate(bytes), &tables))
            })
            .collect();
        found.sort_by_key(|&(i, _)| i);
        Pool {
            bytes: found.into_iter().flat_map(|(_, bytes)| bytes).collect(),
            blocks: state.blocks.clone(),
        }
    }

    /// ShiftRows, MixColumns and AddRoundKey on the results of look-ups.
    fn mixed(&self, round: usize, found: &Pool) -> Pool {
        let mut distinct = Distinct::default();
        let blocks = found.blocks.iter().map(|block| {
            core::array::from_fn(|i| {
                let source = |j| block[shift_source(self.direction, mix_source(i, j))];
                distinct.number((i, core::array::from_fn::<_, 4, _>(source)))
            })
        });
        let blocks = blocks.collect();
        let offsets = offsets(self.direction);
        let bytes = distinct.keys.into_par_iter().map(|(i, sources)| {
            self.engine.meter.time(Stage::Linear, || {
                let mut sum = Words::zeroed(self.engine.glwe_len());
                let mut turned = Words::scratch(self.engine.glwe_len());
                let n = self.engine.set.degree;
                for (source, offset) in sources.into_iter().zip(offsets) {
                    rotate(&found.bytes[source], n, 2 * n - offset, &mut turned);
                    add(&mut sum, &turned);
                }
                self.extracted(&sum, round, i)
            })
        });
        Pool {
            bytes: bytes.collect(),
            blocks,
        }
    }

    /// ShiftRows and AddRoundKey of the last round.
    fn shifted(&self, found: &Pool) -> Pool {
        let mut distinct = Distinct::default();
        let blocks = found.blocks.iter().map(|block| {
            core::array::from_fn(|i| distinct.number((i, block[shift_source(self.direction, i)])))
        });
        let blocks = blocks.collect();
        let round = self.round_keys.len() - 1;
        let bytes = distinct
            .keys
            .into_par_iter()
            .map(|(i, source)| self.extracted(&found.bytes[source], round, i));
        Pool {
            bytes: bytes.collect(),
            blocks,
        }
    }

    /// Coefficients 0 … 7 plus byte i of a round key.
    fn extracted(&self, glwe: &[u64], round: usize, i: usize) -> Words {
        let len = self.engine.lwe_len();
        let mut out = Words::scratch(8 * len);
        for (bit, out) in out.chunks_exact_mut(len).enumerate() {
            extract(glwe, self.engine.set.degree, bit, out);
        }
        add(&mut out, &self.round_keys[round][8 * i * len..][..8 * len]);
        out
    }

    fn assembled(&self, state: &Pool) -> Words {
        let len = 8 * self.engine.lwe_len();
        let mut out = Words::scratch(state.blocks.len() * 16 * len);
        let bytes = state.blocks.as_flattened();
        for (&byte, out) in bytes.iter().zip(out.chunks_exact_mut(len)) {
            out.copy_from_slice(&state.bytes[byte]);
        }
        out
    }
}

/// Adds a public block to 128 LWE ciphertexts of bits.
pub(crate) fn add_public(lwes: &mut [u64], len: usize, block: &Block) {
    for (i, lwe) in lwes.chunks_exact_mut(len).enumerate() {
        if block[i / 8] >> (i % 8) & 1 == 1 {
            lwe[len - 1] = lwe[len - 1].wrapping_add(HALF);
        }
    }
}

/// Bytes in tasks of [`BYTES_PER_TASK`], but one by one at the end: two for each thread.
fn tasks(bytes: &[Words], threads: usize) -> Vec<&[Words]> {
    let single = if threads > 1 { 2 * threads } else { 0 };
    let (front, back) = bytes.split_at(bytes.len().saturating_sub(single));
    front.chunks(BYTES_PER_TASK).chain(back.chunks(1)).collect()
}

fn concatenate(parts: &[Words]) -> Words {
    let mut out = Words::scratch(parts.iter().map(|p| p.len()).sum());
    let mut rest = &mut out[..];
    for part in parts {
        let (front, back) = rest.split_at_mut(part.len());
        front.copy_from_slice(part);
        rest = back;
    }
    out
}
