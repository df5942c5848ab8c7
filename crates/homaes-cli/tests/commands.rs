//! Every command does what `interface.md` says when all is well.

#![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

mod common;

use common::{IV, Run, World};
use serde_json::Value;
use std::fs;
use std::io::Write;
use std::process::Stdio;

fn json(run: &Run) -> Value {
    serde_json::from_str(&run.out).unwrap()
}

#[test]
fn files_of_every_length_come_back() {
    let world = World::new();
    for len in [0, 1, 15, 16, 17, 300, 1000] {
        world.message(len);
        world.transcipher("c", "o.hct");
        world.ok("decrypt --secret keys/secret.hsk o.hct -o q --force");
        assert_eq!(world.read("q"), world.read("p"), "{len} bytes");
        world.ok("inspect o.hct");
    }
}

#[test]
fn threads_do_not_change_the_result() {
    let world = World::new();
    world.message(2000);
    let line =
        format!("transcipher --eval keys/eval.hek --wrapped-key key.hwk --mode ctr --iv {IV} c");
    for threads in [1, 3] {
        let run = world.ok(&format!("{line} -o t{threads} --threads {threads}"));
        assert!(
            run.out.contains("2000 bytes, 125 blocks in 8 batches"),
            "{run:?}"
        );
    }
    assert_eq!(world.read("t1"), world.read("t3"));
}

#[test]
fn insecure_sets_are_named_every_time() {
    let world = World::new();
    let warning = "warning: set bgv/toy-255 offers no security (toy)";
    for line in [
        "keygen --set bgv/toy-255 --out more/keys --accept-insecure",
        "wrap-key --secret keys/secret.hsk --key-file k --layout sliced --direction encrypt --out key2.hwk",
        &format!(
            "transcipher --eval keys/eval.hek --wrapped-key key.hwk --mode ctr --iv {IV} c -o o2.hct"
        ),
        "decrypt --secret keys/secret.hsk o.hct -o q",
        "demo --set bgv/toy-255",
    ] {
        let run = world.ok(line);
        assert!(run.err.starts_with(warning), "{line}: {run:?}");
    }
    assert!(world.ok("inspect o.hct").out.contains("NOT SECURE (toy)"));
    assert!(
        world
            .ok("demo --set bgv/toy-255 --blocks 3")
            .out
            .contains("NOT SECURE (toy)")
    );
}

#[test]
fn aes_keys_are_read_raw_and_in_hex_and_from_standard_input() {
    let world = World::new();
    let hex = "07".repeat(16);
    let wrap = "wrap-key --secret keys/secret.hsk --out w --force --key-file";
    for (content, ambiguous) in [
        (vec![7; 16], false),
        (hex.clone().into_bytes(), true),
        (format!("{hex}\n").into_bytes(), false),
        (format!("{hex}\r\n").into_bytes(), false),
    ] {
        world.write("k2", &content);
        let from_file = world.ok(&format!("{wrap} k2"));
        let mut child = world
            .command(&format!("{wrap} -"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        child.stdin.take().unwrap().write_all(&content).unwrap();
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(0));
        let err = String::from_utf8(output.stderr).unwrap();
        assert_eq!(err, from_file.err);
        assert_eq!(err.contains("read as 32 hex digits"), ambiguous, "{err}");
        fs::rename(world.at("w"), world.at("key.hwk")).unwrap();
        world.transcipher("c", "o.hct");
        world.ok("decrypt --secret keys/secret.hsk o.hct -o q --force");
        assert_eq!(world.read("q"), world.read("p"));
    }
}

#[cfg(unix)]
#[test]
fn secret_keys_are_private_and_exposed_ones_are_warned_about() {
    use std::os::unix::fs::PermissionsExt;
    let world = World::new();
    let mode = |name| fs::metadata(world.at(name)).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode("keys/secret.hsk"), 0o600);
    let decrypt = "decrypt --secret keys/secret.hsk o.hct -o q --force";
    assert!(!world.ok(decrypt).err.contains("chmod"));
    fs::set_permissions(
        world.at("keys/secret.hsk"),
        fs::Permissions::from_mode(0o640),
    )
    .unwrap();
    assert!(
        world
            .ok(decrypt)
            .err
            .contains("warning: keys/secret.hsk: others than the owner")
    );
}

#[test]
fn params_lists_every_set() {
    let world = World::new();
    let table = world.ok("params").out;
    let document = json(&world.ok("params --json"));
    let sets = document.as_array().unwrap();
    assert!(sets.len() >= 3);
    for set in sets {
        assert!(table.contains(set["name"].as_str().unwrap()));
        for field in [
            "name",
            "scheme",
            "paper",
            "purpose",
            "security_bits_claimed",
            "security_bits_estimated",
            "log2_p_fail",
            "slots",
            "blocks_per_batch",
            "eval_key_bytes",
            "wrapped_key_bytes",
            "ciphertext_bytes_per_batch",
            "secret_key_bytes",
            "published",
        ] {
            assert!(set.get(field).is_some(), "{field}: {set}");
        }
        if set["purpose"] == "secure" {
            let claim = set["security_bits_claimed"].as_f64().unwrap();
            assert!(claim >= 128.0 && set["security_bits_estimated"].as_f64().unwrap() >= claim);
        }
    }
    assert_eq!(sets[0]["name"], "bgv/aes128");
}

