//! Scripts for files of one kind: see the library.
#![no_main]

libfuzzer_sys::fuzz_target!(|script: &[u8]| homaes_fuzz::run(homaes_fuzz::Kind::Computed, script));
