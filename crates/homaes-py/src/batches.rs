//! Results batch by batch.

use crate::errors::refuse_with;
use crate::wait;
use homaes::{Error, ErrorKind, Quality};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use std::sync::{Arc, Mutex, PoisonError};

/// The batches of results, in order.
#[pyclass(frozen, module = "homaes._homaes")]
pub(crate) struct Batches(Arc<Mutex<homaes::Batches<'static>>>);

impl Batches {
    pub(crate) fn new(batches: homaes::Batches<'static>) -> Self {
        Self(Arc::new(Mutex::new(batches)))
    }
}

#[pymethods]
impl Batches {
    fn __iter__(this: PyRef<'_, Self>) -> PyRef<'_, Self> {
        this
    }

    fn __next__(&self, py: Python<'_>) -> PyResult<Option<Batch>> {
        let batches = self.0.clone();
        wait::read(py, move |_| {
            let mut batches = batches.lock().unwrap_or_else(PoisonError::into_inner);
            batches.next().transpose()?.map(Batch::new).transpose()
        })
    }
}

/// FHE ciphertexts of consecutive AES blocks.
#[pyclass(frozen, module = "homaes", weakref)]
#[derive(Clone)]
pub(crate) struct Batch {
    pub(crate) batch: Arc<homaes::Batch>,
    quality: Quality,
}

impl Batch {
    pub(crate) fn new(batch: homaes::Batch) -> homaes::Result<Self> {
        let quality = batch.quality()?;
        Ok(Self {
            batch: batch.into(),
            quality,
        })
    }
}

#[pymethods]
impl Batch {
    /// Its number, from 0.
    #[getter]
    fn number(&self) -> u64 {
        self.batch.index()
    }

    /// Number of AES blocks in it.
    #[getter]
    fn blocks(&self) -> usize {
        self.batch.blocks()
    }

    /// The name of the parameter set.
    #[getter]
    fn set(&self) -> &'static str {
        self.batch.set().name()
    }

    /// The id of the secret key that decrypts it, in hex.
    #[getter]
    fn key_id(&self) -> String {
        self.batch.key_id().to_string()
    }

    /// How ciphertexts hold the bytes: "packed", "sliced" or "bits".
    #[getter]
    fn layout(&self) -> &'static str {
        self.batch.layout().name()
    }

    /// Level of the ciphertexts, at least 1.
    #[getter]
    fn level(&self) -> usize {
        self.quality.level
    }

    /// Multiplications left; None if the scheme bootstraps.
    #[getter]
    fn multiplications_left(&self) -> Option<usize> {
        let scheme = self.batch.set().scheme();
        scheme.multiplications_left(self.quality.level)
    }

    /// log2 of the noise of the worst ciphertext.
    #[getter]
    fn noise_bits(&self) -> f64 {
        self.quality.noise_bits
    }

    /// Bits between this noise and failure.
    #[getter]
    fn capacity_bits(&self) -> f64 {
        self.quality.capacity_bits
    }

    /// The LWE ciphertexts of a batch of TFHE: a read-only array of uint64, one row per digit, mask before body.
    ///
    /// Each row encrypts a digit modulo 2^64: one bit times 2^63, or in sets of base 16 four bits times 2^59. Digits
    /// follow the order of the bytes, the lowest digit of a byte first.
    pub(crate) fn lwe<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let set = homaes_tfhe::sets::by_name(self.set()).ok_or_else(|| {
            let (found, expected) = (self.set(), "a set of TFHE");
            let message = format!("results of set {found}, expected {expected}");
            let error = Error::refused(ErrorKind::Argument, message).with(found, expected);
            refuse_with(error, "evaluate AES under keys of tfhe/p64")
        })?;
        let batch = self.batch.clone();
        let state = wait::read(py, move |_| batch.state::<homaes_tfhe::State>())?;
        let digits = match set.variant {
            homaes_tfhe::Variant::Nibble(_) => 32,
            _ => 128,
        };
        let words = state.lwes();
        let data = PyBytes::new_with(py, 8 * words.len(), |out| {
            for (out, word) in out.as_chunks_mut().0.iter_mut().zip(words) {
                *out = word.to_le_bytes();
            }
            Ok(())
        })?;
        let array = py
            .import("numpy")?
            .call_method1("frombuffer", (data, "<u8"))?;
        let rows = state.blocks() * digits;
        array.call_method1("reshape", (rows, words.len() / rows.max(1)))
    }

    fn __repr__(&self) -> String {
        let (number, blocks, set) = (self.number(), self.blocks(), self.set());
        format!("<homaes.Batch {number} of {blocks} blocks, {set}>")
    }
}

/// The batch of results that have only one, otherwise `None`.
pub(crate) fn only(ciphertexts: homaes::Ciphertexts<'static>) -> homaes::Result<Option<Batch>> {
    if ciphertexts.meta().split.batches() != 1 {
        return Ok(None);
    }
    let mut batches = ciphertexts.into_iter();
    let first = batches.next().transpose()?;
    // verifies the rest of the file
    match batches.next() {
        Some(Err(error)) => Err(error),
        _ => first.map(Batch::new).transpose(),
    }
}
