//! `transcipher --resume`: after kills, signals and a full disk the bytes are those of a run without them.

#![cfg(target_os = "linux")]

use crate::common::{Run, World, assert_fields, end, signal, wait_until};
use serde_json::json;
use std::fs;
use std::thread::sleep;
use std::time::Duration;

/// Batches of the message; the last one is shorter.
const BATCHES: usize = 24;

const RESUME: &str = "$transcipher c --resume --out o.hct";

fn world() -> World {
    let world = World::with_whole(BATCHES);
    world.step("rm o.hct");
    world
}

/// Batches that the journal of an output says are done.
fn journalled(world: &World, journal: &str) -> usize {
    let text = fs::read(world.at(journal)).unwrap_or_default();
    let lines = text.iter().filter(|&&byte| byte == b'\n').count();
    lines.saturating_sub(1)
}

/// The same of `o.hct`.
fn done(world: &World) -> usize {
    journalled(world, ".o.hct.homaes-journal")
}

#[test]
fn kills_at_any_moment_cost_a_batch_at_most() {
    let world = world();
    let (mut kills, mut before) = (0, 0);
    for i in 0_u64..8 {
        // some while keys are read, most in the work, however slow the machine is
        let killed = world.killed(RESUME, |_| {
            let ready = i % 4 == 0 || done(&world) > before;
            sleep(Duration::from_millis(u64::from(ready) * (2 + i * 7 % 30)));
            ready
        });
        if !killed {
            break;
        }
        let now = done(&world);
        assert!(now >= before, "{now} batches after {before}");
        (kills, before) = (kills + 1, now);
    }
    assert!(kills > 0);
    let run = world.ok(RESUME);
    let words = match before {
        BATCHES => format!("complete, {BATCHES} batches from earlier runs"),
        done => format!("{done} of the batches from earlier runs"),
    };
    assert!(kills < 8 || run.out.contains(&words), "{run:?}");
    world.step("same o.hct whole.hct");
    assert!(!world.at(".o.hct.homaes-part").exists());
    assert!(!world.at(".o.hct.homaes-journal").exists());
}

#[test]
fn a_signal_says_how_far_it_was_and_a_second_run_is_told_of_the_first() {
    let world = world();
    let child = world.spawn(RESUME);
    wait_until("a batch", || done(&world) >= 1);
    // it is at work as long as it stands still
    signal(&child, "-STOP");
    let words = ".o.hct.homaes-part: another run is at work on it; wait for it to end";
    world.run(RESUME).check_failure(1, words, RESUME);
    signal(&child, "-INT");
    signal(&child, "-CONT");
    let run = end(child).ends(130);
    let words = format!("of {BATCHES} batches; run the same command to continue");
    run.warns(&words);
    assert!(!world.at("o.hct").exists());
    let before = done(&world);
    // another input, another output name
    world.write("other", "another message");
    let other = RESUME.replace(" c ", " other ");
    world.fails(1, &other, "belongs to a run with another");
    let events = world.ok(&format!("{RESUME} --progress json")).events();
    let (first, last) = (&events[0], &events[events.len() - 2]);
    assert!(first["batch"].as_u64() >= Some(before as u64));
    assert!(first["fraction"].as_f64() > Some(0.01));
    assert_fields(last, json!({ "fraction": 1.0, "eta_seconds": 0.0 }));
    world.step("same o.hct whole.hct");
}

/// A scheduler that does not know so starts the command again.
#[test]
fn a_complete_output_is_done() {
    let world = World::new();
    world.message(500);
    let line = "$transcipher c --resume --out o.hct --report r.json";
    world.table(&format!("rm o.hct\n {line}"));
    let words =
        "o.hct: complete, 2 batches from earlier runs, decrypt only: no multiplications left\n";
    let done = || assert_eq!(world.ok(line).out, words);
    // with its report gone
    world.step("rm r.json");
    done();
    assert!(world.at("r.json").exists());
    let refused = |line: &str| world.fails(1, line, "o.hct: file already exists");
    // another message by its description, damaged results, results without an end
    let iv = "--iv 00112233445566778899aabbccddeeff";
    let other = line.replace(
        "$transcipher",
        &format!("transcipher $keys --mode ctr {iv}"),
    );
    refused(&other);
    let own = world.read("o.hct");
    let mut damaged = own.clone();
    damaged[own.len() / 2] ^= 1;
    for wrong in [&damaged[..], &own[..own.len() - 1], b""] {
        world.write("o.hct", wrong);
        refused(line);
    }
    world.write("o.hct", &own);
    let before = world.files();
    done();
    world.is_as(&before, "done");
    // another last byte under the same IV, whatever its time
    let input = world.read("c");
    let modified = fs::metadata(world.at("c")).unwrap().modified();
    let mut other = input.clone();
    other[499] ^= 1;
    world.write("c", other);
    let file = fs::File::options().write(true).open(world.at("c"));
    file.unwrap().set_modified(modified.unwrap()).unwrap();
    refused(line);
    world.write("c", &input);
    done();
    // of an output that nothing is known of, nothing is said
    world.step("rm .o.hct.homaes-done");
    refused(line);
}

#[test]
fn a_full_disk_is_a_matter_of_time() {
    let world = world();
    // a limit of file sizes, in blocks of 1024 bytes, below the length of the output
    let run = Run::of(&mut world.shell(&format!("ulimit -f 60; exec $homaes {RESUME}")));
    assert_eq!(run.code, Some(75), "{run:?}");
    run.warns("then run the same command");
    assert!(done(&world) > 0);
    world.table(&format!(
        "{RESUME} => of the batches from earlier runs\n same o.hct whole.hct"
    ));
}

#[test]
fn outputs_in_a_folder_that_is_read_and_reports() {
    let world = World::with_whole(12);
    let line = "$transcipher in --out in/o.hct";
    world.table(&format!(
        "mkdir in
        mv c in/c
        {line} --reproducible
        mv in/o.hct once.hct"
    ));
    // what a run has left is no part of the message
    let resumed = format!("{line} --resume");
    let journal = "in/.o.hct.homaes-journal";
    assert!(world.killed(&resumed, |_| journalled(&world, journal) > 0));
    // a run of another kind makes all of it, and says what is there
    world.table(&format!(
        "{line} --force =! in/.o.hct.homaes-journal: left by a stopped run
        rm in/o.hct
        {resumed} => of the batches from earlier runs
        same in/o.hct once.hct"
    ));
    // a report does not take the place of the results, under whatever name
    world.write("x.hct", "results");
    for report in ["x.hct", "./x.hct", "in/../x.hct"] {
        let line = format!("$transcipher in/c --out x.hct --resume --force --report {report}");
        world.fails(2, &line, "name the same file");
    }
}
