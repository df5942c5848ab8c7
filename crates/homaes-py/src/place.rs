//! Files as Python names them: by a path, or by their bytes.

use crate::wait;
use homaes::{Error, ErrorKind};
use homaes_job::Location;
use pyo3::buffer::PyBuffer;
use pyo3::exceptions::{PyBufferError, PyTypeError};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::{PyBytes, PyString};
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

/// A path, or bytes.
#[derive(Clone)]
pub(crate) enum Place {
    File(Opened),
    Bytes(Shared),
}

/// A file: its absolute path, and a stamp of the file at opening.
#[derive(Clone)]
pub(crate) struct Opened {
    path: PathBuf,
    /// The path as it was passed.
    given: PathBuf,
    stamp: Option<Stamp>,
}

/// Metadata that differ once the file is replaced.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Stamp {
    bytes: u64,
    modified: Option<SystemTime>,
    /// device, inode, and time of the last change of the inode
    #[cfg(unix)]
    entry: (u64, u64, i64, i64),
}

impl Opened {
    pub(crate) fn new(given: &Path) -> Self {
        let path = std::path::absolute(given).unwrap_or_else(|_| given.to_owned());
        let (stamp, given) = (Stamp::of(&path), given.to_owned());
        Self { path, given, stamp }
    }

    /// The path as it was passed, for reading at once.
    pub(crate) fn given(&self) -> &Path {
        &self.given
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// All of it, if it has not changed since it was opened.
    pub(crate) fn read(&self) -> homaes::Result<Vec<u8>> {
        // a pipe in its place would block until a writer opens it
        self.check()?;
        let bytes = fs::read(&self.path).map_err(|source| Error::Io {
            path: self.path.clone(),
            source,
        })?;
        self.check()?;
        Ok(bytes)
    }

    /// Refuses a file that has changed since it was opened.
    pub(crate) fn check(&self) -> homaes::Result<()> {
        match Stamp::of(&self.path) == self.stamp {
            true => Ok(()),
            false => {
                let message = "the file has changed since it was opened";
                Err(Error::refused(ErrorKind::Changed, message).at(&self.path))
            }
        }
    }
}

impl Stamp {
    /// `None` if there is no file.
    fn of(path: &Path) -> Option<Self> {
        let found = fs::metadata(path).ok()?;
        Some(Self {
            bytes: found.len(),
            modified: found.modified().ok(),
            #[cfg(unix)]
            entry: {
                use std::os::unix::fs::MetadataExt;
                (found.dev(), found.ino(), found.ctime(), found.ctime_nsec())
            },
        })
    }
}

/// Bytes that several objects share.
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

impl Place {
    /// The file or bytes that an object names.
    pub(crate) fn of(object: &Bound<'_, PyAny>) -> PyResult<Self> {
        if let Ok(bytes) = object.cast::<PyBytes>() {
            let bytes = PyBackedBytes::from(bytes.clone());
            return Ok(Self::Bytes(Shared::Python(bytes.into())));
        }
        if let Some(buffer) = buffer(object)? {
            // a copy, because an object such as a bytearray may change
            let bytes = buffer.to_vec(object.py())?;
            return Ok(Self::Bytes(Shared::Own(bytes.into())));
        }
        Ok(Self::File(Opened::new(&path_or_bytes(object, true)?)))
    }

    /// All bytes.
    pub(crate) fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        match self {
            Self::Bytes(bytes) => Ok(PyBytes::new(py, bytes.as_ref())),
            Self::File(file) => {
                let file = file.clone();
                let bytes = wait::read(py, move |_| file.read())?;
                Ok(PyBytes::new(py, &bytes))
            }
        }
    }

    /// The path, if it is a file.
    pub(crate) fn path(&self) -> Option<PathBuf> {
        match self {
            Self::File(file) => Some(file.path.clone()),
            Self::Bytes(_) => None,
        }
    }

    /// Refuses a file that has changed since it was opened.
    pub(crate) fn check(&self) -> homaes::Result<()> {
        match self {
            Self::File(file) => file.check(),
            Self::Bytes(_) => Ok(()),
        }
    }
}

/// An object as a path.
pub(crate) fn path(object: &Bound<'_, PyAny>) -> PyResult<PathBuf> {
    path_or_bytes(object, false)
}

/// An object as a path, unless it is None.
pub(crate) fn optional_path(object: &Bound<'_, PyAny>) -> PyResult<Option<PathBuf>> {
    match object.is_none() {
        true => Ok(None),
        false => path(object).map(Some),
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
        Location::Local(path) => Location::Local(std::path::absolute(&path).unwrap_or(path)),
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
