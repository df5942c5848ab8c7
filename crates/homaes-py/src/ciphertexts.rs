//! Origin: in a file, in memory, or of a job.

use crate::batches::Batches;
use crate::errors::{raise, refuse};
use crate::place::{Opened, Place, Shared, path, text_of};
use crate::wait;
use homaes::{
    Cancel, Ciphertexts, DecryptOptions, DecryptReport, Error, Inspection, Meta, Mode, Output,
    Quality, Source, Step, ValueMeta,
};
use homaes_job::{Job, JobError, Location};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use std::ffi::OsString;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Origin of a run, in a file or in memory, or of a job.
#[pyclass(frozen, module = "homaes._homaes")]
#[derive(Clone)]
pub(crate) struct Results(Origin);

#[derive(Clone)]
enum Origin {
    File(Place),
    Job(Arc<Job>),
}

#[pymethods]
impl Results {
    #[new]
    #[pyo3(signature = (source, /))]
    fn new(source: &Bound<'_, PyAny>) -> PyResult<Self> {
        Place::of(source).and_then(|place| Self::at(source.py(), place))
    }

    /// The path of the file; None in memory and for the results of a job.
    #[getter]
    fn path(&self) -> Option<PathBuf> {
        match &self.0 {
            Origin::File(place) => place.path(),
            Origin::Job(_) => None,
        }
    }

    /// Refuse a file that has changed since it was opened.
    fn _check_file(&self) -> PyResult<()> {
        match &self.0 {
            Origin::File(place) => place.check().map_err(raise),
            Origin::Job(_) => Ok(()),
        }
    }

    /// The location of the job; None for a file or in memory.
    #[getter]
    fn job(&self) -> Option<OsString> {
        match &self.0 {
            Origin::Job(job) => Some(text_of(job.location())),
            Origin::File(_) => None,
        }
    }

    /// All bytes of the file.
    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let bytes = match self.0.clone() {
            Origin::File(Place::Bytes(bytes)) => return Ok(bytes.to_python(py)),
            Origin::File(Place::File(file)) => {
                let read = move || {
                    let path = file.path().to_owned();
                    let bytes = std::fs::read(&path);
                    let bytes = bytes.map_err(|source| Error::Io { path, source })?;
                    file.check()?;
                    Ok::<_, JobError>(bytes)
                };
                wait::run(py, &Cancel::new(), false, read)?
            }
            Origin::Job(job) => {
                let cancel = Cancel::new();
                let thrown = cancel.clone();
                let merge = move || {
                    let (output, buffer) = Output::memory();
                    job.merge(output, &thrown).map(|()| buffer.take())
                };
                wait::run(py, &cancel, false, merge)?
            }
        };
        Ok(PyBytes::new(py, &bytes))
    }

    /// The contents of the front of the file. Does not read the ciphertexts.
    fn describe<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let (held, never) = (self.clone(), Cancel::new());
        let opened = wait::run(py, &Cancel::new(), false, move || {
            let opened = held.open(&never)?;
            let (set, id) = (opened.set().name(), opened.key_id());
            Ok::<_, JobError>((opened.meta().clone(), set, id))
        })?;
        let (meta, set, id) = opened;
        let out = meta_dict(py, &meta)?;
        out.set_item("set", set)?;
        out.set_item("key_id", id.to_string())?;
        Ok(out)
    }

    /// The noise and the steps that the file declares; verifies every checksum.
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
            Ok::<_, JobError>((worst, batches.steps().map(steps).unwrap_or_default(), left))
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
        let open = move || Ok::<_, JobError>(held.open(&never)?.into_iter());
        wait::run(py, &Cancel::new(), false, open).map(Batches::new)
    }

    /// Write it to a file.
    #[pyo3(signature = (path, /, *, force=false))]
    pub(crate) fn save(
        &self,
        py: Python<'_>,
        #[pyo3(from_py_with = path)] path: PathBuf,
        force: bool,
    ) -> PyResult<()> {
        let (held, cancel) = (self.clone(), Cancel::new());
        let thrown = cancel.clone();
        let save = move || {
            held.refuse_output(&path)?;
            let mut output = Output::create(&path, force)?;
            let error = |source| Error::Io {
                path: path.clone(),
                source,
            };
            match held.0 {
                Origin::Job(job) => return job.merge(output, &thrown),
                Origin::File(Place::Bytes(bytes)) => {
                    output.write_all(bytes.as_ref()).map_err(error)?;
                }
                Origin::File(Place::File(from)) => {
                    let path = from.path().to_owned();
                    let file = std::fs::File::open(&path);
                    let inner = file.map_err(|source| Error::Io { path, source })?;
                    from.check()?;
                    let cancel = thrown;
                    io::copy(&mut Cancellable { inner, cancel }, &mut output).map_err(error)?;
                }
            }
            Ok::<_, JobError>(output.commit()?)
        };
        wait::run(py, &cancel, true, save)
    }
}

impl Results {
    /// The results of a `Ciphertexts`, or of an object that names a file or the folder of a job.
    pub(crate) fn of(object: &Bound<'_, PyAny>) -> PyResult<Self> {
        match object.getattr("_held") {
            Ok(held) => Ok(held.cast::<Self>()?.get().clone()),
            Err(_) => Self::new(object),
        }
    }

