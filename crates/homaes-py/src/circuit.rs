//! Circuits on results of BGV: vectors of bytes under encryption, and operations on them.

use crate::batches::{Batch, only};
use crate::ciphertexts::Results;
use crate::counts::Number;
use crate::errors::{raise, refuse};
use crate::place::buffer;
use crate::transcipher::threads_of;
use crate::wait;
use homaes::{Cancel, Error, Layout, Pool, SchemeError};
use homaes_bgv::{Axis, Ciphertext, Evaluator, Lift, Params};
use homaes_job::JobError;
use homaes_scheme::Mismatch;
use pyo3::basic::CompareOp;
use pyo3::exceptions::{PyIndexError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyList;
use std::process;
use std::sync::Arc;

/// Operations on vectors, under an evaluation key of BGV.
#[pyclass(frozen, module = "homaes.bgv", weakref)]
#[derive(Clone)]
pub(crate) struct Circuit(Arc<Shared>);

/// The state that a circuit and its vectors share.
struct Shared {
    key: Arc<homaes::EvalKey>,
    threads: Threads,
}

/// The threads of a process. A forked process does not have them.
struct Threads {
    pool: Option<Pool>,
    process: u32,
}

impl Drop for Threads {
    fn drop(&mut self) {
        if self.process != process::id() {
            // dropping would wait for threads that a forked process does not have
            std::mem::forget(self.pool.take());
        }
    }
}

impl Shared {
    fn eval(&self) -> PyResult<&homaes_bgv::EvalKey> {
        self.key
            .of_scheme()
            .ok_or_else(|| not_of_bgv(self.key.set().name()))
    }

    fn params(&self) -> PyResult<&Params> {
        Ok(self.eval()?.params())
    }

    /// Runs `work` on the circuit's threads.
    fn run<T: Send + 'static>(
        self: &Arc<Self>,
        py: Python<'_>,
        work: impl FnOnce(&Evaluator<'_>) -> homaes_bgv::Result<T> + Send + 'static,
    ) -> PyResult<T> {
        if self.threads.process != process::id() {
            return Err(PyValueError::new_err(
                "the Circuit was made before this process was forked and has no threads here; make a new one",
            ));
        }
        self.eval()?;
        let (cancel, shared) = (Cancel::new(), self.clone());
        let thrown = cancel.clone();
        wait::run(py, &cancel, false, move || {
            let (Some(key), Some(pool)) = (shared.key.of_scheme(), &shared.threads.pool) else {
                return Err(Error::Cancelled);
            };
            let evaluator = Evaluator::new(key).until(&thrown);
            let done = pool.install(|| work(&evaluator));
            done.map_err(|error| Error::Keys(scheme_error(error)))
        })
    }
}

fn not_of_bgv(set: &str) -> PyErr {
    refuse(
        &format!("an evaluation key of set {set}, expected one of BGV"),
        "make keys of a set of BGV, such as bgv/aes128+8",
    )
}

/// An error of the scheme. Mismatches keep their own type.
fn scheme_error(error: homaes_bgv::Error) -> SchemeError {
    match error {
        homaes_bgv::Error::Mismatch(mismatch) => mismatch.into(),
        error => error.into(),
    }
}

#[pymethods]
impl Circuit {
    #[new]
    #[pyo3(signature = (eval_key, /, threads=None))]
    fn new(
        py: Python<'_>,
        eval_key: &crate::keys::EvalKey,
        threads: Option<Number>,
    ) -> PyResult<Self> {
        let threads = threads_of(threads)?;
        let key = eval_key.key.clone();
        if key.of_scheme::<homaes_bgv::EvalKey>().is_none() {
            return Err(not_of_bgv(key.set().name()));
        }
        let threads = Threads {
            pool: Some(py.detach(|| Pool::new(threads.get()))),
            process: process::id(),
        };
        Ok(Self(Arc::new(Shared { key, threads })))
    }

    /// Number of threads.
    #[getter]
    fn threads(&self) -> usize {
        self.0.threads.pool.as_ref().map_or(1, Pool::threads)
    }

    /// The name of the parameter set.
    #[getter]
    fn set(&self) -> &'static str {
        self.0.key.set().name()
    }

    /// Number of slots of a vector.
    #[getter]
    pub(crate) fn slots(&self) -> PyResult<usize> {
        Ok(self.0.params()?.slots().count())
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
                let held = Results::of(batch)?;
                let never = Cancel::new();
                let read = move || Ok::<_, JobError>(only(held.open(&never)?)?);
                wait::run(py, &Cancel::new(), false, read)?.ok_or_else(|| {
                    refuse(
                        "results with another number of batches, expected one",
                        "load each batch: for batch in ciphertexts",
                    )
                })?
            }
        };
        let key = self.0.key.clone();
        let state = wait::run(py, &Cancel::new(), false, move || {
            let batch = &batch.batch;
            let mismatch = match (batch.set().name(), batch.key_id()) {
                (found, _) if found != key.set().name() => Mismatch::OtherSet {
                    what: "batch",
                    found,
                    expected: key.set().name(),
                },
                (_, found) if found != key.key_id() => Mismatch::OtherKey {
                    what: "batch",
                    found,
                    expected: key.key_id(),
                },
                _ => return Ok((batch.state::<homaes_bgv::State>()?, batch.blocks())),
            };
            Err(Error::Keys(mismatch.into()))
        })?;
        let (state, blocks) = state;
        Ok(State {
            shared: self.0.clone(),
            state,
            blocks,
        })
    }

    /// 1 where the byte is 0, else 0.
    #[pyo3(signature = (v, /))]
    fn is_zero(&self, py: Python<'_>, v: &Vector) -> PyResult<Vector> {
        self.of_one(py, v, |c, v| c.is_zero(v))
    }

    /// 0 where the byte is 0, else 1.
    #[pyo3(signature = (v, /))]
    fn is_nonzero(&self, py: Python<'_>, v: &Vector) -> PyResult<Vector> {
        self.of_one(py, v, |c, v| c.is_nonzero(v))
    }

    /// 1 where the byte equals a public byte, else 0.
    #[pyo3(signature = (v, byte, /))]
    fn equals_byte(&self, v: &Vector, byte: &Bound<'_, PyAny>) -> PyResult<Vector> {
        let py = byte.py();
        let byte = byte_of(byte)?;
        self.of_one(py, v, move |c, v| c.equals_byte(v, byte))
    }

    /// 1 where the byte equals the public byte of its slot, else 0. Missing public bytes are 0.
    #[pyo3(signature = (v, data, /))]
    fn equals_public(&self, v: &Vector, data: &Bound<'_, PyAny>) -> PyResult<Vector> {
        let py = data.py();
        let data = bytes_of(data)?;
        self.of_one(py, v, move |c, v| c.equals_public(v, &data))
    }

    /// 1 where the block equals a public block, else 0. Takes a batch of layout sliced, or its sixteen vectors.
    #[pyo3(signature = (state, block, /))]
    fn equals_block(&self, state: &Bound<'_, PyAny>, block: &Bound<'_, PyAny>) -> PyResult<Vector> {
        let py = state.py();
        let data = bytes_of(block)?;
        let block = data.try_into().map_err(|data: Vec<u8>| {
            PyValueError::new_err(format!("block: found {} bytes, expected 16", data.len()))
        })?;
        let bytes = self.all_of(state)?;
        if bytes.len() != 16 {
            return Err(refuse(
                &format!("state: found {} vectors, expected 16", bytes.len()),
                "pass the vectors of a byte-sliced batch",
            ));
        }
        self.made(py, move |c| {
            // copies of what the operation reads
            let bytes: Vec<_> = bytes.iter().map(|v| Ciphertext::clone(v)).collect();
            c.equals_block(&bytes, &block)
        })
    }

    /// The mask 1 - v.
    #[pyo3(signature = (v, /))]
    fn not_(&self, py: Python<'_>, v: &Vector) -> PyResult<Vector> {
        self.of_one(py, v, |c, v| c.not(v))
    }

    /// 1 where all masks are 1: their product.
    #[pyo3(signature = (masks, /))]
    fn all(&self, masks: &Bound<'_, PyAny>) -> PyResult<Vector> {
        let all = self.all_of(masks)?;
        self.made(masks.py(), move |c| c.all(&refs(&all)))
    }

    /// 1 where at least one mask is 1.
    #[pyo3(signature = (masks, /))]
    fn any(&self, masks: &Bound<'_, PyAny>) -> PyResult<Vector> {
        let all = self.all_of(masks)?;
        self.made(masks.py(), move |c| c.any(&refs(&all)))
    }

    /// The sum of vectors, each times a public byte.
    #[pyo3(signature = (terms, /))]
    fn combine(&self, terms: &Bound<'_, PyAny>) -> PyResult<Vector> {
        let taken = terms.try_iter()?.map(|term| {
            let (v, byte): (Bound<'_, PyAny>, Bound<'_, PyAny>) = term?.extract()?;
            Ok((self.vector(&v)?, byte_of(&byte)?))
        });
        let taken = taken.collect::<PyResult<Vec<_>>>()?;
        self.made(terms.py(), move |c| {
            let terms: Vec<_> = taken.iter().map(|(v, byte)| (&**v, *byte)).collect();
            c.combine(&terms)
        })
    }

    /// Rotate slots along an axis: slot e receives the value of slot e + steps.
    #[pyo3(signature = (v, axis, steps))]
    fn rotate(&self, py: Python<'_>, v: &Vector, axis: &str, steps: i64) -> PyResult<Vector> {
        let (axis, places) = (axis_of(axis)?, self.places(axis)?);
        let steps = steps.rem_euclid(places as i64) as usize;
        self.of_one(py, v, move |c, v| c.rotate(v, axis, steps))
    }

    /// The sum over all slots along the axes, in each slot.
    #[pyo3(signature = (v, axes))]
    fn sum_slots(&self, py: Python<'_>, v: &Vector, axes: Vec<String>) -> PyResult<Vector> {
        let axes = axes_of(&axes)?;
        self.of_one(py, v, move |c, v| c.sum_slots(v, &axes))
    }

    /// 1 if a mask is 1 in all slots along the axes.
    #[pyo3(signature = (v, axes))]
    fn all_slots(&self, py: Python<'_>, v: &Vector, axes: Vec<String>) -> PyResult<Vector> {
        let axes = axes_of(&axes)?;
        self.of_one(py, v, move |c, v| c.all_slots(v, &axes))
    }

    /// 1 if a mask is 1 in at least one slot along the axes.
    #[pyo3(signature = (v, axes))]
    fn any_slots(&self, py: Python<'_>, v: &Vector, axes: Vec<String>) -> PyResult<Vector> {
        let axes = axes_of(&axes)?;
        self.of_one(py, v, move |c, v| c.any_slots(v, &axes))
    }

    fn __repr__(&self) -> String {
        let (set, threads) = (self.set(), self.threads());
        format!("<homaes.bgv.Circuit {set}, {threads} threads>")
    }
}

