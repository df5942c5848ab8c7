//! `homaes job` and what is below it.

use super::parse::{Shards, file_path, parse_location, parse_shards, parse_share, parse_threads};
use super::{Device, Layout, Message, Progress};
use clap::Subcommand;
use homaes_job::Location;
use std::num::NonZeroUsize;
use std::path::PathBuf;

/// Evaluate one message by many workers, on one machine or on many
#[derive(Debug, clap::Args)]
pub(crate) struct Job {
    #[command(subcommand)]
    pub(crate) command: JobCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum JobCommand {
    Plan(Box<JobPlan>),
    Run(JobRun),
    RunShard(JobRunShard),
    Status(JobStatus),
    Verify(JobVerify),
    Merge(JobMerge),
}

/// Plan a job: its keys, its message, and the shards that workers evaluate
#[derive(Debug, clap::Args)]
pub(crate) struct JobPlan {
    /// Evaluation key (.hek): a file, or s3://bucket/key
    #[arg(long, value_name = "FILE", value_parser = parse_location())]
    pub(crate) eval: Location,
    /// Wrapped AES key (.hwk): a file, or s3://bucket/key
    #[arg(long, value_name = "FILE", value_parser = parse_location())]
    pub(crate) wrapped_key: Location,
    #[command(flatten)]
    pub(crate) message: Message,
    /// Job to make: a folder, or s3://bucket/key
    #[arg(short, long, value_name = "JOB", value_parser = parse_location())]
    pub(crate) out: Location,
    /// How blocks are laid out in ciphertexts, among the layouts of the wrapped key; auto: see
    /// 'homaes transcipher --help'
    #[arg(long, value_enum, default_value_t = Layout::Auto)]
    pub(crate) layout: Layout,
    /// Batches of a shard, which one worker evaluates at a time [default: 8, or fewer where these are more than
    /// 512 MiB]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) shard_batches: Option<u64>,
    /// Plan although the disk has no room for the shards
    #[arg(long)]
    pub(crate) ignore_space: bool,
}

/// Evaluate the shards that are missing; several processes may do so at once
#[derive(Debug, clap::Args)]
pub(crate) struct JobRun {
    /// Job: a folder, or s3://bucket/key
    #[arg(value_name = "JOB", value_parser = parse_location())]
    pub(crate) job: Location,
    /// These shards alone, such as '0-99,200'
    #[arg(long, value_name = "LIST", value_parser = parse_shards)]
    pub(crate) shards: Option<Shards>,
    /// Worker threads [default: all cores]
    #[arg(long, value_name = "N", value_parser = parse_threads)]
    pub(crate) threads: Option<NonZeroUsize>,
    #[command(flatten)]
    pub(crate) device: Device,
    /// auto: a bar on terminals; json: one JSON object per line on standard output
    #[arg(long, value_enum, default_value_t = Progress::Auto)]
    pub(crate) progress: Progress,
    /// Begin although the disk has no room for the shards that are missing
    #[arg(long)]
    pub(crate) ignore_space: bool,
}

/// Evaluate one shard, unless it is there: for schedulers, which give each task a number
#[derive(Debug, clap::Args)]
pub(crate) struct JobRunShard {
    /// Job: a folder, or s3://bucket/key
    #[arg(value_name = "JOB", value_parser = parse_location())]
    pub(crate) job: Location,
    /// Number of the shard, from 0
    #[arg(value_name = "N", required_unless_present = "index_env")]
    pub(crate) number: Option<u64>,
    /// Environment variable that has the number, such as SLURM_ARRAY_TASK_ID or JOB_COMPLETION_INDEX
    #[arg(long, value_name = "NAME", conflicts_with = "number")]
    pub(crate) index_env: Option<String>,
    /// Worker threads [default: all cores]
    #[arg(long, value_name = "N", value_parser = parse_threads)]
    pub(crate) threads: Option<NonZeroUsize>,
    #[command(flatten)]
    pub(crate) device: Device,
}

/// Show what a job is, and which shards are missing
#[derive(Debug, clap::Args)]
pub(crate) struct JobStatus {
    /// Job: a folder, or s3://bucket/key
    #[arg(value_name = "JOB", value_parser = parse_location())]
    pub(crate) job: Location,
    /// Print one JSON document
    #[arg(long)]
    pub(crate) json: bool,
}

/// Verify the checksums of all shards; with --sample evaluate some again and compare
#[derive(Debug, clap::Args)]
pub(crate) struct JobVerify {
    /// Job: a folder, or s3://bucket/key
    #[arg(value_name = "JOB", value_parser = parse_location())]
    pub(crate) job: Location,
    /// Share of the shards to evaluate again, one at least, drawn at random: finds machines that compute wrongly
    #[arg(long, value_name = "SHARE", value_parser = parse_share)]
    pub(crate) sample: Option<f64>,
    /// Worker threads [default: all cores]
    #[arg(long, value_name = "N", value_parser = parse_threads, requires = "sample")]
    pub(crate) threads: Option<NonZeroUsize>,
}

/// Write the file of results that the shards make; 'homaes decrypt' reads a complete job without it
#[derive(Debug, clap::Args)]
pub(crate) struct JobMerge {
    /// Job: a folder, or s3://bucket/key
    #[arg(value_name = "JOB", value_parser = parse_location())]
    pub(crate) job: Location,
    /// FHE ciphertexts to write (.hct)
    #[arg(short, long, value_name = "FILE", value_parser = file_path())]
    pub(crate) out: PathBuf,
    /// Remove the job when the file is complete
    #[arg(long)]
    pub(crate) remove_shards: bool,
    /// Replace an existing file
    #[arg(long)]
    pub(crate) force: bool,
}
