//! Arguments: integers of any size, words, devices, paths, buffers.

use crate::errors::raise;
use homaes::{Devices, Layout};
use homaes_bgv::Axis;
use homaes_job::Location;
use pyo3::buffer::PyBuffer;
use pyo3::exceptions::{PyBufferError, PyOverflowError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyByteArray, PyBytes, PySequence, PyString};
use std::ffi::OsString;
use std::num::NonZeroUsize;
use std::ops::RangeInclusive;
use std::path::{PathBuf, absolute};
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
    let numbers = device.try_iter()?.map(|gpu| {
        let gpu = gpu?;
        match gpu.extract::<String>() {
            Ok(name) => Ok(name.strip_prefix("cuda:").unwrap_or(&name).to_owned()),
            Err(_) => Ok(gpu.extract::<i64>()?.to_string()),
        }
    });
    let word = format!("cuda:{}", numbers.collect::<PyResult<Vec<_>>>()?.join(","));
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

/// The contiguous buffer of an object; `None` if it has no buffer.
pub(crate) fn buffer(object: &Bound<'_, PyAny>) -> PyResult<Option<PyBuffer<u8>>> {
    // strings and paths
    let Ok(buffer) = PyBuffer::<u8>::get(object) else {
        return Ok(None);
    };
    match buffer.is_c_contiguous() {
        true => Ok(Some(buffer)),
        false => Err(PyBufferError::new_err(
            "found bytes with gaps, expected a contiguous buffer",
        )),
    }
}

/// An object as a path.
pub(crate) fn path(object: &Bound<'_, PyAny>) -> PyResult<PathBuf> {
    path_or_bytes(object, false)
}

/// An argument that is a path.
pub(crate) struct FilePath(pub(crate) PathBuf);

impl<'py> FromPyObject<'_, 'py> for FilePath {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        path(&object).map(Self)
    }
}

/// An object as a path; with `or_bytes` the error says that bytes are expected too.
pub(crate) fn path_or_bytes(object: &Bound<'_, PyAny>, or_bytes: bool) -> PyResult<PathBuf> {
    object.extract().map_err(|error| {
        if object.is_instance_of::<PyString>() {
            // for example for a lone surrogate
            return error;
        }
        let found = object
            .get_type()
            .name()
            .map_or_else(|_| String::new(), |name| name.to_string());
        let expected = match or_bytes {
            true => "a str, an os.PathLike or bytes",
            false => "a str or an os.PathLike",
        };
        PyTypeError::new_err(format!("found {found}, expected {expected}"))
    })
}

/// A location that does not depend on the current folder.
pub(crate) fn fixed(place: Location) -> Location {
    match place {
        Location::Local(path) => Location::Local(absolute(&path).unwrap_or(path)),
        place => place,
    }
}

/// A location for Python, also if it is not UTF-8.
pub(crate) fn text_of(place: &Location) -> OsString {
    match place {
        Location::Local(path) => path.clone().into_os_string(),
        place => place.to_string().into(),
    }
}

pub(crate) fn axis_of(name: &str) -> PyResult<Axis> {
    match name {
        "e3" => Ok(Axis::E3),
        "e5" => Ok(Axis::E5),
        "e257" => Ok(Axis::E257),
        _ => Err(choice("axis", name, "e3, e5 or e257")),
    }
}

pub(crate) fn axes_of(names: &[String]) -> PyResult<Vec<Axis>> {
    names.iter().map(|name| axis_of(name)).collect()
}
