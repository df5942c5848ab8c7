use crate::store::StoreError;
use homaes::{Cancel, Detail, ErrorKind};
use std::path::{Path, PathBuf};

/// Result of this crate.
pub type Result<T, E = JobError> = core::result::Result<T, E>;

/// Errors of jobs. The message says what was found and expected; [`kind`](Self::kind) tells errors apart.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum JobError {
    /// The work itself failed, or the job refuses it.
    #[error(transparent)]
    Work(#[from] homaes::Error),
    /// The store of the job, its keys or its input failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl JobError {
    /// Whether the same command may succeed later: a service or network failed, or disk or memory was full.
    #[must_use]
    pub fn is_temporary(&self) -> bool {
        let of_work = homaes::Error::is_temporary;
        self.of_store()
            .map_or_else(of_work, StoreError::is_temporary)
    }

    /// Which kind of error it is.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        self.of_store()
            .map_or_else(homaes::Error::kind, StoreError::kind)
    }

    /// The error of the store, also if the library passed it on as an I/O error; otherwise that of the work.
    fn of_store(&self) -> Result<&StoreError, &homaes::Error> {
        match self {
            Self::Work(work @ homaes::Error::Io { source, .. }) => {
                let inner = source.get_ref().and_then(|inner| inner.downcast_ref());
                inner.ok_or(work)
            }
            Self::Work(work) => Err(work),
            Self::Store(error) => Ok(error),
        }
    }

    /// The file, folder or object that it is about.
    #[must_use]
    pub fn path(&self) -> Option<&Path> {
        match self {
            Self::Work(error) => error.path(),
            Self::Store(error) => Some(Path::new(error.name())),
        }
    }

    /// What was found and expected, where it can be named.
    #[must_use]
    pub fn details(&self) -> Option<[Detail; 2]> {
        match self {
            Self::Work(error) => error.details(),
            Self::Store(error) => error.details(),
        }
    }
}

/// An error about a job, or a file of one.
pub(crate) fn refused(kind: ErrorKind, what: impl Into<PathBuf>, message: &str) -> homaes::Error {
    homaes::Error::refused(kind, message).at(what)
}

/// Fails once `cancel` is thrown.
pub(crate) fn check(cancel: &Cancel) -> Result<()> {
    match cancel.is_cancelled() {
        true => Err(homaes::Error::Cancelled.into()),
        false => Ok(()),
    }
}
