//! Every command does what `interface.md` says when all is well.

use crate::common::{IV, Run, World, all_sets, assert_fields, assert_positive};
use serde_json::{Value, json};

#[test]
fn aes_keys_are_read_raw_and_in_hex_and_from_standard_input() {
    let world = World::new();
    let wrap = "wrap-key --secret keys/secret.hsk --out key.hwk --force --key-file";
    for (content, ambiguous) in [(vec![7; 16], false), ("07".repeat(16).into(), true)] {
        world.write("k2", content);
        let words = "warning: k2: other users have access to this AES key; run 'chmod 600' on it\n";
        let from_file = world.ok(&format!("{wrap} k2"));
        from_file.warns(words);
        // nobody else can read standard input again
        let run = world.fed(&format!("{wrap} -"), "k2").ends(0);
        assert!(!run.err.contains("other users"), "{run:?}");
        let doubts = [&from_file, &run].map(|run| run.err.contains("read as 32 hex digits"));
        assert_eq!(doubts, [ambiguous; 2], "{run:?}");
        world.table("$transcipher c -o o.hct --force\n $decrypt o.hct -o q --force\n same q p");
    }
}

#[cfg(unix)]
#[test]
fn secret_keys_are_private_and_exposed_ones_are_warned_about() {
    let world = World::new();
    // an AES key, a passphrase, a secret key
    world.write("pass", "words");
    for (mode, warned) in [("644", true), ("600", false)] {
        for (file, line) in [
            ("k", "$wrap w --force"),
            ("pass", "$keygen MODE --passphrase-file pass"),
            ("keys/secret.hsk", "$decrypt o.hct -o q --force"),
        ] {
            world.step(&format!("chmod {mode} {file}"));
            let err = world.ok(&line.replace("MODE", mode)).err;
            let words = format!("warning: {file}: other users have access");
            assert_eq!(err.contains(&words), warned, "{mode}: {err}");
        }
    }
}

