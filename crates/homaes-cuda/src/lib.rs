//! Key switches of BGV on a GPU of NVIDIA: a [`Device`](homaes_bgv::device::Device) whose results stay in the memory of the GPU.
//!
//! ```no_run
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let params = homaes_bgv::Params::new(&homaes_bgv::sets::TOY_255)?;
//! use homaes_bgv::device::Device;
//! use std::sync::Arc;
//!
//! let device: Arc<dyn Device> = Arc::new(homaes_cuda::Cuda::new(&params, 0)?);
//! // let aes = Aes::new(&eval, &wrapped, Layout::Sliced)?.on(&device);
//! # Ok(())
//! # }
//! ```
//!
//! On an H200 with `bgv/aes128`, keys in place, a sliced batch of 2048 blocks takes 25 ms and a packed one of 128 takes 4.5 ms
//! (`BENCHMARKS.md`). The first batch also copies the keys, in 0.16 to 0.2 s.
//!
//! The driver of CUDA 13 and its compiler NVRTC are opened at run time. Nothing of CUDA is needed to build. Compiled
//! kernels are kept in the user's folder of caches, and NVRTC is not needed where they are.
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
//! | tables of a parameter set, and the operations | `cuda.rs` |
//! | tables of plans, made once | `plans.rs` |
//! | a key switching, kernel by kernel | `pass.rs` |
//! | times of kernels (feature `trace`) | `trace.rs` |
//! | tables of a ring's slots | `slots.rs` |
//! | public blocks and records | `blocks.rs` |
//!
//! A fault of the GPU ends an operation by [`homaes_bgv::Error::Device`] and gives back its memory. Keys stay in memory, so that the batch
//! can be computed again by the processor.
//!
//! Unsafe code: launches and copies, whose addresses and lengths the compiler cannot see. `driver.rs` has the calls,
//! `memory.rs` and `launch.rs` what they need to be right. `compile.rs` calls NVRTC.
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
mod slots;
mod trace;

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
    /// What it is called.
    pub name: String,
    /// Its memory.
    pub bytes: u64,
    /// How many operations in single precision take the time of one in double precision.
    pub single_to_double: u32,
}

impl Card {
    /// What kernels compute in there.
    pub fn arithmetic(&self) -> Arithmetic {
        match self.single_to_double {
            0..=4 => Arithmetic::Doubles,
            _ => Arithmetic::Integers,
        }
    }
}

/// All GPUs that there are.
///
/// # Errors
/// If there is no driver that will do, or it refuses.
pub fn cards() -> Result<Vec<Card>> {
    driver::cards()
}

/// Why there is no GPU to compute on, or not any more.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The library of the driver is missing.
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
    /// The library of the compiler is missing.
    #[error(
        "CUDA's compiler NVRTC (libnvrtc.so.13) was not found, expected CUDA 13, the Python package nvidia-cuda-nvrtc, \
         or the path of the library in HOMAES_NVRTC"
    )]
    Compiler,
    /// The driver has no such device, or cannot use it.
    #[error("GPU {number} cannot be used: {why}")]
    Device {
        /// asked for
        number: usize,
        /// what the driver says
        why: String,
    },
    /// The compiler refuses the kernels.
    #[error("the kernels cannot be compiled for this GPU: {0}")]
    Kernels(String),
    /// There is too little free memory on the GPU.
    #[error("the GPU has too little memory: needs {bytes} bytes, found {free} free")]
    Memory {
        /// asked for
        bytes: usize,
        /// there, before the memory that this program has not given back
        free: usize,
    },
    /// A call of the driver failed. Unless it was for memory, what the GPU holds may be lost.
    #[error("the GPU failed at {at}: {why}")]
    Fault {
        /// what was asked for
        at: &'static str,
        /// what the driver says
        why: String,
    },
    /// The set has another ring.
    #[error("{set} has no kernels on GPUs: they are for rings of conductors 255 and 65535")]
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
