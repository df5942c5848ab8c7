//! Every command does what `interface.md` says when all is well.

#![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

use crate::common::{IV, Run, World};
use homaes::{AesFile, EvalKey, Mode, Transcipher, WrappedKey};
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
    // Only the record of steps at the end differs, in the times that it gives: eleven steps of 26 bytes.
    let front = |name| {
        let mut bytes = world.read(name);
        bytes.truncate(bytes.len() - (18 + 11 * 26 + 16));
        bytes
    };
    assert_eq!(front("t1"), front("t3"));
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
        // of standard input nobody else can read more
        let exposed =
            "warning: k2: other users have access to this AES key; run 'chmod 600' on it\n";
        assert_eq!(err, from_file.err.replace(exposed, ""));
        assert_ne!(err, from_file.err);
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
            .contains("warning: keys/secret.hsk: other users have access")
    );
    // the same of an AES key and of a passphrase
    world.write("pass", b"words");
    for (mode, warned) in [(0o644, true), (0o600, false)] {
        for file in ["k", "pass"] {
            fs::set_permissions(world.at(file), fs::Permissions::from_mode(mode)).unwrap();
        }
        let wrap = "wrap-key --secret keys/secret.hsk --key-file k --out w --force";
        let keygen = "keygen --set bgv/toy-255 --passphrase-file pass --out pk --accept-insecure";
        for (line, words) in [
            (wrap, "warning: k: other users"),
            (keygen, "warning: pass: other users"),
        ] {
            let _ = fs::remove_dir_all(world.at("pk"));
            let err = world.ok(line).err;
            assert_eq!(err.contains(words), warned, "{mode:o}: {err}");
        }
    }
}

#[test]
fn params_lists_every_set() {
    let world = World::new();
    let table = world.ok("params --all").out;
    let secure = world.ok("params").out;
    let document = json(&world.ok("params --json"));
    let sets = document.as_array().unwrap();
    assert!(sets.len() >= 3);
    for set in sets {
        let name = set["name"].as_str().unwrap();
        assert!(table.contains(name));
        let row = |line: &str| line.split_whitespace().next() == Some(name);
        assert_eq!(
            secure.lines().any(row),
            set["purpose"] == "secure",
            "{name}"
        );
        for field in [
            "name",
            "scheme",
            "paper",
            "purpose",
            "security_bits_claimed",
            "security_bits_estimated",
            "security_bits_with_rotations",
            "log2_p_fail",
            "slots",
            "blocks_per_batch",
            "eval_key_bytes",
            "wrapped_key_bytes",
            "ciphertext_bytes_per_batch",
            "secret_key_bytes",
            "published",
            "assumptions",
            "layouts",
        ] {
            assert!(set.get(field).is_some(), "{field}: {set}");
        }
        let assumptions = set["assumptions"].as_array().unwrap();
        assert_eq!(!assumptions.is_empty(), set["name"] == "tfhe/p64-blocks");
        for assumption in assumptions {
            let key = &set["published"][0]["estimate"]["with_rotations"];
            let words = assumption.as_str().unwrap();
            assert!(words.contains("150 bits") && words.contains(&format!("{key} bits")));
            assert!(table.contains(&format!("tfhe/p64-blocks assumes: {words}.")));
        }
        if set["purpose"] == "secure" {
            let claim = set["security_bits_claimed"].as_f64().unwrap();
            assert!(claim >= 128.0 && set["security_bits_estimated"].as_f64().unwrap() >= claim);
        }
    }
    assert_eq!(sets[0]["name"], "bgv/aes128");
    let layouts = sets[0]["layouts"].as_array().unwrap();
    assert_eq!(
        (&layouts[1]["layout"], &layouts[1]["blocks_per_batch"]),
        (&"packed".into(), &128.into())
    );
    let left = &layouts[1]["levels_left_by_key_bits"];
    assert_eq!((&left["128"], &left["192"]), (&0.into(), &Value::Null));
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
        assert_eq!(document["wrapped_key"].is_null(), kind != "hwk");
        assert!(
            world
                .ok(&format!("inspect {file}"))
                .out
                .contains(&format!(".{kind}"))
        );
    }
    let wrapped = &json(&world.ok("inspect --json key.hwk"))["wrapped_key"];
    assert_eq!(
        (&wrapped["aes_key_bits"], &wrapped["direction"]),
        (&128.into(), &"encrypt".into())
    );
    assert_eq!(wrapped["expansion"], "client");
    let layout = &wrapped["layouts"][0];
    assert_eq!(
        (&layout["layout"], &layout["output_level"]),
        (&"sliced".into(), &1.into())
    );
    let text = world.ok("inspect key.hwk").out;
    assert!(
        text.contains("AES-128, to encrypt") && text.contains("sliced (0 multiplications left)")
    );
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
            && messages["noise_bits"].as_f64().unwrap() > 0.0
    );
    check_steps(&messages["steps"]);
    let text = world.ok("inspect o.hct").out;
    for words in [
        "AES-128-ctr, layout sliced",
        "1, decrypt only: no multiplications left",
        "noise bound",
        "round  level",
    ] {
        assert!(text.contains(words), "{words}: {text}");
    }
}

