//! XOR of digits, and MixColumns.

use crate::ciphertext::{Big, Lwe};
use crate::distinct::Distinct;
use crate::multiples::{factors, places};
use crate::nibble::engine::{Engine, Group};
use crate::nibble::table::Table;
use homaes_aes::Direction;
use homaes_aes::state::mix_source;

/// The distinct digits of blocks. Digit 2 i of a block is the low one of byte i.
pub(crate) struct Pool {
    pub(crate) digits: Vec<Lwe<Big>>,
    /// by block and digit: index in `digits`
    pub(crate) blocks: Vec<[usize; 32]>,
}

/// XOR of pairs of digits, given by index. One rotation per distinct first digit, for its multi-value bootstrap, and
/// one per pair.
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
    let mut numbered: Vec<(usize, Lwe<Big>)> = members.into_iter().flatten().zip(found).collect();
    numbered.sort_unstable_by_key(|&(i, _)| i);
    numbered.into_iter().map(|(_, digit)| digit).collect()
}

/// MixColumns: `found` has low and high digit of each byte for each of [`factors`]; `blocks` has the index of each
/// byte.
///
/// Costs three XORs per digit. Encrypting, a column needs S of each byte twice. Both share a multi-value bootstrap if S
/// is the first digit both times, which holds in even rows.
pub(crate) fn mix(
    engine: &Engine<'_>,
    table: &[Table],
    direction: Direction,
    found: &[Lwe<Big>],
    blocks: &[[usize; 16]],
) -> Pool {
    let (count, places) = (factors(direction, false).len(), places(direction));
    let mut pairs = Distinct::default();
    let mut sums = Distinct::default();
    let blocks = blocks
        .iter()
        .map(|block| {
            core::array::from_fn(|digit| {
                let (i, half) = (digit / 2, digit % 2);
                let term = |j| 2 * (count * block[mix_source(i, j)] + places[j]) + half;
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
