//! Circuits on results of BGV: operations on vectors of bytes under encryption.

use crate::arguments::{Number, axes_of, axis_of, threads_of};
use crate::batches::{Batch, only};
use crate::ciphertexts::origin_of;
use crate::errors::refuse;
use crate::integers::{Integers, lifted};
use crate::keys::EvalKey;
use crate::methods::getters;
use crate::vector::{Shared, State, Vector, byte_of, bytes_of};
use crate::wait;
use homaes::Pool;
use homaes_bgv::Ciphertext;
use homaes_job::JobError;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use std::num::NonZeroU8;
use std::process;
use std::sync::Arc;

/// Operations on vectors, under an evaluation key of BGV.
#[pyclass(frozen, module = "homaes.bgv", weakref)]
pub(crate) struct Circuit(pub(crate) Arc<Shared>);

getters! { Circuit as circuit:
    /// Number of threads.
    threads: usize = circuit.0.pool.as_ref().map_or(1, Pool::threads);
    /// The name of the parameter set.
    set: &'static str = circuit.0.key.set().name();
    /// Number of slots of a vector.
    slots: PyResult<usize> = Ok(circuit.0.params()?.slots().count());
}

#[pymethods]
impl Circuit {
    #[new]
    #[pyo3(signature = (eval_key, /, threads=None))]
    fn new(py: Python<'_>, eval_key: &EvalKey, threads: Option<Number>) -> PyResult<Self> {
        let (key, threads) = (eval_key.key.clone(), threads_of(threads)?);
        let shared = Shared {
            key,
            pool: Some(py.detach(|| Pool::new(threads.get()))),
            process: process::id(),
        };
        shared.params()?;
        Ok(Self(Arc::new(shared)))
    }

    /// Number of slots along an axis: "e3", "e5" or "e257".
    #[pyo3(signature = (axis, /))]
    fn places(&self, axis: &str) -> PyResult<usize> {
        let axis = axis_of(axis)?;
        Ok(self.0.params()?.slots().axes()[axis as usize])
    }

    /// Load the vectors of a batch, or of results with only one batch.
    #[pyo3(signature = (batch, /))]
    fn load(&self, batch: &Bound<'_, PyAny>) -> PyResult<State> {
        let py = batch.py();
        let batch = match batch.cast::<Batch>() {
            Ok(batch) => batch.get().clone(),
            Err(_) => {
                let origin = origin_of(batch)?;
                let read = move |cancel: &_| Ok::<_, JobError>(only(origin.open(cancel)?)?);
                wait::read(py, read)?.ok_or_else(|| {
                    refuse(
                        "results with another number of batches, expected one",
                        "load each batch: for batch in ciphertexts",
                    )
                })?
            }
        };
        let found = (batch.batch.set(), batch.batch.key_id());
        self.0.check_own("batch", found)?;
        let (shared, blocks) = (self.0.clone(), batch.batch.blocks());
        let state = wait::read(py, move |_| batch.batch.state())?;
        Ok(State {
            shared,
            state,
            blocks,
        })
    }

    /// 1 where the byte is 0, else 0.
    #[pyo3(signature = (v, /))]
    fn is_zero(&self, py: Python<'_>, v: &Vector) -> PyResult<Vector> {
        self.0.of_one(py, v, |c, v| c.is_zero(v))
    }

    /// 0 where the byte is 0, else 1.
    #[pyo3(signature = (v, /))]
    fn is_nonzero(&self, py: Python<'_>, v: &Vector) -> PyResult<Vector> {
        self.0.of_one(py, v, |c, v| c.is_nonzero(v))
    }

    /// 1 where the byte equals a public byte, else 0.
    #[pyo3(signature = (v, byte, /))]
    fn equals_byte(&self, v: &Vector, byte: &Bound<'_, PyAny>) -> PyResult<Vector> {
        let py = byte.py();
        let byte = byte_of(byte)?;
        self.0.of_one(py, v, move |c, v| c.equals_byte(v, byte))
    }

    /// 1 where the byte is below a public byte from 1 to 255, as numbers, else 0.
    #[pyo3(signature = (v, byte, /))]
    fn below_byte(&self, v: &Vector, byte: &Bound<'_, PyAny>) -> PyResult<Vector> {
        let py = byte.py();
        let byte = NonZeroU8::new(byte_of(byte)?)
            .ok_or_else(|| PyValueError::new_err("byte: found 0, expected 1 to 255"))?;
        self.0.of_one(py, v, move |c, v| c.below_byte(v, byte))
    }

    /// The bytes of a vector as integers modulo 2^bits.
    #[pyo3(signature = (v, bits, /))]
    fn integers(&self, py: Python<'_>, v: &Bound<'_, Vector>, bits: u32) -> PyResult<Integers> {
        self.0.vector(v)?;
        lifted(py, v.get(), false, bits)
    }

    /// The ones and zeros of a mask as integers modulo 2^bits; their sum is a count.
    #[pyo3(signature = (mask, bits, /))]
    fn mask_integers(
        &self,
        py: Python<'_>,
        mask: &Bound<'_, Vector>,
        bits: u32,
    ) -> PyResult<Integers> {
        self.0.vector(mask)?;
        lifted(py, mask.get(), true, bits)
    }

