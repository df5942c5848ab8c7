//! What the command does where the system does not: kills, full devices, no threads, no memory, other processes.

#![cfg(target_os = "linux")]

use crate::common::{Run, World, at_its_last_line, end, signal, wait_until};
use std::fs;
use std::io::{self, Read};
use std::process::Stdio;
use std::thread::sleep;
use std::time::Duration;

/// What `inspect --json` says of keys that go together.
const FITS: &str = "\"pair\": \"fits\"";

/// What others can read, or planted, never becomes a secret key; and nothing waits for a pipe.
#[test]
fn unfinished_keys_are_the_users_own() {
    let world = World::new();
    let line = "$keygen made --resume";
    let (secret, eval) = ("made/secret.hsk.unfinished", "made/eval.hek.unfinished");
    let refused = |words: &str| {
        world.run(line).ends(1).warns(words);
        let made = ["made/secret.hsk", "made/eval.hek"].map(|name| world.at(name).exists());
        assert_eq!(made, [false; 2]);
        world.table("rm made\n mkdir made");
    };
    world.step("mkdir made");
    // made by somebody with another umask, and a whole key of somebody else's
    for bytes in [vec![], world.read("keys/secret.hsk")] {
        world.write(secret, bytes);
        world.step(&format!("chmod 644 {secret}"));
        refused("is accessible to others");
    }
    // another name, through which it can be read, or which would be written over
    world.table("write precious precious\n cp precious copy\n chmod 600 precious");
    fs::hard_link(world.at("precious"), world.at(secret)).unwrap();
    refused("has another name");
    for path in [secret, eval] {
        world.step(&format!("ln precious {path}"));
        refused("is not a regular file");
        world.step(&format!("mkfifo {path}"));
        refused("is not a regular file");
    }
    // a run that could not begin leaves nothing to go on with
    world.table(&format!(
        "same precious copy
        cp keys/eval.hek made/eval.hek
        {line} =1 error:"
    ));
}

/// Killed at any moment, key generation goes on: the keys are those of a run without a stop.
#[test]
fn a_killed_key_generation_is_resumed() {
    let world = World::new();
    let line = "keygen --set tfhe/p64 --out made --resume";
    let unfinished = "made/eval.hek.unfinished";
    let len = || fs::metadata(world.at(unfinished)).map_or(0, |file| file.len());
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
        world.ok("inspect made --json").says("\"pair\": \"none\"");
    }
    if !world.at("made/eval.hek").exists() {
        // without the option, other keys are made, and these stay
        world.table(&format!(
            "inspect made => eval.hek.unfinished
            mkdir other
            cp made/secret.hsk.unfinished other/secret.hsk.unfinished
            cp {unfinished} other/eval.hek.unfinished
            $keygen other =! holds unfinished keys
            {line}"
        ));
    }
    // from the secret key and the public seed, which the first record holds, the same in one run
    world.table(&format!(
        "inspect made --json => {FITS}
        mv made/secret.hsk made/secret.hsk.unfinished
        mv made/eval.hek whole"
    ));
    world.write(unfinished, &world.read("whole")[..400]);
    // once complete, the same command changes nothing
    world.table(&format!(
        "{line}
        {line} => are complete
        same made/eval.hek whole"
    ));
    assert_eq!(world.names("made").len(), 2);
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
            let line = format!("$keygen {folder} --force");
            world.killed(&line, |_| {
                sleep(Duration::from_millis(delay));
                true
            });
            let found = fs::read_dir(world.at(folder)).map_or(0, Iterator::count);
            assert!(counts.contains(&found), "{folder}: {found}");
            if found == 2 {
                world.ok(&format!("inspect {folder} --json")).says(FITS);
                world.fails(1, &line, "move or delete the old folder");
            }
        }
        assert!(files() == before);
        let _ = fs::remove_dir_all(world.at("new"));
    }
}

#[test]
fn a_folder_is_inspected() {
    let world = World::new();
    world.table(
        "$keygen other
        mkdir mixed
        inspect mixed --json => \"pair\": \"none\"
        cp keys/eval.hek mixed/eval.hek
        inspect mixed --json => \"pair\": \"incomplete\"
        cp other/secret.hsk mixed/secret.hsk
        cp o.hct mixed/o.hct
        cp c mixed/.o.hct.homaes-tmp-0123456789abcdef
        inspect mixed --json => \"pair\": \"differs\"
        inspect mixed => made with another secret key … o.hct … an unfinished output",
    );
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
        let mut lines = run.err.lines();
        let warned = lines.all(|line| line.starts_with("warning: ") && !line.contains("panicked"));
        assert!(warned && run.err.contains("signals"), "{line}: {run:?}");
    }
    world.table(&format!("inspect keys2 --json => {FITS}\n same d p"));
    // a signal ends it all the same
    world.message(8_000_000);
    let mut command = without_threads("$transcipher c -o x");
    let child = command.stderr(Stdio::null()).spawn().unwrap();
    wait_until("an output", || world.has_begun(&child));
    signal(&child, "-INT");
    end(child).ends(130);
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
    let run = within_300_mib(&World::new(), "bench bgv --set bgv/aes128");
    run.check_failure(1, "not enough memory: ", "bench");
}

