//! Numbers for things of which only different ones are to be computed.

use std::collections::HashMap;
use std::hash::Hash;

/// Numbers for keys, in the order in which they come first.
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
    /// The number of a key: its place in `keys`.
    pub(crate) fn number(&mut self, key: K) -> usize {
        *self.numbers.entry(key).or_insert_with(|| {
            self.keys.push(key);
            self.keys.len() - 1
        })
    }
}
