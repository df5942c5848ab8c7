//! Results of BGV as those of TFHE, on toy sets.

#![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

use crate::common::{IV, World};
use serde_json::Value;

/// A message across, and every way in which keys and files do not go together.
#[test]
fn results_cross_to_a_key_of_tfhe() {
    let world = World::new();
    world.ok("keygen --set tfhe/toy --out t --accept-insecure");
    let made =
        world.ok("keygen --set bgv/toy-4369 --out b --bridge t/secret.hsk --accept-insecure");
    assert!(
        made.out.contains("converts to a key of set tfhe/toy"),
        "{made:?}"
    );
    world.ok(
        "wrap-key --secret b/secret.hsk --key-file k --layout sliced --levels-left 1 --out b.hwk",
    );
    let line = format!(
        "transcipher --eval b/eval.hek --wrapped-key b.hwk --mode ctr --iv {IV} --to tfhe --bridge b/bridge.hbk c -o across.hct"
    );
    // 19 blocks: one record, which is not full
    let run = world.ok(&line);
    assert!(
        run.out.contains("300 bytes, 19 blocks in 1 batch"),
        "{run:?}"
    );
    // not that of tfhe/toy: 2^-64 by AES in BGV, and 2^-66 by the bridge
    let words = "wrong with probability at most 2^-63.7";
    assert!(run.out.contains(words), "{run:?}");
    let found: Value = serde_json::from_str(&world.ok("inspect across.hct --json").out).unwrap();
    assert_eq!(
        (&found["set"], &found["kind"]),
        (&"tfhe/toy".into(), &"hct".into())
    );
    // the rounds are those of BGV, whose levels they went down
    assert_eq!(found["messages"]["evaluated_in"], "bgv");
    let log2_p_fail = found["messages"]["log2_p_fail"].as_f64().unwrap();
    assert!((log2_p_fail + 64.0 - 1.25f64.log2()).abs() < 1e-9);
    let run = world.ok("decrypt --secret t/secret.hsk across.hct -o back");
    assert!(run.out.contains(words), "{run:?}");
    assert_eq!(world.read("back"), world.read("p"));
    let found: Value = serde_json::from_str(&world.ok("inspect b/bridge.hbk --json").out).unwrap();
    let key = serde_json::from_str::<Value>(&world.ok("inspect t/eval.hek --json").out).unwrap();
    assert_eq!(found["end"]["key_id"], key["key_id"]);
    assert_eq!(found["end"]["what"], "a key of set tfhe/toy");
    // what does not go together
    let again = |change: &dyn Fn(String) -> String| change(line.replace("across", "other"));
    world.fails(1, &line, "already exists");
    world.fails(2, &again(&|l| l.replace("--to tfhe", "")), "--to");
    world.fails(
        1,
        &again(&|l| {
            l.replace("b/eval.hek", "keys/eval.hek")
                .replace("b.hwk", "key.hwk")
        }),
        "bgv/toy-4369",
    );
    world.fails(
        1,
        &again(&|l| l.replace("b/bridge.hbk", "b/eval.hek")),
        "bridge key (.hbk)",
    );
    world.fails(
        1,
        "decrypt --secret b/secret.hsk across.hct -o x",
        "tfhe/toy",
    );
    world.ok(
        "wrap-key --secret b/secret.hsk --key-file k --layout sliced --levels-left 0 --out b0.hwk",
    );
    world.fails(
        1,
        &again(&|l| l.replace("b.hwk", "b0.hwk")),
        "--levels-left",
    );
    world.fails(
        1,
        "keygen --bridge t/secret.hsk --out b",
        "bridge.hbk: file already exists",
    );
    world.ok("keygen --bridge t/secret.hsk --out b --force");
    world.fails(
        2,
        "keygen --set bgv/aes128 --bridge t/secret.hsk --out n",
        "set bgv/aes128 has no bridges",
    );
    world.fails(
        1,
        "keygen --bridge keys/secret.hsk --out b --force",
        "bridges do not lead to set",
    );
    world.fails(
        1,
        "keygen --bridge t/secret.hsk --out keys",
        "the TFHE key has 256 bits",
    );
    world.fails(
        1,
        "keygen --bridge t/eval.hek --out b --force",
        "secret key (.hsk)",
    );
    world.fails(2, "keygen --out b", "--set");
    let export = "export --to fheuint8 across.hct -o values";
    match cfg!(feature = "tfhe-rs") {
        true => world.fails(1, export, "(.hlw)"),
        false => world.fails(2, export, "--features tfhe-rs"),
    };
}

