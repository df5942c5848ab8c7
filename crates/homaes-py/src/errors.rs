//! Errors of the library as exceptions of `homaes.errors`; those of the operating system as `OSError`.

use homaes::{Error, SchemeError};
use homaes_scheme::Misfit;
use homaes_wire::WireError;
use pyo3::exceptions::{PyMemoryError, PyOSError, PyRuntimeError};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::io;
use std::path::Path;

/// What was found, or expected.
#[derive(IntoPyObject)]
enum Field {
    Text(String),
    Number(u64),
    Real(f64),
}

/// What an exception has beside its message.
#[derive(Default)]
struct Details<'e> {
    path: Option<&'e Path>,
    found: Option<Field>,
    expected: Option<Field>,
}

/// The exception of an error.
pub(crate) fn raise(error: Error) -> PyErr {
    Python::attach(|py| {
        let remedy = remedy(&error);
        let made = match system(&error) {
            Some(made) => Ok(made),
            None => own(py, &error, remedy),
        };
        let made = made.unwrap_or_else(|failed| failed);
        // without the note it is the same exception
        let _ = made.value(py).call_method1("add_note", (remedy,));
        made
    })
}

/// What the program did wrong by itself.
pub(crate) fn fault(what: &str) -> PyErr {
    PyRuntimeError::new_err(format!("fault of the program: {what}; please report it"))
}

/// A `ParametersError` that this package finds by itself.
pub(crate) fn refuse(message: &str, remedy: &str) -> PyErr {
    Python::attach(|py| {
        let make = || {
            let class = py.import("homaes.errors")?.getattr("ParametersError")?;
            let fields = PyDict::new(py);
            fields.set_item("remedy", remedy)?;
            let value = class.call((message,), Some(&fields))?;
            value.call_method1("add_note", (remedy,))?;
            Ok(PyErr::from_value(value))
        };
        make().unwrap_or_else(|failed| failed)
    })
}

/// The error of BGV that this is, if it is one.
fn of_bgv(error: &SchemeError) -> Option<&homaes_bgv::Error> {
    match error {
        SchemeError::Own(own) => {
            let own: &dyn std::error::Error = &**own;
            own.downcast_ref()
        }
        _ => None,
    }
}

/// An exception of `homaes.errors`.
fn own(py: Python<'_>, error: &Error, remedy: &str) -> PyResult<PyErr> {
    let class = py.import("homaes.errors")?.getattr(class(error))?;
    let Details {
        path,
        found,
        expected,
    } = details(error);
    let fields = PyDict::new(py);
    fields.set_item("path", path)?;
    fields.set_item("found", found)?;
    fields.set_item("expected", expected)?;
    fields.set_item("remedy", remedy)?;
    let value = class.call((error.to_string(),), Some(&fields))?;
    Ok(PyErr::from_value(value))
}

