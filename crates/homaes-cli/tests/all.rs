//! Tests of the command from outside. One program: files share what they have in common, and nothing is built and
//! linked several times. A file that is not named here would not run: `homaes-cli/tests/files.rs` looks.

#![allow(clippy::unwrap_used, clippy::panic, reason = "tests fail by panicking")]

mod authenticated;
mod book;
mod bridge;
mod ckks;
mod commands;
mod common;
mod compact;
mod damage;
mod deploy;
mod devices;
mod estimates;
mod failures;
mod files;
mod job;
mod lab;
mod lists;
mod machine_code;
mod parts;
mod passphrase;
mod plain;
mod reliability;
mod resume;
mod signals;
mod tfhe;
