//! Options and reports of decryption.

use crate::arguments::{Number, buffer};
use crate::ciphertexts::{origin_of, report};
use crate::errors::{raise, refuse, refuse_with};
use crate::input::Public;
use crate::origin::{Origin, Place};
use crate::wait::{self, lock};
use homaes::{
    AesKey, AesKeyList, DecryptOptions, DecryptReport, Error, ErrorKind, Expect, Mode, Numbers,
};
use homaes_job::JobError;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyByteArray, PyBytes, PyDict, PyMapping};
use std::collections::BTreeMap;
use std::io::{self, Write};
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use zeroize::Zeroizing;

/// Options of a decryption.
#[derive(Default)]
pub(crate) struct How {
    pub(crate) aes_key: Option<Keys>,
    pub(crate) unpad: bool,
    pub(crate) part: Option<String>,
    pub(crate) unauthenticated: bool,
    /// Of the whole message or of `part`.
    pub(crate) expect: Expected,
    /// Of every part.
    pub(crate) parts: Option<BTreeMap<String, Expected>>,
    /// The replay log.
    pub(crate) seen: Option<PathBuf>,
}

impl How {
    /// Calls `decrypt` with the options of the library.
    pub(crate) fn with<T>(&self, decrypt: impl FnOnce(DecryptOptions<'_>) -> T) -> T {
        let parts = self.parts.as_ref().map(|parts| {
            let parts = parts.iter();
            parts
                .map(|(name, part)| (name.clone(), part.borrow()))
                .collect()
        });
        let (aes_key, aes_keys) = match &self.aes_key {
            None => (None, None),
            Some(Keys::One(key)) => (Some(key), None),
            Some(Keys::Many(list)) => (None, Some(list)),
        };
        decrypt(DecryptOptions {
            aes_key,
            aes_keys,
            unauthenticated: self.unauthenticated,
            unpad: self.unpad,
            expect: self.expect.borrow(),
            parts: parts.as_ref(),
            part: self.part.as_deref(),
            replay_log: self.seen.as_deref(),
            reads: &[],
        })
    }
}

/// Expected properties of a message.
#[derive(Default)]
pub(crate) struct Expected {
    mode: Option<Mode>,
    /// Only for GCM.
    aad: Option<Vec<u8>>,
    bytes: Option<u64>,
}

impl Expected {
    /// From a mode with its public values, and a length.
    pub(crate) fn of(mode: Option<&Bound<'_, PyAny>>, bytes: Option<Number>) -> PyResult<Self> {
        let bytes = bytes.map(|bytes| bytes.of("expect_bytes", 0..=u64::MAX));
        let public: Option<Public> = mode.map(|mode| mode.extract()).transpose()?;
        if public.as_ref().is_some_and(|public| public.tag.is_some()) {
            return Err(PyValueError::new_err(
                "expect: found a mode with a tag, expected one without: aes_key checks the tag",
            ));
        }
        let (mode, aad) = public.map(|public| (public.mode, public.aad)).unzip();
        Ok(Self {
            mode,
            aad: aad.filter(|_| mode.is_some_and(|mode| mode.name() == "gcm")),
            bytes: bytes.transpose()?,
        })
    }

    /// For each part, from its mode or its length by name.
    pub(crate) fn of_parts(
        modes: Option<&Bound<'_, PyAny>>,
        bytes: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Option<BTreeMap<String, Self>>> {
        let modes = modes.map(|modes| by_name("expect", modes)).transpose()?;
        let bytes = bytes
            .map(|bytes| by_name("expect_bytes", bytes))
            .transpose()?;
        if modes.is_none() && bytes.is_none() {
            return Ok(None);
        }
        let [modes, bytes] = [modes, bytes].map(Option::unwrap_or_default);
        let names = modes.keys().chain(bytes.keys());
        let parts = names.map(|name| {
            let bytes = bytes.get(name).map(|bytes| bytes.extract()).transpose()?;
            Ok((name.clone(), Self::of(modes.get(name), bytes)?))
        });
        parts.collect::<PyResult<_>>().map(Some)
    }

    fn borrow(&self) -> Expect<'_> {
        let mode = self.mode.as_ref();
        Expect {
            mode: mode.map(Mode::name),
            nonce: mode.map(Mode::iv).filter(|iv| !iv.is_empty()),
            aad: self.aad.as_deref(),
            bytes: self.bytes,
            key_name: None,
        }
    }
}

/// The items of a mapping by names of parts; errors name it `argument`.
fn by_name<'py>(
    argument: &str,
    mapping: &Bound<'py, PyAny>,
) -> PyResult<BTreeMap<String, Bound<'py, PyAny>>> {
    let Ok(mapping) = mapping.cast::<PyMapping>() else {
        return Err(PyTypeError::new_err(format!(
            "{argument}: expected a mapping by names of parts, such as {{'a.txt': …}}"
        )));
    };
    let items = mapping.items()?;
    let items = items.iter().map(|item| item.extract());
    items.collect()
}

/// Receives a decrypted message once it is complete and checked. Overwritten when dropped.
#[derive(Clone, Default)]
pub(crate) struct Plain(Arc<Mutex<Vec<Zeroizing<Vec<u8>>>>>);

