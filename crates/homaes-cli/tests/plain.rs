//! The scheme that is one file and one line (`homaes/src/scheme/plain.rs`): every command knows it.
//!
//! `cargo test --release -p homaes-cli --features plain --test all plain::`

#![cfg(feature = "plain")]

use crate::common::World;

#[test]
fn a_scheme_of_one_file_is_known_to_every_command() {
    let world = World::of("plain/toy");
    world.table(
        "params --all => plain/toy
        params --json => \"plain/toy\"
        inspect keys/secret.hsk => plain/toy
        inspect keys/eval.hek => plain/toy
        inspect key.hwk => plain/toy
        inspect o.hct => plain/toy
        $decrypt o.hct -o plain
        demo --scheme plain --blocks 40
        bench plain --blocks 3 --threads 1
        demo --help => plain",
    );
    assert_eq!(world.read("plain"), world.read("p"));
    // other sets and other keys are refused
    for set in ["plain/toy", "bgv/toy-255"] {
        let _ = std::fs::remove_dir_all(world.at("other"));
        world.ok(&format!("keygen --set {set} --out other --accept-insecure"));
        world.table(
            "decrypt --secret other/secret.hsk o.hct -o x =1 error:
            transcipher --eval other/eval.hek --wrapped-key key.hwk --mode ecb c -o x =1 error:",
        );
    }
}
