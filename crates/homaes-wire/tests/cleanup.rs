//! `cleanup_all` reaches every temporary file of the process, so it has a process of its own.

use homaes_wire::{AtomicFile, OutputOptions, WireError, cleanup_all};
use std::io::Write;

#[test]
fn live_temporaries_are_removed() {
    let folder = tempfile::TempDir::new().unwrap();
    let path = |name: &str| folder.path().join(name);
    let count = || std::fs::read_dir(folder.path()).unwrap().count();
    let mut a = AtomicFile::create(&path("a"), OutputOptions::default()).unwrap();
    let b = AtomicFile::create(&path("b"), OutputOptions::default()).unwrap();
    AtomicFile::create(&path("done"), OutputOptions::default())
        .unwrap()
        .commit()
        .unwrap();
    assert_eq!(count(), 3);
    cleanup_all();
    assert_eq!(count(), 1);
    assert!(path("done").exists());
    // What was cleaned up can be written to and dropped, but not committed.
    a.write_all(b"abc").unwrap();
    assert!(matches!(a.commit(), Err(WireError::Io { .. })));
    drop(b);
    assert_eq!(count(), 1);
}
