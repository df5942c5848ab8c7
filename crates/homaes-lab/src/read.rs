//! Reading and checking the documents of `homaes bench --json` and `homaes transcipher --report`.

use crate::document::{Lab, Round, Run};
use serde::Deserialize;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// Why a document is refused.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct DocumentError(String);

type Result<T> = core::result::Result<T, DocumentError>;

fn refused<T>(why: impl ToString) -> Result<T> {
    Err(DocumentError(why.to_string()))
}

/// Most characters of a text.
const MAX_NAME: usize = 400;
/// Most items of a list.
const MAX_ITEMS: usize = 10_000;
/// The shortest time.
const LEAST: f64 = 1e-9;
/// The largest figure, an exabyte.
const MOST: f64 = 1e18;

/// Reads a document, or returns the first fault found. A document of one run has neither date nor machine here.
pub fn read(bytes: &[u8]) -> Result<Lab> {
    let bytes = bytes.strip_prefix("\u{feff}".as_bytes()).unwrap_or(bytes);
    let value: Value = serde_json::from_slice(bytes)
        .map_err(|error| DocumentError(format!("not JSON: {error}")))?;
    let has = |field: &str| value.get(field).is_some();
    let alone = |run: Run| Lab {
        runs: vec![run],
        ..Lab::default()
    };
    let lab = if has("runs") {
        typed("result of 'bench all'", value)?
    } else if has("report") {
        alone(typed::<Own>("report of 'transcipher'", value)?.run())
    } else if has("seconds_per_batch") {
        alone(typed("result of 'bench'", value)?)
    } else {
        return refused(
            "found JSON without 'runs', 'seconds_per_batch' or 'report', expected a document of 'homaes bench --json' \
             or 'homaes transcipher --report'",
        );
    };
    check_parts("document", &json!(lab))?;
    lab.runs.iter().try_for_each(check_run)?;
    Ok(lab)
}

fn typed<T: for<'d> Deserialize<'d>>(kind: &str, value: Value) -> Result<T> {
    serde_json::from_value(value).map_err(|error| DocumentError(format!("{kind}: {error}")))
}

/// Checks that every text, number and list fits on a page and in a picture.
fn check_parts(field: &str, value: &Value) -> Result<()> {
    let text = |text: &str| {
        // XML, and so a picture, cannot contain the last two
        let allowed = |c: char| !c.is_control() && !matches!(c, '\u{fffe}' | '\u{ffff}');
        text.chars().count() <= MAX_NAME && text.chars().all(allowed)
    };
    let sound = match value {
        Value::Null | Value::Bool(_) => true,
        Value::Number(number) => number.as_f64().is_some_and(|n| n.abs() <= MOST),
        Value::String(string) => text(string),
        Value::Array(items) => items.len() <= MAX_ITEMS,
        Value::Object(fields) => fields.len() <= MAX_ITEMS && fields.keys().all(|key| text(key)),
    };
    if !sound {
        return refused(format!(
            "{field}: expected numbers up to {MOST}, lists of at most {MAX_ITEMS} and texts of at most {MAX_NAME} \
             characters without control characters"
        ));
    }
    match value {
        Value::Array(items) => items.iter().try_for_each(|item| check_parts(field, item)),
        Value::Object(fields) => fields
            .iter()
            .try_for_each(|(field, value)| check_parts(field, value)),
        _ => Ok(()),
    }
}

/// Checks figures that pages divide by or take logarithms of.
fn check_run(run: &Run) -> Result<()> {
    let name = run.name();
    if !run.correct {
        return refused(format!("run {name} is marked as incorrect and not shown"));
    }
    let within = |field: &str, found: f64, least: f64| match (least..=MOST).contains(&found) {
        true => Ok(()),
        false => refused(format!(
            "run {name}: {field} is {found}, expected a number from {least} to {MOST}"
        )),
    };
    for (field, &mut found) in run.clone().times() {
        let least = if field == "setup_seconds" { 0.0 } else { LEAST };
        within(field, found, least)?;
    }
    within("seconds_per_batch", run.seconds_per_batch, LEAST)?;
    within("ms_per_block", run.ms_per_block, LEAST)?;
    within("threads", run.threads as f64, 1.0)?;
    within("blocks", run.blocks as f64, 1.0)?;
    let bytes = run.ciphertext_bytes_per_byte;
    within("ciphertext_bytes_per_byte", bytes, 0.0)?;
    for &found in run.samples.values().flatten() {
        within("a repetition", found, 0.0)?;
    }
    let seconds = run.samples.get("seconds");
    within("repetitions", seconds.map_or(1, Vec::len) as f64, 1.0)?;
    for round in &run.rounds {
        let times = [round.seconds].into_iter();
        let mut times = times.chain(round.stage_seconds.values().copied());
        times.try_for_each(|found| within("seconds of a round", found, 0.0))?;
    }
    Ok(())
}

/// The fields of `homaes transcipher --report` that pages show.
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
            // unknown: the server has no secret key
            correct: true,
            ..Run::default()
        }
    }
}
