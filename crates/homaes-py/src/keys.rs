//! The keys of the server: the evaluation key and the wrapped AES key.

use crate::arguments::FilePath;
use crate::errors::raise;
use crate::methods::{getters, pickled};
use crate::origin::{Opened, Origin, Place};
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

getters! { EvalKey as key:
    /// The path of its file; None in memory.
    path: Option<PathBuf> = key.place.path();
    /// The name of the parameter set.
    set: &'static str = key.key.set().name();
    /// The id of its secret key, in hex.
    key_id: String = key.key.key_id().to_string();
    /// Size of its file in bytes.
    file_bytes: u64 = key.key.file_bytes();
    /// The layouts that it has keys for.
    layouts: Vec<&'static str> = key.key.layouts().iter().map(|l| l.name()).collect();
}

pickled!(EvalKey);

#[pymethods]
impl EvalKey {
    /// Read an evaluation key from a file or from its bytes.
    #[staticmethod]
    #[pyo3(signature = (source, /))]
    fn load(source: &Bound<'_, PyAny>) -> PyResult<Self> {
        let place = Place::of(source)?;
        let from = place.clone();
        let read = move |_: &Cancel| match &from {
            Place::File(file) => homaes::EvalKey::open(&file.given),
            Place::Bytes(bytes) => homaes::EvalKey::from_bytes(bytes.as_ref()),
        };
        let key = wait::read(source.py(), read)?.into();
        Ok(Self { key, place })
    }

    /// Write it to a file.
    #[pyo3(signature = (path, /, *, force=false))]
    fn save(&self, py: Python<'_>, path: FilePath, force: bool) -> PyResult<()> {
        Origin::File(self.place.clone()).save(py, path.0, force)
    }

    /// The bytes of its file.
    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        self.place.to_bytes(py)
    }

    /// Refuse a file that has changed since the key was loaded.
    fn _check_file(&self) -> PyResult<()> {
        self.place.check().map_err(raise)
    }

    fn __repr__(&self) -> String {
        let (set, id, bytes) = (self.set(), self.key_id(), self.file_bytes());
        format!("<homaes.EvalKey {set}, key {id}, {bytes} bytes>")
    }
}

/// An AES key under FHE.
#[pyclass(frozen, module = "homaes", weakref)]
pub(crate) struct WrappedKey {
    pub(crate) key: Arc<homaes::WrappedKey>,
    pub(crate) file: Option<Opened>,
}

getters! { WrappedKey as key:
    /// The path of its file; None in memory.
    path: Option<PathBuf> = key.file.as_ref().map(|file| file.path.clone());
    /// The name of the parameter set.
    set: &'static str = key.key.set().name();
    /// The id of its secret key, in hex.
    key_id: String = key.key.key_id().to_string();
    /// Size of its file in bytes.
    file_bytes: u64 = key.key.file_bytes();
    /// Length of the AES key in bits: 128, 192 or 256.
    key_bits: usize = 8 * key.key.key_size().key_bytes();
    /// Direction of the cipher: "encrypt" for CTR, GCM and CFB, "decrypt" for CBC and ECB, or "both".
    direction: &'static str = match key.key.directions()[..] {
        [Direction::Encrypt] => "encrypt",
        [Direction::Decrypt] => "decrypt",
        _ => "both",
    };
    /// The layouts that it has round keys for.
    layouts: Vec<&'static str> = key.key.layouts().iter().map(|l| l.name()).collect();
    /// Whether the server expands its round keys from a compact form.
    compact: bool = key.key.is_compact();
    /// Names of the AES keys, if it holds many; empty if it holds one.
    names: Vec<String> = key.key.names();
    /// The side that expands the AES key: "client" or "server".
    expansion: &'static str = match key.key.expansion() {
        Expansion::Client => "client",
        Expansion::Server => "server",
    };
}

pickled!(WrappedKey);

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
            Place::File(file) => homaes::WrappedKey::open_alone(&file.given),
            Place::Bytes(bytes) => homaes::WrappedKey::from_bytes_alone(bytes.as_ref()),
        };
        let key = wait::read(source.py(), read)?.into();
        Ok(Self { key, file })
    }

    /// Write it to a file.
    #[pyo3(signature = (path, /, *, force=false))]
    fn save(&self, py: Python<'_>, path: FilePath, force: bool) -> PyResult<()> {
        let own = self.file.as_ref().map(|file| &*file.path);
        let save = || {
            homaes::refuse_own_input(&path.0, own)?;
            self.key.save(Output::create(&path.0, force)?)
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

    fn __repr__(&self) -> String {
        let (set, bits) = (self.set(), self.key_bits());
        let (id, bytes) = (self.key_id(), self.file_bytes());
        format!("<homaes.WrappedKey AES-{bits} under {set}, key {id}, {bytes} bytes>")
    }
}
