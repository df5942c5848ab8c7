//! What a server can return instead of the message that it was asked for, and what `decrypt` says to it.

#![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

use crate::common::{IV, World, unnamed_files};
use aes_gcm::aead::{Aead, KeyInit, Payload};
use std::fs;
use std::process::Stdio;

/// The AES key of the worlds.
const KEY: [u8; 16] = [7; 16];

/// SHA-256 of `abc`: FIPS 180-4, example.
const ABC: &str = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";

const DECRYPT: &str = "decrypt --secret keys/secret.hsk --key-file k";

fn nonce(n: u8) -> String {
    format!("{n:02x}").repeat(12)
}

/// Encrypts `message` with nonce `n` and associated data, and transciphers it into `NAME.hct`; the other files are
/// `NAME.gcm` and `NAME.aad`.
fn gcm(world: &World, name: &str, n: u8, aad: &[u8], msg: &[u8]) {
    let cipher = aes_gcm::Aes128Gcm::new(&KEY.into());
    let text = cipher
        .encrypt(&[n; 12].into(), Payload { msg, aad })
        .unwrap();
    world.write(&format!("{name}.gcm"), &text);
    world.write(&format!("{name}.aad"), aad);
    transcipher(world, name, n, &format!("{name}.hct"));
}

fn transcipher(world: &World, name: &str, n: u8, out: &str) {
    world.ok(&format!(
        "transcipher --eval keys/eval.hek --wrapped-key key.hwk --mode gcm --iv {} --aad {name}.aad {name}.gcm -o {out}",
        nonce(n)
    ));
}

#[test]
fn another_message_of_the_same_key_is_refused() {
    let world = World::new();
    gcm(&world, "a", 1, b"abc", b"the message asked for");
    gcm(
        &world,
        "b",
        2,
        b"abd",
        b"another message, as authentic as the first",
    );
    let right = format!(
        "{DECRYPT} -o q --expect-mode gcm --expect-nonce {} --expect-aad a.aad --expect-bytes 21",
        nonce(1)
    );
    // Without an expectation, both are right.
    world.ok(&format!("{DECRYPT} b.hct -o b"));
    let out = world.ok(&format!("{right} a.hct")).out;
    let words = format!(
        "GCM tag valid, nonce {}, associated data 3 bytes, SHA-256 {ABC}\n",
        nonce(1)
    );
    assert!(out.ends_with(&words), "{out}");
    assert_eq!(world.read("q"), b"the message asked for");
    let base = format!("{DECRYPT} -o x b.hct");
    for (option, words) in [
        (
            format!("--expect-nonce {}", nonce(1)),
            format!(
                "b.hct: nonce or IV: found {} (mode gcm), expected {}; ",
                nonce(2),
                nonce(1)
            ),
        ),
        (
            format!("--expect-nonce {IV}"),
            format!("found {} (mode gcm), expected {IV}", nonce(2)),
        ),
        (
            "--expect-aad a.aad".into(),
            format!("expected 3 bytes with SHA-256 {ABC}; "),
        ),
        (
            "--expect-bytes 21".into(),
            "b.hct: length of the message: found 42 bytes, expected 21 bytes; ".into(),
        ),
        (
            "--expect-mode ctr".into(),
            "b.hct: mode: found gcm, expected ctr; ".into(),
        ),
    ] {
        world.fails(1, &format!("{base} {option}"), &words);
    }
    world.fails(
        1,
        &format!("{base} --expect-aad missing"),
        "missing: No such file",
    );
    // The same of a message without a tag.
    let base = "decrypt --secret keys/secret.hsk -o x o.hct";
    for (option, words) in [
        ("--expect-mode gcm", "o.hct: mode: found ctr, expected gcm"),
        (
            "--expect-aad a.aad",
            "associated data: found none (mode ctr), expected 3 bytes",
        ),
        ("--expect-bytes 299", "found 300 bytes, expected 299 bytes"),
        (
            "--expect-nonce 000102030405060708090a0b",
            "expected 000102030405060708090a0b",
        ),
    ] {
        world.fails(1, &format!("{base} {option}"), words);
    }
    world.ok(&format!(
        "{base} --expect-nonce {IV} --expect-mode ctr --expect-bytes 300"
    ));
}

