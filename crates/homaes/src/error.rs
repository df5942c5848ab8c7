//! Errors of the library.

pub(crate) mod foreign;

pub use foreign::Foreign;
pub use homaes_scheme::{Detail, ErrorKind, ParamsError, SchemeError};

use homaes_aes::{Direction, Mode};
use homaes_wire::WireError;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// Result of this crate.
pub type Result<T, E = Error> = core::result::Result<T, E>;

/// Errors of the library. The message states the found and the expected value; [`kind`](Self::kind) distinguishes
/// errors.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The operating system refused.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The output exists, and overwriting was not asked for.
    #[error("{}: file already exists", path.display())]
    AlreadyExists {
        /// The output.
        path: PathBuf,
    },
    /// The output would replace a secret key.
    #[error("{}: holds a secret key, which no other kind of file replaces", path.display())]
    HoldsSecretKey {
        /// The output.
        path: PathBuf,
    },
    /// The output would replace what is read.
    #[error("{}: is both an input and the output", path.display())]
    OwnInput {
        /// The output.
        path: PathBuf,
    },
    /// A file is damaged or belongs elsewhere.
    #[error("{}: {source}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// Its fault.
        source: WireError,
    },
    /// The content of a file cannot be used.
    #[error("{}: {source}", path.display())]
    Content {
        /// The file.
        path: PathBuf,
        /// Its fault.
        source: SchemeError,
    },
    /// A ciphertext of a computed value cannot be read or decrypted.
    #[error("{}: value {label:?}: {source}", path.display())]
    Ciphertext {
        /// The file.
        path: PathBuf,
        /// The label of the value.
        label: String,
        /// Why.
        source: Box<SchemeError>,
    },
    /// One batch of a run failed.
    #[error("{}batch {batch}: {source}", prefix(path.as_deref()))]
    Batch {
        /// The file it was read from; `None` during evaluation.
        path: Option<PathBuf>,
        /// Its number, from 0.
        batch: u64,
        /// Why.
        source: SchemeError,
    },
    /// Keys could not be made or do not match.
    #[error(transparent)]
    Keys(SchemeError),
    /// A declared parameter set is unsound.
    #[error(transparent)]
    Params(ParamsError),
    /// A shard is damaged or belongs to another job.
    #[error(transparent)]
    WrongShard(Box<Error>),
    /// The operating system provides no randomness.
    #[error("no randomness from the operating system: {0}")]
    Random(getrandom::Error),
    /// The folder holds keys, which are never replaced.
    #[error("{}: already exists, and keys are never replaced", path.display())]
    KeysExist {
        /// The key.
        path: PathBuf,
    },
    /// The disk has no room for the files.
    #[error("{}: needs {wanted} bytes, found {free} free on its disk", path.display())]
    Disk {
        /// The folder.
        path: PathBuf,
        /// Bytes still to be written.
        wanted: u64,
        /// Bytes free.
        free: u64,
    },
    /// The work needs more memory than this process can have.
    #[error("not enough memory: needs at least {wanted} bytes")]
    Memory {
        /// Bytes.
        wanted: u64,
    },
    /// The run was cancelled.
    #[error("cancelled")]
    Cancelled,
    /// Any other error; see its [`kind`](Self::kind).
    #[error(transparent)]
    Refused(Box<Refusal>),
}

/// A refusal, with its kind.
#[derive(Debug)]
pub struct Refusal {
    kind: ErrorKind,
    path: Option<PathBuf>,
    message: String,
    details: Option<[Detail; 2]>,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", prefix(self.path.as_deref()), self.message)
    }
}

impl std::error::Error for Refusal {}

impl Error {
    /// An error of this kind. The message states the found and the expected value, without the path.
    #[must_use]
    pub fn refused(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self::Refused(Box::new(Refusal {
            kind,
            path: None,
            message: message.into(),
            details: None,
        }))
    }

    /// Adds the file that a [refusal](Self::refused) is about.
    #[must_use]
    pub fn at(mut self, path: impl Into<PathBuf>) -> Self {
        if let Self::Refused(refusal) = &mut self {
            refusal.path = Some(path.into());
        }
        self
    }

    /// Adds the found and the expected value to a [refusal](Self::refused).
    #[must_use]
    pub fn with(mut self, found: impl Into<Detail>, expected: impl Into<Detail>) -> Self {
        if let Self::Refused(refusal) = &mut self {
            refusal.details = Some([found.into(), expected.into()]);
        }
        self
    }

