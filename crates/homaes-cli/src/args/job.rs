use super::parse::{
    Auto, Shards, file_path, layouts, parse_location, parse_shards, parse_share, parse_threads,
};
use super::{Message, Progress, Workers};
use clap::Subcommand;
use homaes::Layout;
use homaes_job::Location;
use std::num::NonZeroUsize;
use std::path::PathBuf;

/// Evaluate one message with many workers, on one machine or many
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

/// Plan a job: record keys and message, and divide the work into shards
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
    /// Job to create: a folder, or s3://bucket/key
    #[arg(short, long, value_name = "JOB", value_parser = parse_location())]
    pub(crate) out: Location,
    /// Layout of blocks in ciphertexts, one of the wrapped key's; auto: as in 'homaes transcipher'
    #[arg(long, value_parser = layouts(), default_value = "auto")]
    pub(crate) layout: Auto<Layout>,
    /// Batches per shard, the unit of work [default: 8, or fewer to stay within 512 MiB]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) shard_batches: Option<u64>,
    /// Plan even if the disk has no room for the shards
    #[arg(long)]
    pub(crate) ignore_space: bool,
}

/// Evaluate the missing shards; run it in as many processes as you like
#[derive(Debug, clap::Args)]
pub(crate) struct JobRun {
    /// Job: a folder, or s3://bucket/key
    #[arg(value_name = "JOB", value_parser = parse_location())]
    pub(crate) job: Location,
    /// Only these shards, such as '0-99,200'
    #[arg(long, value_name = "LIST", value_parser = parse_shards)]
    pub(crate) shards: Option<Shards>,
    #[command(flatten)]
    pub(crate) workers: Workers,
    /// auto: a bar on terminals; json: one JSON object per line on standard output
    #[arg(long, value_enum, default_value_t = Progress::Auto)]
    pub(crate) progress: Progress,
    /// Start even if the disk has no room for the missing shards
    #[arg(long)]
    pub(crate) ignore_space: bool,
}

/// Evaluate one shard unless it exists, for schedulers that number their tasks
#[derive(Debug, clap::Args)]
pub(crate) struct JobRunShard {
    /// Job: a folder, or s3://bucket/key
    #[arg(value_name = "JOB", value_parser = parse_location())]
    pub(crate) job: Location,
    /// Number of the shard, from 0
    #[arg(value_name = "N", required_unless_present = "index_env")]
    pub(crate) number: Option<u64>,
    /// Environment variable with the number, such as SLURM_ARRAY_TASK_ID or JOB_COMPLETION_INDEX
    #[arg(long, value_name = "NAME", conflicts_with = "number")]
    pub(crate) index_env: Option<String>,
    #[command(flatten)]
    pub(crate) workers: Workers,
}

/// Show a job and its missing shards
#[derive(Debug, clap::Args)]
pub(crate) struct JobStatus {
    /// Job: a folder, or s3://bucket/key
    #[arg(value_name = "JOB", value_parser = parse_location())]
    pub(crate) job: Location,
    /// Print one JSON document
    #[arg(long)]
    pub(crate) json: bool,
}

/// Verify the checksums of all shards; with --sample, also evaluate some again and compare
#[derive(Debug, clap::Args)]
pub(crate) struct JobVerify {
    /// Job: a folder, or s3://bucket/key
    #[arg(value_name = "JOB", value_parser = parse_location())]
    pub(crate) job: Location,
    /// Share of the shards to evaluate again, such as 0.02, at least one shard; detects machines that compute wrongly
    #[arg(long, value_name = "SHARE", value_parser = parse_share)]
    pub(crate) sample: Option<f64>,
    /// Worker threads [default: all cores]
    #[arg(long, value_name = "N", value_parser = parse_threads, requires = "sample")]
    pub(crate) threads: Option<NonZeroUsize>,
}

/// Join the shards into a file of results; optional, as 'homaes decrypt' also reads a complete job
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
