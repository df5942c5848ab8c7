//! What a server can return instead of the message that it was asked for, and what `decrypt` says to it.

use crate::common::{IV, KEY, World, assert_fields, end, nonce, sealed};
use serde_json::json;
use std::fs;

/// SHA-256 of `abc`: FIPS 180-4, example.
const ABC: &str = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";

/// Encrypts `message` with nonce `n` and associated data, and transciphers it into `NAME.hct`; the other files are
/// `NAME.gcm` and `NAME.aad`.
fn gcm(world: &World, name: &str, n: u8, aad: &str, message: &[u8]) {
    let sealed = sealed(&KEY, n, aad.as_bytes(), message);
    world.write(&format!("{name}.gcm"), sealed);
    world.write(&format!("{name}.aad"), aad);
    transcipher(world, name, n, &format!("{name}.hct"));
}

fn transcipher(world: &World, name: &str, n: u8, out: &str) {
    let iv = nonce(n);
    let line = format!("transcipher $keys --mode gcm --iv {iv} --aad {name}.aad {name}.gcm");
    world.ok(&format!("{line} -o {out}"));
}

#[test]
fn another_message_of_the_same_key_is_refused() {
    let world = World::new();
    gcm(&world, "a", 1, "abc", b"the message asked for");
    let other = b"another message, as authentic as the first";
    gcm(&world, "b", 2, "abd", other);
    let [first, second] = [1, 2].map(nonce);
    // without an expectation, both are right; the last ones are of a message without a tag
    world.table(&format!(
        "$open -o b b.hct
        $open -o q --expect-mode gcm --expect-nonce {first} --expect-aad a.aad --expect-bytes 21 a.hct \
            => GCM tag valid, nonce {first}, associated data 3 bytes, SHA-256 {ABC}
        write asked the message asked for
        same q asked
        $decrypt -o x o.hct --expect-nonce $iv --expect-mode ctr --expect-bytes 300
        $open -o y b.hct --expect-nonce {first} =1 b.hct: nonce or IV: found {second} (mode gcm), expected {first};
        $open -o y b.hct --expect-nonce $iv =1 found {second} (mode gcm), expected {IV}
        $open -o y b.hct --expect-aad a.aad =1 expected 3 bytes with SHA-256 {ABC};
        $open -o y b.hct --expect-aad missing =1 missing: No such file
        $open -o y b.hct --expect-bytes 21 =1 b.hct: length of the message: found 42 bytes, expected 21 bytes;
        $open -o y b.hct --expect-mode ctr =1 b.hct: mode: found gcm, expected ctr;
        $decrypt -o y o.hct --expect-mode gcm =1 o.hct: mode: found ctr, expected gcm
        $decrypt -o y o.hct --expect-aad a.aad =1 associated data: found none (mode ctr), expected 3 bytes
        $decrypt -o y o.hct --expect-bytes 299 =1 found 300 bytes, expected 299 bytes
        $decrypt -o y o.hct --expect-nonce {first} =1 expected {first}"
    ));
}

#[test]
fn a_replayed_message_is_refused() {
    let world = World::new();
    gcm(&world, "a", 1, "abc", b"pay 100");
    gcm(&world, "b", 2, "abc", b"pay 200");
    let run = world.ok("$open --seen log -o q a.hct");
    run.says(", message 1 in log\n");
    let text = world.text("log");
    let time = text.split(['\n', ' ']).nth(4).unwrap();
    assert!(time.starts_with("20") && time.ends_with('Z'), "{text}");
    let words = format!("this message was already accepted on {time} (log, line 2);");
    // the same message in FHE ciphertexts that were made anew, in another layout, and under another FHE key
    world.table(&format!(
        "$open --seen log -o x a.hct =1 a.hct: {words}
        $wrap key.hwk --layout bits --force"
    ));
    transcipher(&world, "a", 1, "again.hct");
    world.table(&format!(
        "$open --seen log -o x again.hct =1 again.hct: {words}
        rm keys
        $keygen keys
        $wrap key.hwk --force"
    ));
    transcipher(&world, "a", 1, "other.hct");
    world.fails(1, "$open --seen log -o x other.hct", "already accepted on");
    // a new message is accepted, on standard output too
    transcipher(&world, "b", 2, "new.hct");
    let run = world.ok("$open --seen log -o - new.hct");
    assert_eq!(run.out, "pay 200");
    assert!(run.err.ends_with(", message 2 in log\n"), "{run:?}");
    assert!(world.text("log").starts_with(&text));
    world.fails(1, "$open --seen log -o - new.hct", "(log, line 3)");
}

