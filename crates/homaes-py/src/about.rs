//! Parameter sets, inspection of files, GPUs, the command.

use crate::arguments;
use crate::ciphertexts::{meta_dict, parts, report, steps};
use crate::errors::raise;
use crate::wait;
use homaes::{Layout, Set, ValueMeta};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::ffi::OsString;
use std::path::PathBuf;

/// Version of the package.
#[pyfunction]
pub(crate) fn version() -> &'static str {
    env!("CARGO_PKG_VERSION")
}

/// The properties of a parameter set.
#[pyfunction]
#[pyo3(signature = (set, /))]
pub(crate) fn card<'py>(py: Python<'py>, set: &str) -> PyResult<Bound<'py, PyAny>> {
    let set = py.detach(|| Set::named(set)).map_err(raise)?;
    let card = set.card();
    report!(py, "SetCard", {
        name: set.name(),
        scheme: card.name.scheme(),
        purpose: card.purpose.as_str(),
        paper: card.paper,
        security_bits_claimed: card.security_bits_claimed,
        assumptions: &card.assumptions,
        log2_p_fail: card.log2_p_fail,
        layouts: names(set.layouts()),
        blocks_per_batch: card.blocks_per_batch,
        secret_key_bytes: card.secret_key_bytes,
        eval_key_bytes: card.eval_key_bytes,
        wrapped_key_bytes: card.wrapped_key_bytes,
        ciphertext_bytes_per_batch: card.ciphertext_bytes_per_batch,
    })
}

fn names(layouts: &[Layout]) -> Vec<&'static str> {
    layouts.iter().map(|layout| layout.name()).collect()
}

/// List all parameter sets of this build.
#[pyfunction]
pub(crate) fn sets(py: Python<'_>) -> PyResult<Vec<Bound<'_, PyAny>>> {
    let names = Set::names().into_iter();
    names.map(|name| card(py, name)).collect()
}

/// Describe a file of any kind; verifies every checksum.
#[pyfunction]
#[pyo3(signature = (path, /))]
pub(crate) fn inspect<'py>(path: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    let (py, file) = (path.py(), arguments::path(path)?);
    let found = wait::read(py, move |_| homaes::inspect(file))?;
    let (mut details, mut all_parts, mut all_steps) = (PyDict::new(py), Vec::new(), &[][..]);
    if let Some(messages) = &found.messages {
        let quality = messages.quality;
        let left = quality.and_then(|q| messages.evaluated_in.multiplications_left(q.level));
        details = meta_dict(py, &messages.meta)?;
        details.set_item("multiplications_left", left)?;
        details.set_item("noise_bits", quality.map(|q| q.noise_bits))?;
        details.set_item("capacity_bits", quality.map(|q| q.capacity_bits))?;
        details.set_item("log2_p_fail", messages.log2_p_fail)?;
        (all_parts, all_steps) = (parts(py, &messages.meta)?, &messages.steps[..]);
    }
    if let Some(layouts) = &found.eval_layouts {
        details.set_item("layouts", names(layouts))?;
    }
    if let Some(wrapped) = &found.wrapped {
        details.set_item("key_bits", 8 * wrapped.key_size.key_bytes())?;
        details.set_item("layouts", names(&wrapped.layouts()))?;
    }
    if let Some(values) = found.values.as_ref().filter(|values| !values.is_empty()) {
        let values = values.iter().map(|value| value_dict(py, value));
        details.set_item("values", values.collect::<PyResult<Vec<_>>>()?)?;
    }
    report!(py, "Inspection", {
        path: path,
        kind: found.kind.to_string(),
        set: &found.set_name,
        key_id: found.key_id.to_string(),
        file_bytes: found.file_bytes,
        is_protected: found.protection.is_some(),
        parts: all_parts,
        details: details,
        steps: steps(py, all_steps)?,
    })
}

/// The description of a value in a file.
fn value_dict<'py>(py: Python<'py>, meta: &ValueMeta) -> PyResult<Bound<'py, PyDict>> {
    let out = PyDict::new(py);
    out.set_item("label", &meta.label)?;
    out.set_item("form", &meta.form)?;
    out.set_item("count", meta.count)?;
    out.set_item("width", meta.width)?;
    out.set_item("ciphertexts", meta.ciphertexts)?;
    Ok(out)
}

/// List the usable GPUs. If there are none, the command ``homaes devices`` says why.
#[pyfunction]
pub(crate) fn devices(py: Python<'_>) -> PyResult<Vec<Bound<'_, PyAny>>> {
    let gpus = py.detach(homaes::gpus).unwrap_or_default();
    let about = |gpu: homaes::Gpu| {
        report!(py, "DeviceInfo", {
            device: format!("cuda:{}", gpu.number),
            name: gpu.name,
            memory_bytes: gpu.memory_bytes,
            arithmetic: gpu.arithmetic,
        })
    };
    gpus.into_iter().map(about).collect()
}

/// Run the command with the arguments of this process, and return its exit code. The process must do nothing else.
#[pyfunction]
pub(crate) fn run_command(py: Python<'_>) -> PyResult<u8> {
    let args: Vec<OsString> = py.import("sys")?.getattr("argv")?.extract()?;
    let program = args.first().map_or_else(|| "homaes".into(), PathBuf::from);
    Ok(py.detach(|| homaes_cli::run(program, args)))
}
