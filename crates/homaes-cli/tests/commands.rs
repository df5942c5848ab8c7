//! Every command does what `interface.md` says when all is well.

#![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

use crate::common::{IV, World, assert_positive, fields};
use serde_json::{Value, json};
use std::fs;

#[test]
fn messages_come_back_whatever_the_number_of_threads() {
    let world = World::new();
    world.message(2000);
    for threads in [1, 3] {
        let line = format!("$transcipher c --reproducible -o t{threads} --threads {threads}");
        world.ok(&line).says("2000 bytes, 125 blocks in 8 batches");
    }
    assert!(world.read("t1") == world.read("t3"));
    world.ok("$decrypt t1 -o q");
    assert!(world.read("q") == world.read("p"));
}

#[test]
fn insecure_sets_are_named_every_time() {
    let world = World::new();
    world.table(
        "$keygen more/keys =! warning: set bgv/toy-255 offers no security (toy)
        $wrap key2.hwk --layout sliced =! warning: set bgv/toy-255 offers no security (toy)
        $transcipher c -o o2.hct =! warning: set bgv/toy-255 offers no security (toy)
        $decrypt o.hct -o q =! warning: set bgv/toy-255 offers no security (toy)
        inspect o.hct => NOT SECURE (toy)",
    );
}

#[test]
fn aes_keys_are_read_raw_and_in_hex_and_from_standard_input() {
    let world = World::new();
    let hex = "07".repeat(16);
    for (content, ambiguous) in [(vec![7; 16], false), (hex.into_bytes(), true)] {
        world.write("k2", &content);
        let wrap = "wrap-key --secret keys/secret.hsk --out key.hwk --force --key-file";
        let from_file = world.ok(&format!("{wrap} k2"));
        let run = world.fed(&format!("{wrap} -"), "k2").ends(0);
        // nobody else can read standard input again
        from_file
            .warns("warning: k2: other users have access to this AES key; run 'chmod 600' on it\n");
        assert!(!run.err.contains("other users"), "{run:?}");
        let doubts = [&from_file, &run].map(|run| run.err.contains("read as 32 hex digits"));
        assert_eq!(doubts, [ambiguous; 2], "{run:?}");
        world.table("$transcipher c -o o.hct --force\n $decrypt o.hct -o q --force");
        assert_eq!(world.read("q"), world.read("p"));
    }
}

#[cfg(unix)]
#[test]
fn secret_keys_are_private_and_exposed_ones_are_warned_about() {
    use std::os::unix::fs::PermissionsExt;
    let world = World::new();
    let set = |name: &str, mode| {
        fs::set_permissions(world.at(name), fs::Permissions::from_mode(mode)).unwrap();
    };
    // an AES key, a passphrase, a secret key
    world.write("pass", "words");
    for (mode, warned) in [(0o644, true), (0o600, false)] {
        for (file, line) in [
            ("k", "$wrap w --force"),
            ("pass", "$keygen made --passphrase-file pass"),
            ("keys/secret.hsk", "$decrypt o.hct -o q --force"),
        ] {
            set(file, mode);
            let _ = fs::remove_dir_all(world.at("made"));
            let err = world.ok(line).err;
            let words = format!("warning: {file}: other users have access");
            assert_eq!(err.contains(&words), warned, "{mode:o}: {err}");
        }
    }
}

/// What `params --json` has of every set.
const FIELDS: &str = "name scheme paper purpose published assumptions layouts slots blocks_per_batch log2_p_fail \
    security_bits_claimed security_bits_estimated security_bits_with_rotations \
    secret_key_bytes eval_key_bytes wrapped_key_bytes ciphertext_bytes_per_batch";

