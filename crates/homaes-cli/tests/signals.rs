//! Ctrl-C in mid-run leaves nothing behind.

#![allow(clippy::unwrap_used, reason = "tests fail by panicking")]
#![cfg(unix)]

use crate::common::{IV, World, unnamed_files};
use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

fn send(child: &Child, signal: &str) {
    let status = Command::new("kill")
        .args([signal, &child.id().to_string()])
        .status();
    assert!(status.unwrap().success());
}

/// Starts `line`, interrupts it as soon as the process is `ready`, and checks that the folder is as before.
fn interrupted(world: &World, line: &str, signal: &str, ready: impl Fn(&Child) -> bool) {
    let before = world.listing();
    let child = world
        .command(line)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let start = Instant::now();
    while !ready(&child) {
        assert!(
            start.elapsed() < Duration::from_secs(60),
            "{line} has not started"
        );
        sleep(Duration::from_millis(1));
    }
    send(&child, signal);
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
    let begun = |child: &Child| !unnamed_files(child, &world.at(".")).is_empty();
    for signal in ["-INT", "-TERM"] {
        interrupted(&world, &line, signal, begun);
    }
    interrupted(&world, &line, "-INT", |child| {
        let there = begun(child);
        sleep(Duration::from_millis(300));
        there
    });
}

#[test]
fn keygen_in_a_new_folder() {
    let world = World::new();
    let line = "keygen --set bgv/aes128 --out new/keys";
    interrupted(&world, line, "-INT", |_| world.at("new/keys").exists());
}

/// `bench all --budget` that is interrupted when it has told of `runs` runs: the document and the last line on standard error.
fn measurement(runs: usize) -> (String, String) {
    let world = World::new();
    let mut child = world
        .command("bench all --budget 10m --json")
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
    let first = lines.next().unwrap().unwrap();
    assert!(first.contains("runs as fit"), "{first}");
    for _ in 0..runs {
        let line = lines.next().unwrap().unwrap();
        assert!(line.contains(" left "), "{line}");
    }
    // the signal is not to come before what takes it
    sleep(Duration::from_secs(4));
    send(&child, "-INT");
    let mut out = String::new();
    let mut stdout = child.stdout.take().unwrap();
    stdout.read_to_string(&mut out).unwrap();
    let last = lines.map(Result::unwrap).last().unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(130), "{last}");
    (out, last)
}

#[test]
fn a_measurement_without_runs() {
    let (out, last) = measurement(0);
    assert_eq!(out, "");
    assert!(last.starts_with("error: interrupted"), "{last}");
}

/// It writes what it has.
#[test]
#[ignore = "a minute on all cores"]
fn a_measurement() {
    let (out, last) = measurement(2);
    let document: serde_json::Value = serde_json::from_str(&out).unwrap();
    let runs = document["runs"].as_array().unwrap().len();
    assert_eq!(runs, 2, "{last}");
    assert!(
        last.starts_with("error: interrupted; the finished runs") && last.contains("(2)"),
        "{last}"
    );
    let skipped = document["skipped"].as_array().unwrap();
    let reason = |run: &serde_json::Value| run["reason"] == "not reached before the interruption";
    assert!(skipped.len() > 50 && skipped.iter().all(reason), "{out}");
}

/// A run of `bench all` does not outlive it, even if it is killed.
#[cfg(target_os = "linux")]
#[test]
fn a_killed_measurement() {
    let world = World::new();
    let mut child = world
        .command("bench all --set tfhe/p64 --blocks 1000 --json")
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let tasks = format!("/proc/{0}/task/{0}/children", child.id());
    let run = wait_for(|| {
        let children = std::fs::read_to_string(&tasks).unwrap();
        children
            .split_whitespace()
            .next()
            .map(|run| format!("/proc/{run}/exe"))
    });
    // it is the run by now, and no copy of its parent
    wait_for(|| {
        let words = std::fs::read(run.replace("/exe", "/cmdline")).unwrap();
        String::from_utf8(words)
            .unwrap()
            .contains("--blocks=1000")
            .then_some(())
    });
    child.kill().unwrap();
    child.wait().unwrap();
    // of a process that has ended nothing can be read, whether or not somebody has asked for its status
    wait_for(|| std::fs::read_link(&run).is_err().then_some(()));
}

/// Waits until there is what is asked for.
#[cfg(target_os = "linux")]
fn wait_for<T>(what: impl Fn() -> Option<T>) -> T {
    let start = Instant::now();
    loop {
        if let Some(found) = what() {
            return found;
        }
        assert!(start.elapsed() < Duration::from_secs(60), "still waiting");
        sleep(Duration::from_millis(5));
    }
}

/// Under `nohup` a run outlives its terminal, and in the background of a script Ctrl-C.
#[cfg(target_os = "linux")]
#[test]
fn signals_that_the_caller_ignores() {
    let world = World::new();
    world.message(8_000);
    let line = format!(
        "{} transcipher --eval keys/eval.hek --wrapped-key key.hwk --mode ctr --iv {IV} c -o x",
        env!("CARGO_BIN_EXE_homaes")
    );
    let mut child = world
        .program("sh")
        .args(["-c", &format!("trap '' HUP INT TERM; exec {line}")])
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    // its output is begun: it has looked at signals
    wait_for(|| (!unnamed_files(&child, &world.at(".")).is_empty()).then_some(()));
    for signal in ["-HUP", "-INT", "-TERM"] {
        send(&child, signal);
    }
    assert!(child.wait().unwrap().success());
    assert!(world.at("x").exists());
}
