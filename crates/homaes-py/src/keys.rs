//! The keys of the server: the evaluation key and the wrapped AES key.

use crate::errors::raise;
use crate::origin::Origin;
use crate::place::{Opened, Place, path};
use crate::wait;
use homaes::{Cancel, Direction, Expansion, Output};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use std::path::PathBuf;
use std::sync::Arc;

/// The server's key, which evaluates but cannot decrypt.
#[pyclass(frozen, module = "homaes", weakref)]
pub(crate) struct EvalKey {
    pub(crate) key: Arc<homaes::EvalKey>,
    /// Its source, because the key itself cannot be written again.
    pub(crate) place: Place,
}

impl EvalKey {
    pub(crate) fn new(key: homaes::EvalKey, place: Place) -> Self {
        Self {
            key: key.into(),
            place,
        }
    }
}

#[pymethods]
impl EvalKey {
    /// Read an evaluation key from a file or from its bytes.
    #[staticmethod]
    #[pyo3(signature = (source, /))]
    fn load(source: &Bound<'_, PyAny>) -> PyResult<Self> {
        let place = Place::of(source)?;
        let from = place.clone();
        let read = move |_: &Cancel| match &from {
            Place::File(file) => homaes::EvalKey::open(file.given()),
            Place::Bytes(bytes) => homaes::EvalKey::from_bytes(bytes.as_ref()),
        };
        let key = wait::read(source.py(), read)?;
        Ok(Self::new(key, place))
    }

    /// Write it to a file.
    #[pyo3(signature = (path, /, *, force=false))]
    fn save(
        &self,
        py: Python<'_>,
        #[pyo3(from_py_with = path)] path: PathBuf,
        force: bool,
    ) -> PyResult<()> {
        Origin::File(self.place.clone()).save(py, path, force)
    }

    /// The bytes of its file.
    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        self.place.to_bytes(py)
    }

    /// Refuse a file that has changed since the key was loaded.
    fn _check_file(&self) -> PyResult<()> {
        self.place.check().map_err(raise)
    }

    /// The path of its file; None in memory.
    #[getter]
    fn path(&self) -> Option<PathBuf> {
        self.place.path()
    }

    /// The name of the parameter set.
    #[getter]
    fn set(&self) -> &'static str {
        self.key.set().name()
    }

    /// The id of its secret key, in hex.
    #[getter]
    fn key_id(&self) -> String {
        self.key.key_id().to_string()
    }

    /// Size of its file in bytes.
    #[getter]
    fn file_bytes(&self) -> u64 {
        self.key.file_bytes()
    }

    fn __repr__(&self) -> String {
        let (set, id, bytes) = (self.set(), self.key_id(), self.file_bytes());
        format!("<homaes.EvalKey {set}, key {id}, {bytes} bytes>")
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
}

/// An AES key under FHE.
#[pyclass(frozen, module = "homaes", weakref)]
pub(crate) struct WrappedKey {
    pub(crate) key: Arc<homaes::WrappedKey>,
    file: Option<Opened>,
}

impl WrappedKey {
    pub(crate) fn new(key: homaes::WrappedKey, file: Option<Opened>) -> Self {
        Self {
            key: key.into(),
            file,
        }
    }
}

#[pymethods]
impl WrappedKey {
    /// Read a wrapped key from a file or from its bytes.
    #[staticmethod]
    #[pyo3(signature = (source, /))]
    fn load(source: &Bound<'_, PyAny>) -> PyResult<Self> {
        let place = Place::of(source)?;
        let file = match &place {
            Place::File(file) => Some(file.clone()),
            Place::Bytes(_) => None,
        };
        let read = move |_: &Cancel| match &place {
            Place::File(file) => homaes::WrappedKey::open_alone(file.given()),
            Place::Bytes(bytes) => homaes::WrappedKey::from_bytes_alone(bytes.as_ref()),
        };
        let key = wait::read(source.py(), read)?;
        Ok(Self::new(key, file))
    }

    /// Write it to a file.
    #[pyo3(signature = (path, /, *, force=false))]
    fn save(
        &self,
        py: Python<'_>,
        #[pyo3(from_py_with = path)] path: PathBuf,
        force: bool,
    ) -> PyResult<()> {
        let own = self.file.as_ref().map(Opened::path);
        let save = || {
            homaes::refuse_own_input(&path, own)?;
            self.key.save(Output::create(&path, force)?)
        };
        py.detach(save).map_err(raise)
    }

    /// The bytes of its file.
    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let bytes = py.detach(|| self.key.to_bytes()).map_err(raise)?;
        Ok(PyBytes::new(py, &bytes))
    }

    /// Refuse a file that has changed since the key was loaded.
    fn _check_file(&self) -> PyResult<()> {
        let file = self.file.as_ref();
        file.map_or(Ok(()), Opened::check).map_err(raise)
    }

    /// The path of its file; None in memory.
    #[getter]
    fn path(&self) -> Option<PathBuf> {
        self.file.as_ref().map(|file| file.path().to_owned())
    }

    /// The name of the parameter set.
    #[getter]
    fn set(&self) -> &'static str {
        self.key.set().name()
    }

    /// The id of its secret key, in hex.
    #[getter]
    fn key_id(&self) -> String {
        self.key.key_id().to_string()
    }

    /// Size of its file in bytes.
    #[getter]
    fn file_bytes(&self) -> u64 {
        self.key.file_bytes()
    }

    /// Length of the AES key in bits: 128, 192 or 256.
    #[getter]
    fn key_bits(&self) -> usize {
        8 * self.key.key_size().key_bytes()
    }

    /// Direction of the cipher: "encrypt" for CTR, GCM and CFB, "decrypt" for CBC and ECB.
    #[getter]
    fn direction(&self) -> &'static str {
        match self.key.direction() {
            Direction::Encrypt => "encrypt",
            Direction::Decrypt => "decrypt",
        }
    }

    /// The layouts that it has round keys for.
    #[getter]
    fn layouts(&self) -> Vec<&'static str> {
        self.key.layouts().iter().map(|l| l.name()).collect()
    }

    /// The side that expands the AES key: "client" or "server".
    #[getter]
    fn expansion(&self) -> &'static str {
        match self.key.expansion() {
            Expansion::Client => "client",
            Expansion::Server => "server",
        }
    }

    fn __repr__(&self) -> String {
        let (set, bits) = (self.set(), self.key_bits());
        let (id, bytes) = (self.key_id(), self.file_bytes());
        format!("<homaes.WrappedKey AES-{bits} under {set}, key {id}, {bytes} bytes>")
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
}
