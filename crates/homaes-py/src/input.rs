//! AES ciphertext from files and buffers.

use crate::ciphertexts::Cancellable;
use crate::errors::raise;
use crate::place::{buffer, path, path_or_bytes};
use homaes::{AesFile, AesInput, Cancel, Mode, Reopened, Source};
use homaes_job::{JobError, Location, open_source};
use pyo3::buffer::PyBuffer;
use pyo3::exceptions::{PyBufferError, PyTypeError, PyUserWarning, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyMemoryView, PySlice};
use std::io;
use std::path::Path;

/// A part of a message from Python: name, path or buffer, mode, nonce or IV, tag, associated data, and whether it may
/// begin like another format.
pub(crate) type Given<'py> = (
    Option<String>,
    Bound<'py, PyAny>,
    String,
    Vec<u8>,
    Option<Vec<u8>>,
    Vec<u8>,
    bool,
);

/// The message of these parts.
pub(crate) fn message(given: Vec<Given<'_>>) -> PyResult<AesInput> {
    let parts = given.into_iter().map(|given| {
        let name = given.0.clone();
        Ok((name, part(given)?))
    });
    joined(parts.collect::<PyResult<Vec<_>>>()?).map_err(raise)
}

/// Warns of parts that share counter blocks. The warning points to the caller of the method in Python.
pub(crate) fn warn_of_shared_counters(py: Python<'_>) -> PyResult<()> {
    let what = c"parts have the same counter block, so their AES ciphertexts show how they differ; use a new nonce per file";
    PyErr::warn(py, &py.get_type::<PyUserWarning>(), what, 2)
}

/// The message of these parts. A single part may have no name.
fn joined(mut parts: Vec<(Option<String>, AesFile)>) -> homaes::Result<AesInput> {
    if let [(None, _)] = parts[..]
        && let Some((_, part)) = parts.pop()
    {
        return Ok(part.into());
    }
    let named = parts
        .into_iter()
        .map(|(name, part)| (name.unwrap_or_default(), part));
    AesInput::of_parts(named)
}

/// A part of a message that workers read from a file or a bucket.
pub(crate) struct FilePart {
    name: Option<String>,
    location: Location,
    mode: Mode,
    aad: Vec<u8>,
    raw: bool,
}

impl FilePart {
    /// The part from Python.
    pub(crate) fn of((name, data, mode, iv, tag, aad, raw): Given<'_>) -> PyResult<Self> {
        let mode = mode_of(&mode, &iv)?;
        if buffer(&data)?.is_some() {
            return Err(PyTypeError::new_err(
                "found bytes, expected a str or an os.PathLike: workers read the message of a job from files",
            ));
        }
        if tag.is_some() {
            return Err(PyValueError::new_err(
                "tag: expected None, because in a file of a job the tag follows the ciphertext",
            ));
        }
        let location = location(&data)?;
        Ok(Self {
            name,
            location,
            mode,
            aad,
            raw,
        })
    }

    /// Opens it; reads fail once `cancel` is set.
    fn open(self, cancel: Cancel) -> Result<AesFile, JobError> {
        let inner = open_source(&self.location)?;
        let part = open_part(Cancellable { inner, cancel }, self.mode, self.raw)?;
        match self.aad.is_empty() {
            true => Ok(part),
            false => Ok(part.with_aad(self.aad)?),
        }
    }

    /// The message of these parts.
    pub(crate) fn message(parts: Vec<Self>, cancel: &Cancel) -> Result<AesInput, JobError> {
        let parts = parts
            .into_iter()
            .map(|part| Ok((part.name.clone(), part.open(cancel.clone())?)));
        Ok(joined(parts.collect::<Result<Vec<_>, JobError>>()?)?)
    }
}

/// A part with a whole source. Refuses one that begins like another format, unless it is `raw`.
fn open_part(source: impl Source + 'static, mode: Mode, raw: bool) -> homaes::Result<AesFile> {
    match raw {
        false => AesFile::of(source, mode),
        true => AesFile::raw(source, mode),
    }
}

