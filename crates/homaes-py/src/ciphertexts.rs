//! Results: their description, and the reports of the package.

use crate::batches::{Batch, Batches};
use crate::errors::raise;
use crate::origin::Origin;
use crate::place::{Place, path, text_of};
use crate::wait;
use homaes::{Error, KeyId, Meta, PartMeta, Quality, Step};
use homaes_job::JobError;
use pyo3::IntoPyObjectExt;
use pyo3::exceptions::{PyAttributeError, PyIndexError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyTuple};
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::OnceLock;

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
    /// The report of the run that made them, kept so that their file is not read for it.
    report: Option<Py<PyAny>>,
    front: OnceLock<Front>,
    measured: OnceLock<Measured>,
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

/// The front of the file.
struct Front {
    meta: Meta,
    set: &'static str,
    key_id: KeyId,
}

/// The noise and the steps that the file declares.
struct Measured {
    worst: Option<Quality>,
    steps: Vec<Step>,
    multiplications_left: Option<usize>,
}

impl Ciphertexts {
    /// Of a run with this report.
    pub(crate) fn new(place: Place, report: Bound<'_, PyAny>) -> Self {
        Self {
            report: Some(report.unbind()),
            ..Self::at(Origin::File(place))
        }
    }

    pub(crate) fn at(origin: Origin) -> Self {
        Self {
            origin,
            report: None,
            front: OnceLock::new(),
            measured: OnceLock::new(),
        }
    }

    /// Does not read the ciphertexts.
    fn front(&self, py: Python<'_>) -> PyResult<&Front> {
        if let Some(front) = self.front.get() {
            return Ok(front);
        }
        let origin = self.origin.clone();
        let front = wait::read(py, move |cancel| {
            let opened = origin.open(cancel)?;
            Ok::<_, JobError>(Front {
                meta: opened.meta().clone(),
                set: opened.set().name(),
                key_id: opened.key_id(),
            })
        })?;
        Ok(self.front.get_or_init(|| front))
    }

    /// Verifies every checksum.
    fn measured(&self, py: Python<'_>) -> PyResult<&Measured> {
        if let Some(measured) = self.measured.get() {
            return Ok(measured);
        }
        let origin = self.origin.clone();
        let measured = wait::read(py, move |cancel| {
            let opened = origin.open(cancel)?;
            let scheme = opened.set().scheme();
            let mut worst: Option<Quality> = None;
            let mut batches = opened.into_iter();
            for batch in &mut batches {
                let quality = batch?.quality()?;
                worst = Some(worst.map_or(quality, |worst| worst.worst(quality)));
            }
            Ok::<_, JobError>(Measured {
                worst,
                steps: batches.steps().map(<[_]>::to_vec).unwrap_or_default(),
                multiplications_left: worst.and_then(|w| scheme.multiplications_left(w.level)),
            })
        })?;
        Ok(self.measured.get_or_init(|| measured))
    }

    /// A value from the report of the run, or else from the file.
    fn fact<'py, T: IntoPyObject<'py>>(
        &self,
        py: Python<'py>,
        name: &str,
        of: impl FnOnce(&Meta) -> T,
    ) -> PyResult<Bound<'py, PyAny>> {
        match &self.report {
            Some(report) => report.bind(py).getattr(name),
            None => of(&self.front(py)?.meta).into_bound_py_any(py),
        }
    }
}

#[pymethods]
impl Ciphertexts {
    /// Open a ``.hct`` file, the bytes of one, or the folder of a job.
    ///
    /// Checks the front of the file now, and the ciphertexts when they are used.
    #[staticmethod]
    #[pyo3(signature = (source, /))]
    pub(crate) fn open(source: &Bound<'_, PyAny>) -> PyResult<Self> {
        let opened = Self::at(origin_of(source)?);
        opened.front(source.py())?;
        Ok(opened)
    }

    /// The path of the file; None in memory.
    #[getter]
    fn path(&self) -> Option<PathBuf> {
        match &self.origin {
            Origin::File(place) => place.path(),
            Origin::Job(_) => None,
        }
    }

    /// The location of the job; None for a file or in memory.
    #[getter]
    fn job(&self) -> Option<OsString> {
        match &self.origin {
            Origin::Job(job) => Some(text_of(job.location())),
            Origin::File(_) => None,
        }
    }

    /// The name of the parameter set.
    #[getter]
    fn set(&self, py: Python<'_>) -> PyResult<&'static str> {
        Ok(self.front(py)?.set)
    }

    /// The id of the secret key that decrypts them, in hex.
    #[getter]
    fn key_id(&self, py: Python<'_>) -> PyResult<String> {
        Ok(self.front(py)?.key_id.to_string())
    }

    /// Length of the message in bytes.
    #[getter]
    fn bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.fact(py, "bytes", bytes_of)
    }

