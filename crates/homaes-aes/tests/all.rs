//! Tests of AES from outside the library. One program: files share what they have in common, and nothing is built and linked several times.
//! A file that is not named here would not run: `homaes-cli/tests/files.rs` looks.

mod common;
mod cost;
mod fips197;
mod folded;
mod gcm;
mod known_answers;
mod oracle;
mod sbox_exhaustive;
mod slp;
mod vectors;
