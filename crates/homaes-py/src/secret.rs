//! The secret key.

use crate::arguments::{FilePath, Number, choice, layout_of, path_or_bytes};
use crate::ciphertexts::origin_of;
use crate::decrypt::{
    Expected, How, Keys, Plain, decrypt_report, keys_of, opened, optional_key, secret_bytes,
};
use crate::errors::raise;
use crate::keys::{EvalKey, WrappedKey};
use crate::methods::{getters, pickled};
use crate::origin::Place;
use crate::wait;
use homaes::{
    Cancel, DecryptReport, Direction, Error, Expansion, KdfCost, KeyFolder, KeySet, Layout, Output,
    Passphrase, Set, WrapOptions,
};
use homaes_job::JobError;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use std::path::PathBuf;
use std::sync::Arc;
use zeroize::Zeroizing;

/// Make keys of the parameter set `set`, in memory.
#[pyfunction]
#[pyo3(signature = (set, layouts=None))]
pub(crate) fn keygen(
    py: Python<'_>,
    set: &str,
    layouts: Option<&Bound<'_, PyAny>>,
) -> PyResult<(SecretKey, EvalKey)> {
    let set = Set::named(set).map_err(raise)?;
    let layouts = layouts.map_or_else(|| Ok(Vec::new()), layouts_of)?;
    let (secret, eval) = wait::read(py, move |cancel| {
        let (secret, bytes) = KeySet::generate_bytes(&set, &layouts, cancel)?;
        let key = homaes::EvalKey::from_bytes(&bytes)?.into();
        let place = Place::memory(bytes);
        Ok::<_, Error>((secret, EvalKey { key, place }))
    })?;
    Ok((SecretKey(secret.into()), eval))
}

/// The client's key: wraps AES keys and decrypts results.
#[pyclass(frozen, module = "homaes", weakref)]
pub(crate) struct SecretKey(Arc<homaes::SecretKey>);

getters! { SecretKey as key:
    /// The name of the parameter set.
    set: &'static str = key.0.set().name();
    /// The id of the key, in hex. Everything made with the key carries it; it is not secret.
    key_id: String = key.0.id().to_string();
    /// Whether its file is under a passphrase.
    is_protected: bool = key.0.is_protected();
    /// Whether others than the owner could read its file.
    is_exposed: bool = key.0.is_exposed();
}

pickled!(SecretKey);

#[pymethods]
impl SecretKey {
    /// Read a secret key from a file or from its bytes.
    #[staticmethod]
    #[pyo3(signature = (source, /, *, passphrase=None))]
    fn load(
        source: &Bound<'_, PyAny>,
        #[pyo3(from_py_with = passphrase_of)] passphrase: Option<Passphrase>,
    ) -> PyResult<Self> {
        // not a Place, which would keep a copy of the secret bytes
        let bytes = secret_bytes(source)?;
        let path = match &bytes {
            Some(_) => PathBuf::new(),
            None => path_or_bytes(source, true)?,
        };
        let read = move |_: &Cancel| match (bytes, passphrase) {
            (Some(bytes), None) => homaes::SecretKey::from_bytes(&bytes),
            (Some(bytes), Some(passphrase)) => homaes::SecretKey::unlock_bytes(&bytes, &passphrase),
            (None, None) => homaes::SecretKey::open(path),
            (None, Some(passphrase)) => homaes::SecretKey::unlock(path, &passphrase),
        };
        let key = wait::read(source.py(), read)?;
        Ok(Self(key.into()))
    }

    /// Write the key to a file that only the owner can read.
    #[pyo3(signature = (path, /, *, passphrase=None, force=false))]
    fn save(
        &self,
        py: Python<'_>,
        path: FilePath,
        #[pyo3(from_py_with = passphrase_of)] passphrase: Option<Passphrase>,
        force: bool,
    ) -> PyResult<()> {
        let lock = passphrase.as_ref().map(|p| (p, KdfCost::default()));
        let saved = py.detach(|| self.0.save(path.0, force, lock));
        saved.map_err(raise)
    }

