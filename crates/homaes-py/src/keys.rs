//! The three keys.

use crate::ciphertexts::Results;
use crate::counts::Number;
use crate::decrypt::{Expected, How, Plain, aes_key_of, decrypt_report, secret_bytes};
use crate::errors::raise;
use crate::numbers::opened;
use crate::place::{Opened, Place, Shared, optional_path, path, path_or_bytes};
use crate::wait;
use homaes::{
    Cancel, DecryptReport, Direction, Error, Expansion, KdfCost, KeyFolder, KeySet, Layout, Output,
    Passphrase, Set, WrapOptions,
};
use homaes_job::JobError;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use zeroize::Zeroizing;

/// Make keys of the parameter set `set`, in memory.
#[pyfunction]
pub(crate) fn keygen(py: Python<'_>, set: &str) -> PyResult<(SecretKey, EvalKey)> {
    let set = Set::named(set).map_err(raise)?;
    let cancel = Cancel::new();
    let thrown = cancel.clone();
    let (secret, eval) = wait::run(py, &cancel, false, move || {
        let (secret, bytes) = KeySet::generate_bytes(&set, &thrown)?;
        let eval = homaes::EvalKey::from_bytes(&bytes)?;
        let place = Place::Bytes(Shared::Own(bytes.into()));
        Ok::<_, Error>((secret, EvalKey::new(eval, place)))
    })?;
    Ok((SecretKey(secret.into()), eval))
}

/// The client's key: wraps AES keys and decrypts results.
#[pyclass(frozen, module = "homaes", weakref)]
pub(crate) struct SecretKey(Arc<homaes::SecretKey>);

#[pymethods]
impl SecretKey {
    /// Read a secret key from a file or from its bytes.
    #[staticmethod]
    #[pyo3(signature = (source, /, *, passphrase=None))]
    fn load(source: &Bound<'_, PyAny>, passphrase: Option<&Bound<'_, PyAny>>) -> PyResult<Self> {
        let passphrase = passphrase.map(passphrase_of).transpose()?;
        // not a Place, which would keep a copy of the secret bytes
        let bytes = secret_bytes(source)?;
        let path = match &bytes {
            Some(_) => PathBuf::new(),
            None => path_or_bytes(source, true)?,
        };
        let cancel = Cancel::new();
        let read = move || match (bytes, passphrase) {
            (Some(bytes), None) => homaes::SecretKey::from_bytes(&bytes),
            (Some(bytes), Some(passphrase)) => homaes::SecretKey::unlock_bytes(&bytes, &passphrase),
            (None, None) => homaes::SecretKey::open(path),
            (None, Some(passphrase)) => homaes::SecretKey::unlock(path, &passphrase),
        };
        let key = wait::run(source.py(), &cancel, false, read)?;
        Ok(Self(key.into()))
    }

    /// Write the key to a file that only the owner can read.
    #[pyo3(signature = (path, /, *, passphrase=None, force=false))]
    fn save(
        &self,
        py: Python<'_>,
        #[pyo3(from_py_with = path)] path: PathBuf,
        passphrase: Option<&Bound<'_, PyAny>>,
        force: bool,
    ) -> PyResult<()> {
        let passphrase = passphrase.map(passphrase_of).transpose()?;
        let lock = passphrase.as_ref().map(|p| (p, KdfCost::default()));
        let saved = py.detach(|| self.0.save(path, force, lock));
        saved.map_err(raise)
    }

    /// Write the key and its evaluation key into a folder, both or neither.
    #[pyo3(signature = (folder, eval, /, *, passphrase=None))]
    fn _save_with(
        &self,
        py: Python<'_>,
        #[pyo3(from_py_with = path)] folder: PathBuf,
        eval: &EvalKey,
        passphrase: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<()> {
        let passphrase = passphrase.map(passphrase_of).transpose()?;
        let lock = passphrase.as_ref().map(|p| (p, KdfCost::default()));
        let save = |eval: &[u8]| {
            let folder = KeyFolder::open(&folder)?;
            Ok::<_, JobError>(folder.save(&self.0, eval, lock)?)
        };
        let saved = py.detach(|| match &eval.place {
            Place::Bytes(bytes) => save(bytes.as_ref()),
            Place::File(from) => save(&read(from)?),
        });
        saved.map_err(raise)
    }

    /// The bytes of its file. They are secret.
    #[pyo3(signature = (*, passphrase=None))]
    fn to_bytes<'py>(
        &self,
        py: Python<'py>,
        passphrase: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let passphrase = passphrase.map(passphrase_of).transpose()?;
        let lock = passphrase.as_ref().map(|p| (p, KdfCost::default()));
        let bytes = py.detach(|| self.0.to_bytes(lock)).map_err(raise)?;
        Ok(PyBytes::new(py, &bytes))
    }