#[test]
fn params_lists_every_set() {
    let world = World::new();
    let table = world.ok("params --all").out;
    let secure = world.ok("params").out;
    let document = world.json("params --json");
    let sets = document.as_array().unwrap();
    assert!(sets.len() >= 3);
    for set in sets {
        let name = set["name"].as_str().unwrap();
        let row = |line: &&str| line.split_whitespace().next() == Some(name);
        let mut shown = table.lines().filter(row);
        let is_secure = secure.lines().any(|line| row(&line));
        assert_eq!(is_secure, set["purpose"] == "secure", "{name}");
        for field in FIELDS.split_whitespace() {
            assert!(set.get(field).is_some(), "{field}: {set}");
        }
        let assumptions = set["assumptions"].as_array().unwrap();
        assert_eq!(!assumptions.is_empty(), name == "tfhe/p64-blocks");
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
        if set["scheme"] == "tfhe" {
            assert!(shown.any(|line| line.contains("no levels")), "{name}");
            assert!(set["ring"].is_null() && set["log2_qp"].is_null(), "{set}");
        }
    }
    assert_eq!(sets[0]["name"], "bgv/aes128");
    let packed = &sets[0]["layouts"][1];
    let found = fields(packed, ["layout", "blocks_per_batch"]);
    assert_eq!(found, json!(["packed", 128]));
    let left = &packed["levels_left_by_key_bits"];
    assert_eq!(fields(left, ["128", "192"]), json!([0, null]));
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
        let document = world.json(&format!("inspect --json {file}"));
        let found = fields(&document, ["kind", "set", "file_bytes"]);
        let bytes = world.read(file).len();
        assert_eq!(found, json!([kind, "bgv/toy-255", bytes]));
        assert_eq!(document["messages"].is_null(), kind != "hct");
        assert_eq!(document["wrapped_key"].is_null(), kind != "hwk");
    }
    let messages = &world.json("inspect --json o.hct")["messages"];
    let found = fields(messages, ["mode", "iv", "bytes", "blocks", "batches"]);
    assert_eq!(found, json!(["ctr", IV, 300, 19, 2]));
    assert_positive(messages, &["level", "noise_bits"]);
    assert!(messages["capacity_bits"].as_f64() > Some(4.0));
    check_steps(&messages["steps"]);
    world.table(
        "inspect keys/secret.hsk => .hsk
        inspect keys/eval.hek => .hek
        inspect key.hwk --json => \"aes_key_bits\": 128, … \"direction\": \"encrypt\" … \"expansion\": \"client\" \
            … \"layout\": \"sliced\" … \"output_level\": 1
        inspect key.hwk => .hwk … AES-128, to encrypt … sliced (0 multiplications left)
        inspect o.hct => .hct … AES-128-ctr, layout sliced … 1, decrypt only: no multiplications left
        inspect o.hct => noise bound … round  level",
    );
}

/// Batches times the bound for one, wherever a message is shown.
#[test]
fn the_failure_of_a_message_is_that_of_its_batches() {
    let world = World::new();
    let sets = world.json("params --json");
    let mut sets = sets.as_array().unwrap().iter();
    let set = sets.find(|set| set["name"] == "bgv/toy-255").unwrap();
    // 19 blocks in batches of 16
    let expected = (2.0 * set["log2_p_fail"].as_f64().unwrap().exp2()).log2();
    assert_eq!(expected, -63.0);
    world.table(
        "$transcipher c -o r.hct --report r.json => , wrong with probability at most 2^-63.0
        $decrypt r.hct -o r => , wrong with probability at most 2^-63.0
        inspect r.hct => at most 2^-63.0
        inspect r.hct --json => \"log2_p_fail\": -63.0
        report r.json =>  -63.0  NOT SECURE
        report r.json --md r.md",
    );
    let report: Value = serde_json::from_slice(&world.read("r.json")).unwrap();
    assert_eq!(report["report"]["log2_p_fail"], expected);
    let page = world.text("r.md");
    let told = page.contains("| failure |") && page.contains("| 2^-63.0 |");
    assert!(told, "{page}");
    // no batch fails in an empty message
    world.write("e", "");
    let run = world.ok("$transcipher e -o e.hct");
    assert!(!run.out.contains("wrong"), "{run:?}");
    // a part counts its own batches, a folder those of all parts
    let part = |path| json!({ "path": path, "mode": "ctr", "iv": IV });
    world.write("l", format!("{}\n{}\n", part("c"), part("k")));
    world.table(
        "inspect e.hct --json => \"log2_p_fail\": null
        transcipher $keys --mode ctr --files-from l -o p.hct
        $decrypt p.hct -o parts/ => , wrong with probability at most 2^-63.0
        $decrypt p.hct --part k -o b => at most 2^-64.0",
    );
}

/// Keys of a set with an assumption of its own say so where they are made and shown.
#[test]
fn keys_say_what_they_assume() {
    let world = World::new();
    let words = "LWE with a key in blocks of 3 bits";
    world.table(&format!(
        "keygen --set tfhe/p64-blocks --out blocks => set tfhe/p64-blocks assumes: {words}
        inspect blocks/secret.hsk => {words}
        inspect blocks/secret.hsk --json => \"{words}"
    ));
    assert!(!world.ok("inspect keys/secret.hsk").out.contains("assumes"));
}

