//! The program `homaes`.

#![forbid(unsafe_code)]

use std::env;
use std::process::ExitCode;

fn main() -> ExitCode {
    let program = env::current_exe().unwrap_or_else(|_| "homaes".into());
    ExitCode::from(homaes_cli::run(program, env::args_os()))
}
