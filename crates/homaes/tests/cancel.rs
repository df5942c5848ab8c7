//! Cancelled runs end soon and leave no files.

#![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

use homaes::{
    AesFile, AesKey, Cancel, Error, KeySet, KeySize, Layout, Mode, Output, Set, Transcipher,
    WrapOptions, WrappedKey,
};
use std::fs;
use std::thread;
use std::time::{Duration, Instant};

/// Cancels a run of `blocks` blocks after each of these times; returns the longest time that one then took to end.
fn cancelled(set: &str, layout: Layout, blocks: usize, after: &[Duration]) -> Duration {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let set = Set::named(set).unwrap();
    let keys = KeySet::generate(&set).unwrap();
    let size = [KeySize::Aes256, KeySize::Aes128];
    let fits = |size: &&KeySize| set.levels_left(layout, **size).is_some();
    let size = size.iter().find(fits).unwrap();
    let aes_key = AesKey::from_bytes(&vec![7; size.key_bytes()]).unwrap();
    let wrapping = WrapOptions {
        layouts: vec![layout],
        ..WrapOptions::default()
    };
    let wrapped = WrappedKey::encrypt(&keys.secret, &aes_key, &wrapping).unwrap();
    fs::write(at("c"), vec![0x5a; 16 * blocks]).unwrap();
    let mut longest = Duration::ZERO;
    for &after in after {
        let cancel = Cancel::new();
        let run = Transcipher::new(&keys.eval, &wrapped).unwrap();
        let run = run.cancel(cancel.clone());
        let job = AesFile::open(at("c"), Mode::Ctr { iv: [1; 16] }).unwrap();
        let output = Output::create(at("o"), false).unwrap();
        let thrown = thread::spawn(move || {
            thread::sleep(after);
            cancel.cancel();
            Instant::now()
        });
        let found = run.run(job, output);
        let end = Instant::now();
        let thrown = thrown.join().unwrap();
        assert!(matches!(found, Err(Error::Cancelled)), "{found:?}");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
        longest = longest.max(end.saturating_duration_since(thrown));
    }
    longest
}

fn moments(count: u64, most: Duration) -> Vec<Duration> {
    (0..count)
        .map(|i| most.mul_f64((i as f64 + 0.37) / count as f64))
        .collect()
}

#[test]
fn a_cancelled_run_leaves_nothing() {
    let at_once = moments(4, Duration::from_millis(60));
    for (set, layout, blocks) in [
        ("bgv/toy-255", Layout::Sliced, 4000),
        ("bgv/toy-255", Layout::Bits, 160),
        ("tfhe/toy", Layout::Bits, 3200),
        ("tfhe/nibble-toy", Layout::Sliced, 3200),
    ] {
        cancelled(set, layout, blocks, &at_once);
    }
}

/// A `Cancel` that was replaced by another does not end the run.
#[test]
fn a_replaced_cancel_has_no_effect() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    fs::write(at("c"), [0x5a; 64]).unwrap();
    for set in ["bgv/toy-255", "tfhe/toy", "tfhe/nibble-toy"] {
        let keys = KeySet::generate(&Set::named(set).unwrap()).unwrap();
        let aes_key = AesKey::from_bytes(&[7; 16]).unwrap();
        let wrapped = WrappedKey::encrypt(&keys.secret, &aes_key, &WrapOptions::default()).unwrap();
        let first = Cancel::new();
        let mut run = Transcipher::new(&keys.eval, &wrapped).unwrap();
        let found = [first.clone(), Cancel::new()].map(|switch| {
            run = std::mem::replace(&mut run, Transcipher::new(&keys.eval, &wrapped).unwrap())
                .cancel(switch);
            let job = AesFile::open(at("c"), Mode::Ctr { iv: [1; 16] }).unwrap();
            run.run(job, Output::create(at("o"), true).unwrap())
                .unwrap();
            first.cancel();
            let output = Output::create(at("p"), true).unwrap();
            keys.secret.decrypt(at("o"), output).unwrap();
            fs::read(at("p")).unwrap()
        });
        assert!(found[0] == found[1], "{set}");
    }
}

/// `cargo test --release -p homaes --test all cancel:: -- --ignored --nocapture`
#[test]
#[ignore = "nightly: minutes, at full size"]
fn nightly_a_cancelled_run_ends_within_a_second() {
    for (set, layout, blocks, seconds) in [
        ("bgv/aes128", Layout::Sliced, 2048, 2.0),
        ("bgv/aes256+2", Layout::Sliced, 2048, 6.0),
        ("tfhe/p64", Layout::Bits, 32, 20.0),
        ("tfhe/nibble128", Layout::Sliced, 4, 30.0),
    ] {
        let moments = moments(8, Duration::from_secs_f64(seconds));
        let longest = cancelled(set, layout, blocks, &moments);
        println!("{set}, layout {layout}: ended within {longest:?}");
        assert!(longest < Duration::from_secs(1), "{set}: {longest:?}");
    }
}