impl Circuit {
    pub(crate) fn key(&self) -> Arc<homaes::EvalKey> {
        self.0.key.clone()
    }

    /// The ciphertext of a vector of this circuit.
    pub(crate) fn vector(&self, v: &Bound<'_, PyAny>) -> PyResult<Arc<Ciphertext>> {
        let found = v.cast::<Vector>().map_err(|_| {
            let found = v.get_type();
            PyTypeError::new_err(format!("found {found}, expected a Vector"))
        })?;
        self.own(found.get())
    }

    fn own(&self, v: &Vector) -> PyResult<Arc<Ciphertext>> {
        let (found, expected) = (&v.shared, &self.0);
        if Arc::ptr_eq(found, expected) {
            return Ok(v.ciphertext.clone());
        }
        let (name, id) = (found.key.set().name(), found.key.key_id());
        if name != expected.key.set().name() {
            let expected = expected.key.set().name();
            let what = "vector";
            let found = name;
            let mismatch = Mismatch::OtherSet {
                what,
                found,
                expected,
            };
            return Err(raise(Error::Keys(mismatch.into())));
        }
        if id != expected.key.key_id() {
            let mismatch = Mismatch::OtherKey {
                what: "vector",
                found: id,
                expected: expected.key.key_id(),
            };
            return Err(raise(Error::Keys(mismatch.into())));
        }
        Err(refuse(
            "a Vector of another Circuit",
            "use vectors of one Circuit",
        ))
    }

