//! AES ciphertext from files and buffers.

use crate::arguments::{buffer, path, path_or_bytes};
use crate::errors::raise;
use crate::origin::Cancellable;
use crate::wait::warn;
use homaes::{AesFile, AesInput, Cancel, Mode, Reopened, Source};
use homaes_job::{JobError, Location, open_source};
use pyo3::buffer::PyBuffer;
use pyo3::exceptions::{PyBufferError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyMemoryView, PySlice};
use std::io;
use std::path::Path;

/// A part of a message from Python: its name, its path or buffer, and its mode.
type Given<'py> = (Option<String>, Bound<'py, PyAny>, Public);

/// A mode with its public values.
pub(crate) struct Public {
    pub(crate) mode: Mode,
    pub(crate) tag: Option<Vec<u8>>,
    pub(crate) aad: Vec<u8>,
}

/// From a mode of `homaes.modes` or of the package `cryptography`.
impl<'py> FromPyObject<'_, 'py> for Public {
    type Error = PyErr;

    fn extract(mode: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        let public = mode.py().import("homaes.modes")?.getattr("public_of")?;
        let (name, iv, tag, aad): (String, Vec<u8>, _, _) = public.call1((mode,))?.extract()?;
        let mode = Mode::with_vector(&name, &iv).ok_or_else(|| {
            let found = iv.len();
            let expected = match &*name {
                "ecb" => 0,
                "gcm" => 12,
                _ => 16,
            };
            PyValueError::new_err(format!(
                "{name}: found {found} bytes of nonce or IV, expected {expected}"
            ))
        })?;
        Ok(Self { mode, tag, aad })
    }
}

/// The parts of a `Message`, or a single one of a path or bytes in `mode`.
pub(crate) fn parts_of<'py>(
    data: &Bound<'py, PyAny>,
    mode: Option<&Bound<'py, PyAny>>,
) -> PyResult<Vec<Given<'py>>> {
    let class = data.py().import("homaes._message")?.getattr("Message")?;
    let refused = |message| Err(PyTypeError::new_err(message));
    match (data.is_instance(&class)?, mode) {
        (true, None) => data.getattr("parts")?.extract(),
        (false, Some(mode)) => Ok(vec![(None, data.clone(), mode.extract()?)]),
        (true, Some(_)) => refused("mode: a Message has the mode of each part, expected None"),
        (false, None) => refused("mode: found None, expected one of homaes.modes"),
    }
}

/// The message of these parts. `raw`: they may begin like another format.
pub(crate) fn message(given: Vec<Given<'_>>, raw: bool) -> PyResult<AesInput> {
    let parts = given.into_iter();
    let parts = parts.map(|(name, data, how)| Ok((name, part(&data, how, raw)?)));
    joined(parts.collect::<PyResult<Vec<_>>>()?).map_err(raise)
}

/// Warns of parts that share counter blocks.
pub(crate) fn warn_of_shared_counters(py: Python<'_>) -> PyResult<()> {
    warn(
        py,
        "parts have the same counter block, so their AES ciphertexts show how they differ; use a new nonce per file",
    )
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

/// The message of parts that workers read from files or buckets. Reads fail once the `Cancel` is set.
pub(crate) fn job_message(
    given: Vec<Given<'_>>,
    raw: bool,
) -> PyResult<impl FnOnce(&Cancel) -> Result<AesInput, JobError> + Send + 'static + use<>> {
    let parts = given.into_iter().map(|(name, data, how)| {
        if buffer(&data)?.is_some() {
            return Err(PyTypeError::new_err(
                "found bytes, expected a str or an os.PathLike: workers read the message of a job from files",
            ));
        }
        if how.tag.is_some() {
            return Err(PyValueError::new_err(
                "tag: expected None, because in a file of a job the tag follows the ciphertext",
            ));
        }
        Ok((name, location(&data)?, how))
    });
    let parts = parts.collect::<PyResult<Vec<_>>>()?;
    Ok(move |cancel: &Cancel| {
        let parts = parts.into_iter().map(|(name, location, how)| {
            let inner = open_source(&location)?;
            let cancel = cancel.clone();
            let part = open_part(Cancellable { inner, cancel }, how, raw)?;
            Ok::<_, JobError>((name, part))
        });
        Ok(joined(parts.collect::<Result<Vec<_>, _>>()?)?)
    })
}

/// A part. Refuses one that begins like another format, unless it is `raw`.
fn open_part(source: impl Source + 'static, how: Public, raw: bool) -> homaes::Result<AesFile> {
    let tag = how.tag.unwrap_or_default();
    let part = match raw {
        false => AesFile::of(Tagged { source, tag }, how.mode)?,
        true => AesFile::raw(Tagged { source, tag }, how.mode)?,
    };
    match how.aad.is_empty() {
        true => Ok(part),
        false => part.with_aad(how.aad),
    }
}

/// A path or a buffer as a part.
pub(crate) fn part(data: &Bound<'_, PyAny>, how: Public, raw: bool) -> PyResult<AesFile> {
    let part = match buffer(data)? {
        Some(buffer) if buffer.dimensions() != 1 => {
            let found = buffer.dimensions();
            return Err(PyBufferError::new_err(format!(
                "found a buffer of {found} dimensions, expected one"
            )));
        }
        Some(buffer) => {
            let (view, bytes) = (
                PyMemoryView::from(data)?.unbind(),
                buffer.len_bytes() as u64,
            );
            open_part(BufferSource { view, bytes }, how, raw)
        }
        // reopened at each read, because the files may exceed the limit of open files
        None => {
            Reopened::new(path_or_bytes(data, true)?).and_then(|file| open_part(file, how, raw))
        }
    };
    part.map_err(raise)
}

/// An object as a path or URI.
pub(crate) fn location(object: &Bound<'_, PyAny>) -> PyResult<Location> {
    Location::parse(path(object)?).map_err(raise)
}

/// Bytes of a Python object, read in place.
struct BufferSource {
    view: Py<PyMemoryView>,
    bytes: u64,
}

impl Source for BufferSource {
    fn name(&self) -> &Path {
        Path::new("<memory>")
    }

    fn bytes(&self) -> u64 {
        self.bytes
    }

    fn read_at(&self, offset: u64, into: &mut [u8]) -> io::Result<()> {
        let end = offset.saturating_add(into.len() as u64);
        if end > self.bytes {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let copied = Python::attach(|py| {
            // PySlice::new leaks its numbers
            let slice = py.get_type::<PySlice>().call1((offset, end))?;
            let some = self.view.bind(py).get_item(slice)?;
            PyBuffer::<u8>::get(&some)?.copy_to_slice(py, into)
        });
        // fails if the buffer was released, for example
        copied.map_err(io::Error::other)
    }
}

/// A ciphertext, followed by a tag from elsewhere; an empty one if there is none.
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
