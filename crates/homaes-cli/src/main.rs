//! The program `homaes`.

#![forbid(unsafe_code)]

use homaes_math::memory::{Guarded, share_arena_under_limit};
use std::env;
use std::process::ExitCode;

/// Where memory ends, the program ends with one line and exit code 1.
#[global_allocator]
static ALLOCATOR: Guarded = Guarded::new(homaes_cli::clean_up_without_memory);

fn main() -> ExitCode {
    share_arena_under_limit();
    let program = env::current_exe().unwrap_or_else(|_| "homaes".into());
    ExitCode::from(homaes_cli::run(program, env::args_os()))
}
