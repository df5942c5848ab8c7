//! Errors of the library as exceptions of `homaes.errors`; those of the operating system as `OSError`.

use crate::details::{Details, details, of_bgv};
use homaes::{Error, SchemeError, printable};
use homaes_scheme::Mismatch;
use homaes_wire::{Kind, WireError};
use pyo3::exceptions::{PyBaseException, PyMemoryError, PyOSError, PyRuntimeError};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::io;
use std::path::Path;

/// An error that becomes an exception in Python.
pub(crate) trait Raise {
    /// The exception.
    fn raise(self) -> PyErr;
}

/// The exception of an error.
pub(crate) fn raise(error: impl Raise) -> PyErr {
    error.raise()
}

/// An exception without its remedy.
pub(crate) enum Made<'e> {
    /// The exception of an error of the operating system.
    System(PyErr),
    /// One of `homaes.errors`: its class and its message.
    Own(&'static str, String, Details<'e>),
}

impl Raise for Error {
    fn raise(self) -> PyErr {
        match self {
            Self::WrongShard(error) => raise_with(&error, REMOVE_SHARD),
            error => raise_with(&error, remedy(&error)),
        }
    }
}

/// The remedy for a wrong shard.
pub(crate) const REMOVE_SHARD: &str = "remove it, and evaluate it again with Job.run";

/// The exception of an error, with this remedy instead of its own.
fn raise_with(error: &Error, remedy: &str) -> PyErr {
    let made = match system(error) {
        Some(made) => Made::System(made),
        None => Made::Own(class(error), error.to_string(), details(error)),
    };
    finish(made, remedy, error.is_temporary())
}

/// Adds the remedy and the field `temporary` to an exception.
pub(crate) fn finish(made: Made<'_>, remedy: &str, temporary: bool) -> PyErr {
    Python::attach(|py| {
        let made = match made {
            Made::System(made) => {
                // if this fails, the exception only lacks its remedy
                let _ = add(made.value(py), remedy);
                made
            }
            Made::Own(class, message, details) => {
                own(py, class, message, details, remedy).unwrap_or_else(|failed| failed)
            }
        };
        let _ = made.value(py).setattr("temporary", temporary);
        made
    })
}

/// Adds the remedy to the message of one of Python's own exceptions.
fn add(value: &Bound<'_, PyBaseException>, remedy: &str) -> PyResult<()> {
    if !value.is_instance_of::<PyOSError>() {
        let message = value.str()?;
        return value.setattr("args", (format!("{message}; {remedy}"),));
    }
    let message = value.getattr("strerror")?;
    value.setattr("strerror", format!("{message}; {remedy}"))
}

/// An internal error.
pub(crate) fn fault(what: &str) -> PyErr {
    PyRuntimeError::new_err(format!("internal error: {what}; please report it"))
}

/// A `ParametersError` of this package itself.
pub(crate) fn refuse(message: &str, remedy: &str) -> PyErr {
    let made = Made::Own("ParametersError", message.to_owned(), Details::default());
    finish(made, remedy, false)
}

/// An exception of `homaes.errors`.
fn own(
    py: Python<'_>,
    class: &str,
    message: String,
    details: Details<'_>,
    remedy: &str,
) -> PyResult<PyErr> {
    let class = py.import("homaes.errors")?.getattr(class)?;
    let Details {
        path,
        found,
        expected,
    } = details;
    let fields = PyDict::new(py);
    fields.set_item("path", path)?;
    fields.set_item("found", found)?;
    fields.set_item("expected", expected)?;
    fields.set_item("remedy", remedy)?;
    let value = class.call((printable(&message),), Some(&fields))?;
    Ok(PyErr::from_value(value))
}

/// The exception of an error of the operating system at a path.
pub(crate) fn refused(error: &io::Error, path: &Path) -> PyErr {
    os_error(number(error, path), text(error), path)
}

/// The exception of a path that does not exist.
pub(crate) fn missing(message: String, path: &Path) -> PyErr {
    os_error(ENOENT, message, path)
}

fn os_error(number: i32, message: String, path: &Path) -> PyErr {
    // a str, as in Python's own errors
    PyOSError::new_err((number, message, path.as_os_str().to_owned()))
}

/// The exception of an error that Python reports as `OSError` or `MemoryError`.
fn system(error: &Error) -> Option<PyErr> {
    let of = |number, message, path| Some(os_error(number, message, path));
    match error {
        Error::Io { path, source } => Some(refused(source, path)),
        Error::File {
            path,
            source: WireError::Io { source, .. },
        } => Some(refused(source, path)),
        Error::AlreadyExists { path } => of(EEXIST, "file already exists".into(), path),
        Error::KeysExist { path } => of(
            EEXIST,
            "already exists, and keys are never replaced".into(),
            path,
        ),
        Error::HoldsSecretKey { path } => {
            let message = "holds a secret key, which this output must not replace";
            of(EEXIST, message.into(), path)
        }
        Error::Disk { path, wanted, free } => {
            let message = format!("found {free} bytes free on the disk, expected {wanted}");
            of(ENOSPC, message, path)
        }
        Error::Memory { .. } | Error::KdfMemory { .. } => {
            Some(PyMemoryError::new_err(error.to_string()))
        }
        _ => None,
    }
}

