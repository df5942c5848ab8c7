//! Errors of results and keys that stay in their files.

use crate::details::Details;
use crate::errors::{Made, Raise, finish, raise};
use crate::place::Changed;
use homaes_job::JobError;
use pyo3::PyErr;

/// An error of the library, of a job, or of a file that was replaced.
pub(crate) enum Fault {
    Job(JobError),
    Changed(Changed),
}

impl From<JobError> for Fault {
    fn from(error: JobError) -> Self {
        Self::Job(error)
    }
}

impl From<homaes::Error> for Fault {
    fn from(error: homaes::Error) -> Self {
        Self::Job(error.into())
    }
}

impl From<Changed> for Fault {
    fn from(changed: Changed) -> Self {
        Self::Changed(changed)
    }
}

impl Raise for Fault {
    fn raise(self) -> PyErr {
        match self {
            Self::Job(error) => raise(error),
            Self::Changed(changed) => raise(changed),
        }
    }
}

impl Raise for Changed {
    fn raise(self) -> PyErr {
        let Self(path) = self;
        let message = format!(
            "{}: the file has changed since it was opened",
            path.display()
        );
        let made = Made::Own("FileFormatError", message, Details::at(&path));
        finish(made, "open it again", false)
    }
}