/// A run of two batches, killed after the first.
#[cfg(target_os = "linux")]
#[test]
#[ignore = "nightly: `resume` kills the runs that always run"]
fn nightly_a_killed_run_over_a_bridge_goes_on() {
    use std::{fs, process::Stdio, thread::sleep, time::Duration};
    let world = World::new();
    world.ok("keygen --set tfhe/toy --out t --accept-insecure");
    world.ok("keygen --set bgv/toy-4369 --out b --bridge t/secret.hsk --accept-insecure");
    world.ok(
        "wrap-key --secret b/secret.hsk --key-file k --layout sliced --levels-left 1 --out b.hwk",
    );
    world.write("c", &[0x3a; 4800]);
    let line = |more: &str| {
        format!(
            "transcipher --eval b/eval.hek --wrapped-key b.hwk --mode ctr --iv {IV} --to tfhe --bridge b/bridge.hbk c {more}"
        )
    };
    let whole = world.ok(&line("--reproducible -o whole.hct"));
    assert!(whole.out.contains("in 2 batches"), "{whole:?}");
    let resumed = line("--resume -o across.hct");
    let mut command = world.command(&resumed);
    let silent = command.stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = silent.spawn().unwrap();
    let lines = || {
        let text = fs::read_to_string(world.at(".across.hct.homaes-journal"));
        text.map_or(0, |text| text.lines().count())
    };
    while lines() < 2 {
        assert!(child.try_wait().unwrap().is_none(), "it is at work");
        sleep(Duration::from_millis(5));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    let run = world.ok(&resumed);
    assert!(
        run.out.contains("1 of the batches from earlier runs"),
        "{run:?}"
    );
    assert!(world.read("across.hct") == world.read("whole.hct"));
}

/// Keys that make no bridge, and keys that none replaces.
#[test]
fn keys_without_a_bridge_are_named_and_kept() {
    let world = World::new();
    world.ok("keygen --set tfhe/toy --out t --accept-insecure");
    world.ok("keygen --set bgv/toy-4369 --out b --bridge t/secret.hsk --accept-insecure");
    for (option, named) in [
        ("--passphrase", "--set"),
        ("--accept-insecure", "--set"),
        ("--resume", "--bridge"),
    ] {
        let line = format!("keygen --out b --bridge t/secret.hsk --force {option}");
        world.fails(2, &line, named);
    }
    let folder = world.ok("inspect b").out;
    let named = |line: &&str| line.starts_with("bridge.hbk") && line.contains("key id");
    let bridge = folder.lines().find(named).unwrap();
    assert!(
        !bridge.contains("but the evaluation key has another"),
        "{folder}"
    );
    world.ok("keygen --set bgv/toy-4369 --out b2 --accept-insecure");
    std::fs::copy(world.at("b/bridge.hbk"), world.at("b2/bridge.hbk")).unwrap();
    let folder = world.ok("inspect b2").out;
    assert!(
        folder.contains("but the evaluation key has another"),
        "{folder}"
    );
    // the key at the other end is never replaced
    let secret = world.read("t/secret.hsk");
    world.fails(
        1,
        "keygen --set bgv/toy-4369 --out t --bridge t/secret.hsk --accept-insecure --force",
        "is both an input and the output",
    );
    assert_eq!(world.read("t/secret.hsk"), secret);
    world.fails(
        1,
        "keygen --set bgv/toy-255 --out n --bridge t/secret.hsk --accept-insecure",
        "the TFHE key has 256 bits",
    );
    assert!(!world.at("n").exists());
    // keys that do not go together, and bridges of keys that are gone
    world.ok("keygen --set bgv/toy-4369 --out c2 --accept-insecure");
    std::fs::copy(world.at("b/eval.hek"), world.at("c2/eval.hek")).unwrap();
    world.fails(
        1,
        "keygen --out c2 --bridge t/secret.hsk",
        "the evaluation key belongs to another secret key",
    );
    std::fs::copy(world.at("b/bridge.hbk"), world.at("c2/bridge.hbk")).unwrap();
    let found = world.ok("inspect c2");
    assert!(found.out.contains("bridge.hbk"), "{found:?}");
    for name in ["secret.hsk", "eval.hek"] {
        std::fs::remove_file(world.at("c2").join(name)).unwrap();
    }
    let made = world.ok("keygen --set bgv/toy-4369 --out c2 --accept-insecure");
    assert!(made.err.contains("make it again with --bridge"), "{made:?}");
    // a key at the other end under a passphrase
    std::fs::write(world.at("word"), "far away\n").unwrap();
    world.ok("keygen --set tfhe/toy --out tp --accept-insecure --passphrase-file word");
    world.ok("keygen --out c2 --bridge tp/secret.hsk --bridge-passphrase-file word --force");
}
