//! Results: in a file, or in memory.

use crate::batches::Batches;
use crate::errors::raise;
use crate::place::{Place, Shared};
use crate::wait;
use homaes::{
    Cancel, DecryptOptions, DecryptReport, Error, Inspection, Meta, Mode, Output, Quality, Source,
    Step, ValueMeta,
};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use std::io;
use std::path::{Path, PathBuf};

/// Results of a run, in a file or in memory.
#[pyclass(frozen, module = "homaes._homaes")]
#[derive(Clone)]
pub(crate) struct Held(pub(crate) Place);

#[pymethods]
impl Held {
    #[new]
    #[pyo3(signature = (source, /))]
    fn new(source: &Bound<'_, PyAny>) -> PyResult<Self> {
        Place::of(source).map(Self)
    }

    /// The file; None in memory.
    #[getter]
    fn path(&self) -> Option<PathBuf> {
        match &self.0 {
            Place::Path(path) => Some(path.clone()),
            Place::Bytes(_) => None,
        }
    }

    /// All bytes of the file.
    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        match &self.0 {
            Place::Bytes(bytes) => Ok(bytes.to_python(py)),
            Place::Path(path) => {
                let bytes = py.detach(|| std::fs::read(path));
                let bytes = bytes.map_err(|source| {
                    let path = path.clone();
                    raise(Error::Io { path, source })
                })?;
                Ok(PyBytes::new(py, &bytes))
            }
        }
    }

    /// What the front of the file says, without a look at the ciphertexts.
    fn describe<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let (held, never) = (self.clone(), Cancel::new());
        let opened = wait::run(py, &Cancel::new(), false, move || {
            let opened = held.open(&never)?;
            Ok((opened.meta().clone(), opened.set().name(), opened.key_id()))
        })?;
        let (meta, set, id) = opened;
        let out = meta_dict(py, &meta)?;
        out.set_item("set", set)?;
        out.set_item("key_id", id.to_string())?;
        Ok(out)
    }

    /// The noise that the ciphertexts say they have, and their steps; every checksum is verified.
    fn measure<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let (held, never) = (self.clone(), Cancel::new());
        let (quality, rows, left) = wait::run(py, &Cancel::new(), false, move || {
            let opened = held.open(&never)?;
            let scheme = opened.set().scheme();
            let mut worst: Option<Quality> = None;
            let mut batches = opened.into_iter();
            for batch in &mut batches {
                let quality = batch?.quality()?;
                worst = Some(worst.map_or(quality, |worst| worst.worst(quality)));
            }
            let left = worst.and_then(|worst| scheme.multiplications_left(worst.level));
            Ok((worst, batches.steps().map(steps).unwrap_or_default(), left))
        })?;
        let out = PyDict::new(py);
        out.set_item("multiplications_left", left)?;
        out.set_item("noise_bits", quality.map(|q| q.noise_bits))?;
        out.set_item("capacity_bits", quality.map(|q| q.capacity_bits))?;
        out.set_item("steps", rows)?;
        Ok(out)
    }

    /// The batches, in order.
    fn batches(&self, py: Python<'_>) -> PyResult<Batches> {
        let (held, never) = (self.clone(), Cancel::new());
        let open = move || Ok(held.open(&never)?.into_iter());
        wait::run(py, &Cancel::new(), false, open).map(Batches::new)
    }

    /// Write it to a file.
    #[pyo3(signature = (path, /, *, force=false))]
    fn save(&self, py: Python<'_>, path: PathBuf, force: bool) -> PyResult<()> {
        use std::io::Write;
        let save = || {
            let error = |source| Error::Io {
                path: path.clone(),
                source,
            };
            let mut output = Output::create(&path, force)?;
            match &self.0 {
                Place::Bytes(bytes) => output.write_all(bytes.as_ref()).map_err(error)?,
                Place::Path(from) => {
                    let file = std::fs::File::open(from).map_err(|source| Error::Io {
                        path: from.clone(),
                        source,
                    });
                    io::copy(&mut file?, &mut output).map_err(error)?;
                }
            }
            output.commit()
        };
        py.detach(save).map_err(raise)
    }
}

impl Held {
    /// What an object has: `Ciphertexts`, or what names a file.
    pub(crate) fn of(object: &Bound<'_, PyAny>) -> PyResult<Self> {
        match object.getattr("_held") {
            Ok(held) => Ok(held.cast::<Self>()?.get().clone()),
            Err(_) => Place::of(object).map(Self),
        }
    }

    pub(crate) fn own(bytes: Vec<u8>) -> Self {
        Self(Place::Bytes(Shared::Own(bytes.into())))
    }

    /// Decrypts them into `output`, which does not appear once `cancel` is thrown.
    pub(crate) fn decrypt(
        &self,
        secret: &homaes::SecretKey,
        output: Output,
        options: DecryptOptions<'_>,
        cancel: &Cancel,
    ) -> homaes::Result<DecryptReport> {
        let done = secret.decrypt_from(self.open(cancel)?, output, options);
        match cancel.is_cancelled() {
            true => Err(Error::Cancelled),
            false => done,
        }
    }

