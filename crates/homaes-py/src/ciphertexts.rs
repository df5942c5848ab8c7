//! Results: their description, and the reports of the package.

use crate::arguments::{self, FilePath, text_of};
use crate::batches::{Batch, Batches};
use crate::errors::raise;
use crate::methods::{getters, pickled};
use crate::origin::{Origin, Place};
use crate::wait;
use homaes::{Error, KeyId, Meta, Output, PartMeta, Quality, Set, Step};
use homaes_job::JobError;
use pyo3::exceptions::{PyAttributeError, PyIndexError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyTuple};
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, OnceLock};

/// An object of a class of `homaes._report`, made of its fields.
macro_rules! report {
    ($py:expr, $class:literal, { $($name:ident: $value:expr,)* }) => {{
        let fields = pyo3::types::PyDict::new($py);
        $(fields.set_item(stringify!($name), $value)?;)*
        $py.import("homaes._report")?.getattr($class)?.call((), Some(&fields))
    }};
}
pub(crate) use report;

/// FHE ciphertexts of a message: of a run, a ``.hct`` file or a job. Nothing here needs a secret key.
#[pyclass(frozen, module = "homaes", weakref)]
pub(crate) struct Ciphertexts {
    origin: Origin,
    /// The report of the run that made them.
    report: Option<Py<PyAny>>,
    meta: Meta,
    set: Set,
    key_id: KeyId,
    measured: OnceLock<Measured>,
}

/// The noise and the steps that the file declares.
struct Measured {
    worst: Option<Quality>,
    steps: Vec<Step>,
}

/// Where `Ciphertexts` or `Values` are, or the file or folder that an object names.
pub(crate) fn origin_of(object: &Bound<'_, PyAny>) -> PyResult<Origin> {
    if let Ok(ciphertexts) = object.cast::<Ciphertexts>() {
        return Ok(ciphertexts.get().origin.clone());
    }
    match object.cast::<Values>() {
        Ok(values) => Ok(Origin::File(values.get().0.clone())),
        Err(_) => Origin::named(object),
    }
}

impl Ciphertexts {
    /// Reads the front of the file, but no ciphertexts. `report`: of the run that made them.
    pub(crate) fn of(py: Python<'_>, origin: Origin, report: Option<Py<PyAny>>) -> PyResult<Self> {
        wait::read(py, move |cancel| {
            let opened = origin.open(cancel)?;
            Ok::<_, JobError>(Self {
                meta: opened.meta().clone(),
                set: opened.set().clone(),
                key_id: opened.key_id(),
                measured: OnceLock::new(),
                report,
                origin,
            })
        })
    }

    /// Verifies every checksum.
    fn measured(&self, py: Python<'_>) -> PyResult<&Measured> {
        if let Some(measured) = self.measured.get() {
            return Ok(measured);
        }
        let origin = self.origin.clone();
        let measured = wait::read(py, move |cancel| {
            let mut worst: Option<Quality> = None;
            let mut batches = origin.open(cancel)?.into_iter();
            for batch in &mut batches {
                let quality = batch?.quality()?;
                worst = Some(worst.map_or(quality, |worst| worst.worst(quality)));
            }
            let steps = batches.steps().map(<[_]>::to_vec).unwrap_or_default();
            Ok::<_, JobError>(Measured { worst, steps })
        })?;
        Ok(self.measured.get_or_init(|| measured))
    }
}

getters! { Ciphertexts as ct:
    /// The path of the file; None in memory.
    path: Option<PathBuf> = match &ct.origin {
        Origin::File(place) => place.path(),
        Origin::Job(_) => None,
    };
    /// The location of the job; None for a file or in memory.
    job: Option<OsString> = match &ct.origin {
        Origin::Job(job) => Some(text_of(job.location())),
        Origin::File(_) => None,
    };
    /// The name of the parameter set.
    set: &'static str = ct.set.name();
    /// The id of the secret key that decrypts them, in hex.
    key_id: String = ct.key_id.to_string();
    /// Length of the message in bytes.
    bytes: u64 = ct.meta.bytes();
    /// Number of AES blocks of the message.
    blocks: u64 = ct.meta.split.blocks();
    /// Number of batches of blocks.
    batches: u64 = ct.meta.split.batches();
    /// How ciphertexts hold the bytes: "packed", "sliced" or "bits".
    layout: &'static str = ct.meta.layout.name();
    /// Level of the ciphertexts, at least 1.
    level: usize = ct.meta.level;
    /// Length of the AES key in bits.
    key_bits: usize = 8 * ct.meta.key_size.key_bytes();
}

pickled!(Ciphertexts);

