//! Counts and times of the kernels of an evaluation.

use homaes_scheme::Reading;
use homaes_scheme::meter::Counters;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stage {
    /// products with cached transforms, and related work
    Transform,
    /// products with rows of the key
    Rows,
    /// reading and unpacking the key
    Reading,
    /// products of ciphertexts
    Product,
    /// sums of ciphertexts and products
    Sum,
}

const NAMES: [&str; 5] = ["transforms", "key rows", "key reading", "products", "sums"];
const COUNTS: [&str; 3] = ["passes", "relinearisations", "key bytes read"];

/// Counters shared by all threads of an evaluation.
#[derive(Debug, Default)]
pub struct Meter(Counters<3, 5>);

impl Meter {
    pub(crate) fn time<T>(&self, stage: Stage, f: impl FnOnce() -> T) -> T {
        self.0.time(stage as usize, f)
    }

    pub(crate) fn pass(&self, products: usize) {
        self.0.add(0, 1);
        self.0.add(1, products);
    }

    pub(crate) fn read_bytes(&self, bytes: usize) {
        self.0.add(2, bytes);
    }

    /// Passes over the key, relinearisations (conversions) and key bytes read; seconds of all threads by kernel.
    pub fn read(&self) -> Reading {
        self.0.read(COUNTS, NAMES)
    }
}
