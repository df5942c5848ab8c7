//! The command `homaes` turns AES-encrypted files into FHE ciphertexts without seeing key or data.
//!
//! Each command is a few calls of the library `homaes`. Exit codes: 0 done, 1 failed, 2 wrong command line, 75 failed
//! but may succeed later, 130 stopped by a signal. Every failure prints one line that starts with `error:`.
//!
//! Other programs, such as the Python package, contain this library; the program itself is `main.rs`.

#![forbid(unsafe_code)]

mod args;
mod cmd;
mod console;
mod progress;
mod remedy;
mod scratch;
mod signals;
mod table;
mod terminal;

pub use remedy::remedy;

use args::{Args, Command};
use clap::Parser;
use console::{Failure, INTERRUPTED, refuse};
use std::ffi::OsString;
use std::panic;
use std::path::PathBuf;
#[cfg(unix)]
use std::sync::Arc;

/// Runs the command line `args`, whose first word names the program, and returns the process's exit code. Benchmarks
/// start `program` again to measure in separate processes.
///
/// The process must do nothing else: this function handles panics and termination signals, and a signal ends the
/// process.
#[must_use]
pub fn run(program: PathBuf, args: impl IntoIterator<Item = OsString>) -> u8 {
    panic::set_hook(Box::new(|fault| {
        let place = fault.location();
        let place = place.map_or_else(String::new, ToString::to_string);
        let what = fault.payload_as_str().unwrap_or("no message");
        console::error(&format!(
            "internal error at {place}: {what}; please report it"
        ));
    }));
    cmd::bench::set_program(program);
    let args: Vec<OsString> = args.into_iter().collect();
    // a panic drops outputs, which removes them
    panic::catch_unwind(|| guarded(args)).unwrap_or(1)
}

fn guarded(args: Vec<OsString>) -> u8 {
    // the standard library's hash tables panic without random bytes
    if let Err(error) = getrandom::fill(&mut [0; 1]) {
        return console::exit_code(Err(homaes::Error::Random(error).into()));
    }
    let args = match Args::try_parse_from(args) {
        Ok(args) => args,
        Err(error) => return console::usage(&error),
    };
    let makes_files = makes_files(&args.command);
    let keeps = keeps(&args.command);
    if let Err(error) = signals::watch(move || stop(makes_files, keeps)) {
        terminal::never_hide();
        signals::end_at_once();
        console::warn(&format!(
            "cannot handle signals ({error}): a signal will stop the program at once"
        ));
    }
    // with SIGXFSZ handled, a write beyond the file size limit fails like one to a full disk
    #[cfg(unix)]
    let _ = signal_hook::flag::register(signal_hook::consts::SIGXFSZ, Arc::default());
    console::exit_code(backend().and_then(|()| execute(args.command)))
}

/// Whether a command is done once its first file is complete.
fn makes_files(command: &Command) -> bool {
    match command {
        Command::WrapKey(_) => true,
        // kept round keys are complete before the results
        Command::Transcipher(args) => args.keep_expanded.is_none(),
        Command::Compute(_)
        | Command::Scan(_)
        | Command::Finish(_)
        | Command::Export(_)
        | Command::Passphrase(_) => true,
        Command::Decrypt(args) => !cmd::decrypt::asks_for_parts(args),
        Command::Keygen(args) => args.bridge.is_none(),
        _ => false,
    }
}

/// The message after a signal that leaves unfinished work or streamed output.
fn keeps(command: &Command) -> Option<fn() -> String> {
    match command {
        Command::Keygen(args) if args.resume => Some(|| {
            "interrupted; run the same command to continue from the last complete record".to_owned()
        }),
        Command::Transcipher(args) => cmd::transcipher::keeps(args),
        Command::Job(args) => cmd::job::keeps(&args.command),
        Command::Decrypt(args) if cmd::decrypt::asks_for_parts(args) => Some(|| {
            "interrupted; complete parts stay; run the same command for the others".to_owned()
        }),
        _ => None,
    }
}

/// Ends the program on a signal, successfully if the outputs are complete.
fn stop(makes_files: bool, keeps: Option<fn() -> String>) {
    if cmd::bench::goes_on_after_signal() {
        return;
    }
    let completed = homaes::interrupt();
    scratch::remove();
    progress::clear();
    terminal::restore();
    if makes_files && completed > 0 {
        console::warn("interrupted after the output was complete");
        signals::end(0);
    }
    let removed = || "interrupted; partial output was removed".to_owned();
    console::error(&keeps.map_or_else(removed, |message| message()));
    signals::end(INTERRUPTED);
}

/// Refuses an environment variable that would be ignored.
fn backend() -> Result<(), Failure> {
    let (name, known) = (homaes_math::BACKEND_VARIABLE, homaes_math::BACKEND_NAMES);
    match std::env::var_os(name) {
        Some(value) if known.iter().all(|&k| value != k) => {
            let known: Vec<_> = known.iter().map(|k| format!("{k:?}")).collect();
            let known = known.join(" or ");
            refuse(format!(
                "environment variable {name}: found {value:?}, expected {known}; unset it for the best kernels"
            ))
        }
        _ => Ok(()),
    }
}

fn execute(command: Command) -> Result<(), Failure> {
    match command {
        Command::Demo(args) => cmd::demo::run(&args),
        Command::Params(args) => cmd::params::run(&args),
        Command::Keygen(args) => cmd::keygen::run(&args),
        Command::WrapKey(args) => cmd::wrap_key::run(&args),
        Command::Transcipher(args) => cmd::transcipher::run(&args),
        Command::Job(args) => cmd::job::run(args.command),
        Command::Decrypt(args) => cmd::decrypt::run(&args),
        Command::Passphrase(args) => cmd::passphrase::run(&args),
        Command::Compute(args) => cmd::compute::run(&args),
        Command::Scan(args) => cmd::scan::run(&args),
        Command::Finish(args) => cmd::finish::run(&args),
        Command::Export(args) => cmd::export::run(&args),
        Command::Inspect(args) => cmd::inspect::run(&args),
        Command::Devices(args) => cmd::devices::run(&args),
        Command::Bench(args) => cmd::bench::run(&args),
        Command::Report(args) => cmd::report::run(&args),
        Command::Completions(args) => cmd::manual::completions(&args),
        Command::Man(args) => cmd::manual::man(&args),
    }
}
