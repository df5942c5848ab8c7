//! `transcipher --resume`: after kills, signals and a full disk the bytes are those of a run without them.

#![allow(clippy::unwrap_used, reason = "tests fail by panicking")]
#![cfg(target_os = "linux")]

use crate::common::{IV, World};
use serde_json::Value;
use std::fs;
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

/// Batches of the message; the last one is shorter.
const BATCHES: u64 = 80;

fn transcipher(more: &str) -> String {
    format!("transcipher --eval keys/eval.hek --wrapped-key key.hwk --mode ctr --iv {IV} c {more}")
}

/// Keys, a message of [`BATCHES`] batches, and in `whole.hct` what a run makes of it that nobody stops.
fn world() -> World {
    let world = World::new();
    fs::remove_file(world.at("o.hct")).unwrap();
    let bytes: Vec<u8> = (0..BATCHES as usize * 256 - 9)
        .map(|i| (i * i / 7) as u8)
        .collect();
    world.write("c", &bytes);
    world.ok(&transcipher("--reproducible --out whole.hct"));
    world
}

/// Batches that the journal says are done.
fn journalled(world: &World) -> u64 {
    let text = fs::read(world.at(".o.hct.homaes-journal")).unwrap_or_default();
    let lines = text.iter().filter(|&&byte| byte == b'\n').count() as u64;
    lines.saturating_sub(1)
}

#[test]
fn kills_at_any_moment_cost_a_batch_at_most() {
    let world = world();
    let line = transcipher("--resume --out o.hct");
    let (mut kills, mut before) = (0, 0);
    for i in 0_u64.. {
        let mut command = world.command(&line);
        let silent = command.stdout(Stdio::null()).stderr(Stdio::null());
        let mut child = silent.spawn().unwrap();
        // some while keys are read, most in the work, however slow the machine is
        while i % 4 > 0 && journalled(&world) <= before && child.try_wait().unwrap().is_none() {
            sleep(Duration::from_millis(1));
        }
        sleep(Duration::from_millis(2 + i * 7 % 30));
        if let Some(status) = child.try_wait().unwrap() {
            assert!(status.success());
            break;
        }
        child.kill().unwrap();
        child.wait().unwrap();
        let done = journalled(&world);
        assert!(done >= before, "{done} batches after {before}");
        (kills, before) = (kills + 1, done);
        if kills == 8 {
            let run = world.ok(&line);
            let words = match done {
                BATCHES => "complete, 80 batches from earlier runs".to_owned(),
                done => format!("{done} of the batches from earlier runs"),
            };
            assert!(run.out.contains(&words), "{}", run.out);
            break;
        }
    }
    assert!(kills >= 3, "{kills} kills");
    assert!(world.read("o.hct") == world.read("whole.hct"));
    assert!(!world.at(".o.hct.homaes-part").exists());
    assert!(!world.at(".o.hct.homaes-journal").exists());
}

#[test]
fn a_signal_says_how_far_it_was() {
    let world = world();
    let line = transcipher("--resume --out o.hct");
    let mut command = world.command(&line);
    let piped = command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = piped.spawn().unwrap();
    while journalled(&world) < 3 {
        sleep(Duration::from_millis(1));
    }
    let id = child.id().to_string();
    assert!(
        Command::new("kill")
            .args(["-INT", &id])
            .status()
            .unwrap()
            .success()
    );
    let output = child.wait_with_output().unwrap();
    let text = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(130), "{text}");
    assert!(
        text.contains("of 80 batches; run the same command to continue"),
        "{text}"
    );
    assert!(!world.at("o.hct").exists());
    // another input, another output name
    world.write("other", b"another message");
    let other = line.replace(" c ", " other ");
    world.fails(1, &other, "belongs to a run with another");
    let run = world.ok(&format!("{line} --progress json"));
    let first: Value = serde_json::from_str(run.out.lines().next().unwrap()).unwrap();
    assert!(first["batch"].as_u64() >= Some(3) && first["fraction"].as_f64() > Some(0.01));
    let last = run.out.lines().nth_back(1).unwrap();
    let last: Value = serde_json::from_str(last).unwrap();
    assert_eq!(last["fraction"].as_f64(), Some(1.0));
    assert_eq!(last["eta_seconds"].as_f64(), Some(0.0));
    assert!(world.read("o.hct") == world.read("whole.hct"));
}

