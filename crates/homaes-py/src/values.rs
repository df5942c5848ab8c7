//! Files of values computed on results.

use crate::circuit::Circuit;
use crate::place::path;
use crate::wait;
use homaes::{Cancel, Computed, Error, Output};
use pyo3::prelude::*;
use std::path::PathBuf;

/// Write all slots of the vectors of each label to a file.
#[pyfunction]
#[pyo3(signature = (path, values, circuit, force, /))]
pub(crate) fn save_values(
    py: Python<'_>,
    #[pyo3(from_py_with = path)] path: PathBuf,
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