/// The exception of what the operating system refused.
fn system(error: &Error) -> Option<PyErr> {
    let of = |number: i32, message: String, path: &Path| {
        // a string, as in errors of Python's own
        Some(PyOSError::new_err((
            number,
            message,
            path.as_os_str().to_owned(),
        )))
    };
    match error {
        Error::Io { path, source } => of(number(source, path), text(source), path),
        Error::File {
            path,
            source: WireError::Io { source, .. },
        } => of(number(source, path), text(source), path),
        Error::AlreadyExists { path } => of(EEXIST, "file already exists".into(), path),
        Error::HoldsSecretKey { path } => {
            let message = "holds a secret key, which an output of this kind does not replace";
            of(EEXIST, message.into(), path)
        }
        Error::Disk { path, wanted, free } => {
            let message = format!("{wanted} bytes wanted, {free} free on its disk");
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
const EEXIST: i32 = 17;
const ENOTDIR: i32 = 20;
const EISDIR: i32 = 21;
const EINVAL: i32 = 22;
const ENOSPC: i32 = 28;

/// The system's number of an error; of one that the library found, that of its kind.
fn number(error: &io::Error, path: &Path) -> i32 {
    use io::ErrorKind as Kind;
    error.raw_os_error().unwrap_or(match error.kind() {
        Kind::NotFound => ENOENT,
        Kind::PermissionDenied => EACCES,
        Kind::AlreadyExists => EEXIST,
        Kind::NotADirectory => ENOTDIR,
        Kind::IsADirectory => EISDIR,
        Kind::InvalidInput if path.is_dir() => EISDIR,
        Kind::InvalidInput => EINVAL,
        Kind::StorageFull => ENOSPC,
        _ => EIO,
    })
}

/// The system's words, without the number that Rust puts behind them.
fn text(error: &io::Error) -> String {
    let text = error.to_string();
    let end = text.find(" (os error").unwrap_or(text.len());
    text[..end].to_owned()
}

/// The name of an error's class.
fn class(error: &Error) -> &'static str {
    match error {
        Error::File { source, .. } => of_wire(source),
        Error::Content { source, .. } => of_scheme(source, "FileFormatError"),
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
        | Error::Range { .. }
        | Error::AesKey { .. }
        | Error::AlmostHex { .. }
        | Error::MessageLength { .. }
        | Error::Aad { .. }
        | Error::NotOfMode { .. }
        | Error::Passphrase { .. }
        | Error::PartNames { .. }
        | Error::ManyParts { .. }
        | Error::NoParts { .. }
        | Error::NoPart { .. }
        | Error::Value { .. }
        | Error::OtherState { .. }
        | Error::Crossing { .. } => "ParametersError",
        Error::Noise { .. } => "NoiseError",
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
        SchemeError::Misfit(Misfit::OtherSet { .. } | Misfit::OtherKey { .. }) => {
            "KeyMismatchError"
        }
        SchemeError::Wire(error) => of_wire(error),
        SchemeError::Cancelled(_) => "Cancelled",
        SchemeError::Field(_) => "FileFormatError",
        _ => other,
    }
}

/// What the fields of an error are in Python.
fn details(error: &Error) -> Details<'_> {
    let words = |path, found: String, expected: String| Details {
        path,
        found: Some(Field::Text(found)),
        expected: Some(Field::Text(expected)),
    };
    let numbers = |path, found, expected| Details {
        path,
        found: Some(Field::Number(found)),
        expected: Some(Field::Number(expected)),
    };
    match error {
        Error::File { path, source } => Details {
            path: Some(path),
            ..of_file(source)
        },
        Error::OtherRun {
            path,
            found,
            expected,
        }
        | Error::Unexpected {
            path,
            found,
            expected,
            ..
        } => words(Some(path), found.clone(), expected.clone()),
        Error::UnfinishedOfSet {
            path,
            found,
            expected,
        } => words(Some(path), found.clone(), (*expected).to_owned()),
        Error::UnknownSet { found, expected } => words(None, found.clone(), expected.clone()),
        Error::UnknownSetInFile {
            path,
            found,
            expected,
        } => words(Some(path), found.clone(), expected.clone()),
        Error::MessageLength {
            path,
            found,
            expected,
            ..
        } => Details {
            path: Some(path),
            found: Some(Field::Number(*found)),
            expected: Some(Field::Text((*expected).to_owned())),
        },
        Error::Value { expected, .. } => Details {
            expected: Some(Field::Text((*expected).to_owned())),
            ..Details::default()
        },
        Error::Wide { path, expected, .. } => Details {
            path: Some(path),
            expected: Some(Field::Number(u64::from(*expected))),
            ..Details::default()
        },
        Error::OtherState {
            path,
            set,
            expected,
        } => words(Some(path), (*set).to_owned(), (*expected).to_owned()),
        Error::AesKeySize {
            path,
            found,
            expected,
        } => numbers(Some(path), *found as u64, *expected as u64),
        Error::Aad {
            found, expected, ..
        } => numbers(None, *found as u64, *expected as u64),
        Error::AesKey { path, found, .. } => Details {
            path: Some(path),
            found: Some(Field::Number(*found as u64)),
            expected: Some(Field::Text("16, 24 or 32 bytes".to_owned())),
        },
        Error::Noise {
            path,
            found,
            expected,
            ..
        } => Details {
            path: path.as_deref(),
            found: Some(Field::Real(*found)),
            expected: Some(Field::Real(*expected)),
        },
        Error::Content { path, source } => Details {
            path: Some(path),
            ..of_misfit(source)
        },
        Error::Batch { path, source, .. } => Details {
            path: path.as_deref(),
            ..of_misfit(source)
        },
        Error::Keys(source) => of_misfit(source),
        error => Details {
            path: path_alone(error),
            ..Details::default()
        },
    }
}

/// The path of an error that has it and nothing else that an exception has.
fn path_alone(error: &Error) -> Option<&Path> {
    match error {
        Error::Shard { path, .. }
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
        | Error::Locked { path }
        | Error::HalfReplaced { path }
        | Error::ManyParts { path, .. }
        | Error::NoParts { path }
        | Error::NoPart { path, .. } => Some(path),
        _ => None,
    }
}

fn of_file(error: &WireError) -> Details<'static> {
    let numbers = |found, expected| (Field::Number(found), Field::Number(expected));
    let words = |found: String, expected: String| (Field::Text(found), Field::Text(expected));
    let (found, expected) = match error {
        WireError::TooShort { found, expected }
        | WireError::Truncated { found, expected }
        | WireError::TrailingBytes { found, expected }
        | WireError::RecordCount { found, expected } => numbers(*found, *expected),
        WireError::NewerVersion { found, expected } => {
            numbers(u64::from(*found), u64::from(*expected))
        }
        WireError::WrongKind { found, expected } => words(found.to_string(), expected.to_string()),
        WireError::OtherSet { found, expected } => words(found.clone(), expected.clone()),
        WireError::OtherKey { found, expected } => words(found.to_string(), expected.to_string()),
        _ => return Details::default(),
    };
    Details {
        path: None,
        found: Some(found),
        expected: Some(expected),
    }
}

