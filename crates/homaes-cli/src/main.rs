//! The command `homaes`: AES-encrypted files become FHE ciphertexts, without key or data being seen.
//!
//! Everything it does is a few calls of the library of the same name. Exit codes: 0 done, 1 the work failed, 2 the
//! command line is wrong, 130 stopped by a signal; every failure prints one line that starts with `error:`.

#![forbid(unsafe_code)]

mod args;
mod cmd;
mod console;
mod progress;
mod scratch;
mod table;
mod terminal;

use args::{Args, Command};
use clap::Parser;
use console::Failure;
use std::process::ExitCode;
#[cfg(unix)]
use std::sync::Arc;

/// Exit code of a program stopped by Ctrl-C, by convention.
const INTERRUPTED: i32 = 130;

fn main() -> ExitCode {
    let args = match Args::try_parse() {
        Ok(args) => args,
        Err(error) => return console::usage(&error),
    };
    let handler = ctrlc::set_handler(|| {
        homaes::interrupt();
        scratch::remove();
        progress::clear();
        terminal::restore();
        console::error("interrupted; no partial output is left");
        std::process::exit(INTERRUPTED);
    });
    if let Err(error) = handler {
        console::warn(&format!("signals cannot be handled: {error}"));
    }
    // a write beyond the limit of file sizes then fails like one to a full disk, and leaves nothing
    #[cfg(unix)]
    let _ = signal_hook::flag::register(signal_hook::consts::SIGXFSZ, Arc::default());
    console::exit_code(backend().and_then(|()| run(args.command)))
}

/// Refuses an environment variable that would be ignored.
fn backend() -> Result<(), Failure> {
    let name = "HOMAES_BACKEND";
    match std::env::var_os(name) {
        Some(value) if value != "portable" && value != "avx2" => Err(Failure::Usage(format!(
            "environment variable {name}: found {value:?}, expected \"portable\" or \"avx2\"; unset it for the best kernels"
        ))),
        _ => Ok(()),
    }
}

fn run(command: Command) -> Result<(), Failure> {
    match command {
        Command::Demo(args) => cmd::demo::run(&args),
        Command::Params(args) => cmd::params::run(&args),
        Command::Keygen(args) => cmd::keygen::run(&args),
        Command::WrapKey(args) => cmd::wrap_key::run(&args),
        Command::Transcipher(args) => cmd::transcipher::run(&args),
        Command::Decrypt(args) => cmd::decrypt::run(&args),
        Command::Passphrase(args) => cmd::passphrase::run(&args),
        Command::Inspect(args) => cmd::inspect::run(&args),
        Command::Bench(args) => cmd::bench::run(&args),
    }
}