#[test]
fn params_lists_every_set() {
    let world = World::new();
    let table = world.ok("params --all").out;
    let secure = world.ok("params").out;
    let sets = all_sets();
    assert!(sets.len() >= 3);
    for set in sets {
        let name = set["name"].as_str().unwrap();
        let row = |line: &&str| line.split_whitespace().next() == Some(name);
        let mut shown = table.lines().filter(row);
        let is_secure = secure.lines().any(|line| row(&line));
        assert_eq!(is_secure, set["purpose"] == "secure", "{name}");
        for field in ["paper", "slots", "blocks_per_batch"] {
            assert!(set.get(field).is_some(), "{field}: {set}");
        }
        let assumptions = set["assumptions"].as_array().unwrap();
        let young = ["tfhe/p64-blocks", "bgv/aes256+8", "bgv/aes256+17"];
        assert_eq!(!assumptions.is_empty(), young.contains(&name));
        for assumption in assumptions {
            if name != young[0] {
                let words = assumption.as_str().unwrap();
                assert!(words.contains("degree 65536 that is not cyclotomic"));
                continue;
            }
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
    let expected = json!({ "layout": "packed", "blocks_per_batch": 128 });
    assert_fields(packed, expected);
    let left = &packed["levels_left_by_key_bits"];
    assert_fields(left, json!({ "128": 0, "192": null }));
}

#[test]
fn inspect_describes_every_kind() {
    let world = World::new();
    for file in ["keys/secret.hsk", "keys/eval.hek", "key.hwk", "o.hct"] {
        let (_, kind) = file.split_once('.').unwrap();
        let found = world.json(&format!("inspect --json {file}"));
        let bytes = world.read(file).len();
        let expected = json!({ "kind": kind, "set": "bgv/toy-255", "file_bytes": bytes });
        assert_fields(&found, expected);
        assert_eq!(found["messages"].is_null(), kind != "hct");
        assert_eq!(found["wrapped_key"].is_null(), kind != "hwk");
    }
    let messages = &world.json("inspect --json o.hct")["messages"];
    let expected = json!({ "mode": "ctr", "iv": IV, "bytes": 300, "blocks": 19, "batches": 2 });
    assert_fields(messages, expected);
    assert_positive(messages, "level noise_bits");
    assert!(messages["capacity_bits"].as_f64() > Some(4.0));
    check_steps(&messages["steps"]);
    world.table(
        "inspect keys/secret.hsk => .hsk
        inspect keys/eval.hek => .hek
        inspect key.hwk --json => \"aes_key_bits\": 128, … \"direction\": \"encrypt\" … \"expansion\": \"client\" \
            … \"layout\": \"sliced\" … \"output_level\": 1
        inspect key.hwk => .hwk … AES-128, to encrypt … sliced (0 multiplications left)
        inspect o.hct => .hct … AES-128-ctr, layout sliced … 1, decrypt only: no multiplications left
        inspect o.hct => noise bound … round  level
        $plan --shard-batches 1 c -o job
        job run-shard job 1",
    );
    let id = &world.document("job/job.json")["id"];
    let shard = &world.json("inspect --json job/shards/000001.hcs")["shard"];
    let expected = json!({ "run": id, "number": 1, "first_batch": 1, "batches": 1 });
    assert_fields(shard, expected);
    let run = world.ok("inspect job/shards/000001.hcs");
    let id = id.as_str().unwrap();
    run.says(&format!("{id} … 1 batch, from number 1"));
}

#[test]
fn results_become_small() {
    let world = World::new();
    world.table(
        "$wrap big.hwk --levels-left 3
        transcipher --eval keys/eval.hek --wrapped-key big.hwk --mode ctr --iv $iv c -o big.hct
        finish big.hct -o small.hct => small.hct: … KiB for 300 bytes, decrypt only
        inspect small.hct => decrypt only: no multiplications left
        $decrypt small.hct -o q
         same q p",
    );
    let [big, small, usual] = ["big.hct", "small.hct", "o.hct"].map(|file| world.read(file).len());
    assert!(big > 5 * small && small == usual, "{big} {small} {usual}");
    let run = Run::of(&mut world.shell("$homaes finish big.hct -o small.hct"));
    run.check_failure(1, "small.hct", "finish");
}

#[test]
fn patterns_are_found() {
    let world = World::new();
    // patterns of this set have one byte
    let plain = world.read("p");
    let starts = (0..plain.len()).filter(|&at| plain[at] == plain[29]);
    let starts: Vec<_> = starts.map(|at| at.to_string()).collect();
    let (pattern, starts) = (homaes::hex(&plain[29..30]), starts.join(","));
    let absent = (0..=255).find(|byte| !plain.contains(byte)).unwrap();
    let line = |label: &str, what: &str| format!("{{\"label\": \"{label}\", {what}}}\n");
    let there = line("there", &format!("\"hex\": \"{pattern}\""));
    world.write(
        "list",
        there.clone() + &line("not", &format!("\"hex\": \"{absent:02x}\"")),
    );
    world.write("both", line("a", "\"text\": \"b\", \"hex\": \"00\""));
    world.write("none", line("a", "\"hex\": null"));
    world.write("other", there);
    let scan = "scan --eval keys/eval.hek --mode ctr --iv $iv c --wrapped-key";
    world.table(&format!(
        "$wrap big.hwk --levels-left 8
        {scan} big.hwk --patterns list -o a.hcv => a.hcv: 300 bytes searched for 2 patterns
        $decrypt a.hcv --patterns list => \
            \"patterns\":[{{\"label\":\"there\",\"starts\":[{starts}]}},{{\"label\":\"not\",\"starts\":[]}}]
        $decrypt a.hcv --patterns other =1 all answers of one search
        $decrypt a.hcv --patterns list --json =2 cannot be used with
        $decrypt a.hcv --patterns list -o list --force =1 choose another name
        {scan} big.hwk --patterns list -o a.hcv =1 already exists
        {scan} big.hwk --patterns list -o list --force =1 choose another name
        {scan} big.hwk --patterns list p -o x.hcv =1 a search of 2 files at once, expected one
        {scan} key.hwk --patterns list -o x.hcv =1 more --levels-left
        {scan} big.hwk --patterns both -o x.hcv =1 both, line 1: expected a pattern as text or as hex
        {scan} big.hwk --patterns none -o x.hcv =1 none, line 1: … expected a string"
    ));
    assert!(!world.at("x.hcv").exists());
}

#[test]
fn columns_are_totalled() {
    let world = World::new();
    let plain = world.read("p");
    let records: Vec<_> = plain.chunks_exact(16).collect();
    let number = |record: &&[u8]| i64::from(u16::from_be_bytes([record[4], record[5]]));
    let sum: i64 = records.iter().map(number).sum();
    let chosen = records.iter().filter(|record| record[0] >= 100);
    let (count, chosen): (usize, i64) = (chosen.clone().count(), chosen.map(number).sum());
    assert!((1..records.len()).contains(&count));
    let signed: i64 = records.iter().map(|r| i64::from(r[9] as i8)).sum();
    let square: i64 = records.iter().map(|r| number(r).pow(2)).sum();
    let square = square % 65536;
    let compute = "compute --eval keys/eval.hek big.hct";
    world.table(&format!(
        "$wrap big.hwk --levels-left 17
        transcipher --eval keys/eval.hek --wrapped-key big.hwk --mode ctr --iv $iv c -o big.hct
        {compute} --column u16be@4/16 --sum -o a.hcv => a.hcv: sum u16be@4/16; print them with
        decrypt --secret keys/secret.hsk --json a.hcv => \"numbers\":[{sum}]
        inspect a.hcv => .hcv
        {compute} --column u16be@4/16 --count -o n.hcv
        decrypt --secret keys/secret.hsk --json n.hcv => \"label\":\"count\",\"numbers\":[18]
        {compute} --column u8@0/16 --records 5 --count -o m.hcv
        decrypt --secret keys/secret.hsk --json m.hcv => \"numbers\":[5]
        {compute} --column u8@0/16 --records 19 --count -o x.hcv =1 expected 1 to 18
        {compute} --column i8@9/16 --sum -o s.hcv
        decrypt --secret keys/secret.hsk --json s.hcv => \"numbers\":[{signed}]
        {compute} --column u16be@4/16 --dot u16be@4 -o d.hcv
        decrypt --secret keys/secret.hsk --json d.hcv => modulo 65536\",\"numbers\":[{square}]"
    ));
    let conditional = format!(
        "$homaes {compute} --column u16be@4/16 --sum --count --where 'u8@0 >= 100' -o c.hcv"
    );
    Run::of(&mut world.shell(&conditional)).ends(0);
    let values = world.json("decrypt --secret keys/secret.hsk --json c.hcv");
    let numbers = |i: usize| values["values"][i]["numbers"].clone();
    assert_eq!([numbers(0), numbers(1)], [json!([chosen]), json!([count])]);
    world.table(&format!(
        "{compute} --column u16be@4/16 -o x.hcv =2 required
        {compute} --sum -o x.hcv =2 --column
        {compute} --count -o x.hcv =1 nothing to compute
        {compute} --count --where u8@4==1 -o x.hcv =1 how long is a record
        {compute} --column u24@4 --sum -o x.hcv =2 expected a type
        {compute} --column u16be@4/16 --sum -o a.hcv =1 already exists
        {compute} --column u16be@15/16 --sum -o x.hcv =1 crosses the end of its record
        {compute} --column u16be@1000/2000 --sum -o x.hcv =1 no whole record of 2000 bytes
        {compute} --column u16be@4/16 --sum -o big.hct --force =1 choose another name
        compute --eval keys/eval.hek o.hct --column u8@4/16 --sum -o x.hcv =1 with 0 multiplications left"
    ));
    assert!(!world.at("x.hcv").exists());
    // the same results on standard input, and as a job
    let one = "compute --eval keys/eval.hek --column u16be@4/16 --sum";
    world.fed(&format!("{one} - -o in.hcv"), "big.hct").ends(0);
    world.table(&format!(
        "decrypt --secret keys/secret.hsk --json in.hcv => \"numbers\":[{sum}]
        job plan --eval keys/eval.hek --wrapped-key big.hwk --mode ctr --iv $iv c --out job
        {one} job -o j.hcv =1 job run
        job run job
        {one} job -o j.hcv
        decrypt --secret keys/secret.hsk --json j.hcv => \"numbers\":[{sum}]"
    ));
}

/// Batches times the bound for one, wherever a message is shown.
#[test]
fn the_failure_of_a_message_is_that_of_its_batches() {
    let world = World::new();
    let set = all_sets().iter().find(|set| set["name"] == "bgv/toy-255");
    // 19 blocks in batches of 16
    let expected = (2.0 * set.unwrap()["log2_p_fail"].as_f64().unwrap().exp2()).log2();
    assert_eq!(expected, -63.0);
    world.table(
        "$transcipher c -o r.hct --report r.json => , wrong with probability at most 2^-63.0
        $decrypt r.hct -o r => , wrong with probability at most 2^-63.0
        inspect r.hct => at most 2^-63.0
        inspect r.hct --json => \"log2_p_fail\": -63.0
        report r.json =>  -63.0  NOT SECURE",
    );
    let report = world.document("r.json");
    assert_eq!(report["report"]["log2_p_fail"], expected);
    // no batch fails in an empty message; a part counts its own batches, a folder those of all parts
    world.write("e", "");
    let part = |path| json!({ "path": path, "mode": "ctr", "iv": IV });
    world.write("l", format!("{}\n{}\n", part("c"), part("k")));
    world.table(
        "$transcipher e -o e.hct =- wrong
        inspect e.hct --json => \"log2_p_fail\": null
        transcipher $keys --mode ctr --files-from l -o p.hct
        $decrypt p.hct -o parts/ => , wrong with probability at most 2^-63.0
        $decrypt p.hct --part k -o b => at most 2^-64.0",
    );
}

/// What no evaluation key can be for.
#[test]
fn layouts_of_an_evaluation_key() {
    let world = World::new();
    world.table(
        "inspect keys/eval.hek => layouts     sliced,bits
        $keygen x --layouts packed =2 set bgv/toy-255 has no layout packed, expected sliced or bits
        $keygen x --layouts sliced =2 for sliced alone would be as large as one for all its layouts, expected
        keygen --set bgv/toy-21845 --accept-insecure --out x --layouts packed =2 expected sliced,packed or sliced
        $keygen x --layouts sliced,, =2 found layout \"\", expected 'all' or some of packed,sliced,bits
        keygen --set tfhe/toy --accept-insecure --out t --layouts bits
        keygen --set tfhe/toy --accept-insecure --out u --layouts sliced =2 set tfhe/toy has no layout sliced",
    );
}

/// Two fifths of an evaluation key serve packed AES alone.
#[test]
#[ignore = "nightly: keys of bgv/toy-21845, the smallest set with packed that has fewer without"]
fn nightly_an_evaluation_key_for_one_layout() {
    let world = World::new();
    let keygen = "keygen --set bgv/toy-21845 --accept-insecure --out s --resume --layouts";
    let run = "transcipher --eval s/eval.hek --wrapped-key s.hwk --mode ctr --iv $iv c -o s.hct";
    let plan = "job plan --eval s/eval.hek --wrapped-key s.hwk --mode ctr --iv $iv c -o job";
    world.table(&format!(
        "{keygen} sliced => s/eval.hek: … goes to the server, for layout sliced
        {keygen} sliced => both keys of set bgv/toy-21845 are complete
        {keygen} all =1 s/secret.hsk: already exists
        inspect s/eval.hek => layouts     sliced
        wrap-key --secret s/secret.hsk --key-file k --out s.hwk => sliced (0 … packed (0
        {run} => 19 blocks in 1 batch (sliced)
        decrypt --secret s/secret.hsk s.hct -o q
        same q p
        {plan} => sliced
        {run} --layout packed --force =1 the evaluation key has no layout packed, expected sliced; choose a layout
        {plan} --layout packed =1 the evaluation key has no layout packed, expected sliced; choose a layout
        cp s/eval.hek whole
        mv s/secret.hsk s/secret.hsk.unfinished
        rm s/eval.hek"
    ));
    let layouts = &world.json("inspect whole --json")["eval_key"]["layouts"];
    assert_eq!(*layouts, json!(["sliced"]));
    let whole = world.read("whole");
    world.write("s/eval.hek.unfinished", &whole[..whole.len() / 2]);
    world.table(&format!(
        "{keygen} all =1 is an unfinished evaluation key for sliced, expected sliced,packed; give the set and
        {keygen} sliced
        same s/eval.hek whole"
    ));
}

/// With size and place, security, assumptions of the set, and the AES keys that it takes.
#[test]
fn what_is_made_is_shown() {
    let world = World::new();
    world.write("k2", [9; 32]);
    let words = "LWE with a key in blocks of 3 bits";
    let toy = "=! warning: set bgv/toy-255 offers no security (toy)";
    world.table(&format!(
        "$keygen more/keys {toy}
        $wrap key2.hwk --layout sliced {toy}
        $transcipher c -o o2.hct {toy}
        $decrypt o.hct -o q {toy}
        inspect o.hct => NOT SECURE (toy)
        keygen --set tfhe/p64-blocks --out blocks => set tfhe/p64-blocks assumes: {words}
        inspect blocks/secret.hsk => {words}
        inspect blocks/secret.hsk --json => \"{words}
        inspect keys/secret.hsk =- assumes
        keygen --set ntru/toy-depth3 --out small --accept-insecure \
            => for AES keys of 128 bits (192: ntru/toy-255, 256: ntru/toy-255)
        wrap-key --secret small/secret.hsk --key-file k2 --out x =1 an AES key of 256 bits: set ntru/toy-depth3 takes \
            keys of 128 bits, ntru/toy-255 takes 256; choose a set"
    ));
    let size = |file: &str| homaes_lab::units::bytes(world.read(file).len() as u64);
    let made = world.ok("$keygen new").out;
    let expected = [
        ("new/secret.hsk", "stays here: keep it secret"),
        ("new/eval.hek", "goes to the server"),
    ];
    let expected = expected.map(|(file, why)| format!("{file}: {}, {why}", size(file)));
    let lines: Vec<&str> = made.lines().collect();
    assert_eq!(lines[..2], expected);
    assert!(lines[2].ends_with("for AES keys of 128, 192, 256 bits"));
    let made = world.ok("$wrap new.hwk").out;
    let start = format!("new.hwk: {}, goes to the server: AES-128", size("new.hwk"));
    assert!(made.starts_with(&start), "{made}");
}

#[test]
fn computed_values_are_printed() {
    let world = World::new();
    world.values(15);
    let line = "$decrypt v.hcv --json";
    let document = world.json(line);
    assert_eq!(document["set"], "bgv/toy-255");
    let first: Vec<u8> = world.read("p").chunks(16).map(|block| block[0]).collect();
    let expected =
        json!({ "label": "first", "form": "bgv slots", "width": 8, "numbers": first[..15] });
    assert_fields(&document["values"][0], expected);
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
    assert_eq!(world.document("v.json"), document);
    assert_eq!(world.ok("$decrypt v.hcv --json -o -").out, text);
}

/// Eleven steps with time, falling level, noise and capacity.
fn check_steps(steps: &Value) {
    let steps = steps.as_array().unwrap();
    assert_eq!(steps.len(), 11);
    for (round, step) in steps.iter().enumerate() {
        assert_eq!(step["round"], round);
        assert_positive(step, "seconds level noise_bits capacity_bits");
    }
    let levels = steps.iter().map(|step| step["level"].as_u64().unwrap());
    assert!(levels.is_sorted_by(|a, b| a > b), "{steps:?}");
}

#[test]
fn reports_tell_every_step_of_every_batch() {
    let world = World::new();
    let line = "$transcipher c -o r --report r.json";
    world.ok(line);
    let report = world.document("r.json");
    let expected = json!({ "set": "bgv/toy-255", "mode": "ctr", "direction": "encrypt",
        "aes_key_bits": 128 });
    assert_fields(&report, expected);
    let batches = report["batches"].as_array().unwrap();
    assert_eq!(batches.len(), 2);
    for (index, batch) in batches.iter().enumerate() {
        assert_eq!(batch["batch"], index);
        check_steps(&batch["steps"]);
    }
    let sums = &report["report"];
    check_steps(&sums["steps"]);
    let expected = json!({ "layout": "sliced", "multiplications_left": 0 });
    assert_fields(sums, expected);
    assert_positive(sums, "setup_seconds transforms");
    assert_positive(&sums["stage_seconds"], "transforms");
    world.table(
        "$transcipher c -o r --report r.json =1 r: file already exists
        $transcipher c -o r2 --report r.json =1 r.json: file already exists",
    );
    world.ok(&format!("{line} --force"));
}

#[test]
fn other_modes_key_sizes_and_directions() {
    let world = World::new();
    // AES-192-ECB with padding
    let padded = "ad0a1e4d02ecf8bf019e9d46c38603bba27ee041763769609aded57b316da279e3c92d885d27541d0755df6f80c787be";
    let padded = homaes::unhex(padded).unwrap();
    world.write("padded", &padded);
    world.write("c", &padded[..32]);
    world.write("k", [9; 24]);
    let zeros = "0".repeat(32);
    let [forwards, backwards] =
        ["e", "d"].map(|name| format!("transcipher --eval keys/eval.hek --wrapped-key {name}.hwk"));
    world.table(&format!(
        "$wrap d.hwk --levels-left 1 --direction decrypt => AES-192 key wrapped for set bgv/toy-255, to decrypt; \
            … layouts: sliced (2 multiplications left)
        $wrap e.hwk --layout sliced --expand client
        {backwards} --mode ecb padded -o x
        write plain thirty-two bytes: two AES blocks
        $decrypt x -o unpadded --unpad
        same unpadded plain
        {forwards} --mode ecb c -o y =1 wrap the AES key with wrap-key --direction decrypt
        {backwards} --mode ctr --iv $iv c -o y =1 wrap the AES key with wrap-key --direction encrypt
        {backwards} --mode cbc --iv {zeros} c -o z
        $decrypt z -o q --unpad =1 does not end with PKCS#7 padding
        $decrypt z -o q"
    ));
    // with an IV of zeros, the first block is the same as under ECB
    assert!(world.read("q").starts_with(b"thirty-two bytes"));
}

/// Test case 4 of McGrew and Viega, *The Galois/Counter Mode of Operation*, as SP 800-38D refers to it.
#[test]
fn gcm_tags_are_checked_with_the_aes_key() {
    let nonce = "cafebabefacedbaddecaf888";
    let aad = "feedfacedeadbeeffeedfacedeadbeefabaddad2";
    let plain = "d9313225f88406e5a55909c5aff5269a86a7a9531534f7da2e4c303d8a318a72\
        1c3c0c95956809532fcf0e2449a6b525b16aedf5aa0de657ba637b39";
    let cipher = "42831ec2217774244b7221b784d0d49ce3aa212f2c02a4e035c17e2329aca12e\
        21d514b25466931c7d8f6a5aac84aa051ba30b396a0aac973d58e091";
    let tag = "5bc94fbc3221a5db94fae95ae7121a47";
    let world = World::new();
    for (name, hex) in [
        ("k2", "feffe9928665731c6d6a8f9467308308"),
        ("aad", aad),
        ("plain", plain),
        ("c", &[cipher, tag].concat()),
        ("nc", &[nonce, cipher, tag].concat()),
    ] {
        world.write(name, homaes::unhex(hex).unwrap());
    }
    let start = "transcipher --eval keys/eval.hek --wrapped-key g.hwk --mode gcm --aad aad";
    world.ok("wrap-key --secret keys/secret.hsk --key-file k2 --out g.hwk");
    for input in [&*format!("--iv {nonce} c"), "nc"] {
        world.table(&format!(
            "{start} {input} -o x --force
            inspect x => {tag} … {nonce} … 20 bytes
            $decrypt x --unauthenticated -o q --force =! tag was NOT checked
            $decrypt x --key-file k2 -o q --force => GCM tag valid
            same q plain"
        ));
    }
}

#[test]
fn progress_is_one_json_object_per_line() {
    let world = World::new();
    let events = world.ok("$transcipher c -o j --progress json").events();
    assert_eq!(events.len(), 2 * 11 + 1);
    for event in &events[..22] {
        assert_fields(event, json!({ "event": "round", "batches": 2 }));
    }
    assert_eq!(events[21]["fraction"], 1.0);
    assert_positive(&events[21]["step"], "noise_bits");
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
    assert_positive(
        kernels,
        "forward_ns inverse_ns reference_ntt_ns forward_over_reference",
    );
}
