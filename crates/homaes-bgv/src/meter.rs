//! Counts and times of the kernels, collected while they run.

use core::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

/// Kernel groups that are timed apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stage {
    Transform,
    Conversion,
    InnerProduct,
    Tensor,
    Elementwise,
}

const NAMES: [&str; 5] = [
    "transforms",
    "base conversion",
    "key inner products",
    "tensor products",
    "elementwise",
];

/// Counters shared by all threads of an evaluation.
#[derive(Debug, Default)]
pub(crate) struct Meter {
    transforms: AtomicU64,
    passes: AtomicU64,
    relinearisations: AtomicU64,
    nanos: [AtomicU64; 5],
}

/// What the counters stood at.
#[derive(Clone, Debug, PartialEq)]
pub struct MeterReading {
    /// transforms of one limb, either direction
    pub transforms: u64,
    /// batches of products of bits that were relinearised together; 0 in other layouts
    pub passes: u64,
    /// products of bits relinearised; 0 in other layouts
    pub relinearisations: u64,
    /// wall time in seconds by kernel group, summed over threads
    pub seconds: [(&'static str, f64); 5],
}

impl Meter {
    /// Runs `f` and books its time; a reading costs tens of nanoseconds, a kernel tens of microseconds.
    pub(crate) fn time<T>(&self, stage: Stage, f: impl FnOnce() -> T) -> T {
        let start = Instant::now();
        let out = f();
        let nanos = start.elapsed().as_nanos() as u64;
        self.nanos[stage as usize].fetch_add(nanos, Ordering::Relaxed);
        if stage == Stage::Transform {
            self.transforms.fetch_add(1, Ordering::Relaxed);
        }
        out
    }

    /// Notes a pass that relinearised `products` products.
    pub(crate) fn pass(&self, products: usize) {
        self.passes.fetch_add(1, Ordering::Relaxed);
        self.relinearisations
            .fetch_add(products as u64, Ordering::Relaxed);
    }

    pub(crate) fn read(&self) -> MeterReading {
        MeterReading {
            transforms: self.transforms.load(Ordering::Relaxed),
            passes: self.passes.load(Ordering::Relaxed),
            relinearisations: self.relinearisations.load(Ordering::Relaxed),
            seconds: core::array::from_fn(|i| {
                let nanos = self.nanos[i].load(Ordering::Relaxed);
                (NAMES[i], nanos as f64 * 1e-9)
            }),
        }
    }
}
