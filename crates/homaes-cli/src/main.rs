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

use args::{Args, Command};
use clap::Parser;
use console::Failure;
use std::process::ExitCode;

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
        console::error("interrupted; no partial output is left");
        std::process::exit(INTERRUPTED);
    });
    if let Err(error) = handler {
        console::warn(&format!("signals cannot be handled: {error}"));
    }
    console::exit_code(run(args.command))
}

fn run(command: Command) -> Result<(), Failure> {
    match command {
        Command::Demo(args) => cmd::demo::run(&args),
        Command::Params(args) => cmd::params::run(&args),
        Command::Keygen(args) => cmd::keygen::run(&args),
        Command::WrapKey(args) => cmd::wrap_key::run(&args),
        Command::Transcipher(args) => cmd::transcipher::run(&args),
        Command::Decrypt(args) => cmd::decrypt::run(&args),
        Command::Inspect(args) => cmd::inspect::run(&args),
        Command::Bench(args) => cmd::bench::run(&args),
    }
}