#[test]
fn what_is_not_accepted_is_not_recorded() {
    let world = World::new();
    gcm(&world, "a", 1, "abc", b"message");
    world.write("wrong", [1; 16]);
    // nor are files that this command reads taken for a log
    world.table(
        "$decrypt --seen log -o x --key-file wrong a.hct =1 the GCM tag does not match
        $open --seen log -o x --expect-bytes 8 a.hct =1 expected 8 bytes
        $open --seen log -o x o.hct =1 mode ctr has no tag to check
        $open -o x a.hct --seen keys/secret.hsk =1 keys/secret.hsk: holds a secret key
        $open -o x a.hct --seen k =1 k: the replay log is damaged: line 1
        $open -o x a.hct --seen a.hct =1 a.hct: the replay log is damaged: line 1",
    );
    // what could not be handed over can be decrypted again
    #[cfg(target_os = "linux")]
    {
        let run = world.without_room("$open --seen log -o - a.hct").ends(1);
        run.warns("error: standard output: ");
    }
    assert!(!world.at("log").exists());
    assert_eq!(world.ok("$open --seen log -o - a.hct").out, "message");
    // before keys are read
    world.table(
        "decrypt --secret none --key-file k o.hct --seen new -o new.lock \
            =1 is both the output and the replay log or its lock file
        decrypt --secret none --key-file k o.hct --seen new -o ./new =1 is both the output and the replay log
        decrypt --secret none --key-file k o.hct --seen log -o ./log --force =1 is both the output and the replay log
        decrypt --secret none --key-file k o.hct --seen none/log -o x =1 none/log: No such file",
    );
}

#[test]
fn a_damaged_log_is_refused() {
    let world = World::new();
    for n in [1, 2, 3] {
        gcm(&world, &format!("m{n}"), n, "abc", b"message");
    }
    world.table("$open --seen log -o 1 m1.hct\n $open --seen log -o 2 m2.hct");
    let good = world.text("log");
    let lines: Vec<&str> = good.lines().collect();
    assert_eq!((lines.len(), lines[0]), (3, "homaes replay log 1"));
    let joined = |lines: &[&str]| lines.join("\n") + "\n";
    for (bad, line) in [
        (String::new(), 1),
        ("something else\n".into(), 1),
        (good.replace("log 1", "log 2"), 1),
        (good.replacen("nonce=01", "nonce=02", 1), 2),
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
        world.write("bad", &bad);
        let words = format!("bad: the replay log is damaged: line {line}: expected");
        world.fails(1, "$open --seen bad -o x m3.hct", &words);
    }
    world.table(
        "mkdir folder
        $open --seen folder -o x m3.hct =1 folder:
        $open --seen log -o x m3.hct",
    );
}

#[test]
fn of_runs_side_by_side_one_accepts() {
    let world = World::new();
    gcm(&world, "a", 1, "abc", &[7; 1000]);
    let runs = [0, 1, 2, 3].map(|i| world.spawn(&format!("$open --seen log -o q{i} a.hct")));
    let mut accepted = 0;
    for (i, run) in runs.into_iter().enumerate() {
        let run = end(run);
        let there = world.at(&format!("q{i}")).exists();
        assert_eq!(there, run.code == Some(0));
        accepted += usize::from(there);
        if !there {
            run.warns("already accepted on");
        }
    }
    assert_eq!(accepted, 1);
}

#[test]
fn unauthenticated_results_are_called_so() {
    let world = World::new();
    gcm(&world, "a", 1, "abc", b"message");
    world.table(&format!(
        "$decrypt a.hct -o x =1 a.hct: checking the GCM tag needs the AES key; give the AES key with --key-file
        $decrypt a.hct -o x --unauthenticated =! the GCM tag was NOT checked
        $decrypt a.hct -o y --unauthenticated => unauthenticated: GCM tag not checked, nonce 0101
        $decrypt o.hct -o z => unauthenticated: mode ctr has no tag, iv {IV}
        inspect o.hct => unauthenticated: mode ctr has no tag
        inspect a.hct => 3 bytes, SHA-256 {ABC}"
    ));
    for (file, expected) in [
        (
            "a.hct",
            json!({ "aad_sha256": ABC, "authentication": "tag, not checked" }),
        ),
        (
            "o.hct",
            json!({ "aad_sha256": null, "authentication": "none" }),
        ),
    ] {
        let found = world.json(&format!("inspect --json {file}"));
        assert_fields(&found["messages"], expected);
    }
}

#[cfg(target_os = "linux")]
#[test]
fn plaintexts_are_private_from_the_first_byte_on() {
    use crate::common::wait_until;
    use std::io::Write;
    use std::os::unix::fs::PermissionsExt;
    use std::process::Stdio;
    let world = World::new();
    world.table("cp c q\n chmod 644 q");
    // the output is begun while half of the input is to come
    let mut command = world.command("$decrypt - -o q --force");
    let piped = command.stdin(Stdio::piped()).stdout(Stdio::null());
    let mut child = piped.stderr(Stdio::null()).spawn().unwrap();
    let bytes = world.read("o.hct");
    let (half, rest) = bytes.split_at(bytes.len() / 2);
    let mut input = child.stdin.take().unwrap();
    input.write_all(half).unwrap();
    wait_until("an output", || world.has_begun(&child));
    for path in world.begun(&child) {
        let found = fs::metadata(path).unwrap().permissions();
        assert_eq!(found.mode() & 0o777, 0o600);
    }
    input.write_all(rest).unwrap();
    drop(input);
    assert!(child.wait().unwrap().success());
    gcm(&world, "a", 1, "abc", b"message");
    world.table("same q p\n $open --seen log -o x a.hct");
    assert_eq!(["q", "x", "log"].map(|name| world.mode(name)), [0o600; 3]);
}
