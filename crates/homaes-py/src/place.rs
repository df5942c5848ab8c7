//! What Python names a file by: a path, or the bytes of it.

use pyo3::buffer::PyBuffer;
use pyo3::exceptions::{PyBufferError, PyTypeError};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::PyBytes;
use std::path::PathBuf;
use std::sync::Arc;

/// A path, or bytes.
#[derive(Clone)]
pub(crate) enum Place {
    Path(PathBuf),
    Bytes(Shared),
}

/// Bytes that several objects have.
#[derive(Clone)]
pub(crate) enum Shared {
    Own(Arc<Vec<u8>>),
    Python(Arc<PyBackedBytes>),
}

impl AsRef<[u8]> for Shared {
    fn as_ref(&self) -> &[u8] {
        match self {
            Self::Own(bytes) => bytes,
            Self::Python(bytes) => bytes,
        }
    }
}

impl Shared {
    pub(crate) fn to_python<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, self.as_ref())
    }
}

/// The bytes of an object, one after the other; `None` if it has none.
pub(crate) fn buffer(object: &Bound<'_, PyAny>) -> PyResult<Option<PyBuffer<u8>>> {
    // strings and paths
    let Ok(buffer) = PyBuffer::<u8>::get(object) else {
        return Ok(None);
    };
    match buffer.is_c_contiguous() {
        true => Ok(Some(buffer)),
        false => Err(PyBufferError::new_err(
            "the bytes are not one after the other, expected a contiguous buffer",
        )),
    }
}

impl Place {
    /// What an object names.
    pub(crate) fn of(object: &Bound<'_, PyAny>) -> PyResult<Self> {
        if let Ok(bytes) = object.cast::<PyBytes>() {
            let bytes = PyBackedBytes::from(bytes.clone());
            return Ok(Self::Bytes(Shared::Python(bytes.into())));
        }
        if let Some(buffer) = buffer(object)? {
            // such as a bytearray, which may change
            let bytes = buffer.to_vec(object.py())?;
            return Ok(Self::Bytes(Shared::Own(bytes.into())));
        }
        path(object).map(Self::Path)
    }
}

/// The path that an object is.
pub(crate) fn path(object: &Bound<'_, PyAny>) -> PyResult<PathBuf> {
    object.extract().map_err(|_| {
        let found = object
            .get_type()
            .name()
            .map_or_else(|_| String::new(), |name| name.to_string());
        PyTypeError::new_err(format!(
            "found {found}, expected a str, an os.PathLike or bytes"
        ))
    })
}
