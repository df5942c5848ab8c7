//! The commands with scheme tfhe, on toy sets.

use crate::common::{World, assert_fields, assert_positive, check_shares};
use serde_json::json;

#[test]
fn demonstrations_show_no_levels() {
    let world = World::new();
    for (set, layout) in [("tfhe/toy", "bits"), ("tfhe/nibble-toy", "sliced")] {
        let run = world.ok(&format!("demo --scheme tfhe --set {set}"));
        run.says(&format!(
            "{set} … NOT SECURE (toy) … per batch … 27 bytes, 2 blocks in 1 batch of 32 … time of key expansion \
            … layout {layout} … all 27 bytes decrypt to the text"
        ));
        assert!(!run.out.contains("multiplication"), "{run:?}");
    }
}

#[test]
fn benchmarks_tell_rotations_and_key_expansion() {
    let world = World::new();
    let line = "bench tfhe --set tfhe/toy --threads 2";
    let document = world.json(&format!("{line} --json"));
    let numbers = "seconds setup_seconds expansion_over_block ms_per_block transforms rotations noise_bits \
        capacity_bits margin_bits eval_key_bytes wrapped_key_bytes ciphertext_bytes";
    assert_positive(&document, numbers);
    for field in ["levels_left", "ns_per_transform"] {
        assert!(document.get(field).is_none(), "{field}: {document}");
    }
    assert_fields(&document, json!({ "blocks": 1, "correct": true }));
    assert_eq!(document["seconds_per_round"].as_array().unwrap().len(), 11);
    check_shares(&document);
    // the key is expanded once, so for two blocks it is not said in blocks
    let run = world.ok(&format!("{line} --blocks 2"));
    run.says("blind rotations");
    assert!(!run.out.contains("of a block"), "{run:?}");
}

#[test]
fn files_are_made_read_and_described() {
    let world = World::of("tfhe/toy");
    world.message(20);
    let expands = "to encrypt, to be expanded by the server; layouts: bits";
    world.table(&format!(
        "$wrap key.hwk --force => {expands}
        $wrap key.hwk --force --expand server => {expands}
        $transcipher c -o s.hct => of key expansion
        $decrypt s.hct -o s
        $wrap key.hwk --force --expand client => to encrypt; layouts: bits
        $transcipher c -o t.hct =- of key expansion
        $decrypt t.hct -o t
        same s p
        same t p"
    ));
    let messages = &world.json("inspect t.hct --json")["messages"];
    let expected = json!({ "level": 1, "multiplications_left": null });
    assert_fields(messages, expected);
    for file in ["t.hct", "key.hwk", "keys/eval.hek", "keys/secret.hsk"] {
        world.table(&format!("inspect {file} =- multiplication"));
    }
    let words = "have no levels, because they can be bootstrapped; leave --levels-left out";
    world.fails(1, "$wrap x --levels-left 1", words);
}
