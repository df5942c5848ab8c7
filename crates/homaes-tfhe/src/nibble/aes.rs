//! AES over encrypted digits: the rounds of a batch of blocks.
//!
//! Blocks of a batch that agree in bytes share the work on these, as in [`crate::bits::aes`].
//!
//! Rotations of one block, encrypting: 16 · 6 for the look-ups of the first round, whose multi-value bootstraps belong to the key, and 16 · 7
//! for those of each further one (16 · 3 in the last); per round of MixColumns 32 · (6 - 1/2), the half by sharing; 32 per round key.

use crate::distinct::Distinct;
use crate::nibble::engine::{Engine, Group, Job, Work};
use crate::nibble::expand::expand;
use crate::nibble::linear::{Pool, mix};
use crate::nibble::table::{Table, exclusive_or, public_test_polynomial, sbox_tables};
use crate::state::Observe;
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
    /// test polynomials of exclusive or with the digits of round keys 1, 2, …: 32 each
    round_keys: Arc<Vec<Words>>,
    /// of exclusive or, alone
    xor: Arc<Vec<Table>>,
    /// of the middle rounds and of the last one
    tables: Arc<[Vec<Table>; 2]>,
}

/// Round key 0.
struct FirstKey {
    /// multi-value bootstraps of its digits
    rotated: Vec<Words>,
    /// for blind rotation by the high digit of each byte
    amounts: Vec<Vec<usize>>,
}

/// Results of look-ups: low and high digit for each table, byte by byte.
struct Found {
    digits: Vec<Words>,
    /// which byte the bytes of every block are
    blocks: Vec<[usize; 16]>,
}

impl<'k> NibbleAes<'k> {
    /// Takes the digits of the key, or of all round keys of `direction`; low digits first.
    ///
    /// Costs one rotation for each digit of the round keys, and the key schedule if it is to be run here.
    pub(crate) fn new(
        engine: Engine<'k>,
        (size, direction): (KeySize, Direction),
        key: Vec<Words>,
    ) -> Self {
        let tables = |functions: &[_]| -> Vec<Table> {
            let each = functions.iter();
            each.map(|f: &Vec<_>| Table::new(engine.set, engine.fourier, f))
                .collect()
        };
        let xor = tables(&[exclusive_or()]);
        let (digits, mut round_keys) = if key.len() == 2 * size.key_bytes() {
            let expanded = expand(&engine, &xor, size, direction, key);
            (expanded.digits, expanded.tests)
        } else {
            (key, Vec::new())
        };
        // those of round key 0 are not needed
        round_keys.drain(..round_keys.len().min(32));
        let rest: Vec<&[u64]> = digits[32 + round_keys.len()..]
            .iter()
            .map(|d| &d[..])
            .collect();
        round_keys.extend(engine.all_test_polynomials(&rest, &xor));
        let all: Vec<&[u64]> = digits[..32].iter().map(|d| &d[..]).collect();
        let amounts = engine.rotation_exponents(&all);
        let rotated = amounts
            .par_chunks(engine.share(32))
            .flat_map_iter(|amounts| engine.multi_value(amounts));
        let first = FirstKey {
            rotated: rotated.collect(),
            amounts: amounts.into_iter().skip(1).step_by(2).collect(),
        };
        let tables = [false, true].map(|last| tables(&sbox_tables(direction, last, 0)));
        Self {
            engine,
            direction,
            first: Arc::new(first),
            round_keys: Arc::new(round_keys),
            xor: Arc::new(xor),
            tables: Arc::new(tables),
        }
    }

