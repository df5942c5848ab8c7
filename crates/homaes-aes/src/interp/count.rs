//! A counting evaluator: an item is its depth, and every operation is counted.
//!
//! A run needs no keys and tells which keys and how much depth a real run needs. With
//! [`with_levels`](Count::with_levels), a circuit that is too deep fails as it would on the backend. `refresh` is
//! counted and changes no depth.

use std::collections::BTreeSet;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::error::{Depth, EvalError, Result};
use crate::view::{BitEval, ByteEval, PackedEval};

/// The operations of a circuit.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Tally {
    /// sums of items, and sums of products
    pub sums: u64,
    /// complements of bits
    pub complements: u64,
    /// products by a public constant
    pub scalings: u64,
    /// products or ANDs
    pub products: u64,
    /// relinearisations
    pub relinearisations: u64,
    /// Frobenius maps
    pub frobenius: u64,
    /// permutations of slots
    pub permutations: u64,
    /// products in each call of `relinearize_all`: passes over the relinearisation key
    pub passes: Vec<usize>,
    /// calls of `refresh`
    pub refreshes: u64,
    /// depths passed to `refresh`
    pub refresh_depths: BTreeSet<Depth>,
    /// greatest depth of an item
    pub depth: Depth,
    /// exponents k of the Frobenius maps x ↦ x^(2^k): each needs a key
    pub frobenius_used: BTreeSet<u32>,
    /// permutations of slots: each needs keys
    pub permutations_used: BTreeSet<[usize; 16]>,
}

/// All three views, counted. Depth is in products or ANDs.
#[derive(Debug)]
pub struct Count {
    slots: usize,
    tally: Mutex<Tally>,
    levels: Option<Depth>,
}

impl Count {
    /// A fresh counter for items of `slots` slots.
    pub fn new(slots: usize) -> Self {
        Self {
            slots,
            tally: Mutex::default(),
            levels: None,
        }
    }

    /// The same counter with `levels` levels.
    pub fn with_levels(mut self, levels: Depth) -> Self {
        self.levels = Some(levels);
        self
    }

    /// The operations so far.
    pub fn tally(&self) -> Tally {
        self.open().clone()
    }

    /// Every update leaves the tally consistent, so a poisoned lock does no harm.
    fn open(&self) -> MutexGuard<'_, Tally> {
        self.tally.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn public_of(&self, values: usize) -> Depth {
        assert!(
            values <= self.slots,
            "{values} values for {} slots",
            self.slots
        );
        0
    }

    fn sum(&self, a: Depth, b: Depth) -> Depth {
        self.open().sums += 1;
        a.max(b)
    }

    fn product(&self, a: Depth, b: Depth) -> Result<Depth> {
        let depth = a.max(b);
        let mut tally = self.open();
        tally.products += 1;
        let left = self.levels.map_or(1, |levels| levels - depth.min(levels));
        if left == 0 {
            return Err(EvalError::OutOfDepth { needed: 1, left });
        }
        tally.depth = tally.depth.max(depth + 1);
        Ok(depth + 1)
    }

    fn relinearized(&self, p: Depth) -> Result<Depth> {
        self.open().relinearisations += 1;
        Ok(p)
    }

    fn refreshed(&self, depth: Depth) -> Result<()> {
        let mut tally = self.open();
        tally.refreshes += 1;
        tally.refresh_depths.insert(depth);
        Ok(())
    }
}

impl ByteEval for Count {
    type Error = EvalError;
    type Byte = Depth;
    type Product = Depth;

    fn slots(&self) -> usize {
        self.slots
    }

    fn public(&self, v: &[u8]) -> Depth {
        self.public_of(v.len())
    }

    fn add(&self, a: &Depth, b: &Depth) -> Depth {
        self.sum(*a, *b)
    }

    fn scale(&self, a: &Depth, _c: u8) -> Depth {
        self.open().scalings += 1;
        *a
    }

    fn frobenius(&self, a: &Depth, k: u32) -> Result<Depth> {
        let mut tally = self.open();
        tally.frobenius += 1;
        tally.frobenius_used.insert(k);
        Ok(*a)
    }

    fn mul(&self, a: &Depth, b: &Depth) -> Result<Depth> {
        self.product(*a, *b)
    }

    fn add_product(&self, a: Depth, b: &Depth) -> Depth {
        self.sum(a, *b)
    }

    fn relinearize(&self, p: Depth) -> Result<Depth> {
        self.relinearized(p)
    }

    fn refresh(&self, _items: &mut [Depth], depth: Depth) -> Result<()> {
        self.refreshed(depth)
    }
}

impl PackedEval for Count {
    fn permute(&self, a: &Depth, p: &[usize; 16]) -> Result<Depth> {
        let mut tally = self.open();
        tally.permutations += 1;
        tally.permutations_used.insert(*p);
        Ok(*a)
    }
}

impl BitEval for Count {
    type Error = EvalError;
    type Bit = Depth;
    type Product = Depth;

    fn slots(&self) -> usize {
        self.slots
    }

    fn public(&self, v: &[bool]) -> Depth {
        self.public_of(v.len())
    }

    fn xor(&self, a: &Depth, b: &Depth) -> Depth {
        self.sum(*a, *b)
    }

    fn not(&self, a: Depth) -> Depth {
        self.open().complements += 1;
        a
    }

    fn and(&self, a: &Depth, b: &Depth) -> Result<Depth> {
        self.product(*a, *b)
    }

    fn xor_product(&self, a: Depth, b: &Depth) -> Depth {
        self.sum(a, *b)
    }

    fn relinearize(&self, p: Depth) -> Result<Depth> {
        self.relinearized(p)
    }

    fn relinearize_all(&self, products: Vec<Depth>) -> Result<Vec<Depth>> {
        let mut tally = self.open();
        tally.passes.push(products.len());
        tally.relinearisations += products.len() as u64;
        Ok(products)
    }

    fn refresh(&self, _items: &mut [Depth], depth: Depth) -> Result<()> {
        self.refreshed(depth)
    }
}