    fn all_of(&self, vectors: &Bound<'_, PyAny>) -> PyResult<Vec<Arc<Ciphertext>>> {
        let vectors = vectors.try_iter()?;
        vectors.map(|v| self.vector(&v?)).collect()
    }

    fn made(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&Evaluator<'_>) -> homaes_bgv::Result<Ciphertext> + Send + 'static,
    ) -> PyResult<Vector> {
        Ok(Vector {
            ciphertext: self.0.run(py, work)?.into(),
            shared: self.0.clone(),
        })
    }

    fn of_one(
        &self,
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

/// A byte in every slot, under encryption.
#[pyclass(frozen, module = "homaes.bgv", weakref)]
pub(crate) struct Vector {
    shared: Arc<Shared>,
    ciphertext: Arc<Ciphertext>,
}

#[pymethods]
impl Vector {
    /// Makes NumPy arrays leave operators to vectors.
    #[classattr]
    fn __array_ufunc__() -> Option<()> {
        None
    }

    /// The level, at least 1.
    #[getter]
    fn level(&self) -> usize {
        self.ciphertext.level()
    }

    /// Multiplications left.
    #[getter]
    fn multiplications_left(&self) -> usize {
        self.level().saturating_sub(1)
    }

    /// Bits between the bound on its noise and failure.
    #[getter]
    fn capacity_bits(&self) -> PyResult<f64> {
        Ok(self.ciphertext.capacity_bits(self.shared.params()?))
    }

    /// log2 of a bound on the probability that it decrypts wrongly; at most -64.
    #[getter]
    fn failure_log2(&self) -> PyResult<f64> {
        Ok(self.ciphertext.failure_log2(self.shared.params()?))
    }

    /// The sum in the field (XOR) with a vector, a byte, or one byte per slot.
    fn __xor__<'py>(&self, other: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        self.sum(other)
    }

    fn __rxor__<'py>(&self, other: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        self.sum(other)
    }

