//! Reading the documents of `homaes bench` and `homaes transcipher --report`, and what is refused of them.

use crate::document::{Lab, Machine, Round, Run};
use serde::Deserialize;
use serde_json::Value;
use std::collections::BTreeMap;

/// A document, of any of the three kinds.
#[derive(Debug, Clone, PartialEq)]
pub enum Document {
    /// `homaes bench all --json`
    Lab(Box<Lab>),
    /// `homaes bench SCHEME --json`
    Run(Box<Run>),
    /// `homaes transcipher --report`
    Own(Box<Run>),
}

/// What is wrong with a document.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DocumentError {
    /// It is no JSON.
    #[error("not JSON: {0}")]
    Json(serde_json::Error),
    /// It is no text.
    #[error("not JSON: not text")]
    Text,
    /// It is JSON of something else.
    #[error(
        "found JSON without 'runs', 'seconds_per_batch' or 'report', expected a document of 'homaes bench --json' or 'homaes transcipher --report'"
    )]
    Kind,
    /// A field is missing or has another type.
    #[error("{kind}: {source}")]
    Field {
        /// What it is.
        kind: &'static str,
        /// The field.
        source: serde_json::Error,
    },
    /// A figure that no measurement gives, and that pages divide by or take the logarithm of.
    #[error("run {run}: {field} is {found}, expected a number from {least} to {most}")]
    Value {
        /// Which run.
        run: String,
        /// The field.
        field: String,
        /// Its value.
        found: f64,
        /// The least that is taken.
        least: f64,
        /// The most.
        most: f64,
    },
    /// A name that no measurement gives.
    #[error(
        "run {run}: {field} is no name: expected at most {MAX_NAME} characters, none of them a control character"
    )]
    Name {
        /// Which run, by its place.
        run: usize,
        /// The field.
        field: &'static str,
    },
    /// More than any measurement has.
    #[error("found {found} {what}, expected at most {most}")]
    Many {
        /// Of what.
        what: &'static str,
        /// How many.
        found: usize,
        /// The most that are taken.
        most: usize,
    },
    /// Somebody wrote it: runs with a wrong byte give no document.
    #[error("run {run} is marked as not correct; figures of wrong results are not shown")]
    Wrong {
        /// Which run.
        run: String,
    },
}

impl DocumentError {
    /// What to do about it.
    #[must_use]
    pub fn remedy(&self) -> &'static str {
        match self {
            Self::Json(_) | Self::Text | Self::Kind => {
                "give a file that 'homaes bench … --json' or 'homaes transcipher --report' wrote"
            }
            Self::Field { .. }
            | Self::Value { .. }
            | Self::Name { .. }
            | Self::Many { .. }
            | Self::Wrong { .. } => "it was changed, or written by another version: measure again",
        }
    }
}

/// Most characters of a name.
const MAX_NAME: usize = 400;
/// Most runs of a document.
const MAX_RUNS: usize = 10_000;
/// Most rounds, stages, counts or repetitions of a run.
const MAX_PARTS: usize = 256;
/// No time is shorter, of what takes any.
const LEAST: f64 = 1e-9;
/// No figure is larger: seconds of thirty thousand years, bytes of an exabyte.
const MOST: f64 = 1e18;

/// Reads a document.
///
/// # Errors
/// The first thing that is wrong with it.
pub fn read(bytes: &[u8]) -> Result<Document, DocumentError> {
    let text = str::from_utf8(bytes).map_err(|_| DocumentError::Text)?;
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let value: Value = serde_json::from_str(text).map_err(DocumentError::Json)?;
    let has = |field: &str| value.get(field).is_some();
    let (runs, lab, report) = (has("runs"), "result of 'bench all'", has("report"));
    if runs {
        let lab: Lab = typed(lab, value)?;
        check_lab(&lab)?;
        return Ok(Document::Lab(Box::new(lab)));
    }
    let (document, run) = if report {
        let own: Own = typed("report of 'transcipher'", value)?;
        let run = own.run();
        (Document::Own(Box::new(run.clone())), run)
    } else if has("seconds_per_batch") {
        let run: Run = typed("result of 'bench'", value)?;
        (Document::Run(Box::new(run.clone())), run)
    } else {
        return Err(DocumentError::Kind);
    };
    check(0, &run)?;
    Ok(document)
}