#[test]
fn inspect_describes_every_kind() {
    let world = World::new();
    for (file, kind) in [
        ("keys/secret.hsk", "hsk"),
        ("keys/eval.hek", "hek"),
        ("key.hwk", "hwk"),
        ("o.hct", "hct"),
    ] {
        let document = json(&world.ok(&format!("inspect --json {file}")));
        assert_eq!(
            (&document["kind"], &document["set"]),
            (&kind.into(), &"bgv/toy-255".into())
        );
        assert_eq!(document["file_bytes"], world.read(file).len());
        assert_eq!(document["messages"].is_null(), kind != "hct");
        assert!(
            world
                .ok(&format!("inspect {file}"))
                .out
                .contains(&format!(".{kind}"))
        );
    }
    let messages = &json(&world.ok("inspect --json o.hct"))["messages"];
    assert_eq!(
        (&messages["mode"], &messages["iv"]),
        (&"ctr".into(), &IV.into())
    );
    assert_eq!(
        (
            &messages["bytes"],
            &messages["blocks"],
            &messages["batches"]
        ),
        (&300.into(), &19.into(), &2.into())
    );
    assert!(
        messages["level"].as_u64().unwrap() >= 1
            && messages["capacity_bits"].as_f64().unwrap() > 4.0
    );
}

#[test]
fn progress_is_one_json_object_per_line() {
    let world = World::new();
    let line = format!(
        "transcipher --eval keys/eval.hek --wrapped-key key.hwk --mode ctr --iv {IV} c -o j --progress json"
    );
    let out = world.ok(&line).out;
    let events: Vec<Value> = out
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(events.len(), 2 * 11 + 1);
    assert!(
        events[..22]
            .iter()
            .all(|event| event["event"] == "round" && event["batches"] == 2)
    );
    assert_eq!(events[21]["fraction"], 1.0);
    let done = &events[22];
    assert_eq!(
        (&done["event"], &done["report"]["bytes"]),
        (&"done".into(), &300.into())
    );
    let quiet = world.ok(&line.replace("json", "none").replace("-o j", "-o n"));
    assert!(quiet.err.starts_with("warning:") && quiet.err.lines().count() == 1);
}

#[test]
fn the_demonstration_shows_the_whole_way() {
    let world = World::new();
    let out = world
        .ok("demo --scheme bgv --set bgv/toy-255 --blocks 40")
        .out;
    for words in [
        "bgv/toy-255",
        "635 bytes, 40 blocks in 3 batches",
        "p_fail",
        "evaluation key",
        "keygen",
        "transcipher",
        "noise left",
        "all 635 bytes decrypt to the text",
    ] {
        assert!(out.contains(words), "{words}: {out}");
    }
}

#[test]
fn benchmarks_print_one_document() {
    let world = World::new();
    let document = json(&world.ok("bench bgv --set bgv/toy-255 --threads 2 --blocks 50 --json"));
    assert_eq!(
        (
            &document["blocks"],
            &document["batches"],
            &document["threads"]
        ),
        (&50.into(), &4.into(), &2.into())
    );
    assert_eq!(
        (&document["set"], &document["purpose"], &document["correct"]),
        (&"bgv/toy-255".into(), &"toy".into(), &true.into())
    );
    for field in [
        "seconds",
        "ms_per_block",
        "ns_per_transform",
        "reference_ntt_ns",
        "aes_over_reference_ntt",
        "transforms",
        "eval_key_bytes",
        "wrapped_key_bytes",
        "ciphertext_bytes",
    ] {
        assert!(
            document[field].as_f64().unwrap() > 0.0,
            "{field}: {document}"
        );
    }
    assert_eq!(document["seconds_per_round"].as_array().unwrap().len(), 11);
    let shares = document["stages"].as_object().unwrap().values();
    let sum: f64 = shares.map(|share| share.as_f64().unwrap()).sum();
    assert!((sum - 1.0).abs() < 1e-9, "{document}");
    if cfg!(target_os = "linux") {
        assert!(document["peak_rss_bytes"].as_u64().unwrap() > 1 << 20);
    }
}

#[test]
fn benchmarks_of_everything_are_one_document_too() {
    let world = World::new();
    let run = world.ok("bench all --set bgv/toy-255 --json");
    assert!(
        run.err
            .starts_with("warning: set bgv/toy-255 offers no security (toy)")
    );
    let all = json(&run);
    assert_eq!(all["bgv"]["correct"], true);
    let kernels = &all["kernels"];
    assert!(kernels["repetitions"].as_u64().unwrap() >= 2000);
    for field in [
        "forward_ns",
        "inverse_ns",
        "reference_ntt_ns",
        "forward_over_reference",
    ] {
        assert!(kernels[field].as_f64().unwrap() > 0.0, "{field}: {kernels}");
    }
}