// the same on every Unix, and in Python's tables on Windows
const ENOENT: i32 = 2;
const EIO: i32 = 5;
const EACCES: i32 = 13;
const EBUSY: i32 = 16;
const EEXIST: i32 = 17;
const ENOTDIR: i32 = 20;
const EISDIR: i32 = 21;
const EINVAL: i32 = 22;
const ENOSPC: i32 = 28;

/// The system's number of an error, or that of its kind if the library made it.
fn number(error: &io::Error, path: &Path) -> i32 {
    use io::ErrorKind as Kind;
    error.raw_os_error().unwrap_or(match error.kind() {
        Kind::NotFound => ENOENT,
        Kind::PermissionDenied => EACCES,
        Kind::AlreadyExists => EEXIST,
        Kind::NotADirectory => ENOTDIR,
        Kind::IsADirectory => EISDIR,
        Kind::InvalidInput if path.is_dir() => EISDIR,
        Kind::InvalidInput | Kind::InvalidFilename => EINVAL,
        Kind::StorageFull => ENOSPC,
        Kind::ResourceBusy => EBUSY,
        _ => EIO,
    })
}

/// The system's message without the number that Rust appends.
fn text(error: &io::Error) -> String {
    let text = error.to_string();
    let end = text.find(" (os error").unwrap_or(text.len());
    text[..end].to_owned()
}

/// The name of the exception class.
fn class(error: &Error) -> &'static str {
    match error {
        Error::File { source, .. } => of_wire(source),
        Error::Content { source, .. } => of_scheme(source, "FileFormatError"),
        Error::Ciphertext { source, .. } => of_scheme(source, "FileFormatError"),
        Error::Batch { path, source, .. } => match path {
            Some(_) => of_scheme(source, "FileFormatError"),
            None => of_scheme(source, "ParametersError"),
        },
        Error::Keys(source) => of_scheme(source, "ParametersError"),
        Error::UnfinishedOfSet { .. }
        | Error::Direction { .. }
        | Error::AesKeySize { .. }
        | Error::Unfit(_)
        | Error::Protected { .. }
        | Error::NotProtected { .. }
        | Error::WrongPassphrase { .. } => "KeyMismatchError",
        Error::ClientKey { .. }
        | Error::UnknownSetInFile { .. }
        | Error::SeenDamaged { .. }
        | Error::Wide { .. } => "FileFormatError",
        Error::Params(_)
        | Error::UnknownSet { .. }
        | Error::KeySizeOfSet { .. }
        | Error::Range { .. }
        | Error::UnknownDevice { .. }
        | Error::NotOnGpu { .. }
        | Error::AesKey { .. }
        | Error::AlmostHex { .. }
        | Error::MessageLength { .. }
        | Error::Foreign { .. }
        | Error::Aad { .. }
        | Error::NotOfMode { .. }
        | Error::Passphrase { .. }
        | Error::PartNames { .. }
        | Error::ManyParts { .. }
        | Error::NoParts { .. }
        | Error::NoPart { .. }
        | Error::OwnInput { .. }
        | Error::Value { .. }
        | Error::Pattern { .. }
        | Error::OtherState { .. }
        | Error::Crossing { .. } => "ParametersError",
        Error::Noise { .. } | Error::NoisyValue { .. } => "NoiseError",
        Error::Tag { .. }
        | Error::NoAesKey { .. }
        | Error::Unexpected { .. }
        | Error::SeenUnchecked { .. }
        | Error::Seen { .. } => "AuthenticationError",
        Error::Padding { .. } => "PaddingError",
        Error::Shard { .. } => "ShardMismatchError",
        Error::OtherRun { .. } | Error::Journal { .. } => "JobError",
        Error::Cancelled => "Cancelled",
        _ => "HomaesError",
    }
}

fn of_wire(error: &WireError) -> &'static str {
    match error {
        WireError::OtherSet { .. } | WireError::OtherDigest { .. } | WireError::OtherKey { .. } => {
            "KeyMismatchError"
        }
        _ => "FileFormatError",
    }
}