#[pymethods]
impl Ciphertexts {
    /// Open a ``.hct`` file, the bytes of one, or the folder of a job.
    ///
    /// Checks the front of the file now, and the ciphertexts when they are used.
    #[staticmethod]
    #[pyo3(signature = (source, /))]
    pub(crate) fn open(source: &Bound<'_, PyAny>) -> PyResult<Self> {
        Self::of(source.py(), origin_of(source)?, None)
    }

    /// The parts of the message.
    #[getter]
    fn parts<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyAny>>> {
        parts(py, &self.meta)
    }

    /// Multiplications left; None if the scheme bootstraps or the message is empty.
    #[getter]
    fn multiplications_left(&self, py: Python<'_>) -> PyResult<Option<usize>> {
        let (worst, scheme) = (self.measured(py)?.worst, self.set.scheme());
        Ok(worst.and_then(|worst| scheme.multiplications_left(worst.level)))
    }

    /// log2 of the noise of the worst ciphertext; None for an empty message.
    #[getter]
    fn noise_bits(&self, py: Python<'_>) -> PyResult<Option<f64>> {
        Ok(self.measured(py)?.worst.map(|worst| worst.noise_bits))
    }

    /// Bits between this noise and failure; None for an empty message.
    #[getter]
    fn capacity_bits(&self, py: Python<'_>) -> PyResult<Option<f64>> {
        Ok(self.measured(py)?.worst.map(|worst| worst.capacity_bits))
    }

    /// The steps of AES, as in ``Report.steps``.
    #[getter]
    fn steps<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        steps(py, &self.measured(py)?.steps)
    }

    /// The report of the run that made them.
    ///
    /// Raises ``AttributeError`` if they come from a file, which holds only ``steps``.
    #[getter]
    fn report(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        let report = self.report.as_ref().map(|report| report.clone_ref(py));
        report.ok_or_else(|| {
            PyAttributeError::new_err(
                "report: these ciphertexts come from a file, which holds only steps",
            )
        })
    }

    /// Write a ``.hct`` file.
    #[pyo3(signature = (path, /, *, force=false))]
    fn save(&self, py: Python<'_>, path: FilePath, force: bool) -> PyResult<()> {
        self.origin.save(py, path.0, force)
    }

    /// Write the same results for decryption alone, as small as they get, and open them.
    ///
    /// Needs no key. BGV results with multiplications left become 18 or 36 bytes for each of the message; those
    /// without are written so at once. Raises ``ValueError`` for results that have one form.
    #[pyo3(signature = (path, /, *, force=false))]
    fn finish(&self, path: &Bound<'_, PyAny>, force: bool) -> PyResult<Self> {
        let (origin, to) = (self.origin.clone(), arguments::path(path)?);
        wait::write(path.py(), move |cancel| {
            origin.refuse_output(&to)?;
            let output = Output::create(&to, force)?;
            Ok::<_, JobError>(origin.open(cancel)?.finish(output)?)
        })?;
        Self::open(path)
    }

    /// All bytes of the ``.hct`` file.
    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        self.origin.to_bytes(py)
    }

    /// Read the batches in order, one at a time. The whole file is verified once the last batch is read.
    fn __iter__(&self, py: Python<'_>) -> PyResult<Batches> {
        let origin = self.origin.clone();
        let open = move |cancel: &_| Ok::<_, JobError>(origin.open(cancel)?.into_iter());
        Ok(Batches(Arc::new(Mutex::new(wait::read(py, open)?))))
    }

    /// The LWE ciphertexts of a batch of TFHE, given as ``Batch`` or number: one row per bit, mask before body.
    ///
    /// Row 128·b + 8·i + j encrypts bit j of byte i of block b, lowest bit first, as 2^63 (half the torus) times the
    /// bit, under the GLWE key read as one vector. In sets of base 16, row 32·b + 2·i + j encrypts four bits, times
    /// 2^59.
    #[pyo3(signature = (batch, /))]
    fn lwe<'py>(&self, batch: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let py = batch.py();
        if let Ok(batch) = batch.cast::<Batch>() {
            return batch.get().lwe(py);
        }
        let (number, batches) = (batch.extract::<i64>()?, self.batches() as i64);
        if !(0..batches).contains(&number) {
            let last = batches - 1;
            let message = format!("batch: found {number}, expected 0 to {last}");
            return Err(PyIndexError::new_err(message));
        }
        let origin = self.origin.clone();
        let found = wait::read(py, move |cancel| {
            for batch in origin.open(cancel)? {
                let batch = batch?;
                if batch.index() == number as u64 {
                    return Ok::<_, JobError>(Batch::new(batch)?);
                }
            }
            Err(Error::Cancelled.into())
        });
        found?.lwe(py)
    }

    fn __enter__(this: PyRef<'_, Self>) -> PyRef<'_, Self> {
        this
    }

    #[pyo3(signature = (*_error))]
    fn __exit__(&self, _error: &Bound<'_, PyTuple>) {}

    /// Refuse a file that has changed since it was opened.
    fn _check_file(&self) -> PyResult<()> {
        match &self.origin {
            Origin::File(place) => place.check().map_err(raise),
            Origin::Job(_) => Ok(()),
        }
    }

    /// A table for notebooks, with the bits between noise and failure after every step of AES.
    fn _repr_html_(&self, py: Python<'_>) -> PyResult<String> {
        let steps = match &self.report {
            Some(report) => report.bind(py).getattr("steps")?,
            None => self.steps(py)?,
        };
        let bits: Vec<f64> = steps
            .get_item("capacity_bits")?
            .call_method0("tolist")?
            .extract()?;
        let rows = [
            ("bytes", self.bytes().to_string()),
            ("set", self.set().to_owned()),
            ("layout", self.layout().to_owned()),
            ("batches", self.batches().to_string()),
            ("level", self.level().to_string()),
            ("capacity", curve(&bits)),
        ];
        let cell = |(name, value)| format!("<tr><th>{name}</th><td>{value}</td></tr>");
        Ok(format!("<table>{}</table>", rows.map(cell).concat()))
    }

    fn __repr__(&self) -> String {
        let place = match &self.origin {
            Origin::Job(job) => format!("of the job at {}", job.location()),
            Origin::File(place) => match place.path() {
                Some(path) => format!("in {}", path.display()),
                None => "in memory".into(),
            },
        };
        let (bytes, layout, batches) = (self.bytes(), self.layout(), self.batches());
        format!("<homaes.Ciphertexts of {bytes} bytes, {layout}, {batches} batches, {place}>")
    }
}

/// Computed values in memory, for ``SecretKey.open_values``.
#[pyclass(frozen, module = "homaes")]
pub(crate) struct Values(pub(crate) Place);

#[pymethods]
impl Values {
    /// Write a ``.hcv`` file.
    #[pyo3(signature = (path, /, *, force=false))]
    fn save(&self, py: Python<'_>, path: FilePath, force: bool) -> PyResult<()> {
        Origin::File(self.0.clone()).save(py, path.0, force)
    }

    /// All bytes of the ``.hcv`` file.
    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        self.0.to_bytes(py)
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let bytes = self.to_bytes(py)?.as_bytes().len();
        Ok(format!("<homaes.Values, {bytes} bytes>"))
    }
}

