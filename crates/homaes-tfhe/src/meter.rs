//! Counts and times of the stages of an evaluation.

use homaes_scheme::Reading;
use homaes_scheme::meter::Counters;

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

/// Transforms of one polynomial in either direction, and blind rotations.
const COUNTS: [&str; 2] = ["transforms", "rotations"];

#[derive(Debug, Default)]
pub(crate) struct Meter(Counters<2, 6>);

impl Meter {
    pub(crate) fn time<T>(&self, stage: Stage, f: impl FnOnce() -> T) -> T {
        self.0.time(stage as usize, f)
    }

    pub(crate) fn transforms(&self, count: usize) {
        self.0.add(0, count);
    }

    pub(crate) fn rotations(&self, count: usize) {
        self.0.add(1, count);
    }

    pub(crate) fn read(&self) -> Reading {
        self.0.read(COUNTS, NAMES)
    }
}