fn of_misfit(error: &SchemeError) -> Details<'static> {
    let words = |found: String, expected: String| Details {
        path: None,
        found: Some(Field::Text(found)),
        expected: Some(Field::Text(expected)),
    };
    if let Some(homaes_bgv::Error::TooDeep { needed, left, .. }) = of_bgv(error) {
        return Details {
            path: None,
            found: Some(Field::Number(*left as u64)),
            expected: Some(Field::Number(*needed as u64)),
        };
    }
    match error {
        SchemeError::Misfit(Misfit::OtherSet {
            found, expected, ..
        }) => words((*found).to_owned(), (*expected).to_owned()),
        SchemeError::Misfit(Misfit::OtherKey {
            found, expected, ..
        }) => words(found.to_string(), expected.to_string()),
        SchemeError::Wire(error) => of_file(error),
        _ => Details::default(),
    }
}

/// What to do, in words of Python where those of the library are options of the command.
fn remedy(error: &Error) -> &'static str {
    use homaes::Direction;
    match error {
        Error::AlreadyExists { .. } => "choose another name, or pass force=True to replace it",
        Error::OtherRun { .. } | Error::Journal { .. } => {
            "choose another output, or pass force=True, which gives up what that run has done"
        }
        Error::Keys(source) | Error::Batch { source, .. } if out_of_levels(source) => {
            "wrap the AES key with more levels_left, or with a set that leaves more"
        }
        Error::UnknownSet { .. } => "homaes.sets() lists the sets",
        Error::Direction { found, .. } => match found {
            Direction::Encrypt => "wrap the AES key with direction=\"decrypt\"",
            Direction::Decrypt => "wrap the AES key with direction=\"encrypt\"",
        },
        Error::NoAesKey { .. } => {
            "pass aes_key, or take bytes that anybody may have changed with unauthenticated=True"
        }
        Error::NotOfMode { .. } => "decrypt without this argument",
        Error::Padding { .. } => {
            "check mode, IV and AES key, or decrypt with unpad=False if the message was not padded"
        }
        Error::Passphrase { .. } => "give a passphrase of 1 to 1024 bytes without a line end",
        Error::Protected { .. } => "pass passphrase",
        Error::ManyParts { .. } => "choose one with part, or decrypt each by its name",
        Error::NoParts { .. } => "leave part out",
        Error::NoPart { .. } => "Ciphertexts.parts lists the parts",
        Error::PartNames { .. } => "give the parts other names",
        error => error.remedy(),
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