    /// Encrypt an AES key under FHE.
    #[pyo3(signature = (aes_key, /, *, direction="encrypt", layouts=None, levels_left=None, expand=None))]
    fn wrap(
        &self,
        aes_key: &Bound<'_, PyAny>,
        direction: &str,
        layouts: Option<&Bound<'_, PyAny>>,
        levels_left: Option<Number>,
        expand: Option<&str>,
    ) -> PyResult<WrappedKey> {
        let (py, aes_key) = (aes_key.py(), aes_key_of(aes_key)?);
        let direction = match direction {
            "encrypt" => Direction::Encrypt,
            "decrypt" => Direction::Decrypt,
            _ => return Err(choice("direction", direction, "encrypt or decrypt")),
        };
        let expansion = match expand {
            None => None,
            Some("client") => Some(Expansion::Client),
            Some("server") => Some(Expansion::Server),
            Some(other) => return Err(choice("expand", other, "client or server")),
        };
        let levels_left = levels_left.map(|levels| levels.of("levels_left", 0..=u64::MAX));
        let wrapping = WrapOptions {
            direction,
            layouts: layouts.map_or_else(|| Ok(Vec::new()), layouts_of)?,
            levels_left: levels_left.transpose()?.map(|levels| levels as usize),
            expansion,
        };
        let (cancel, secret) = (Cancel::new(), self.0.clone());
        let encrypt = move || homaes::WrappedKey::encrypt(&secret, &aes_key, &wrapping);
        let key = wait::run(py, &cancel, false, encrypt)?;
        Ok(WrappedKey::new(key, None))
    }

