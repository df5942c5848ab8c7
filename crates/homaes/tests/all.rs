//! Tests of the library from outside. One program: files share what they have in common, and nothing is built and linked several times.
//! A file that is not named here would not run: `homaes-cli/tests/files.rs` looks.

mod cancel;
mod crafted;
mod golden;
mod modes;
mod passphrase;
mod round_trip;
mod tfhe;
mod timing;
