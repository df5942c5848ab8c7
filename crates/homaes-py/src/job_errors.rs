//! Errors of jobs and stores as exceptions.

use crate::details::Details;
use crate::errors::{Made, REMOVE_SHARD, Raise, finish, missing, raise, refused};
use homaes::Error;
use homaes_job::{JobError, StoreError};
use pyo3::PyErr;
use std::path::Path;

impl Raise for JobError {
    fn raise(self) -> PyErr {
        let temporary = self.is_temporary();
        match self {
            // a store reports its errors to the library as I/O errors
            Self::Work(Error::Io { path, source }) => match source.get_ref() {
                Some(inner) if inner.is::<StoreError>() => {
                    let message = source.to_string();
                    let made = Made::Own("StoreError", message, Details::at(&path));
                    finish(made, store(temporary), temporary)
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
    #[rustfmt::skip] // a table
    fn raise(self) -> PyErr {
        let temporary = self.is_temporary();
        let own = |class, details| Made::Own(class, self.to_string(), details);
        let made = match &self {
            Self::Io { name, source } => Made::System(refused(source, Path::new(name))),
            Self::Missing { name } => Made::System(missing("there is no such object".into(), Path::new(name))),
            Self::Name { .. } | Self::Location { .. } => own("ParametersError", Details::default()),
            Self::TooLong { name, found, most: expected }
            | Self::TooShort { name, found, expected }
            | Self::OtherLength { name, found, expected } => own("FileFormatError", Details::of(*found, *expected).with(name)),
            Self::OtherContent { name, found, expected } => own("FileFormatError", Details::of(found, expected).with(name)),
            _ => own("StoreError", Details::default()),
        };
        finish(made, store(temporary), temporary)
    }
}

/// The remedy for an error of a store.
fn store(temporary: bool) -> &'static str {
    match temporary {
        true => "try again later",
        false => "check the location and its permissions",
    }
}

fn class(error: &JobError) -> &'static str {
    match error {
        JobError::Differs { .. } | JobError::ShardBytes { .. } | JobError::NoFile { .. } => {
            "ShardMismatchError"
        }
        JobError::OtherKeys { .. } => "KeyMismatchError",
        JobError::NoShard { .. }
        | JobError::Empty
        | JobError::ShardTooLong { .. }
        | JobError::Inside { .. }
        | JobError::Among { .. }
        | JobError::Path { .. } => "ParametersError",
        _ => "JobError",
    }
}

#[rustfmt::skip] // a table
fn details(error: &JobError) -> Details<'_> {
    match error {
        JobError::OtherJob { job, found, expected } => Details::of(found, expected).with(job),
        JobError::ShardBytes { shard, found, expected } => Details::of(*found, *expected).with(shard),
        JobError::NoShard { job, found, last } => Details::of(*found, &format!("0 to {last}")).with(job),
        JobError::ShardTooLong { found, most, .. } => Details::of(*found, *most),
        JobError::Incomplete { job, missing, .. } => Details::of(*missing, 0u64).with(job),
        JobError::NoJob { job } | JobError::Busy { job, .. } | JobError::Plan { job, .. } | JobError::OtherKeys { job } => Details::at(job),
        JobError::Inside { path } | JobError::Linked { path } | JobError::Among { path } => Details::at(path),
        JobError::Input { input: path } | JobError::Differs { shard: path } | JobError::NoFile { shard: path } | JobError::Path { path } => Details::at(path),
        _ => Details::default(),
    }
}

/// The remedy, in words of Python if that of the library names the command.
fn remedy(error: &JobError) -> &'static str {
    match error {
        JobError::NoJob { .. } => "check the location, or make a job with Job.plan",
        JobError::ShardBytes { .. } | JobError::NoFile { .. } => REMOVE_SHARD,
        JobError::NoShard { .. } => "Job.shards is their number",
        JobError::ShardTooLong { .. } => "pass fewer shard_batches",
        JobError::Incomplete { .. } => "evaluate them with Job.run",
        error => error.remedy(),
    }
}
