//! Messages with parts, which may come from a server that has changed them, and folders of plaintexts.

use crate::common::{IV, KEY, World, cells, nonce, sealed};
use std::fs;

/// Encrypts each message with a nonce of its own, and transciphers them as parts of `NAME.hct`.
fn gcm(world: &World, name: &str, parts: &[(&str, &str)]) {
    let parts = parts.iter().zip(1..).map(|((name, message), n)| {
        let path = format!("{n}.gcm");
        world.write(&path, sealed(&KEY, n, b"", message.as_bytes()));
        part(&path, name, "gcm", Some(&nonce(n)))
    });
    transcipher(world, name, "key.hwk", &parts.collect::<String>());
}

/// A line of a list.
fn part(path: &str, name: &str, mode: &str, iv: Option<&str>) -> String {
    let mut line = serde_json::json!({ "path": path, "name": name, "mode": mode });
    if let Some(iv) = iv {
        line["iv"] = iv.into();
    }
    format!("{line}\n")
}

fn transcipher(world: &World, name: &str, wrapped: &str, list: &str) {
    world.write("list", list);
    let keys = format!("--eval keys/eval.hek --wrapped-key {wrapped}");
    world.ok(&format!(
        "transcipher {keys} --mode gcm --files-from list -o {name}.hct --force"
    ));
}

/// A server that calls the mode of a forged part one without tags gets nothing written, whatever else the command says.
#[test]
fn a_mode_without_tags_is_no_way_around_the_tag() {
    let world = World::new();
    world.ok("$wrap d.hwk --direction decrypt");
    world.write("evil", "forged: 16 bytes");
    gcm(&world, "good", &[("report.txt", "the report"), ("b", "")]);
    for mode in ["ctr", "ctr64", "cfb", "cbc", "ecb"] {
        let encrypts = !["cbc", "ecb"].contains(&mode);
        let wrapped = if encrypts { "key.hwk" } else { "d.hwk" };
        let forged = part("evil", "report.txt", mode, (mode != "ecb").then_some(IV));
        transcipher(&world, "one", wrapped, &forged);
        let words = format!("mode {mode} has no tag to check");
        // beside a part that is right, where the mode can be
        if encrypts {
            let right = part("1.gcm", "b", "gcm", Some(&nonce(1)));
            transcipher(&world, "two", wrapped, &(right + &forged));
            world.table(&format!(
                "$open two.hct -o back/ =1 part report.txt: {words}
                $open two.hct --force --seen log --unpad -o back/ =1 part report.txt: {words}"
            ));
        }
        world.table(&format!(
            "$open one.hct -o back/ =1 part report.txt: {words}
            $open one.hct --force --seen log --unpad -o back/ =1 part report.txt: {words}
            $open one.hct --force --seen log --part report.txt -o back =1 {words}
            $open one.hct -o {mode}/ --unauthenticated => 0 with a valid tag, 1 without one"
        ));
        assert!(world.at(&format!("{mode}/report.txt")).exists());
    }
    world.table(
        "$open one.hct -o back =1 holds 1 parts
        $open one.hct -o - =1 holds 1 parts
        $open one.hct -o back/ --unauthenticated --seen log =1 takes only messages with a checked tag
        $decrypt good.hct -o back/ =1 checking the GCM tag needs the AES key
        $open good.hct -o back/ => 2 with a valid tag, 0 without one",
    );
    assert_eq!(world.read("back/report.txt"), b"the report");
}

