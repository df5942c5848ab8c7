//! Numbers distinct keys, so that equal work is done once.

use std::collections::HashMap;
use std::hash::Hash;

/// Distinct keys, numbered in order of first appearance.
#[derive(Default)]
pub(crate) struct Distinct<K> {
    numbers: HashMap<K, usize>,
    pub(crate) keys: Vec<K>,
}

impl<K: Copy + Eq + Hash> Distinct<K> {
    /// The index of `key` in `keys`; appends it if it is new.
    pub(crate) fn number(&mut self, key: K) -> usize {
        *self.numbers.entry(key).or_insert_with(|| {
            self.keys.push(key);
            self.keys.len() - 1
        })
    }
}

/// The distinct inputs of all blocks, and the index of each of their N parts among them.
pub(crate) fn distinct<B, K: Copy + Default + Eq + Hash, const N: usize>(
    blocks: &[B],
    key: impl Fn(&B, usize) -> K,
) -> (Vec<K>, Vec<[usize; N]>) {
    let mut distinct = Distinct::default();
    let places = blocks
        .iter()
        .map(|block| core::array::from_fn(|i| distinct.number(key(block, i))))
        .collect();
    (distinct.keys, places)
}