    /// Refused: "+" would suggest a sum of integers, not XOR.
    fn __add__(&self, _other: &Bound<'_, PyAny>) -> PyResult<Bound<'_, PyAny>> {
        Err(no_integers())
    }

    fn __radd__(&self, _other: &Bound<'_, PyAny>) -> PyResult<Bound<'_, PyAny>> {
        Err(no_integers())
    }

    /// The product in the field with a vector, a byte, or one byte per slot.
    fn __mul__<'py>(&self, other: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        self.product(other)
    }

    fn __rmul__<'py>(&self, other: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        self.product(other)
    }

    /// The mask 1 - v.
    fn __invert__(&self, py: Python<'_>) -> PyResult<Self> {
        self.circuit().not_(py, self)
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
        self.circuit()
            .of_one(py, self, move |c, v| c.frobenius(v, k))
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
    fn circuit(&self) -> Circuit {
        Circuit(self.shared.clone())
    }

    fn sum<'py>(&self, other: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let v = self.ciphertext.clone();
        self.with(other, move |c, other| match other {
            Operand::Vector(other) => c.add(&v, other),
            Operand::Byte(byte) => c.add_byte(&v, *byte),
            Operand::Bytes(data) => c.add_public(&v, data),
        })
    }

    fn product<'py>(&self, other: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let v = self.ciphertext.clone();
        self.with(other, move |c, other| match other {
            Operand::Vector(other) => c.multiply(&v, other),
            Operand::Byte(byte) => c.multiply_byte(&v, *byte),
            Operand::Bytes(data) => c.multiply_public(&v, data, Lift::ZeroOne),
        })
    }

    /// Applies an operator to another operand.
    fn with<'py>(
        &self,
        other: &Bound<'py, PyAny>,
        work: impl FnOnce(&Evaluator<'_>, &Operand) -> homaes_bgv::Result<Ciphertext> + Send + 'static,
    ) -> PyResult<Bound<'py, PyAny>> {
        let (py, circuit) = (other.py(), self.circuit());
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

