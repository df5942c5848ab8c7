//! Vectors of bytes under encryption, batches of results as vectors, and the state that they share with their circuit.

use crate::arguments::buffer;
use crate::errors::{raise, refuse};
use crate::methods::getters;
use crate::wait;
use homaes::{Error, KeyId, Layout, Pool, SchemeError, Set};
use homaes_bgv::{Ciphertext, Evaluator, Lift, Params};
use homaes_scheme::{SetId, mismatch};
use pyo3::basic::CompareOp;
use pyo3::exceptions::{PyIndexError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyList;
use std::process;
use std::sync::Arc;

/// The state that a circuit and its vectors share.
pub(crate) struct Shared {
    pub(crate) key: Arc<homaes::EvalKey>,
    pub(crate) pool: Option<Pool>,
    /// The process that has the threads. A forked process does not have them.
    pub(crate) process: u32,
}

impl Drop for Shared {
    fn drop(&mut self) {
        if self.process != process::id() {
            // dropping would wait for threads that a forked process does not have
            std::mem::forget(self.pool.take());
        }
    }
}

impl Shared {
    /// Refuses a ciphertext of another set or secret key.
    pub(crate) fn check_own(&self, what: &'static str, of: (&Set, KeyId)) -> PyResult<()> {
        let own = (self.key.set(), self.key.key_id());
        let [found, own] = [of, own].map(|(set, id)| (SetId::new(set.name(), set.digest()), id));
        let checked = mismatch::check(what, found, own);
        checked.map_err(|mismatch| raise(Error::Keys(mismatch.into())))
    }

    pub(crate) fn params(&self) -> PyResult<&Params> {
        let key: Option<&homaes_bgv::EvalKey> = self.key.of_scheme();
        key.map(|key| &**key.params()).ok_or_else(|| {
            let set = self.key.set().name();
            refuse(
                &format!("an evaluation key of set {set}, expected one of BGV"),
                "make keys of a set of BGV, such as bgv/aes128+8",
            )
        })
    }

    /// The ciphertext of a vector of this circuit.
    pub(crate) fn vector(self: &Arc<Self>, v: &Bound<'_, PyAny>) -> PyResult<Arc<Ciphertext>> {
        let found = v.cast::<Vector>().map_err(|_| {
            let found = v.get_type();
            PyTypeError::new_err(format!("found {found}, expected a Vector"))
        })?;
        self.own(found.get())
    }

    fn own(self: &Arc<Self>, v: &Vector) -> PyResult<Arc<Ciphertext>> {
        let found = &v.shared;
        if Arc::ptr_eq(found, self) {
            return Ok(v.ciphertext.clone());
        }
        self.check_own("vector", (found.key.set(), found.key.key_id()))?;
        Err(refuse(
            "a Vector of another Circuit",
            "use vectors of one Circuit",
        ))
    }

    pub(crate) fn all_of(
        self: &Arc<Self>,
        vectors: &Bound<'_, PyAny>,
    ) -> PyResult<Vec<Arc<Ciphertext>>> {
        let vectors = vectors.try_iter()?;
        vectors.map(|v| self.vector(&v?)).collect()
    }

    /// The result of `work` on the circuit's threads.
    pub(crate) fn made(
        self: &Arc<Self>,
        py: Python<'_>,
        work: impl FnOnce(&Evaluator<'_>) -> homaes_bgv::Result<Ciphertext> + Send + 'static,
    ) -> PyResult<Vector> {
        let ciphertext = Arc::new(self.run(py, work)?);
        let shared = self.clone();
        Ok(Vector { shared, ciphertext })
    }

    /// As [`made`](Self::made), of any type.
    pub(crate) fn run<T: Send + 'static>(
        self: &Arc<Self>,
        py: Python<'_>,
        work: impl FnOnce(&Evaluator<'_>) -> homaes_bgv::Result<T> + Send + 'static,
    ) -> PyResult<T> {
        if self.process != process::id() {
            return Err(PyValueError::new_err(
                "the Circuit was made before this process was forked and has no threads here; make a new one",
            ));
        }
        let shared = self.clone();
        wait::read(py, move |cancel| {
            let (Some(key), Some(pool)) = (shared.key.of_scheme(), &shared.pool) else {
                return Err(Error::Cancelled);
            };
            let evaluator = Evaluator::new(key).until(cancel);
            let done = pool.install(|| work(&evaluator));
            done.map_err(|error| Error::Keys(scheme_error(error)))
        })
    }

    pub(crate) fn of_one(
        self: &Arc<Self>,
        py: Python<'_>,
        v: &Vector,
        work: impl FnOnce(&Evaluator<'_>, &Ciphertext) -> homaes_bgv::Result<Ciphertext>
        + Send
        + 'static,
    ) -> PyResult<Vector> {
        let v = self.own(v)?;
        self.made(py, move |c| work(c, &v))
    }
}

/// An error of the scheme. Mismatches keep their own type.
fn scheme_error(error: homaes_bgv::Error) -> SchemeError {
    match error {
        homaes_bgv::Error::Mismatch(mismatch) => mismatch.into(),
        error => error.into(),
    }
}

/// A byte in every slot, under encryption.
#[pyclass(frozen, module = "homaes.bgv", weakref)]
pub(crate) struct Vector {
    pub(crate) shared: Arc<Shared>,
    pub(crate) ciphertext: Arc<Ciphertext>,
}

getters! { Vector as v:
    /// The level, at least 1.
    level: usize = v.ciphertext.level();
    /// Multiplications left.
    multiplications_left: usize = v.level().saturating_sub(1);
    /// Bits between the bound on its noise and failure.
    capacity_bits: PyResult<f64> = Ok(v.ciphertext.capacity_bits(v.shared.params()?));
    /// log2 of a bound on the probability that it decrypts wrongly; at most -64.
    failure_log2: PyResult<f64> = Ok(v.ciphertext.failure_log2(v.shared.params()?));
}

#[pymethods]
impl Vector {
    /// Makes NumPy arrays leave operators to vectors.
    #[classattr]
    fn __array_ufunc__() -> Option<()> {
        None
    }

    /// The sum in the field (XOR) with a vector, a byte, or one byte per slot.
    fn __xor__<'py>(&self, other: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let v = self.ciphertext.clone();
        self.with(other, move |c, other| match other {
            Operand::Vector(other) => c.add(&v, other),
            Operand::Byte(byte) => c.add_byte(&v, *byte),
            Operand::Bytes(data) => c.add_public(&v, data),
        })
    }

    fn __rxor__<'py>(&self, other: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        self.__xor__(other)
    }

    /// Refused: "+" would suggest a sum of integers, not XOR.
    fn __add__(&self, _other: &Bound<'_, PyAny>) -> PyResult<Bound<'_, PyAny>> {
        Err(PyTypeError::new_err(
            "+ does not add encrypted vectors: v ^ w is their sum in the field GF(2^8), the XOR of the bytes",
        ))
    }

    fn __radd__(&self, other: &Bound<'_, PyAny>) -> PyResult<Bound<'_, PyAny>> {
        self.__add__(other)
    }

    /// The product in the field with a vector, a byte, or one byte per slot.
    fn __mul__<'py>(&self, other: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let v = self.ciphertext.clone();
        self.with(other, move |c, other| match other {
            Operand::Vector(other) => c.multiply(&v, other),
            Operand::Byte(byte) => c.multiply_byte(&v, *byte),
            Operand::Bytes(data) => c.multiply_public(&v, data, Lift::ZeroOne),
        })
    }

    fn __rmul__<'py>(&self, other: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        self.__mul__(other)
    }

    /// The mask 1 - v.
    fn __invert__(&self, py: Python<'_>) -> PyResult<Self> {
        self.shared.of_one(py, self, |c, v| c.not(v))
    }

    /// Refused: the contents are encrypted, so "and", "or", "not" and "if" cannot use them.
    fn __bool__(&self) -> PyResult<bool> {
        Err(PyTypeError::new_err(
            "an encrypted vector is neither true nor false: combine masks with *, ~, Circuit.all and Circuit.any",
        ))
    }

    /// Refused: Python would compare the objects, not their contents.
    fn __richcmp__(&self, _other: &Bound<'_, PyAny>, _op: CompareOp) -> PyResult<bool> {
        Err(PyTypeError::new_err(
            "Python cannot compare encrypted vectors: Circuit.is_zero(v ^ w) is a mask of the equal slots",
        ))
    }

    /// Every byte to the power 2^k, k modulo 8.
    #[pyo3(signature = (k, /))]
    fn frobenius(&self, py: Python<'_>, k: i64) -> PyResult<Self> {
        let k = k.rem_euclid(8) as usize;
        self.shared.of_one(py, self, move |c, v| c.frobenius(v, k))
    }

    fn __repr__(&self) -> PyResult<String> {
        let (set, level) = (self.shared.key.set().name(), self.level());
        let bits = self.capacity_bits()?;
        Ok(format!(
            "<homaes.bgv.Vector of {set}, level {level}, {bits:.1} bits left>"
        ))
    }
}

impl Vector {
    /// Applies an operator to another operand.
    fn with<'py>(
        &self,
        other: &Bound<'py, PyAny>,
        work: impl FnOnce(&Evaluator<'_>, &Operand) -> homaes_bgv::Result<Ciphertext> + Send + 'static,
    ) -> PyResult<Bound<'py, PyAny>> {
        let (py, circuit) = (other.py(), &self.shared);
        let other = if other.cast::<Self>().is_ok() {
            Operand::Vector(circuit.vector(other)?)
        } else if other.extract::<i64>().is_ok() {
            Operand::Byte(byte_of(other)?)
        } else if let Some(data) = buffer(other)? {
            Operand::Bytes(data.to_vec(py)?)
        } else {
            return Ok(py.NotImplemented().into_bound(py));
        };
        let made = circuit.made(py, move |c| work(c, &other))?;
        Ok(Bound::new(py, made)?.into_any())
    }
}