fn check_lab(lab: &Lab) -> Result<(), DocumentError> {
    many("runs", lab.runs.len(), MAX_RUNS)?;
    many("skipped runs", lab.skipped.len(), MAX_RUNS)?;
    check_machine(0, &lab.machine)?;
    name(0, "date", &lab.date)?;
    name(0, "version", &lab.version)?;
    if let Some(kernels) = &lab.kernels {
        let times = [
            kernels.forward_ns,
            kernels.inverse_ns,
            kernels.reference_ntt_ns,
        ];
        for found in times {
            within("kernels", "a time", found, LEAST)?;
        }
    }
    within("all", "wall_seconds", lab.wall_seconds, 0.0)?;
    for (place, skipped) in lab.skipped.iter().enumerate() {
        for text in [&skipped.run, &skipped.reason, &skipped.command] {
            name(place, "a text of a skipped run", text)?;
        }
    }
    lab.runs
        .iter()
        .enumerate()
        .try_for_each(|(place, run)| check(place, run))
}

fn check_machine(run: usize, machine: &Machine) -> Result<(), DocumentError> {
    let Machine {
        processor,
        system,
        kernels,
        features,
        ..
    } = machine;
    many("features", features.len(), MAX_PARTS)?;
    let texts = [processor, system, kernels].into_iter().chain(features);
    texts
        .into_iter()
        .try_for_each(|text| name(run, "a text of the machine", text))
}

fn many(what: &'static str, found: usize, most: usize) -> Result<(), DocumentError> {
    match found <= most {
        true => Ok(()),
        false => Err(DocumentError::Many { what, found, most }),
    }
}

fn name(run: usize, field: &'static str, text: &str) -> Result<(), DocumentError> {
    // the last two are in no XML, and so in no picture
    let shown = |c: char| !c.is_control() && !matches!(c, '\u{fffe}' | '\u{ffff}');
    match text.chars().count() <= MAX_NAME && text.chars().all(shown) {
        true => Ok(()),
        false => Err(DocumentError::Name { run, field }),
    }
}

fn within(run: &str, field: &str, found: f64, least: f64) -> Result<(), DocumentError> {
    match (least..=MOST).contains(&found) {
        true => Ok(()),
        false => Err(DocumentError::Value {
            run: run.to_owned(),
            field: field.to_owned(),
            found,
            least,
            most: MOST,
        }),
    }
}

fn typed<T: for<'d> Deserialize<'d>>(kind: &'static str, value: Value) -> Result<T, DocumentError> {
    serde_json::from_value(value).map_err(|source| DocumentError::Field { kind, source })
}

/// Refuses figures that no run gives, and names that would not fit on a page.
fn check(place: usize, run: &Run) -> Result<(), DocumentError> {
    check_texts(place, run)?;
    if !run.correct {
        return Err(DocumentError::Wrong { run: run.name() });
    }
    check_figures(place, run)
}

fn check_texts(place: usize, run: &Run) -> Result<(), DocumentError> {
    let texts = [
        ("set", &run.set),
        ("purpose", &run.purpose),
        ("version", &run.version),
        ("layout", &run.layout),
        ("direction", &run.direction),
        ("expansion", &run.expansion),
    ];
    let optional = [("backend", &run.backend), ("command", &run.command)];
    let optional = optional
        .into_iter()
        .filter_map(|(field, text)| Some((field, text.as_ref()?)));
    for (field, text) in texts.into_iter().chain(optional) {
        name(place, field, text)?;
    }
    if let Some(security) = &run.security {
        let texts = [
            &security.attack,
            &security.estimator,
            &security.estimated_on,
        ];
        for text in texts.into_iter().flatten() {
            name(place, "a text of security", text)?;
        }
    }
    if let Some(machine) = &run.machine {
        check_machine(place, machine)?;
    }
    Ok(())
}

