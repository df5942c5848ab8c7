use super::Workers;
use super::parse::{
    Auto, directions, file_path, layouts, one_of, parse_blocks, parse_budget, parse_key_bits,
    parse_threads, variants,
};
use clap::Subcommand;
use clap::builder::TypedValueParser;
use homaes::{Direction, KeySize, Layout, Scheme, Variant};
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::time::Duration;

/// Measure full runs or kernels, or compare measurements
#[derive(Debug, clap::Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct Bench {
    #[command(subcommand)]
    pub(crate) command: Option<BenchCommand>,
    /// What to measure
    #[arg(value_parser = targets(), default_value = "all")]
    pub(crate) target: Target,
    /// Parameter set instead of the scheme's default (see 'homaes params'); 'all' then measures its scheme alone and
    /// takes no --budget
    #[arg(long, value_name = "NAME")]
    pub(crate) set: Option<String>,
    /// Variant of the scheme's AES circuit, with its default set
    #[arg(long, value_parser = variants(), conflicts_with = "set")]
    pub(crate) variant: Option<Variant>,
    #[command(flatten)]
    pub(crate) workers: Workers,
    /// Layout of blocks in ciphertexts; auto: the fastest for full batches
    #[arg(long, value_parser = layouts(), default_value = "auto")]
    pub(crate) layout: Auto<Layout>,
    /// Bits of the AES key: 128, 192 or 256
    #[arg(long, value_name = "BITS", value_parser = parse_key_bits, default_value = "128")]
    pub(crate) key_bits: KeySize,
    /// Direction of AES: encrypt measures mode ctr, decrypt mode ecb
    #[arg(long, value_parser = directions(), default_value = "encrypt")]
    pub(crate) direction: Direction,
    /// AES blocks, in as many batches as they need [default: one full batch, or 1 for schemes that are fast on few
    /// blocks]
    #[arg(long, value_name = "N", value_parser = parse_blocks())]
    pub(crate) blocks: Option<u64>,
    /// Also measure the noise after every round with the secret key, in one more batch
    #[arg(long)]
    pub(crate) noise: bool,
    /// all: measure as many sets and layouts as fit into this time ('20m', '1h 30m'), on one thread and on all, in two
    /// passes [default: one run of each scheme's default set]
    #[arg(long, value_name = "TIME", value_parser = parse_budget,
        conflicts_with_all = ["set", "variant", "layout", "key_bits", "direction", "blocks", "noise"])]
    pub(crate) budget: Option<Duration>,
    /// Print one JSON document
    #[arg(long)]
    pub(crate) json: bool,
    /// Internal, for 'bench all': end when standard input ends
    #[arg(long, hide = true)]
    pub(crate) bound: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum BenchCommand {
    Compare(Compare),
    Papers(Papers),
}

/// Print the papers' tables next to ours, as Markdown (docs/papers.md)
#[derive(Debug, clap::Args)]
pub(crate) struct Papers {
    /// Document of 'bench all --json' with our runs [default: that of BENCHMARKS.md]
    #[arg(value_name = "FILE", value_parser = file_path())]
    pub(crate) runs: Option<PathBuf>,
    /// Do not measure the operations of CLT14's Table 1
    #[arg(long)]
    pub(crate) quick: bool,
    /// CLT14: the largest instance to measure
    #[arg(long, value_name = "NAME", default_value = "dghv/small")]
    pub(crate) set: String,
    /// Worker threads for CLT14 [default: all cores]
    #[arg(long, value_name = "N", value_parser = parse_threads)]
    pub(crate) threads: Option<NonZeroUsize>,
}

/// Compare two documents of 'bench --json' and show changes above run-to-run noise
#[derive(Debug, clap::Args)]
pub(crate) struct Compare {
    /// The earlier document
    #[arg(value_parser = file_path())]
    pub(crate) old: PathBuf,
    /// The later document
    #[arg(value_parser = file_path())]
    pub(crate) new: PathBuf,
    /// Fail if anything became slower or worse or is missing, or if noise hides everything
    #[arg(long)]
    pub(crate) check: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Target {
    Scheme(Scheme),
    Bridge,
    Kernels,
    All,
}

fn targets() -> impl TypedValueParser<Value = Target> {
    let schemes = Scheme::ALL.iter();
    let schemes = schemes.map(|&scheme| (scheme.name(), "", Target::Scheme(scheme)));
    let others = [
        ("bridge", "", Target::Bridge),
        ("kernels", "", Target::Kernels),
        ("all", "", Target::All),
    ];
    one_of(schemes.chain(others).collect())
}