    /// 1 where the byte equals the public byte of its slot, else 0. Missing public bytes are 0.
    #[pyo3(signature = (v, data, /))]
    fn equals_public(&self, v: &Vector, data: &Bound<'_, PyAny>) -> PyResult<Vector> {
        let py = data.py();
        let data = bytes_of(data)?;
        self.0.of_one(py, v, move |c, v| c.equals_public(v, &data))
    }

    /// 1 where the block equals a public block, else 0. Takes a batch of layout sliced, or its sixteen vectors.
    #[pyo3(signature = (state, block, /))]
    fn equals_block(&self, state: &Bound<'_, PyAny>, block: &Bound<'_, PyAny>) -> PyResult<Vector> {
        let py = state.py();
        let data = bytes_of(block)?;
        let block = data.try_into().map_err(|data: Vec<u8>| {
            PyValueError::new_err(format!("block: found {} bytes, expected 16", data.len()))
        })?;
        let bytes = self.0.all_of(state)?;
        if bytes.len() != 16 {
            return Err(refuse(
                &format!("state: found {} vectors, expected 16", bytes.len()),
                "pass the vectors of a byte-sliced batch",
            ));
        }
        self.0.made(py, move |c| {
            // copies of what the operation reads
            let bytes: Vec<_> = bytes.iter().map(|v| Ciphertext::clone(v)).collect();
            c.equals_block(&bytes, &block)
        })
    }

    /// The mask 1 - v.
    #[pyo3(signature = (v, /))]
    pub(crate) fn not_(&self, py: Python<'_>, v: &Vector) -> PyResult<Vector> {
        self.0.of_one(py, v, |c, v| c.not(v))
    }

    /// 1 where all masks are 1: their product.
    #[pyo3(signature = (masks, /))]
    fn all(&self, masks: &Bound<'_, PyAny>) -> PyResult<Vector> {
        let all = self.0.all_of(masks)?;
        self.0.made(masks.py(), move |c| c.all(&refs(&all)))
    }

    /// 1 where at least one mask is 1.
    #[pyo3(signature = (masks, /))]
    fn any(&self, masks: &Bound<'_, PyAny>) -> PyResult<Vector> {
        let all = self.0.all_of(masks)?;
        self.0.made(masks.py(), move |c| c.any(&refs(&all)))
    }

    /// The sum of vectors, each times a public byte.
    #[pyo3(signature = (terms, /))]
    fn combine(&self, terms: &Bound<'_, PyAny>) -> PyResult<Vector> {
        let taken = terms.try_iter()?.map(|term| {
            let (v, byte): (Bound<'_, PyAny>, Bound<'_, PyAny>) = term?.extract()?;
            Ok((self.0.vector(&v)?, byte_of(&byte)?))
        });
        let taken = taken.collect::<PyResult<Vec<_>>>()?;
        self.0.made(terms.py(), move |c| {
            let terms: Vec<_> = taken.iter().map(|(v, byte)| (&**v, *byte)).collect();
            c.combine(&terms)
        })
    }

    /// Rotate slots along an axis: slot e receives the value of slot e + steps.
    #[pyo3(signature = (v, axis, steps))]
    fn rotate(&self, py: Python<'_>, v: &Vector, axis: &str, steps: i64) -> PyResult<Vector> {
        let (axis, places) = (axis_of(axis)?, self.places(axis)?);
        let steps = steps.rem_euclid(places as i64) as usize;
        self.0.of_one(py, v, move |c, v| c.rotate(v, axis, steps))
    }

    /// The sum over all slots along the axes, in each slot.
    #[pyo3(signature = (v, axes))]
    fn sum_slots(&self, py: Python<'_>, v: &Vector, axes: Vec<String>) -> PyResult<Vector> {
        let axes = axes_of(&axes)?;
        self.0.of_one(py, v, move |c, v| c.sum_slots(v, &axes))
    }

    /// 1 if a mask is 1 in all slots along the axes.
    #[pyo3(signature = (v, axes))]
    fn all_slots(&self, py: Python<'_>, v: &Vector, axes: Vec<String>) -> PyResult<Vector> {
        let axes = axes_of(&axes)?;
        self.0.of_one(py, v, move |c, v| c.all_slots(v, &axes))
    }

    /// 1 if a mask is 1 in at least one slot along the axes.
    #[pyo3(signature = (v, axes))]
    fn any_slots(&self, py: Python<'_>, v: &Vector, axes: Vec<String>) -> PyResult<Vector> {
        let axes = axes_of(&axes)?;
        self.0.of_one(py, v, move |c, v| c.any_slots(v, &axes))
    }

    fn __repr__(&self) -> String {
        let (set, threads) = (self.set(), self.threads());
        format!("<homaes.bgv.Circuit {set}, {threads} threads>")
    }
}

fn refs(all: &[Arc<Ciphertext>]) -> Vec<&Ciphertext> {
    all.iter().map(|v| &**v).collect()
}
