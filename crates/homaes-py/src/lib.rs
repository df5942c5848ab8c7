//! The extension module `homaes._homaes` of the Python package `homaes`. The Python part is in `python/homaes`.
//!
//! | module | content |
//! |---|---|
//! | `errors` | errors of the library as exceptions |
//! | `wait` | work in its own thread, or in one that keeps the prepared circuit, while the calling thread handles signals |
//! | `arguments`, `place` | integers, devices, layouts; files as Python names them: by a path or by bytes |
//! | `secret`, `decrypt` | the secret key; decryption |
//! | `keys` | the keys of the server |
//! | `input` | AES ciphertext from files and buffers |
//! | `transcipher` | runs |
//! | `origin`, `ciphertexts`, `batches` | where results and computed values are, their description, their batches |
//! | `job`, `worker` | jobs, and their workers |
//! | `circuit`, `vector`, `values` | circuits on results of BGV; values computed by them or by a search |
//! | `about` | parameter sets, inspection of files, digests, GPUs, the command |

// Denied, not forbidden: the macros of pyo3 write unsafe code and allow it. There is no other unsafe code.
#![deny(unsafe_code)]
// The doc comments become Python docstrings, which have no section on errors.
#![allow(clippy::missing_errors_doc, reason = "exceptions stand in the stubs")]
#![allow(clippy::too_many_arguments, reason = "they are named in Python")]

mod about;
mod arguments;
mod batches;
mod ciphertexts;
mod circuit;
mod decrypt;
mod errors;
mod input;
mod job;
mod keys;
mod origin;
mod place;
mod secret;
mod transcipher;
mod values;
mod vector;
mod wait;
mod worker;

/// Fully homomorphic AES: the Rust part of the package `homaes`.
#[pyo3::pymodule(gil_used = false)]
mod _homaes {
    #[pymodule_export]
    use crate::about::{card, devices, digest, inspect, run_command, sets, version};
    #[pymodule_export]
    use crate::batches::{Batch, Batches};
    #[pymodule_export]
    use crate::ciphertexts::{Ciphertexts, Values};
    #[pymodule_export]
    use crate::circuit::Circuit;
    #[pymodule_export]
    use crate::job::Job;
    #[pymodule_export]
    use crate::keys::{EvalKey, WrappedKey};
    #[pymodule_export]
    use crate::secret::{SecretKey, keygen};
    #[pymodule_export]
    use crate::transcipher::Transcipher;
    #[pymodule_export]
    use crate::values::{matches, save_values, scan};
    #[pymodule_export]
    use crate::vector::{State, Vector};
    #[pymodule_export]
    use crate::worker::JobWorker;
}