/// Batches times the bound for one, wherever a message is shown.
#[test]
fn the_failure_of_a_message_is_that_of_its_batches() {
    let world = World::new();
    let sets = json(&world.ok("params --json"));
    let mut sets = sets.as_array().unwrap().iter();
    let set = sets.find(|set| set["name"] == "bgv/toy-255").unwrap();
    // 19 blocks in batches of 16
    let expected = (2.0 * set["log2_p_fail"].as_f64().unwrap().exp2()).log2();
    assert_eq!(expected, -63.0);
    let line = |more: &str| {
        format!(
            "transcipher --eval keys/eval.hek --wrapped-key key.hwk --mode ctr --iv {IV} {more}"
        )
    };
    let words = ", wrong with probability at most 2^-63.0";
    let run = world.ok(&line("c -o r.hct --report r.json"));
    assert!(run.out.contains(words), "{run:?}");
    let report: Value = serde_json::from_slice(&world.read("r.json")).unwrap();
    assert_eq!(report["report"]["log2_p_fail"], expected);
    let table = world.ok("report r.json").out;
    assert!(table.contains(" -63.0  NOT SECURE"), "{table}");
    world.ok("report r.json --md r.md");
    let page = String::from_utf8(world.read("r.md")).unwrap();
    assert!(
        page.contains("| failure |") && page.contains("| 2^-63.0 |"),
        "{page}"
    );
    let found = json(&world.ok("inspect --json r.hct"));
    assert_eq!(found["messages"]["log2_p_fail"], expected);
    let text = world.ok("inspect r.hct").out;
    assert!(text.contains("at most 2^-63.0\n"), "{text}");
    let run = world.ok("decrypt --secret keys/secret.hsk r.hct -o r");
    assert!(run.out.contains(words), "{run:?}");
    // no batch fails in an empty message
    world.write("e", b"");
    assert!(!world.ok(&line("e -o e.hct")).out.contains("wrong"));
    let found = json(&world.ok("inspect --json e.hct"));
    assert_eq!(found["messages"]["log2_p_fail"], Value::Null);
    // a part counts its own batches, a folder those of all parts
    world.write(
        "l",
        format!(
            r#"{{"path":"c","name":"a","mode":"ctr","iv":"{IV}"}}
{{"path":"k","name":"b","mode":"ctr","iv":"{IV}"}}
"#
        )
        .as_bytes(),
    );
    world.ok(
        "transcipher --eval keys/eval.hek --wrapped-key key.hwk --mode ctr --files-from l -o p.hct",
    );
    let run = world.ok("decrypt --secret keys/secret.hsk p.hct -o parts/");
    assert!(run.out.contains(words), "{run:?}");
    let run = world.ok("decrypt --secret keys/secret.hsk p.hct --part b -o b");
    assert!(run.out.contains("at most 2^-64.0"), "{run:?}");
}

