//! Counts and times of the stages, collected while they run.

use core::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

/// Stages that are timed apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stage {
    KeySwitch,
    Rotation,
    Trace,
    SchemeSwitch,
    LookUp,
    Linear,
}

const NAMES: [&str; 6] = [
    "key switching",
    "blind rotation",
    "trace",
    "scheme switching",
    "look-up",
    "linear layer",
];

/// Counters shared by all threads of an evaluation.
#[derive(Debug, Default)]
pub(crate) struct Meter {
    transforms: AtomicU64,
    rotations: AtomicU64,
    nanos: [AtomicU64; 6],
}

/// What the counters stood at.
#[derive(Clone, Debug, PartialEq)]
pub struct MeterReading {
    /// transforms of one polynomial, either direction
    pub transforms: u64,
    /// blind rotations
    pub rotations: u64,
    /// wall time in seconds by stage, summed over threads
    pub seconds: Vec<(&'static str, f64)>,
}

impl Meter {
    /// Runs `f` and books its time.
    pub(crate) fn time<T>(&self, stage: Stage, f: impl FnOnce() -> T) -> T {
        let start = Instant::now();
        let out = f();
        let nanos = start.elapsed().as_nanos() as u64;
        self.nanos[stage as usize].fetch_add(nanos, Ordering::Relaxed);
        out
    }

    pub(crate) fn transforms(&self, count: usize) {
        self.transforms.fetch_add(count as u64, Ordering::Relaxed);
    }

    pub(crate) fn rotations(&self, count: usize) {
        self.rotations.fetch_add(count as u64, Ordering::Relaxed);
    }

    pub(crate) fn read(&self) -> MeterReading {
        let nanos = NAMES.iter().zip(&self.nanos);
        MeterReading {
            transforms: self.transforms.load(Ordering::Relaxed),
            rotations: self.rotations.load(Ordering::Relaxed),
            seconds: nanos
                .map(|(&name, nanos)| (name, nanos.load(Ordering::Relaxed) as f64 * 1e-9))
                .collect(),
        }
    }
}
