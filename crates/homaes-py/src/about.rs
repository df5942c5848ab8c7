//! Parameter sets, inspection of files, digests, GPUs, the command.

use crate::ciphertexts::inspection_dict;
use crate::errors::raise;
use crate::place::path;
use crate::wait;
use homaes::{Cancel, Error, Set};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use std::ffi::OsString;
use std::path::PathBuf;

/// Version of the package.
#[pyfunction]
pub(crate) fn version() -> &'static str {
    env!("CARGO_PKG_VERSION")
}

/// The names of all parameter sets of this build.
#[pyfunction]
pub(crate) fn set_names() -> Vec<&'static str> {
    Set::names()
}

/// The properties of a parameter set.
#[pyfunction]
#[pyo3(signature = (set, /))]
pub(crate) fn card<'py>(py: Python<'py>, set: &str) -> PyResult<Bound<'py, PyDict>> {
    let set = py.detach(|| Set::named(set)).map_err(raise)?;
    let card = set.card();
    let out = PyDict::new(py);
    out.set_item("name", set.name())?;
    out.set_item("scheme", card.scheme)?;
    out.set_item("purpose", card.purpose.as_str())?;
    out.set_item("paper", card.paper)?;
    out.set_item("security_bits_claimed", card.security_bits_claimed)?;
    out.set_item("assumptions", &card.assumptions)?;
    out.set_item("log2_p_fail", card.log2_p_fail)?;
    let layouts: Vec<_> = set.layouts().iter().map(|l| l.name()).collect();
    out.set_item("layouts", layouts)?;
    out.set_item("blocks_per_batch", card.blocks_per_batch)?;
    out.set_item("secret_key_bytes", card.secret_key_bytes)?;
    out.set_item("eval_key_bytes", card.eval_key_bytes)?;
    out.set_item("wrapped_key_bytes", card.wrapped_key_bytes)?;
    let bytes = card.ciphertext_bytes_per_batch;
    out.set_item("ciphertext_bytes_per_batch", bytes)?;
    Ok(out)
}

/// Describe a file of any kind; verifies every checksum.
#[pyfunction]
#[pyo3(signature = (path, /))]
pub(crate) fn inspect(
    py: Python<'_>,
    #[pyo3(from_py_with = path)] path: PathBuf,
) -> PyResult<Bound<'_, PyDict>> {
    let read = move || homaes::inspect(path);
    let found = wait::run(py, &Cancel::new(), false, read)?;
    inspection_dict(py, &found)
}

/// Name, memory and arithmetic of a GPU.
type About = (String, u64, String);

/// The GPUs of this machine, by number.
#[pyfunction]
pub(crate) fn gpus(py: Python<'_>) -> Vec<(usize, About)> {
    let gpus = py.detach(homaes::gpus).unwrap_or_default();
    let about = |gpu: homaes::Gpu| (gpu.number, (gpu.name, gpu.memory_bytes, gpu.arithmetic));
    gpus.into_iter().map(about).collect()
}

/// BLAKE3 of a file.
#[pyfunction]
#[pyo3(signature = (path, /))]
pub(crate) fn digest(
    py: Python<'_>,
    #[pyo3(from_py_with = path)] path: PathBuf,
) -> PyResult<Bound<'_, PyBytes>> {
    let read = move || {
        let mut hasher = blake3::Hasher::new();
        let file = std::fs::File::open(&path);
        let read = file.and_then(|file| hasher.update_reader(file).map(|_| ()));
        match read {
            Ok(()) => Ok(hasher.finalize()),
            Err(source) => Err(Error::Io { path, source }),
        }
    };
    let digest = wait::run(py, &Cancel::new(), false, read)?;
    Ok(PyBytes::new(py, digest.as_bytes()))
}

/// Run the command with `args`, the first of which is the program, and return its exit code. The process must do
/// nothing else.
#[pyfunction]
#[pyo3(signature = (args, /))]
pub(crate) fn run_command(py: Python<'_>, args: Vec<OsString>) -> u8 {
    let program = args.first().map_or_else(|| "homaes".into(), PathBuf::from);
    py.detach(|| homaes_cli::run(program, args))
}