/// Keys of a set with an assumption of its own say so where they are made and shown.
#[test]
fn keys_say_what_they_assume() {
    let world = World::new();
    let words = "LWE with a key in blocks of 3 bits";
    let made = world.ok("keygen --set tfhe/p64-blocks --out blocks").out;
    assert!(
        made.contains(&format!("set tfhe/p64-blocks assumes: {words}")),
        "{made}"
    );
    let shown = world.ok("inspect blocks/secret.hsk").out;
    assert!(shown.contains(words), "{shown}");
    let found = json(&world.ok("inspect --json blocks/secret.hsk"));
    assert!(found["assumptions"][0].as_str().unwrap().starts_with(words));
    assert!(!world.ok("inspect keys/secret.hsk").out.contains("assumes"));
}

#[test]
fn what_is_made_is_shown_with_its_size_and_place() {
    let world = World::new();
    let size = |file: &str| homaes_lab::units::bytes(world.read(file).len() as u64);
    let made = world.ok("keygen --set bgv/toy-255 --out new --accept-insecure");
    let expected = [
        format!(
            "new/secret.hsk: {}, stays here: keep it secret",
            size("new/secret.hsk")
        ),
        format!("new/eval.hek: {}, goes to the server", size("new/eval.hek")),
    ];
    let lines: Vec<&str> = made.out.lines().collect();
    assert_eq!(lines[..2], expected);
    assert!(
        lines[2].ends_with("for AES keys of 128, 192, 256 bits"),
        "{made:?}"
    );
    let made = world.ok("wrap-key --secret keys/secret.hsk --key-file k --out key.hwk --force");
    let start = format!("key.hwk: {}, goes to the server: AES-128", size("key.hwk"));
    assert!(made.out.starts_with(&start), "{made:?}");
}

#[cfg(feature = "dghv")]
#[test]
fn aes_keys_that_a_set_does_not_take_are_refused_with_a_set_that_does() {
    let world = World::new();
    let made = world.ok("keygen --set dghv/single --out small --accept-insecure");
    assert!(
        made.out
            .ends_with("for AES keys of 128 bits (192: dghv/micro, 256: dghv/micro)\n"),
        "{made:?}"
    );
    world.write("k2", &[9; 32]);
    world.fails(
        1,
        "wrap-key --secret small/secret.hsk --key-file k2 --out x",
        "an AES key of 256 bits: set dghv/single takes keys of 128 bits, dghv/micro takes 256; choose a set",
    );
}

#[test]
fn computed_values_are_printed() {
    let world = World::new();
    world.values(15);
    let line = "decrypt --secret keys/secret.hsk v.hcv --json";
    let document = json(&world.ok(line));
    assert_eq!(document["set"], "bgv/toy-255");
    let value = &document["values"][0];
    assert_eq!(
        (&value["label"], &value["form"], &value["width"]),
        (&"first".into(), &"bgv slots".into(), &8.into())
    );
    let first: Vec<u8> = world.read("p").chunks(16).map(|block| block[0]).collect();
    assert_eq!(value["numbers"], Value::from(&first[..15]));
    // to a file, as a message is
    let said = world.ok(&format!("{line} -o v.json")).out;
    assert_eq!(said, "v.json: 1 value\n");
    let text = String::from_utf8(world.read("v.json")).unwrap();
    assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), document);
    assert_eq!(world.ok(&format!("{line} -o -")).out, text);
    world.fails(1, &format!("{line} -o v.json"), "file already exists");
    world.fails(
        1,
        &format!("{line} -o v.hcv --force"),
        "both an input and the output",
    );
    // messages and values are not taken for each other
    let message = "decrypt --secret keys/secret.hsk o.hct";
    world.fails(1, &format!("{message} --json"), "o.hct: wrong kind of file");
    let error = world.fails(1, "decrypt --secret keys/secret.hsk v.hcv -o x", "v.hcv: ");
    assert!(error.err.contains("'homaes decrypt --json' prints"));
    world.fails(2, message, "required arguments were not provided: --out");
    world.fails(2, &format!("{line} --unpad"), "cannot be used with");
    world.ok("keygen --set bgv/toy-255 --out other --accept-insecure");
    world.fails(
        1,
        "decrypt --secret other/secret.hsk v.hcv --json",
        "v.hcv: file belongs to key",
    );
    let document = json(&world.ok("inspect --json v.hcv"));
    let value = &document["values"][0];
    assert_eq!(
        (&document["kind"], &value["label"], &value["count"]),
        (&"hcv".into(), &"first".into(), &15.into())
    );
    let text = world.ok("inspect v.hcv").out;
    assert!(
        text.contains("computed values (.hcv)")
            && text.contains("15 numbers of 8 bits, 1 ciphertext (bgv slots)"),
        "{text}"
    );
}

