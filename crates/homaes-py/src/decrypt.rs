//! Options and reports of decryption.

use crate::ciphertexts::meta_mode;
use crate::counts::Number;
use crate::errors::{raise, refuse_with};
use crate::input::mode_of;
use crate::place::buffer;
use homaes::{AesKey, DecryptOptions, DecryptReport, Error, ErrorKind, Expect, Mode};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyMapping};
use std::collections::BTreeMap;
use std::io::Write;
use std::path::PathBuf;
use std::sync::Arc;
use zeroize::Zeroizing;

/// Options of a decryption.
pub(crate) struct How {
    aes_key: Option<AesKey>,
    unpad: bool,
    part: Option<String>,
    unauthenticated: bool,
    expect: Expected,
    parts: Option<BTreeMap<String, Expected>>,
    seen: Option<PathBuf>,
}

impl How {
    /// The whole message, with nothing expected of it.
    pub(crate) fn new(
        aes_key: Option<&Bound<'_, PyAny>>,
        unpad: bool,
        unauthenticated: bool,
    ) -> PyResult<Self> {
        Ok(Self {
            aes_key: aes_key.map(aes_key_of).transpose()?,
            unpad,
            part: None,
            unauthenticated,
            expect: Expected::default(),
            parts: None,
            seen: None,
        })
    }

    /// One message or one part, which must be as expected and must not be in the replay log.
    pub(crate) fn of_one(
        self,
        part: Option<String>,
        expect: Expected,
        seen: Option<PathBuf>,
    ) -> Self {
        Self {
            part,
            expect,
            seen,
            ..self
        }
    }

    /// Every part of a message; each must be as expected and must not be in the replay log.
    pub(crate) fn of_parts(
        self,
        parts: Option<BTreeMap<String, Expected>>,
        seen: Option<PathBuf>,
    ) -> Self {
        Self {
            parts,
            seen,
            ..self
        }
    }

    /// Calls `decrypt` with the options of the library.
    pub(crate) fn with<T>(&self, decrypt: impl FnOnce(DecryptOptions<'_>) -> T) -> T {
        let parts = self.parts.as_ref().map(|parts| {
            let parts = parts.iter();
            parts
                .map(|(name, part)| (name.clone(), part.borrow()))
                .collect()
        });
        decrypt(DecryptOptions {
            aes_key: self.aes_key.as_ref(),
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
        let bytes = bytes.transpose()?;
        let Some(mode) = mode else {
            return Ok(Self {
                bytes,
                ..Self::default()
            });
        };
        let public = mode.py().import("homaes.modes")?.getattr("public_of")?;
        let (name, iv, tag, aad): (String, Vec<u8>, Option<Vec<u8>>, Vec<u8>) =
            public.call1((mode,))?.extract()?;
        if tag.is_some() {
            return Err(PyValueError::new_err(
                "expect: found a mode with a tag, expected one without: aes_key checks the tag",
            ));
        }
        Ok(Self {
            mode: Some(mode_of(&name, &iv)?),
            aad: (name == "gcm").then_some(aad),
            bytes,
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
pub(crate) struct Plain(Arc<std::sync::Mutex<Zeroizing<Vec<u8>>>>);

impl Plain {
    pub(crate) fn take<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        let plain = self.0.lock();
        let plain = plain.unwrap_or_else(std::sync::PoisonError::into_inner);
        PyBytes::new(py, &plain)
    }
}

impl Write for Plain {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let plain = self.0.lock();
        let mut plain = plain.unwrap_or_else(std::sync::PoisonError::into_inner);
        // grows by hand, so that the old buffer is overwritten
        let len = plain.len() + bytes.len();
        if len > plain.capacity() {
            let mut larger = Zeroizing::new(Vec::new());
            larger.try_reserve_exact(len.max(2 * plain.len()))?;
            larger.extend_from_slice(&plain);
            *plain = larger;
        }
        plain.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

pub(crate) fn decrypt_report<'py>(
    py: Python<'py>,
    report: &DecryptReport,
) -> PyResult<Bound<'py, PyAny>> {
    let out = PyDict::new(py);
    out.set_item("bytes", report.bytes)?;
    out.set_item("margin_bits", report.margin_bits)?;
    out.set_item("log2_p_fail", report.log2_p_fail)?;
    let tag = match report.tag {
        homaes::Tag::None => "none",
        homaes::Tag::Unchecked => "unchecked",
        homaes::Tag::Verified => "verified",
    };
    out.set_item("tag", tag)?;
    let (mode, iv) = meta_mode(&report.mode);
    out.set_item("mode", mode)?;
    out.set_item("iv", PyBytes::new(py, &iv))?;
    out.set_item("aad_bytes", report.aad_bytes)?;
    let class = py.import("homaes._report")?.getattr("DecryptReport")?;
    class.call((), Some(&out))
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
