//! The fields of an exception: path, found, expected.

use homaes::{Error, SchemeError};
use homaes_scheme::Mismatch;
use homaes_wire::WireError;
use pyo3::IntoPyObject;
use std::path::Path;

/// A value that was found or expected.
#[derive(IntoPyObject)]
pub(crate) enum Field {
    Text(String),
    Number(u64),
    Real(f64),
}

impl From<&str> for Field {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<&String> for Field {
    fn from(text: &String) -> Self {
        Self::Text(text.clone())
    }
}

impl From<u64> for Field {
    fn from(number: u64) -> Self {
        Self::Number(number)
    }
}

impl From<usize> for Field {
    fn from(number: usize) -> Self {
        Self::Number(number as u64)
    }
}

impl From<f64> for Field {
    fn from(number: f64) -> Self {
        Self::Real(number)
    }
}

/// The known fields of an exception.
#[derive(Default)]
pub(crate) struct Details<'e> {
    pub(crate) path: Option<&'e Path>,
    pub(crate) found: Option<Field>,
    pub(crate) expected: Option<Field>,
}

impl<'e> Details<'e> {
    /// Only a path.
    pub(crate) fn at(path: &'e (impl AsRef<Path> + ?Sized)) -> Self {
        Self {
            path: Some(path.as_ref()),
            ..Self::default()
        }
    }

    /// A found and an expected value.
    pub(crate) fn of(found: impl Into<Field>, expected: impl Into<Field>) -> Self {
        Self {
            path: None,
            found: Some(found.into()),
            expected: Some(expected.into()),
        }
    }

    /// An expected value.
    fn expected(expected: impl Into<Field>) -> Self {
        Self {
            expected: Some(expected.into()),
            ..Self::default()
        }
    }

    /// With the path.
    pub(crate) fn with(self, path: &'e (impl AsRef<Path> + ?Sized)) -> Self {
        Self {
            path: Some(path.as_ref()),
            ..self
        }
    }

    /// With the path, if there is one.
    fn maybe(self, path: Option<&'e Path>) -> Self {
        Self { path, ..self }
    }
}

/// The fields of an error in Python.
#[rustfmt::skip] // a table
pub(crate) fn details(error: &Error) -> Details<'_> {
    match error {
        Error::File { path, source } => of_file(source).with(path),
        Error::OtherRun { path, found, expected } | Error::Unexpected { path, found, expected, .. } => Details::of(found, expected).with(path),
        Error::UnfinishedOfSet { path, found, expected } => Details::of(found, *expected).with(path),
        Error::UnknownSet { found, expected, .. } => Details::of(found, expected),
        Error::KeySizeOfSet { found, expected, .. } => Details::of(*found, expected),
        Error::UnknownSetInFile { path, found, expected } => Details::of(found, expected).with(path),
        Error::MessageLength { path, found, expected, .. } => Details::of(*found, *expected).with(path),
        Error::Foreign { path, format } => Details::of(&format.to_string(), "bare AES ciphertext").with(path),
        Error::Pattern { found, most, .. } => Details::of(*found, &format!("1 to {most}")),
        Error::Value { expected, .. } => Details::expected(*expected),
        Error::Wide { path, expected, .. } => Details::expected(u64::from(*expected)).with(path),
        Error::OtherState { path, set, expected } => Details::of(*set, *expected).with(path),
        Error::AesKeySize { path, found, expected } => Details::of(*found, *expected).with(path),
        Error::Aad { found, expected, .. } => Details::of(*found, *expected),
        Error::AesKey { path, found, .. } => Details::of(*found, "16, 24 or 32 bytes").with(path),
        Error::Noise { path, found, expected, .. } => Details::of(*found, *expected).maybe(path.as_deref()),
        Error::NoisyValue { path, found, expected, .. } => Details::of(*found, *expected).with(path),
        Error::Ciphertext { path, source, .. } => of_mismatch(source).with(path),
        Error::Content { path, source } => of_mismatch(source).with(path),
        Error::Batch { path, source, .. } => of_mismatch(source).maybe(path.as_deref()),
        Error::Keys(source) => of_mismatch(source),
        error => Details::default().maybe(path_alone(error)),
    }
}

/// The path of an error that has no other field.
fn path_alone(error: &Error) -> Option<&Path> {
    match error {
        Error::Shard { path, .. }
        | Error::OwnInput { path }
        | Error::Journal { path }
        | Error::ClientKey { path }
        | Error::Range { path, .. }
        | Error::AlmostHex { path }
        | Error::NotOfMode { path, .. }
        | Error::Tag { path }
        | Error::NoAesKey { path }
        | Error::SeenUnchecked { path }
        | Error::Seen { path, .. }
        | Error::SeenDamaged { path, .. }
        | Error::SeenIsOutput { path }
        | Error::Padding { path }
        | Error::Passphrase { path, .. }
        | Error::Protected { path }
        | Error::NotProtected { path }
        | Error::WrongPassphrase { path }
        | Error::KeysExist { path }
        | Error::ManyParts { path, .. }
        | Error::NoParts { path }
        | Error::NoPart { path, .. } => Some(path),
        _ => None,
    }
}

#[rustfmt::skip] // a table
fn of_file(error: &WireError) -> Details<'static> {
    match error {
        WireError::TooShort { found, expected }
        | WireError::Truncated { found, expected }
        | WireError::TrailingBytes { found, expected }
        | WireError::RecordCount { found, expected } => Details::of(*found, *expected),
        WireError::NewerVersion { found, expected } => Details::of(u64::from(*found), u64::from(*expected)),
        WireError::WrongKind { found, expected } => Details::of(&found.to_string(), &expected.to_string()),
        WireError::OtherSet { found, expected } => Details::of(found, expected),
        WireError::OtherKey { found, expected } => Details::of(&found.to_string(), &expected.to_string()),
        _ => Details::default(),
    }
}

#[rustfmt::skip] // a table
fn of_mismatch(error: &SchemeError) -> Details<'static> {
    if let Some(homaes_bgv::Error::TooDeep { needed, left, .. }) = of_bgv(error) {
        return Details::of(*left, *needed);
    }
    match error {
        SchemeError::Mismatch(Mismatch::OtherSet { found, expected, .. }) => Details::of(*found, *expected),
        SchemeError::Mismatch(Mismatch::OtherKey { found, expected, .. }) => Details::of(&found.to_string(), &expected.to_string()),
        SchemeError::Wire(error) => of_file(error),
        _ => Details::default(),
    }
}

/// The error of BGV inside, if there is one.
pub(crate) fn of_bgv(error: &SchemeError) -> Option<&homaes_bgv::Error> {
    match error {
        SchemeError::Own(own) => {
            let own: &dyn std::error::Error = &**own;
            own.downcast_ref()
        }
        _ => None,
    }
}
