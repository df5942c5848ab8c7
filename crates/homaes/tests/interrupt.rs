//! `interrupt` stops every output of the process, so this test is a process of its own.

#![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

use homaes::{Output, interrupt};
use std::fs;
use std::io::Write;

#[test]
fn complete_outputs_stay_and_are_counted() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    for name in ["a", "b"] {
        let mut output = Output::create(at(name), false).unwrap();
        output.write_all(name.as_bytes()).unwrap();
        output.commit().unwrap();
    }
    let mut unfinished = Output::create(at("c"), false).unwrap();
    unfinished.write_all(b"c").unwrap();
    Output::held("memory", std::io::sink()).commit().unwrap();
    assert!(!at("c").exists());
    assert_eq!(interrupt(), 2);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2);
    // dropping it would wait forever
    std::mem::forget(unfinished);
}
