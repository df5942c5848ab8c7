//! Compact wrapped keys of BGV, on a toy set.

use crate::common::{World, assert_fields, end, signal, wait_until};
use serde_json::json;

#[test]
#[ignore = "nightly: two batches of a larger toy; the next test keeps keys too"]
fn nightly_a_compact_key_is_expanded_in_every_run_or_kept() {
    let world = World::of("bgv/toy-4369");
    world.table(
        "$transcipher c --keep-expanded kept.hwk --reproducible -o a.hct => of key expansion
        inspect key.hwk => to be expanded by the server
        inspect kept.hwk =- to be expanded
        transcipher --eval keys/eval.hek --wrapped-key kept.hwk --mode ctr --iv $iv c --reproducible \
            -o b.hct =- expansion
        same a.hct b.hct
        $decrypt a.hct -o back
        same back p
        $wrap full.hwk --full =- to be expanded
        $transcipher c --keep-expanded kept.hwk -o c.hct =1 already exists
        $transcipher c --keep-expanded key.hwk --force -o c.hct =1 is both an input and the output
        $transcipher c --keep-expanded c.hct -o c.hct =2 choose another name for one of them
        $transcipher c --keep-expanded r --report r -o c.hct =2 choose another name for one of them
        $transcipher c --keep-expanded k2.hwk --resume -o c.hct =2 cannot be used with",
    );
    let [small, full, kept] =
        ["key.hwk", "full.hwk", "kept.hwk"].map(|name| world.read(name).len());
    assert!(small < full / 100 && full < kept, "{small}, {full}, {kept}");
    let wrapped = world.json("inspect key.hwk --json");
    assert_fields(
        &wrapped["wrapped_key"],
        json!({ "compact": true, "expansion": "client" }),
    );
}

#[test]
#[ignore = "nightly: AES in both directions"]
fn nightly_a_compact_key_for_both_directions() {
    let world = World::of("bgv/toy-4369");
    world.table(
        "$wrap both.hwk --direction both => to encrypt and decrypt, to be expanded by the server
        transcipher --eval keys/eval.hek --wrapped-key both.hwk --mode ctr --iv $iv c -o a.hct
        $decrypt a.hct -o back
        same back p
        inspect both.hwk => to encrypt and decrypt
        $wrap n.hwk --direction both --full =1 both directions in one wrapped key",
    );
    let blocks = world.read("p")[..32].to_vec();
    world.write("p2", &blocks);
    let key = "07".repeat(16);
    world
        .shell(&format!(
            "openssl enc -aes-128-ecb -nopad -K {key} -in p2 -out e2"
        ))
        .status()
        .unwrap();
    world.table(
        "transcipher --eval keys/eval.hek --wrapped-key both.hwk --mode ecb e2 -o e.hct
        $decrypt e.hct -o back2
        same back2 p2",
    );
}

/// The kept keys are complete long before the results.
#[cfg(unix)]
#[test]
fn a_run_that_is_stopped_after_its_keys_are_kept_has_failed() {
    let world = World::of("bgv/toy-4369");
    world.write("long", vec![7; 1 << 16]);
    let line =
        "transcipher --eval keys/eval.hek --wrapped-key key.hwk --mode ctr --iv $iv long -o l.hct";
    let child = world.spawn(&format!("{line} --keep-expanded kept.hwk"));
    wait_until("kept keys", || world.at("kept.hwk").exists());
    signal(&child, "-TERM");
    end(child).ends(130);
    assert!(world.at("kept.hwk").exists() && !world.at("l.hct").exists());
}

#[test]
fn sets_without_a_compact_form_say_so() {
    let world = World::new();
    world.table(
        "$wrap n.hwk --layout sliced => in full form, because servers of this set cannot expand
        $wrap m.hwk --layout sliced --full =- because",
    );
}
