//! What the command does where the system does not: kills, full devices, no threads, no memory, other processes.

#![allow(clippy::unwrap_used, reason = "tests fail by panicking")]
#![cfg(target_os = "linux")]

use crate::common::{Run, World, end, signal, wait_until};
use std::fs;
use std::io::{self, Read, Write};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

/// The word of `inspect` for how the keys of a folder go together.
fn pair(world: &World, folder: &str) -> String {
    let found = world.json(&format!("inspect {folder} --json"));
    found["pair"].as_str().unwrap().to_owned()
}

/// What others can read, or planted, never becomes a secret key; and nothing waits for a pipe.
#[test]
fn unfinished_keys_are_the_users_own() {
    let world = World::new();
    let line = "$keygen made --resume";
    let made = world.at("made");
    let secret = made.join("secret.hsk.unfinished");
    let eval = made.join("eval.hek.unfinished");
    let refused = |words: &str| {
        let run = world.run(line).ends(1);
        run.warns(words);
        assert!(!made.join("secret.hsk").exists() && !made.join("eval.hek").exists());
        fs::remove_dir_all(&made).unwrap();
        fs::create_dir(&made).unwrap();
    };
    fs::create_dir(&made).unwrap();
    // made by somebody with another umask, and a whole key of somebody else's
    for bytes in [vec![], world.read("keys/secret.hsk")] {
        fs::write(&secret, bytes).unwrap();
        fs::set_permissions(&secret, fs::Permissions::from_mode(0o644)).unwrap();
        refused("is accessible to others");
    }
    // another name, through which it can be read, or which would be written over
    world.write("precious", "precious");
    let private = fs::Permissions::from_mode(0o600);
    fs::set_permissions(world.at("precious"), private).unwrap();
    fs::hard_link(world.at("precious"), &secret).unwrap();
    refused("has another name");
    for path in [&secret, &eval] {
        symlink(world.at("precious"), path).unwrap();
        refused("is not a regular file");
        let pipe = Command::new("mkfifo").arg(path).status().unwrap();
        assert!(pipe.success());
        refused("is not a regular file");
    }
    assert_eq!(world.read("precious"), b"precious");
    // a run that could not begin leaves nothing to go on with
    fs::copy(world.at("keys/eval.hek"), made.join("eval.hek")).unwrap();
    assert_eq!(world.run(line).code, Some(1));
    assert!(!secret.exists() && !eval.exists());
}

/// Killed at any moment, key generation goes on: the keys are those of a run without a stop.
#[test]
fn a_killed_key_generation_is_resumed() {
    let world = World::new();
    let line = "keygen --set tfhe/p64 --out made --resume";
    let unfinished = |name: &str| world.at(&format!("made/{name}.unfinished"));
    let len = || fs::metadata(unfinished("eval.hek")).map_or(0, |file| file.len());
    let mut seen = 0;
    for kill in 0..10u64 {
        // some 10 MB a second, from the first records to half of the key
        let most = 100_000 << kill.min(7);
        let killed = world.killed(line, |_| len() > seen.max(most));
        if !killed || world.at("made/eval.hek").exists() {
            break;
        }
        // at most the buffer of the record in hand is lost
        let now = len();
        assert!(now + (1 << 22) > seen, "{now} after {seen}");
        seen = now;
        assert_eq!(pair(&world, "made"), "none");
    }
    if !world.at("made/eval.hek").exists() {
        world.ok("inspect made").says("eval.hek.unfinished");
        // without the option, other keys are made, and these stay
        fs::create_dir(world.at("other")).unwrap();
        for name in ["secret.hsk", "eval.hek"] {
            let copy = world.at("other").join(format!("{name}.unfinished"));
            fs::copy(unfinished(name), copy).unwrap();
        }
        world.ok("$keygen other").warns("holds unfinished keys");
        world.ok(line);
    }
    assert_eq!(pair(&world, "made"), "fits");
    // from the secret key and the public seed, which the first record holds, the same in one run
    let whole = world.read("made/eval.hek");
    fs::rename(world.at("made/secret.hsk"), unfinished("secret.hsk")).unwrap();
    fs::remove_file(world.at("made/eval.hek")).unwrap();
    fs::write(unfinished("eval.hek"), &whole[..400]).unwrap();
    world.ok(line);
    assert!(world.read("made/eval.hek") == whole);
    assert_eq!(fs::read_dir(world.at("made")).unwrap().count(), 2);
}

#[test]
fn a_killed_key_generation_loses_no_key() {
    let world = World::new();
    world.ok("$keygen kept");
    let files = || ["kept/secret.hsk", "kept/eval.hek"].map(|name| world.read(name));
    let before = files();
    for delay in [0, 5, 10, 20, 30, 40, 60, 80] {
        // a folder with keys, and one without
        for (folder, counts) in [("kept", &[2][..]), ("new", &[0, 1, 2])] {
            world.killed(&format!("$keygen {folder} --force"), |_| {
                sleep(Duration::from_millis(delay));
                true
            });
            let found = fs::read_dir(world.at(folder)).map_or(0, Iterator::count);
            assert!(counts.contains(&found), "{folder}: {found}");
            if found == 2 {
                assert_eq!(pair(&world, folder), "fits");
                let next = world.run(&format!("$keygen {folder} --force"));
                next.check_failure(1, "move or delete the old folder", "the next run");
            }
        }
        assert!(files() == before);
        let _ = fs::remove_dir_all(world.at("new"));
    }
}