    /// Reads their front; `cancel` ends reading.
    pub(crate) fn open(&self, cancel: &Cancel) -> homaes::Result<homaes::Ciphertexts<'static>> {
        let cancel = cancel.clone();
        match &self.0 {
            Place::Path(path) => {
                let source = homaes::Reopened::new(path)?;
                homaes::Ciphertexts::of_source(Cancellable { source, cancel })
            }
            Place::Bytes(bytes) => {
                let source = homaes::Memory::new(bytes.clone(), "<memory>");
                homaes::Ciphertexts::of_source(Cancellable { source, cancel })
            }
        }
    }
}

/// A source whose reads fail once `cancel` is thrown.
struct Cancellable<S> {
    source: S,
    cancel: Cancel,
}

impl<S: Source> Source for Cancellable<S> {
    fn name(&self) -> &Path {
        self.source.name()
    }

    fn bytes(&self) -> u64 {
        self.source.bytes()
    }

    fn read_at(&self, offset: u64, into: &mut [u8]) -> io::Result<()> {
        match self.cancel.is_cancelled() {
            true => Err(io::Error::other("cancelled")),
            false => self.source.read_at(offset, into),
        }
    }
}

/// Name of a mode, and its nonce or IV.
pub(crate) fn meta_mode(mode: &Mode) -> (&'static str, Vec<u8>) {
    (mode.name(), mode.iv().to_vec())
}

fn meta_dict<'py>(py: Python<'py>, meta: &Meta) -> PyResult<Bound<'py, PyDict>> {
    let out = PyDict::new(py);
    out.set_item(
        "bytes",
        meta.parts.iter().map(|part| part.bytes).sum::<u64>(),
    )?;
    out.set_item("blocks", meta.split.blocks())?;
    out.set_item("batches", meta.split.batches())?;
    out.set_item("layout", meta.layout.name())?;
    out.set_item("level", meta.level)?;
    out.set_item("key_bits", 8 * meta.key_size.key_bytes())?;
    let parts = meta.parts.iter().map(|part| {
        let one = PyDict::new(py);
        let (mode, iv) = meta_mode(&part.mode);
        one.set_item("name", &part.name)?;
        one.set_item("bytes", part.bytes)?;
        one.set_item("mode", mode)?;
        one.set_item("iv", PyBytes::new(py, &iv))?;
        one.set_item("tag", part.tag.map(|tag| PyBytes::new(py, &tag)))?;
        one.set_item("aad", PyBytes::new(py, &part.aad))?;
        Ok(one)
    });
    out.set_item("parts", parts.collect::<PyResult<Vec<_>>>()?)?;
    Ok(out)
}

/// Steps of AES: round, seconds, level, noise, what is left.
pub(crate) fn steps(steps: &[Step]) -> Vec<(usize, f64, usize, f64, f64)> {
    let rows = steps.iter().enumerate().map(|(round, step)| {
        let quality = step.quality;
        (
            round,
            step.seconds,
            quality.level,
            quality.noise_bits,
            quality.capacity_bits,
        )
    });
    rows.collect()
}

pub(crate) fn inspection_dict<'py>(
    py: Python<'py>,
    found: &Inspection,
) -> PyResult<Bound<'py, PyDict>> {
    let out = PyDict::new(py);
    out.set_item("kind", found.kind.to_string())?;
    out.set_item("set", &found.set_name)?;
    out.set_item("key_id", found.key_id.to_string())?;
    out.set_item("file_bytes", found.file_bytes)?;
    out.set_item("is_protected", found.protection.is_some())?;
    out.set_item("messages", None::<()>)?;
    out.set_item("wrapped", None::<()>)?;
    let values = found.values.iter().flatten();
    let values = values.map(|value| value_dict(py, value));
    out.set_item("values", values.collect::<PyResult<Vec<_>>>()?)?;
    if let Some(messages) = &found.messages {
        let one = meta_dict(py, &messages.meta)?;
        let quality = messages.quality;
        let left = quality.and_then(|q| messages.evaluated_in.multiplications_left(q.level));
        one.set_item("multiplications_left", left)?;
        one.set_item("noise_bits", quality.map(|q| q.noise_bits))?;
        one.set_item("capacity_bits", quality.map(|q| q.capacity_bits))?;
        one.set_item("steps", steps(&messages.steps))?;
        out.set_item("messages", one)?;
    }
    if let Some(wrapped) = &found.wrapped {
        let one = PyDict::new(py);
        one.set_item("key_bits", 8 * wrapped.key_size.key_bytes())?;
        let layouts: Vec<_> = wrapped.layouts().iter().map(|l| l.name()).collect();
        one.set_item("layouts", layouts)?;
        out.set_item("wrapped", one)?;
    }
    Ok(out)
}

/// What a file says about a value.
fn value_dict<'py>(py: Python<'py>, meta: &ValueMeta) -> PyResult<Bound<'py, PyDict>> {
    let out = PyDict::new(py);
    out.set_item("label", &meta.label)?;
    out.set_item("form", &meta.form)?;
    out.set_item("count", meta.count)?;
    out.set_item("width", meta.width)?;
    out.set_item("ciphertexts", meta.ciphertexts)?;
    Ok(out)
}
