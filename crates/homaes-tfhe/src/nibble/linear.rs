//! Exclusive or of digits, and MixColumns with it.

use crate::ciphertext::{Big, Lwe};
use crate::distinct::Distinct;
use crate::nibble::engine::{Engine, Group};
use crate::nibble::table::{Table, factors};
use homaes_aes::Direction;
use homaes_aes::state::{circulant, mix_source};

/// Digits of blocks, each stored once: digit 2 i is the low one of byte i.
pub(crate) struct Pool {
    pub(crate) digits: Vec<Lwe<Big>>,
    /// which of them the digits of every block are
    pub(crate) blocks: Vec<[usize; 32]>,
}

/// The exclusive or of pairs of digits, given by number. Pairs with the same first digit share its multi-value bootstrap:
/// one rotation for each first digit and one for each pair.
pub(crate) fn xor(
    engine: &Engine<'_>,
    table: &[Table],
    digits: &[Lwe<Big>],
    pairs: &[(usize, usize)],
) -> Vec<Lwe<Big>> {
    let mut firsts = Distinct::default();
    let mut members: Vec<Vec<usize>> = Vec::new();
    for (i, &(first, _)) in pairs.iter().enumerate() {
        let group = firsts.number(first);
        members.resize_with(firsts.keys.len(), Vec::new);
        members[group].push(i);
    }
    let groups: Vec<Group<'_>> = firsts
        .keys
        .iter()
        .zip(&members)
        .map(|(&first, members)| Group {
            first: &digits[first],
            seconds: members.iter().map(|&i| &digits[pairs[i].1]).collect(),
            tables: table,
        })
        .collect();
    let found = engine.combine(&groups);
    // back to the order of the pairs
    let mut numbered: Vec<(usize, Lwe<Big>)> = members.into_iter().flatten().zip(found).collect();
    numbered.sort_unstable_by_key(|&(i, _)| i);
    numbered.into_iter().map(|(_, digit)| digit).collect()
}

/// MixColumns on multiples of bytes: `found` has, for every byte, low and high digit for each of the
/// [`factors`]; `blocks` names the bytes of a block.
///
/// Costs three exclusive ors per digit. Encrypting, S of a byte is needed twice in the column, and one multi-value bootstrap serves both if
/// it is the first digit both times: that of an even row is.
pub(crate) fn mix(
    engine: &Engine<'_>,
    table: &[Table],
    direction: Direction,
    found: &[Lwe<Big>],
    blocks: &[[usize; 16]],
) -> Pool {
    let factors = factors(direction, false);
    let places = circulant(direction).map(|c| factors.iter().position(|&f| f == c).unwrap_or(0));
    let mut pairs = Distinct::default();
    let mut sums = Distinct::default();
    let blocks = blocks
        .iter()
        .map(|block| {
            core::array::from_fn(|digit| {
                let (i, half) = (digit / 2, digit % 2);
                let term = |j| 2 * (factors.len() * block[mix_source(i, j)] + places[j]) + half;
                let mut pair = |j| {
                    let (even, odd) = if (i + j) % 2 == 0 {
                        (j, j + 1)
                    } else {
                        (j + 1, j)
                    };
                    pairs.number((term(even), term(odd)))
                };
                let both = (pair(2), pair(0));
                sums.number(both)
            })
        })
        .collect();
    let halves = xor(engine, table, found, &pairs.keys);
    Pool {
        digits: xor(engine, table, &halves, &sums.keys),
        blocks,
    }
}
