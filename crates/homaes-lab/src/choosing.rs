//! docs/choosing.md, and the table at the head of README.md: which set for which need, with what was measured.

use crate::cells::Cells;
use crate::document::{Lab, Machine, Run};
use crate::units::{bytes, digits, grouped, short_seconds};
use std::cmp::Reverse;

/// A need and the set for it.
struct Choice {
    need: &'static str,
    set: &'static str,
    layout: &'static str,
}

const fn choice(need: &'static str, set: &'static str, layout: &'static str) -> Choice {
    Choice { need, set, layout }
}

impl Choice {
    fn name(&self) -> String {
        format!("`{}`, {}", self.set, self.layout)
    }

    fn is_of(&self, run: &Run) -> bool {
        run.set == self.set && run.layout == self.layout
    }
}

const CHOICES: [Choice; 6] = [
    choice(
        "files of some kilobytes and more, at the highest speed",
        "bgv/aes128",
        "sliced",
    ),
    choice("messages of up to 2 KiB, soon", "bgv/aes128", "packed"),
    choice(
        "to multiply on the result: search and equality",
        "bgv/aes128+8",
        "sliced",
    ),
    choice("AES-256", "bgv/aes256", "sliced"),
    choice(
        "to compute on the result without an end",
        "tfhe/p64",
        "bits",
    ),
    choice(
        "the same, failing with probability 2^-128 at most",
        "tfhe/p128",
        "bits",
    ),
];

const COMPARISONS: [Choice; 5] = [
    choice("BGV bit by bit, as in GHS12", "bgv/bits128", "bits"),
    choice(
        "TFHE by trees of tables, as in TBCS23",
        "tfhe/nibble128",
        "sliced",
    ),
    choice(
        "NTRU (DHS14), which plain LLL breaks",
        "ntru/hybrid",
        "bits",
    ),
    choice(
        "DGHV (CLT14), the paper's smallest instance",
        "dghv/toy",
        "bits",
    ),
    choice("DGHV (CLT14), the next one", "dghv/small", "bits"),
];

