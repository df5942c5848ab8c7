//! Tests of AES from outside the library, in one program. `homaes-cli/tests/files.rs` checks that all files are here.

#![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

mod common;
mod cost;
mod counted;
mod fips197;
mod gcm;
mod known_answers;
mod oracle;
mod sbox_exhaustive;
mod slp;
mod vectors;
