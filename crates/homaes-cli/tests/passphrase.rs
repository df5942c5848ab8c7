//! Secret keys under a passphrase, as users meet them.

#![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

use crate::common::{Run, World};
use serde_json::Value;
use std::io::Write;
use std::process::Stdio;

const DECRYPT: &str = "decrypt --secret keys/secret.hsk o.hct --force -o q";

/// The toy world with its secret key under the passphrase in `pass`.
fn protected(set: &str) -> World {
    let world = World::of(set);
    world.write("pass", b"correct horse\n");
    world.write("other", b"battery staple\n");
    world.ok("passphrase --secret keys/secret.hsk --new-passphrase-file pass");
    world
}

/// Runs a command that no terminal belongs to.
#[cfg(target_os = "linux")]
fn without_terminal(world: &World, line: &str) -> Run {
    let mut command = world.program("setsid");
    command.arg("-w").arg(env!("CARGO_BIN_EXE_homaes"));
    Run::of(command.args(line.split_whitespace()))
}

#[test]
fn every_command_that_reads_a_secret_key_takes_the_passphrase() {
    for set in ["bgv/toy-255", "tfhe/toy"] {
        let world = protected(set);
        world.ok(&format!("{DECRYPT} --passphrase-file pass"));
        assert_eq!(world.read("q"), world.read("p"));
        let wrap = "wrap-key --secret keys/secret.hsk --key-file k --out key.hwk --force";
        world.ok(&format!("{wrap} --passphrase-file pass"));
        world.transcipher("c", "o.hct");
        world.ok(&format!("{DECRYPT} --passphrase-file pass"));
        assert_eq!(world.read("q"), world.read("p"));
        for line in [wrap, DECRYPT] {
            let line = line.replace("key.hwk", "x").replace("-o q", "-o x");
            world.fails(
                1,
                &format!("{line} --passphrase-file other"),
                "keys/secret.hsk: the passphrase does not open this secret key; check the passphrase",
            );
            world.fails(
                1,
                &format!("{line} --passphrase-file c"),
                "c: not a passphrase: found more than",
            );
            world.fails(
                1,
                &format!("{line} --passphrase-file missing"),
                "missing: No such file",
            );
            #[cfg(target_os = "linux")]
            without_terminal(&world, &line).check_failure(
                1,
                "passphrase of keys/secret.hsk: no terminal to ask on (No such device or address (os error 6)); use --passphrase-file",
                &line,
            );
        }
        let document: Value =
            serde_json::from_str(&world.ok("inspect keys/secret.hsk --json").out).unwrap();
        assert_eq!(
            (&document["set"], &document["secret_key"]["protected"]),
            (&set.into(), &true.into())
        );
        let cost = &document["secret_key"]["argon2id"];
        let cost = ["memory_kib", "passes", "lanes"].map(|field| cost[field].as_u64().unwrap());
        assert_eq!(cost, [65536, 3, 4]);
        let text = world.ok("inspect keys/secret.hsk").out;
        assert!(
            text.contains("needed (Argon2id: 64.0 MiB, 3 passes, 4 lanes)"),
            "{text}"
        );
    }
}