#[test]
fn shards_are_described() {
    let world = World::new();
    let eval = EvalKey::open(world.at("keys/eval.hek")).unwrap();
    let wrapped = WrappedKey::open(world.at("key.hwk"), &eval).unwrap();
    let run = Transcipher::new(&eval, &wrapped).unwrap();
    let part = AesFile::open(world.at("c"), Mode::Ctr { iv: [1; 16] }).unwrap();
    let plan = run.plan(part).unwrap();
    let id = plan.id().unwrap();
    let (bytes, _) = run.shard(&plan, &plan.shard(id, 1, 1)).unwrap();
    world.write("1.hcs", &bytes);
    let shard = &json(&world.ok("inspect --json 1.hcs"))["shard"];
    let hex: String = id.0.iter().map(|byte| format!("{byte:02x}")).collect();
    assert_eq!(
        (&shard["run"], &shard["number"]),
        (&hex.clone().into(), &1.into())
    );
    assert_eq!(
        (&shard["first_batch"], &shard["batches"]),
        (&1.into(), &1.into())
    );
    let text = world.ok("inspect 1.hcs").out;
    assert!(
        text.contains(&hex) && text.contains("1 batch, from number 1"),
        "{text}"
    );
}

/// Eleven steps with time, falling level, noise and capacity.
fn check_steps(steps: &Value) {
    let steps = steps.as_array().unwrap();
    assert_eq!(steps.len(), 11);
    for (round, step) in steps.iter().enumerate() {
        assert_eq!(step["round"], round);
        for field in ["seconds", "level", "noise_bits", "capacity_bits"] {
            assert!(step[field].as_f64().unwrap() > 0.0, "{field}: {step}");
        }
    }
    let levels = steps.iter().map(|step| step["level"].as_u64().unwrap());
    assert!(levels.is_sorted_by(|a, b| a > b), "{steps:?}");
}

#[test]
fn reports_tell_every_step_of_every_batch() {
    let world = World::new();
    let line = format!(
        "transcipher --eval keys/eval.hek --wrapped-key key.hwk --mode ctr --iv {IV} c -o r --report r.json"
    );
    world.ok(&line);
    let report: Value = serde_json::from_slice(&world.read("r.json")).unwrap();
    let fields = ["set", "mode", "direction", "aes_key_bits"].map(|field| &report[field]);
    assert_eq!(
        fields,
        [
            &Value::from("bgv/toy-255"),
            &"ctr".into(),
            &"encrypt".into(),
            &128.into()
        ]
    );
    let batches = report["batches"].as_array().unwrap();
    assert_eq!(batches.len(), 2);
    for (index, batch) in batches.iter().enumerate() {
        assert_eq!(batch["batch"], index);
        check_steps(&batch["steps"]);
    }
    let sums = &report["report"];
    check_steps(&sums["steps"]);
    assert_eq!(
        (&sums["layout"], &sums["multiplications_left"]),
        (&"sliced".into(), &0.into())
    );
    assert!(sums["setup_seconds"].as_f64().unwrap() > 0.0);
    assert!(sums["transforms"].as_u64().unwrap() > 0);
    assert!(sums["stage_seconds"]["transforms"].as_f64().unwrap() > 0.0);
    world.fails(1, &line, "r: file already exists");
    world.fails(
        1,
        &line.replace("-o r ", "-o r2 "),
        "r.json: file already exists",
    );
    world.ok(&format!("{line} --force"));
    world.fails(2, &line.replace("r.json", "r"), "name the same file");
}