fn of_scheme(error: &SchemeError, other: &'static str) -> &'static str {
    use homaes_bgv::Error as Bgv;
    if let Some(Bgv::TooDeep { .. } | Bgv::TooNoisy { .. }) = of_bgv(error) {
        return "NoiseError";
    }
    match error {
        SchemeError::Mismatch(Mismatch::OtherSet { .. } | Mismatch::OtherKey { .. }) => {
            "KeyMismatchError"
        }
        SchemeError::Wire(error) => of_wire(error),
        SchemeError::Cancelled(_) => "Cancelled",
        SchemeError::Field(_) => "FileFormatError",
        _ => other,
    }
}

/// The remedy, in words of Python if that of the library names options of the command.
pub(crate) fn remedy(error: &Error) -> &'static str {
    use homaes::Direction;
    match error {
        Error::AlreadyExists { .. } => "choose another name, or pass force=True to replace it",
        Error::OtherRun { .. } | Error::Journal { .. } => {
            "choose another output, or pass force=True to discard that run"
        }
        Error::Keys(source) | Error::Batch { source, .. } if out_of_levels(source) => {
            "wrap the AES key with more levels_left, or use a set that leaves more"
        }
        Error::UnknownSet { .. } => "homaes.sets() lists the sets",
        Error::UnknownDevice { .. } => "homaes.devices() lists GPUs",
        Error::NotOnGpu { .. } => "leave device out",
        Error::Batch { source, .. }
            if matches!(of_bgv(source), Some(homaes_bgv::Error::Device(_))) =>
        {
            "run it again, with device=\"cpu\" if it fails again; resume=True keeps finished batches"
        }
        Error::File {
            source: WireError::WrongKind { found, .. },
            ..
        } => of_kind(*found),
        Error::Keys(SchemeError::NoLevels { .. }) => "leave levels_left out",
        Error::Keys(SchemeError::ClientExpands { .. }) => {
            "leave expand out, or choose a set whose server can expand the key"
        }
        Error::Keys(SchemeError::Mismatch(Mismatch::NoLayout { .. })) => {
            "choose a layout that the set offers; homaes.sets() lists the sets"
        }
        Error::Value { .. } => "pass what is expected",
        Error::SeenUnchecked { .. } => "pass the aes_key of a GCM message, or decrypt without seen",
        Error::HoldsSecretKey { .. } => "choose another name, or remove the key by hand",
        Error::Direction { found, .. } => match found {
            Direction::Encrypt => "wrap the AES key with direction=\"decrypt\"",
            Direction::Decrypt => "wrap the AES key with direction=\"encrypt\"",
        },
        Error::NoAesKey { .. } => {
            "pass aes_key, or accept unchecked bytes with unauthenticated=True"
        }
        Error::NotOfMode { option, .. } if option.starts_with("tag") => {
            "if you expect a GCM message, do not use this; otherwise decrypt with unauthenticated=True"
        }
        Error::NotOfMode { .. } => "decrypt without this argument",
        Error::Padding { .. } => {
            "check mode, IV and AES key, or decrypt with unpad=False if the message is not padded"
        }
        Error::Passphrase { .. } => "pass a passphrase of 1 to 1024 bytes without a line end",
        Error::Protected { .. } => "pass passphrase",
        Error::ManyParts { .. } => "choose one with part, or decrypt all with decrypt_parts",
        Error::NoParts { .. } => "decrypt it with decrypt or decrypt_to, without part",
        Error::NoPart { .. } => "Ciphertexts.parts lists the parts",
        Error::PartNames { found, .. } if found == "none" => "pass at least one file or bytes",
        Error::PartNames { .. } => "give the parts other names with Message.of_parts",
        Error::Keys(SchemeError::Mismatch(Mismatch::Levels { most: None, .. })) => {
            "choose a set for this size of AES key; homaes.sets() lists the sets"
        }
        Error::Keys(SchemeError::Mismatch(Mismatch::TooMany { .. })) => "pass at most that many",
        Error::Keys(SchemeError::Mismatch(Mismatch::Levels { .. })) => {
            "choose a set with more levels, a shorter AES key, or fewer levels_left"
        }
        error => error.remedy(),
    }
}

/// The function that reads a file of this kind.
fn of_kind(found: Kind) -> &'static str {
    match found {
        Kind::SecretKey => "SecretKey.load reads it",
        Kind::EvalKey => "EvalKey.load reads it",
        Kind::WrappedKey => "WrappedKey.load reads it",
        Kind::Ciphertext => "Ciphertexts.open reads it",
        Kind::Computed => "SecretKey.open_values reads it",
        Kind::Shard => "it is a shard: open its job with Job.open",
        _ => "the command homaes reads it; see 'homaes --help'",
    }
}

/// Whether a circuit of BGV lacks levels.
fn out_of_levels(error: &SchemeError) -> bool {
    use homaes_bgv::Error as Bgv;
    matches!(
        of_bgv(error),
        Some(Bgv::TooDeep { .. } | Bgv::TooNoisy { .. } | Bgv::NoKey { .. })
    )
}
