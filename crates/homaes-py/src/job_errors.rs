//! Errors of jobs and stores as exceptions.

use crate::errors::{Details, Field, Made, Raise, finish, missing, raise, refused};
use homaes::Error;
use homaes_job::{JobError, StoreError};
use pyo3::PyErr;
use std::path::Path;

impl Raise for JobError {
    fn raise(self) -> PyErr {
        let temporary = self.is_temporary();
        match self {
            // of a store, where the library asked for input and output
            Self::Work(Error::Io { path, source }) => match source.get_ref() {
                Some(inner) if inner.is::<StoreError>() => {
                    let message = source.to_string();
                    let details = Details {
                        path: Some(&path),
                        ..Details::default()
                    };
                    finish(
                        Made::Own("StoreError", message, details),
                        store(temporary),
                        temporary,
                    )
                }
                _ => raise(Error::Io { path, source }),
            },
            Self::Work(error) => raise(error),
            Self::Store(error) => raise(error),
            error => {
                let made = Made::Own(class(&error), error.to_string(), details(&error));
                finish(made, remedy(&error), temporary)
            }
        }
    }
}

impl Raise for StoreError {
    fn raise(self) -> PyErr {
        let temporary = self.is_temporary();
        let made = match &self {
            Self::Io { name, source } => Made::System(refused(source, Path::new(name))),
            Self::Missing { name } => {
                Made::System(missing("there is no such object".into(), Path::new(name)))
            }
            Self::Name { .. } | Self::Location { .. } => {
                Made::Own("ParametersError", self.to_string(), Details::default())
            }
            Self::TooLong {
                name,
                found,
                most: expected,
            }
            | Self::TooShort {
                name,
                found,
                expected,
            }
            | Self::OtherLength {
                name,
                found,
                expected,
            } => {
                let numbers = [*found, *expected].map(Field::Number);
                Made::Own("FileFormatError", self.to_string(), with(name, numbers))
            }
            Self::OtherContent {
                name,
                found,
                expected,
            } => {
                let digests = [found, expected].map(|digest| Field::Text(digest.clone()));
                Made::Own("FileFormatError", self.to_string(), with(name, digests))
            }
            _ => Made::Own("StoreError", self.to_string(), Details::default()),
        };
        finish(made, store(temporary), temporary)
    }
}

/// What to do about a store.
fn store(temporary: bool) -> &'static str {
    match temporary {
        true => "do the same again later",
        false => "check the location and who may read and write there",
    }
}

fn class(error: &JobError) -> &'static str {
    match error {
        JobError::Differs { .. } | JobError::ShardBytes { .. } => "ShardMismatchError",
        JobError::OtherKeys { .. } => "KeyMismatchError",
        JobError::NoShard { .. }
        | JobError::Empty
        | JobError::ShardTooLong { .. }
        | JobError::Path { .. } => "ParametersError",
        _ => "JobError",
    }
}

fn at(path: &str) -> Details<'_> {
    Details {
        path: Some(Path::new(path)),
        ..Details::default()
    }
}

fn with(path: &str, [found, expected]: [Field; 2]) -> Details<'_> {
    Details {
        path: Some(Path::new(path)),
        found: Some(found),
        expected: Some(expected),
    }
}

fn details(error: &JobError) -> Details<'_> {
    match error {
        JobError::OtherJob {
            job,
            found,
            expected,
        } => with(job, [found, expected].map(|name| Field::Text(name.clone()))),
        JobError::ShardBytes {
            shard,
            found,
            expected,
        } => with(shard, [*found, *expected].map(Field::Number)),
        JobError::NoShard { job, found, last } => {
            let expected = Field::Text(format!("0 to {last}"));
            with(job, [Field::Number(*found), expected])
        }
        JobError::ShardTooLong { found, most, .. } => Details {
            path: None,
            found: Some(Field::Number(*found)),
            expected: Some(Field::Number(*most)),
        },
        JobError::Incomplete { job, missing, .. } => with(job, [*missing, 0].map(Field::Number)),
        JobError::NoJob { job } | JobError::Plan { job, .. } | JobError::OtherKeys { job } => {
            at(job)
        }
        JobError::Input { input: path }
        | JobError::Differs { shard: path }
        | JobError::Path { path } => at(path),
        _ => Details::default(),
    }
}

/// What to do, in words of Python where those of the library are of the command.
fn remedy(error: &JobError) -> &'static str {
    match error {
        JobError::NoJob { .. } => "check the location, or make a job with Job.plan",
        JobError::ShardBytes { .. } => "remove it and run the job again",
        JobError::NoShard { .. } => "Job.shards is their number",
        JobError::ShardTooLong { .. } => "give fewer shard_batches",
        JobError::Incomplete { .. } => "evaluate them with Job.run",
        error => error.remedy(),
    }
}
