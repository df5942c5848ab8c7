//! Numbers distinct keys, so that equal work is done once.

use std::collections::HashMap;
use std::hash::Hash;

/// Distinct keys, numbered in order of first appearance.
pub(crate) struct Distinct<K> {
    numbers: HashMap<K, usize>,
    pub(crate) keys: Vec<K>,
}

impl<K> Default for Distinct<K> {
    fn default() -> Self {
        Self {
            numbers: HashMap::new(),
            keys: Vec::new(),
        }
    }
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
