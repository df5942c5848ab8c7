//! The commands with scheme tfhe, on toy sets.

#![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

use crate::common::{IV, World};
use serde_json::Value;

/// What the command says about the sets of the scheme.
fn sets(world: &World) -> Vec<Value> {
    let document: Value = serde_json::from_str(&world.ok("params --json").out).unwrap();
    let mut sets = document.as_array().unwrap().clone();
    sets.retain(|set| set["scheme"] == "tfhe");
    assert!(!sets.is_empty());
    sets
}

#[test]
fn demonstrations_show_no_levels() {
    let world = World::new();
    let sets = sets(&world);
    for set in sets.iter().filter(|set| set["purpose"] == "toy") {
        let name = |value: &Value| value.as_str().unwrap().to_owned();
        let (set, layout) = (name(&set["name"]), name(&set["layouts"][0]["layout"]));
        let out = world.ok(&format!("demo --scheme tfhe --set {set}")).out;
        for words in [
            &set,
            "NOT SECURE (toy)",
            "per batch",
            "27 bytes, 2 blocks in 1 batch of 32",
            "time of key expansion",
            &format!("layout {layout}"),
            "all 27 bytes decrypt to the text",
        ] {
            assert!(out.contains(words), "{words}: {out}");
        }
        assert!(!out.contains("multiplication"), "{out}");
    }
}

#[test]
fn benchmarks_tell_rotations_and_key_expansion() {
    let world = World::new();
    let line = "bench tfhe --set tfhe/toy --threads 2";
    let run = world.ok(&format!("{line} --json"));
    let document: Value = serde_json::from_str(&run.out).unwrap();
    for field in [
        "seconds",
        "setup_seconds",
        "expansion_over_block",
        "ms_per_block",
        "transforms",
        "rotations",
        "noise_bits",
        "capacity_bits",
        "margin_bits",
        "eval_key_bytes",
        "wrapped_key_bytes",
        "ciphertext_bytes",
    ] {
        assert!(
            document[field].as_f64().unwrap() > 0.0,
            "{field}: {document}"
        );
    }
    for field in ["levels_left", "ns_per_transform"] {
        assert!(document.get(field).is_none(), "{field}: {document}");
    }
    assert_eq!(
        (&document["blocks"], &document["correct"]),
        (&1.into(), &true.into())
    );
    assert_eq!(document["seconds_per_round"].as_array().unwrap().len(), 11);
    let shares = document["stages"].as_object().unwrap().values();
    let sum: f64 = shares.map(|share| share.as_f64().unwrap()).sum();
    assert!((sum - 1.0).abs() < 1e-9, "{document}");
    let run = world.ok(&format!("{line} --blocks 2 --json"));
    let document: Value = serde_json::from_str(&run.out).unwrap();
    assert!(document.get("expansion_over_block").is_none(), "{document}");
    let out = world.ok(line).out;
    assert!(
        out.contains("blind rotations") && out.contains("of a block"),
        "{out}"
    );
}

#[test]
fn files_are_made_read_and_described() {
    let world = World::new();
    world.ok("keygen --set tfhe/toy --out t --accept-insecure");
    let wrap = "wrap-key --secret t/secret.hsk --key-file k --force --out t.hwk";
    for (expand, words) in [
        (
            "auto",
            "to encrypt, to be expanded by the server; layouts: bits\n",
        ),
        (
            "server",
            "to encrypt, to be expanded by the server; layouts: bits\n",
        ),
        ("client", "to encrypt; layouts: bits\n"),
    ] {
        let out = world.ok(&format!("{wrap} --expand {expand}")).out;
        assert!(out.ends_with(words), "{out}");
        let out = world
            .ok(&format!(
                "transcipher --eval t/eval.hek --wrapped-key t.hwk --mode ctr --iv {IV} c -o t.hct --force"
            ))
            .out;
        assert_eq!(
            out.contains("of key expansion"),
            expand != "client",
            "{out}"
        );
        world.ok("decrypt --secret t/secret.hsk t.hct -o q --force");
        assert_eq!(world.read("q"), world.read("p"));
    }
    let document: Value = serde_json::from_str(&world.ok("inspect t.hct --json").out).unwrap();
    let messages = &document["messages"];
    assert_eq!(
        (&messages["level"], &messages["multiplications_left"]),
        (&1.into(), &Value::Null)
    );
    for file in ["t.hct", "t.hwk", "t/eval.hek", "t/secret.hsk"] {
        let out = world.ok(&format!("inspect {file}")).out;
        assert!(!out.contains("multiplication"), "{out}");
    }
    world.fails(
        1,
        "wrap-key --secret t/secret.hsk --key-file k --levels-left 1 --out x",
        "have no levels, because they can be bootstrapped; leave --levels-left out",
    );
}

#[test]
fn sets_stand_beside_those_of_other_schemes() {
    let world = World::new();
    let out = world.ok("params --all").out;
    for set in sets(&world) {
        let name = set["name"].as_str().unwrap();
        let rows = out.lines().filter(|line| line.starts_with(name));
        assert!(
            rows.clone().any(|line| line.contains("no levels")),
            "{name}"
        );
        assert_eq!(
            (&set["ring"], &set["log2_qp"]),
            (&Value::Null, &Value::Null)
        );
    }
}
