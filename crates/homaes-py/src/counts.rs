//! Integer arguments of any size.

use pyo3::exceptions::{PyOverflowError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyBool;
use std::ops::RangeInclusive;

/// A Python integer, but no bool. Larger integers become the maximum, so that the range check reports them.
#[derive(Clone, Copy)]
pub(crate) struct Number(i128);

impl<'py> FromPyObject<'_, 'py> for Number {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        if object.is_instance_of::<PyBool>() {
            let message = "'bool' object cannot be interpreted as an integer";
            return Err(PyTypeError::new_err(message));
        }
        match object.extract() {
            Ok(number) => Ok(Self(number)),
            Err(error) if error.is_instance_of::<PyOverflowError>(object.py()) => {
                Ok(Self(i128::MAX))
            }
            Err(error) => Err(error),
        }
    }
}

impl Number {
    /// The number, if it is in the range that the argument `what` expects.
    pub(crate) fn of(self, what: &str, expected: RangeInclusive<u64>) -> PyResult<u64> {
        let number = u64::try_from(self.0).ok();
        let number = number.filter(|number| expected.contains(number));
        number.ok_or_else(|| {
            let (found, first) = (self.0, expected.start());
            let expected = match expected.end() {
                &u64::MAX => format!("{first} or more, below 2^64"),
                last => format!("{first} to {last}"),
            };
            PyValueError::new_err(format!("{what}: found {found}, expected {expected}"))
        })
    }
}
