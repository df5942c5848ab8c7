//! AES on encrypted digits: the rounds of a batch of blocks. Blocks share work as in [`crate::bits::aes`].
//!
//! Rotations of one block, encrypting: look-ups take 16 · 6 in round 1, whose multi-value bootstraps are made once per
//! key, then 16 · 7 (16 · 3 in the last round); MixColumns 32 · (6 - 1/2), the half by sharing; a round key 32.

use crate::ciphertext::{Big, Glwe, Lwe, Polynomial};
use crate::distinct::distinct;
use crate::nibble::engine::{Engine, Group, Work};
use crate::nibble::expand::expand;
use crate::nibble::linear::{Pool, mix};
use crate::nibble::table::{Table, exclusive_or, public_test_polynomial, sbox_tables};
use crate::rotation::{Exponents, Rotation};
use crate::state::{Observe, words_of};
use homaes_aes::state::shift_source;
use homaes_aes::{Block, Direction, KeySize};
use homaes_math::Words;
use rayon::prelude::*;
use std::sync::Arc;

/// AES under one wrapped key. Cheap to clone.
#[derive(Clone)]
pub(crate) struct NibbleAes<'k> {
    pub(crate) engine: Engine<'k>,
    direction: Direction,
    first: Arc<FirstKey>,
    /// test polynomials for XOR with the digits of round keys 1, 2, …: 32 each
    round_keys: Arc<Vec<Glwe>>,
    xor: Arc<Vec<Table>>,
    /// tables of the middle rounds, and of the last one
    tables: Arc<[Vec<Table>; 2]>,
}

struct FirstKey {
    /// multi-value bootstraps of the digits
    rotated: Vec<Glwe>,
    /// high digit of each byte, for blind rotation
    exponents: Vec<Exponents>,
}

/// Results of look-ups: byte by byte, low and high digit for each table.
struct Found {
    digits: Vec<Lwe<Big>>,
    /// by block and byte: index of a distinct byte
    blocks: Vec<[usize; 16]>,
}

impl<'k> NibbleAes<'k> {
    /// Takes the digits of the key, or of all round keys of `direction`, low digits first. Costs one rotation per digit
    /// of the round keys, and the key schedule if only the key is given.
    pub(crate) fn new(
        engine: Engine<'k>,
        (size, direction): (KeySize, Direction),
        key: Vec<Lwe<Big>>,
    ) -> Self {
        let xor = engine.tables(&[exclusive_or()]);
        let (digits, mut round_keys) = if key.len() == 2 * size.key_bytes() {
            let expanded = expand(&engine, &xor, size, direction, key);
            (expanded.digits, expanded.tests)
        } else {
            (key, Vec::new())
        };
        // round key 0 is used without test polynomials
        round_keys.drain(..round_keys.len().min(32));
        let rest: Vec<&Lwe<Big>> = digits[32 + round_keys.len()..].iter().collect();
        round_keys.extend(engine.all_test_polynomials(&rest, &xor));
        let first: Vec<&Lwe<Big>> = digits[..32].iter().collect();
        let exponents = engine.rotation_exponents(&first);
        let rotated = exponents
            .par_chunks(engine.share(32))
            .flat_map_iter(|exponents| engine.multi_value(exponents));
        let first = FirstKey {
            rotated: rotated.collect(),
            exponents: exponents.into_iter().skip(1).step_by(2).collect(),
        };
        let tables = [false, true].map(|last| engine.tables(&sbox_tables(direction, last, 0)));
        Self {
            engine,
            direction,
            first: Arc::new(first),
            round_keys: Arc::new(round_keys),
            xor: Arc::new(xor),
            tables: Arc::new(tables),
        }
    }

    /// Returns the words of the state of all blocks; `observe` sees them after every round.
    pub(crate) fn evaluate(&self, blocks: &[Block], mut observe: Option<Observe<'_>>) -> Words {
        let mut show = |round, state: &dyn Fn() -> Words| {
            if let Some(observe) = &mut observe {
                observe(round, state());
            }
        };
        show(0, &|| self.key_addition(blocks));
        let rounds = self.round_keys.len() / 32;
        let mut found = self.first_round(blocks);
        for round in 1..rounds {
            let shifted = self.shifted(&found);
            let (engine, direction) = (&self.engine, self.direction);
            let mixed = mix(engine, &self.xor, direction, &found.digits, &shifted);
            let state = self.keyed(round, &mixed);
            show(round, &|| words_of_pool(&state));
            found = self.looked_up(&state, &self.tables[usize::from(round + 1 == rounds)]);
        }
        let blocks = self.shifted(&found);
        let last = Pool {
            digits: found.digits,
            blocks: blocks
                .iter()
                .map(|block| core::array::from_fn(|d| 2 * block[d / 2] + d % 2))
                .collect(),
        };
        let out = words_of_pool(&self.keyed(rounds, &last));
        show(rounds, &|| out.clone());
        out
    }

