//! docs/choosing.md and the table of README.md: the set for each need, with its measured figures.

use crate::cells::{Cells, or_dash};
use crate::document::{Lab, Machine, Run};
use crate::units::{bytes, digits, grouped, short_seconds};
use std::cmp::Reverse;

/// Needs, with the set and layout for each: sets that protect data. README.md shows all but the last.
const CHOICES: [&str; 6] = [
    "files, at the highest speed | bgv/aes128 sliced",
    "short messages, up to 2 KiB, quickly | bgv/aes128 packed",
    "to compute on the results: search and equality | bgv/aes128+8 sliced",
    "files under AES-256 | bgv/aes256 sliced",
    "to compute on the results without limit | tfhe/p64 bits",
    "the same, with failures below 2^-128 | tfhe/p128 bits",
];

/// Systems of the papers; README.md shows the first.
const COMPARISONS: [&str; 5] = [
    "to compare with a paper: NTRU (DHS14), insecure | ntru/hybrid bits",
    "BGV bit by bit, as in GHS12 | bgv/bits128 bits",
    "TFHE with trees of tables, as in TBCS23 | tfhe/nibble128 sliced",
    "DGHV (CLT14), the paper's smallest instance, insecure | dghv/toy bits",
    "DGHV (CLT14), the second smallest, insecure | dghv/small bits",
];

/// The runs of a need, with the cells that name it.
struct Choice<'l> {
    need: String,
    name: String,
    runs: Vec<&'l Run>,
}

impl<'l> Choice<'l> {
    fn new(lab: &'l Lab, text: &str) -> Self {
        let (need, place) = text.split_once(" | ").unwrap_or_default();
        let (set, layout) = place.split_once(' ').unwrap_or_default();
        let runs = lab.runs.iter();
        let runs = runs.filter(|run| run.set == set && run.layout == layout);
        Self {
            need: need.to_owned(),
            name: format!("`{set}` {layout}"),
            runs: runs.collect(),
        }
    }

    /// The run on most threads; of those, the one on fewest blocks.
    fn most_threads(&self) -> Option<&'l Run> {
        let runs = self.runs.iter().copied();
        runs.max_by_key(|run| (run.threads, Reverse(run.blocks)))
    }

    fn one_thread(&self) -> Option<&'l Run> {
        let mut runs = self.runs.iter().copied();
        runs.find(|run| run.threads == 1)
    }
}

