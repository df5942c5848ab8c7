//! Progress as a bar on terminals, as one JSON object per line for programs, or not at all.

use crate::args;
use crate::console;
use homaes::{Progress, Quality, Report, Share, Stages, Step};
use homaes_lab::Round;
use homaes_lab::units::short_seconds;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use serde_json::{Value, json};
use std::collections::{BTreeMap, VecDeque};
use std::io::{self, IsTerminal};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// The last batches, whose times estimate the time left.
const RECENT: usize = 16;

struct Pace {
    start: Instant,
    /// Steps of AES done in this run.
    done: u64,
    /// Batches done by earlier runs and by other workers.
    resumed: u64,
    /// Batches done in this run, and when the last one was.
    batches: u64,
    last: Duration,
    /// Seconds.
    recent: VecDeque<f64>,
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
            recent: VecDeque::new(),
        }
    }

    /// Counts one step of AES; returns the steps done and the steps of all batches.
    fn step(&mut self, event: Progress) -> (u64, u64) {
        let steps = event.rounds as u64 + 1;
        self.done += 1;
        if event.round == event.rounds {
            let now = self.start.elapsed();
            if self.recent.len() == RECENT {
                self.recent.pop_front();
            }
            self.recent.push_back((now - self.last).as_secs_f64());
            (self.batches, self.last) = (self.batches + 1, now);
        }
        (self.resumed * steps + self.done, event.batches * steps)
    }

    /// Seconds left, known once a batch is done: the median of the recent batches for each missing batch, less the time
    /// already spent on the current one.
    fn seconds_left(&self, batches: u64) -> Option<f64> {
        let mut recent: Vec<f64> = self.recent.iter().copied().collect();
        recent.sort_by(f64::total_cmp);
        let median = recent.get(recent.len() / 2).copied()?;
        let left = batches.saturating_sub(self.resumed + self.batches) as f64 * median;
        let spent = self.start.elapsed().saturating_sub(self.last);
        Some((left - spent.as_secs_f64().min(median)).max(0.0))
    }
}

pub(crate) struct Follower {
    shows: Shows,
    pace: Pace,
}

enum Shows {
    Bar(ProgressBar),
    Json,
    Nothing,
}

impl Follower {
    /// `auto` shows a bar on a terminal and nothing elsewhere.
    pub(crate) fn new(choice: args::Progress) -> Self {
        let shows = match choice {
            args::Progress::Auto => {
                let template = "{spinner} {msg} {wide_bar} {percent}% {prefix}";
                Shows::Bar(show("transciphering", template))
            }
            args::Progress::Json => Shows::Json,
            args::Progress::None => Shows::Nothing,
        };
        let pace = Pace::new(0);
        Self { shows, pace }
    }

    /// Whether standard output carries this follower's lines only.
    pub(crate) fn is_json(&self) -> bool {
        matches!(self.shows, Shows::Json)
    }

    /// Starts the clock; earlier runs left `batches` batches.
    pub(crate) fn kept(&mut self, batches: u64) {
        self.pace = Pace::new(batches);
    }

    /// Other workers have finished `batches` more batches.
    pub(crate) fn others(&mut self, batches: u64) {
        self.pace.resumed += batches;
    }

    /// Prints `value` if the progress is JSON.
    pub(crate) fn tell(&self, value: &Value) {
        if self.is_json() {
            line(value);
        }
    }

    pub(crate) fn event(&mut self, event: Progress) {
        let (done, total) = self.pace.step(event);
        let left = self.pace.seconds_left(event.batches);
        match &self.shows {
            Shows::Bar(bar) => {
                bar.set_length(total);
                bar.set_position(done);
                if let Some(left) = left {
                    bar.set_prefix(format!("eta {}", short_seconds(left)));
                }
            }
            Shows::Json => line(&json!({
                "event": "round",
                "batch": event.batch,
                "batches": event.batches,
                "round": event.round,
                "rounds": event.rounds,
                "fraction": done as f64 / total as f64,
                "seconds": self.pace.start.elapsed().as_secs_f64(),
                "eta_seconds": left,
                "step": step_json((event.round, &event.step)),
            })),
            Shows::Nothing => {}
        }
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

impl Drop for Follower {
    fn drop(&mut self) {
        // a failed run leaves its bar
        clear();
    }
}

pub(crate) struct Counter(ProgressBar);

impl Counter {
    pub(crate) fn new(what: &'static str) -> Self {
        Self(show(
            what,
            "{spinner} {msg} {wide_bar} {percent}% eta {eta}",
        ))
    }

    pub(crate) fn label(&mut self, what: &'static str) {
        self.0.set_message(what);
    }

    pub(crate) fn set(&mut self, done: u64, all: u64) {
        self.0.set_length(all);
        self.0.set_position(done);
    }
}

impl Drop for Counter {
    fn drop(&mut self) {
        clear();
    }
}

/// Refresh interval of the spinner.
const TICK: Duration = Duration::from_millis(100);

pub(crate) fn spin<T>(what: &'static str, work: impl FnOnce() -> T) -> T {
    show(what, "{spinner} {msg} {elapsed}");
    let result = work();
    clear();
    result
}

/// The bar must be cleared before anything else is written to the terminal.
static CURRENT: Mutex<Option<Shown>> = Mutex::new(None);

struct Shown {
    bar: ProgressBar,
    /// Dropping it ends the thread that moves the bar.
    _moves: Sender<()>,
}

pub(crate) fn clear() {
    let current = CURRENT
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .take();
    if let Some(shown) = current {
        shown.bar.finish_and_clear();
    }
}

fn show(what: &'static str, template: &str) -> ProgressBar {
    let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
    // the fixed templates are valid
    if let Ok(style) = ProgressStyle::with_template(template) {
        bar.set_style(style);
    }
    bar.set_message(what);
    if io::stderr().is_terminal() {
        let (moves, stop) = channel();
        let moved = bar.clone();
        // the ticker of `ProgressBar` panics if no thread starts; this bar then moves with events only
        let _ = thread::Builder::new().spawn(move || {
            while stop.recv_timeout(TICK) == Err(RecvTimeoutError::Timeout) {
                moved.tick();
            }
        });
        let shown = Shown {
            bar: bar.clone(),
            _moves: moves,
        };
        *CURRENT.lock().unwrap_or_else(PoisonError::into_inner) = Some(shown);
    }
    bar
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