impl Plain {
    pub(crate) fn take<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let pieces = lock(&self.0);
        let bytes = pieces.iter().map(|piece| piece.len()).sum();
        PyBytes::new_with(py, bytes, |mut out| {
            for piece in pieces.iter() {
                out.write_all(piece)?;
            }
            Ok(())
        })
    }
}

impl Write for Plain {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        lock(&self.0).push(Zeroizing::new(bytes.to_vec()));
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

pub(crate) fn decrypt_report<'py>(
    py: Python<'py>,
    found: &DecryptReport,
) -> PyResult<Bound<'py, PyAny>> {
    report!(py, "DecryptReport", {
        bytes: found.bytes,
        margin_bits: found.margin_bits,
        log2_p_fail: found.log2_p_fail,
        tag: match found.tag {
            homaes::Tag::None => "none",
            homaes::Tag::Unchecked => "unchecked",
            homaes::Tag::Verified => "verified",
        },
        mode: found.mode.name(),
        iv: PyBytes::new(py, found.mode.iv()),
        aad_bytes: found.aad_bytes,
    })
}

/// The numbers of a file of values, as arrays by label.
pub(crate) fn opened<'py>(
    source: &Bound<'py, PyAny>,
    secret: Arc<homaes::SecretKey>,
) -> PyResult<Bound<'py, PyDict>> {
    let py = source.py();
    let Origin::File(place) = origin_of(source)? else {
        return Err(refuse(
            "the results of a job, expected computed values (.hcv)",
            "write them with homaes.save_values",
        ));
    };
    let values = wait::read(py, move |_| match &place {
        Place::File(file) => {
            file.check()?;
            Ok::<_, JobError>(secret.open_values(&file.path)?)
        }
        Place::Bytes(bytes) => Ok(secret.open_values_of(bytes.as_ref(), "<memory>")?),
    })?;
    let out = PyDict::new(py);
    for value in &values {
        out.set_item(&value.meta.label, array(py, value)?)?;
    }
    Ok(out)
}

/// An array of the smallest type that holds the numbers.
fn array<'py>(py: Python<'py>, value: &Numbers) -> PyResult<Bound<'py, PyAny>> {
    let bytes = value.meta.width.div_ceil(8).next_power_of_two() as usize;
    let numbers: Zeroizing<Vec<u64>> = match value.meta.is_signed() {
        true => Zeroizing::new(value.signed().map(i64::cast_unsigned).collect()),
        false => value.numbers.clone(),
    };
    let sign = if value.meta.is_signed() { 'i' } else { 'u' };
    let numbers = numbers.iter();
    let data = numbers.flat_map(|number| number.to_le_bytes().into_iter().take(bytes));
    let data = Zeroizing::new(data.collect::<Vec<u8>>());
    let data = PyByteArray::new(py, &data);
    let numpy = py.import("numpy")?;
    numpy.call_method1("frombuffer", (data, format!("<{sign}{bytes}")))
}

/// The secret bytes of an object, if it has a buffer.
pub(crate) fn secret_bytes(object: &Bound<'_, PyAny>) -> PyResult<Option<Zeroizing<Vec<u8>>>> {
    let Some(buffer) = buffer(object)? else {
        return Ok(None);
    };
    let mut bytes = Zeroizing::new(vec![0; buffer.len_bytes()]);
    buffer.copy_to_slice(object.py(), &mut bytes)?;
    Ok(Some(bytes))
}

/// AES keys from Python.
pub(crate) enum Keys {
    One(AesKey),
    Many(AesKeyList),
}

/// An AES key, or a mapping of names to AES keys.
pub(crate) fn keys_of(object: &Bound<'_, PyAny>) -> PyResult<Keys> {
    let Ok(mapping) = object.cast::<PyMapping>() else {
        return aes_key_of(object).map(Keys::One);
    };
    let mut keys = Vec::new();
    for item in mapping.items()? {
        let (name, key): (String, Bound<'_, PyAny>) = item.extract()?;
        keys.push((name, aes_key_of(&key)?));
    }
    AesKeyList::new(keys).map(Keys::Many).map_err(raise)
}

pub(crate) fn optional_key(object: &Bound<'_, PyAny>) -> PyResult<Option<Keys>> {
    match object.is_none() {
        true => Ok(None),
        false => keys_of(object).map(Some),
    }
}

/// An AES key: its 16, 24 or 32 bytes.
pub(crate) fn aes_key_of(object: &Bound<'_, PyAny>) -> PyResult<AesKey> {
    let Some(bytes) = secret_bytes(object)? else {
        return Err(PyTypeError::new_err(
            "AES key: expected its 16, 24 or 32 bytes",
        ));
    };
    let digits = bytes.len();
    let wrong = |what: &str| {
        let expected = "16, 24 or 32 bytes";
        let message = format!("not an AES key: found {digits} {what}, expected its {expected}");
        let error = Error::refused(ErrorKind::AesKey, message).with(digits, expected);
        let remedy = "pass the key as bytes: bytes.fromhex converts hex digits";
        Err(refuse_with(error, remedy))
    };
    // looks at all bytes, so the time shows only whether they are hex digits, which are refused
    let is_hex = bytes
        .iter()
        .fold(true, |all, byte| all & byte.is_ascii_hexdigit());
    match digits {
        32 | 48 | 64 if is_hex => wrong("hex digits"),
        16 | 24 | 32 => AesKey::from_bytes(&bytes).map_err(raise),
        _ => wrong("bytes"),
    }
}
