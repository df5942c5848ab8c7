//! Messages with parts, which may come from a server that has changed them, and folders of plaintexts.

#![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

use crate::common::{IV, World};
use aes_gcm::aead::{Aead, KeyInit};
use std::fs;

const DECRYPT: &str = "decrypt --secret keys/secret.hsk --key-file k";

fn nonce(n: u8) -> String {
    format!("{n:02x}").repeat(12)
}

/// Encrypts each message with a nonce of its own, and transciphers them as parts of `NAME.hct`.
fn gcm(world: &World, name: &str, parts: &[(&str, &[u8])]) {
    let cipher = aes_gcm::Aes128Gcm::new(&[7; 16].into());
    let parts = parts.iter().zip(1..).map(|((name, message), n)| {
        let text = cipher.encrypt(&[n; 12].into(), *message).unwrap();
        world.write(&format!("{n}.gcm"), &text);
        part(&format!("{n}.gcm"), name, "gcm", Some(&nonce(n)))
    });
    transcipher(world, name, "key.hwk", &parts.collect::<String>());
}

/// A line of a list.
fn part(path: &str, name: &str, mode: &str, iv: Option<&str>) -> String {
    let iv = iv.map_or_else(String::new, |iv| format!(r#", "iv": "{iv}""#));
    format!("{{\"path\": \"{path}\", \"name\": \"{name}\", \"mode\": \"{mode}\"{iv}}}\n")
}

fn transcipher(world: &World, name: &str, wrapped: &str, list: &str) {
    world.write("list", list.as_bytes());
    world.ok(&format!(
        "transcipher --eval keys/eval.hek --wrapped-key {wrapped} --mode gcm --files-from list -o {name}.hct --force"
    ));
}

/// A server that calls the mode of a forged part one without tags gets nothing written, whatever else the command says.
#[test]
fn a_mode_without_tags_is_no_way_around_the_tag() {
    let world = World::new();
    world.ok("wrap-key --secret keys/secret.hsk --key-file k --direction decrypt --out d.hwk");
    world.write("evil", b"forged: 16 bytes");
    gcm(&world, "good", &[("report.txt", b"the report"), ("b", b"")]);
    for mode in ["ctr", "ctr64", "cfb", "cbc", "ecb"] {
        let (wrapped, encrypts) = match mode {
            "cbc" | "ecb" => ("d.hwk", false),
            _ => ("key.hwk", true),
        };
        let iv = (mode != "ecb").then_some(IV);
        let forged = part("evil", "report.txt", mode, iv);
        let words = format!("part report.txt: mode {mode} has no tag to check");
        let one = words.replace("part report.txt: ", "");
        transcipher(&world, "one", wrapped, &forged);
        world.fails(1, &format!("{DECRYPT} one.hct -o back"), "holds 1 parts");
        world.fails(1, &format!("{DECRYPT} one.hct -o -"), "holds 1 parts");
        // beside a part that is right, where the mode can be
        let mut files = vec!["one"];
        if encrypts {
            let right = part("1.gcm", "b", "gcm", Some(&nonce(1)));
            transcipher(&world, "two", wrapped, &(right + &forged));
            files.push("two");
        }
        for file in files {
            for more in ["", "--force", "--seen log", "--force --seen log --unpad"] {
                let line = format!("{DECRYPT} {file}.hct {more}");
                world.fails(1, &format!("{line} -o back/"), &words);
                if !more.contains("--unpad") || !encrypts {
                    world.fails(1, &format!("{line} --part report.txt -o back"), &one);
                }
            }
        }
        world.fails(
            1,
            &format!("{DECRYPT} one.hct -o back/ --unauthenticated --seen log"),
            "takes only messages with a checked tag",
        );
        let run = world.ok(&format!("{DECRYPT} one.hct -o {mode}/ --unauthenticated"));
        assert!(
            run.out.contains("0 with a valid tag, 1 without one"),
            "{run:?}"
        );
        assert!(world.at(&format!("{mode}/report.txt")).exists());
        let refused = world.run("decrypt --secret keys/secret.hsk good.hct -o back/ --force");
        refused.check_failure(1, "checking the GCM tag needs the AES key", mode);
    }
    let run = world.ok(&format!("{DECRYPT} good.hct -o back/"));
    assert!(
        run.out.contains("2 with a valid tag, 0 without one"),
        "{run:?}"
    );
    assert_eq!(world.read("back/report.txt"), b"the report");
}

#[test]
fn parts_are_those_that_are_expected() {
    let world = World::new();
    gcm(&world, "r", &[("a", b"of a"), ("in/b", b"of b")]);
    let [a, b] = [1, 2].map(nonce);
    let right = [
        format!(r#"{{"name": "a", "mode": "gcm", "nonce": "{a}", "aad": "", "bytes": 4}}"#),
        format!(r#"{{"name": "in/b", "nonce": "{b}"}}"#),
    ];
    let [first, second] = &right;
    let line = format!("{DECRYPT} r.hct --expect e -o back");
    let fails = |lines: &[&str], words: &str| {
        world.write("e", (lines.join("\n") + "\n\n").as_bytes());
        world.fails(1, &line, words);
    };
    fails(&[first], r#"found "in/b", expected no part of this name"#);
    let other = second.replace("in/b", "c");
    fails(
        &[first, second, &other],
        r#"found no part "c", expected one"#,
    );
    for (from, to, words) in [
        ("gcm", "ctr", "part a: mode: found gcm, expected ctr"),
        (&*a, &*b, "part a: nonce or IV: found 0101"),
        (
            r#""aad": """#,
            r#""aad": "00""#,
            "part a: associated data: found 0 bytes",
        ),
        (
            ": 4",
            ": 5",
            "part a: length of the message: found 4 bytes, expected 5",
        ),
    ] {
        fails(&[&first.replace(from, to), second], words);
    }
    for (bad, words) in [
        (
            "[]",
            "e, line 2: not a JSON object; write one JSON object per line, such as {\"name\"",
        ),
        ("{}", "e, line 2: missing field `name` at column 2; write"),
        (r#"{"name": "c", "iv": "00"}"#, "line 2: unknown field `iv`"),
        (
            r#"{"name": "c", "name": "d"}"#,
            "line 2: duplicate field `name`",
        ),
        (
            r#"{"name": "c", "nonce": "00"}"#,
            "line 2: nonce: found 2 hex digits",
        ),
        (
            r#"{"name": "c", "aad": "0"}"#,
            "line 2: aad: expected pairs of hex digits",
        ),
        (
            r#"{"name": "c", "mode": "x"}"#,
            "line 2: unknown mode \"x\"",
        ),
        (first, "line 2: part \"a\" is listed twice"),
    ] {
        fails(&[first, bad, second], words);
    }
    world.write("e", right.join("\n").as_bytes());
    world.fails(1, &line.replace("r.hct", "o.hct"), "o.hct: ");
    world.ok(&line.replace("back", "b --part in/b"));
    assert_eq!(world.read("b"), b"of b");
    // it asks for a folder
    world.ok(&line);
    assert_eq!(world.read("back/in/b"), b"of b");
    // where no folder is asked for, there is one message
    let words = "r.hct: holds 2 parts; choose one with --part, or give a folder such as";
    world.fails(1, &format!("{DECRYPT} r.hct -o other"), words);
    world.fails(1, &format!("{DECRYPT} r.hct -o -"), words);
}

/// The next run completes the parts that a killed run left, and records all together.
#[test]
fn a_run_that_was_killed_is_completed() {
    let world = World::new();
    let parts = [
        ("a", &b"of a"[..]),
        ("in/b", b"of b"),
        ("in/c", b""),
        ("d", b"of d"),
    ];
    gcm(&world, "r", &parts);
    gcm(&world, "before", &[("x", b"another")]);
    world.ok(&format!("{DECRYPT} before.hct --seen log -o before/"));
    let log = world.read("log");
    let line = format!("{DECRYPT} r.hct --seen log -o back/");
    let out = world.ok(&line).out;
    assert!(out.contains("logged up to message 5 in log"), "{out}");
    let recorded = world.read("log");
    // killed before the last parts were there, and anything recorded
    world.write("log", &log);
    fs::remove_file(world.at("back/in/c")).unwrap();
    fs::remove_file(world.at("back/d")).unwrap();
    let again = world.ok(&line).out;
    assert_eq!(again, out);
    for (name, message) in parts {
        assert_eq!(world.read(&format!("back/{name}")), message);
    }
    let names = |log: &[u8]| {
        let text = String::from_utf8(log.to_vec()).unwrap();
        let names = text.lines().skip(1).map(|line| {
            let (_, rest) = line.split_once(' ').unwrap();
            rest.split_once(" check=").unwrap().0.to_owned()
        });
        names.collect::<Vec<_>>()
    };
    assert_eq!(names(&world.read("log")), names(&recorded));
    world.fails(1, &line, "this message was already accepted on");
    // one message twice in a file
    let twice = part("1.gcm", "p", "gcm", Some(&nonce(1)));
    transcipher(
        &world,
        "t",
        "key.hwk",
        &(twice.clone() + &twice.replace("\"p\"", "\"q\"")),
    );
    world.fails(
        1,
        &format!("{DECRYPT} t.hct --seen new -o t/"),
        "part q: message: found that of t.hct: part p, expected each message once",
    );
}

/// Names come from the server: none leads to a file that the command reads, or out of the folder.
#[test]
fn parts_stay_in_their_folder_and_replace_no_input() {
    let world = World::new();
    world.write("aad", b"");
    let reads = [
        ("k", ""),
        ("keys/secret.hsk", ""),
        ("r.hct", ""),
        ("pass", "--passphrase-file pass"),
        ("e", "--expect e"),
        ("log", "--seen log"),
        ("log.lock", "--seen log"),
        ("log/x", "--seen log"),
    ];
    world.write("pass", b"a passphrase");
    for (name, option) in reads {
        gcm(&world, "r", &[("first", b"1"), (name, b"2")]);
        world.write(
            "e",
            format!("{{\"name\": \"first\"}}\n{{\"name\": \"{name}\"}}\n").as_bytes(),
        );
        let before = world.at(name).exists().then(|| world.read(name));
        let line = format!("{DECRYPT} r.hct {option} --force -o .");
        let words = if name.starts_with("log") {
            "log: is both the output and the replay log or its lock file"
        } else {
            "is both an input and the output"
        };
        let run = world.run(&line);
        run.check_failure(1, words, &line);
        assert_eq!(world.at(name).exists().then(|| world.read(name)), before);
        assert!(!world.at("first").exists());
    }
    // nor one of the job that is read
    let own = part("1.gcm", "job/shards/000000.hcs", "gcm", Some(&nonce(1)));
    world.write("list", own.as_bytes());
    world.ok("job plan --eval keys/eval.hek --wrapped-key key.hwk --mode gcm --files-from list --out job");
    world.ok("job run job");
    let shard = world.read("job/shards/000000.hcs");
    for force in ["", "--force"] {
        let line = format!("{DECRYPT} job -o ./ {force}");
        world.fails(1, &line, "job/shards/000000.hcs: ");
        assert!(world.read("job/shards/000000.hcs") == shard);
    }
    #[cfg(unix)]
    {
        use std::os::unix::fs::symlink;
        gcm(
            &world,
            "r",
            &[("first", b"1"), ("link/x", b"2"), ("file", b"3")],
        );
        for folder in ["outside", "back", "back2"] {
            fs::create_dir(world.at(folder)).unwrap();
        }
        world.write("target", b"mine");
        symlink(world.at("outside"), world.at("back/link")).unwrap();
        symlink(world.at("target"), world.at("back2/file")).unwrap();
        for (folder, link) in [("back", "link"), ("back2", "file")] {
            for force in ["", "--force"] {
                let line = format!("{DECRYPT} r.hct -o {folder} {force}");
                let words = format!("{folder}/{link}: is a symbolic link");
                world.fails(1, &line, &words);
            }
        }
        assert_eq!(world.read("target"), b"mine");
        // the folder itself may be behind a link
        symlink(world.at("outside"), world.at("there")).unwrap();
        world.ok(&format!("{DECRYPT} r.hct -o there"));
        assert_eq!(world.read("outside/link/x"), b"2");
    }
}

/// The AES key is gone from memory once the message is decrypted. A full pipe stops the command at its last line, and the
/// test searches its memory for round keys.
#[cfg(target_os = "linux")]
#[test]
fn the_aes_key_is_gone_when_the_message_is_there() {
    use std::fs::File;
    use std::io::{BufRead, BufReader, Read, Seek, SeekFrom, Write};
    use std::process::Stdio;

    let world = World::new();
    let key: [u8; 16] = *b"\x9b#kV\xe1\x0cQw\xa4\x1f\xd8<nB\x87\x35";
    let cipher = aes_gcm::Aes128Gcm::new(&key.into());
    let text = cipher.encrypt(&[1; 12].into(), &b"message"[..]).unwrap();
    world.write("own", &key);
    world.write("1.gcm", &text);
    world.ok("wrap-key --secret keys/secret.hsk --key-file own --force --out key.hwk");
    transcipher(
        &world,
        "parts",
        "key.hwk",
        &part("1.gcm", "a", "gcm", Some(&nonce(1))),
    );
    world.ok(&format!(
        "transcipher --eval keys/eval.hek --wrapped-key key.hwk --mode gcm --iv {} 1.gcm -o one.hct",
        nonce(1)
    ));
    let round_keys = homaes_aes::RoundKeys::expand(&key).unwrap();
    for (file, out) in [("one.hct", "one"), ("parts.hct", "parts/")] {
        let (mut reader, mut writer) = std::io::pipe().unwrap();
        // as much as a pipe holds
        writer.write_all(&[0; 1 << 16]).unwrap();
        let line = format!("decrypt --secret keys/secret.hsk --key-file own {file} -o {out}");
        let mut command = world.command(&line);
        let mut child = command
            .stdout(writer)
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        drop(command);
        let written = match out {
            "one" => world.at("one"),
            _ => world.at("parts/a"),
        };
        while !(written.exists() && main_thread_writes(child.id())) {
            std::thread::yield_now();
        }
        let maps = File::open(format!("/proc/{}/maps", child.id())).unwrap();
        let mut memory = File::open(format!("/proc/{}/mem", child.id())).unwrap();
        let mut found = Vec::new();
        let mut searched = 0;
        for map in BufReader::new(maps).lines() {
            let map = map.unwrap();
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
                let hits = bytes
                    .windows(16)
                    .enumerate()
                    .filter(|(_, window)| window == round_key);
                found.extend(hits.map(|(at, _)| format!("round key {round} at {at:#x} of {map}")));
            }
        }
        let mut drained = Vec::new();
        reader.read_to_end(&mut drained).unwrap();
        assert!(child.wait().unwrap().success());
        assert!(searched > 1 << 20, "{searched}");
        assert_eq!(found, Vec::<String>::new(), "{file}");
    }
}

/// Whether the main thread of a process waits in a write to its standard output: system call 1 on x86-64, 64 on aarch64.
#[cfg(target_os = "linux")]
fn main_thread_writes(process: u32) -> bool {
    let call = fs::read_to_string(format!("/proc/{process}/syscall")).unwrap_or_default();
    ["1 0x1 ", "64 0x1 "]
        .iter()
        .any(|write| call.starts_with(write))
}