/// A line chart of values above 0, with the first and last value as text.
fn curve(values: &[f64]) -> String {
    let (Some(first), Some(last)) = (values.first(), values.last()) else {
        return "none".into();
    };
    let (width, height) = (160.0, 40.0);
    let top = values.iter().copied().fold(1.0, f64::max);
    let step = width / (values.len() - 1).max(1) as f64;
    let points = values.iter().enumerate().map(|(number, value)| {
        let (x, y) = (number as f64 * step, height * (1.0 - value / top));
        format!("{x:.1},{y:.1}")
    });
    let points = points.collect::<Vec<_>>().join(" ");
    format!(
        "{first:.0} bits <svg width=\"{width}\" height=\"{height}\" role=\"img\">\
         <polyline points=\"{points}\" fill=\"none\" stroke=\"currentColor\"/></svg> {last:.0} bits"
    )
}

/// `homaes.PartInfo` of each part.
pub(crate) fn parts<'py>(py: Python<'py>, meta: &Meta) -> PyResult<Vec<Bound<'py, PyAny>>> {
    let part = |part: &PartMeta| {
        let public = PyDict::new(py);
        public.set_item("tag", part.tag.map(|tag| PyBytes::new(py, &tag)))?;
        public.set_item("aad", PyBytes::new(py, &part.aad))?;
        let modes = py.import("homaes.modes")?.getattr("of_name")?;
        let named = (part.mode.name(), PyBytes::new(py, part.mode.iv()));
        report!(py, "PartInfo", {
            name: &part.name,
            bytes: part.bytes,
            mode: modes.call(named, Some(&public))?,
        })
    };
    meta.parts.iter().map(part).collect()
}

/// An array of steps of AES.
pub(crate) fn steps<'py>(py: Python<'py>, steps: &[Step]) -> PyResult<Bound<'py, PyAny>> {
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
    let rows: Vec<_> = rows.collect();
    py.import("homaes._report")?
        .call_method1("steps_of", (rows,))
}

/// The description of results in a file.
pub(crate) fn meta_dict<'py>(py: Python<'py>, meta: &Meta) -> PyResult<Bound<'py, PyDict>> {
    let out = PyDict::new(py);
    out.set_item("bytes", meta.bytes())?;
    out.set_item("blocks", meta.split.blocks())?;
    out.set_item("batches", meta.split.batches())?;
    out.set_item("layout", meta.layout.name())?;
    out.set_item("level", meta.level)?;
    out.set_item("key_bits", 8 * meta.key_size.key_bytes())?;
    Ok(out)
}
