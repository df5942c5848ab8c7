//! GPUs, as far as schemes know them.

use core::any::Any;
use std::sync::atomic::{AtomicBool, Ordering};
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

/// Receives a line that says why GPUs are not used, or no longer.
pub type Warn<'k> = Arc<dyn Fn(&str) + Send + Sync + 'k>;

/// A GPU that is ready, and the device that its scheme computes with.
pub type Started = (Arc<Gpu>, Box<dyn Any + Send + Sync>);

/// GPUs that batches are evaluated on.
pub struct Gpus<'k> {
    /// The GPUs that are ready.
    pub all: Vec<Started>,
    /// Whether the processor takes over when one fails.
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

/// What evaluates batches on each of several GPUs.
pub struct OnGpus<'k, T> {
    all: Vec<(Arc<Gpu>, T)>,
    /// batches in flight on each
    busy: Mutex<Vec<usize>>,
    /// whether a GPU failed and the processor took over
    failed: AtomicBool,
    falls_back: bool,
    warn: Warn<'k>,
}

impl<'k, T> OnGpus<'k, T> {
    /// For each GPU what `make` makes of its device.
    pub fn new(gpus: Gpus<'k>, make: impl Fn(&dyn Any) -> T) -> Self {
        let all = gpus.all.into_iter();
        let all: Vec<_> = all.map(|(gpu, device)| (gpu, make(&*device))).collect();
        Self {
            busy: Mutex::new(vec![0; all.len()]),
            all,
            failed: AtomicBool::new(false),
            falls_back: gpus.falls_back,
            warn: gpus.warn,
        }
    }

    /// Runs `work` on the GPU with the fewest batches; `None` without GPUs, or after one failed.
    pub fn run<R>(&self, work: impl FnOnce(&Arc<Gpu>, &T) -> R) -> Option<R> {
        if self.failed.load(Ordering::Relaxed) {
            return None;
        }
        let number = self.busy(|busy| {
            let number = (0..busy.len()).min_by_key(|&number| busy[number])?;
            busy[number] += 1;
            Some(number)
        })?;
        let (gpu, own) = &self.all[number];
        let done = work(gpu, own);
        self.busy(|busy| busy[number] -= 1);
        Some(done)
    }

    fn busy<R>(&self, with: impl FnOnce(&mut Vec<usize>) -> R) -> R {
        with(&mut self.busy.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Whether the processor takes over after this fault, with all that follows. Warns once.
    pub fn falls_back(&self, fault: &dyn core::fmt::Display) -> bool {
        if self.falls_back && !self.failed.swap(true, Ordering::Relaxed) {
            (self.warn)(&format!("{fault}; the processor goes on"));
        }
        self.falls_back
    }

    /// GPUs that have not been left.
    pub fn count(&self) -> usize {
        match self.failed.load(Ordering::Relaxed) {
            true => 0,
            false => self.all.len(),
        }
    }
}