#[test]
fn options_that_cannot_be() {
    let world = World::new();
    for (options, words) in [
        (
            "--expect-nonce 00",
            "--expect-nonce: found 2 hex digits, expected 32",
        ),
        (
            "--expect-mode ofb",
            "possible values: ecb, cbc, cfb, ctr, gcm, ctr64",
        ),
        ("--expect-bytes -1", "error:"),
        ("--seen log", "--key-file"),
    ] {
        let line = format!("decrypt --secret keys/secret.hsk o.hct -o x {options}");
        world.fails(2, &line, words);
    }
}

#[test]
fn a_replayed_message_is_refused() {
    let world = World::new();
    gcm(&world, "a", 1, b"abc", b"pay 100");
    gcm(&world, "b", 2, b"abc", b"pay 200");
    let seen = format!("{DECRYPT} --seen log --force -o q");
    let out = world.ok(&format!("{seen} a.hct")).out;
    assert!(out.ends_with(", message 1 in log\n"), "{out}");
    let log = world.read("log");
    let text = String::from_utf8(log.clone()).unwrap();
    let time = text.lines().nth(1).unwrap().split(' ').next().unwrap();
    assert!(time.starts_with("20") && time.ends_with('Z'), "{text}");
    let words = format!("a.hct: this message was already accepted on {time} (log, line 2); ");
    world.fails(1, &format!("{DECRYPT} --seen log -o x a.hct"), &words);
    // The same message in FHE ciphertexts that were made anew, in another layout, and under another FHE key.
    world.ok("wrap-key --secret keys/secret.hsk --key-file k --layout bits --force --out key.hwk");
    transcipher(&world, "a", 1, "again.hct");
    assert_ne!(world.read("again.hct"), world.read("a.hct"));
    world.fails(
        1,
        &format!("{DECRYPT} --seen log -o x again.hct"),
        &words.replace("a.hct", "again.hct"),
    );
    fs::remove_dir_all(world.at("keys")).unwrap();
    world.ok("keygen --set bgv/toy-255 --out keys --accept-insecure");
    world.ok("wrap-key --secret keys/secret.hsk --key-file k --force --out key.hwk");
    transcipher(&world, "a", 1, "other.hct");
    world.fails(
        1,
        &format!("{DECRYPT} --seen log -o x other.hct"),
        "already accepted on",
    );
    assert_eq!(world.read("log"), log);
    // A new message is accepted, and the log goes on.
    transcipher(&world, "b", 2, "new.hct");
    let out = world.ok(&format!("{seen} new.hct")).out;
    assert!(out.ends_with(", message 2 in log\n"), "{out}");
    assert_eq!(world.read("q"), b"pay 200");
    assert!(world.read("log").starts_with(&log));
    world.fails(
        1,
        &format!("{DECRYPT} --seen log -o x new.hct"),
        "(log, line 3)",
    );
}

#[test]
fn a_message_on_standard_output_is_recorded() {
    let world = World::new();
    gcm(&world, "a", 1, b"abc", b"pay 100");
    let line = format!("{DECRYPT} --seen log -o - a.hct");
    let run = world.ok(&line);
    assert_eq!(run.out, "pay 100");
    assert!(run.err.ends_with(", message 1 in log\n"), "{run:?}");
    let refused = world.fails(1, &line, "this message was already accepted on");
    assert_eq!(refused.out, "");
}

/// What could not be handed over can be decrypted again.
#[cfg(target_os = "linux")]
#[test]
fn a_message_that_is_not_handed_over_is_not_recorded() {
    let world = World::new();
    gcm(&world, "a", 1, b"abc", b"pay 100");
    let line = format!("{DECRYPT} --seen log -o - a.hct");
    let full = fs::File::options().write(true).open("/dev/full").unwrap();
    let output = world.command(&line).stdout(full).output().unwrap();
    let err = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{err}");
    assert!(err.contains("error: standard output: "), "{err}");
    assert!(!world.at("log").exists());
    assert_eq!(world.ok(&line).out, "pay 100");
}

