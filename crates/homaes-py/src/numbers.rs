//! Decrypted values as arrays.

use crate::ciphertexts::Results;
use crate::place::Place;
use crate::wait;
use homaes::{Cancel, Numbers};
use homaes_job::JobError;
use pyo3::prelude::*;
use pyo3::types::{PyByteArray, PyDict};
use std::sync::Arc;
use zeroize::Zeroizing;

/// The numbers of a file of values, as arrays by label.
pub(crate) fn opened<'py>(
    source: &Bound<'py, PyAny>,
    secret: Arc<homaes::SecretKey>,
) -> PyResult<Bound<'py, PyDict>> {
    let (py, place) = (source.py(), Results::of(source)?.into_place()?);
    let values = wait::run(py, &Cancel::new(), false, move || match &place {
        Place::File(file) => {
            file.check()?;
            Ok::<_, JobError>(secret.open_values(file.path())?)
        }
        Place::Bytes(bytes) => Ok(secret.open_values_of(bytes.as_ref(), "<memory>")?),
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
