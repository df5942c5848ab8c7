//! Counts and times of the kernels, collected while they run.

use homaes_scheme::Reading;
use homaes_scheme::meter::Counters;

/// What is timed apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stage {
    /// products by cached transforms, and what is around them
    Transform,
    /// products by rows of the key
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

    /// Notes a pass over the key that converted `products` products.
    pub(crate) fn pass(&self, products: usize) {
        self.0.add(0, 1);
        self.0.add(1, products);
    }

    pub(crate) fn read_bytes(&self, bytes: usize) {
        self.0.add(2, bytes);
    }

    /// Passes over the key, relinearisations (conversions), and bytes of the key read; and seconds of all threads by kernel.
    pub fn read(&self) -> Reading {
        self.0.read(COUNTS, NAMES)
    }
}
