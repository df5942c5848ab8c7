//! Files of what was computed on results.

use crate::ciphertexts::Held;
use crate::circuit::Circuit;
use crate::place::Place;
use crate::wait;
use homaes::{Cancel, Computed, Error, Numbers, Output, ValueMeta};
use pyo3::prelude::*;
use pyo3::types::{PyByteArray, PyDict};
use std::path::PathBuf;
use std::sync::Arc;
use zeroize::Zeroizing;

/// Write all slots of vectors to a file, one after the other under each label.
#[pyfunction]
#[pyo3(signature = (path, values, circuit, force, /))]
pub(crate) fn save_values(
    py: Python<'_>,
    path: PathBuf,
    values: Vec<(String, Vec<Bound<'_, PyAny>>)>,
    circuit: &Circuit,
    force: bool,
) -> PyResult<()> {
    let values = values.into_iter().map(|(label, vectors)| {
        let vectors = vectors.iter().map(|v| circuit.vector(v));
        Ok((label, vectors.collect::<PyResult<Vec<_>>>()?))
    });
    let values = values.collect::<PyResult<Vec<_>>>()?;
    let (slots, key, cancel) = (circuit.slots()?, circuit.key(), Cancel::new());
    let thrown = cancel.clone();
    wait::run(py, &cancel, true, move || {
        let output = Output::create(path, force)?;
        let mut computed = Computed::new(&key);
        for (label, vectors) in &values {
            thrown.check().map_err(|_| Error::Cancelled)?;
            let count = (slots * vectors.len()) as u64;
            computed.add(label, count, 8, vectors.iter().map(|v| &**v))?;
        }
        thrown.check().map_err(|_| Error::Cancelled)?;
        computed.write(output)
    })
}

/// The numbers of a file of values: arrays by their labels.
pub(crate) fn opened<'py>(
    source: &Bound<'py, PyAny>,
    secret: Arc<homaes::SecretKey>,
) -> PyResult<Bound<'py, PyDict>> {
    let (py, place) = (source.py(), Held::of(source)?.0);
    let values = wait::run(py, &Cancel::new(), false, move || match &place {
        Place::Path(path) => secret.open_values(path),
        Place::Bytes(bytes) => secret.open_values_of(bytes.as_ref(), "<memory>"),
    })?;
    let out = PyDict::new(py);
    for value in &values {
        out.set_item(&value.meta.label, array(py, value)?)?;
    }
    Ok(out)
}

/// An array of the smallest type that holds the numbers.
fn array<'py>(py: Python<'py>, value: &Numbers) -> PyResult<Bound<'py, PyAny>> {
    let bytes = value.meta.width.div_ceil(8).next_power_of_two() as usize;
    let numbers = value.numbers.iter();
    let data = numbers.flat_map(|number| number.to_le_bytes().into_iter().take(bytes));
    let data = Zeroizing::new(data.collect::<Vec<u8>>());
    let data = PyByteArray::new(py, &data);
    let numpy = py.import("numpy")?;
    numpy.call_method1("frombuffer", (data, format!("<u{bytes}")))
}

/// What a file says about a value.
pub(crate) fn meta_dict<'py>(py: Python<'py>, meta: &ValueMeta) -> PyResult<Bound<'py, PyDict>> {
    let out = PyDict::new(py);
    out.set_item("label", &meta.label)?;
    out.set_item("form", &meta.form)?;
    out.set_item("count", meta.count)?;
    out.set_item("width", meta.width)?;
    out.set_item("ciphertexts", meta.ciphertexts)?;
    Ok(out)
}
