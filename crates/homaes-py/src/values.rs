//! Values computed on results: their files, and searching AES ciphertext for public patterns.

use crate::arguments::{FilePath, Number, buffer, threads_of};
use crate::ciphertexts::{Values, origin_of};
use crate::circuit::Circuit;
use crate::errors::raise;
use crate::input::part;
use crate::integers::Integers;
use crate::keys::{EvalKey, WrappedKey};
use crate::origin::Place;
use crate::vector::Vector;
use crate::wait;
use homaes::{Computed, Error, Output, Pool, Scan, Set, Total, Totals};
use homaes_bgv::{Addend, Ciphertext};
use homaes_job::JobError;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{IntoPyDict, PyDict, PyMapping, PyString};
use std::sync::Arc;

/// Write vectors under labels to a ``.hcv`` file, for ``SecretKey.open_values`` and ``homaes decrypt --json``.
///
/// A value is one vector, or several whose slots follow each other, or integers; ``signed`` reads all integers as two's
/// complement. The file holds all slots, also those without a block: multiply the vector by a public mask if the owner
/// of the key must not see them.
#[pyfunction]
#[pyo3(signature = (path, values, circuit, *, signed=false, force=false))]
pub(crate) fn save_values(
    py: Python<'_>,
    path: FilePath,
    values: &Bound<'_, PyMapping>,
    circuit: &Circuit,
    signed: bool,
    force: bool,
) -> PyResult<()> {
    let mut given = Vec::new();
    for item in values.items()? {
        let (label, value): (String, Bound<'_, PyAny>) = item.extract()?;
        let value = if let Ok(integers) = value.cast::<Integers>() {
            Given::Integers(integers.get().integers.clone())
        } else if value.is_instance_of::<Vector>() {
            Given::Vectors(vec![circuit.0.vector(&value)?])
        } else {
            Given::Vectors(circuit.0.all_of(&value)?)
        };
        given.push((label, value));
    }
    let (slots, key) = (circuit.slots()?, circuit.0.key.clone());
    wait::write(py, move |cancel| {
        let output = Output::create(path.0, force)?;
        let mut computed = Computed::new(&key);
        for (label, value) in &given {
            cancel.check().map_err(|_| Error::Cancelled)?;
            match value {
                Given::Vectors(vectors) => {
                    let count = (slots * vectors.len()) as u64;
                    computed.add(label, count, 8, vectors.iter().map(|v| &**v))?;
                }
                Given::Integers(x) => {
                    let form = (slots as u64, x.bits() as u8, signed);
                    computed.add_integers(label, form, [(1, Addend::Slots(x))])?;
                }
            }
        }
        computed.write(output)
    })
}

enum Given {
    Vectors(Vec<Arc<Ciphertext>>),
    Integers(Arc<homaes_bgv::Integers>),
}

/// Search AES ciphertext for public patterns at every byte offset, in BGV, without learning what is found.
///
/// The scan finds every occurrence, also across blocks and batches. It reports a false match at a given byte with
/// probability 2^-48. Wrap the AES key with ``levels_left=8`` in a set whose slots can be rotated, such as
/// ``bgv/aes128+8``. The owner of the key opens the answers with ``SecretKey.open_values``, and ``matches`` returns
/// where patterns begin. ``raw``: as in ``Transcipher.run``.
#[pyfunction]
#[pyo3(signature = (data, mode, eval_key, wrapped_key, patterns, *, threads=None, raw=false))]
pub(crate) fn scan(
    data: &Bound<'_, PyAny>,
    mode: &Bound<'_, PyAny>,
    eval_key: &EvalKey,
    wrapped_key: &WrappedKey,
    patterns: &Bound<'_, PyAny>,
    threads: Option<Number>,
    raw: bool,
) -> PyResult<Values> {
    let (part, threads) = (part(data, mode.extract()?, raw)?, threads_of(threads)?);
    let (eval, wrapped) = (eval_key.key.clone(), wrapped_key.key.clone());
    let patterns = pairs(patterns)?;
    let bytes = wait::read(data.py(), move |cancel| {
        let scan = Scan::new(eval.set(), patterns)?;
        let pool = Pool::new(threads.get());
        let (output, buffer) = Output::memory();
        scan.run(&eval, &wrapped, part, &pool, cancel)?
            .write(output)?;
        Ok::<_, Error>(buffer.take())
    })?;
    Ok(Values(Place::memory(bytes)))
}

/// Total columns of BGV results: sums, counts and dot products of the numbers in a message's records.
///
/// ``totals``: any of ``"sum COLUMN"``, ``"count"`` and ``"dot COLUMN COLUMN"``, over the records that meet all
/// conditions of ``where``, such as ``"u8@0 == 65"``. A column is a type, the offset of its first number and the bytes
/// of a record, as in ``u16be@4/16``; ``homaes compute --help`` says more. Sums and counts are exact, dot products
/// modulo 65536. ``records`` takes the first ones alone; padding of ECB and CBC belongs to the message.
/// ``SecretKey.open_values`` gives each total as an array of one number, in the order asked for.
#[pyfunction]
#[pyo3(signature = (results, eval_key, totals, *, r#where=None, records=None, threads=None))]
pub(crate) fn totals(
    results: &Bound<'_, PyAny>,
    eval_key: &EvalKey,
    totals: Vec<String>,
    r#where: Option<Vec<String>>,
    records: Option<u64>,
    threads: Option<Number>,
) -> PyResult<Values> {
    let (origin, threads) = (origin_of(results)?, threads_of(threads)?);
    let eval = eval_key.key.clone();
    let conditions = r#where.unwrap_or_default();
    let bytes = wait::read(results.py(), move |cancel| {
        let totals: Result<Vec<Total>, _> = totals.iter().map(|text| text.parse()).collect();
        let conditions: Result<Vec<_>, _> = conditions.iter().map(|text| text.parse()).collect();
        let totals = Totals::new(totals?, conditions?);
        let totals = match records {
            Some(records) => totals.first_records(records),
            None => totals,
        };
        let pool = Pool::new(threads.get());
        let (output, buffer) = Output::memory();
        let results = origin.open(cancel)?;
        totals.run(&eval, results, &pool, cancel)?.write(output)?;
        Ok::<_, JobError>(buffer.take())
    })?;
    Ok(Values(Place::memory(bytes)))
}

/// The byte offsets of each pattern, from the opened answers of ``scan`` under keys of ``set``.
///
/// Pass all ``patterns`` of the scan in the same order; answers to other patterns are refused.
#[pyfunction]
pub(crate) fn matches<'py>(
    values: &Bound<'py, PyMapping>,
    patterns: &Bound<'py, PyAny>,
    set: &str,
) -> PyResult<Bound<'py, PyDict>> {
    let (py, patterns) = (values.py(), pairs(patterns)?);
    let mut answers: Vec<(String, Vec<u64>)> = Vec::new();
    for item in values.items()? {
        let (label, numbers): (String, Bound<'_, PyAny>) = item.extract()?;
        answers.push((label, numbers.call_method0("tolist")?.extract()?));
    }
    let labels: Vec<_> = patterns.iter().map(|(label, _)| label.clone()).collect();
    let find = || {
        let answers = answers.iter();
        let answers: Vec<_> = answers.map(|(label, all)| (&**label, &all[..])).collect();
        Scan::new(&Set::named(set)?, patterns)?.starts(&answers)
    };
    let starts = py.detach(find).map_err(raise)?;
    labels.iter().zip(starts).into_py_dict(py)
}

/// Labels with their patterns.
fn pairs(patterns: &Bound<'_, PyAny>) -> PyResult<Vec<(String, Vec<u8>)>> {
    let Ok(patterns) = patterns.cast::<PyMapping>() else {
        let found = patterns.get_type().name()?;
        let message = format!("patterns: found {found}, expected a dict of labels and bytes");
        return Err(PyTypeError::new_err(message));
    };
    let items = patterns.items()?;
    let pairs = items.iter().map(|item| {
        let (label, pattern): (Bound<'_, PyAny>, Bound<'_, PyAny>) = item.extract()?;
        match (label.cast::<PyString>(), buffer(&pattern)?) {
            (Ok(label), Some(bytes)) => Ok((label.to_string(), bytes.to_vec(item.py())?)),
            _ => {
                let label = label.repr()?;
                let message = format!("pattern {label}: expected a str as label, and bytes");
                Err(PyTypeError::new_err(message))
            }
        }
    });
    pairs.collect()
}