#[test]
fn a_folder_is_inspected() {
    let world = World::new();
    fs::create_dir(world.at("mixed")).unwrap();
    assert_eq!(pair(&world, "mixed"), "none");
    fs::copy(world.at("keys/eval.hek"), world.at("mixed/eval.hek")).unwrap();
    assert_eq!(pair(&world, "mixed"), "incomplete");
    world.ok("$keygen other");
    fs::copy(world.at("other/secret.hsk"), world.at("mixed/secret.hsk")).unwrap();
    assert_eq!(pair(&world, "mixed"), "differs");
    fs::copy(world.at("o.hct"), world.at("mixed/o.hct")).unwrap();
    world.write("mixed/.o.hct.homaes-tmp-0123456789abcdef", "");
    world.table("inspect mixed => made with another secret key … o.hct … an unfinished output");
}

#[test]
fn work_goes_on_without_threads() {
    let world = World::new();
    // a stack that large has no room: the system starts no thread
    let without_threads = |line: &str| {
        let mut command = world.command(line);
        command.env("RUST_MIN_STACK", (1u64 << 50).to_string());
        command
    };
    for line in [
        "$keygen keys2",
        "$wrap w",
        "$transcipher c -o t",
        "$transcipher c -o u --threads 1",
        "$decrypt t -o d",
        "inspect key.hwk",
        "inspect o.hct",
    ] {
        let run = Run::of(&mut without_threads(line)).ends(0);
        let mut warnings = run.err.lines();
        let warned =
            warnings.all(|line| line.starts_with("warning: ") && !line.contains("panicked"));
        assert!(warned && run.err.contains("signals"), "{line}: {run:?}");
    }
    assert_eq!(pair(&world, "keys2"), "fits");
    assert_eq!(world.read("d"), world.read("p"));
    // a signal ends it all the same
    world.message(8_000_000);
    let mut command = without_threads("$transcipher c -o x");
    let mut child = command.stderr(Stdio::null()).spawn().unwrap();
    wait_until("an output", || world.has_begun(&child));
    signal(&child, "-INT");
    assert_eq!(child.wait().unwrap().code(), Some(130));
}

/// Runs a line with at most 300 MiB of address space.
fn within_300_mib(world: &World, line: &str) -> Run {
    let script = format!("ulimit -v {} && exec $homaes {line}", 300 << 10);
    Run::of(&mut world.shell(&script))
}

/// A job that cannot fit is refused with what it needs, before it is begun.
#[test]
#[ignore = "nightly: ten seconds"]
fn nightly_large_jobs_are_refused_at_once() {
    let world = World::new();
    let run = within_300_mib(&world, "bench bgv --set bgv/aes128");
    run.check_failure(1, "not enough memory: ", "bench");
}

/// Keys are written record by record.
#[test]
#[ignore = "nightly: ten seconds, and 430 MB of disk"]
fn nightly_keys_that_are_larger_than_memory_are_made() {
    let world = World::new();
    let made = |line: &str| {
        // in memory, each takes twice its file and more
        let run = within_300_mib(&world, line);
        assert_eq!(run.code, Some(0), "{line}: {}", run.err);
    };
    made("keygen --set bgv/aes128 --out large");
    made("wrap-key --secret large/secret.hsk --key-file k --layout sliced --out large/key.hwk");
    for (file, bytes) in [("eval.hek", 239_414_224), ("key.hwk", 189_011_983)] {
        let found = fs::metadata(world.at("large").join(file)).unwrap().len();
        assert_eq!(found, bytes, "{file}");
    }
    made("inspect large/key.hwk");
}

#[test]
fn a_complete_output_is_success_whatever_becomes_of_standard_output() {
    let world = World::new();
    for (line, output) in [
        ("$keygen keys2", "keys2/eval.hek"),
        ("$wrap w", "w"),
        ("$transcipher c -o t", "t"),
        ("$decrypt o.hct -o d", "d"),
    ] {
        let line = format!("{line} --force");
        for closed in [false, true] {
            let _ = fs::remove_dir_all(world.at("keys2"));
            let run = if closed {
                let (reader, writer) = io::pipe().unwrap();
                drop(reader);
                Run::of(world.command(&line).stdout(writer))
            } else {
                world.without_room(&line)
            };
            assert_eq!(run.code, Some(0), "{line}: {run:?}");
            assert!(world.at(output).exists());
            let said = run.err.lines().filter(|line| {
                line.starts_with("warning: standard output: ") && line.ends_with("complete")
            });
            assert_eq!(said.count(), 1, "{line}: {run:?}");
        }
    }
    let run = world
        .without_room("$transcipher c -o u --progress json")
        .ends(0);
    let said = run.err.matches("continues without progress lines");
    assert_eq!(said.count(), 1, "{run:?}");
    world.ok("inspect u");
}