/// A scheduler that does not know so starts the command again.
#[test]
fn a_complete_output_is_done() {
    let world = World::new();
    world.message(500);
    let line = transcipher("--resume --out o.hct --report r.json --force").replace(" --force", "");
    fs::remove_file(world.at("o.hct")).unwrap();
    world.ok(&line);
    let done = || {
        let (run, before) = (world.ok(&line), world.listing());
        let words =
            "o.hct: complete, 2 batches from earlier runs, decrypt only: no multiplications left\n";
        assert_eq!(run.out, words);
        assert_eq!(world.listing(), before);
    };
    done();
    // with its report gone
    fs::remove_file(world.at("r.json")).unwrap();
    done();
    assert!(world.at("r.json").exists());
    let refused = |line: &str| {
        let before = world.read("o.hct");
        world.fails(1, line, "o.hct: file already exists");
        assert!(world.read("o.hct") == before);
    };
    // another message by its description, damaged results, results without an end
    refused(&line.replace(IV, "00112233445566778899aabbccddeeff"));
    let own = world.read("o.hct");
    let mut damaged = own.clone();
    damaged[own.len() / 2] ^= 1;
    for wrong in [&damaged[..], &own[..own.len() - 1], b""] {
        world.write("o.hct", wrong);
        refused(&line);
    }
    world.write("o.hct", &own);
    done();
    // another last byte under the same IV, whatever its time, and another key
    for name in ["c", "key.hwk"] {
        let (input, path) = (world.read(name), world.at(name));
        let modified = fs::metadata(&path).unwrap().modified().unwrap();
        let mut other = input.clone();
        match name {
            "c" => other[499] ^= 1,
            _ => {
                world.ok("wrap-key --secret keys/secret.hsk --key-file k --out w");
                other = world.read("w");
            }
        }
        world.write(name, &other);
        let file = fs::File::options().write(true).open(&path).unwrap();
        file.set_modified(modified).unwrap();
        refused(&line);
        world.write(name, &input);
        done();
    }
    // of an output that nothing is known of, nothing is said
    fs::remove_file(world.at(".o.hct.homaes-done")).unwrap();
    refused(&line);
}

#[test]
fn a_second_run_on_the_output_is_told_of_the_first() {
    let world = world();
    let line = transcipher("--resume --out o.hct");
    let mut command = world.command(&line);
    let silent = command.stdout(Stdio::null()).stderr(Stdio::null());
    let mut first = silent.spawn().unwrap();
    while journalled(&world) < 1 {
        sleep(Duration::from_millis(1));
    }
    let words = ".o.hct.homaes-part: another run is at work on it; wait for it to end";
    world.run(&line).check_failure(1, words, &line);
    assert!(first.wait().unwrap().success());
    assert!(world.read("o.hct") == world.read("whole.hct"));
}

#[test]
fn a_full_disk_is_a_matter_of_time() {
    let world = world();
    let line = transcipher("--resume --out o.hct");
    let program = env!("CARGO_BIN_EXE_homaes");
    // a limit of file sizes, in blocks of 512 or 1024 bytes, below the length of the output
    let limited = format!("ulimit -f 500; exec {program} {line}");
    let mut command = world.program("bash");
    let output = command.args(["-c", &limited]).output().unwrap();
    let text = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(75), "{text}");
    assert!(text.contains("then run the same command"), "{text}");
    assert!(journalled(&world) > 0);
    let run = world.ok(&line);
    assert!(
        run.out.contains("of the batches from earlier runs"),
        "{}",
        run.out
    );
    assert!(world.read("o.hct") == world.read("whole.hct"));
}

#[test]
fn outputs_in_a_folder_that_is_read_and_reports() {
    let world = world();
    fs::create_dir(world.at("in")).unwrap();
    fs::rename(world.at("c"), world.at("in/c")).unwrap();
    let line = transcipher("--out in/o.hct").replace(" c ", " in ");
    world.ok(&format!("{line} --reproducible"));
    fs::rename(world.at("in/o.hct"), world.at("once.hct")).unwrap();
    // what a run has left is no part of the message
    let line = format!("{line} --resume");
    let mut command = world.command(&line);
    let silent = command.stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = silent.spawn().unwrap();
    let journal = world.at("in/.o.hct.homaes-journal");
    while fs::read(&journal).unwrap_or_default().len() < 2000 {
        sleep(Duration::from_millis(1));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    // a run of another kind makes all of it, and says what is there
    let run = world.ok(&line.replace(" --resume", " --force"));
    let left = "in/.o.hct.homaes-journal: left by a stopped run";
    assert!(run.err.contains(left), "{}", run.err);
    fs::remove_file(world.at("in/o.hct")).unwrap();
    let run = world.ok(&line);
    assert!(
        run.out.contains("of the batches from earlier runs"),
        "{}",
        run.out
    );
    assert!(world.read("in/o.hct") == world.read("once.hct"));
    // a report does not take the place of the results, under whatever name
    world.ok(&transcipher("--out x.hct").replace(" c ", " in/c "));
    let before = world.read("x.hct");
    let line = transcipher("--out x.hct --resume --force").replace(" c ", " in/c ");
    for report in ["x.hct", "./x.hct", "in/../x.hct"] {
        world.fails(
            2,
            &format!("{line} --report {report}"),
            "name the same file",
        );
    }
    assert!(world.read("x.hct") == before);
}