#[test]
fn what_is_made_is_shown_with_its_size_and_place() {
    let world = World::new();
    let made = world.ok("$keygen new").out;
    let size = |file: &str| homaes_lab::units::bytes(world.read(file).len() as u64);
    let [secret, eval] = ["new/secret.hsk", "new/eval.hek"].map(size);
    let expected = [
        format!("new/secret.hsk: {secret}, stays here: keep it secret"),
        format!("new/eval.hek: {eval}, goes to the server"),
    ];
    let lines: Vec<&str> = made.lines().collect();
    assert_eq!(lines[..2], expected);
    let last = "for AES keys of 128, 192, 256 bits";
    assert!(lines[2].ends_with(last), "{made}");
    let made = world.ok("$wrap new.hwk").out;
    let start = format!("new.hwk: {}, goes to the server: AES-128", size("new.hwk"));
    assert!(made.starts_with(&start), "{made}");
}

#[cfg(feature = "dghv")]
#[test]
fn aes_keys_that_a_set_does_not_take_are_refused_with_a_set_that_does() {
    let world = World::new();
    world.write("k2", [9; 32]);
    world.table(
        "keygen --set dghv/single --out small --accept-insecure => for AES keys of 128 bits (192: dghv/micro, \
            256: dghv/micro)
        wrap-key --secret small/secret.hsk --key-file k2 --out x =1 an AES key of 256 bits: set dghv/single takes \
            keys of 128 bits, dghv/micro takes 256; choose a set",
    );
}

#[test]
fn computed_values_are_printed() {
    let world = World::new();
    world.values(15);
    let line = "$decrypt v.hcv --json";
    let document = world.json(line);
    assert_eq!(document["set"], "bgv/toy-255");
    let value = &document["values"][0];
    let found = fields(value, ["label", "form", "width"]);
    assert_eq!(found, json!(["first", "bgv slots", 8]));
    let first: Vec<u8> = world.read("p").chunks(16).map(|block| block[0]).collect();
    assert_eq!(value["numbers"], Value::from(&first[..15]));
    // to a file, as a message is
    world.table(
        "$decrypt v.hcv --json -o v.json => v.json: 1 value
        $keygen other
        $decrypt v.hcv --json -o v.json =1 file already exists
        $decrypt v.hcv --json -o v.hcv --force =1 both an input and the output
        $decrypt o.hct --json =1 o.hct: wrong kind of file
        decrypt --secret other/secret.hsk v.hcv --json =1 v.hcv: file belongs to key
        $decrypt v.hcv -o x =1 v.hcv: … 'homaes decrypt --json' prints
        $decrypt o.hct =2 required arguments were not provided: --out
        $decrypt v.hcv --json --unpad =2 cannot be used with
        inspect v.hcv --json => \"kind\": \"hcv\" … \"label\": \"first\" … \"count\": 15,
        inspect v.hcv => computed values (.hcv) … 15 numbers of 8 bits, 1 ciphertext (bgv slots)",
    );
    let text = world.text("v.json");
    assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), document);
    assert_eq!(world.ok("$decrypt v.hcv --json -o -").out, text);
}

#[test]
fn shards_are_described() {
    let world = World::new();
    world.table("$plan --shard-batches 1 c -o job\n job run-shard job 1");
    let plan: Value = serde_json::from_slice(&world.read("job/job.json")).unwrap();
    let shard = &world.json("inspect --json job/shards/000001.hcs")["shard"];
    let found = fields(shard, ["run", "number", "first_batch", "batches"]);
    assert_eq!(found, json!([plan["id"], 1, 1, 1]));
    let id = plan["id"].as_str().unwrap();
    let words = format!("{id} … 1 batch, from number 1");
    world.table(&format!("inspect job/shards/000001.hcs => {words}"));
}

/// Eleven steps with time, falling level, noise and capacity.
fn check_steps(steps: &Value) {
    let steps = steps.as_array().unwrap();
    assert_eq!(steps.len(), 11);
    for (round, step) in steps.iter().enumerate() {
        assert_eq!(step["round"], round);
        assert_positive(step, &["seconds", "level", "noise_bits", "capacity_bits"]);
    }
    let levels = steps.iter().map(|step| step["level"].as_u64().unwrap());
    assert!(levels.is_sorted_by(|a, b| a > b), "{steps:?}");
}

