//! Tests of the library's public API, linked as one program.

mod cancel;
mod ciphertexts;
mod common;
mod crafted;
mod finish;
mod golden;
mod many_keys;
mod modes;
mod parts;
mod passphrase;
mod resume;
mod round_trip;
mod scan;
mod timing;
mod totals;
mod values;
