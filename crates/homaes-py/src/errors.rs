//! Errors of the library as exceptions of `homaes.errors`; those of the operating system as `OSError`.

use homaes::{Detail, Direction, Error, ErrorKind, Kind, printable};
use homaes_job::{JobError, StoreError};
use homaes_wire::WireError;
use pyo3::exceptions::{PyBaseException, PyMemoryError, PyOSError, PyRuntimeError};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::io;
use std::path::Path;

/// The exception of an error.
pub(crate) fn raise(error: impl Into<JobError>) -> PyErr {
    let error = error.into();
    raise_with(&error, remedy(error.kind()))
}

/// A `ParametersError` of this package itself.
pub(crate) fn refuse(message: &str, remedy: &str) -> PyErr {
    refuse_with(Error::refused(ErrorKind::Argument, message), remedy)
}

/// The exception of an error with this remedy.
pub(crate) fn refuse_with(error: Error, remedy: &str) -> PyErr {
    raise_with(&error.into(), remedy)
}

fn raise_with(error: &JobError, remedy: &str) -> PyErr {
    Python::attach(|py| {
        let made = match system(error) {
            Some(made) => {
                // if this fails, the exception only lacks its remedy
                let _ = add(made.value(py), remedy);
                made
            }
            None => own(py, error, remedy).unwrap_or_else(|failed| failed),
        };
        let _ = made.value(py).setattr("temporary", error.is_temporary());
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

/// An exception of `homaes.errors`.
fn own(py: Python<'_>, error: &JobError, remedy: &str) -> PyResult<PyErr> {
    let class = match error {
        // an error of a store while the library read from it
        JobError::Work(Error::Io { .. }) => "StoreError",
        JobError::Work(Error::WrongShard(error)) => class(error.kind()),
        error => class(error.kind()),
    };
    let class = py.import("homaes.errors")?.getattr(class)?;
    let fields = PyDict::new(py);
    fields.set_item("path", error.path())?;
    let details = error.details().into_iter().flatten();
    for (name, detail) in ["found", "expected"].into_iter().zip(details) {
        match detail {
            Detail::Text(text) => fields.set_item(name, text)?,
            Detail::Number(number) => fields.set_item(name, number)?,
            Detail::Real(number) => fields.set_item(name, number)?,
        }
    }
    fields.set_item("remedy", remedy)?;
    let value = class.call((printable(&error.to_string()),), Some(&fields))?;
    Ok(PyErr::from_value(value))
}

/// The exception of an error of the operating system at a path.
pub(crate) fn refused(error: &io::Error, path: &Path) -> PyErr {
    os_error(number(error, path), text(error), path)
}

fn os_error(number: i32, message: String, path: &Path) -> PyErr {
    // a str, as in Python's own errors
    PyOSError::new_err((number, message, path.as_os_str().to_owned()))
}

/// The exception of an error that Python reports as `OSError` or `MemoryError`.
fn system(error: &JobError) -> Option<PyErr> {
    let error = match error {
        JobError::Work(Error::Io { source, .. })
            if source
                .get_ref()
                .is_some_and(|inner| inner.is::<StoreError>()) =>
        {
            return None;
        }
        JobError::Work(error) => error,
        JobError::Store(StoreError::Io { name, source }) => {
            return Some(refused(source, Path::new(name)));
        }
        JobError::Store(StoreError::Missing { name }) => {
            return Some(os_error(ENOENT, "no such object".into(), Path::new(name)));
        }
        _ => return None,
    };
    let number = match error {
        Error::Io { path, source } => return Some(refused(source, path)),
        Error::File {
            path,
            source: WireError::Io { source, .. },
        } => return Some(refused(source, path)),
        error => match error.kind() {
            ErrorKind::AlreadyExists | ErrorKind::KeysExist | ErrorKind::HoldsSecretKey => EEXIST,
            ErrorKind::Disk => ENOSPC,
            ErrorKind::Memory => return Some(PyMemoryError::new_err(error.to_string())),
            _ => return None,
        },
    };
    let (path, message) = (error.path()?, error.to_string());
    let named = format!("{}: ", path.display());
    let message = message.strip_prefix(&named).unwrap_or(&message);
    Some(os_error(number, message.to_owned(), path))
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
fn class(kind: ErrorKind) -> &'static str {
    use ErrorKind as Is;
    match kind {
        Is::OtherSet
        | Is::OtherDigest
        | Is::OtherKey
        | Is::UnfinishedKeys
        | Is::Direction(_)
        | Is::AesKeySize
        | Is::KeyName
        | Is::UnfitKey
        | Is::Protected
        | Is::NotProtected
        | Is::WrongPassphrase
        | Is::JobKeys => "KeyMismatchError",
        Is::NotHomaes
        | Is::WrongKind(_)
        | Is::NewerVersion
        | Is::UnknownSetInFile
        | Is::Changed
        | Is::Damaged
        | Is::Undecryptable
        | Is::ReplayLog => "FileFormatError",
        Is::Noise | Is::TooDeep => "NoiseError",
        Is::Tag | Is::Unchecked | Is::Unexpected | Is::ReplayUnchecked | Is::Replayed => {
            "AuthenticationError"
        }
        Is::Padding => "PaddingError",
        Is::Shard | Is::Differs => "ShardMismatchError",
        Is::OtherRun
        | Is::NoJob
        | Is::Plan
        | Is::OtherJob
        | Is::JobInput
        | Is::Busy
        | Is::Linked
        | Is::Incomplete => "JobError",
        Is::Store | Is::StoreBusy => "StoreError",
        Is::Cancelled => "Cancelled",
        Is::Random | Is::NoGpu => "HomaesError",
        _ => "ParametersError",
    }
}

/// The remedy: that of the command, unless it names options.
fn remedy(kind: ErrorKind) -> &'static str {
    use ErrorKind as Is;
    match kind {
        Is::AlreadyExists => "choose another name, or pass force=True to replace it",
        Is::WrongKind(Kind::SecretKey) => "SecretKey.load reads it",
        Is::WrongKind(Kind::EvalKey) => "EvalKey.load reads it",
        Is::WrongKind(Kind::WrappedKey) => "WrappedKey.load reads it",
        Is::WrongKind(Kind::Ciphertext) => "Ciphertexts.open reads it",
        Is::WrongKind(Kind::Computed) => "SecretKey.open_values reads it",
        Is::WrongKind(Kind::Shard) => "it is a shard: open its job with Job.open",
        Is::WrongKind(_) => "the command homaes reads it; see 'homaes --help'",
        Is::OtherRun => "choose another output, or pass force=True to discard that run",
        Is::Shard => "remove it, and evaluate it again with Job.run",
        Is::UnknownDevice => "homaes.devices() lists GPUs",
        Is::NoGpu => "homaes.devices() lists the usable GPUs; device=\"cpu\" needs none",
        Is::NotOnGpu => "leave device out",
        Is::DeviceFault => {
            "run it again, then with device=\"cpu\"; resume=True keeps finished batches"
        }
        Is::UnknownSet => "homaes.sets() lists the sets",
        Is::KeySize => "choose a set for this size of AES key; homaes.sets() lists the sets",
        Is::NoLayout => "choose a layout that the set offers; homaes.sets() lists the sets",
        Is::NotInEvalKey => {
            "choose a layout that it has, or make new keys for all layouts and wrap the AES key again"
        }
        Is::Levels => "choose a set with more levels, a shorter AES key, or fewer levels_left",
        Is::NoLevels => "leave levels_left out",
        Is::NoExpansion => "wrap the AES key with full=True, or make new keys",
        Is::ClientExpands => "leave expand out, or choose a set whose server can expand the key",
        Is::TooDeep | Is::NoKey => {
            "wrap the AES key with more levels_left, or use a set that leaves more"
        }
        Is::Direction(Direction::Encrypt) => "wrap the AES key with direction=\"encrypt\"",
        Is::Direction(Direction::Decrypt) => "wrap the AES key with direction=\"decrypt\"",
        Is::NoTag => {
            "if you expect a GCM message, do not use this; otherwise decrypt with unauthenticated=True"
        }
        Is::NotOfMode => "decrypt without this argument",
        Is::Unchecked => "pass aes_key, or accept unchecked bytes with unauthenticated=True",
        Is::ReplayUnchecked => "pass the aes_key of a GCM message, or decrypt without seen",
        Is::Padding => {
            "check mode, IV and AES key, or decrypt with unpad=False if the message is not padded"
        }
        Is::Passphrase => "pass a passphrase of 1 to 1024 bytes without a line end",
        Is::Protected => "pass passphrase",
        Is::KeyName => {
            "WrappedKey.names and the part's name or key must agree; pass the mapping that was wrapped"
        }
        Is::PartNames => "give the parts other names with Message.of_parts",
        Is::ManyParts => "choose one with part, or decrypt all with decrypt_parts",
        Is::NoParts => "decrypt it with decrypt or decrypt_to, without part",
        Is::NoPart => "Ciphertexts.parts lists the parts",
        Is::Argument => "pass what is expected",
        Is::NoJob => "check the location, or make a job with Job.plan",
        Is::NoShard => "Job.shards is their number",
        Is::Incomplete => "evaluate them with Job.run",
        Is::StoreBusy => "try again later",
        kind => homaes_cli::remedy(kind),
    }
}