#[test]
fn a_report_that_cannot_be_written_leaves_the_output() {
    let world = World::new();
    world.message(5000);
    let child = world.spawn("$transcipher c -o t --report r");
    wait_until("an output", || world.has_begun(&child));
    signal(&child, "-STOP");
    world.write("r", "taken");
    signal(&child, "-CONT");
    let run = end(child).ends(0);
    run.warns("warning: r: file already exists")
        .warns("there is no report");
    assert_eq!(world.read("r"), b"taken");
    world.ok("inspect t");
}

#[test]
fn a_signal_after_the_work_is_success() {
    let world = World::new();
    // the last line waits for room in a full pipe
    let (mut reader, mut writer) = io::pipe().unwrap();
    writer.write_all(&[0; 1 << 16]).unwrap();
    let mut command = world.command("$decrypt o.hct -o d");
    let child = command
        .stdout(writer)
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    wait_until("the output", || world.at("d").exists());
    sleep(Duration::from_millis(200));
    signal(&child, "-INT");
    let run = end(child).ends(0);
    run.warns("warning: interrupted after the output was complete");
    assert_eq!(world.read("d"), world.read("p"));
    drop(command);
    reader.read_to_end(&mut Vec::new()).unwrap();
}

#[test]
fn the_stricter_mode_is_kept() {
    let world = World::new();
    let mode = |name: &str| {
        let data = fs::metadata(world.at(name)).unwrap();
        data.permissions().mode() & 0o777
    };
    let usual = mode("c"); // what a new file gets here
    for (line, outputs) in [
        ("$wrap w --force", &["w"][..]),
        ("$transcipher c -o t --force --report r", &["t", "r"]),
    ] {
        world.ok(line);
        assert!(outputs.iter().all(|name| mode(name) == usual), "{line}");
        for found in [0o600, 0o640, 0o777] {
            for name in outputs {
                fs::set_permissions(world.at(name), fs::Permissions::from_mode(found)).unwrap();
            }
            world.ok(line);
            let kept = outputs.iter().all(|name| mode(name) == usual & found);
            assert!(kept, "{line}: {found:o}");
        }
    }
    world.ok("$keygen keys2");
    assert_eq!(mode("keys2/eval.hek"), usual);
    assert_eq!(mode("keys2/secret.hsk"), 0o600);
}

#[test]
fn a_dash_is_a_stream_or_refused() {
    let world = World::new();
    world.fed("$transcipher - -o t", "c").ends(0);
    let run = world.command("$decrypt t -o -").output().unwrap();
    assert!(run.status.success() && run.stdout == world.read("p"));
    let err = String::from_utf8(run.stderr).unwrap();
    assert!(err.contains("standard output: 300 bytes"), "{err}");
    // a length that does not fit, and a key that does not
    let run = world.fed("transcipher $keys --mode ecb - -o u", "c");
    run.check_failure(1, "standard input: 300 bytes do not fit mode ecb", "ecb");
    world.ok("$keygen other");
    world.fails(
        1,
        "decrypt --secret other/secret.hsk t -o -",
        "belongs to key",
    );
    // ciphertexts go out while they are made
    world.ok("$transcipher c --reproducible -o r");
    let line = "$transcipher c --reproducible -o -";
    let run = world.command(line).output().unwrap();
    assert!(run.status.success() && run.stdout == world.read("r"));
    let err = String::from_utf8(run.stderr).unwrap();
    assert!(
        err.contains("standard output: 300 bytes, 19 blocks"),
        "{err}"
    );
    for line in ["$decrypt t -o -", line] {
        let run = world.without_room(line).ends(1);
        run.warns("error: standard output: ");
    }
    // and come in
    let decrypt = "$decrypt - -o x";
    for cut in [0, 50, 1000, run.stdout.len() - 1] {
        world.write("cut", &run.stdout[..cut]);
        let run = world.fed(decrypt, "cut");
        run.check_failure(1, "standard input: ", "cut");
        assert!(!world.at("x").exists());
    }
    assert_eq!(world.fed(decrypt, "r").code, Some(0));
    assert!(world.read("x") == world.read("p"));
    assert!(!world.at("-").exists());
    world.table(
        "$decrypt - --key-file - -o y =2 two inputs cannot both come from standard input
        $transcipher c -o - --resume =2 cannot be continued
        $transcipher c -o - --progress json =2 both write to standard output
        $keygen - =2 expected a file, not standard input or output
        $wrap - =2 expected a file, not standard input or output
        wrap-key --secret - --key-file k --out y =2 expected a file, not standard input or output
        $transcipher c -o y --report - =2 expected a file, not standard input or output
        $transcipher c -o y --aad - =2 expected a file, not standard input or output
        transcipher --eval - --wrapped-key key.hwk --mode ctr --iv $iv c -o y =2 expected a file, not standard input
        transcipher --eval keys/eval.hek --wrapped-key - --mode ctr --iv $iv c -o y =2 expected a file, not standard
        decrypt --secret - o.hct -o y =2 expected a file, not standard input or output
        inspect - =2 expected a file, not standard input or output",
    );
}
