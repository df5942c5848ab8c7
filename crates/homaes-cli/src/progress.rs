//! Progress as a bar on terminals, as one JSON object per line for programs, or not at all.

use crate::args;
use crate::console;
use crate::signals::lock;
use homaes::{AesFile, Error, Output, Progress, Quality, Report, Share, Stages, Step, Transcipher};
use homaes_lab::Round;
use homaes_lab::units::short_seconds;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::io::{self, IsTerminal};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

const TRANSCIPHERING: &str = "transciphering";

struct Pace {
    start: Instant,
    /// Steps of AES done in this run.
    done: u64,
    /// Batches done by earlier runs and by other workers.
    resumed: u64,
    /// Batches done in this run, and when the last one was.
    batches: u64,
    last: Duration,
}

impl Pace {
    /// `resumed` batches were done by earlier runs.
    fn new(resumed: u64) -> Self {
        Self {
            start: Instant::now(),
            done: 0,
            resumed,
            batches: 0,
            last: Duration::ZERO,
        }
    }

    /// Counts one step of AES; returns the steps done and the steps of all batches.
    fn step(&mut self, event: Progress) -> (u64, u64) {
        let steps = event.rounds as u64 + 1;
        self.done += 1;
        if event.round == event.rounds {
            (self.batches, self.last) = (self.batches + 1, self.start.elapsed());
        }
        (self.resumed * steps + self.done, event.batches * steps)
    }

    /// Seconds left, known once a batch is done: the mean of this run's batches for each missing one, less the time
    /// already spent on the current one.
    fn seconds_left(&self, batches: u64) -> Option<f64> {
        let done = (self.batches > 0).then_some(self.batches as f64)?;
        let each = self.last.as_secs_f64() / done;
        let left = batches.saturating_sub(self.resumed + self.batches) as f64 * each;
        let spent = self.start.elapsed().saturating_sub(self.last);
        Some((left - spent.as_secs_f64().min(each)).max(0.0))
    }
}

pub(crate) struct Follower {
    shows: Shows,
    pace: Mutex<Pace>,
}

enum Shows {
    Bar(Bar),
    Json,
    Nothing,
}

impl Follower {
    /// `auto` shows a bar on a terminal and nothing elsewhere.
    pub(crate) fn new(choice: args::Progress) -> Self {
        let shows = match choice {
            args::Progress::Auto => {
                let template = "{spinner} {msg} {wide_bar} {percent}% {prefix}";
                Shows::Bar(Bar::new(TRANSCIPHERING, template))
            }
            args::Progress::Json => Shows::Json,
            args::Progress::None => Shows::Nothing,
        };
        let pace = Mutex::new(Pace::new(0));
        Self { shows, pace }
    }

    /// The server begins to expand a wrapped key.
    pub(crate) fn expanding(&self) {
        match &self.shows {
            Shows::Bar(bar) => bar.label("expanding the wrapped key"),
            Shows::Json => line(&json!({ "event": "expanding" })),
            Shows::Nothing => {}
        }
    }

    /// Whether standard output carries this follower's lines only.
    pub(crate) fn is_json(&self) -> bool {
        matches!(self.shows, Shows::Json)
    }

    /// Starts the clock; earlier runs left `batches` batches.
    pub(crate) fn kept(&self, batches: u64) {
        *lock(&self.pace) = Pace::new(batches);
    }

    /// Other workers have finished `batches` more batches.
    pub(crate) fn others(&self, batches: u64) {
        lock(&self.pace).resumed += batches;
    }

    /// Prints `value` if the progress is JSON.
    pub(crate) fn tell(&self, value: &Value) {
        if self.is_json() {
            line(value);
        }
    }

    pub(crate) fn event(&self, event: Progress) {
        let mut pace = lock(&self.pace);
        let (done, total) = pace.step(event);
        let left = pace.seconds_left(event.batches);
        match &self.shows {
            Shows::Bar(bar) => {
                bar.label(TRANSCIPHERING);
                bar.set(done, total);
                if let Some(left) = left {
                    bar.shown.set_prefix(format!("eta {}", short_seconds(left)));
                }
            }
            Shows::Json => line(&json!({
                "event": "round",
                "batch": event.batch,
                "batches": event.batches,
                "round": event.round,
                "rounds": event.rounds,
                "fraction": done as f64 / total as f64,
                "seconds": pace.start.elapsed().as_secs_f64(),
                "eta_seconds": left,
                "step": step_json((event.round, &event.step)),
            })),
            Shows::Nothing => {}
        }
    }

    /// Runs with this progress.
    pub(crate) fn run<'k>(
        &'k self,
        transcipher: Transcipher<'k>,
        message: AesFile,
        output: Output,
    ) -> Result<Report, Error> {
        let transcipher = transcipher.watch(|event| self.event(event));
        let report = transcipher.run(message, output)?;
        self.finish(&report);
        Ok(report)
    }

    pub(crate) fn finish(&self, report: &Report) {
        clear();
        self.tell(&json!({ "event": "done", "report": report_json(report) }));
    }
}

