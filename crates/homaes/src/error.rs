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
    /// A file is damaged or belongs elsewhere.
    #[error("{}: {source}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// Its fault.
        source: WireError,
    },
    /// The content of a file cannot be used, or one batch of a run failed.
    #[error("{}{}{source}", prefix(path.as_deref().map(Path::display)), prefix(part.as_ref()))]
    Content {
        /// The file; `None` during evaluation.
        path: Option<PathBuf>,
        /// The batch or value concerned, if the file has several.
        part: Option<String>,
        /// Its fault.
        source: Box<SchemeError>,
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
#[derive(Debug, thiserror::Error)]
#[error("{}{message}", prefix(path.as_deref().map(Path::display)))]
pub struct Refusal {
    kind: ErrorKind,
    path: Option<PathBuf>,
    message: String,
    details: Option<[Detail; 2]>,
}

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
            Self::File { source, .. } => source.into(),
            Self::Keys(source) => source.kind(),
            Self::Content { path, source, .. } => match source.kind() {
                ErrorKind::Argument if path.is_some() => ErrorKind::Damaged,
                kind => kind,
            },
            Self::Params(_) => ErrorKind::Fault,
            Self::WrongShard(_) => ErrorKind::Shard,
            Self::Random(_) => ErrorKind::Random,
            Self::Memory { .. } => ErrorKind::Memory,
            Self::Cancelled => ErrorKind::Cancelled,
            Self::Refused(refusal) => refusal.kind,
        }
    }

    /// The file or folder concerned.
    #[must_use]
    pub fn path(&self) -> Option<&Path> {
        match self {
            Self::Io { path, .. } | Self::File { path, .. } => Some(path),
            Self::Content { path, .. } => path.as_deref(),
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
            Self::Content { source, .. } => source.details(),
            Self::Keys(source) => source.details(),
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
            Self::Memory { .. } => true,
            Self::Io { source, .. } => matches!(
                source.kind(),
                Kind::StorageFull | Kind::QuotaExceeded | Kind::FileTooLarge | Kind::OutOfMemory
            ),
            _ => matches!(self.kind(), ErrorKind::Disk | ErrorKind::DeviceFault),
        }
    }

    /// The file `path` must not be written, or not be replaced.
    pub(crate) fn taken(kind: ErrorKind, path: impl Into<PathBuf>) -> Self {
        let message = match kind {
            ErrorKind::HoldsSecretKey => "holds a secret key, which no other kind of file replaces",
            ErrorKind::KeysExist => "already exists, and keys are never replaced",
            ErrorKind::OwnInput => "is both an input and the output",
            _ => "file already exists",
        };
        Self::refused(kind, message).at(path)
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
            WireError::AlreadyExists { .. } => Self::taken(ErrorKind::AlreadyExists, path),
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
            Err(source) => Self::part_of(Some(path), None, source),
        }
    }

    pub(crate) fn batch(batch: u64, source: SchemeError) -> Self {
        match source.is_cancelled() {
            true => Self::Cancelled,
            false => Self::part_of(None, Some(format!("batch {batch}")), source),
        }
    }

    pub(crate) fn part_of(path: Option<&Path>, part: Option<String>, source: SchemeError) -> Self {
        Self::Content {
            path: path.map(Path::to_owned),
            part,
            source: source.into(),
        }
    }

    /// An error of keys, or of a circuit made with them.
    pub(crate) fn keys(source: impl Into<SchemeError>) -> Self {
        match source.into() {
            source if source.is_cancelled() => Self::Cancelled,
            source => Self::Keys(source),
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

fn prefix(place: Option<impl fmt::Display>) -> String {
    place.map_or_else(String::new, |place| format!("{place}: "))
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
