//! GPUs, as far as schemes know them.

use core::any::Any;
use std::sync::Arc;

/// A GPU.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Gpu {
    /// Its number, from 0.
    pub number: usize,
    /// What it is called.
    pub name: String,
    /// Its memory.
    pub memory_bytes: u64,
    /// What the kernels compute with, and how fast it does that.
    pub arithmetic: String,
}

/// Is told, in a line, why GPUs are not used, or not any more.
pub type Warn<'k> = Arc<dyn Fn(&str) + Send + Sync + 'k>;

/// A GPU that is ready, and the device that its scheme computes with.
pub type Started = (Arc<Gpu>, Box<dyn Any + Send + Sync>);

/// GPUs that batches are evaluated on.
pub struct Gpus<'k> {
    /// Those that are ready.
    pub all: Vec<Started>,
    /// Whether the processor does what they fail at.
    pub falls_back: bool,
    /// Is told why.
    pub warn: Warn<'k>,
}

impl Gpus<'_> {
    /// None.
    #[must_use]
    pub fn none() -> Self {
        Self {
            all: Vec::new(),
            falls_back: false,
            warn: Arc::new(|_| ()),
        }
    }
}
