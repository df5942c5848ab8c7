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

/// docs/choosing.md, whose text is `page`, with the figures of a document.
#[must_use]
pub fn choosing(page: &str, lab: &Lab) -> String {
    let head = "you want|take|start|one block|per block|per block, one thread|message|keys for the server|\
                results per byte|memory";
    let table = |choices: &[&str]| {
        let rows = choices.iter().map(|choice| row(&Choice::new(lab, choice)));
        Cells::of(head, rows.collect()).markdown()
    };
    let (processor, cores, day) = (&lab.machine.processor, lab.machine.cores, day(lab));
    let machine = format!(
        "Measured on {processor}, {cores} cores, {day}, with all cores unless a column says otherwise.\n\
         Repetitions of a run differ by up to {:.0} %.\n",
        spread_percent(lab)
    );
    let regions = [
        ("machine", machine),
        ("secure", table(&CHOICES)),
        ("totals", totals(lab)),
        ("papers", table(&COMPARISONS)),
    ];
    let mut page = page.to_owned();
    for (name, text) in regions {
        let start = format!("<!-- {name} -->\n");
        let (before, rest) = page.split_once(&start).expect("the page has this region");
        let (_, after) = rest.split_once("<!-- end -->").expect("regions end");
        page = format!("{before}{start}{text}<!-- end -->{after}");
    }
    page
}

fn totals(lab: &Lab) -> String {
    let Some(run) = Choice::new(lab, CHOICES[0]).most_threads() else {
        return String::new();
    };
    let time = |bytes: f64| short_seconds(run.seconds_per_block() * bytes / 16.0);
    let (per_byte, mega, giga) = (results_per_byte(run), time(1e6), time(1e9));
    format!(
        "At the speed of the first row, 1 MB takes {mega} and becomes {per_byte} MB of results; 1 GB takes {giga} and \
         becomes {per_byte} GB.\n"
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
