//! Integers modulo 2^k under encryption, lifted from vectors of bytes or masks.

use crate::arguments::{axes_of, axis_of};
use crate::errors::refuse;
use crate::methods::getters;
use crate::vector::{Shared, Vector};
use homaes_bgv::Evaluator;
use pyo3::prelude::*;
use std::sync::Arc;

/// An integer modulo 2^bits in every slot, under encryption. ``Circuit.integers`` and ``Circuit.mask_integers`` make it.
#[pyclass(frozen, module = "homaes.bgv", weakref)]
pub(crate) struct Integers {
    pub(crate) shared: Arc<Shared>,
    pub(crate) integers: Arc<homaes_bgv::Integers>,
}

getters! { Integers as x:
    /// k of the modulus 2^k.
    bits: u32 = x.integers.bits();
    /// The level, at least 1.
    level: usize = x.integers.level();
    /// How often the noise may still double: a sum of two takes at most one.
    room_bits: PyResult<f64> = Ok(x.integers.room_bits(x.shared.params()?));
    /// log2 of a bound on the probability that a number decrypts wrongly.
    failure_log2: PyResult<f64> = Ok(x.integers.failure_log2(x.shared.params()?));
}

#[pymethods]
impl Integers {
    #[classattr]
    fn __array_ufunc__() -> Option<()> {
        None
    }

    /// The sum in each slot, modulo the smaller power of 2.
    fn __add__<'py>(&self, other: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        self.with(other, |c, x, y| x.add(c, y))
    }

    fn __sub__<'py>(&self, other: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        self.with(other, |c, x, y| x.subtract(c, y))
    }

    /// The product in each slot with other integers, or with a public int.
    fn __mul__<'py>(&self, other: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        match other.extract::<i64>() {
            Ok(by) => {
                let made = self.of_one(other.py(), move |c, x| x.scale(c, by))?;
                Ok(Bound::new(other.py(), made)?.into_any())
            }
            Err(_) => self.with(other, |c, x, y| x.multiply(c, y)),
        }
    }

    fn __rmul__<'py>(&self, other: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        self.__mul__(other)
    }

    /// Rotate slots along an axis: slot e receives the number of slot e + steps.
    #[pyo3(signature = (axis, steps, /))]
    fn rotate(&self, py: Python<'_>, axis: &str, steps: i64) -> PyResult<Self> {
        let axis = axis_of(axis)?;
        let places = self.shared.params()?.slots().axes()[axis as usize];
        let steps = steps.rem_euclid(places as i64) as usize;
        self.of_one(py, move |c, x| x.rotate(c, axis, steps))
    }

    /// The sum over all slots along the axes, in each slot.
    #[pyo3(signature = (axes, /))]
    fn sum_slots(&self, py: Python<'_>, axes: Vec<String>) -> PyResult<Self> {
        let axes = axes_of(&axes)?;
        self.of_one(py, move |c, x| x.sum_slots(c, &axes))
    }

    fn __repr__(&self) -> PyResult<String> {
        let (set, bits, level) = (self.shared.key.set().name(), self.bits(), self.level());
        let room = self.room_bits()?;
        Ok(format!(
            "<homaes.bgv.Integers of {bits} bits, {set}, level {level}, {room:.1} bits left>"
        ))
    }
}

impl Integers {
    /// The integers of a vector, by `work`.
    pub(crate) fn of(
        py: Python<'_>,
        shared: &Arc<Shared>,
        work: impl FnOnce(&Evaluator<'_>) -> homaes_bgv::Result<homaes_bgv::Integers> + Send + 'static,
    ) -> PyResult<Self> {
        let integers = Arc::new(shared.run(py, work)?);
        let shared = shared.clone();
        Ok(Self { shared, integers })
    }

    fn of_one(
        &self,
        py: Python<'_>,
        work: impl FnOnce(
            &Evaluator<'_>,
            &homaes_bgv::Integers,
        ) -> homaes_bgv::Result<homaes_bgv::Integers>
        + Send
        + 'static,
    ) -> PyResult<Self> {
        let x = self.integers.clone();
        Self::of(py, &self.shared, move |c| work(c, &x))
    }

    /// Applies an operator to other integers of the same circuit.
    fn with<'py>(
        &self,
        other: &Bound<'py, PyAny>,
        work: fn(
            &Evaluator<'_>,
            &homaes_bgv::Integers,
            &homaes_bgv::Integers,
        ) -> homaes_bgv::Result<homaes_bgv::Integers>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let py = other.py();
        let Ok(other) = other.cast::<Self>() else {
            return Ok(py.NotImplemented().into_bound(py));
        };
        let other = other.get();
        if !Arc::ptr_eq(&other.shared, &self.shared) {
            return Err(refuse(
                "Integers of another Circuit",
                "use integers of one Circuit",
            ));
        }
        let y = other.integers.clone();
        let made = self.of_one(py, move |c, x| work(c, x, &y))?;
        Ok(Bound::new(py, made)?.into_any())
    }
}

/// The integers of `v` from its bytes, or from masks.
pub(crate) fn lifted(py: Python<'_>, v: &Vector, masks: bool, bits: u32) -> PyResult<Integers> {
    let c = v.ciphertext.clone();
    Integers::of(py, &v.shared, move |eval| {
        let lifting = match masks {
            true => eval.mask_lifting(c.level(), bits)?,
            false => eval.lifting(c.level(), bits)?,
        };
        lifting.lift(&c)
    })
}