#[test]
fn other_modes_key_sizes_and_directions() {
    let world = World::new();
    let (key, plain) = ([9; 24], b"thirty-two bytes: two AES blocks");
    world.write("k2", &key);
    world.write("p", plain);
    let wrap = "wrap-key --secret keys/secret.hsk --key-file k2 --force --levels-left 1";
    let made = world.ok(&format!("{wrap} --direction decrypt --out d.hwk"));
    assert!(
        made.out
            .contains("AES-192 key wrapped for set bgv/toy-255, to decrypt; layouts: sliced (2 multiplications left)"),
        "{made:?}"
    );
    world.ok(&format!(
        "{wrap} --layout sliced --expand client --out e.hwk"
    ));
    let start = "transcipher --eval keys/eval.hek --force -o x --wrapped-key";
    let mut text = plain.to_vec();
    text.extend([16; 16]);
    aes_192(&key, &mut text);
    world.write("c", &text);
    world.ok(&format!("{start} d.hwk --mode ecb c"));
    world.ok("decrypt --secret keys/secret.hsk x -o q --force --unpad");
    assert_eq!(world.read("q"), plain);
    let wrong = format!("{start} e.hwk --mode ecb c");
    world.fails(
        1,
        &wrong,
        "wrap the AES key with wrap-key --direction decrypt",
    );
    let wrong = format!("{start} d.hwk --mode ctr --iv {IV} c");
    world.fails(
        1,
        &wrong,
        "wrap the AES key with wrap-key --direction encrypt",
    );
    // Not padded, as ECB of 32 bytes; under CBC with an IV of zeros, the first block is the same.
    world.write("c", &text[..32]);
    world.ok(&format!(
        "{start} d.hwk --mode cbc --iv {} c",
        "0".repeat(32)
    ));
    world.fails(
        1,
        "decrypt --secret keys/secret.hsk x -o q2 --unpad",
        "does not end with PKCS#7 padding",
    );
    world.ok("decrypt --secret keys/secret.hsk x -o q --force");
    assert_eq!(world.read("q")[..16], plain[..16]);
}

/// ECB.
fn aes_192(key: &[u8; 24], text: &mut [u8]) {
    use aes::cipher::{Array, BlockCipherEncrypt, KeyInit};
    let cipher = aes::Aes192::new(key.into());
    for block in text.chunks_mut(16) {
        cipher.encrypt_block(Array::slice_as_mut_array(block).unwrap());
    }
}

/// Test case 4 of McGrew and Viega, *The Galois/Counter Mode of Operation*, as SP 800-38D refers to it.
mod gcm {
    pub(super) const KEY: &str = "feffe9928665731c6d6a8f9467308308";
    pub(super) const NONCE: &str = "cafebabefacedbaddecaf888";
    pub(super) const AAD: &str = "feedfacedeadbeeffeedfacedeadbeefabaddad2";
    pub(super) const PLAIN: &str = "d9313225f88406e5a55909c5aff5269a86a7a9531534f7da2e4c303d8a318a721c3c0c95956809532fcf0e2449a6b525b16aedf5aa0de657ba637b39";
    pub(super) const CIPHER: &str = "42831ec2217774244b7221b784d0d49ce3aa212f2c02a4e035c17e2329aca12e21d514b25466931c7d8f6a5aac84aa051ba30b396a0aac973d58e091";
    pub(super) const TAG: &str = "5bc94fbc3221a5db94fae95ae7121a47";
}

