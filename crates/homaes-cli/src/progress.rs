//! How a run is followed: a bar on terminals, one JSON object per line for programs, or nothing.

use crate::args;
use crate::console;
use homaes::{Progress, Report, Stages, Step};
use homaes_math::memory::room_for_thread;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::io::{self, IsTerminal};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// Follows one run.
pub(crate) enum Follower {
    Bar(ProgressBar),
    Json { start: Instant, done: u64 },
    Silent,
}

impl Follower {
    /// `auto` shows a bar on a terminal and nothing elsewhere.
    pub(crate) fn new(choice: args::Progress) -> Self {
        match choice {
            args::Progress::Auto => Self::Bar(show(
                "transciphering",
                "{spinner} {msg} {wide_bar} {percent}% eta {eta}",
            )),
            args::Progress::Json => Self::Json {
                start: Instant::now(),
                done: 0,
            },
            args::Progress::None => Self::Silent,
        }
    }

    /// Whether standard output is for the lines of this follower alone.
    pub(crate) fn is_json(&self) -> bool {
        matches!(self, Self::Json { .. })
    }

    /// Takes one event.
    pub(crate) fn event(&mut self, event: Progress) {
        let total = event.batches * (event.rounds as u64 + 1);
        match self {
            Self::Bar(bar) => {
                bar.set_length(total);
                bar.inc(1);
            }
            Self::Json { start, done } => {
                *done += 1;
                line(&json!({
                    "event": "round",
                    "batch": event.batch,
                    "batches": event.batches,
                    "round": event.round,
                    "rounds": event.rounds,
                    "fraction": *done as f64 / total as f64,
                    "seconds": start.elapsed().as_secs_f64(),
                    "step": step_json((event.round, &event.step)),
                }));
            }
            Self::Silent => {}
        }
    }

    /// The run has succeeded.
    pub(crate) fn finish(&self, report: &Report) {
        match self {
            Self::Bar(_) => clear(),
            Self::Json { .. } => line(&json!({ "event": "done", "report": report_json(report) })),
            Self::Silent => {}
        }
    }
}

/// A report as JSON.
pub(crate) fn report_json(report: &Report) -> Value {
    let mut steps = steps_json(&report.steps);
    for (step, seconds) in steps
        .as_array_mut()
        .into_iter()
        .flatten()
        .zip(&report.stages_by_step)
    {
        step["stage_seconds"] = json!(stages(Some(seconds)));
    }
    json!({
        "layout": report.layout.name(),
        "bytes": report.bytes,
        "blocks": report.blocks,
        "batches": report.batches,
        "threads": report.threads,
        "setup_seconds": report.setup_seconds,
        "seconds": report.seconds,
        "seconds_per_round": report.steps.iter().map(|step| step.seconds).collect::<Vec<_>>(),
        "steps": steps,
        "transforms": report.count("transforms"),
        "rotations": report.count("rotations"),
        "counts": counts_json(report),
        "stage_seconds": stages(Some(&report.stages)),
        "level": report.quality.map(|quality| quality.level),
        "multiplications_left": report.quality.and_then(|quality| report.scheme.multiplications_left(quality.level)),
        "noise_bits": report.quality.map(|quality| quality.noise_bits),
        "capacity_bits": report.quality.map(|quality| quality.capacity_bits),
        "file_bytes": report.file_bytes,
    })
}

/// Seconds by kernel group, or shares of them, by name.
pub(crate) fn stages(stages: Option<&Stages>) -> BTreeMap<String, f64> {
    let stages = stages.into_iter().flatten();
    stages
        .map(|&(name, seconds)| (name.to_owned(), seconds))
        .collect()
}

/// What a scheme counted, by name.
fn counts_json(report: &Report) -> Value {
    let counts = report.counts.iter();
    let counts = counts.map(|&(name, count)| (name.to_owned(), json!(count)));
    Value::Object(counts.collect())
}

/// Steps of AES as JSON.
pub(crate) fn steps_json(steps: &[Step]) -> Value {
    steps.iter().enumerate().map(step_json).collect()
}

fn step_json((round, step): (usize, &Step)) -> Value {
    json!({
        "round": round,
        "seconds": step.seconds,
        "level": step.quality.level,
        "noise_bits": step.quality.noise_bits,
        "capacity_bits": step.quality.capacity_bits,
    })
}

impl Drop for Follower {
    fn drop(&mut self) {
        // A bar of a run that failed.
        clear();
    }
}

/// A bar for work of known length.
pub(crate) struct Counter(ProgressBar);

impl Counter {
    /// Shows a bar if there is a terminal.
    pub(crate) fn new(what: &'static str) -> Self {
        Self(show(
            what,
            "{spinner} {msg} {wide_bar} {percent}% eta {eta}",
        ))
    }

    /// What is counted now.
    pub(crate) fn label(&mut self, what: &'static str) {
        self.0.set_message(what);
    }

    /// `done` of `all` parts are done.
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

/// Time between two pictures of a bar that turns.
const TICK: Duration = Duration::from_millis(100);

/// Shows on a terminal that `what` goes on, until the result is there.
pub(crate) fn spin<T>(what: &'static str, work: impl FnOnce() -> T) -> T {
    show(what, "{spinner} {msg} {elapsed}");
    let result = work();
    clear();
    result
}

/// The bar on the terminal, to be cleared before anything else is written there.
static CURRENT: Mutex<Option<Shown>> = Mutex::new(None);

struct Shown {
    bar: ProgressBar,
    /// The thread that moves the bar ends with it.
    _moves: Sender<()>,
}

/// Removes the bar from the terminal.
pub(crate) fn clear() {
    let current = CURRENT
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .take();
    if let Some(shown) = current {
        shown.bar.finish_and_clear();
    }
}

/// A bar of unknown length, on standard error if that is a terminal.
fn show(what: &'static str, template: &str) -> ProgressBar {
    let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
    // The templates are fixed, so they cannot be wrong; the default would do as well.
    if let Ok(style) = ProgressStyle::with_template(template) {
        bar.set_style(style);
    }
    bar.set_message(what);
    if io::stderr().is_terminal() {
        let (moves, stop) = channel();
        let moved = bar.clone();
        // The bar's own ticker panics where no thread can be started; without one this bar moves with events only.
        let _ = room_for_thread().and_then(|()| {
            thread::Builder::new().spawn(move || {
                while stop.recv_timeout(TICK) == Err(RecvTimeoutError::Timeout) {
                    moved.tick();
                }
            })
        });
        let shown = Shown {
            bar: bar.clone(),
            _moves: moves,
        };
        *CURRENT.lock().unwrap_or_else(PoisonError::into_inner) = Some(shown);
    }
    bar
}

/// Writes one line. The work goes on when it cannot be written, and so does the reader's loss; that is said once.
fn line(value: &Value) {
    static LOST: AtomicBool = AtomicBool::new(false);
    let written = console::write(&format!("{value}\n"));
    if let Err(error) = written
        && !LOST.swap(true, Ordering::Relaxed)
    {
        console::warn(&format!(
            "standard output: {error}; the work goes on, but lines of its progress are lost"
        ));
    }
}