    /// Decrypt results: Ciphertexts, a path or bytes.
    #[pyo3(signature = (ciphertexts, /, *, aes_key=None, unpad=false, part=None, unauthenticated=false, expect=None, expect_bytes=None, seen=None))]
    #[allow(clippy::too_many_arguments, reason = "named in Python")]
    fn decrypt<'py>(
        &self,
        ciphertexts: &Bound<'py, PyAny>,
        aes_key: Option<&Bound<'py, PyAny>>,
        unpad: bool,
        part: Option<String>,
        unauthenticated: bool,
        expect: Option<&Bound<'py, PyAny>>,
        expect_bytes: Option<Number>,
        #[pyo3(from_py_with = optional_path)] seen: Option<PathBuf>,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let plain = Plain::default();
        let expect = Expected::of(expect, expect_bytes)?;
        let how = How::new(aes_key, unpad, unauthenticated)?.of_one(part, expect, seen);
        let taken = plain.clone();
        let output = move || Ok(Output::held("<memory>", taken));
        self.decrypt_into(ciphertexts, how, false, output)?;
        Ok(plain.take(ciphertexts.py()))
    }

    /// Decrypt results into a file that only the owner can read.
    #[pyo3(signature = (ciphertexts, path, /, *, aes_key=None, unpad=false, part=None, unauthenticated=false, expect=None, expect_bytes=None, seen=None, force=false))]
    #[allow(clippy::too_many_arguments, reason = "named in Python")]
    fn decrypt_to<'py>(
        &self,
        ciphertexts: &Bound<'py, PyAny>,
        #[pyo3(from_py_with = path)] path: PathBuf,
        aes_key: Option<&Bound<'py, PyAny>>,
        unpad: bool,
        part: Option<String>,
        unauthenticated: bool,
        expect: Option<&Bound<'py, PyAny>>,
        expect_bytes: Option<Number>,
        #[pyo3(from_py_with = optional_path)] seen: Option<PathBuf>,
        force: bool,
    ) -> PyResult<Bound<'py, PyAny>> {
        let expect = Expected::of(expect, expect_bytes)?;
        let how = How::new(aes_key, unpad, unauthenticated)?.of_one(part, expect, seen);
        let output = move || Output::private(path, force);
        let report = self.decrypt_into(ciphertexts, how, true, output)?;
        decrypt_report(ciphertexts.py(), &report)
    }

    /// Decrypt every part of results into a file of its name in a folder.
    #[pyo3(signature = (ciphertexts, folder, /, *, aes_key=None, unpad=false, unauthenticated=false, expect=None, expect_bytes=None, seen=None, force=false))]
    #[allow(clippy::too_many_arguments, reason = "named in Python")]
    fn decrypt_parts<'py>(
        &self,
        ciphertexts: &Bound<'py, PyAny>,
        #[pyo3(from_py_with = path)] folder: PathBuf,
        aes_key: Option<&Bound<'py, PyAny>>,
        unpad: bool,
        unauthenticated: bool,
        expect: Option<&Bound<'py, PyAny>>,
        expect_bytes: Option<&Bound<'py, PyAny>>,
        #[pyo3(from_py_with = optional_path)] seen: Option<PathBuf>,
        force: bool,
    ) -> PyResult<Bound<'py, PyDict>> {
        let parts = Expected::of_parts(expect, expect_bytes)?;
        let how = How::new(aes_key, unpad, unauthenticated)?.of_parts(parts, seen);
        let (py, held) = (ciphertexts.py(), Results::of(ciphertexts)?);
        let (secret, cancel) = (self.0.clone(), Cancel::new());
        let thrown = cancel.clone();
        let done = wait::run(py, &cancel, true, move || {
            how.with(|options| held.decrypt_parts(&secret, (&folder, force), options, &thrown))
        })?;
        let out = PyDict::new(py);
        for (name, report) in &done {
            out.set_item(name, decrypt_report(py, report)?)?;
        }
        Ok(out)
    }

    /// Decrypt a `.hcv` file, or the bytes of one. Returns arrays of numbers by label.
    #[pyo3(signature = (source, /))]
    fn open_values<'py>(&self, source: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyDict>> {
        opened(source, self.0.clone())
    }

    /// The name of the parameter set.
    #[getter]
    fn set(&self) -> &'static str {
        self.0.set().name()
    }

    /// The id of the key, in hex. Everything made with the key carries it; it is not secret.
    #[getter]
    fn key_id(&self) -> String {
        self.0.id().to_string()
    }

    /// Whether its file is under a passphrase.
    #[getter]
    fn is_protected(&self) -> bool {
        self.0.is_protected()
    }

    /// Whether others than the owner could read its file.
    #[getter]
    fn is_exposed(&self) -> bool {
        self.0.is_exposed()
    }

    fn __repr__(&self) -> String {
        format!("<homaes.SecretKey {}, key {}>", self.set(), self.key_id())
    }

    fn __copy__(this: PyRef<'_, Self>) -> PyRef<'_, Self> {
        this
    }

    fn __deepcopy__<'py>(this: PyRef<'py, Self>, _memo: &Bound<'py, PyAny>) -> PyRef<'py, Self> {
        this
    }

    fn __reduce_ex__(&self, _protocol: &Bound<'_, PyAny>) -> PyResult<()> {
        Err(PyTypeError::new_err(
            "a SecretKey cannot be pickled: save it with SecretKey.save, and load it where you need it",
        ))
    }
}

impl SecretKey {
    /// Decrypts. `writes`: the output is a file, which must not appear after an exception.
    fn decrypt_into(
        &self,
        ciphertexts: &Bound<'_, PyAny>,
        how: How,
        writes: bool,
        output: impl FnOnce() -> homaes::Result<Output> + Send + 'static,
    ) -> PyResult<DecryptReport> {
        let held = Results::of(ciphertexts)?;
        let (secret, cancel) = (self.0.clone(), Cancel::new());
        let thrown = cancel.clone();
        wait::run(ciphertexts.py(), &cancel, writes, move || {
            let output = output()?;
            how.with(|options| held.decrypt(&secret, output, options, &thrown))
        })
    }
}

