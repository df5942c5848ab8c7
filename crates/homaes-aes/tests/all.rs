//! Tests of AES from outside the library. One program: files share what they have in common, and nothing is built and linked several times.
#![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

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

/// A file that is not named above would not be compiled, and its tests would not run.
#[test]
fn every_file_is_here() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests");
    let here = include_str!("all.rs");
    let mut count = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_stem().unwrap().to_str().unwrap();
        if path.extension().is_some_and(|e| e == "rs") && name != "all" {
            assert!(here.contains(&format!("\nmod {name};\n")), "{name}");
            count += 1;
        }
    }
    assert!(count > 5);
}