    /// The kind of the error.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::Io { source, .. } => match source.kind() {
                // raised by this project for an unfinished key
                io::ErrorKind::PermissionDenied if source.get_ref().is_some() => {
                    ErrorKind::Untrusted
                }
                kind => ErrorKind::Io(kind),
            },
            Self::AlreadyExists { .. } => ErrorKind::AlreadyExists,
            Self::HoldsSecretKey { .. } => ErrorKind::HoldsSecretKey,
            Self::OwnInput { .. } => ErrorKind::OwnInput,
            Self::File { source, .. } => source.into(),
            Self::Keys(source)
            | Self::Batch {
                path: None, source, ..
            } => source.kind(),
            Self::Content { source, .. } | Self::Batch { source, .. } => in_file(source),
            Self::Ciphertext { source, .. } => in_file(source),
            Self::Params(_) => ErrorKind::Fault,
            Self::WrongShard(_) => ErrorKind::Shard,
            Self::Random(_) => ErrorKind::Random,
            Self::KeysExist { .. } => ErrorKind::KeysExist,
            Self::Disk { .. } => ErrorKind::Disk,
            Self::Memory { .. } => ErrorKind::Memory,
            Self::Cancelled => ErrorKind::Cancelled,
            Self::Refused(refusal) => refusal.kind,
        }
    }

    /// The file or folder concerned.
    #[must_use]
    pub fn path(&self) -> Option<&Path> {
        match self {
            Self::Io { path, .. }
            | Self::AlreadyExists { path }
            | Self::HoldsSecretKey { path }
            | Self::OwnInput { path }
            | Self::File { path, .. }
            | Self::Content { path, .. }
            | Self::Ciphertext { path, .. }
            | Self::KeysExist { path }
            | Self::Disk { path, .. } => Some(path),
            Self::Batch { path, .. } => path.as_deref(),
            Self::WrongShard(error) => error.path(),
            Self::Refused(refusal) => refusal.path.as_deref(),
            _ => None,
        }
    }

    /// The found and the expected value, if known.
    #[must_use]
    pub fn details(&self) -> Option<[Detail; 2]> {
        match self {
            Self::File { source, .. } => Detail::of_wire(source),
            Self::Content { source, .. } | Self::Batch { source, .. } | Self::Keys(source) => {
                source.details()
            }
            Self::Ciphertext { source, .. } => source.details(),
            Self::WrongShard(error) => error.details(),
            Self::Refused(refusal) => refusal.details.clone(),
            _ => None,
        }
    }

    /// Whether the same work can succeed later, because the disk or memory was full.
    #[must_use]
    pub fn is_temporary(&self) -> bool {
        use io::ErrorKind as Kind;
        match self {
            Self::Disk { .. } | Self::Memory { .. } => true,
            Self::Io { source, .. } => matches!(
                source.kind(),
                Kind::StorageFull | Kind::QuotaExceeded | Kind::FileTooLarge | Kind::OutOfMemory
            ),
            _ => false,
        }
    }

    pub(crate) fn io(path: &Path, source: io::Error) -> Self {
        Self::Io {
            path: path.to_owned(),
            source,
        }
    }

    /// An error about `path`, which replaces the name of a temporary file; an error of this crate that occurred while
    /// its bytes were made is returned as it is.
    pub(crate) fn file(path: &Path, source: WireError) -> Self {
        let path = path.to_owned();
        match source {
            WireError::AlreadyExists { .. } => Self::AlreadyExists { path },
            WireError::Io { source, .. } => match source.downcast() {
                Ok(error) => error,
                Err(source) => Self::Io { path, source },
            },
            source => Self::File { path, source },
        }
    }

    /// An error of a scheme while a file was read or written.
    pub(crate) fn content(path: &Path, source: SchemeError) -> Self {
        match source.into_wire() {
            Ok(source) => Self::file(path, source),
            Err(source) => Self::Content {
                path: path.to_owned(),
                source,
            },
        }
    }

    pub(crate) fn batch(batch: u64, source: SchemeError) -> Self {
        if source.is_cancelled() {
            return Self::Cancelled;
        }
        let path = None;
        Self::Batch {
            path,
            batch,
            source,
        }
    }

    /// Adds the file to a batch's failure.
    pub(crate) fn in_file(self, file: &Path) -> Self {
        match self {
            Self::Batch { batch, source, .. } => Self::Batch {
                path: Some(file.to_owned()),
                batch,
                source,
            },
            error => error,
        }
    }
}

pub(crate) trait At<T> {
    fn at(self, path: &Path) -> Result<T>;
}

impl<T> At<T> for io::Result<T> {
    fn at(self, path: &Path) -> Result<T> {
        self.map_err(|source| Error::io(path, source))
    }
}

impl<T> At<T> for Result<T, WireError> {
    fn at(self, path: &Path) -> Result<T> {
        self.map_err(|source| Error::file(path, source))
    }
}

impl<T> At<T> for Result<T, SchemeError> {
    fn at(self, path: &Path) -> Result<T> {
        self.map_err(|source| Error::content(path, source))
    }
}

pub(crate) fn malformed(what: &'static str, expected: &'static str) -> WireError {
    WireError::Malformed { what, expected }
}

