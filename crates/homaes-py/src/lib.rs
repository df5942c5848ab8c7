//! The extension module `homaes._homaes` of the Python package `homaes`. The Python part is in `python/homaes`.
//!
//! | module | content |
//! |---|---|
//! | `errors` | errors of the library as exceptions |
//! | `wait` | work in its own thread, or in one that keeps the prepared circuit, while the calling thread handles signals |
//! | `place` | files as Python names them: by a path or by bytes |
//! | `keys`, `decrypt` | the three keys; decryption |
//! | `counts` | integer arguments |
//! | `input` | AES ciphertext from files and buffers |
//! | `transcipher`, `ciphertexts` | runs, and their results |
//! | `job` | jobs, and their workers |
//! | `batches` | results batch by batch |
//! | `circuit`, `values`, `numbers` | circuits on results of BGV; files of values; decrypted values |
//! | `scan` | searching AES ciphertext for public patterns |
//! | `about` | parameter sets, inspection of files, digests, GPUs, the command |

// Denied, not forbidden: the macros of pyo3 write unsafe code and allow it. There is no other unsafe code.
#![deny(unsafe_code)]
// The doc comments become Python docstrings, which have no section on errors.
#![allow(clippy::missing_errors_doc, reason = "exceptions stand in the stubs")]

mod about;
mod batches;
mod ciphertexts;
mod circuit;
mod counts;
mod decrypt;
mod errors;
mod input;
mod job;
mod keys;
mod numbers;
mod place;
mod scan;
mod transcipher;
mod values;
mod wait;

/// Fully homomorphic AES: the Rust part of the package `homaes`.
#[pyo3::pymodule(gil_used = false)]
mod _homaes {
    #[pymodule_export]
    use crate::about::{card, digest, gpus, inspect, run_command, set_names, version};
    #[pymodule_export]
    use crate::batches::{Batch, Batches};
    #[pymodule_export]
    use crate::ciphertexts::Results;
    #[pymodule_export]
    use crate::circuit::{Circuit, State, Vector};
    #[pymodule_export]
    use crate::job::{Job, JobWorker};
    #[pymodule_export]
    use crate::keys::{EvalKey, SecretKey, WrappedKey, keygen};
    #[pymodule_export]
    use crate::scan::{matches, scan};
    #[pymodule_export]
    use crate::transcipher::Runner;
    #[pymodule_export]
    use crate::values::save_values;
}