#[test]
fn reports_tell_every_step_of_every_batch() {
    let world = World::new();
    let line = "$transcipher c -o r --report r.json";
    world.ok(line);
    let report: Value = serde_json::from_slice(&world.read("r.json")).unwrap();
    let found = fields(&report, ["set", "mode", "direction", "aes_key_bits"]);
    assert_eq!(found, json!(["bgv/toy-255", "ctr", "encrypt", 128]));
    let batches = report["batches"].as_array().unwrap();
    assert_eq!(batches.len(), 2);
    for (index, batch) in batches.iter().enumerate() {
        assert_eq!(batch["batch"], index);
        check_steps(&batch["steps"]);
    }
    let sums = &report["report"];
    check_steps(&sums["steps"]);
    let found = fields(sums, ["layout", "multiplications_left"]);
    assert_eq!(found, json!(["sliced", 0]));
    assert_positive(sums, &["setup_seconds", "transforms"]);
    assert_positive(&sums["stage_seconds"], &["transforms"]);
    world.table(
        "$transcipher c -o r --report r.json =1 r: file already exists
        $transcipher c -o r2 --report r.json =1 r.json: file already exists",
    );
    world.ok(&format!("{line} --force"));
}

#[test]
fn other_modes_key_sizes_and_directions() {
    let world = World::new();
    let (key, plain) = ([9; 24], b"thirty-two bytes: two AES blocks");
    let mut text = plain.to_vec();
    text.extend([16; 16]);
    aes_192(&key, &mut text);
    world.write("k", key);
    world.write("padded", &text);
    world.write("c", &text[..32]);
    let zeros = "0".repeat(32);
    let [forwards, backwards] =
        ["e", "d"].map(|name| format!("transcipher --eval keys/eval.hek --wrapped-key {name}.hwk"));
    // under CBC with an IV of zeros, the first block is the same as under ECB
    world.table(&format!(
        "$wrap d.hwk --levels-left 1 --direction decrypt => AES-192 key wrapped for set bgv/toy-255, to decrypt; \
            … layouts: sliced (2 multiplications left)
        $wrap e.hwk --layout sliced --expand client
        {backwards} --mode ecb padded -o x
        $decrypt x -o unpadded --unpad
        {forwards} --mode ecb c -o y =1 wrap the AES key with wrap-key --direction decrypt
        {backwards} --mode ctr --iv $iv c -o y =1 wrap the AES key with wrap-key --direction encrypt
        {backwards} --mode cbc --iv {zeros} c -o z
        $decrypt z -o q --unpad =1 does not end with PKCS#7 padding
        $decrypt z -o q"
    ));
    assert_eq!(world.read("unpadded"), plain);
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
    let pairs = (0..text.len()).step_by(2).map(|at| &text[at..at + 2]);
    let bytes = pairs.map(|pair| u8::from_str_radix(pair, 16));
    bytes.collect::<Result<_, _>>().unwrap()
}

#[test]
fn gcm_tags_are_checked_with_the_aes_key() {
    let world = World::new();
    world.write("k", gcm::KEY);
    world.write("aad", unhex(gcm::AAD));
    world.ok("$wrap g.hwk");
    let (nonce, tagged) = (unhex(gcm::NONCE), unhex(&[gcm::CIPHER, gcm::TAG].concat()));
    world.write("c", &tagged);
    world.write("nc", [nonce, tagged.clone()].concat());
    let start = "transcipher --eval keys/eval.hek --wrapped-key g.hwk --mode gcm --aad aad";
    let (nonce, tag) = (gcm::NONCE, gcm::TAG);
    for input in [&*format!("--iv {nonce} c"), "nc"] {
        world.table(&format!(
            "{start} {input} -o x --force
            inspect x => {tag} … {nonce} … 20 bytes
            $decrypt x --unauthenticated -o q --force =! tag was NOT checked
            $decrypt x --key-file k -o q --force => GCM tag valid"
        ));
        assert_eq!(world.read("q"), unhex(gcm::PLAIN));
    }
    let mut bad = tagged;
    bad[3] ^= 1;
    world.write("bad", &bad);
    world.ok(&format!("{start} --iv {nonce} bad -o z"));
    world.write("other", [1; 16]);
    world.write("longer", [1; 32]);
    world.table(
        "$decrypt -o new --key-file k z =1 z: the GCM tag does not match
        $decrypt -o new --key-file other x =1 x: the GCM tag does not match
        $decrypt -o new --key-file longer x =1 found a key for AES-256, expected AES-128
        $decrypt -o new --key-file k o.hct =1 mode ctr has no tag to check",
    );
}