fn in_file(error: &SchemeError) -> ErrorKind {
    match error.kind() {
        ErrorKind::Argument => ErrorKind::Damaged,
        kind => kind,
    }
}

fn prefix(path: Option<&Path>) -> String {
    path.map_or_else(String::new, |path| format!("{}: ", path.display()))
}

pub(crate) fn too_noisy(batch: u64, found: f64, expected: f64) -> Error {
    let message =
        format!("batch {batch}: {found:.1} bits of noise left, expected at least {expected}");
    Error::refused(ErrorKind::Noise, message).with(found, expected)
}

pub(crate) fn other_scheme(found: &str, expected: &str) -> Error {
    let message = format!("its ciphertexts are of set {found}, expected {expected}");
    let error = Error::refused(ErrorKind::Argument, message);
    error.with(found, expected).at("<memory>")
}

pub(crate) fn wrong_value(label: &str, expected: &str) -> Error {
    let message = format!("value {}: expected {expected}", quoted(label));
    Error::refused(ErrorKind::Argument, message).with(label, expected)
}

pub(crate) fn other_direction(mode: Mode) -> Error {
    let needed = mode.direction();
    let [found, expected] = match needed {
        Direction::Encrypt => ["decryption", "encryption"],
        Direction::Decrypt => ["encryption", "decryption"],
    };
    let message = format!(
        "the wrapped key is for AES {found}, mode {} needs AES {expected}",
        mode.name()
    );
    Error::refused(ErrorKind::Direction(needed), message)
}

/// Quotes a word of the caller; a long one is truncated.
pub(crate) fn quoted(word: &str) -> String {
    const MAX_CHARS: usize = 80;
    let shown: String = word.chars().take(MAX_CHARS).collect();
    match shown.len() == word.len() {
        true => format!("{word:?}"),
        false => format!("{shown:?}... ({} bytes)", word.len()),
    }
}

/// Escapes characters that hide or reorder others: controls, format characters and line separators of Unicode.
#[must_use]
pub fn printable(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for c in text.chars() {
        match is_hidden(c) {
            true => shown.extend(c.escape_default()),
            false => shown.push(c),
        }
    }
    shown
}

/// The Unicode categories Cc, Cf, Zl and Zp.
fn is_hidden(c: char) -> bool {
    c.is_control()
        || matches!(
            u32::from(c),
            0xad | 0x600..=0x605 | 0x61c | 0x6dd | 0x70f | 0x890..=0x891 | 0x8e2 | 0x180e
                | 0x200b..=0x200f | 0x2028..=0x202e | 0x2060..=0x206f | 0xfeff | 0xfff9..=0xfffb
                | 0x110bd | 0x110cd | 0x13430..=0x1343f | 0x1bca0..=0x1bca3 | 0x1d173..=0x1d17a
                | 0xe0000..=0xe007f
        )
}

#[cfg(test)]
mod tests {
    use super::*;
    use homaes_bgv::Error as Bgv;

    fn short() -> WireError {
        WireError::Truncated {
            found: 1,
            expected: 2,
        }
    }

    #[test]
    fn messages_name_the_file_once_and_what_was_found_and_expected() {
        let path = Path::new("a.hct");
        let temporary = || PathBuf::from(".a.hct.homaes-tmp-1");
        let full = WireError::Io {
            path: temporary(),
            source: io::Error::new(io::ErrorKind::StorageFull, "disk full"),
        };
        let taken = WireError::AlreadyExists { path: temporary() };
        let blocks = homaes_tfhe::Error::Blocks {
            found: 33,
            expected: 32,
        };
        let set = "tfhe/toy";
        let no_levels = SchemeError::NoLevels { wanted: 3, set };
        for (error, message) in [
            (Error::file(path, full), "a.hct: disk full"),
            (Error::file(path, taken), "a.hct: file already exists"),
            (
                Error::content(path, Bgv::Wire(short()).into()),
                "a.hct: file is truncated: found 1 bytes, expected 2",
            ),
            (
                Error::batch(3, blocks.into()),
                "batch 3: 33 blocks, expected 32",
            ),
            (
                Error::Keys(no_levels),
                "3 multiplications left, expected none: results of set tfhe/toy have no levels, because they can be bootstrapped",
            ),
        ] {
            assert_eq!(error.to_string(), message);
        }
        let long = quoted(&"\n".repeat(1_000_000));
        assert!(
            long.len() < 300 && long.ends_with("... (1000000 bytes)"),
            "{long}"
        );
    }

    #[test]
    fn errors_of_the_container_are_found_in_every_scheme() {
        for error in [
            SchemeError::from(Bgv::from(short())),
            homaes_tfhe::Error::from(short()).into(),
        ] {
            assert_eq!(error.kind(), ErrorKind::from(&short()));
            assert_eq!(error.into_wire().unwrap().to_string(), short().to_string());
        }
        assert!(SchemeError::from(Bgv::NotBytes).into_wire().is_err());
    }
}
