//! What went wrong with a job, and what to do about it.

use crate::store::StoreError;
use homaes::Cancel;
use std::io;
use std::path::PathBuf;

/// Result of this crate.
pub type Result<T, E = JobError> = core::result::Result<T, E>;

/// Errors of jobs. The message says what was found and expected; [`remedy`](Self::remedy) says what to do.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum JobError {
    /// The work itself failed.
    #[error(transparent)]
    Work(#[from] homaes::Error),
    /// The store of the job, of its keys or of its input failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// There is no job.
    #[error("{job}: no job is here: job.json is missing")]
    NoJob {
        /// Where it was looked for.
        job: String,
    },
    /// The plan cannot be read.
    #[error("{job}/job.json: {what}")]
    Plan {
        /// The job.
        job: String,
        /// What is wrong with it.
        what: String,
    },
    /// Another job is there.
    #[error("{job}: holds another job: found {found}, expected {expected}")]
    OtherJob {
        /// Where.
        job: String,
        /// What is there.
        found: String,
        /// What was planned.
        expected: String,
    },
    /// The keys are not those that the job was planned with.
    #[error("{job}: the keys are not those of the plan")]
    OtherKeys {
        /// The job.
        job: String,
    },
    /// A part of the message is not as it was when the job was planned.
    #[error("{input}: changed since the job was planned")]
    Input {
        /// The part.
        input: String,
    },
    /// A shard is not what is computed from job and keys.
    #[error("{shard}: differs from the shard that this machine computes")]
    Differs {
        /// The shard.
        shard: String,
    },
    /// A shard of another length than it must have.
    #[error("{shard}: found {found} bytes, expected {expected}: not a whole shard")]
    ShardBytes {
        /// The shard.
        shard: String,
        /// Its length.
        found: u64,
        /// The length of all shards of its number of batches.
        expected: u64,
    },
    /// What is in the place of a shard is no file.
    #[error("{shard}: a shard must be a file, and this is none")]
    NoFile {
        /// The shard.
        shard: String,
    },
    /// What would be removed is behind a link, and may be another's.
    #[error("{}: is a symbolic link", path.display())]
    Linked {
        /// The link.
        path: PathBuf,
    },
    /// Somebody works on what would be removed.
    #[error("{job}: {claimed} of its shards are being evaluated")]
    Busy {
        /// The job.
        job: String,
        /// How many.
        claimed: u64,
    },
    /// What is to be read is among the files that the job makes, and goes with them.
    #[error("{}: is among the files that the job makes", path.display())]
    Among {
        /// The file.
        path: PathBuf,
    },
    /// The output is in the folder of the job.
    #[error("{}: is in the job that is read", path.display())]
    Inside {
        /// The output.
        path: PathBuf,
    },
    /// The job has no such shard.
    #[error("{job}: there is no shard {found}, expected 0 to {last}")]
    NoShard {
        /// The job.
        job: String,
        /// The number asked for.
        found: u64,
        /// The number of the last one.
        last: u64,
    },
    /// The job has no message to evaluate.
    #[error("the message of a job, expected one byte at least")]
    Empty,
    /// A shard would be too long for one object.
    #[error("a shard of {batches} batches has {found} bytes, expected at most {most}")]
    ShardTooLong {
        /// Batches asked for.
        batches: u64,
        /// Length.
        found: u64,
        /// The most.
        most: u64,
    },
    /// The path cannot stand in a plan.
    #[error("{path}: cannot be written into a plan: its name is no UTF-8")]
    Path {
        /// The path.
        path: String,
    },
    /// The job is not complete.
    #[error("{job}: {missing} of {shards} shards are missing")]
    Incomplete {
        /// The job.
        job: String,
        /// Shards that are missing.
        missing: u64,
        /// All shards.
        shards: u64,
    },
}

impl JobError {
    /// Whether the same command may succeed later: a service or a network failed, or there is no room on the disk or in memory.
    #[must_use]
    pub fn is_temporary(&self) -> bool {
        match self {
            Self::Work(homaes::Error::Io { source, .. }) if store_error(source).is_some() => {
                store_error(source).is_some_and(StoreError::is_temporary)
            }
            Self::Work(error) => error.is_temporary(),
            Self::Store(error) => error.is_temporary(),
            _ => false,
        }
    }

    /// What to do, in one clause.
    #[must_use]
    pub fn remedy(&self) -> &'static str {
        match self {
            Self::Work(error) => error.remedy(),
            Self::Store(error) if error.is_temporary() => "run the same command later",
            Self::Store(_) => "check the location and who may read and write there",
            Self::NoJob { .. } => "check the location, or make one with 'homaes job plan'",
            Self::Plan { .. } => {
                "the plan was changed or is of another version: plan the job again in another place"
            }
            Self::OtherJob { .. } => "choose another place for this one",
            Self::OtherKeys { .. } => {
                "put back the keys that the job was planned with, or plan it again in another place"
            }
            Self::Input { .. } => {
                "put back the file that the job was planned with, or plan it again in another place"
            }
            Self::Differs { .. } => {
                "one of two machines computes wrongly, or the shard was forged: evaluate it on a third machine, and remove the wrong one"
            }
            Self::Inside { .. } => "choose another place for the output",
            Self::ShardBytes { .. } | Self::NoFile { .. } => {
                "remove it, and evaluate it again with 'homaes job run'"
            }
            Self::Busy { .. } => "wait for the workers, or end them",
            Self::Among { .. } => "keep it in another folder, or choose another place for the job",
            Self::Linked { .. } => "remove the files of the job by hand",
            Self::NoShard { .. } => "'homaes job status' shows the shards",
            Self::Empty => "give a file that is not empty",
            Self::ShardTooLong { .. } => "give fewer with --shard-batches",
            Self::Path { .. } => "rename it",
            Self::Incomplete { .. } => "evaluate them with 'homaes job run'",
        }
    }
}

/// The error of a store that reached the library as one of input and output.
fn store_error(source: &io::Error) -> Option<&StoreError> {
    source.get_ref()?.downcast_ref()
}

/// An error once the switch is thrown.
pub(crate) fn check(cancel: &Cancel) -> Result<()> {
    match cancel.is_cancelled() {
        true => Err(homaes::Error::Cancelled.into()),
        false => Ok(()),
    }
}
