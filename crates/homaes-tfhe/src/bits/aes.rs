//! AES on encrypted bits: the rounds of a batch of blocks.
//!
//! Blocks that agree in a byte share its work until the linear layer mixes it with others. Counter blocks of a run of
//! 256 differ in one byte: they share all look-ups of round 1 but one per block, and those of twelve bytes in round 2.

use crate::bits::engine::{BYTES_PER_TASK, Engine, Ggsw, LweByte, bytes_per_task};
use crate::bits::expand::expand;
use crate::bits::table::{Entry, HALF, entries, offsets, polynomials};
use crate::ciphertext::{Big, Glwe, Lwe};
use crate::distinct::distinct;
use crate::flow::{self, Item, Show};
use crate::meter::Stage;
use crate::state::{Observe, words_of};
use homaes_aes::state::{mix_source, shift_source};
use homaes_aes::{Block, Direction, KeySize};
use homaes_math::Words;
use rayon::prelude::*;
use std::sync::Arc;

/// AES under one wrapped key. Cheap to clone.
#[derive(Clone)]
pub(crate) struct BitsAes<'k> {
    pub(crate) engine: Engine<'k>,
    direction: Direction,
    /// 128 bits each; round key 0 serves only the observer of round 0
    round_keys: Arc<Vec<Vec<Lwe<Big>>>>,
    /// GGSW bits of round key 0
    first: Arc<Vec<Ggsw>>,
    entries: Arc<Vec<Entry>>,
    /// tables of the middle rounds and of the last one
    tables: Arc<[Vec<u64>; 2]>,
}

impl<'k> BitsAes<'k> {
    /// Takes the bits of the key, or of all round keys of `direction`. Costs 128 circuit bootstraps, and the key
    /// schedule if only the key is given.
    pub(crate) fn new(
        engine: Engine<'k>,
        (size, direction): (KeySize, Direction),
        key: Vec<Lwe<Big>>,
    ) -> Self {
        let round_keys = if key.len() == 8 * size.key_bytes() {
            expand(&engine, size, direction, key)
        } else {
            key.chunks(128).map(<[_]>::to_vec).collect()
        };
        let bits: Vec<&Lwe<Big>> = round_keys[0].iter().collect();
        let first = bits
            .par_chunks(8 * bytes_per_task(bits.len() / 8))
            .flat_map_iter(|bits| engine.circuit_bootstrap(bits))
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

    /// Returns the words of the state of all blocks; `observe` sees them after every round. The last look-ups of a
    /// round overlap the first ones of the next.
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
        // a byte of layer l is a look-up of round l + 2, on the state after round l + 1
        let prepare = |(layer, number): (usize, usize), sources: &[Arc<Glwe>]| {
            let (i, _) = middle[layer][number];
            self.mix(sources, layer + 1, i)
        };
        let work = |items: &[Item<LweByte>]| {
            let bytes: Vec<&LweByte> = items.iter().map(|item| &*item.input).collect();
            let tables: Vec<&[u64]> = items
                .iter()
                .map(|item| &self.tables[usize::from(item.layer + 2 == rounds)][..])
                .collect();
            self.engine.look_up(&bytes, &tables)
        };
        let first = self.first_round(&keys);
        let mut show = observe.as_mut().map(|observe| {
            |layer: usize, bytes: Vec<Arc<LweByte>>| {
                observe(layer + 1, words_of_bytes(|i| &bytes[i], &layers[layer + 1]));
            }
        });
        let show = show.as_mut().map(|show| show as Show<'_, LweByte>);
        let found = flow::run(&needs, first, BYTES_PER_TASK, prepare, work, show);
        let (bytes, blocks) = shifted(self.direction, layers.last().expect("the first"));
        let state: Vec<LweByte> = bytes
            .into_par_iter()
            .map(|(i, source)| self.extracted(&found[source], rounds, i))
            .collect();
        let out = words_of_bytes(|i| &state[i], &blocks);
        if let Some(observe) = &mut observe {
            observe(rounds, out.clone());
        }
        out
    }

    fn key_addition(&self, blocks: &[Block]) -> Words {
        let key = &self.round_keys[0];
        let lwes: Vec<&Lwe<Big>> = blocks.iter().flat_map(|_| key).collect();
        let mut out = words_of(&lwes);
        let len = key[0].words().len();
        for (block, out) in blocks.iter().zip(out.chunks_exact_mut(128 * len)) {
            add_public(out, len, block);
        }
        out
    }

    /// SubBytes of round 1: GGSW bits of the key index tables that are permuted by the public byte.
    fn first_round(&self, bytes: &[(usize, u8)]) -> Vec<Glwe> {
        let bytes = bytes.par_iter().map(|&(i, x)| {
            let table = polynomials(&self.entries, x);
            self.engine
                .look_up_ggsw(&self.first[8 * i..8 * i + 8], &table)
        });
        bytes.collect()
    }

    /// Byte i of MixColumns from four look-ups, plus the round key.
    fn mix(&self, sources: &[Arc<Glwe>], round: usize, i: usize) -> LweByte {
        self.engine.base.meter.time(Stage::Linear, || {
            let mut sum = self.engine.base.zero();
            let mut turned = self.engine.base.scratch();
            let n = self.engine.set.degree;
            for (source, offset) in sources.iter().zip(offsets(self.direction)) {
                source.rotate(2 * n - offset, &mut turned);
                sum.add(&turned);
            }
            self.extracted(&sum, round, i)
        })
    }

    /// Coefficients 0 … 7 plus byte i of the round key.
    fn extracted(&self, glwe: &Glwe, round: usize, i: usize) -> LweByte {
        core::array::from_fn(|bit| {
            let mut out = glwe.extract(bit);
            out.add(&self.round_keys[round][8 * i + bit]);
            out
        })
    }
}

fn words_of_bytes<'b>(byte: impl Fn(usize) -> &'b LweByte, blocks: &[[usize; 16]]) -> Words {
    let places = blocks.as_flattened().iter();
    let lwes: Vec<&Lwe<Big>> = places.flat_map(|&i| byte(i)).collect();
    words_of(&lwes)
}

/// By block and byte: index of a distinct byte of the layer.
type Places = Vec<[usize; 16]>;

/// The distinct look-ups of round 1: position in the block, and public byte.
fn first_layer(blocks: &[Block]) -> (Vec<(usize, u8)>, Places) {
    distinct(blocks, |block, i| (i, block[i]))
}

/// ShiftRows and MixColumns: position i, and its four bytes of the previous layer.
fn mixed(direction: Direction, before: &[[usize; 16]]) -> (Vec<(usize, [usize; 4])>, Places) {
    distinct(before, |block, i| {
        let source = |j| block[shift_source(direction, mix_source(i, j))];
        (i, core::array::from_fn(source))
    })
}

fn shifted(direction: Direction, before: &[[usize; 16]]) -> (Vec<(usize, usize)>, Places) {
    distinct(before, |block, i| (i, block[shift_source(direction, i)]))
}

/// Adds a public block to the 128 LWE ciphertexts of a block, of `len` words each.
pub(crate) fn add_public(lwes: &mut [u64], len: usize, block: &Block) {
    for (i, lwe) in lwes.chunks_exact_mut(len).enumerate() {
        if block[i / 8] >> (i % 8) & 1 == 1 {
            lwe[len - 1] = lwe[len - 1].wrapping_add(HALF);
        }
    }
}