enum Operand {
    Vector(Arc<Ciphertext>),
    Byte(u8),
    Bytes(Vec<u8>),
}

/// A batch of results as vectors.
#[pyclass(frozen, module = "homaes.bgv", weakref)]
pub(crate) struct State {
    pub(crate) shared: Arc<Shared>,
    pub(crate) state: homaes_bgv::State,
    pub(crate) blocks: usize,
}

getters! { State as state:
    /// How vectors hold the bytes: "packed", "sliced" or "bits".
    layout: &'static str = state.state.layout().name();
    /// Number of AES blocks in it.
    blocks: usize = state.blocks;
    /// The level of the vectors.
    level: usize = state.state.level();
    /// The only vector of layout packed; `place` gives the slot of a byte.
    packed: PyResult<Vector> = match state.state.layout() {
        Layout::Packed => state.nth(0),
        layout => Err(refuse(
            &format!("a batch of layout {layout}, expected packed"),
            "index its vectors, or run in layout packed",
        )),
    };
}

#[pymethods]
impl State {
    /// The place of a byte of a block: index of the vector, and slot in it.
    #[pyo3(signature = (block, byte, /))]
    fn place(&self, block: usize, byte: usize) -> PyResult<(usize, usize)> {
        let params = self.shared.params()?;
        if block >= params.blocks_per_batch(self.state.layout()) || byte >= 16 {
            return Err(PyIndexError::new_err(format!(
                "found byte {byte} of block {block}, expected byte 0 to 15 of a block of the batch"
            )));
        }
        let place = self.state.place(params, block, byte);
        place.map_err(|error| raise(Error::Keys(scheme_error(error))))
    }

