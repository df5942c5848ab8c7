//! Counts and times of the kernels of an evaluation.

use homaes_scheme::Reading;
use homaes_scheme::meter::Counters;

/// Groups of kernels with separate times.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// Transforms of one limb, either direction, with the products and sums fused into them.
    Transform,
    /// Base conversions.
    Conversion,
    /// Inner products of digits with keys; for products also the digits' last axes, and components.
    InnerProduct,
    /// Products before relinearisation.
    Tensor,
    /// Sums, and products by constants.
    Elementwise,
}

const NAMES: [&str; 5] = [
    "transforms",
    "base conversion",
    "key inner products",
    "tensor products",
    "elementwise",
];

/// What is counted. A pass relinearises a batch of bit products together. Limbs read by conversions and inner products
/// count once per load from memory by the AVX-512 IFMA kernels.
const COUNTS: [&str; 5] = [
    "transforms",
    "passes",
    "relinearisations",
    "limbs converted from",
    "key limbs read",
];

/// Counters shared by all threads of an evaluation.
#[derive(Debug, Default)]
pub struct Meter(Counters<5, 5>);

impl Meter {
    /// Runs `f` and adds its time to `stage`; a transform is also counted.
    pub fn time<T>(&self, stage: Stage, f: impl FnOnce() -> T) -> T {
        if stage == Stage::Transform {
            self.transform();
        }
        self.part(stage, f)
    }

    /// Counts a transform whose time is added in parts or with another kernel.
    pub fn transform(&self) {
        self.0.add(0, 1);
    }

    /// Counts transforms of a device, which measures its own time.
    pub fn transforms(&self, count: usize) {
        self.0.add(0, count);
    }

    /// As [`time`](Self::time), for part of a kernel that is counted elsewhere.
    pub(crate) fn part<T>(&self, stage: Stage, f: impl FnOnce() -> T) -> T {
        self.0.time(stage as usize, f)
    }

    /// Counts a pass that relinearised `products` products.
    pub fn pass(&self, products: usize) {
        self.0.add(1, 1);
        self.0.add(2, products);
    }

    /// Counts limbs that a conversion reads from memory.
    pub(crate) fn converts_from(&self, limbs: usize) {
        self.0.add(3, limbs);
    }

    /// Counts limbs of keys that an inner product reads from memory.
    pub fn reads_keys(&self, limbs: usize) {
        self.0.add(4, limbs);
    }

    /// The counts and times so far.
    pub fn read(&self) -> Reading {
        self.0.read(COUNTS, NAMES)
    }
}