/// A part without its name.
pub(crate) fn part((_, data, mode, iv, tag, aad, raw): Given<'_>) -> PyResult<AesFile> {
    let mode = mode_of(&mode, &iv)?;
    let made = match (buffer(&data)?, tag) {
        (Some(buffer), tag) => {
            let source = BufferSource::new(&data, &buffer)?;
            match tag {
                None => open_part(source, mode, raw),
                Some(tag) => open_part(Tagged { source, tag }, mode, raw),
            }
        }
        // reopened at each read, because the files may exceed the limit of open files
        (None, tag) => {
            let source = Reopened::new(path_or_bytes(&data, true)?).map_err(raise)?;
            match tag {
                None => open_part(source, mode, raw),
                Some(tag) => open_part(Tagged { source, tag }, mode, raw),
            }
        }
    };
    let part = made.map_err(raise)?;
    match aad.is_empty() {
        true => Ok(part),
        false => part.with_aad(aad).map_err(raise),
    }
}

/// An object as a path or URI.
pub(crate) fn location(object: &Bound<'_, PyAny>) -> PyResult<Location> {
    Location::parse(path(object)?).map_err(raise)
}

/// The mode of a name with its nonce or IV.
pub(crate) fn mode_of(name: &str, iv: &[u8]) -> PyResult<Mode> {
    Mode::with_vector(name, iv).ok_or_else(|| {
        let found = iv.len();
        let expected = match name {
            "ecb" => 0,
            "gcm" => 12,
            _ => 16,
        };
        PyValueError::new_err(format!(
            "{name}: found {found} bytes of nonce or IV, expected {expected}"
        ))
    })
}

/// Bytes of a Python object, read in place.
struct BufferSource {
    view: Py<PyMemoryView>,
    bytes: u64,
}

impl BufferSource {
    fn new(data: &Bound<'_, PyAny>, buffer: &PyBuffer<u8>) -> PyResult<Self> {
        if buffer.dimensions() != 1 {
            let found = buffer.dimensions();
            return Err(PyBufferError::new_err(format!(
                "found a buffer of {found} dimensions, expected one"
            )));
        }
        Ok(Self {
            view: PyMemoryView::from(data)?.unbind(),
            bytes: buffer.len_bytes() as u64,
        })
    }

    fn copy(&self, py: Python<'_>, offset: u64, into: &mut [u8]) -> PyResult<()> {
        // PySlice::new leaks its numbers
        let slice = py.get_type::<PySlice>();
        let slice = slice.call1((offset, offset + into.len() as u64))?;
        let some = self.view.bind(py).get_item(slice)?;
        PyBuffer::<u8>::get(&some)?.copy_to_slice(py, into)
    }
}

impl Source for BufferSource {
    fn name(&self) -> &Path {
        Path::new("<memory>")
    }

    fn bytes(&self) -> u64 {
        self.bytes
    }

    fn read_at(&self, offset: u64, into: &mut [u8]) -> io::Result<()> {
        let end = offset.checked_add(into.len() as u64);
        if end.is_none_or(|end| end > self.bytes) {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        match into.is_empty() {
            true => Ok(()),
            // fails if the buffer was released, for example
            false => Python::attach(|py| self.copy(py, offset, into)).map_err(io::Error::other),
        }
    }
}

/// A ciphertext followed by a tag from elsewhere.
struct Tagged<S> {
    source: S,
    tag: Vec<u8>,
}

impl<S: Source> Source for Tagged<S> {
    fn name(&self) -> &Path {
        self.source.name()
    }

    fn bytes(&self) -> u64 {
        self.source.bytes() + self.tag.len() as u64
    }

    fn read_at(&self, offset: u64, into: &mut [u8]) -> io::Result<()> {
        let end = self.source.bytes();
        let own = (end.saturating_sub(offset)).min(into.len() as u64) as usize;
        let (front, rest) = into.split_at_mut(own);
        if !front.is_empty() {
            self.source.read_at(offset, front)?;
        }
        let start = offset.saturating_sub(end) as usize;
        let tag = self.tag.get(start..).and_then(|tag| tag.get(..rest.len()));
        rest.copy_from_slice(tag.ok_or(io::ErrorKind::UnexpectedEof)?);
        Ok(())
    }

    fn is_whole(&self) -> io::Result<bool> {
        self.source.is_whole()
    }
}