#[test]
fn the_log_is_checked_before_keys_are_read() {
    let world = World::new();
    let line = "decrypt --secret none --key-file k o.hct --force";
    let same = "is both the output and the replay log or its lock file";
    world.fails(1, &format!("{line} --seen log -o log.lock"), same);
    world.fails(1, &format!("{line} --seen log -o ./log"), same);
    world.write("log", b"");
    world.fails(1, &format!("{line} --seen log -o ./log"), same);
    world.fails(
        1,
        &format!("{line} --seen none/log -o x"),
        "none/log: No such file",
    );
    world.fails(2, &format!("{line} --seen - -o x"), "'--seen <FILE>'");
}

#[test]
fn what_is_not_accepted_is_not_recorded() {
    let world = World::new();
    gcm(&world, "a", 1, b"abc", b"message");
    world.write("wrong", &[1; 16]);
    let base = "decrypt --secret keys/secret.hsk --seen log -o x";
    world.fails(
        1,
        &format!("{base} --key-file wrong a.hct"),
        "the GCM tag does not match",
    );
    world.fails(
        1,
        &format!("{base} --key-file k --expect-bytes 8 a.hct"),
        "expected 8 bytes",
    );
    world.fails(
        1,
        &format!("{base} --key-file k o.hct"),
        "mode ctr has no tag to check",
    );
    world.fails(
        1,
        &format!("{base} --key-file k a.hct").replace("log", "none/log"),
        "none/log: No such file",
    );
    world.fails(
        1,
        &format!("{base} --key-file k a.hct").replace("-o x", "-o ./log"),
        "is both the output and the replay log",
    );
    // Files that this command reads are not taken for a log, and stay what they are.
    for file in ["k", "keys/secret.hsk", "a.hct", "a.aad"] {
        let before = world.read(file);
        let line = format!("{DECRYPT} -o x a.hct --seen {file}");
        let why = match file {
            "keys/secret.hsk" => "holds a secret key",
            _ => "the replay log is damaged: line 1",
        };
        world.fails(1, &line, &format!("{file}: {why}"));
        assert_eq!(world.read(file), before);
    }
    assert!(!world.at("log").exists());
}

#[test]
fn a_damaged_log_is_refused() {
    let world = World::new();
    for n in [1, 2, 3] {
        gcm(&world, &format!("m{n}"), n, b"abc", b"message");
    }
    for n in [1, 2] {
        world.ok(&format!("{DECRYPT} --seen log --force -o q m{n}.hct"));
    }
    let good = String::from_utf8(world.read("log")).unwrap();
    let lines: Vec<&str> = good.lines().collect();
    assert_eq!((lines.len(), lines[0]), (3, "homaes replay log 1"));
    let joined = |lines: &[&str]| lines.join("\n") + "\n";
    let flipped = good.replacen("nonce=01", "nonce=02", 1);
    for (bad, line) in [
        (String::new(), 1),
        ("something else\n".into(), 1),
        (good.replace("log 1", "log 2"), 1),
        (flipped, 2),
        (good.replacen("Z gcm", "Z gcn", 1), 2),
        (joined(&[lines[0], lines[2]]), 2),
        (joined(&[lines[0], lines[2], lines[1]]), 2),
        (joined(&[lines[0], lines[1], lines[1]]), 3),
        (joined(&[lines[0], lines[1], "", lines[2]]), 3),
        (good.trim_end().to_owned(), 3),
        (good[..good.len() - 40].to_owned(), 3),
        (good.clone() + "\0\0\0\0", 4),
        (good.clone() + &"x".repeat(100_000), 4),
    ] {
        world.write("bad", bad.as_bytes());
        let words = format!("bad: the replay log is damaged: line {line}: expected");
        world.fails(1, &format!("{DECRYPT} --seen bad -o x m3.hct"), &words);
        assert_eq!(world.read("bad"), bad.as_bytes());
    }
    fs::create_dir(world.at("folder")).unwrap();
    world.fails(
        1,
        &format!("{DECRYPT} --seen folder -o x m3.hct"),
        "folder: ",
    );
    world.ok(&format!("{DECRYPT} --seen log -o x m3.hct"));
}

