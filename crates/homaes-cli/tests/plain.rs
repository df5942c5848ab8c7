//! The scheme that is one file and one line (`homaes/src/scheme/plain.rs`): every command knows it.
//!
//! `cargo test --release -p homaes-cli --features plain --test all plain::`

#![allow(clippy::unwrap_used, reason = "tests fail by panicking")]
#![cfg(feature = "plain")]

use crate::common::World;

#[test]
fn a_scheme_of_one_file_is_known_to_every_command() {
    let world = World::of("plain/toy");
    let params = world.ok("params --all");
    assert!(params.out.contains("plain/toy"), "{}", params.out);
    let json: serde_json::Value = serde_json::from_str(&world.ok("params --json").out).unwrap();
    let sets = json.as_array().unwrap();
    assert!(sets.iter().any(|set| set["name"] == "plain/toy"));
    for file in ["keys/secret.hsk", "keys/eval.hek", "key.hwk", "o.hct"] {
        let found = world.ok(&format!("inspect {file}")).out;
        assert!(found.contains("plain/toy"), "{found}");
    }
    world.ok("decrypt --secret keys/secret.hsk o.hct -o plain");
    assert_eq!(world.read("plain"), world.read("p"));
    world.ok("demo --scheme plain --blocks 40");
    world.ok("bench plain --blocks 3 --threads 1");
    let help = world.ok("demo --help").out;
    assert!(help.contains("plain"), "{help}");
    // other sets and other keys are refused
    world.ok("keygen --set plain/toy --out other --accept-insecure");
    world.ok("keygen --set bgv/toy-255 --out bgv --accept-insecure");
    for folder in ["other", "bgv"] {
        let line = format!("decrypt --secret {folder}/secret.hsk o.hct -o x");
        world.fails(1, &line, "");
        let line =
            format!("transcipher --eval {folder}/eval.hek --wrapped-key key.hwk --mode ecb c -o x");
        world.fails(1, &line, "");
    }
}