#[test]
fn keys_are_made_under_a_passphrase_and_it_is_changed_and_removed() {
    let world = World::new();
    let plain = world.read("keys/secret.hsk");
    let document = |world: &World| -> Value {
        serde_json::from_str(&world.ok("inspect keys/secret.hsk --json").out).unwrap()
    };
    assert_eq!(document(&world)["secret_key"]["protected"], false);
    world.write("pass", b"correct horse\n");
    world.write("other", b"battery staple");
    let change = "passphrase --secret keys/secret.hsk";
    let out = world
        .ok(&format!("{change} --new-passphrase-file pass"))
        .out;
    assert!(
        out.starts_with(
            "keys/secret.hsk: protected with the new passphrase; set bgv/toy-255, key "
        ),
        "{out}"
    );
    let first = world.read("keys/secret.hsk");
    for (line, words) in [
        (
            format!("{change} --passphrase-file other --new-passphrase-file pass"),
            "does not open this secret key",
        ),
        (
            format!("{change} --passphrase-file pass --new-passphrase-file missing"),
            "missing: No such file",
        ),
        (
            format!("{change} --passphrase-file pass --new-passphrase-file keys/eval.hek"),
            "keys/eval.hek: not a passphrase",
        ),
    ] {
        world.fails(1, &line, words);
        assert_eq!(world.read("keys/secret.hsk"), first);
    }
    world.ok(&format!(
        "{change} --passphrase-file pass --new-passphrase-file other"
    ));
    world.fails(
        1,
        &format!("{DECRYPT} --passphrase-file pass"),
        "does not open",
    );
    world.ok(&format!("{DECRYPT} --passphrase-file other"));
    let out = world
        .ok(&format!("{change} --passphrase-file other --remove"))
        .out;
    assert!(out.contains("no longer protected"), "{out}");
    assert_eq!(world.read("keys/secret.hsk"), plain);
    world.fails(
        1,
        &format!("{change} --remove"),
        "this secret key has no passphrase",
    );
    // A passphrase that is not needed is said to be unused.
    let run = world.ok(&format!("{DECRYPT} --passphrase-file pass"));
    assert!(
        run.err
            .contains("warning: keys/secret.hsk: this secret key has no passphrase"),
        "{run:?}"
    );
    // From the beginning.
    let keygen = "keygen --set bgv/toy-255 --accept-insecure --out new";
    let out = world.ok(&format!("{keygen} --passphrase-file pass")).out;
    assert!(
        out.contains("stays here: keep it and its passphrase secret\nnew/eval.hek: "),
        "{out}"
    );
    world.ok("wrap-key --secret new/secret.hsk --key-file k --out new.hwk --passphrase-file pass");
    world.fails(
        1,
        &format!("{keygen} --passphrase-file c --force"),
        "c: not a passphrase",
    );
    world.fails(
        2,
        &format!("{keygen} --passphrase-file pass --passphrase"),
        "cannot be used with",
    );
    world.fails(
        2,
        &format!("{change} --remove --new-passphrase-file pass"),
        "cannot be used with",
    );
}

#[test]
fn passphrases_come_from_standard_input_too() {
    let world = protected("bgv/toy-255");
    let line = format!("{DECRYPT} --passphrase-file -");
    let mut command = world.command(&line);
    command
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    let mut child = command.spawn().unwrap();
    child
        .stdin
        .take()
        .unwrap()
        .write_all(b"correct horse\n")
        .unwrap();
    assert!(child.wait().unwrap().success());
    assert_eq!(world.read("q"), world.read("p"));
    for line in [
        format!("{DECRYPT} --passphrase-file - --key-file -"),
        "wrap-key --secret keys/secret.hsk --key-file - --passphrase-file - --out x".into(),
        "passphrase --secret keys/secret.hsk --passphrase-file - --new-passphrase-file -".into(),
    ] {
        world.fails(2, &line, "two inputs cannot both come from standard input");
    }
    // The passphrase's file is not overwritten.
    world.fails(
        1,
        &format!("{DECRYPT} --passphrase-file pass").replace("-o q", "-o pass"),
        "both an input and the output",
    );
}

#[cfg(target_os = "linux")]
mod terminal {
    use super::*;
    use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
    use rustix::termios::{LocalModes, tcgetattr};
    use std::ffi::OsStr;
    use std::fs::File;
    use std::io::Read;
    use std::os::unix::ffi::OsStrExt;
    use std::os::unix::fs::OpenOptionsExt;

    const PRESENT: &str = "passphrase of keys/secret.hsk: ";
    const NEW: &str = "new passphrase of keys/secret.hsk: ";
    const AGAIN: &str = "new passphrase of keys/secret.hsk, again: ";

    /// `O_NOCTTY`: the terminal is that of the command, not of the test.
    const NO_CONTROLLING_TERMINAL: i32 = 0o400;