#[test]
fn parts_are_those_that_are_expected() {
    let world = World::new();
    gcm(&world, "r", &[("a", "of a"), ("in/b", "of b")]);
    let [a, b] = [1, 2].map(nonce);
    let first = format!(r#"{{"name": "a", "mode": "gcm", "nonce": "{a}", "aad": "", "bytes": 4}}"#);
    let second = format!(r#"{{"name": "in/b", "nonce": "{b}"}}"#);
    let (first, second) = (&first[..], &second[..]);
    let fails = |lines: &[&str], words: &str| {
        world.write("e", lines.join("\n") + "\n\n");
        world.fails(1, "$open r.hct --expect e -o back", words);
    };
    fails(&[first], r#"found "in/b", expected no part of this name"#);
    let other = second.replace("in/b", "c");
    let words = r#"found no part "c", expected one"#;
    fails(&[first, second, &other], words);
    for [from, to, words] in cells(
        r#"
        gcm => ctr => part a: mode: found gcm, expected ctr
        0101 => 0202 => part a: nonce or IV: found 0101
        "aad": "" => "aad": "00" => part a: associated data: found 0 bytes
        : 4 => : 5 => part a: length of the message: found 4 bytes, expected 5
        "#,
    ) {
        fails(&[&first.replace(from, to), second], words);
    }
    for [bad, words] in cells(
        r#"
        [] => e, line 2: not a JSON object; write one JSON object per line, such as {"name"
        {} => e, line 2: missing field `name` at column 2; write
        {"name": "c", "iv": "00"} => line 2: unknown field `iv`
        {"name": "c", "name": "d"} => line 2: duplicate field `name`
        {"name": "c", "nonce": "00"} => line 2: nonce: found 2 hex digits
        {"name": "c", "aad": "0"} => line 2: aad: expected pairs of hex digits
        {"name": "c", "mode": "x"} => line 2: unknown mode "x"
        {"name": "a"} => line 2: part "a" is listed twice
        "#,
    ) {
        fails(&[first, bad, second], words);
    }
    // a list of parts asks for a folder
    world.write("e", [first, second].join("\n"));
    // where no folder is asked for, there is one message
    world.table(
        "$open r.hct --expect e -o b --part in/b
        $open r.hct --expect e -o back
        write of-b of b
        same b of-b
        same back/in/b of-b
        $open o.hct --expect e -o x =1 o.hct:
        $open r.hct -o x =1 r.hct: holds 2 parts; choose one with --part, or give a folder such as
        $open r.hct -o - =1 r.hct: holds 2 parts; choose one with --part, or give a folder such as",
    );
}

/// The next run completes the parts that a killed run left, and records all together.
#[test]
fn a_run_that_was_killed_is_completed() {
    let world = World::new();
    let parts = [("a", "of a"), ("in/b", "of b"), ("in/c", ""), ("d", "of d")];
    gcm(&world, "r", &parts);
    gcm(&world, "before", &[("x", "another")]);
    world.table("$open before.hct --seen log -o before/\n cp log earlier");
    let line = "$open r.hct --seen log -o back/";
    let out = world.ok(line).out;
    assert!(out.contains("logged up to message 5 in log"), "{out}");
    let names = || {
        let text = world.text("log");
        let names = text.lines().skip(1).map(|line| {
            let (_, rest) = line.split_once(' ').unwrap();
            rest.split_once(" check=").unwrap().0.to_owned()
        });
        names.collect::<Vec<_>>()
    };
    let recorded = names();
    // killed before the last parts were there, and anything recorded
    world.table("cp earlier log\n rm back/in/c\n rm back/d");
    assert_eq!(world.ok(line).out, out);
    for (name, message) in parts {
        assert_eq!(world.text(&format!("back/{name}")), message);
    }
    assert_eq!(names(), recorded);
    world.fails(1, line, "this message was already accepted on");
    // one message twice in a file
    let twice = ["p", "q"].map(|name| part("1.gcm", name, "gcm", Some(&nonce(1))));
    transcipher(&world, "t", "key.hwk", &twice.concat());
    let words = "part q: message: found that of t.hct: part p, expected each message once";
    world.fails(1, "$open t.hct --seen new -o t/", words);
}

/// Names come from the server: none leads to a file that the command reads, or out of the folder.
#[test]
fn parts_stay_in_their_folder_and_replace_no_input() {
    let world = World::new();
    world.write("pass", "a passphrase");
    let own = "is both an input and the output";
    let log = "log: is both the output and the replay log or its lock file";
    for (name, option, words) in [
        ("k", "", own),
        ("keys/secret.hsk", "", own),
        ("r.hct", "", own),
        ("pass", "--passphrase-file pass", own),
        ("e", "--expect e", own),
        ("log", "--seen log", log),
        ("log.lock", "--seen log", log),
        ("log/x", "--seen log", log),
    ] {
        gcm(&world, "r", &[("first", "1"), (name, "2")]);
        let named = |name| format!("{{\"name\": \"{name}\"}}\n");
        world.write("e", named("first") + &named(name));
        let line = format!("$open r.hct {option} --force -o .");
        world.fails(1, &line, words);
    }
    // nor one of the job that is read
    let shard = part("1.gcm", "job/shards/000000.hcs", "gcm", Some(&nonce(1)));
    world.write("list", shard);
    world.table(
        "job plan $keys --mode gcm --files-from list --out job
        job run job
        $open job -o ./ =1 job/shards/000000.hcs:
        $open job -o ./ --force =1 job/shards/000000.hcs:",
    );
    let parts = [("first", "1"), ("link/x", "2"), ("file", "3")];
    gcm(&world, "r", &parts);
    // but the folder itself may be behind a link
    #[cfg(unix)]
    world.table(
        "write target mine
        mkdir outside
        mkdir back
        mkdir back2
        ln outside back/link
        ln target back2/file
        ln outside there
        $open r.hct -o back =1 back/link: is a symbolic link
        $open r.hct -o back --force =1 back/link: is a symbolic link
        $open r.hct -o back2 =1 back2/file: is a symbolic link
        $open r.hct -o back2 --force =1 back2/file: is a symbolic link
        $open r.hct -o there
        write two 2
        same outside/link/x two",
    );
}

/// The AES key is gone from memory once the message is decrypted: at the last line of the command, its memory has no
/// round key.
#[cfg(target_os = "linux")]
#[test]
fn the_aes_key_is_gone_when_the_message_is_there() {
    use crate::common::{at_its_last_line, end};
    use std::io::{Read, Seek, SeekFrom};

    let world = World::new();
    let key: [u8; 16] = *b"\x9b#kV\xe1\x0cQw\xa4\x1f\xd8<nB\x87\x35";
    world.write("own", key);
    world.write("1.gcm", sealed(&key, 1, b"", b"message"));
    world.ok("wrap-key --secret keys/secret.hsk --key-file own --force --out key.hwk");
    let list = part("1.gcm", "a", "gcm", Some(&nonce(1)));
    transcipher(&world, "parts", "key.hwk", &list);
    let iv = nonce(1);
    world.ok(&format!(
        "transcipher $keys --mode gcm --iv {iv} 1.gcm -o one.hct"
    ));
    let round_keys = homaes_aes::RoundKeys::expand(&key).unwrap();
    for (file, out, written) in [
        ("one.hct", "one", "one"),
        ("parts.hct", "parts/", "parts/a"),
    ] {
        let command = world.command(&format!("$decrypt --key-file own {file} -o {out}"));
        let (child, mut reader) = at_its_last_line(command, &world.at(written));
        let maps = fs::read_to_string(format!("/proc/{}/maps", child.id())).unwrap();
        let mut memory = fs::File::open(format!("/proc/{}/mem", child.id())).unwrap();
        let (mut found, mut searched) = (Vec::new(), 0);
        for map in maps.lines() {
            let (range, rest) = map.split_once(' ').unwrap();
            if !rest.starts_with("rw") {
                continue;
            }
            let (start, end) = range.split_once('-').unwrap();
            let [start, end] = [start, end].map(|hex| u64::from_str_radix(hex, 16).unwrap());
            let mut bytes = vec![0; (end - start) as usize];
            memory.seek(SeekFrom::Start(start)).unwrap();
            if memory.read_exact(&mut bytes).is_err() {
                continue;
            }
            searched += bytes.len();
            for (round, round_key) in round_keys.as_slice().iter().enumerate() {
                if bytes.windows(16).any(|window| window == round_key) {
                    found.push(format!("round key {round} in {map}"));
                }
            }
        }
        reader.read_to_end(&mut Vec::new()).unwrap();
        end(child).ends(0);
        assert!(searched > 1 << 20, "{searched}");
        assert_eq!(found, Vec::<String>::new(), "{file}");
    }
}
