//! Results of BGV as those of TFHE, on toy sets.

use crate::common::{World, assert_fields};
use serde_json::json;

const ACROSS: &str = "transcipher --eval b/eval.hek --wrapped-key b.hwk --mode ctr --iv $iv \
    --to tfhe --bridge b/bridge.hbk";

/// A key of TFHE in `t`, keys with a bridge to it in `b`, and an AES key for them in `b.hwk`.
fn world() -> World {
    let world = World::new();
    world.table(
        "keygen --set tfhe/toy --out t --accept-insecure
        keygen --set bgv/toy-4369 --out b --bridge t/secret.hsk --accept-insecure => converts to a key of set tfhe/toy
        wrap-key --secret b/secret.hsk --key-file k --layout sliced --levels-left 1 --out b.hwk",
    );
    world
}

#[test]
fn results_cross_to_a_key_of_tfhe() {
    let world = world();
    // 19 blocks: one record, which is not full; not p_fail of tfhe/toy: 2^-64 by AES in BGV, and 2^-66 by the bridge
    world.table(&format!(
        "{ACROSS} c -o across.hct => 300 bytes, 19 blocks in 1 batch … wrong with probability at most 2^-63.7
        decrypt --secret t/secret.hsk across.hct -o back => wrong with probability at most 2^-63.7
        same back p"
    ));
    let found = world.json("inspect across.hct --json");
    assert_fields(&found, json!({ "set": "tfhe/toy", "kind": "hct" }));
    // the rounds are those of BGV, whose levels they went down
    let messages = &found["messages"];
    assert_eq!(messages["evaluated_in"], "bgv");
    let log2_p_fail = messages["log2_p_fail"].as_f64().unwrap();
    assert!((log2_p_fail + 64.0 - 1.25f64.log2()).abs() < 1e-9);
    let end = &world.json("inspect b/bridge.hbk --json")["end"];
    let key = world.json("inspect t/eval.hek --json");
    let expected = json!({ "key_id": key["key_id"], "what": "a key of set tfhe/toy" });
    assert_fields(end, expected);
    what_does_not_go_together(&world);
    bridges_of_other_keys(&world);
}

fn what_does_not_go_together(world: &World) {
    let keys = "transcipher --eval b/eval.hek --wrapped-key";
    let mode = "--mode ctr --iv $iv c -o x";
    world.table(&format!(
        "wrap-key --secret b/secret.hsk --key-file k --layout sliced --levels-left 0 --out b0.hwk
        {ACROSS} c -o across.hct =1 already exists
        transcipher $keys {mode} --to tfhe --bridge b/bridge.hbk =1 bgv/toy-4369
        {keys} b.hwk {mode} --to tfhe --bridge b/eval.hek =1 bridge key (.hbk)
        {keys} b0.hwk {mode} --to tfhe --bridge b/bridge.hbk =1 --levels-left
        {keys} b.hwk {mode} --bridge b/bridge.hbk =2 --to
        decrypt --secret b/secret.hsk across.hct -o x =1 tfhe/toy
        keygen --bridge t/secret.hsk --out b =1 bridge.hbk: file already exists
        keygen --bridge keys/secret.hsk --out b --force =1 bridges do not lead to set
        keygen --bridge t/secret.hsk --out keys =1 the TFHE key has 256 bits
        keygen --bridge t/eval.hek --out b --force =1 secret key (.hsk)
        keygen --set bgv/aes128 --bridge t/secret.hsk --out n =2 set bgv/aes128 has no bridges
        keygen --out b =2 --set
        keygen --out b --bridge t/secret.hsk --force --passphrase =2 --set
        keygen --out b --bridge t/secret.hsk --force --accept-insecure =2 --set
        keygen --out b --bridge t/secret.hsk --force --resume =2 --bridge"
    ));
    let export = "export --to fheuint8 across.hct -o values";
    match cfg!(feature = "tfhe-rs") {
        true => world.fails(1, export, "(.hlw)"),
        false => world.fails(2, export, "--features tfhe-rs"),
    };
}

/// Keys that make no bridge, and keys that none replaces.
fn bridges_of_other_keys(world: &World) {
    let stranger = "but the evaluation key has another";
    let folder = world.ok("inspect b").out;
    let named = |line: &str| line.starts_with("bridge.hbk") && line.contains("key id");
    let named = folder.lines().any(named) && !folder.contains(stranger);
    assert!(named, "{folder}");
    // the key at the other end is never replaced; keys that do not go together, and bridges of keys that are gone; a
    // key at the other end under a passphrase
    world.table(&format!(
        "write word far away
        keygen --set bgv/toy-4369 --out c2 --accept-insecure
        cp b/bridge.hbk c2/bridge.hbk
        inspect c2 => {stranger}
        keygen --set bgv/toy-4369 --out t --bridge t/secret.hsk --accept-insecure --force \
            =1 is both an input and the output
        keygen --set bgv/toy-255 --out n --bridge t/secret.hsk --accept-insecure =1 the TFHE key has 256 bits
        cp b/eval.hek c2/eval.hek
        keygen --out c2 --bridge t/secret.hsk --force =1 the evaluation key belongs to another secret key
        rm c2/secret.hsk
        rm c2/eval.hek
        $keygen c2 =! make it again with --bridge
        keygen --set tfhe/toy --out tp --accept-insecure --passphrase-file word
        keygen --out b --bridge tp/secret.hsk --bridge-passphrase-file word --force"
    ));
}

/// A run of two batches, killed after the first.
#[cfg(target_os = "linux")]
#[test]
#[ignore = "nightly: `resume` kills the runs that always run"]
fn nightly_a_killed_run_over_a_bridge_goes_on() {
    let world = world();
    world.write("c", [0x3a; 4800]);
    world.table(&format!(
        "{ACROSS} c --reproducible -o whole.hct => in 2 batches"
    ));
    let resumed = format!("{ACROSS} c --resume -o across.hct");
    let lines = || {
        let text = std::fs::read_to_string(world.at(".across.hct.homaes-journal"));
        text.map_or(0, |text| text.lines().count())
    };
    assert!(world.killed(&resumed, |_| lines() >= 2), "it is at work");
    world.table(&format!(
        "{resumed} => 1 of the batches from earlier runs\n same across.hct whole.hct"
    ));
}