/// The page, with the figures of a document.
#[must_use]
pub fn choosing(lab: &Lab) -> String {
    let head = [
        "you want",
        "take",
        "ready",
        "one block",
        "per block, full message",
        "on one thread",
        "full message",
        "keys for the server, once",
        "results per byte",
        "memory",
    ];
    let table = |choices: &[Choice]| {
        let rows = choices.iter().map(|choice| row(lab, choice));
        Cells::new(&head, rows.collect()).markdown()
    };
    let machine = &lab.machine;
    format!(
        "\
# Choosing a set

Measured on: {}, {} cores, all of them in use where the table does not say otherwise; {}. Every figure, with its spread and its command, is in [BENCHMARKS.md](../BENCHMARKS.md); every set with its
security is in [PARAMETERS.md](../PARAMETERS.md). This page is generated: `UPDATE_DOCS=1 cargo test --release -p homaes-cli --test all lab::`.

## For data that matter

All of these sets are estimated at more than 128 bits of security, attacks with rotations included.

{}
*Ready*: reading the keys and expanding the AES key, once for each run of `transcipher`. *One block*: evaluating a message of 16 bytes, after that. *Keys for the server*: evaluation key and wrapped AES key of the layout. *Results per byte*: FHE bytes for each byte of a full message.
A dash: not in this measurement. `homaes bench SCHEME --set SET --layout LAYOUT` measures it, for AES-256 with `--key-bits 256`. {}

- **BGV or TFHE?** BGV evaluates up to 2048 blocks at once, at milliseconds for each; a single block takes as long as all of its batch. What is left to compute afterwards is fixed by the set: `+k` in its name means that k multiplications, one after the
  other, are left. TFHE takes seconds for each block, and its results are fresh: any program of TFHE can go on with them, as long as it likes.
- **Sliced or packed?** `wrap-key` makes keys for both, and `transcipher` takes the cheaper one for the length of the file. Packed batches hold 128 blocks. A batch takes the same time whether or not it is full, and so does the last one of a file.
- **How soon?** A run of the command reads its keys first (*ready*). A server that keeps them open, a program with the crate `homaes`, answers in the time of a batch.
- **Many short messages?** Give them to one run, as a list with an IV for each, or as a folder of files that begin with their nonce: they share batches. 10,000 records of 100 bytes are 70,000 blocks, 35 sliced batches ([files](files.md#many-files)).
- **How long is the AES key?** Sets are named after the AES key that they are made for; most carry longer ones with fewer levels left, and shorter ones with more. AES-192 and AES-256 take 12 and 14 rounds in place of 10, from a longer chain of moduli.
- **How rarely may it fail?** Every secure set decrypts a batch wrongly with probability 2^-64 or less; `tfhe/p128` with 2^-128 or less. Who shows decryptions to others needs more care than that: [security.md](security.md).

## To compare with the papers

{}
Sets of NTRU and DGHV protect nothing, and say so each time they are used. The papers' figures stand beside ours in [tables.md](tables.md).
",
        machine.processor,
        machine.cores,
        day(lab),
        table(&CHOICES),
        noise_and_totals(lab),
        table(&COMPARISONS),
    )
}

/// What differences mean nothing, and what large files take.
fn noise_and_totals(lab: &Lab) -> String {
    let mut out = format!(
        "Repetitions of a run differed by a factor of up to {:.2}, and smaller differences in this table mean nothing.",
        spread(lab)
    );
    if let Some(run) = most_threads(lab, &CHOICES[0]) {
        let of = |bytes: f64| {
            let time = short_seconds(run.seconds_per_block() * bytes / 16.0);
            (time, digits(run.ciphertext_bytes_per_byte))
        };
        let ((small, small_out), (large, large_out)) = (of(1e6), of(1e9));
        out += &format!(
            " At the speed of its first row a file of 1 MB takes {small} and gives {small_out} MB of results, one of 1 GB takes {large} and gives {large_out} GB."
        );
    }
    out
}

/// The largest factor between repetitions of a run.
fn spread(lab: &Lab) -> f64 {
    lab.runs.iter().filter_map(Run::spread).fold(1.0, f64::max)
}

/// The table of README.md, with the figures of a document.
#[must_use]
pub fn readme(lab: &Lab) -> String {
    let threads = format!("{} threads", lab.machine.cores);
    let head = [
        "you want",
        "take",
        "blocks at once",
        "one thread",
        &threads,
        "evaluation key",
        "results",
    ];
    let rows = CHOICES.iter().chain(&COMPARISONS).map(|choice| {
        let (one, most) = (one_thread(lab, choice), most_threads(lab, choice));
        let time = |run: Option<&Run>| of(run, |run| short_seconds(run.seconds));
        vec![
            choice.need.to_owned(),
            choice.name(),
            of(most, |run| grouped(run.blocks)),
            time(one),
            time(most),
            of(most, |run| bytes(run.eval_key_bytes)),
            of(most, |run| bytes(run.ciphertext_bytes)),
        ]
    });
    let table = Cells::new(&head, rows.collect()).markdown();
    let spread = spread(lab);
    let Machine {
        processor, cores, ..
    } = &lab.machine;
    format!(
        "{table}\nThe time of one evaluation of AES on {processor}, {cores} cores, {}. Repetitions of a run differed by a factor of up to {spread:.2}: [BENCHMARKS.md](BENCHMARKS.md).\n",
        day(lab)
    )
}

/// The day of a document.
fn day(lab: &Lab) -> &str {
    lab.date.split('T').next().unwrap_or_default()
}

/// Runs on most threads, of those the one on fewest blocks.
fn most_threads<'l>(lab: &'l Lab, choice: &Choice) -> Option<&'l Run> {
    let runs = lab.runs.iter().filter(|run| choice.is_of(run));
    runs.max_by_key(|run| (run.threads, Reverse(run.blocks)))
}

fn one_thread<'l>(lab: &'l Lab, choice: &Choice) -> Option<&'l Run> {
    let mut runs = lab.runs.iter().filter(|run| choice.is_of(run));
    runs.find(|run| run.threads == 1)
}

/// A figure of a run, or a dash where there is none.
fn of(run: Option<&Run>, figure: impl Fn(&Run) -> String) -> String {
    run.map_or_else(|| "–".into(), figure)
}

fn row(lab: &Lab, choice: &Choice) -> Vec<String> {
    let (one, most) = (one_thread(lab, choice), most_threads(lab, choice));
    vec![
        choice.need.to_owned(),
        choice.name(),
        of(most, |run| {
            run.ready_seconds()
                .map_or_else(|| "–".into(), short_seconds)
        }),
        of(most, |run| {
            short_seconds(run.latency_seconds.unwrap_or(run.seconds))
        }),
        of(most, |run| short_seconds(run.seconds_per_block())),
        of(one, |run| short_seconds(run.seconds_per_block())),
        of(most, |run| bytes(16 * run.blocks)),
        of(most, |run| {
            bytes(run.eval_key_bytes + run.wrapped_key_bytes)
        }),
        of(most, |run| digits(run.ciphertext_bytes_per_byte)),
        of(most, |run| {
            run.peak_rss_bytes.map_or_else(|| "–".into(), bytes)
        }),
    ]
}