/// The page for a document.
#[must_use]
pub fn choosing(lab: &Lab) -> String {
    let head = "you want|take|start|one block|per block|per block, one thread|full batch|keys for the server|\
                results per byte|memory";
    let table = |choices: &[&str]| {
        let rows = choices.iter().map(|choice| row(&Choice::new(lab, choice)));
        Cells::of(head, rows.collect()).markdown()
    };
    let machine = &lab.machine;
    format!(
        "\
# Choosing a set

Measured on {}, {} cores, {}, with all cores unless a column says otherwise.
Repetitions of a run differ by up to {:.0} %. [BENCHMARKS.md](../BENCHMARKS.md) has every figure with its command,
[PARAMETERS.md](../PARAMETERS.md) every set with its security. This page is generated:
`UPDATE_DOCS=1 cargo test --release -p homaes-cli --test all lab::`.

## Sets that protect data

All of these are estimated at more than 128 bits of security, attacks that rotate the secret included.

{}
- *Start*: reading the keys and preparing the AES key, once for each run of `transcipher`.
- *One block*: evaluating a message of 16 bytes once the keys are in memory.
- *Per block*: the time of a full batch divided by its blocks.
- *Keys for the server*: the evaluation key and the wrapped AES key of this layout, sent once.
- *Results per byte*: bytes of FHE ciphertext for each byte of a full batch.
- *Memory*: the peak of the benchmark's process.

A dash means: not measured. `homaes bench SCHEME --set SET --layout LAYOUT` measures it, for AES-256 with
`--key-bits 256`.

{}## How to decide

- **BGV or TFHE?** BGV evaluates up to 2,048 blocks at once, in milliseconds for each, and one block alone takes as
  long as its batch. Its results allow the multiplications that the set leaves: `+k` in the name stands for k, one
  after the other. TFHE takes seconds for each block. Its results can be bootstrapped, so any TFHE program can compute
  on them.
- **Sliced or packed?** `wrap-key` makes keys for both, and `transcipher` takes the cheaper layout for the length of
  the file. A sliced batch holds 2,048 blocks, a packed one 128. A batch takes the same time however full it is.
- **Fast answers?** Each run of the command reads its keys first (*start*). A server that keeps them in memory, with
  the crate `homaes` or the Python package, answers in the time of one batch.
- **Many short messages?** Give them to one run, as a list with an IV for each or as a folder of files that begin with
  their nonce: they [share batches](files.md#many-files). 10,000 records of 100 bytes are 70,000 blocks, 35 sliced
  batches.
- **AES-192 or AES-256?** They take 12 and 14 rounds instead of 10, and so a longer chain of moduli. A set is named
  after the AES key that it is made for. Shorter keys leave more multiplications.
- **Fewer failures?** Every secure set decrypts a batch wrongly with probability at most 2^-64, `tfhe/p128` with at
  most 2^-128. [SECURITY.md](../SECURITY.md#failure-probability) says what the bound covers.

## Sets to compare with the papers

{}
Sets of NTRU and DGHV protect nothing, and the commands say so. [papers.md](papers.md) has the papers' figures next to
ours.
",
        machine.processor,
        machine.cores,
        day(lab),
        spread_percent(lab),
        table(&CHOICES),
        totals(lab),
        table(&COMPARISONS),
    )
}

fn totals(lab: &Lab) -> String {
    let Some(run) = Choice::new(lab, CHOICES[0]).most_threads() else {
        return String::new();
    };
    let time = |bytes: f64| short_seconds(run.seconds_per_block() * bytes / 16.0);
    let (per_byte, mega, giga) = (results_per_byte(run), time(1e6), time(1e9));
    format!(
        "At the speed of the first row, 1 MB takes {mega} and becomes {per_byte} MB of results; 1 GB takes {giga} and \
         becomes {per_byte} GB.\n\n"
    )
}

/// The largest difference between repetitions of a run.
fn spread_percent(lab: &Lab) -> f64 {
    let spreads = lab.runs.iter().filter_map(Run::spread);
    100.0 * (spreads.fold(1.0, f64::max) - 1.0)
}

/// The table of README.md for a document.
#[must_use]
pub fn readme(lab: &Lab) -> String {
    let Machine {
        processor, cores, ..
    } = &lab.machine;
    let head = format!(
        "you want|take|blocks measured|ms per block, 1 thread|{cores} threads|ms for all, {cores} threads|\
         evaluation key|results per byte"
    );
    let (secure, papers) = (&CHOICES[..5], &COMPARISONS[..1]);
    let rows = secure.iter().chain(papers).map(|choice| {
        let choice = Choice::new(lab, choice);
        let (one, most) = (choice.one_thread(), choice.most_threads());
        let per_block = |run: Option<&Run>| of(run, |run| milliseconds(run.ms_per_block));
        vec![
            choice.need.clone(),
            choice.name.clone(),
            of(most, |run| grouped(run.blocks)),
            per_block(one),
            per_block(most),
            of(most, |run| milliseconds(1e3 * run.seconds_per_batch)),
            of(most, |run| bytes(run.eval_key_bytes)),
            of(most, results_per_byte),
        ]
    });
    let table = Cells::of(&head, rows.collect()).markdown();
    format!(
        "{table}\nMeasured on {processor}, {cores} cores, {}; repetitions differ by up to {:.0} %.\n",
        day(lab),
        spread_percent(lab)
    )
}

fn results_per_byte(run: &Run) -> String {
    grouped(run.ciphertext_bytes_per_byte.round() as u64)
}

/// Three digits, or all digits before the point.
fn milliseconds(value: f64) -> String {
    match value {
        v if v < 1000.0 => digits(v),
        v => grouped(v.round() as u64),
    }
}

fn day(lab: &Lab) -> &str {
    lab.date.split('T').next().unwrap_or_default()
}

/// A figure of a run, or a dash if there is no run.
fn of(run: Option<&Run>, figure: impl Fn(&Run) -> String) -> String {
    or_dash(run.map(figure))
}

fn row(choice: &Choice<'_>) -> Vec<String> {
    let (one, most) = (choice.one_thread(), choice.most_threads());
    let per_block = |run: &Run| short_seconds(run.seconds_per_block());
    let latency = |run: &Run| short_seconds(run.latency_seconds.unwrap_or(run.seconds));
    let keys = |run: &Run| bytes(run.eval_key_bytes + run.wrapped_key_bytes);
    vec![
        choice.need.clone(),
        choice.name.clone(),
        or_dash(most.and_then(Run::ready_seconds).map(short_seconds)),
        of(most, latency),
        of(most, per_block),
        of(one, per_block),
        of(most, |run| bytes(16 * run.blocks)),
        of(most, keys),
        of(most, results_per_byte),
        or_dash(most.and_then(|run| run.peak_rss_bytes).map(bytes)),
    ]
}
