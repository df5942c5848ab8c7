use crate::store::StoreError;
use homaes::Cancel;
use std::io;
use std::path::PathBuf;

/// Result of this crate.
pub type Result<T, E = JobError> = core::result::Result<T, E>;

/// Errors of jobs. The message has what was found and expected; [`remedy`](Self::remedy) says what to do.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum JobError {
    /// The work itself failed.
    #[error(transparent)]
    Work(#[from] homaes::Error),
    /// The store of the job, its keys or its input failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// There is no job.
    #[error("{job}: no job is here: job.json is missing")]
    NoJob {
        /// Its expected place.
        job: String,
    },
    /// The plan is damaged.
    #[error("{job}/job.json: {what}")]
    Plan {
        /// The job.
        job: String,
        /// What is wrong.
        what: String,
    },
    /// The place holds another job.
    #[error("{job}: holds another job: found {found}, expected {expected}")]
    OtherJob {
        /// The place.
        job: String,
        /// The job there.
        found: String,
        /// The planned job.
        expected: String,
    },
    /// The keys differ from those of the plan.
    #[error("{job}: the keys are not those of the plan")]
    OtherKeys {
        /// The job.
        job: String,
    },
    /// A part of the message has changed since the plan.
    #[error("{input}: changed since the job was planned")]
    Input {
        /// The part.
        input: String,
    },
    /// A shard differs from the one computed here.
    #[error("{shard}: differs from the shard that this machine computes")]
    Differs {
        /// The shard.
        shard: String,
    },
    /// A shard has the wrong length.
    #[error("{shard}: found {found} bytes, expected {expected}: not a whole shard")]
    ShardBytes {
        /// The shard.
        shard: String,
        /// Its length.
        found: u64,
        /// Its expected length.
        expected: u64,
    },
    /// The name of a shard is taken by something that is not a file.
    #[error("{shard}: a shard must be a file, and this is none")]
    NoFile {
        /// The shard.
        shard: String,
    },
    /// A folder to be removed is a link, which may lead outside the job.
    #[error("{}: is a symbolic link", path.display())]
    Linked {
        /// The link.
        path: PathBuf,
    },
    /// Workers are evaluating shards of a job to be removed.
    #[error("{job}: {claimed} of its shards are being evaluated")]
    Busy {
        /// The job.
        job: String,
        /// Number of shards in work.
        claimed: u64,
    },
    /// An input lies among the files that the job makes, and would be removed with them.
    #[error("{}: is among the files that the job makes", path.display())]
    Among {
        /// The file.
        path: PathBuf,
    },
    /// The output lies in the job's folder.
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
        /// The requested number.
        found: u64,
        /// The last number.
        last: u64,
    },
    /// The message is empty.
    #[error("the message of the job is empty, expected at least one byte")]
    Empty,
    /// A shard would exceed the length of an object.
    #[error("a shard of {batches} batches has {found} bytes, expected at most {most}")]
    ShardTooLong {
        /// Batches requested.
        batches: u64,
        /// Its length.
        found: u64,
        /// The limit.
        most: u64,
    },
    /// The path is not UTF-8, so a plan cannot hold it.
    #[error("{path}: cannot be written into a plan: its name is not UTF-8")]
    Path {
        /// The path.
        path: String,
    },
    /// The job is not complete.
    #[error("{job}: {missing} of {shards} shards are missing")]
    Incomplete {
        /// The job.
        job: String,
        /// Missing shards.
        missing: u64,
        /// All shards.
        shards: u64,
    },
}

impl JobError {
    /// Whether the same command may succeed later: a service or network failed, or disk or memory was full.
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
            Self::Store(_) => "check the location and its permissions",
            Self::NoJob { .. } => "check the location, or make one with 'homaes job plan'",
            Self::Plan { .. } => {
                "the plan was changed or is of another version: plan the job again in another place"
            }
            Self::OtherJob { .. } => "choose another place for this one",
            Self::OtherKeys { .. } => {
                "restore the keys that the job was planned with, or plan it again in another place"
            }
            Self::Input { .. } => {
                "restore the file that the job was planned with, or plan it again in another place"
            }
            Self::Differs { .. } => {
                "a machine computed wrongly or the shard was forged: evaluate it on a third machine, and remove the wrong one"
            }
            Self::Inside { .. } => "choose another place for the output",
            Self::ShardBytes { .. } | Self::NoFile { .. } => {
                "remove it, and evaluate it again with 'homaes job run'"
            }
            Self::Busy { .. } => "wait for the workers, or stop them",
            Self::Among { .. } => "keep it in another folder, or choose another place for the job",
            Self::Linked { .. } => "remove the files of the job by hand",
            Self::NoShard { .. } => "'homaes job status' shows the shards",
            Self::Empty => "use a file that is not empty",
            Self::ShardTooLong { .. } => "use fewer with --shard-batches",
            Self::Path { .. } => "rename it",
            Self::Incomplete { .. } => "evaluate them with 'homaes job run'",
        }
    }
}

/// The error of a store that arrived as an I/O error of the library.
fn store_error(source: &io::Error) -> Option<&StoreError> {
    source.get_ref()?.downcast_ref()
}

/// Fails once `cancel` is thrown.
pub(crate) fn check(cancel: &Cancel) -> Result<()> {
    match cancel.is_cancelled() {
        true => Err(homaes::Error::Cancelled.into()),
        false => Ok(()),
    }
}