/// Keys are written record by record.
#[test]
#[ignore = "nightly: ten seconds, and 430 MB of disk"]
fn nightly_keys_that_are_larger_than_memory_are_made() {
    let world = World::new();
    for line in [
        // in memory, each takes twice its file and more
        "keygen --set bgv/aes128 --out large",
        "wrap-key --secret large/secret.hsk --key-file k --layout sliced --full --out large/key.hwk",
        "inspect large/key.hwk",
    ] {
        within_300_mib(&world, line).ends(0);
    }
    for (file, bytes) in [("eval.hek", 256_298_140), ("key.hwk", 189_011_983)] {
        let found = fs::metadata(world.at("large").join(file)).unwrap().len();
        assert_eq!(found, bytes, "{file}");
    }
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
        let closed = || {
            let (_, writer) = io::pipe().unwrap();
            Run::of(world.command(&line).stdout(writer))
        };
        for run in [&closed as &dyn Fn() -> Run, &|| world.without_room(&line)] {
            let _ = fs::remove_dir_all(world.at("keys2"));
            let run = run();
            assert_eq!(run.code, Some(0), "{line}: {run:?}");
            assert!(world.at(output).exists());
            let said = |line: &&str| {
                line.starts_with("warning: standard output: ") && line.ends_with("complete")
            };
            let said = run.err.lines().filter(said);
            assert_eq!(said.count(), 1, "{line}: {run:?}");
        }
    }
    let run = world.without_room("$transcipher c -o u --progress json");
    let run = run.ends(0);
    let said = run.err.matches("continues without progress lines");
    assert_eq!(said.count(), 1, "{run:?}");
    world.ok("inspect u");
}

#[test]
fn a_report_that_cannot_be_written_leaves_the_output() {
    let world = World::new();
    world.message(5000);
    let child = world.spawn("$transcipher c -o t --report r");
    wait_until("both outputs", || world.begun(&child).len() == 2);
    signal(&child, "-STOP");
    world.step("cp k r");
    signal(&child, "-CONT");
    let run = end(child).ends(0);
    run.warns("warning: r: file already exists … there is no report");
    world.table("same r k\n inspect t");
}

#[test]
fn a_signal_after_the_work_is_success() {
    let world = World::new();
    let command = world.command("$decrypt o.hct -o d");
    let (child, mut reader) = at_its_last_line(command, &world.at("d"));
    signal(&child, "-INT");
    let run = end(child).ends(0);
    run.warns("warning: interrupted after the output was complete");
    world.step("same d p");
    reader.read_to_end(&mut Vec::new()).unwrap();
}

#[test]
fn the_stricter_mode_is_kept() {
    let world = World::new();
    let usual = world.mode("c"); // what a new file gets here
    let outputs = ["w", "t", "r"];
    let write = |mode| {
        world.table("$wrap w --force\n $transcipher c -o t --force --report r");
        assert_eq!(outputs.map(|name| world.mode(name)), [mode; 3]);
    };
    write(usual);
    for found in [0o600, 0o640, 0o777] {
        for name in outputs {
            world.step(&format!("chmod {found:o} {name}"));
        }
        write(usual & found);
    }
    world.ok("$keygen keys2");
    let modes = ["keys2/eval.hek", "keys2/secret.hsk"].map(|name| world.mode(name));
    assert_eq!(modes, [usual, 0o600]);
}

#[test]
fn a_dash_is_a_stream_or_refused() {
    let world = World::new();
    world.fed("$transcipher - -o t", "c").ends(0);
    let run = world.fed("transcipher $keys --mode ecb - -o u", "c");
    run.check_failure(1, "standard input: 300 bytes do not fit mode ecb", "ecb");
    // ciphertexts go out while they are made
    world.table(
        "$keygen other
        decrypt --secret other/secret.hsk t -o - =1 belongs to key
        $transcipher c --reproducible -o r",
    );
    let line = "$transcipher c --reproducible -o -";
    for (line, file, words) in [
        ("$decrypt t -o -", "p", "standard output: 300 bytes"),
        (line, "r", "standard output: 300 bytes, 19 blocks"),
    ] {
        let run = world.command(line).output().unwrap();
        assert!(run.status.success() && run.stdout == world.read(file));
        let err = String::from_utf8(run.stderr).unwrap();
        assert!(err.contains(words), "{err}");
        let run = world.without_room(line).ends(1);
        run.warns("error: standard output: ");
    }
    // and come in
    let (decrypt, bytes) = ("$decrypt - -o x", world.read("r"));
    for cut in [0, 50, 1000, bytes.len() - 1] {
        world.write("cut", &bytes[..cut]);
        let run = world.fed(decrypt, "cut");
        run.check_failure(1, "standard input: ", "cut");
        assert!(!world.at("x").exists());
    }
    world.fed(decrypt, "r").ends(0);
    world.step("same x p");
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