pub(crate) fn report_json(report: &Report) -> Value {
    let mut steps: Vec<Value> = report.steps.iter().enumerate().map(step_json).collect();
    for (step, seconds) in steps.iter_mut().zip(&report.stages_by_step) {
        step["stage_seconds"] = json!(stages(Some(seconds)));
    }
    let quality = report.quality;
    let left = |quality: Quality| report.scheme.multiplications_left(quality.level);
    json!({
        "layout": report.layout.name(),
        "bytes": report.bytes,
        "blocks": report.blocks,
        "batches": report.batches,
        "resumed": report.resumed,
        "threads": report.threads,
        "devices": report.devices.iter().map(device_json).collect::<Vec<_>>(),
        "setup_seconds": report.setup_seconds,
        "seconds": report.seconds,
        "seconds_per_round": report.steps.iter().map(|step| step.seconds).collect::<Vec<_>>(),
        "steps": steps,
        "transforms": report.count("transforms"),
        "rotations": report.count("rotations"),
        "counts": report.counts.iter().copied().collect::<BTreeMap<_, _>>(),
        "stage_seconds": stages(Some(&report.stages)),
        "level": quality.map(|quality| quality.level),
        "multiplications_left": quality.and_then(left),
        "noise_bits": quality.map(|quality| quality.noise_bits),
        "capacity_bits": quality.map(|quality| quality.capacity_bits),
        "log2_p_fail": report.log2_p_fail(),
        "file_bytes": report.file_bytes,
    })
}

fn device_json(share: &Share) -> Value {
    json!({
        "device": share.device,
        "name": share.name,
        "batches": share.batches,
        "seconds": share.seconds,
    })
}

/// Seconds by kernel group, or shares of them.
pub(crate) fn stages(stages: Option<&Stages>) -> BTreeMap<String, f64> {
    let stages = stages.into_iter().flatten();
    stages
        .map(|&(name, seconds)| (name.to_owned(), seconds))
        .collect()
}

pub(crate) fn steps_json(steps: &[Step]) -> Value {
    steps.iter().enumerate().map(step_json).collect()
}

fn step_json(step: (usize, &Step)) -> Value {
    json!(round_of(step))
}

pub(crate) fn round_of((round, step): (usize, &Step)) -> Round {
    Round {
        round,
        seconds: step.seconds,
        level: step.quality.level,
        noise_bits: step.quality.noise_bits,
        capacity_bits: step.quality.capacity_bits,
        ..Round::default()
    }
}

/// Refresh interval of the spinner.
const TICK: Duration = Duration::from_millis(100);

pub(crate) fn spin<T>(what: &'static str, work: impl FnOnce() -> T) -> T {
    let _bar = Bar::new(what, "{spinner} {msg} {elapsed}");
    work()
}

/// The bar must be cleared before anything else is written to the terminal.
static CURRENT: Mutex<Option<ProgressBar>> = Mutex::new(None);

pub(crate) fn clear() {
    if let Some(bar) = lock(&CURRENT).take() {
        bar.finish_and_clear();
    }
}

/// A bar on a terminal until it is dropped. There is one at a time.
pub(crate) struct Bar {
    shown: ProgressBar,
    /// Dropping it ends the thread that moves the bar.
    _moves: Sender<()>,
}

impl Bar {
    fn new(what: &'static str, template: &str) -> Self {
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
        // the fixed templates are valid
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style);
        }
        bar.set_message(what);
        let (moves, stop) = channel();
        if io::stderr().is_terminal() {
            let moved = bar.clone();
            // the ticker of `ProgressBar` panics if no thread starts; this bar then moves with events only
            let _ = thread::Builder::new().spawn(move || {
                while stop.recv_timeout(TICK) == Err(RecvTimeoutError::Timeout) {
                    moved.tick();
                }
            });
            *lock(&CURRENT) = Some(bar.clone());
        }
        Self {
            shown: bar,
            _moves: moves,
        }
    }

    pub(crate) fn counter(what: &'static str) -> Self {
        Self::new(what, "{spinner} {msg} {wide_bar} {percent}% eta {eta}")
    }

    pub(crate) fn label(&self, what: &'static str) {
        self.shown.set_message(what);
    }

    pub(crate) fn set(&self, done: u64, all: u64) {
        self.shown.set_length(all);
        self.shown.set_position(done);
    }
}

impl Drop for Bar {
    fn drop(&mut self) {
        clear();
    }
}

/// Writes one line. If that fails, the work continues without lines, after one warning.
fn line(value: &Value) {
    static LOST: AtomicBool = AtomicBool::new(false);
    let written = console::write(&format!("{value}\n"));
    if let Err(error) = written
        && !LOST.swap(true, Ordering::Relaxed)
    {
        console::warn(&format!(
            "standard output: {error}; the run continues without progress lines"
        ));
    }
}
