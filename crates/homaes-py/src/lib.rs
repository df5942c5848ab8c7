//! The extension module `homaes._homaes` of the Python package `homaes`, whose other half is `python/homaes`.
//!
//! | module | content |
//! |---|---|
//! | `errors` | errors of the library as exceptions |
//! | `details` | what exceptions have beside their messages |
//! | `job_errors` | those of jobs and stores |
//! | `fault` | those of files that were replaced, too |
//! | `wait` | work in a thread of its own, while the calling thread answers to signals |
//! | `service` | a thread that keeps what was prepared, and takes one task after the other |
//! | `place` | what Python names a file by: a path, or bytes |
//! | `keys` | the three keys |
//! | `input` | AES ciphertext from files and buffers |
//! | `transcipher`, `ciphertexts` | runs, and their results |
//! | `job` | jobs, and their workers |
//! | `batches`, `circuit`, `values`, `numbers` | results batch by batch; computing on those of BGV, files of that, and what is in them |
//! | `scan` | searching AES ciphertext for public patterns |
//! | `about` | parameter sets, what is in a file, digests, the command |

// Not forbidden: the macros of pyo3 write unsafe code, which allows itself. There is none by hand.
#![deny(unsafe_code)]
// The documentation of functions is that of Python, which has no section of errors.
#![allow(clippy::missing_errors_doc, reason = "exceptions stand in the stubs")]

mod about;
mod batches;
mod ciphertexts;
mod circuit;
mod counts;
mod decrypt;
mod details;
mod errors;
mod fault;
mod input;
mod job;
mod job_errors;
mod keys;
mod numbers;
mod place;
mod scan;
mod service;
mod transcipher;
mod values;
mod wait;

/// Fully homomorphic AES: the part of the package `homaes` that is in Rust.
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