    /// Number of AES blocks of the message.
    #[getter]
    fn blocks<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.fact(py, "blocks", |meta| meta.split.blocks())
    }

    /// Number of batches of blocks.
    #[getter]
    fn batches<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.fact(py, "batches", |meta| meta.split.batches())
    }

    /// How ciphertexts hold the bytes: "packed", "sliced" or "bits".
    #[getter]
    fn layout<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.fact(py, "layout", |meta| meta.layout.name())
    }

    /// Level of the ciphertexts, at least 1.
    #[getter]
    fn level(&self, py: Python<'_>) -> PyResult<usize> {
        Ok(self.front(py)?.meta.level)
    }

    /// Length of the AES key in bits.
    #[getter]
    fn key_bits(&self, py: Python<'_>) -> PyResult<usize> {
        Ok(8 * self.front(py)?.meta.key_size.key_bytes())
    }

    /// The parts of the message.
    #[getter]
    fn parts<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyAny>>> {
        parts(py, &self.front(py)?.meta)
    }

    /// Multiplications left; None if the scheme bootstraps or the message is empty.
    #[getter]
    fn multiplications_left(&self, py: Python<'_>) -> PyResult<Option<usize>> {
        Ok(self.measured(py)?.multiplications_left)
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
    fn save(
        &self,
        py: Python<'_>,
        #[pyo3(from_py_with = path)] path: PathBuf,
        force: bool,
    ) -> PyResult<()> {
        self.origin.save(py, path, force)
    }

    /// All bytes of the ``.hct`` file.
    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        self.origin.to_bytes(py)
    }

    /// Read the batches in order, one at a time. The whole file is verified once the last batch is read.
    fn __iter__(&self, py: Python<'_>) -> PyResult<Batches> {
        let origin = self.origin.clone();
        let open = move |cancel: &_| Ok::<_, JobError>(origin.open(cancel)?.into_iter());
        wait::read(py, open).map(Batches::new)
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
        let (number, batches): (i64, i64) = (batch.extract()?, self.batches(py)?.extract()?);
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

    fn __copy__(this: PyRef<'_, Self>) -> PyRef<'_, Self> {
        this
    }

    fn __deepcopy__<'py>(this: PyRef<'py, Self>, _memo: &Bound<'py, PyAny>) -> PyRef<'py, Self> {
        this
    }

    fn __reduce_ex__<'py>(
        this: &Bound<'py, Self>,
        protocol: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let pickling = this.py().import("homaes._pickling")?;
        pickling.call_method1("reduce", (this, protocol))
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
        let front = self.front(py)?;
        let rows = [
            ("bytes", self.bytes(py)?.to_string()),
            ("set", front.set.to_owned()),
            ("layout", self.layout(py)?.to_string()),
            ("batches", self.batches(py)?.to_string()),
            ("level", front.meta.level.to_string()),
            ("capacity", curve(&bits)),
        ];
        let cell = |(name, value)| format!("<tr><th>{name}</th><td>{value}</td></tr>");
        Ok(format!("<table>{}</table>", rows.map(cell).concat()))
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let place = match &self.origin {
            Origin::Job(job) => format!("of the job at {}", job.location()),
            Origin::File(place) => match place.path() {
                Some(path) => format!("in {}", path.display()),
                None => "in memory".into(),
            },
        };
        let (bytes, layout, batches) = (self.bytes(py)?, self.layout(py)?, self.batches(py)?);
        Ok(format!(
            "<homaes.Ciphertexts of {bytes} bytes, {layout}, {batches} batches, {place}>"
        ))
    }
}

/// Computed values in memory, for ``SecretKey.open_values``.
#[pyclass(frozen, module = "homaes")]
pub(crate) struct Values(pub(crate) Place);

#[pymethods]
impl Values {
    /// Write a ``.hcv`` file.
    #[pyo3(signature = (path, /, *, force=false))]
    fn save(
        &self,
        py: Python<'_>,
        #[pyo3(from_py_with = path)] path: PathBuf,
        force: bool,
    ) -> PyResult<()> {
        Origin::File(self.0.clone()).save(py, path, force)
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

fn bytes_of(meta: &Meta) -> u64 {
    meta.parts.iter().map(|part| part.bytes).sum()
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
    out.set_item("bytes", bytes_of(meta))?;
    out.set_item("blocks", meta.split.blocks())?;
    out.set_item("batches", meta.split.batches())?;
    out.set_item("layout", meta.layout.name())?;
    out.set_item("level", meta.level)?;
    out.set_item("key_bits", 8 * meta.key_size.key_bytes())?;
    Ok(out)
}