fn unhex(text: &str) -> Vec<u8> {
    let pairs = text.as_bytes().chunks(2);
    pairs
        .map(|pair| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap())
        .collect()
}

#[test]
fn gcm_tags_are_checked_with_the_aes_key() {
    let world = World::new();
    world.write("k", gcm::KEY.as_bytes());
    world.write("aad", &unhex(gcm::AAD));
    world.ok("wrap-key --secret keys/secret.hsk --key-file k --out g.hwk");
    let (nonce, tagged) = (unhex(gcm::NONCE), unhex(&[gcm::CIPHER, gcm::TAG].concat()));
    world.write("c", &tagged);
    world.write("nc", &[nonce, tagged.clone()].concat());
    let start = "transcipher --eval keys/eval.hek --wrapped-key g.hwk --mode gcm --aad aad";
    let decrypt = "decrypt --secret keys/secret.hsk --force -o q";
    for line in [
        format!("{start} --iv {} c -o x", gcm::NONCE),
        format!("{start} nc -o y"),
    ] {
        world.ok(&line);
        let file = line.rsplit(' ').next().unwrap();
        let checked = world.ok(&format!("{decrypt} {file} --key-file k"));
        assert!(checked.out.contains("GCM tag valid"), "{checked:?}");
        assert_eq!(world.read("q"), unhex(gcm::PLAIN));
        let unchecked = world.ok(&format!("{decrypt} {file} --unauthenticated"));
        assert!(
            unchecked.err.contains("tag was NOT checked"),
            "{unchecked:?}"
        );
        let text = world.ok(&format!("inspect {file}")).out;
        assert!(text.contains(gcm::TAG) && text.contains(gcm::NONCE) && text.contains("20 bytes"));
    }
    let mut bad = tagged;
    bad[3] ^= 1;
    world.write("bad", &bad);
    world.ok(&format!("{start} --iv {} bad -o z", gcm::NONCE));
    let checked = "decrypt --secret keys/secret.hsk -o new --key-file";
    world.fails(
        1,
        &format!("{checked} k z"),
        "z: the GCM tag does not match",
    );
    world.write("other", &[1; 16]);
    world.fails(
        1,
        &format!("{checked} other x"),
        "x: the GCM tag does not match",
    );
    world.write("longer", &[1; 32]);
    world.fails(
        1,
        &format!("{checked} longer x"),
        "found a key for AES-256, expected AES-128",
    );
    world.fails(
        1,
        &format!("{checked} k o.hct"),
        "mode ctr has no tag to check",
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
    assert!(events[21]["step"]["noise_bits"].as_f64().unwrap() > 0.0);
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
        "AES-128-CTR, layout sliced",
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
        (&document["layout"], &document["key_bits"]),
        (&"sliced".into(), &128.into())
    );
    assert_eq!(
        (&document["direction"], &document["levels_left"]),
        (&"encrypt".into(), &0.into())
    );
    assert_eq!(
        (&document["set"], &document["purpose"], &document["correct"]),
        (&"bgv/toy-255".into(), &"toy".into(), &true.into())
    );
    for field in [
        "keygen_seconds",
        "load_key_seconds",
        "wrap_seconds",
        "load_wrapped_seconds",
        "seconds",
        "setup_seconds",
        "decrypt_seconds",
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
fn benchmarks_of_other_ciphers() {
    let world = World::new();
    let line =
        "bench bgv --set bgv/toy-255 --json --key-bits 256 --direction decrypt --layout sliced";
    let document = json(&world.ok(line));
    let fields = ["key_bits", "direction", "blocks", "correct"].map(|field| &document[field]);
    assert_eq!(
        fields,
        [
            &Value::from(256),
            &"decrypt".into(),
            &16.into(),
            &true.into()
        ]
    );
    assert_eq!(document["seconds_per_round"].as_array().unwrap().len(), 15);
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
    // The set is of one scheme.
    assert!(all.get("tfhe").is_none());
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
