//! GPUs, as far as schemes know them.

use core::any::Any;
use std::sync::Arc;

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
