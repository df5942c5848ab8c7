//! GPUs, as far as schemes know them.

use core::any::Any;
use core::fmt;
use std::sync::{Arc, Mutex, PoisonError};

/// A GPU.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Gpu {
    /// Its number, from 0.
    pub number: usize,
    /// Its model name.
    pub name: String,
    /// Its memory.
    pub memory_bytes: u64,
    /// The arithmetic of the kernels, and its speed.
    pub arithmetic: String,
}

impl fmt::Display for Gpu {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "cuda:{}", self.number)
    }
}

/// Receives a line that says why GPUs are not used, or no longer.
pub type Warn<'k> = Arc<dyn Fn(&str) + Send + Sync + 'k>;

/// A GPU that is ready, and the device that its scheme computes with.
pub type Started = (Arc<Gpu>, Box<dyn Any + Send + Sync>);

/// GPUs that batches are evaluated on.
pub struct Gpus<'k> {
    /// The GPUs that are ready.
    pub all: Vec<Started>,
    /// Whether the others, or else the processor, take over when one fails.
    pub falls_back: bool,
    /// Receives the reason.
    pub warn: Warn<'k>,
}

impl Gpus<'_> {
    /// No GPUs.
    #[must_use]
    pub fn none() -> Self {
        Self {
            all: Vec::new(),
            falls_back: false,
            warn: Arc::new(|_| ()),
        }
    }
}

/// Batches in flight on a GPU: the host works for one and copies it while kernels run for the other.
pub const BATCHES_ON_A_GPU: usize = 2;

/// What evaluates batches on each of several GPUs.
pub struct OnGpus<'k, T> {
    all: Vec<(Arc<Gpu>, T)>,
    /// batches in flight on each; `None` after it failed
    busy: Mutex<Vec<Option<usize>>>,
    falls_back: bool,
    warn: Warn<'k>,
}

impl<'k, T> OnGpus<'k, T> {
    /// For each GPU what `make` makes of its device.
    pub fn new(gpus: Gpus<'k>, make: impl Fn(&dyn Any) -> T) -> Self {
        let all = gpus.all.into_iter();
        let all: Vec<_> = all.map(|(gpu, device)| (gpu, make(&*device))).collect();
        Self {
            busy: Mutex::new(vec![Some(0); all.len()]),
            all,
            falls_back: gpus.falls_back,
            warn: gpus.warn,
        }
    }

    /// Runs `work` on the GPU with the fewest batches; `None` without GPUs, or after all have failed.
    pub fn run<R>(&self, work: impl FnOnce(&T) -> R) -> Option<(Arc<Gpu>, R)> {
        let number = self.busy(|busy| {
            let left = (0..busy.len()).filter(|&number| busy[number].is_some());
            let number = left.min_by_key(|&number| busy[number])?;
            *busy[number].as_mut()? += 1;
            Some(number)
        })?;
        let (gpu, own) = &self.all[number];
        let done = work(own);
        self.busy(|busy| {
            if let Some(batches) = &mut busy[number] {
                *batches -= 1;
            }
        });
        Some((gpu.clone(), done))
    }

    fn busy<R>(&self, with: impl FnOnce(&mut Vec<Option<usize>>) -> R) -> R {
        with(&mut self.busy.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Whether other GPUs, or else the processor, take over after this fault of `gpu`. Warns once for each GPU.
    pub fn falls_back(&self, gpu: &Gpu, fault: &dyn fmt::Display) -> bool {
        if !self.falls_back {
            return false;
        }
        let known = (self.all.iter()).position(|(known, _)| known.number == gpu.number);
        let was_used = known.and_then(|number| self.busy(|busy| busy[number].take()));
        if was_used.is_some() {
            let next = match self.batches() {
                0 => "the processor goes on",
                _ => "the other GPUs go on",
            };
            (self.warn)(&format!("{gpu}: {fault}; {next}"));
        }
        true
    }

    /// Batches to keep in flight: two for each GPU that has not failed.
    pub fn batches(&self) -> usize {
        BATCHES_ON_A_GPU * self.busy(|busy| busy.iter().flatten().count())
    }
}
