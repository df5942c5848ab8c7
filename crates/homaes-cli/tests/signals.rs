//! Ctrl-C in mid-run leaves nothing behind.

#![cfg(target_os = "linux")]

use crate::common::{World, end, signal, wait_until};
use serde_json::Value;
use std::fs;
use std::io::{BufRead, BufReader};
use std::process::{Child, Stdio};
use std::thread::sleep;
use std::time::Duration;

/// Starts `line`, interrupts it as soon as the process is `ready`, and checks that the folder is as before.
fn interrupted(world: &World, line: &str, name: &str, ready: impl Fn(&Child) -> bool) {
    let before = world.files();
    let child = world.spawn(line);
    wait_until(line, || ready(&child));
    signal(&child, name);
    end(child).check_failure(130, "error: interrupted", line);
    world.is_as(&before, line);
}

#[test]
fn transcipher() {
    let world = World::new();
    // many batches: minutes of work, so the signal comes in the middle of it
    world.message(8_000_000);
    let line = "$transcipher c -o x";
    for (name, wait) in [("-INT", 0), ("-TERM", 0), ("-INT", 300)] {
        interrupted(&world, line, name, |child| {
            let there = world.has_begun(child);
            sleep(Duration::from_millis(wait));
            there
        });
    }
    // nor does a kill
    let before = world.files();
    assert!(world.killed(line, |child| world.has_begun(child)));
    world.is_as(&before, "killed");
}

#[test]
fn keygen_in_a_new_folder() {
    let world = World::new();
    let line = "keygen --set bgv/aes128 --out new/keys";
    interrupted(&world, line, "-INT", |_| world.at("new/keys").exists());
}

/// The first process that a process has started, as a folder of `/proc`.
fn started(child: &Child) -> Option<String> {
    let children = format!("/proc/{0}/task/{0}/children", child.id());
    let children = fs::read_to_string(children).unwrap();
    let first = children.split_whitespace().next();
    first.map(|first| format!("/proc/{first}"))
}

/// `bench all --budget`, interrupted after it told of `runs` runs: the document and the last line on standard error.
fn measurement(runs: usize) -> (String, String) {
    let world = World::new();
    let mut child = world.spawn("bench all --budget 10m --json");
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
    let first = lines.next().unwrap().unwrap();
    assert!(first.contains("runs as fit"), "{first}");
    for _ in 0..runs {
        let line = lines.next().unwrap().unwrap();
        assert!(line.contains(" left "), "{line}");
    }
    // in the middle of a run
    wait_until("a run", || started(&child).is_some());
    sleep(Duration::from_millis(300));
    signal(&child, "-INT");
    let last = lines.map(Result::unwrap).last().unwrap();
    (end(child).ends(130).out, last)
}

#[test]
fn a_measurement_without_runs() {
    let (out, last) = measurement(0);
    assert_eq!(out, "");
    assert!(last.starts_with("error: interrupted"), "{last}");
}

#[test]
#[ignore = "nightly: a minute on all cores"]
fn nightly_an_interrupted_measurement_writes_what_it_has() {
    let (out, last) = measurement(2);
    let document: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(document["runs"].as_array().unwrap().len(), 2, "{last}");
    let told = last.starts_with("error: interrupted; the finished runs") && last.contains("(2)");
    assert!(told, "{last}");
    let skipped = document["skipped"].as_array().unwrap();
    let reason = |run: &Value| run["reason"] == "not reached before the interruption";
    assert!(skipped.len() > 50 && skipped.iter().all(reason), "{out}");
}

/// A run of `bench all` does not outlive it, even if it is killed.
#[test]
fn a_killed_measurement() {
    let world = World::new();
    let mut run = None;
    let killed = world.killed("bench all --set tfhe/p64 --blocks 1000 --json", |child| {
        run = started(child);
        let words = run
            .as_ref()
            .map(|run| fs::read_to_string(format!("{run}/cmdline")));
        // it is the run by now, and no copy of its parent
        words.is_some_and(|words| words.is_ok_and(|words| words.contains("--blocks=1000")))
    });
    assert!(killed);
    // of a process that has ended nothing can be read, whether or not somebody has asked for its status
    let exe = format!("{}/exe", run.unwrap());
    wait_until("the end of the run", || fs::read_link(&exe).is_err());
}

/// Under `nohup` a run outlives its terminal, and in the background of a script Ctrl-C.
#[test]
fn signals_that_the_caller_ignores() {
    let world = World::new();
    world.message(8_000);
    let mut command = world.shell("trap '' HUP INT TERM; exec $homaes $transcipher c -o x");
    let silent = command.stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = silent.spawn().unwrap();
    // its output is begun: it has looked at signals
    wait_until("an output", || world.has_begun(&child));
    for name in ["-HUP", "-INT", "-TERM"] {
        signal(&child, name);
    }
    assert!(child.wait().unwrap().success());
    assert!(world.at("x").exists());
}
