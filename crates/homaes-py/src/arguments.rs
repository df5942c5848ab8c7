//! Arguments: integers of any size, words, devices.

use crate::errors::raise;
use homaes::{Devices, Layout};
use pyo3::exceptions::{PyOverflowError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyByteArray, PyBytes, PySequence, PyString};
use std::num::NonZeroUsize;
use std::ops::RangeInclusive;
use std::thread::available_parallelism;

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

/// More threads than any machine can use.
const MOST_THREADS: u64 = 1024;

/// A number of threads; for None one per core.
pub(crate) fn threads_of(threads: Option<Number>) -> PyResult<NonZeroUsize> {
    let Some(threads) = threads else {
        return Ok(available_parallelism().unwrap_or(NonZeroUsize::MIN));
    };
    let threads = threads.of("threads", 1..=MOST_THREADS)? as usize;
    Ok(NonZeroUsize::new(threads).unwrap_or(NonZeroUsize::MIN))
}

/// The devices that a word or a list of GPUs names; for None those of HOMAES_DEVICE, or else `auto`.
pub(crate) fn device_of(device: Option<&Bound<'_, PyAny>>) -> PyResult<Devices> {
    let Some(device) = device else {
        return Devices::of_environment().map_err(raise);
    };
    if device.is_instance_of::<PyString>() {
        return device.extract::<String>()?.parse().map_err(raise);
    }
    let is_bytes = device.is_instance_of::<PyBytes>() || device.is_instance_of::<PyByteArray>();
    if is_bytes || device.cast::<PySequence>().is_err() {
        let found = device.get_type().name()?;
        let message = format!("device: found {found}, expected a str or a sequence of GPUs");
        return Err(PyTypeError::new_err(message));
    }
    let mut numbers = Vec::new();
    for gpu in device.try_iter()? {
        let mut gpu = gpu?;
        if !gpu.is_instance_of::<PyString>() {
            let operator = gpu.py().import("operator")?;
            gpu = operator.call_method1("index", (gpu,))?.str()?.into_any();
        }
        let number: String = gpu.extract()?;
        numbers.push(number.strip_prefix("cuda:").unwrap_or(&number).to_owned());
    }
    let word = format!("cuda:{}", numbers.join(","));
    word.parse().map_err(raise)
}

/// The layout of a name.
pub(crate) fn layout_of(name: &str) -> PyResult<Layout> {
    let mut all = Layout::ALL.into_iter();
    let found = all.find(|layout| layout.name() == name);
    found.ok_or_else(|| choice("layout", name, "packed, sliced or bits"))
}

/// The error of an argument that is not one of the expected words.
pub(crate) fn choice(what: &str, found: &str, expected: &str) -> PyErr {
    PyValueError::new_err(format!("{what}: found {found:?}, expected {expected}"))
}
