//! Cancelled runs end soon and leave no files.

#![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

use crate::common::{self, World, message, part};
use homaes::{Cancel, DecryptOptions, Error, Layout, Output, WrapOptions};
use std::thread;
use std::time::{Duration, Instant};

/// Cancels a run of `blocks` blocks after each of these times, or until one ends sooner; returns the longest time until
/// a cancelled run ended.
fn cancelled(set: &str, layout: Layout, blocks: usize, after: &[Duration]) -> Duration {
    let world = World::of(set, &common::layout(layout));
    let mut longest = Duration::ZERO;
    for &after in after {
        let cancel = Cancel::new();
        let run = world.transcipher().cancel(cancel.clone());
        let output = world.output("o");
        let thrown = thread::spawn(move || {
            thread::sleep(after);
            cancel.cancel();
            Instant::now()
        });
        let found = run.run(part(&message(16 * blocks)), output);
        let end = Instant::now();
        let thrown = thrown.join().unwrap();
        if found.is_ok() && end < thrown {
            assert!(
                longest > Duration::ZERO,
                "{set}: a run of {blocks} blocks is too short"
            );
            break;
        }
        assert!(matches!(found, Err(Error::Cancelled)), "{found:?}");
        assert!(world.names().is_empty());
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

/// A replaced `Cancel` does not end the run, and circuits do not keep the first one.
#[test]
fn a_replaced_cancel_has_no_effect() {
    for set in ["bgv/toy-255", "tfhe/toy", "tfhe/nibble-toy"] {
        let world = World::of(set, &WrapOptions::default());
        let first = Cancel::new();
        let mut run = world.transcipher().cancel(first.clone());
        for again in [Cancel::new(), Cancel::new()] {
            let (output, buffer) = Output::memory();
            run.run(part(&message(64)), output).unwrap();
            let found = world.decrypt(&buffer.take(), DecryptOptions::default());
            assert!(found.unwrap().0 == message(64), "{set}");
            run = run.cancel(again);
            first.cancel();
        }
    }
}

/// `cargo test --release -p homaes --test all cancel:: -- --ignored --nocapture`
#[test]
#[ignore = "nightly: minutes, at full size"]
fn nightly_a_cancelled_run_ends_within_a_second() {
    for (set, layout, blocks, seconds) in [
        ("bgv/aes128", Layout::Sliced, 2048, 2.0),
        ("bgv/aes256+8", Layout::Sliced, 4096, 20.0),
        ("tfhe/p64", Layout::Bits, 32, 20.0),
        ("tfhe/nibble128", Layout::Sliced, 4, 30.0),
    ] {
        let moments = moments(8, Duration::from_secs_f64(seconds));
        let longest = cancelled(set, layout, blocks, &moments);
        println!("{set}, layout {layout}: ended within {longest:?}");
        assert!(longest < Duration::from_secs(1), "{set}: {longest:?}");
    }
}
