//! AES over encrypted bits: the rounds of a batch of blocks.
//!
//! Blocks of a batch that agree in bytes share the work on these until the linear layer has mixed them with others. In
//! counter mode the blocks of a run of 256 differ in one byte: of round 1 they share all look-ups but one per
//! block, of round 2 those of twelve bytes.

use crate::bits::engine::{Engine, Ggsw};
use crate::bits::expand::expand;
use crate::bits::table::{Entry, HALF, entries, offsets, polynomials};
use crate::distinct::Distinct;
use crate::flow::{self, Item, Show};
use crate::meter::Stage;
use crate::ring::{add, extract, rotate};
use crate::state::Observe;
use core::hash::Hash;
use core::ops::Deref;
use homaes_aes::state::{mix_source, shift_source};
use homaes_aes::{Block, Direction, KeySize};
use homaes_math::Words;
use rayon::prelude::*;
use std::sync::Arc;

/// Bytes whose bits are rotated together: 16 bits make good use of one pass over the key.
const BYTES_PER_TASK: usize = 2;

/// AES under one wrapped key. Cheap to clone.
#[derive(Clone)]
pub(crate) struct BitsAes<'k> {
    pub(crate) engine: Engine<'k>,
    direction: Direction,
    /// 128 LWE ciphertexts each; those of round key 0 serve the observer of round 0 alone
    round_keys: Arc<Vec<Words>>,
    /// the bits of round key 0
    first: Arc<Vec<Ggsw>>,
    entries: Arc<Vec<Entry>>,
    /// tables of the middle rounds and of the last one
    tables: Arc<[Vec<u64>; 2]>,
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
            tables: Arc::new([polynomials(&entries, 0), polynomials(&last, 0)]),
            engine,
            direction,
            round_keys: Arc::new(round_keys),
            first: Arc::new(first),
            entries: Arc::new(entries),
        }
    }

    /// The LWE ciphertexts of all blocks, 128 each; `observe` is called with those after every round. The last bytes of a round
    /// are looked up beside the first ones of the next.
    pub(crate) fn evaluate(&self, blocks: &[Block], mut observe: Option<Observe<'_>>) -> Words {
        if let Some(observe) = &mut observe {
            observe(0, self.key_addition(blocks));
        }
        let rounds = self.round_keys.len() - 1;
        let (keys, first) = first_layer(blocks);
        let mut layers: Vec<Places> = vec![first];
        let mut middle = Vec::new();
        for _ in 1..rounds {
            let (bytes, blocks) = mixed(self.direction, layers.last().expect("the first"));
            middle.push(bytes);
            layers.push(blocks);
        }
        let needs: Vec<Vec<Vec<usize>>> = middle
            .iter()
            .map(|bytes| bytes.iter().map(|(_, sources)| sources.to_vec()).collect())
            .collect();
        // a byte of layer l is SubBytes of round l + 2, whose input is the state after round l + 1
        let prepare = |(layer, number): (usize, usize), sources: &[Arc<Words>]| {
            let (i, _) = middle[layer][number];
            self.mix(sources, layer + 1, i)
        };
        let work = |items: &[Item<Words>]| {
            let bytes: Vec<&[u64]> = items.iter().map(|item| &item.input[..]).collect();
            let tables: Vec<&[u64]> = items
                .iter()
                .map(|item| &self.tables[usize::from(item.layer + 2 == rounds)][..])
                .collect();
            self.engine.look_up(&concatenate(&bytes), &tables)
        };
        let first = self.first_round(&keys);
        let mut show = observe.as_mut().map(|observe| {
            |layer: usize, bytes: Vec<Arc<Words>>| {
                observe(layer + 1, self.assembled(|i| &bytes[i], &layers[layer + 1]));
            }
        });
        let show = show.as_mut().map(|show| show as Show<'_, Words>);
        let found = flow::run(&needs, first, BYTES_PER_TASK, prepare, work, show);
        let (bytes, blocks) = shifted(self.direction, layers.last().expect("the first"));
        let state: Vec<Words> = bytes
            .into_par_iter()
            .map(|(i, source)| self.extracted(&found[source], rounds, i))
            .collect();
        let out = self.assembled(|i| &state[i], &blocks);
        if let Some(observe) = &mut observe {
            observe(rounds, out.clone());
        }
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
    fn first_round(&self, bytes: &[(usize, u8)]) -> Vec<Words> {
        let bytes = bytes.par_iter().map(|&(i, x)| {
            let table = polynomials(&self.entries, x);
            self.engine
                .look_up_ggsw(&self.first[8 * i..8 * i + 8], &table)
        });
        bytes.collect()
    }

    /// Byte i of MixColumns from four results of look-ups, plus that of a round key.
    fn mix(&self, sources: &[Arc<Words>], round: usize, i: usize) -> Words {
        self.engine.meter.time(Stage::Linear, || {
            let mut sum = Words::zeroed(self.engine.glwe_len());
            let mut turned = Words::scratch(self.engine.glwe_len());
            let n = self.engine.set.degree;
            for (source, offset) in sources.iter().zip(offsets(self.direction)) {
                rotate(source, n, 2 * n - offset, &mut turned);
                add(&mut sum, &turned);
            }
            self.extracted(&sum, round, i)
        })
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

    /// The bytes of all blocks, one after the other.
    fn assembled<'b>(&self, byte: impl Fn(usize) -> &'b [u64], blocks: &[[usize; 16]]) -> Words {
        let len = 8 * self.engine.lwe_len();
        let mut out = Words::scratch(blocks.len() * 16 * len);
        let all = blocks.as_flattened().iter();
        for (&i, out) in all.zip(out.chunks_exact_mut(len)) {
            out.copy_from_slice(byte(i));
        }
        out
    }
}

/// By block and byte: index into the layer's distinct bytes.
type Places = Vec<[usize; 16]>;

/// The different bytes, i-th of a block, that the first round looks up.
fn first_layer(blocks: &[Block]) -> (Vec<(usize, u8)>, Places) {
    distinct(blocks, |block, i| (i, block[i]))
}

/// ShiftRows and MixColumns: byte i from four bytes of the layer before.
fn mixed(direction: Direction, before: &[[usize; 16]]) -> (Vec<(usize, [usize; 4])>, Places) {
    distinct(before, |block, i| {
        let source = |j| block[shift_source(direction, mix_source(i, j))];
        (i, core::array::from_fn(source))
    })
}

/// ShiftRows alone.
fn shifted(direction: Direction, before: &[[usize; 16]]) -> (Vec<(usize, usize)>, Places) {
    distinct(before, |block, i| (i, block[shift_source(direction, i)]))
}

/// The inputs of all blocks without repetitions, and the place of each byte among them.
fn distinct<B, K: Copy + Eq + Hash>(
    blocks: &[B],
    key: impl Fn(&B, usize) -> K,
) -> (Vec<K>, Places) {
    let mut distinct = Distinct::default();
    let places = blocks
        .iter()
        .map(|block| core::array::from_fn(|i| distinct.number(key(block, i))))
        .collect();
    (distinct.keys, places)
}

/// Adds a public block to 128 LWE ciphertexts of bits.
pub(crate) fn add_public(lwes: &mut [u64], len: usize, block: &Block) {
    for (i, lwe) in lwes.chunks_exact_mut(len).enumerate() {
        if block[i / 8] >> (i % 8) & 1 == 1 {
            lwe[len - 1] = lwe[len - 1].wrapping_add(HALF);
        }
    }
}

fn concatenate(parts: &[impl Deref<Target = [u64]>]) -> Words {
    let mut out = Words::scratch(parts.iter().map(|p| p.len()).sum());
    let mut rest = &mut out[..];
    for part in parts {
        let (front, back) = rest.split_at_mut(part.len());
        front.copy_from_slice(part);
        rest = back;
    }
    out
}