    /// Write the key and its evaluation key into a folder, both or neither.
    #[pyo3(signature = (folder, eval, /, *, passphrase=None))]
    fn _save_with(
        &self,
        py: Python<'_>,
        folder: FilePath,
        eval: &EvalKey,
        #[pyo3(from_py_with = passphrase_of)] passphrase: Option<Passphrase>,
    ) -> PyResult<()> {
        let lock = passphrase.as_ref().map(|p| (p, KdfCost::default()));
        let save = |eval: &[u8]| {
            let folder = KeyFolder::open(&folder.0)?;
            Ok::<_, JobError>(folder.save(&self.0, eval, lock)?)
        };
        let saved = py.detach(|| match &eval.place {
            Place::Bytes(bytes) => save(bytes.as_ref()),
            Place::File(from) => save(&from.read()?),
        });
        saved.map_err(raise)
    }

    /// The bytes of its file. They are secret.
    #[pyo3(signature = (*, passphrase=None))]
    fn to_bytes<'py>(
        &self,
        py: Python<'py>,
        #[pyo3(from_py_with = passphrase_of)] passphrase: Option<Passphrase>,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let lock = passphrase.as_ref().map(|p| (p, KdfCost::default()));
        let bytes = py.detach(|| self.0.to_bytes(lock)).map_err(raise)?;
        Ok(PyBytes::new(py, &bytes))
    }

    /// Encrypt an AES key under FHE, or many, given as a mapping of names to keys.
    #[pyo3(signature = (aes_key, /, *, direction="encrypt", layouts=None, levels_left=None, expand=None, full=false))]
    fn wrap(
        &self,
        aes_key: &Bound<'_, PyAny>,
        direction: &str,
        layouts: Option<&Bound<'_, PyAny>>,
        levels_left: Option<Number>,
        expand: Option<&str>,
        full: bool,
    ) -> PyResult<WrappedKey> {
        let (py, aes_key) = (aes_key.py(), keys_of(aes_key)?);
        let (direction, both) = match direction {
            "encrypt" => (Direction::Encrypt, false),
            "decrypt" => (Direction::Decrypt, false),
            "both" => (Direction::Encrypt, true),
            _ => return Err(choice("direction", direction, "encrypt, decrypt or both")),
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
            both,
            layouts: layouts.map_or_else(|| Ok(Vec::new()), layouts_of)?,
            levels_left: levels_left.transpose()?.map(|levels| levels as usize),
            expansion,
            full,
        };
        let levels_left = wrapping.levels_left;
        let plain = WrapOptions {
            levels_left,
            ..WrapOptions::default()
        };
        if matches!(aes_key, Keys::Many(_)) && wrapping != plain {
            let message = "found direction, layouts, expand or full, expected only levels_left for many AES keys";
            return Err(PyValueError::new_err(message));
        }
        let secret = self.0.clone();
        let encrypt = move |_: &Cancel| match &aes_key {
            Keys::One(key) => homaes::WrappedKey::encrypt(&secret, key, &wrapping),
            Keys::Many(list) => homaes::WrappedKey::encrypt_many(&secret, list, levels_left),
        };
        let key = wait::read(py, encrypt)?.into();
        Ok(WrappedKey { key, file: None })
    }

    /// Decrypt results: Ciphertexts, a path or bytes.
    #[pyo3(signature = (ciphertexts, /, *, aes_key=None, unpad=false, part=None, unauthenticated=false, expect=None, expect_bytes=None, seen=None))]
    fn decrypt<'py>(
        &self,
        ciphertexts: &Bound<'py, PyAny>,
        #[pyo3(from_py_with = optional_key)] aes_key: Option<Keys>,
        unpad: bool,
        part: Option<String>,
        unauthenticated: bool,
        expect: Option<&Bound<'py, PyAny>>,
        expect_bytes: Option<Number>,
        seen: Option<FilePath>,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let plain = Plain::default();
        let how = How {
            aes_key,
            unpad,
            part,
            unauthenticated,
            expect: Expected::of(expect, expect_bytes)?,
            seen: seen.map(|path| path.0),
            ..How::default()
        };
        let taken = plain.clone();
        let output = move || Ok(Output::held("<memory>", taken));
        self.decrypt_into(ciphertexts, how, output)?;
        plain.take(ciphertexts.py())
    }

    /// Decrypt results into a file that only the owner can read.
    #[pyo3(signature = (ciphertexts, path, /, *, aes_key=None, unpad=false, part=None, unauthenticated=false, expect=None, expect_bytes=None, seen=None, force=false))]
    fn decrypt_to<'py>(
        &self,
        ciphertexts: &Bound<'py, PyAny>,
        path: FilePath,
        #[pyo3(from_py_with = optional_key)] aes_key: Option<Keys>,
        unpad: bool,
        part: Option<String>,
        unauthenticated: bool,
        expect: Option<&Bound<'py, PyAny>>,
        expect_bytes: Option<Number>,
        seen: Option<FilePath>,
        force: bool,
    ) -> PyResult<Bound<'py, PyAny>> {
        let how = How {
            aes_key,
            unpad,
            part,
            unauthenticated,
            expect: Expected::of(expect, expect_bytes)?,
            seen: seen.map(|path| path.0),
            ..How::default()
        };
        let output = move || Output::private(path.0, force);
        let report = self.decrypt_into(ciphertexts, how, output)?;
        decrypt_report(ciphertexts.py(), &report)
    }

    /// Decrypt every part of results into a file of its name in a folder.
    #[pyo3(signature = (ciphertexts, folder, /, *, aes_key=None, unpad=false, unauthenticated=false, expect=None, expect_bytes=None, seen=None, force=false))]
    fn decrypt_parts<'py>(
        &self,
        ciphertexts: &Bound<'py, PyAny>,
        folder: FilePath,
        #[pyo3(from_py_with = optional_key)] aes_key: Option<Keys>,
        unpad: bool,
        unauthenticated: bool,
        expect: Option<&Bound<'py, PyAny>>,
        expect_bytes: Option<&Bound<'py, PyAny>>,
        seen: Option<FilePath>,
        force: bool,
    ) -> PyResult<Bound<'py, PyDict>> {
        let how = How {
            aes_key,
            unpad,
            unauthenticated,
            parts: Expected::of_parts(expect, expect_bytes)?,
            seen: seen.map(|path| path.0),
            ..How::default()
        };
        let (py, origin, secret) = (ciphertexts.py(), origin_of(ciphertexts)?, self.0.clone());
        let done = wait::write(py, move |cancel| {
            how.with(|options| origin.decrypt_parts(&secret, (&folder.0, force), options, cancel))
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

    fn __repr__(&self) -> String {
        format!("<homaes.SecretKey {}, key {}>", self.set(), self.key_id())
    }
}

impl SecretKey {
    fn decrypt_into(
        &self,
        ciphertexts: &Bound<'_, PyAny>,
        how: How,
        output: impl FnOnce() -> homaes::Result<Output> + Send + 'static,
    ) -> PyResult<DecryptReport> {
        let (origin, secret) = (origin_of(ciphertexts)?, self.0.clone());
        wait::write(ciphertexts.py(), move |cancel| {
            let output = output()?;
            how.with(|options| origin.decrypt(&secret, output, options, cancel))
        })
    }
}

/// A passphrase from text or bytes, unless it is None.
fn passphrase_of(object: &Bound<'_, PyAny>) -> PyResult<Option<Passphrase>> {
    let bytes = match object.extract::<String>() {
        Ok(text) => Some(Zeroizing::new(text.into_bytes())),
        Err(_) if object.is_none() => return Ok(None),
        Err(_) => secret_bytes(object)?,
    };
    let bytes = bytes.ok_or_else(|| PyTypeError::new_err("passphrase: expected a str or bytes"))?;
    Passphrase::new(&bytes).map(Some).map_err(raise)
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
