//! The extension module `homaes._homaes` of the Python package `homaes`. The Python part is in `python/homaes`.
//!
//! | module | content |
//! |---|---|
//! | `errors` | errors of the library as exceptions |
//! | `methods` | methods that several classes have alike |
//! | `wait` | work in its own thread, or in one that keeps the prepared circuit, while the calling thread handles signals |
//! | `arguments` | integers, devices, layouts, paths, buffers |
//! | `secret`, `decrypt` | the secret key; decryption |
//! | `keys` | the keys of the server |
//! | `input` | AES ciphertext from files and buffers |
//! | `transcipher` | runs |
//! | `origin` | where keys and results are: a file, bytes, a job |
//! | `ciphertexts`, `batches` | results: their description, their batches |
//! | `job`, `worker` | jobs, and their workers |
//! | `circuit`, `vector`, `integers`, `values` | circuits on results of BGV; values computed by them, totals, or a search |
//! | `about` | parameter sets, inspection of files, GPUs, the command |

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
mod integers;
mod job;
mod keys;
mod methods;
mod origin;
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
    use crate::{
        about::{card, devices, inspect, run_command, sets, version},
        batches::{Batch, Batches},
        ciphertexts::{Ciphertexts, Values},
        circuit::Circuit,
        integers::Integers,
        job::Job,
        keys::{EvalKey, WrappedKey},
        secret::{SecretKey, keygen},
        transcipher::Transcipher,
        values::{matches, save_values, scan, totals},
        vector::{State, Vector},
        worker::JobWorker,
    };
}
