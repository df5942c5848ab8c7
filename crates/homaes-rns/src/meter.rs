//! Counts and times of the kernels, collected while they run.

use homaes_scheme::Reading;
use homaes_scheme::meter::Counters;

/// Kernel groups that are timed apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// Of one limb, in either direction, with the product it is made of and what its last step adds.
    Transform,
    /// Between bases.
    Conversion,
    /// Of digits with keys; for products with what is done on the way to them: the last axes of the digits' transforms, and their parts.
    InnerProduct,
    /// Unrelinearised products.
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

/// Transforms of one limb, either direction; batches of products of bits that were relinearised together; products of bits
/// relinearised; limbs that conversions read, and limbs of keys that inner products read, each as often as it comes from memory on the kernels for
/// AVX-512 IFMA.
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
    /// Runs `f` and books its time; a kernel takes tens of microseconds.
    pub fn time<T>(&self, stage: Stage, f: impl FnOnce() -> T) -> T {
        if stage == Stage::Transform {
            self.transform();
        }
        self.part(stage, f)
    }

    /// Counts a transform whose time is booked in parts, or with the kernel that does the last of it.
    pub fn transform(&self) {
        self.0.add(0, 1);
    }

    /// Counts transforms of a device, which has times of its own.
    pub fn transforms(&self, count: usize) {
        self.0.add(0, count);
    }

    /// As [`time`](Self::time), of a part of a kernel that is counted elsewhere.
    pub(crate) fn part<T>(&self, stage: Stage, f: impl FnOnce() -> T) -> T {
        self.0.time(stage as usize, f)
    }

    /// Notes a pass that relinearised `products` products.
    pub fn pass(&self, products: usize) {
        self.0.add(1, 1);
        self.0.add(2, products);
    }

    /// Notes that a conversion reads so many limbs from memory.
    pub(crate) fn converts_from(&self, limbs: usize) {
        self.0.add(3, limbs);
    }

    /// Notes that an inner product reads so many limbs of keys from memory.
    pub fn reads_keys(&self, limbs: usize) {
        self.0.add(4, limbs);
    }

    /// What it stands at.
    pub fn read(&self) -> Reading {
        self.0.read(COUNTS, NAMES)
    }
}
