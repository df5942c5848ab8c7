//! Ctrl-C in mid-run leaves nothing behind.

#![allow(clippy::unwrap_used, reason = "tests fail by panicking")]
#![cfg(unix)]

use crate::common::{IV, World};
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// Starts `line`, interrupts it as soon as `ready`, and checks that the folder is as before.
fn interrupted(world: &World, line: &str, signal: &str, ready: impl Fn() -> bool) {
    let before = world.listing();
    let child = world
        .command(line)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let start = Instant::now();
    while !ready() {
        assert!(
            start.elapsed() < Duration::from_secs(60),
            "{line} has not started"
        );
        sleep(Duration::from_millis(1));
    }
    let killed = Command::new("kill")
        .args([signal, &child.id().to_string()])
        .status()
        .unwrap();
    assert!(killed.success());
    let output = child.wait_with_output().unwrap();
    let err = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(130), "{line}: {err}");
    assert_eq!(
        err.lines()
            .filter(|line| line.starts_with("error:"))
            .count(),
        1,
        "{err}"
    );
    assert!(err.contains("error: interrupted"), "{err}");
    assert_eq!(world.listing(), before, "{line}");
}

#[test]
fn transcipher() {
    let world = World::new();
    // Many batches: minutes of work, so the signal comes in the middle of it.
    world.message(8_000_000);
    let line = format!(
        "transcipher --eval keys/eval.hek --wrapped-key key.hwk --mode ctr --iv {IV} c -o x"
    );
    for signal in ["-INT", "-TERM"] {
        let count = world.listing().len();
        interrupted(&world, &line, signal, || world.listing().len() > count);
    }
    let count = world.listing().len();
    interrupted(&world, &line, "-INT", || {
        let there = world.listing().len() > count;
        sleep(Duration::from_millis(300));
        there
    });
}

#[test]
fn keygen_in_a_new_folder() {
    let world = World::new();
    let line = "keygen --set bgv/aes128 --out new/keys";
    interrupted(&world, line, "-INT", || world.at("new/keys").exists());
}