    /// The digits of all blocks, 32 each; `observe` is called with those after every round.
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
            show(round, &|| self.assembled(&state));
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
        let out = self.assembled(&self.keyed(rounds, &last));
        show(rounds, &|| out.clone());
        out
    }

    /// Public blocks plus round key 0: functions of the key's digits, without a rotation.
    fn key_addition(&self, blocks: &[Block]) -> Words {
        let mut distinct = Distinct::default();
        let blocks = blocks
            .iter()
            .map(|block| core::array::from_fn(|d| distinct.number((d, digit(block, d)))))
            .collect();
        let digits = distinct.keys.into_par_iter().map(|(d, p)| {
            let f: Vec<u8> = (0..16).map(|x| x ^ p).collect();
            self.engine.function(&self.first.rotated[d], &f)
        });
        self.assembled(&Pool {
            digits: digits.collect(),
            blocks,
        })
    }

    /// SubBytes of the first round: tables permuted by the public byte, on the key.
    fn first_round(&self, blocks: &[Block]) -> Found {
        let mut distinct = Distinct::default();
        let blocks = blocks
            .iter()
            .map(|block| core::array::from_fn(|i| distinct.number((i, block[i]))))
            .collect();
        let engine = &self.engine;
        let tasks = distinct.keys.par_chunks(engine.share(distinct.keys.len()));
        let digits = tasks.flat_map_iter(|bytes| {
            let mut work = Work::new(engine);
            let tests: Vec<Vec<Words>> = bytes
                .iter()
                .map(|&(i, p)| {
                    let tables: Vec<Table> = sbox_tables(self.direction, false, p)
                        .iter()
                        .map(|f| Table::new(engine.set, engine.fourier, f))
                        .collect();
                    engine.test_polynomials(&self.first.rotated[2 * i], &tables, &mut work)
                })
                .collect();
            let jobs: Vec<Job<'_>> = bytes
                .iter()
                .zip(&tests)
                .flat_map(|(&(i, _), tests)| {
                    tests
                        .iter()
                        .map(move |test| (&self.first.amounts[i][..], &test[..]))
                })
                .collect();
            engine.choose(&jobs)
        });
        Found {
            digits: digits.collect(),
            blocks,
        }
    }

    /// SubBytes of all other rounds, with the multiples that the linear layer takes.
    fn looked_up(&self, state: &Pool, tables: &[Table]) -> Found {
        let mut distinct = Distinct::default();
        let blocks = state
            .blocks
            .iter()
            .map(|block| {
                core::array::from_fn(|i| distinct.number([block[2 * i], block[2 * i + 1]]))
            })
            .collect();
        let groups: Vec<Group<'_>> = distinct
            .keys
            .iter()
            .map(|&[low, high]| Group {
                first: &state.digits[low],
                seconds: vec![&state.digits[high]],
                tables,
            })
            .collect();
        Found {
            digits: self.engine.combine(&groups),
            blocks,
        }
    }

    /// ShiftRows.
    fn shifted(&self, found: &Found) -> Vec<[usize; 16]> {
        let shift =
            |block: &[usize; 16]| core::array::from_fn(|i| block[shift_source(self.direction, i)]);
        found.blocks.iter().map(shift).collect()
    }

    /// AddRoundKey.
    fn keyed(&self, round: usize, state: &Pool) -> Pool {
        let mut distinct = Distinct::default();
        let blocks = state
            .blocks
            .iter()
            .map(|block| core::array::from_fn(|d| distinct.number((block[d], d))))
            .collect();
        let keys = &self.round_keys[32 * (round - 1)..];
        let jobs: Vec<(&[u64], &[u64])> = distinct
            .keys
            .iter()
            .map(|&(digit, d)| (&state.digits[digit][..], &keys[d][..]))
            .collect();
        Pool {
            digits: self.engine.apply(&jobs),
            blocks,
        }
    }

    fn assembled(&self, state: &Pool) -> Words {
        let len = self.engine.lwe_len();
        let mut out = Words::scratch(state.blocks.len() * 32 * len);
        let digits = state.blocks.as_flattened();
        for (&digit, out) in digits.iter().zip(out.chunks_exact_mut(len)) {
            out.copy_from_slice(&state.digits[digit]);
        }
        out
    }

    /// Adds public blocks to a state of as many blocks: one rotation for each digit that is not zero.
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
            .chunks_exact_mut(self.engine.lwe_len())
            .zip(public)
            .filter(|&(_, p)| p != 0)
            .collect();
        let jobs: Vec<(&[u64], &[u64])> = touched
            .iter()
            .map(|(digit, p)| (&**digit, &tests[usize::from(*p)][..]))
            .collect();
        let found = self.engine.apply(&jobs);
        for ((digit, _), found) in touched.iter_mut().zip(found) {
            digit.copy_from_slice(&found);
        }
    }
}

/// Digit d of a block.
pub(crate) fn digit(block: &Block, d: usize) -> u8 {
    block[d / 2] >> (4 * (d % 2)) & 15
}

#[cfg(test)]
mod tests;
