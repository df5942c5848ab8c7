//! BGV's operations on an NVIDIA GPU, from key switches to bridges: a [`Device`](homaes_bgv::device::Device) whose results stay in GPU memory.
//!
//! ```no_run
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let params = homaes_bgv::Params::new(&homaes_bgv::sets::TOY_255)?;
//! use homaes_bgv::device::Device;
//! use std::sync::Arc;
//!
//! let device: Arc<dyn Device> = Arc::new(homaes_cuda::Cuda::new(params.of_aes(), 0)?);
//! // let aes = Aes::new(&eval, &wrapped, Layout::Sliced)?.on(&device);
//! # Ok(())
//! # }
//! ```
//!
//! On an H200 with `bgv/aes128`, keys in place, a byte-sliced batch of 2048 blocks takes 26 ms and a packed one of 128
//! takes 4.5 ms (`BENCHMARKS.md`). The first batch also copies the keys, in 0.16 to 0.2 s.
//!
//! The driver of CUDA 13 and its compiler NVRTC are opened at run time; a build needs no part of CUDA. Compiled kernels
//! are kept in the user's cache folder; NVRTC is not needed once they are there.
//!
//! | | file |
//! |---|---|
//! | the kernels | `kernels/` |
//! | their text and names | `kernels.rs` |
//! | compiling them | `compile.rs` |
//! | GPUs, memory, copies, launches | `driver.rs` |
//! | the same on a processor, for tests (feature `emulator`) | `emulator.rs`, `emulator.cpp` |
//! | arguments and tables of kernels | `args.rs` |
//! | constants in doubles or integers | `arithmetic.rs` |
//! | buffers | `memory.rs` |
//! | a parameter set on a GPU, and the operations | `cuda.rs` |
//! | tables of plans, made once | `plans.rs`, `switch_tables.rs` |
//! | a key switch, kernel by kernel | `pass.rs` |
//! | times of kernels (feature `trace`) | `trace.rs` |
//! | operations word by word | `words.rs` |
//! | tables of a ring's slots | `slots.rs` |
//! | public blocks and records | `blocks.rs` |
//! | what crosses a bridge | `readings.rs` |
//!
//! A GPU fault ends an operation with [`homaes_bgv::Error::Device`] and frees its memory. Keys also stay in main
//! memory, so the processor can recompute the batch.
//!
//! Unsafe code: launches and copies, whose addresses and lengths the compiler cannot check. `driver.rs` has the calls,
//! `memory.rs` and `launch.rs` ensure their conditions. `compile.rs` calls NVRTC.
#![deny(unsafe_code)]

mod args;
mod arithmetic;
mod blocks;
#[expect(unsafe_code, reason = "calls of NVRTC")]
#[cfg_attr(
    feature = "emulator",
    expect(dead_code, reason = "the emulator compiles the kernels by itself")
)]
mod compile;
mod cuda;
#[expect(unsafe_code, reason = "calls of the driver")]
#[cfg_attr(feature = "emulator", path = "emulator.rs")]
mod driver;
mod kernels;
#[expect(unsafe_code, reason = "launches of kernels")]
mod launch;
#[expect(unsafe_code, reason = "copies to and from buffers")]
mod memory;
mod pass;
mod plans;
mod readings;
mod slots;
mod switch_tables;
mod trace;
mod words;

#[cfg(test)]
mod tests;

pub use arithmetic::Arithmetic;
pub use cuda::Cuda;
#[cfg(feature = "trace")]
pub use trace::Timed;

/// A GPU that the driver shows to this process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Card {
    /// Its number, from 0.
    pub number: usize,
    /// Its name.
    pub name: String,
    /// Its memory.
    pub bytes: u64,
    /// Rate of single precision over that of double precision.
    pub single_to_double: u32,
}

impl Card {
    /// The arithmetic of kernels on this GPU.
    pub fn arithmetic(&self) -> Arithmetic {
        match self.single_to_double {
            0..=4 => Arithmetic::Doubles,
            _ => Arithmetic::Integers,
        }
    }
}

/// All GPUs that the driver shows to this process. Fails if there is no suitable driver.
pub fn cards() -> Result<Vec<Card>> {
    driver::cards()
}

/// Why there is no GPU to compute on, or why it failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The driver library is missing.
    #[error("CUDA's driver is not installed, expected NVIDIA's driver 580 or later")]
    Driver,
    /// The driver is too old.
    #[error("the driver is for CUDA {found}, expected 13.0 or later (NVIDIA's driver 580)")]
    OldDriver {
        /// its version
        found: String,
    },
    /// The driver finds no GPU.
    #[error("CUDA's driver finds no GPU: {0}; check with nvidia-smi that this process may use one")]
    NoCard(String),
    /// The compiler library is missing.
    #[error(
        "CUDA's compiler NVRTC (libnvrtc.so.13) was not found, expected CUDA 13, the Python package nvidia-cuda-nvrtc, \
         or the path of the library in HOMAES_NVRTC"
    )]
    Compiler,
    /// The driver has no such GPU or cannot use it.
    #[error("GPU {number} cannot be used: {why}")]
    Device {
        /// requested
        number: usize,
        /// message of the driver
        why: String,
    },
    /// The compiler rejects the kernels.
    #[error("the kernels cannot be compiled for this GPU: {0}")]
    Kernels(String),
    /// There is too little free memory on the GPU.
    #[error("the GPU has too little memory: needs {bytes} bytes, found {free} free")]
    Memory {
        /// requested
        bytes: usize,
        /// free on the GPU, without memory that this process keeps for reuse
        free: usize,
    },
    /// A driver call failed. Unless it was for memory, data on the GPU may be lost.
    #[error("the GPU failed at {at}: {why}")]
    Fault {
        /// the call
        at: &'static str,
        /// message of the driver
        why: String,
    },
    /// The kernels do not support the set's ring.
    #[error("no GPU kernels for {set}, expected a ring of conductor 255 or 65535")]
    Ring {
        /// name of the set
        set: String,
    },
}

impl From<Error> for homaes_rns::Fault {
    fn from(error: Error) -> Self {
        Self(error.to_string())
    }
}

impl From<Error> for homaes_bgv::Error {
    fn from(error: Error) -> Self {
        Self::Device(error.into())
    }
}

/// Result of this crate.
type Result<T, E = Error> = core::result::Result<T, E>;
