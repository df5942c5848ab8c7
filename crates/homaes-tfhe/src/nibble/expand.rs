//! The AES key schedule on encrypted digits.

use crate::ciphertext::{Big, Glwe, Lwe, Polynomial};
use crate::multiples::factors;
use crate::nibble::engine::{Engine, Group};
use crate::nibble::linear::mix;
use crate::nibble::table::{Table, byte_tables};
use homaes_aes::{Direction, KeySize, clear, gf256};

pub(crate) struct Expanded {
    /// 32 per round key
    pub(crate) digits: Vec<Lwe<Big>>,
    /// test polynomials for XOR with the first digits, as far as the schedule made them
    pub(crate) tests: Vec<Glwe>,
}

/// All round keys of `direction` from the digits of the key (FIPS-197 section 5.2).
///
/// A word is w\[i\] = w\[i - Nk\] ⊕ t. Test polynomials of w\[i - Nk\] can be made early, so the chain has one rotation
/// per digit; encryption uses the same test polynomials again.
///
/// Rotations for AES-128: 10 · 12 for SubWord, 40 · 8 for the sums, 40 · 8 for test polynomials. The equivalent inverse
/// cipher takes 16 (1 + 8 + 12) more for every round key but the first and the last.
pub(crate) fn expand(
    engine: &Engine<'_>,
    xor: &[Table],
    size: KeySize,
    direction: Direction,
    key: Vec<Lwe<Big>>,
) -> Expanded {
    let mut digits = key;
    let mut tests = Vec::new();
    let tables = |constant: u8| {
        let sbox = |x| clear::sbox(Direction::Encrypt, x) ^ constant;
        engine.tables(&byte_tables(&[1], sbox, 0))
    };
    let plain = tables(0);
    // SubWord after a rotation by `turn` bytes, with the constant added to the first byte
    let sub_word = |word: &[Lwe<Big>], turn: usize, constant: u8| {
        let first = tables(constant);
        let groups = [0, 1, 2, 3].map(|b| {
            let low = 2 * ((b + turn) % 4);
            let tables = if b == 0 { &first } else { &plain };
            Group::pair(&word[low], &word[low + 1], tables)
        });
        engine.combine(&groups)
    };
    let len = size.key_bytes() / 4;
    let mut round_constant = 1u8;
    for i in len..4 * size.round_keys() {
        if i.is_multiple_of(len) {
            let firsts: Vec<&Lwe<Big>> = digits[8 * (i - len)..].iter().collect();
            tests.extend(engine.all_test_polynomials(&firsts, xor));
        }
        let word = &digits[8 * (i - 1)..];
        let substituted;
        let term = if i.is_multiple_of(len) {
            substituted = sub_word(word, 1, round_constant);
            round_constant = gf256::mul(round_constant, 2);
            &substituted
        } else if len > 6 && i % len == 4 {
            substituted = sub_word(word, 0, 0);
            &substituted
        } else {
            word
        };
        let before = &tests[8 * (i - len)..][..8];
        let pairs: Vec<_> = term
            .iter()
            .zip(before.iter().map(Polynomial::Encrypted))
            .collect();
        let found = engine.apply(&pairs);
        digits.extend(found);
    }
    match direction {
        Direction::Encrypt => Expanded { digits, tests },
        Direction::Decrypt => Expanded {
            digits: inverse(engine, xor, digits),
            tests: Vec::new(),
        },
    }
}

/// Reverses the round keys, and applies InvMixColumns to all but the first and the last (FIPS-197 section 5.3.5).
fn inverse(engine: &Engine<'_>, xor: &[Table], digits: Vec<Lwe<Big>>) -> Vec<Lwe<Big>> {
    let direction = Direction::Decrypt;
    let tables = engine.tables(&byte_tables(&factors(direction, false), |x| x, 0));
    let mut rounds: Vec<Vec<Lwe<Big>>> = digits.chunks(32).rev().map(<[_]>::to_vec).collect();
    let last = rounds.len() - 1;
    for round in &mut rounds[1..last] {
        let bytes = round.chunks_exact(2);
        let groups = bytes.map(|byte| Group::pair(&byte[0], &byte[1], &tables));
        let found = engine.combine(&groups.collect::<Vec<_>>());
        let block = core::array::from_fn(|i| i);
        let pool = mix(engine, xor, direction, &found, &[block]);
        let digits = pool.blocks[0].iter();
        *round = digits.map(|&d| pool.digits[d].clone()).collect();
    }
    rounds.concat()
}