    /// Runs a command on a terminal of its own where this is typed, each part at its prompt; exit code, and what is seen there.
    fn typed(world: &World, line: &str, parts: &[(&str, &str)]) -> (Option<i32>, String) {
        let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
        grantpt(&master).unwrap();
        unlockpt(&master).unwrap();
        let name = ptsname(&master, Vec::new()).unwrap();
        let slave = File::options()
            .read(true)
            .write(true)
            .custom_flags(NO_CONTROLLING_TERMINAL)
            .open(OsStr::from_bytes(name.as_bytes()))
            .unwrap();
        let stream = || Stdio::from(slave.try_clone().unwrap());
        let mut command = world.program("setsid");
        command.args(["-c", "-w", env!("CARGO_BIN_EXE_homaes")]);
        command.args(line.split_whitespace());
        command.stdin(stream()).stdout(stream()).stderr(stream());
        let mut child = command.spawn().unwrap();
        // When the command is gone, reading ends with an error.
        drop((command, slave));
        let mut master = File::from(master);
        let mut seen = Vec::new();
        for (prompt, part) in parts {
            while !seen.ends_with(prompt.as_bytes()) {
                let mut byte = [0];
                master.read_exact(&mut byte).unwrap();
                seen.push(byte[0]);
            }
            master.write_all(part.as_bytes()).unwrap();
            seen.push(b'|');
        }
        let code = child.wait().unwrap().code();
        let settings = tcgetattr(&master).unwrap();
        assert!(
            settings.local_modes.contains(LocalModes::ECHO),
            "the terminal stays silent"
        );
        let _ = master.read_to_end(&mut seen);
        (code, String::from_utf8(seen).unwrap())
    }

    #[test]
    fn passphrases_are_asked_for_and_not_shown() {
        let world = protected("bgv/toy-255");
        let (code, seen) = typed(&world, DECRYPT, &[(PRESENT, "correct horse\n")]);
        assert_eq!(code, Some(0), "{seen}");
        assert!(
            seen.starts_with("passphrase of keys/secret.hsk: ") && !seen.contains("horse"),
            "{seen}"
        );
        assert_eq!(world.read("q"), world.read("p"));
        let (code, seen) = typed(&world, DECRYPT, &[(PRESENT, "wrong\n")]);
        assert_eq!(code, Some(1), "{seen}");
        assert!(
            seen.contains("error: keys/secret.hsk: the passphrase does not open"),
            "{seen}"
        );
        // A new one is asked for twice.
        let change = "passphrase --secret keys/secret.hsk --passphrase-file pass";
        let (code, seen) = typed(&world, change, &[(NEW, "one\n"), (AGAIN, "two\n")]);
        assert_eq!(code, Some(1), "{seen}");
        assert!(seen.contains("error: the two passphrases differ"), "{seen}");
        let (code, seen) = typed(
            &world,
            change,
            &[(NEW, "battery staple\n"), (AGAIN, "battery staple\n")],
        );
        assert_eq!(code, Some(0), "{seen}");
        world.ok(&format!("{DECRYPT} --passphrase-file other"));
        let keygen = "keygen --set bgv/toy-255 --accept-insecure --out new --passphrase";
        let prompts = [NEW, AGAIN].map(|prompt| prompt.replace("keys/", "new/"));
        let (code, seen) = typed(&world, keygen, &[(&prompts[0], "\n")]);
        assert_eq!(code, Some(1), "{seen}");
        assert!(seen.contains("not a passphrase: found nothing"), "{seen}");
        let (code, seen) = typed(
            &world,
            keygen,
            &[
                (&prompts[0], "correct horse\n"),
                (&prompts[1], "correct horse\n"),
            ],
        );
        assert_eq!(code, Some(0), "{seen}");
        world.ok(
            "wrap-key --secret new/secret.hsk --key-file k --out new.hwk --passphrase-file pass",
        );
    }

    #[test]
    fn ctrl_c_leaves_the_terminal_as_it_was() {
        let world = protected("bgv/toy-255");
        let (code, seen) = typed(&world, DECRYPT, &[(PRESENT, "correct\x03")]);
        assert_eq!(code, Some(130), "{seen}");
        assert!(seen.contains("error: interrupted"), "{seen}");
    }
}
