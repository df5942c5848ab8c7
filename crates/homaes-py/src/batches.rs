//! Results batch by batch.

use crate::errors::refuse_with;
use crate::methods::getters;
use crate::wait::{self, lock};
use homaes::{Error, ErrorKind, Quality};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use std::sync::{Arc, Mutex};

/// The batches of results, in order.
#[pyclass(frozen, module = "homaes._homaes")]
pub(crate) struct Batches(pub(crate) Arc<Mutex<homaes::Batches<'static>>>);

#[pymethods]
impl Batches {
    fn __iter__(this: PyRef<'_, Self>) -> PyRef<'_, Self> {
        this
    }

    fn __next__(&self, py: Python<'_>) -> PyResult<Option<Batch>> {
        let batches = self.0.clone();
        wait::read(py, move |_| {
            lock(&batches)
                .next()
                .transpose()?
                .map(Batch::new)
                .transpose()
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

getters! { Batch as it:
    /// Its number, from 0.
    number: u64 = it.batch.index();
    /// Number of AES blocks in it.
    blocks: usize = it.batch.blocks();
    /// The name of the parameter set.
    set: &'static str = it.batch.set().name();
    /// The id of the secret key that decrypts it, in hex.
    key_id: String = it.batch.key_id().to_string();
    /// How ciphertexts hold the bytes: "packed", "sliced" or "bits".
    layout: &'static str = it.batch.layout().name();
    /// Level of the ciphertexts, at least 1.
    level: usize = it.quality.level;
    /// Multiplications left; None if the scheme bootstraps.
    multiplications_left: Option<usize> =
        it.batch.set().scheme().multiplications_left(it.quality.level);
    /// log2 of the noise of the worst ciphertext.
    noise_bits: f64 = it.quality.noise_bits;
    /// Bits between this noise and failure.
    capacity_bits: f64 = it.quality.capacity_bits;
}

#[pymethods]
impl Batch {
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
    let mut batches = ciphertexts.into_iter();
    // the second call verifies the rest of the file
    match (batches.next().transpose()?, batches.next().transpose()?) {
        (Some(only), None) => Batch::new(only).map(Some),
        _ => Ok(None),
    }
}
