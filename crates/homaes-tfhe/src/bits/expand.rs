//! The AES key schedule under encryption.
//!
//! Every bit of a round key is a sum of key bits and SubWord result bits. Sums are sets of variables modulo 2, and only
//! the needed ones become ciphertexts. Each SubWord result is refreshed by one more blind rotation; otherwise noise
//! would grow from round to round.

use crate::bits::engine::{Engine, LweByte, bytes_per_task};
use crate::bits::table::{HALF, entries, polynomials};
use crate::ciphertext::{Big, Lwe};
use homaes_aes::{Direction, KeySize, gf256};
use rayon::prelude::*;

/// A sum of variables and a constant modulo 2.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Form {
    variables: Vec<u64>,
    one: bool,
}

impl Form {
    fn variable(v: usize) -> Self {
        let mut variables = vec![0; v / 64 + 1];
        variables[v / 64] = 1 << (v % 64);
        Self {
            variables,
            one: false,
        }
    }

    fn add(&mut self, other: &Self) {
        let len = self.variables.len().max(other.variables.len());
        self.variables.resize(len, 0);
        for (a, b) in self.variables.iter_mut().zip(&other.variables) {
            *a ^= b;
        }
        self.one ^= other.one;
    }

    fn evaluate(&self, variables: &[Lwe<Big>]) -> Lwe<Big> {
        let mut out = Lwe::zeroed(variables[0].dimension());
        for (w, mut word) in self.variables.iter().copied().enumerate() {
            while word != 0 {
                out.add(&variables[64 * w + word.trailing_zeros() as usize]);
                word &= word - 1;
            }
        }
        if self.one {
            out.add_constant(HALF);
        }
        out
    }
}

/// A byte, bit 0 first.
type Byte = [Form; 8];

/// All round keys of `direction`, 128 bits each, from the bits of the key. Costs 64 blind rotations per SubWord;
/// AES-128/192/256 have 10, 8 and 13.
pub(crate) fn expand(
    engine: &Engine<'_>,
    size: KeySize,
    direction: Direction,
    key: Vec<Lwe<Big>>,
) -> Vec<Vec<Lwe<Big>>> {
    let mut variables = key;
    let table = polynomials(&entries(Direction::Encrypt, true), 0);
    // words of four bytes, FIPS-197 section 5.2
    let len = size.key_bytes() / 4;
    let mut words: Vec<[Byte; 4]> = (0..len)
        .map(|w| {
            core::array::from_fn(|b| {
                core::array::from_fn(|bit| Form::variable(8 * (4 * w + b) + bit))
            })
        })
        .collect();
    let mut round_constant = 1u8;
    for i in len..4 * size.round_keys() {
        let mut word = words[i - 1].clone();
        if i.is_multiple_of(len) {
            word.rotate_left(1);
            word = sub_word(engine, &table, &word, &mut variables);
            for (bit, form) in word[0].iter_mut().enumerate() {
                form.one ^= round_constant >> bit & 1 == 1;
            }
            round_constant = gf256::mul(round_constant, 2);
        } else if len > 6 && i % len == 4 {
            word = sub_word(engine, &table, &word, &mut variables);
        }
        for (byte, before) in word.iter_mut().zip(&words[i - len]) {
            byte.iter_mut().zip(before).for_each(|(x, y)| x.add(y));
        }
        words.push(word);
    }
    let mut rounds: Vec<Vec<Byte>> = words.chunks_exact(4).map(|w| w.concat()).collect();
    if direction == Direction::Decrypt {
        rounds.reverse();
        let last = rounds.len() - 1;
        rounds[1..last].iter_mut().for_each(inverse_mix);
    }
    rounds
        .par_iter()
        .map(|bytes| {
            let forms = bytes.iter().flatten();
            forms.map(|form| form.evaluate(&variables)).collect()
        })
        .collect()
}

/// InvMixColumns of a round key (FIPS-197 section 5.3.5).
fn inverse_mix(bytes: &mut Vec<Byte>) {
    use homaes_aes::state::{circulant, mix_source};
    let mixed = (0..16).map(|i| {
        let mut sum: Byte = Default::default();
        for (j, factor) in circulant(Direction::Decrypt).into_iter().enumerate() {
            for (from, form) in bytes[mix_source(i, j)].iter().enumerate() {
                let product = gf256::mul(factor, 1 << from);
                for (to, sum) in sum.iter_mut().enumerate() {
                    if product >> to & 1 == 1 {
                        sum.add(form);
                    }
                }
            }
        }
        sum
    });
    *bytes = mixed.collect();
}

/// SubWord; appends the result bits as new variables.
fn sub_word(
    engine: &Engine<'_>,
    table: &[u64],
    word: &[Byte; 4],
    variables: &mut Vec<Lwe<Big>>,
) -> [Byte; 4] {
    let fresh: Vec<Lwe<Big>> = word
        .par_chunks(bytes_per_task(word.len()))
        .flat_map_iter(|bytes| {
            let bytes: Vec<LweByte> = bytes
                .iter()
                .map(|byte| byte.each_ref().map(|form| form.evaluate(variables)))
                .collect();
            let tables = vec![table; bytes.len()];
            let found = engine.look_up(&bytes.iter().collect::<Vec<_>>(), &tables);
            let bits = found
                .iter()
                .flat_map(|glwe| (0..8).map(|o| glwe.extract(o)));
            let bits: Vec<Lwe<Big>> = bits.collect();
            engine.refresh(&bits.iter().collect::<Vec<_>>(), &[HALF])
        })
        .collect();
    let first = variables.len();
    variables.extend(fresh);
    core::array::from_fn(|b| core::array::from_fn(|bit| Form::variable(first + 8 * b + bit)))
}