/// The server's key, which evaluates but cannot decrypt.
#[pyclass(frozen, module = "homaes", weakref)]
pub(crate) struct EvalKey {
    pub(crate) key: Arc<homaes::EvalKey>,
    /// Its source, because the key itself cannot be written again.
    place: Place,
}

impl EvalKey {
    fn new(key: homaes::EvalKey, place: Place) -> Self {
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
        let read = move || match &from {
            Place::File(file) => homaes::EvalKey::open(file.given()),
            Place::Bytes(bytes) => homaes::EvalKey::from_bytes(bytes.as_ref()),
        };
        let key = wait::run(source.py(), &Cancel::new(), false, read)?;
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
        py.detach(|| match &self.place {
            Place::Bytes(bytes) => Ok(write(&path, bytes.as_ref(), force)?),
            Place::File(from) => {
                homaes::refuse_own_input(&path, [from.path()])?;
                Ok::<_, JobError>(write(&path, &read(from)?, force)?)
            }
        })
        .map_err(raise)
    }

    /// The bytes of its file.
    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        match &self.place {
            Place::Bytes(bytes) => Ok(bytes.to_python(py)),
            Place::File(file) => {
                let bytes = py.detach(|| read(file)).map_err(raise)?;
                Ok(PyBytes::new(py, &bytes))
            }
        }
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
    fn new(key: homaes::WrappedKey, file: Option<Opened>) -> Self {
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
        let read = move || match &place {
            Place::File(file) => homaes::WrappedKey::open_alone(file.given()),
            Place::Bytes(bytes) => homaes::WrappedKey::from_bytes_alone(bytes.as_ref()),
        };
        let key = wait::run(source.py(), &Cancel::new(), false, read)?;
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

fn write(path: &Path, bytes: &[u8], force: bool) -> homaes::Result<()> {
    let mut output = Output::create(path, force)?;
    let written = output.write_all(bytes);
    written.map_err(|source| Error::Io {
        path: path.to_owned(),
        source,
    })?;
    output.commit()
}

fn read(file: &Opened) -> Result<Vec<u8>, JobError> {
    let path = file.path();
    // a pipe in its place would block until a writer opens it
    file.check()?;
    let bytes = fs::read(path).map_err(|source| Error::Io {
        path: path.to_owned(),
        source,
    })?;
    file.check()?;
    Ok(bytes)
}

/// A passphrase from text or bytes.
fn passphrase_of(object: &Bound<'_, PyAny>) -> PyResult<Passphrase> {
    if let Ok(text) = object.extract::<String>() {
        return Passphrase::new(Zeroizing::new(text).as_bytes()).map_err(raise);
    }
    match secret_bytes(object)? {
        Some(bytes) => Passphrase::new(&bytes).map_err(raise),
        None => Err(PyTypeError::new_err("passphrase: expected a str or bytes")),
    }
}

/// The layouts of a list of names.
fn layouts_of(names: &Bound<'_, PyAny>) -> PyResult<Vec<Layout>> {
    let names: Vec<String> = names.extract().map_err(|_| {
        PyTypeError::new_err("layouts: expected a list of str, such as [\"packed\", \"sliced\"]")
    })?;
    match names.is_empty() {
        true => Err(PyValueError::new_err(
            "layouts: found none, expected at least one, or None for those of the set",
        )),
        false => names.iter().map(|name| layout_of(name)).collect(),
    }
}

/// The layout of a name.
pub(crate) fn layout_of(name: &str) -> PyResult<Layout> {
    let mut all = Layout::ALL.into_iter();
    let found = all.find(|layout| layout.name() == name);
    found.ok_or_else(|| choice("layout", name, "packed, sliced or bits"))
}

/// The error of an argument that is not one of the expected words.
pub(crate) fn choice(what: &str, found: &str, expected: &str) -> PyErr {
    PyValueError::new_err(format!("{what}: found {found:?}, expected {expected}"))
}