fn check_figures(place: usize, run: &Run) -> Result<(), DocumentError> {
    many("rounds", run.rounds.len(), MAX_PARTS)?;
    many("counts", run.counts.len(), MAX_PARTS)?;
    many("samples", run.samples.len(), MAX_PARTS)?;
    let this = run.name();
    for (field, found, least) in [
        ("seconds", run.seconds, LEAST),
        ("seconds_per_batch", run.seconds_per_batch, LEAST),
        ("ms_per_block", run.ms_per_block, LEAST),
        ("setup_seconds", run.setup_seconds, 0.0),
        (
            "ciphertext_bytes_per_byte",
            run.ciphertext_bytes_per_byte,
            0.0,
        ),
        ("threads", run.threads as f64, 1.0),
        // so that 16 bytes for each of them can be counted
        (
            "blocks",
            if run.blocks > 1 << 50 {
                f64::INFINITY
            } else {
                run.blocks as f64
            },
            1.0,
        ),
        ("eval_key_bytes", run.eval_key_bytes as f64, 0.0),
        ("wrapped_key_bytes", run.wrapped_key_bytes as f64, 0.0),
        ("ciphertext_bytes", run.ciphertext_bytes as f64, 0.0),
    ] {
        within(&this, field, found, least)?;
    }
    let mut sampled = run.clone();
    for (field, value) in sampled.times() {
        value
            .iter()
            .try_for_each(|&found| within(&this, field, found, 0.0))?;
    }
    for (field, found) in [
        ("reference_ntt_ns", run.reference_ntt_ns),
        ("latency_seconds", run.latency_seconds),
    ] {
        found
            .iter()
            .try_for_each(|&found| within(&this, field, found, LEAST))?;
    }
    if let Some(log2) = run.log2_p_fail {
        within(&this, "bits of log2_p_fail", log2.abs(), 0.0)?;
    }
    for (field, values) in &run.samples {
        name(place, "the name of a sample", field)?;
        many("repetitions", values.len(), MAX_PARTS)?;
        let least = if field == "seconds" || field == "reference_ntt_ns" {
            LEAST
        } else {
            0.0
        };
        values
            .iter()
            .try_for_each(|&found| within(&this, field, found, least))?;
    }
    if run.samples.get("seconds").is_some_and(Vec::is_empty) {
        within(&this, "number of repetitions", 0.0, 1.0)?;
    }
    for round in &run.rounds {
        within(&this, "seconds of a round", round.seconds, 0.0)?;
        many("stages", round.stage_seconds.len(), 32)?;
        for (stage, &found) in &round.stage_seconds {
            name(place, "the name of a stage", stage)?;
            within(&this, "seconds of a stage", found, 0.0)?;
        }
        let bits = [
            Some(round.noise_bits),
            Some(round.capacity_bits),
            round.measured_noise_bits,
        ];
        for found in bits.into_iter().flatten() {
            within(&this, "bits of noise", found.abs(), 0.0)?;
        }
    }
    Ok(())
}

/// What `homaes transcipher --report` writes, as far as pages show it.
#[derive(Debug, Deserialize)]
struct Own {
    version: String,
    set: String,
    purpose: String,
    direction: String,
    expansion: String,
    aes_key_bits: u32,
    report: OwnReport,
}

#[derive(Debug, Deserialize)]
struct OwnReport {
    layout: String,
    bytes: u64,
    blocks: u64,
    batches: u64,
    threads: usize,
    setup_seconds: f64,
    seconds: f64,
    seconds_per_round: Vec<f64>,
    steps: Vec<Round>,
    transforms: u64,
    rotations: u64,
    counts: BTreeMap<String, u64>,
    stage_seconds: BTreeMap<String, f64>,
    noise_bits: Option<f64>,
    capacity_bits: Option<f64>,
    log2_p_fail: Option<f64>,
    file_bytes: u64,
}

impl Own {
    fn run(self) -> Run {
        let report = self.report;
        let all: f64 = report.stage_seconds.values().sum();
        let stages = report.stage_seconds.into_iter();
        Run {
            set: self.set,
            purpose: self.purpose,
            version: self.version,
            layout: report.layout,
            key_bits: self.aes_key_bits,
            direction: self.direction,
            expansion: self.expansion,
            threads: report.threads,
            blocks: report.blocks,
            blocks_per_batch: report.blocks.div_ceil(report.batches.max(1)),
            batches: report.batches,
            setup_seconds: report.setup_seconds,
            seconds: report.seconds,
            seconds_per_batch: report.seconds / report.batches as f64,
            seconds_per_round: report.seconds_per_round,
            ms_per_block: report.seconds * 1e3 / report.blocks as f64,
            rounds: report.steps,
            transforms: report.transforms,
            rotations: report.rotations,
            counts: report.counts,
            stages: stages
                .map(|(name, seconds)| (name, if all > 0.0 { seconds / all } else { 0.0 }))
                .collect(),
            busy: all / (report.seconds * report.threads as f64),
            noise_bits: report.noise_bits,
            capacity_bits: report.capacity_bits,
            log2_p_fail: report.log2_p_fail,
            ciphertext_bytes: report.file_bytes,
            ciphertext_bytes_per_byte: report.file_bytes as f64 / report.bytes as f64,
            // nobody looked: there is no secret key where it was made
            correct: true,
            ..Run::default()
        }
    }
}
