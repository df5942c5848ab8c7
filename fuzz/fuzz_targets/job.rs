//! Scripts for plans of jobs: see the library.
#![no_main]

libfuzzer_sys::fuzz_target!(|script: &[u8]| homaes_fuzz::run_job(script));