fn no_integers() -> PyErr {
    PyTypeError::new_err(
        "+ does not add encrypted vectors: v ^ w is their sum in the field GF(2^8), the XOR of the bytes",
    )
}

enum Operand {
    Vector(Arc<Ciphertext>),
    Byte(u8),
    Bytes(Vec<u8>),
}

/// A batch of results as vectors.
#[pyclass(frozen, module = "homaes.bgv", weakref)]
pub(crate) struct State {
    shared: Arc<Shared>,
    state: homaes_bgv::State,
    blocks: usize,
}

#[pymethods]
impl State {
    /// How vectors hold the bytes: "packed", "sliced" or "bits".
    #[getter]
    fn layout(&self) -> &'static str {
        self.state.layout().name()
    }

    /// Number of AES blocks in it.
    #[getter]
    fn blocks(&self) -> usize {
        self.blocks
    }

    /// The level of the vectors.
    #[getter]
    fn level(&self) -> usize {
        self.state.level()
    }

    /// The only vector of layout packed; `place` gives the slot of a byte.
    #[getter]
    fn packed(&self) -> PyResult<Vector> {
        match self.state.layout() {
            Layout::Packed => self.nth(0),
            layout => Err(refuse(
                &format!("a batch of layout {layout}, expected packed"),
                "index its vectors, or run in layout packed",
            )),
        }
    }

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
        let count = self.__len__();
        let from_start = match number < 0 {
            true => number + count as isize,
            false => number,
        };
        self.nth(usize::try_from(from_start).unwrap_or(usize::MAX))
    }

    fn __repr__(&self) -> String {
        let (blocks, layout) = (self.blocks, self.layout());
        let set = self.shared.key.set().name();
        format!("<homaes.bgv.State of {blocks} blocks, {layout}, {set}>")
    }
}

impl State {
    fn nth(&self, number: usize) -> PyResult<Vector> {
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

fn refs(all: &[Arc<Ciphertext>]) -> Vec<&Ciphertext> {
    all.iter().map(|v| &**v).collect()
}

fn byte_of(object: &Bound<'_, PyAny>) -> PyResult<u8> {
    let found: i64 = object
        .extract()
        .map_err(|_| PyTypeError::new_err("byte: expected an int"))?;
    u8::try_from(found)
        .map_err(|_| PyValueError::new_err(format!("byte: found {found}, expected 0 to 255")))
}

fn bytes_of(object: &Bound<'_, PyAny>) -> PyResult<Vec<u8>> {
    let Some(data) = buffer(object)? else {
        return Err(PyTypeError::new_err("expected bytes, or an array of uint8"));
    };
    data.to_vec(object.py())
}

fn axis_of(name: &str) -> PyResult<Axis> {
    match name {
        "e3" => Ok(Axis::E3),
        "e5" => Ok(Axis::E5),
        "e257" => Ok(Axis::E257),
        _ => Err(crate::keys::choice("axis", name, "e3, e5 or e257")),
    }
}

fn axes_of(names: &[String]) -> PyResult<Vec<Axis>> {
    names.iter().map(|name| axis_of(name)).collect()
}