    /// The public blocks plus round key 0: functions of the key's digits, without a rotation.
    fn key_addition(&self, blocks: &[Block]) -> Words {
        let (keys, blocks) = distinct(blocks, |block, d| (d, digit(block, d)));
        let digits = keys.into_par_iter().map(|(d, p)| {
            let f: Vec<u8> = (0..16).map(|x| x ^ p).collect();
            self.engine.function(&self.first.rotated[d], &f)
        });
        words_of_pool(&Pool {
            digits: digits.collect(),
            blocks,
        })
    }

    /// SubBytes of round 1: look-ups of the key in tables permuted by the public byte.
    fn first_round(&self, blocks: &[Block]) -> Found {
        let (keys, blocks) = distinct(blocks, |block, i| (i, block[i]));
        let engine = &self.engine;
        let tasks = keys.par_chunks(engine.share(keys.len()));
        let digits = tasks.flat_map_iter(|bytes| {
            let mut work = Work::new(engine);
            let tests: Vec<Vec<Glwe>> = bytes
                .iter()
                .map(|&(i, p)| {
                    let tables = engine.tables(&sbox_tables(self.direction, false, p));
                    engine.test_polynomials(&self.first.rotated[2 * i], &tables, &mut work)
                })
                .collect();
            let rotations: Vec<Rotation<'_>> = bytes
                .iter()
                .zip(&tests)
                .flat_map(|(&(i, _), tests)| self.first.exponents[i].rotations(tests))
                .collect();
            engine.choose(&rotations)
        });
        Found {
            digits: digits.collect(),
            blocks,
        }
    }

    /// SubBytes of the other rounds, with the multiples that the linear layer needs.
    fn looked_up(&self, state: &Pool, tables: &[Table]) -> Found {
        let (keys, blocks) = distinct(&state.blocks, |block, i| [block[2 * i], block[2 * i + 1]]);
        let groups = keys
            .iter()
            .map(|&[low, high]| Group::pair(&state.digits[low], &state.digits[high], tables));
        Found {
            digits: self.engine.combine(&groups.collect::<Vec<_>>()),
            blocks,
        }
    }

    fn shifted(&self, found: &Found) -> Vec<[usize; 16]> {
        let shift =
            |block: &[usize; 16]| core::array::from_fn(|i| block[shift_source(self.direction, i)]);
        found.blocks.iter().map(shift).collect()
    }

    /// AddRoundKey.
    fn keyed(&self, round: usize, state: &Pool) -> Pool {
        let (places, blocks) = distinct(&state.blocks, |block, d| (block[d], d));
        let keys = &self.round_keys[32 * (round - 1)..];
        let pairs = places
            .iter()
            .map(|&(digit, d)| (&state.digits[digit], Polynomial::Encrypted(&keys[d])));
        Pool {
            digits: self.engine.apply(&pairs.collect::<Vec<_>>()),
            blocks,
        }
    }

    /// Adds public blocks to a state of as many blocks: one rotation per nonzero digit.
    pub(crate) fn xor_public(&self, state: &mut [u64], blocks: &[Block]) {
        let set = self.engine.set;
        let tests: Vec<Vec<u64>> = (0..16)
            .map(|p| {
                let f: Vec<u8> = (0..16).map(|x| x ^ p).collect();
                public_test_polynomial(set, &f)
            })
            .collect();
        let public = blocks
            .iter()
            .flat_map(|block| (0..32).map(|d| digit(block, d)));
        let mut touched: Vec<(&mut [u64], u8)> = state
            .chunks_exact_mut(set.degree + 1)
            .zip(public)
            .filter(|&(_, p)| p != 0)
            .collect();
        let digits = touched.iter().map(|(words, _)| Lwe::from_words(words));
        let digits: Vec<Lwe<Big>> = digits.collect();
        let pairs: Vec<(&Lwe<Big>, Polynomial<'_>)> = digits
            .iter()
            .zip(&touched)
            .map(|(digit, (_, p))| (digit, Polynomial::Public(&tests[usize::from(*p)])))
            .collect();
        let found = self.engine.apply(&pairs);
        for ((words, _), found) in touched.iter_mut().zip(found) {
            words.copy_from_slice(found.words());
        }
    }
}

fn words_of_pool(state: &Pool) -> Words {
    let digits = state.blocks.as_flattened().iter();
    let digits: Vec<&Lwe<Big>> = digits.map(|&digit| &state.digits[digit]).collect();
    words_of(&digits)
}

pub(crate) fn digit(block: &Block, d: usize) -> u8 {
    block[d / 2] >> (4 * (d % 2)) & 15
}
