//! Searching AES ciphertext for public patterns.

use crate::ciphertexts::Results;
use crate::counts::Number;
use crate::errors::raise;
use crate::input::{Given, part};
use crate::keys::{EvalKey, WrappedKey};
use crate::transcipher::threads_of;
use crate::wait;
use homaes::{Cancel, Error, Output, Pool, Scan, Set};
use pyo3::prelude::*;

type Patterns = Vec<(String, Vec<u8>)>;

/// Search one part of a message. Returns the bytes of a `.hcv` file with an answer for each pattern.
#[pyfunction]
#[pyo3(signature = (given, eval_key, wrapped_key, patterns, threads, /))]
pub(crate) fn scan(
    py: Python<'_>,
    given: Given<'_>,
    eval_key: &EvalKey,
    wrapped_key: &WrappedKey,
    patterns: Patterns,
    threads: Option<Number>,
) -> PyResult<Results> {
    let (part, threads) = (part(given)?, threads_of(threads)?);
    let (eval, wrapped) = (eval_key.key.clone(), wrapped_key.key.clone());
    let cancel = Cancel::new();
    let thrown = cancel.clone();
    let bytes = wait::run(py, &cancel, false, move || {
        let scan = Scan::new(eval.set(), patterns)?;
        let pool = Pool::new(threads.get());
        let (output, buffer) = Output::memory();
        scan.run(&eval, &wrapped, part, &pool, &thrown)?
            .write(output)?;
        Ok::<_, Error>(buffer.take())
    })?;
    Ok(Results::own(bytes))
}

/// The byte offsets of each pattern, from the opened answers with their labels.
#[pyfunction]
#[pyo3(signature = (set, patterns, answers, /))]
pub(crate) fn matches(
    py: Python<'_>,
    set: &str,
    patterns: Patterns,
    answers: Vec<(String, Vec<u64>)>,
) -> PyResult<Vec<Vec<u64>>> {
    let find = || {
        let answers: Vec<_> = answers
            .iter()
            .map(|(label, numbers)| (&**label, &numbers[..]))
            .collect();
        Scan::new(&Set::named(set)?, patterns)?.starts(&answers)
    };
    py.detach(find).map_err(raise)
}