    /// The results at a place.
    pub(crate) fn at(py: Python<'_>, place: Place) -> PyResult<Self> {
        match &place {
            Place::File(file) if file.path().join("job.json").is_file() => {
                let location = Location::Local(file.path().to_owned());
                let job = py.detach(|| Job::open(location)).map_err(raise)?;
                Ok(Self::of_job(job.into()))
            }
            _ => Ok(Self(Origin::File(place))),
        }
    }

    /// The file that holds them.
    pub(crate) fn into_place(self) -> PyResult<Place> {
        match self.0 {
            Origin::File(place) => Ok(place),
            Origin::Job(_) => Err(refuse(
                "the results of a job, expected computed values (.hcv)",
                "write them with homaes.save_values",
            )),
        }
    }

    pub(crate) fn file(path: PathBuf) -> Self {
        Self(Origin::File(Place::File(Opened::new(&path))))
    }

    pub(crate) fn own(bytes: Vec<u8>) -> Self {
        Self(Origin::File(Place::Bytes(Shared::Own(bytes.into()))))
    }

    pub(crate) fn of_job(job: Arc<Job>) -> Self {
        Self(Origin::Job(job))
    }

    /// Decrypts them into `output`, which does not appear after a cancellation.
    pub(crate) fn decrypt(
        &self,
        secret: &homaes::SecretKey,
        output: Output,
        options: DecryptOptions<'_>,
        cancel: &Cancel,
    ) -> Result<DecryptReport, JobError> {
        if output.is_file() {
            self.refuse_output(output.path())?;
        }
        let done = secret.decrypt_from(self.open(cancel)?, output, options);
        match cancel.is_cancelled() {
            true => Err(Error::Cancelled.into()),
            false => Ok(done?),
        }
    }

    /// Decrypts their parts into files in a folder; no file appears after a cancellation. `force`: replace files.
    pub(crate) fn decrypt_parts(
        &self,
        secret: &homaes::SecretKey,
        (folder, force): (&Path, bool),
        options: DecryptOptions<'_>,
        cancel: &Cancel,
    ) -> Result<Vec<(String, DecryptReport)>, JobError> {
        self.refuse_output(folder)?;
        let open = self.open(cancel)?;
        for name in open
            .meta()
            .parts
            .iter()
            .filter_map(|part| part.name.as_ref())
        {
            self.refuse_output(&folder.join(name))?;
        }
        let done = secret.decrypt_parts_from(open, folder, force, options);
        match cancel.is_cancelled() {
            true => Err(Error::Cancelled.into()),
            false => Ok(done?),
        }
    }

    /// Refuses an output that would replace their source.
    fn refuse_output(&self, path: &Path) -> Result<(), JobError> {
        match &self.0 {
            Origin::File(Place::File(file)) => Ok(homaes::refuse_own_input(path, [file.path()])?),
            Origin::File(Place::Bytes(_)) => Ok(()),
            Origin::Job(job) => Ok(job.refuse_output(path)?),
        }
    }

    /// Reads their front; `cancel` ends reading.
    pub(crate) fn open(&self, cancel: &Cancel) -> Result<Ciphertexts<'static>, JobError> {
        let cancel = cancel.clone();
        Ok(match &self.0 {
            Origin::File(Place::File(file)) => {
                let inner = homaes::Reopened::new(file.path())?;
                file.check()?;
                Ciphertexts::of_source(Cancellable { inner, cancel })?
            }
            Origin::File(Place::Bytes(bytes)) => {
                let inner = homaes::Memory::new(bytes.clone(), "<memory>");
                Ciphertexts::of_source(Cancellable { inner, cancel })?
            }
            Origin::Job(job) => {
                let inner = Job::shared_results(job)?;
                let name = job.location().to_string();
                Ciphertexts::of_read(Cancellable { inner, cancel }, name)?
            }
        })
    }
}

/// A source whose reads fail once `cancel` is set.
pub(crate) struct Cancellable<S> {
    pub(crate) inner: S,
    pub(crate) cancel: Cancel,
}

impl<S> Cancellable<S> {
    fn check(&self) -> io::Result<()> {
        match self.cancel.is_cancelled() {
            true => Err(io::Error::other("cancelled")),
            false => Ok(()),
        }
    }
}

impl<S: Source> Source for Cancellable<S> {
    fn name(&self) -> &Path {
        self.inner.name()
    }

    fn bytes(&self) -> u64 {
        self.inner.bytes()
    }

    fn read_at(&self, offset: u64, into: &mut [u8]) -> io::Result<()> {
        self.check()?;
        self.inner.read_at(offset, into)
    }

    fn is_whole(&self) -> io::Result<bool> {
        self.inner.is_whole()
    }
}

impl<S: Read> Read for Cancellable<S> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        self.check()?;
        self.inner.read(into)
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

/// Steps of AES: round, seconds, level, noise bits, capacity bits.
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
        one.set_item("log2_p_fail", messages.log2_p_fail)?;
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

/// The description of a value in a file.
fn value_dict<'py>(py: Python<'py>, meta: &ValueMeta) -> PyResult<Bound<'py, PyDict>> {
    let out = PyDict::new(py);
    out.set_item("label", &meta.label)?;
    out.set_item("form", &meta.form)?;
    out.set_item("count", meta.count)?;
    out.set_item("width", meta.width)?;
    out.set_item("ciphertexts", meta.ciphertexts)?;
    Ok(out)
}