#[test]
fn progress_is_one_json_object_per_line() {
    let world = World::new();
    let out = world.ok("$transcipher c -o j --progress json").out;
    let events = out.lines().map(|line| serde_json::from_str(line).unwrap());
    let events: Vec<Value> = events.collect();
    assert_eq!(events.len(), 2 * 11 + 1);
    for event in &events[..22] {
        assert_eq!(fields(event, ["event", "batches"]), json!(["round", 2]));
    }
    assert_eq!(events[21]["fraction"], 1.0);
    assert_positive(&events[21]["step"], &["noise_bits"]);
    assert_eq!(events[22]["event"], "done");
    assert_eq!(events[22]["report"]["bytes"], 300);
    let quiet = world.ok("$transcipher c -o n --progress none").err;
    assert_eq!(quiet.lines().count(), 1, "{quiet}");
    assert!(quiet.starts_with("warning:"), "{quiet}");
}

#[test]
fn the_demonstration_shows_the_whole_way() {
    let world = World::new();
    world.table(
        "demo --scheme bgv --set bgv/toy-255 --blocks 3 =! warning: set bgv/toy-255 offers no security (toy)
        demo --scheme bgv --set bgv/toy-255 --blocks 40 => bgv/toy-255 … NOT SECURE (toy) … p_fail … keygen \
            … evaluation key … transcipher … 635 bytes, 40 blocks in 3 batches … AES-128-CTR, layout sliced \
            … noise left … all 635 bytes decrypt to the text",
    );
}

#[test]
fn benchmarks_print_one_document() {
    let world = World::new();
    let line = "bench bgv --set bgv/toy-255 --threads 2 --blocks 50 --key-bits 256 --direction decrypt --json";
    let document = world.json(line);
    let found = fields(&document, ["set", "purpose", "layout", "direction"]);
    assert_eq!(found, json!(["bgv/toy-255", "toy", "sliced", "decrypt"]));
    let found = fields(&document, ["correct", "blocks", "batches", "threads"]);
    assert_eq!(found, json!([true, 50, 4, 2]));
    let found = fields(&document, ["key_bits", "levels_left"]);
    assert_eq!(found, json!([256, 0]));
    let times = "keygen_seconds load_key_seconds wrap_seconds load_wrapped_seconds seconds setup_seconds \
        decrypt_seconds ms_per_block ns_per_transform reference_ntt_ns aes_over_reference_ntt transforms \
        eval_key_bytes wrapped_key_bytes ciphertext_bytes";
    assert_positive(&document, &times.split_whitespace().collect::<Vec<_>>());
    assert_eq!(document["seconds_per_round"].as_array().unwrap().len(), 15);
    check_shares(&document);
    if cfg!(target_os = "linux") {
        assert!(document["peak_rss_bytes"].as_u64().unwrap() > 1 << 20);
    }
}

/// The shares of the stages of a benchmark make one.
pub(crate) fn check_shares(document: &Value) {
    let shares = document["stages"].as_object().unwrap().values();
    let sum: f64 = shares.map(|share| share.as_f64().unwrap()).sum();
    assert!((sum - 1.0).abs() < 1e-9, "{document}");
}

#[test]
fn benchmarks_of_everything_are_one_document_too() {
    let world = World::new();
    let run = world.ok("bench all --set bgv/toy-255 --json");
    let warning = "warning: set bgv/toy-255 offers no security (toy)";
    assert!(run.err.starts_with(warning), "{run:?}");
    let all: Value = serde_json::from_str(&run.out).unwrap();
    assert_eq!(all["bgv"]["correct"], true);
    // the set is of one scheme
    assert!(all.get("tfhe").is_none());
    let kernels = &all["kernels"];
    assert!(kernels["repetitions"].as_u64().unwrap() >= 2000);
    assert_positive(kernels, &["forward_ns", "inverse_ns"]);
    assert_positive(kernels, &["reference_ntt_ns", "forward_over_reference"]);
}