    fn __len__(&self) -> usize {
        self.state.ciphertexts().len()
    }

    fn __iter__<'py>(this: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        let state = this.get();
        let numbers = 0..state.__len__() as isize;
        let all = numbers.map(|number| state.__getitem__(number));
        let all = PyList::new(this.py(), all.collect::<PyResult<Vec<_>>>()?)?;
        Ok(all.try_iter()?.into_any())
    }

    /// In layout sliced, vector i holds byte i of every block, block b in slot b. In layout bits, vector 8i + j holds
    /// bit j of byte i.
    fn __getitem__(&self, number: isize) -> PyResult<Vector> {
        if self.state.layout() == Layout::Packed {
            return Err(refuse(
                "a batch of layout packed, whose bytes are in one vector",
                "use State.packed, or run in layout sliced",
            ));
        }
        let start = if number < 0 {
            self.__len__() as isize
        } else {
            0
        };
        self.nth(usize::try_from(start + number).unwrap_or(usize::MAX))
    }

    fn __repr__(&self) -> String {
        let (blocks, layout) = (self.blocks, self.layout());
        let set = self.shared.key.set().name();
        format!("<homaes.bgv.State of {blocks} blocks, {layout}, {set}>")
    }
}

impl State {
    fn nth(&self, number: usize) -> PyResult<Vector> {
        if self.state.is_final() {
            return Err(raise(Error::Keys(scheme_error(homaes_bgv::Error::Final))));
        }
        let all = self.state.ciphertexts();
        let found = all.get(number).ok_or_else(|| {
            let count = all.len();
            PyIndexError::new_err(format!("expected a number below {count}"))
        })?;
        Ok(Vector {
            shared: self.shared.clone(),
            ciphertext: found.clone().into(),
        })
    }
}

pub(crate) fn byte_of(object: &Bound<'_, PyAny>) -> PyResult<u8> {
    let found: i64 = object
        .extract()
        .map_err(|_| PyTypeError::new_err("byte: expected an int"))?;
    u8::try_from(found)
        .map_err(|_| PyValueError::new_err(format!("byte: found {found}, expected 0 to 255")))
}

pub(crate) fn bytes_of(object: &Bound<'_, PyAny>) -> PyResult<Vec<u8>> {
    let Some(data) = buffer(object)? else {
        return Err(PyTypeError::new_err("expected bytes, or an array of uint8"));
    };
    data.to_vec(object.py())
}
