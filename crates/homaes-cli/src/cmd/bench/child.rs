//! A run in a process of its own, so that its peak memory is its own.

use crate::console::{Failure, INTERRUPTED};
use crate::signals::lock;
use homaes_lab::Run;
use std::io::{self, Read, Seek};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Mutex, OnceLock};
use std::thread;
use std::time::{Duration, Instant};

static CHILD: Mutex<Option<Child>> = Mutex::new(None);

static PROGRAM: OnceLock<PathBuf> = OnceLock::new();

/// `END`: a signal ends the program. `WRITE`: it ends the current run, so that the finished runs are written. `WRITES`:
/// it has done so.
static ON_SIGNAL: AtomicU8 = AtomicU8::new(END);
const END: u8 = 0;
const WRITE: u8 = 1;
const WRITES: u8 = 2;

/// Time between two checks whether the run has ended.
const LOOK: Duration = Duration::from_millis(20);

/// Time for clean-up after a signal.
const GRACE: Duration = Duration::from_secs(10);

pub(super) enum Ended {
    Done(Box<Run>),
    Failed(String),
    /// By SIGKILL, which only the system sends, or by another signal that did not reach this process.
    Killed,
    /// Stopped at the deadline.
    TooLong,
    /// A signal stopped the run or this process.
    Interrupted,
}

/// Sets the program that starts this command; later calls change nothing.
pub(crate) fn set_program(program: PathBuf) {
    let _ = PROGRAM.set(program);
}

/// From now on a signal ends the current run only, and [`is_interrupted`] is true; a second one ends the program.
pub(super) fn write_on_signal() {
    ON_SIGNAL.store(WRITE, Ordering::Release);
}

/// Whether there was a signal since [`write_on_signal`].
pub(super) fn is_interrupted() -> bool {
    ON_SIGNAL.load(Ordering::Acquire) == WRITES
}

/// Runs `homaes` with `words` until `deadline`; the child ends with this process however that ends.
pub(super) fn run(words: &[String], deadline: Option<Instant>) -> Result<Ended, Failure> {
    let written = written(words, deadline);
    let (status, [out, err]) =
        written.map_err(|error| Failure::system("process of a run", error))?;
    Ok(match status {
        // a signal from the terminal also reaches the child, which may end first
        Some(status) if !status.success() && is_interrupted() => Ended::Interrupted,
        None if is_interrupted() => Ended::Interrupted,
        None => Ended::TooLong,
        Some(status) if status.success() => match serde_json::from_str(&out) {
            Ok(run) => Ended::Done(Box::new(run)),
            Err(error) => Ended::Failed(format!("document of a run: {error}")),
        },
        Some(status) if is_killed(status) || status.code() == Some(INTERRUPTED.into()) => {
            Ended::Killed
        }
        Some(status) => {
            let mut lines = err.lines().rev();
            let line = lines.find_map(|line| line.strip_prefix("error: "));
            Ended::Failed(line.map_or_else(|| status.to_string(), str::to_owned))
        }
    })
}

/// The status of a run, if it ends by itself, and what it wrote on standard output and standard error.
fn written(
    words: &[String],
    deadline: Option<Instant>,
) -> io::Result<(Option<ExitStatus>, [String; 2])> {
    let program = PROGRAM.get().map_or(Path::new("homaes"), PathBuf::as_path);
    let [mut out, mut err] = [tempfile::tempfile()?, tempfile::tempfile()?];
    let child = Command::new(program)
        .args(words)
        .arg("--bound")
        // references are timed on the processor
        .env(homaes::DEVICE_VARIABLE, "cpu")
        .stdin(Stdio::piped())
        .stdout(out.try_clone()?)
        .stderr(err.try_clone()?)
        .spawn()?;
    *lock(&CHILD) = Some(child);
    let status = wait(deadline)?;
    let mut texts = [String::new(), String::new()];
    for (file, text) in [&mut out, &mut err].into_iter().zip(&mut texts) {
        file.rewind()?;
        file.read_to_string(text)?;
    }
    Ok((status, texts))
}

fn is_killed(status: ExitStatus) -> bool {
    #[cfg(unix)]
    {
        use std::os::unix::process::ExitStatusExt;
        status.signal() == Some(rustix::process::Signal::KILL.as_raw())
    }
    #[cfg(not(unix))]
    {
        let _ = status;
        false
    }
}

/// Waits for the child, and stops it at the deadline; a stopped child has no status.
fn wait(deadline: Option<Instant>) -> io::Result<Option<ExitStatus>> {
    let mut end = deadline;
    let mut stopped = false;
    loop {
        let status = match &mut *lock(&CHILD) {
            Some(child) => child.try_wait()?,
            None => return Ok(None),
        };
        if let Some(status) = status {
            *lock(&CHILD) = None;
            return Ok((!stopped).then_some(status));
        }
        let over = !stopped && is_interrupted();
        if over || end.is_some_and(|end| Instant::now() > end) {
            if let Some(child) = &mut *lock(&CHILD) {
                match stopped {
                    false => terminate(child),
                    true => child.kill()?,
                }
            }
            (stopped, end) = (true, Some(Instant::now() + GRACE));
        }
        thread::sleep(LOOK);
    }
}

/// Handles a signal. Returns whether the program continues and writes the finished runs; otherwise stops its run.
pub(crate) fn goes_on() -> bool {
    let first = ON_SIGNAL.compare_exchange(WRITE, WRITES, Ordering::AcqRel, Ordering::Acquire);
    if first.is_err() {
        stop();
    }
    first.is_ok()
}

/// Ends this process when standard input ends: the parent holds it open and writes nothing, so its end is the parent's.
pub(super) fn end_with_parent() {
    thread::spawn(|| {
        let _ = io::copy(&mut io::stdin().lock(), &mut io::sink());
        #[cfg(unix)]
        let _ = signal_hook::low_level::raise(signal_hook::consts::SIGTERM);
        #[cfg(not(unix))]
        std::process::exit(1);
    });
}

fn stop() {
    if let Some(child) = &mut *lock(&CHILD) {
        terminate(child);
        // lets the child remove its temporary folder
        let end = Instant::now() + GRACE;
        while Instant::now() < end && matches!(child.try_wait(), Ok(None)) {
            thread::sleep(LOOK);
        }
    }
}

/// Lets the child remove its temporary files.
fn terminate(child: &mut Child) {
    #[cfg(unix)]
    {
        use rustix::process::{Pid, Signal, kill_process};
        let _ = kill_process(Pid::from_child(child), Signal::TERM);
    }
    #[cfg(not(unix))]
    {
        let _ = child.kill();
    }
}