#[test]
fn of_runs_side_by_side_one_accepts() {
    let world = World::new();
    gcm(&world, "a", 1, b"abc", &[7; 5000]);
    let runs: Vec<_> = (0..4)
        .map(|i| {
            let line = format!("{DECRYPT} --seen log -o q{i} a.hct");
            let mut command = world.command(&line);
            command.stdout(Stdio::piped()).stderr(Stdio::piped());
            command.spawn().unwrap()
        })
        .collect();
    let mut accepted = 0;
    for (i, run) in runs.into_iter().enumerate() {
        let output = run.wait_with_output().unwrap();
        let there = world.at(&format!("q{i}")).exists();
        assert_eq!(there, output.status.code() == Some(0));
        accepted += usize::from(there);
        if !there {
            let err = String::from_utf8(output.stderr).unwrap();
            assert!(err.contains("already accepted on"), "{err}");
        }
    }
    assert_eq!(accepted, 1);
}

#[test]
fn unauthenticated_results_are_called_so() {
    let world = World::new();
    gcm(&world, "a", 1, b"abc", b"message");
    world.fails(
        1,
        "decrypt --secret keys/secret.hsk a.hct -o x",
        "a.hct: checking the GCM tag needs the AES key; give the AES key with --key-file",
    );
    let run = world.ok("decrypt --secret keys/secret.hsk a.hct -o x --unauthenticated");
    assert!(run.err.contains("the GCM tag was NOT checked"), "{run:?}");
    assert!(
        run.out
            .contains("unauthenticated: GCM tag not checked, nonce 0101"),
        "{run:?}"
    );
    let run = world.ok("decrypt --secret keys/secret.hsk o.hct -o y");
    let words = format!("unauthenticated: mode ctr has no tag, iv {IV}\n");
    assert!(run.out.ends_with(&words), "{run:?}");
    let text = world.ok("inspect o.hct").out;
    assert!(
        text.contains("unauthenticated: mode ctr has no tag"),
        "{text}"
    );
    let text = world.ok("inspect a.hct").out;
    assert!(text.contains(&format!("3 bytes, SHA-256 {ABC}")), "{text}");
    let json = |file: &str| -> serde_json::Value {
        serde_json::from_str(&world.ok(&format!("inspect --json {file}")).out).unwrap()
    };
    let (gcm, ctr) = (&json("a.hct")["messages"], &json("o.hct")["messages"]);
    assert_eq!(
        (&gcm["aad_sha256"], &gcm["authentication"]),
        (&ABC.into(), &"tag, not checked".into())
    );
    assert_eq!(
        (&ctr["aad_sha256"], &ctr["authentication"]),
        (&serde_json::Value::Null, &"none".into())
    );
}

#[cfg(target_os = "linux")]
#[test]
fn plaintexts_are_private_from_the_first_byte_on() {
    use std::os::unix::fs::PermissionsExt;
    let world = World::new();
    let mode = |name: &str| fs::metadata(world.at(name)).unwrap().permissions().mode() & 0o777;
    world.message(40_000);
    world.transcipher("c", "o.hct");
    world.write("q", b"older");
    fs::set_permissions(world.at("q"), fs::Permissions::from_mode(0o644)).unwrap();
    let mut child = world
        .command("decrypt --secret keys/secret.hsk o.hct -o q --force")
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    // Every state of the output that can be seen from outside.
    let mut watched = 0;
    while child.try_wait().unwrap().is_none() {
        for path in unnamed_files(&child, &world.at(".")) {
            if let Ok(data) = fs::metadata(path) {
                assert_eq!(data.permissions().mode() & 0o777, 0o600);
                watched += 1;
            }
        }
    }
    assert!(child.wait().unwrap().success() && watched > 0);
    assert_eq!((mode("q"), world.read("q")), (0o600, world.read("p")));
    gcm(&world, "a", 1, b"abc", b"message");
    world.ok(&format!("{DECRYPT} --seen log -o x a.hct"));
    assert_eq!((mode("x"), mode("log")), (0o600, 0o600));
}
