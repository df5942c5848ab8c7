//! What the command does where the system does not: kills, full devices, no threads, no memory, other processes.

#![allow(clippy::unwrap_used, reason = "tests fail by panicking")]
#![cfg(target_os = "linux")]

use crate::common::{IV, Run, World, unnamed_files};
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::process::{Child, Command, Output, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

const KEYGEN: &str = "keygen --set bgv/toy-255 --accept-insecure --out";
const WRAP: &str = "wrap-key --secret keys/secret.hsk --key-file k --out";
const DECRYPT: &str = "decrypt --secret keys/secret.hsk o.hct --out";

fn transcipher(output: &str) -> String {
    format!(
        "transcipher --eval keys/eval.hek --wrapped-key key.hwk --mode ctr --iv {IV} c --out {output}"
    )
}

fn wait_until(what: &str, mut there: impl FnMut() -> bool) {
    let start = Instant::now();
    while !there() {
        assert!(start.elapsed() < Duration::from_secs(60), "{what}");
        sleep(Duration::from_millis(1));
    }
}

fn spawn(world: &World, line: &str) -> Child {
    let mut command = world.command(line);
    let piped = command.stdout(Stdio::piped()).stderr(Stdio::piped());
    piped.spawn().unwrap()
}

fn signal(child: &Child, name: &str) {
    let id = child.id().to_string();
    assert!(
        Command::new("kill")
            .args([name, &id])
            .status()
            .unwrap()
            .success()
    );
}

fn errors(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

/// The word of `inspect` for how the keys of a folder go together.
fn pair(world: &World, folder: &str) -> String {
    let run = world.ok(&format!("inspect {folder} --json"));
    let found: serde_json::Value = serde_json::from_str(&run.out).unwrap();
    found["pair"].as_str().unwrap().to_owned()
}

/// What others can read, or planted, never becomes a secret key; and nothing waits for a pipe.
#[test]
#[cfg(unix)]
fn unfinished_keys_are_the_users_own() {
    use std::os::unix::fs::{PermissionsExt, symlink};
    let world = World::new();
    let line = "keygen --set bgv/toy-255 --accept-insecure --out made --resume";
    let made = world.at("made");
    let secret = made.join("secret.hsk.unfinished");
    let eval = made.join("eval.hek.unfinished");
    let refused = |words: &str| {
        let run = world.run(line);
        assert_eq!(run.code, Some(1), "{run:?}");
        assert!(run.err.contains(words), "{words}: {run:?}");
        assert!(!made.join("secret.hsk").exists() && !made.join("eval.hek").exists());
        fs::remove_dir_all(&made).unwrap();
        fs::create_dir(&made).unwrap();
    };
    fs::create_dir(&made).unwrap();
    // made by somebody with another umask
    fs::write(&secret, b"").unwrap();
    fs::set_permissions(&secret, fs::Permissions::from_mode(0o666)).unwrap();
    refused("is accessible to others");
    // a whole key of somebody else's
    fs::copy(world.at("keys/secret.hsk"), &secret).unwrap();
    fs::set_permissions(&secret, fs::Permissions::from_mode(0o644)).unwrap();
    refused("is accessible to others");
    // another name, through which it can be read, or which would be written over
    world.write("precious", b"precious");
    fs::set_permissions(world.at("precious"), fs::Permissions::from_mode(0o600)).unwrap();
    for path in [&secret, &eval] {
        fs::hard_link(world.at("precious"), path).unwrap();
        refused("has another name");
        symlink(world.at("precious"), path).unwrap();
        refused("is not a regular file");
        assert_eq!(world.read("precious"), b"precious");
        let pipe = Command::new("mkfifo").arg(path).status().unwrap();
        assert!(pipe.success());
        refused("is not a regular file");
    }
    // a run that could not begin leaves nothing to go on with
    fs::copy(world.at("keys/eval.hek"), made.join("eval.hek")).unwrap();
    let run = world.run(line);
    assert_eq!(run.code, Some(1), "{run:?}");
    assert!(!secret.exists() && !eval.exists());
}

/// Killed at any moment, key generation goes on: the keys are those of a run without a stop.
#[test]
fn a_killed_key_generation_is_resumed() {
    let world = World::new();
    let line = "keygen --set tfhe/p64 --out made --resume";
    let unfinished = |name: &str| world.at(&format!("made/{name}.unfinished"));
    let mut seen = 0;
    for kill in 0..10u64 {
        let mut child = spawn(&world, line);
        // some 10 MB a second, from the first records to half of the key
        let most = 100_000 << kill.min(7);
        wait_until("records", || {
            let len = fs::metadata(unfinished("eval.hek")).map_or(0, |file| file.len());
            len > seen.max(most) || child.try_wait().unwrap().is_some()
        });
        child.kill().unwrap();
        child.wait().unwrap();
        if world.at("made/eval.hek").exists() {
            break;
        }
        // at most the buffer of the record in hand is lost
        let len = fs::metadata(unfinished("eval.hek")).unwrap().len();
        assert!(len + (1 << 22) > seen, "{len} after {seen}");
        seen = len;
        assert_eq!(pair(&world, "made"), "none");
    }
    if !world.at("made/eval.hek").exists() {
        assert!(world.ok("inspect made").out.contains("eval.hek.unfinished"));
        // without the option, other keys are made, and these stay
        fs::create_dir(world.at("other")).unwrap();
        for name in ["secret.hsk", "eval.hek"] {
            let copy = world.at("other").join(format!("{name}.unfinished"));
            fs::copy(unfinished(name), copy).unwrap();
        }
        let other = world.ok("keygen --set bgv/toy-255 --accept-insecure --out other");
        assert!(other.err.contains("holds unfinished keys"), "{}", other.err);
        world.ok(line);
    }
    assert_eq!(pair(&world, "made"), "fits");
    // from the secret key and the public seed, which the first record holds, the same in one run
    let whole = fs::read(world.at("made/eval.hek")).unwrap();
    fs::rename(world.at("made/secret.hsk"), unfinished("secret.hsk")).unwrap();
    fs::remove_file(world.at("made/eval.hek")).unwrap();
    fs::write(unfinished("eval.hek"), &whole[..400]).unwrap();
    world.ok(line);
    assert!(fs::read(world.at("made/eval.hek")).unwrap() == whole);
    assert_eq!(fs::read_dir(world.at("made")).unwrap().count(), 2);
}

#[test]
fn four_key_generations_at_once_leave_a_pair() {
    let world = World::new();
    for _ in 0..3 {
        let _ = fs::remove_dir_all(world.at("four"));
        let line = format!("{KEYGEN} four --force");
        let runs: Vec<Child> = (0..4).map(|_| spawn(&world, &line)).collect();
        let mut done = 0;
        for run in runs {
            let output = run.wait_with_output().unwrap();
            let err = errors(&output);
            match output.status.code() {
                Some(0) => done += 1,
                code => {
                    assert_eq!(code, Some(1), "{err}");
                    assert!(err.contains("keys are never replaced"), "{err}");
                }
            }
        }
        assert_eq!(done, 1);
        assert_eq!(pair(&world, "four"), "fits");
        assert_eq!(fs::read_dir(world.at("four")).unwrap().count(), 2);
    }
}

#[test]
fn a_killed_key_generation_loses_no_key() {
    let world = World::new();
    world.ok(&format!("{KEYGEN} kept"));
    let files = || ["kept/secret.hsk", "kept/eval.hek"].map(|name| world.read(name));
    let before = files();
    for delay in [0, 5, 10, 15, 20, 25, 30, 40, 50, 60, 70, 80] {
        // a folder with keys, and one without
        for (folder, counts) in [("kept", &[2][..]), ("new", &[0, 1, 2])] {
            let mut child = spawn(&world, &format!("{KEYGEN} {folder} --force"));
            sleep(Duration::from_millis(delay));
            child.kill().unwrap();
            child.wait().unwrap();
            let found = fs::read_dir(world.at(folder)).map_or(0, Iterator::count);
            assert!(counts.contains(&found), "{folder}: {found}");
            if found == 2 {
                assert_eq!(pair(&world, folder), "fits");
                let next = world.run(&format!("{KEYGEN} {folder} --force"));
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
    world.ok(&format!("{KEYGEN} other"));
    fs::copy(world.at("other/secret.hsk"), world.at("mixed/secret.hsk")).unwrap();
    assert_eq!(pair(&world, "mixed"), "differs");
    fs::copy(world.at("o.hct"), world.at("mixed/o.hct")).unwrap();
    world.write("mixed/.o.hct.homaes-tmp-0123456789abcdef", b"");
    let text = world.ok("inspect mixed").out;
    for words in [
        "made with another secret key",
        "o.hct",
        "an unfinished output",
    ] {
        assert!(text.contains(words), "{text}");
    }
    assert_eq!(pair(&world, "keys"), "fits");
}

#[test]
fn a_killed_run_leaves_nothing() {
    let world = World::new();
    world.message(8_000_000); // minutes of work
    let before = world.listing();
    let mut child = spawn(&world, &transcipher("x"));
    wait_until("an output", || {
        !unnamed_files(&child, &world.at(".")).is_empty()
    });
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(world.listing(), before);
}

/// A stack that large has no room: the system starts no thread.
fn without_threads(world: &World, line: &str) -> Run {
    Run::of(
        world
            .command(line)
            .env("RUST_MIN_STACK", (1u64 << 50).to_string()),
    )
}

#[test]
fn work_goes_on_without_threads() {
    let world = World::new();
    for line in [
        format!("{KEYGEN} keys2"),
        format!("{WRAP} w"),
        transcipher("t"),
        transcipher("u") + " --threads 1",
        format!("{DECRYPT} d"),
        "inspect key.hwk".into(),
        "inspect o.hct".into(),
    ] {
        let run = without_threads(&world, &line);
        assert_eq!(run.code, Some(0), "{line}: {run:?}");
        let warned = run
            .err
            .lines()
            .all(|line| line.starts_with("warning: ") && !line.contains("panicked"));
        assert!(warned, "{line}: {run:?}");
        assert!(run.err.contains("signals"), "{run:?}");
    }
    assert_eq!(pair(&world, "keys2"), "fits");
    assert_eq!(world.read("d"), world.read("p"));
    world.ok("decrypt --secret keys/secret.hsk t --out t.p");
    assert_eq!(world.read("t.p"), world.read("p"));
    // a signal ends it all the same
    world.message(8_000_000);
    let mut command = world.command(&transcipher("x"));
    command.env("RUST_MIN_STACK", (1u64 << 50).to_string());
    let mut child = command.stderr(Stdio::null()).spawn().unwrap();
    wait_until("an output", || {
        !unnamed_files(&child, &world.at(".")).is_empty()
    });
    signal(&child, "-INT");
    assert_eq!(child.wait().unwrap().code(), Some(130));
}

/// Runs a line with at most so many KiB of address space.
fn within(world: &World, kibibytes: usize, line: &str) -> Run {
    let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
    let mut shell = world.program("sh");
    shell
        .args(["-c", &format!("ulimit -v {kibibytes} && exec \"$@\""), "sh"])
        .arg(env!("CARGO_BIN_EXE_homaes"))
        .args(words);
    Run::of(&mut shell)
}

/// A job that cannot fit is refused with what it needs, before it is begun.
#[test]
#[ignore = "nightly: ten seconds"]
fn nightly_large_jobs_are_refused_at_once() {
    let world = World::new();
    let run = within(&world, 300 << 10, "bench bgv --set bgv/aes128");
    run.check_failure(1, "not enough memory: ", "bench");
}

/// Keys are written record by record.
#[test]
#[ignore = "nightly: ten seconds, and 430 MB of disk"]
fn nightly_keys_that_are_larger_than_memory_are_made() {
    let world = World::new();
    let made = |line: &str| {
        // in memory, each takes twice its file and more
        let run = within(&world, 300 << 10, line);
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
    let lines = [
        (format!("{KEYGEN} keys2"), "keys2/eval.hek"),
        (format!("{WRAP} w"), "w"),
        (transcipher("t"), "t"),
        (format!("{DECRYPT} d"), "d"),
    ];
    for (line, output) in lines {
        for closed in [false, true] {
            let _ = fs::remove_dir_all(world.at("keys2"));
            let mut command = world.command(&format!("{line} --force"));
            if closed {
                let (reader, writer) = io::pipe().unwrap();
                drop(reader);
                command.stdout(writer);
            } else {
                let full = File::options().write(true).open("/dev/full").unwrap();
                command.stdout(full);
            }
            let run = command.stderr(Stdio::piped()).spawn().unwrap();
            let done = run.wait_with_output().unwrap();
            let err = errors(&done);
            assert_eq!(done.status.code(), Some(0), "{line}: {err}");
            assert!(world.at(output).exists());
            let said = err.lines().filter(|line| {
                line.starts_with("warning: standard output: ") && line.ends_with("complete")
            });
            assert_eq!(said.count(), 1, "{line}: {err}");
        }
    }
}

#[test]
fn lost_lines_of_progress_are_said_once() {
    let world = World::new();
    let full = File::options().write(true).open("/dev/full").unwrap();
    let mut command = world.command(&(transcipher("t") + " --progress json"));
    let run = command.stdout(full).stderr(Stdio::piped()).spawn().unwrap();
    let done = run.wait_with_output().unwrap();
    let err = errors(&done);
    assert_eq!(done.status.code(), Some(0), "{err}");
    assert_eq!(err.matches("continues without progress lines").count(), 1);
    world.ok("inspect t");
}

#[test]
fn a_report_that_cannot_be_written_leaves_the_output() {
    let world = World::new();
    world.message(5000);
    let run = spawn(&world, &(transcipher("t") + " --report r"));
    wait_until("an output", || {
        !unnamed_files(&run, &world.at(".")).is_empty()
    });
    sleep(Duration::from_millis(50));
    world.write("r", b"taken");
    let done = run.wait_with_output().unwrap();
    let err = errors(&done);
    assert_eq!(done.status.code(), Some(0), "{err}");
    assert!(
        err.contains("warning: r: file already exists") && err.contains("there is no report"),
        "{err}"
    );
    assert_eq!(world.read("r"), b"taken");
    world.ok("inspect t");
}

#[test]
fn a_signal_after_the_work_is_success() {
    let world = World::new();
    // the last line waits for room in a full pipe
    let (mut reader, mut writer) = io::pipe().unwrap();
    writer.write_all(&[0; 1 << 16]).unwrap();
    let mut command = world.command(&format!("{DECRYPT} d"));
    let run = command
        .stdout(writer)
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    wait_until("the output", || world.at("d").exists());
    sleep(Duration::from_millis(200));
    signal(&run, "-INT");
    let done = run.wait_with_output().unwrap();
    let err = errors(&done);
    assert_eq!(done.status.code(), Some(0), "{err}");
    assert!(
        err.contains("warning: interrupted after the output was complete"),
        "{err}"
    );
    assert_eq!(world.read("d"), world.read("p"));
    drop(command);
    reader.read_to_end(&mut Vec::new()).unwrap();
}

#[test]
fn paths_are_checked_before_keys_are_read() {
    let world = World::new();
    let nothing = "--eval none --wrapped-key none --mode ctr";
    for path in ["new/", "new/.", "new/..", "none/x", "k/x", "keys", "k"] {
        for line in [
            format!("wrap-key --secret none --key-file k --out {path}"),
            format!("transcipher {nothing} --iv {IV} c --out {path}"),
            format!("transcipher {nothing} --iv {IV} c --out x --report {path}"),
            format!("decrypt --secret none o.hct --out {path}"),
        ] {
            // a folder asks for parts, which this message has not
            let words = match path {
                "new/" | "keys" if line.starts_with("decrypt") => "error: o.hct: holds one message",
                _ => &format!("error: {path}: "),
            };
            world.fails(1, &line, words);
        }
    }
    for (out, report) in [("x", "x"), ("x", "./x"), ("keys/../x", "x")] {
        let line = format!("transcipher {nothing} --iv {IV} c --out {out} --report {report}");
        world.fails(2, &line, "name the same file");
    }
    for (out, report) in [("c", "x"), ("x", "c"), ("./key.hwk", "x"), ("x", "key.hwk")] {
        let line = transcipher(out) + &format!(" --force --report {report}");
        world.fails(1, &line, "is both an input and the output");
    }
}

#[test]
fn the_stricter_mode_is_kept() {
    let world = World::new();
    let mode = |name: &str| {
        let data = fs::metadata(world.at(name)).unwrap();
        data.permissions().mode() & 0o777
    };
    let set = |name: &str, mode| {
        fs::set_permissions(world.at(name), fs::Permissions::from_mode(mode)).unwrap();
    };
    let usual = mode("c"); // what a new file gets here
    for (line, output) in [
        (format!("{WRAP} w --force"), "w"),
        (transcipher("t") + " --force", "t"),
        (transcipher("u") + " --force --report r", "r"),
    ] {
        world.ok(&line);
        assert_eq!(mode(output), usual, "{line}");
        for found in [0o600, 0o640, 0o777] {
            set(output, found);
            world.ok(&line);
            assert_eq!(mode(output), usual & found, "{line}");
        }
    }
    world.ok(&format!("{KEYGEN} keys2"));
    assert_eq!(mode("keys2/eval.hek"), usual);
    assert_eq!(mode("keys2/secret.hsk"), 0o600);
}

#[test]
fn a_dash_is_a_stream_or_refused() {
    let world = World::new();
    let piped = |line: &str| {
        let mut command = world.command(line);
        command.stdin(File::open(world.at("c")).unwrap());
        Run::of(&mut command)
    };
    let from_stream = transcipher("t").replace(" c ", " - ");
    let run = piped(&from_stream);
    assert_eq!(run.code, Some(0), "{run:?}");
    assert!(!world.at("-").exists());
    let to_stream = "decrypt --secret keys/secret.hsk t --out -";
    let output = world.command(to_stream).output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    assert!(output.stdout == world.read("p"));
    assert!(errors(&output).contains("standard output: 300 bytes"));
    assert!(!world.at("-").exists());
    // nothing of it is written if it cannot be decrypted
    world.ok(&format!("{KEYGEN} other"));
    world.fails(
        1,
        "decrypt --secret other/secret.hsk t --out -",
        "belongs to key",
    );
    let full = File::options().write(true).open("/dev/full").unwrap();
    let mut command = world.command(to_stream);
    let run = command.stdout(full).stderr(Stdio::piped()).spawn().unwrap();
    let done = run.wait_with_output().unwrap();
    assert_eq!(done.status.code(), Some(1));
    assert!(errors(&done).contains("error: standard output: "));
    // a length that does not fit
    let other = from_stream
        .replace("ctr", "ecb")
        .replace(&format!("--iv {IV}"), "");
    let run = piped(&other.replace("--out t", "--out u"));
    run.check_failure(1, "standard input: 300 bytes do not fit mode ecb", &other);

    // ciphertexts go out while they are made
    let reproducible = transcipher("r") + " --reproducible";
    world.ok(&reproducible);
    let line = transcipher("-") + " --reproducible";
    let output = world.command(&line).output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    assert!(output.stdout == world.read("r"));
    // and come in
    let decrypt = |name: &str| {
        let mut command = world.command("decrypt --secret keys/secret.hsk - --out x --force");
        command.stdin(File::open(world.at(name)).unwrap());
        Run::of(&mut command)
    };
    let run = decrypt("r");
    assert_eq!(run.code, Some(0), "{run:?}");
    assert!(world.read("x") == world.read("p"));
    fs::remove_file(world.at("x")).unwrap();
    for cut in [0, 50, 1000, output.stdout.len() - 1] {
        world.write("cut", &output.stdout[..cut]);
        decrypt("cut").check_failure(1, "standard input: ", "cut");
        assert!(!world.at("x").exists());
    }
    let two = "decrypt --secret keys/secret.hsk - --key-file - --out x";
    world.fails(2, two, "two inputs cannot both come from standard input");
    assert!(errors(&output).contains("standard output: 300 bytes, 19 blocks"));
    assert!(!world.at("-").exists());
    world.fails(2, &(line.clone() + " --resume"), "cannot be continued");
    world.fails(
        2,
        &(line.clone() + " --progress json"),
        "both write to standard output",
    );
    let full = File::options().write(true).open("/dev/full").unwrap();
    let mut command = world.command(&line);
    let run = command.stdout(full).stderr(Stdio::piped()).spawn().unwrap();
    let done = run.wait_with_output().unwrap();
    assert_eq!(done.status.code(), Some(1));
    assert!(errors(&done).contains("error: standard output: "));

    let refused = "expected a file, not standard input or output";
    for line in [
        format!("{KEYGEN} -"),
        format!("{WRAP} -"),
        "wrap-key --secret - --key-file k --out x".into(),
        transcipher("x") + " --report -",
        transcipher("x") + " --aad -",
        transcipher("x").replace("keys/eval.hek", "-"),
        transcipher("x").replace("key.hwk", "-"),
        "decrypt --secret - o.hct --out x".into(),
        "inspect -".into(),
    ] {
        world.fails(2, &line, refused);
    }
}
