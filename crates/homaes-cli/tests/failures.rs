//! Every bad input ends in its own error, the right exit code, no panic, and nothing left behind. `book/messages.rs` calls some of these tests, and holds their messages
//! against the book.

use crate::common::{IV, Run, World};
use std::fs;
use std::process::Stdio;

fn transcipher(eval: &str, wrapped: &str, input: &str, output: &str) -> String {
    format!(
        "transcipher --eval {eval} --wrapped-key {wrapped} --mode ctr --iv {IV} {input} -o {output} --progress none"
    )
}

fn wrap(secret: &str, key: &str, output: &str) -> String {
    format!("wrap-key --secret {secret} --key-file {key} --out {output}")
}

fn decrypt(secret: &str, input: &str, output: &str) -> String {
    format!("decrypt --secret {secret} {input} -o {output}")
}

/// A command that reads `bad` in the place of each kind of file, and one that inspects it.
fn uses_of(bad: &str) -> [String; 6] {
    [
        wrap(bad, "k", "x"),
        decrypt(bad, "o.hct", "x"),
        transcipher(bad, "key.hwk", "c", "x"),
        transcipher("keys/eval.hek", bad, "c", "x"),
        decrypt("keys/secret.hsk", bad, "x"),
        format!("inspect {bad}"),
    ]
}

#[test]
pub(crate) fn wrong_command_lines() {
    let world = World::new();
    let iv = |iv: &str| transcipher("keys/eval.hek", "key.hwk", "c", "x").replace(IV, iv);
    let cases = [
        ("frobnicate", "frobnicate"),
        ("keygen --set bgv/toy-255", "--out"),
        (
            "keygen --set bgv/ase128 --out x",
            "unknown parameter set \"bgv/ase128\" (did you mean bgv/aes128?), secure ones are bgv/aes128, ",
        ),
        ("encrypt -o x c", "encrypt with any AES tool"),
        ("keygen --set bgv/toy-255 --out x", "--accept-insecure"),
        ("keygen --set tfhe/x --out x", "unknown parameter set"),
        ("demo --set bgv/none", "unknown parameter set"),
        ("demo --blocks 0", "--blocks"),
        ("bench kernels --set bgv/toy-255", "--set"),
        (&iv("00"), "found 2 hex digits, expected 32"),
        (&iv(&"0".repeat(34)), "found 34 hex digits, expected 32"),
        (&iv(&"0g".repeat(16)), "found 'g', expected 32 hex digits"),
        (&iv("-1"), "error:"),
        (&iv("").replace("--iv", "--threads 0 --iv"), "error:"),
        (
            &iv(IV).replace("ctr", "ofb"),
            "possible values: ecb, cbc, cfb, ctr, gcm, ctr64",
        ),
        (
            &iv(IV).replace("ctr", "gcm"),
            "found 32 hex digits, expected 24: nonces of other lengths are hashed",
        ),
        (&iv(IV).replace("ctr", "ecb"), "mode ecb takes none"),
        (
            &iv("00").replace("ctr", "cbc"),
            "expected 32: the initialisation vector",
        ),
        (
            &iv(IV).replace("--iv", "").replace(IV, ""),
            "--iv: missing, expected 32 hex digits",
        ),
        (&(iv(IV) + " --aad k"), "only mode gcm has associated data"),
        (&(iv(IV) + " --threads 0"), "--threads"),
        (
            &iv(IV).replace("none", "loud"),
            "possible values: auto, json, none",
        ),
        (
            &(wrap("keys/secret.hsk", "k", "x") + " --layout striped"),
            "possible values: auto, sliced, packed, bits",
        ),
        (
            &(wrap("keys/secret.hsk", "k", "x") + " --direction both"),
            "possible values: encrypt, decrypt",
        ),
        (
            &(wrap("keys/secret.hsk", "k", "x") + " --levels-left x"),
            "--levels-left",
        ),
        (
            &(wrap("keys/secret.hsk", "k", "x") + " --expand both"),
            "possible values: auto, server, client",
        ),
        ("bench bgv --key-bits 64", "expected 128, 192 or 256"),
        (
            "bench bgv --set bgv/toy-255 --layout packed",
            "set bgv/toy-255 has no such layout, expected sliced or bits",
        ),
        (
            "bench bgv --set bgv/aes128 --key-bits 192",
            "too few levels for AES-192",
        ),
        (
            "demo --set bgv/toy-4369 --layout bits",
            "has no such layout, expected sliced",
        ),
        ("bench kernels --layout packed", "--layout"),
        ("inspect", "<FILE>"),
        ("inspect o.hct --verbose", "--verbose"),
    ];
    for (line, words) in cases {
        world.fails(2, line, words);
    }
    let bare = world.run("");
    assert_eq!(bare.code, Some(2));
    assert_eq!(
        bare.err
            .lines()
            .filter(|line| line.starts_with("error:"))
            .count(),
        1
    );
    for line in ["--help", "--version", "help", "keygen --help"] {
        let run = world.ok(line);
        assert!(!run.out.is_empty() && run.err.is_empty(), "{line}");
    }
}

#[test]
pub(crate) fn wrong_schemes_and_variants() {
    let world = World::new();
    for (line, words) in [
        ("demo --scheme ckks", "possible values: bgv, tfhe"),
        ("demo --variant bits", "only scheme tfhe has variants"),
        (
            "demo --scheme tfhe --variant words",
            "possible values: bits, nibble",
        ),
        (
            "demo --scheme tfhe --variant bits --set tfhe/toy",
            "cannot be used with",
        ),
        (
            "demo --scheme tfhe --set bgv/toy-255",
            "set bgv/toy-255 belongs to scheme bgv, expected tfhe",
        ),
        (
            "bench ckks",
            "possible values: bgv, tfhe, ntru, dghv, bridge, kernels, all",
        ),
        (
            "bench bgv --variant nibble",
            "only scheme tfhe has variants",
        ),
        (
            "bench tfhe --set bgv/toy-255",
            "set bgv/toy-255 belongs to scheme bgv, expected tfhe",
        ),
        ("bench kernels --variant bits", "--variant"),
    ] {
        world.fails(2, line, words);
    }
}

#[test]
pub(crate) fn missing_and_unreadable_files() {
    let world = World::new();
    fs::create_dir(world.at("folder")).unwrap();
    for (bad, words) in [
        ("missing", "missing: No such file"),
        ("folder", "folder: not a regular file"),
        ("c/below", "c/below: Not a directory"),
    ] {
        // a folder is inspected as one
        let uses = uses_of(bad).into_iter();
        for line in uses.filter(|line| line != "inspect folder") {
            world.fails(1, &line, words);
        }
        // as the input of AES ciphertext a folder stands for the files in it
        let words = match bad {
            "folder" => "folder: no files in this folder",
            _ => words,
        };
        world.fails(1, &transcipher("keys/eval.hek", "key.hwk", bad, "x"), words);
    }
    world.fails(
        1,
        &wrap("keys/secret.hsk", "missing", "x"),
        "missing: No such file",
    );
    world.fails(1, &wrap("keys/secret.hsk", "folder", "x"), "folder: ");
}

/// An output in the folder that is read is no part of it, and does not take the place of one.
#[test]
fn outputs_in_a_folder_that_is_read() {
    let world = World::new();
    fs::create_dir(world.at("in")).unwrap();
    for name in ["in/a", "in/b"] {
        world.write(name, &[7; 40]);
    }
    let line = transcipher("keys/eval.hek", "key.hwk", "in", "in/out.hct");
    world.ok(&line);
    let found = world.ok("inspect in/out.hct").out;
    assert!(found.contains("parts        2\n"), "{found}");
    let line = transcipher("keys/eval.hek", "key.hwk", "in", "in/a");
    let own = "in/out.hct: starts like a file of homaes itself";
    world.fails(1, &format!("{line} --force"), own);
    fs::remove_file(world.at("in/out.hct")).unwrap();
    world.fails(
        1,
        &format!("{line} --force"),
        "both an input and the output",
    );
    assert_eq!(world.read("in/a"), [7; 40]);
}

#[test]
pub(crate) fn outputs_that_cannot_be_made() {
    let world = World::new();
    for (to, words) in [
        ("c/x", "c/x: Not a directory"),
        ("nowhere/x", "nowhere/x: No such file"),
        ("..", "..: is a folder"),
    ] {
        world.fails(1, &wrap("keys/secret.hsk", "k", to), words);
        world.fails(1, &transcipher("keys/eval.hek", "key.hwk", "c", to), words);
        // a folder asks for parts
        let words = match to {
            ".." => "o.hct: holds one message without parts; if you expect parts, do not use it",
            _ => words,
        };
        world.fails(1, &decrypt("keys/secret.hsk", "o.hct", to), words);
    }
    world.fails(
        1,
        "keygen --set bgv/toy-255 --out c --accept-insecure",
        "c: c is not a folder",
    );
    world.fails(
        1,
        "keygen --set bgv/toy-255 --out c/keys --accept-insecure",
        "c/keys: c is not a folder",
    );
}

#[test]
fn existing_outputs_need_force() {
    let world = World::new();
    world.write("x", b"mine");
    let lines = [
        wrap("keys/secret.hsk", "k", "x"),
        transcipher("keys/eval.hek", "key.hwk", "c", "x"),
        decrypt("keys/secret.hsk", "o.hct", "x"),
    ];
    for line in &lines {
        world.fails(
            1,
            line,
            "x: file already exists; choose another name or overwrite with --force",
        );
        assert_eq!(world.read("x"), b"mine");
    }
    let keygen = "keygen --set bgv/toy-255 --out keys --accept-insecure";
    let before = (world.read("keys/secret.hsk"), world.read("keys/eval.hek"));
    world.fails(
        1,
        keygen,
        "secret.hsk: already exists, and keys are never replaced; move or delete the old folder",
    );
    fs::remove_file(world.at("keys/secret.hsk")).unwrap();
    world.fails(1, keygen, "eval.hek: already exists");
    world.write("keys/secret.hsk", &before.0);
    assert_eq!(world.read("keys/eval.hek"), before.1);
    for line in &lines {
        world.ok(&format!("{line} --force"));
        assert_ne!(world.read("x"), b"mine");
    }
    world.fails(1, &format!("{keygen} --force"), "keys are never replaced");
    let after = (world.read("keys/secret.hsk"), world.read("keys/eval.hek"));
    assert!(after == before);
}

#[test]
pub(crate) fn outputs_never_replace_what_is_read() {
    let world = World::new();
    let lines = [
        wrap("keys/secret.hsk", "k", "keys/secret.hsk"),
        wrap("keys/secret.hsk", "k", "k"),
        transcipher("keys/eval.hek", "key.hwk", "c", "keys/eval.hek"),
        transcipher("keys/eval.hek", "key.hwk", "c", "./c"),
        decrypt("keys/secret.hsk", "o.hct", "keys/../keys/secret.hsk"),
        decrypt("keys/secret.hsk", "o.hct", "o.hct"),
    ];
    let inputs = [
        "keys/secret.hsk",
        "keys/eval.hek",
        "key.hwk",
        "k",
        "c",
        "o.hct",
    ];
    let before = inputs.map(|name| world.read(name));
    for line in &lines {
        world.fails(
            1,
            &format!("{line} --force"),
            "both an input and the output",
        );
    }
    assert_eq!(inputs.map(|name| world.read(name)), before);
}

#[test]
pub(crate) fn foreign_files() {
    let world = World::new();
    let mut newer = world.read("o.hct");
    newer[8] = 3;
    for (content, words) in [
        (&b"#!/bin/sh\necho this is a script, and it is long enough to hold a header of ninety-three bytes\n"[..], "not a homaes file"),
        (b"", "file has 0 bytes, expected at least"),
        (&[0x7f; 500], "not a homaes file"),
        (&newer, "newer than this program"),
    ] {
        world.write("bad", content);
        for line in uses_of("bad") {
            world.fails(1, &line, words);
        }
    }
}

#[test]
pub(crate) fn wrong_kinds() {
    let world = World::new();
    let files = [
        "keys/secret.hsk",
        "keys/secret.hsk",
        "keys/eval.hek",
        "key.hwk",
        "o.hct",
    ];
    for bad in files {
        for (line, right) in uses_of(bad).iter().zip(files) {
            if bad != right {
                world.fails(1, line, &format!("{bad}: wrong kind of file"));
            }
        }
    }
}

#[test]
fn wrong_sets() {
    let world = World::new();
    world.ok("keygen --set bgv/toy-4369 --out other --accept-insecure");
    world.ok(&wrap("other/secret.hsk", "k", "other.hwk"));
    // Nothing to evaluate, so the larger set costs no time.
    world.write("empty", b"");
    world.ok(&transcipher(
        "other/eval.hek",
        "other.hwk",
        "empty",
        "other.hct",
    ));
    for (line, words) in [
        (
            transcipher("keys/eval.hek", "other.hwk", "c", "x"),
            "other.hwk: file is for parameter set bgv/toy-4369, expected bgv/toy-255",
        ),
        (
            transcipher("other/eval.hek", "key.hwk", "c", "x"),
            "key.hwk: file is for parameter set bgv/toy-255, expected bgv/toy-4369",
        ),
        (
            decrypt("keys/secret.hsk", "other.hct", "x"),
            "other.hct: file is for parameter set bgv/toy-4369, expected bgv/toy-255",
        ),
        (
            decrypt("other/secret.hsk", "o.hct", "x"),
            "o.hct: file is for parameter set bgv/toy-255, expected bgv/toy-4369",
        ),
    ] {
        world.fails(1, &line, words);
    }
}

#[test]
pub(crate) fn wrong_keys() {
    let world = World::new();
    world.ok("keygen --set bgv/toy-255 --out other --accept-insecure");
    world.ok(&wrap("other/secret.hsk", "k", "other.hwk"));
    for (line, words) in [
        (
            transcipher("other/eval.hek", "key.hwk", "c", "x"),
            "key.hwk: file belongs to key",
        ),
        (
            transcipher("keys/eval.hek", "other.hwk", "c", "x"),
            "other.hwk: file belongs to key",
        ),
        (
            decrypt("other/secret.hsk", "o.hct", "x"),
            "o.hct: file belongs to key",
        ),
    ] {
        world.fails(1, &line, words);
    }
    // An empty message has nothing to decrypt, but the key is checked all the same.
    world.message(0);
    world.transcipher("c", "o.hct");
    world.fails(
        1,
        &decrypt("other/secret.hsk", "o.hct", "x"),
        "o.hct: file belongs to key",
    );
}

#[test]
pub(crate) fn wrong_aes_keys() {
    let world = World::new();
    for len in [0, 1, 15, 17, 31, 33, 64, 5000] {
        world.write("bad", &vec![0xee; len]);
        let words = format!("bad: not an AES key: found {} bytes", len.min(128));
        world.fails(1, &wrap("keys/secret.hsk", "bad", "x"), &words);
    }
    for (options, words) in [
        (
            "--levels-left 27",
            "AES-128, layout sliced, with 27 multiplications left: set bgv/toy-255 leaves at most 26",
        ),
        (
            "--layout packed",
            "set bgv/toy-255 has no layout packed, expected sliced or bits",
        ),
        (
            "--expand server",
            "set bgv/toy-255 has no circuit for it; leave --expand out",
        ),
    ] {
        let line = format!("{} {options}", wrap("keys/secret.hsk", "k", "x"));
        world.fails(1, &line, words);
    }
    world.fails(
        1,
        &wrap("keys/secret.hsk", "-", "x"),
        "standard input: not an AES key: found 0 bytes",
    );
}

#[test]
pub(crate) fn lengths_that_do_not_fit_the_mode() {
    let world = World::new();
    let modes = ["ecb", "cbc", "gcm"].map(|mode| {
        let line = transcipher("keys/eval.hek", "key.hwk", "c", "x").replace("ctr", mode);
        match mode {
            "ecb" => line.replace("--iv", "").replace(IV, ""),
            "gcm" => line.replace(IV, &IV[..24]),
            _ => line,
        }
    });
    let with_nonce = modes[2].replace("--iv", "").replace(&IV[..24], "");
    for (len, line, words) in [
        (
            15,
            &modes[0],
            "15 bytes do not fit mode ecb, expected a multiple of 16",
        ),
        (
            17,
            &modes[1],
            "17 bytes do not fit mode cbc, expected a multiple of 16",
        ),
        (
            15,
            &modes[2],
            "15 bytes do not fit mode gcm, expected at least 16",
        ),
        (
            27,
            &with_nonce,
            "27 bytes do not fit mode gcm, expected at least 28",
        ),
    ] {
        world.write("c", &vec![1; len]);
        world.fails(1, line, words);
    }
    world.write("aad", &vec![0; (1 << 20) + 1]);
    world.write("c", &[0; 16]);
    let line = format!("{} --aad aad", modes[2]);
    world.fails(1, &line, "expected at most 1048576 and mode gcm");
    world.fails(
        1,
        &format!("{} --aad missing", modes[2]),
        "missing: No such file",
    );
    // Nothing but a tag is a message too: the empty one.
    world.ok(&modes[2]);
    world.ok(&(decrypt("keys/secret.hsk", "x", "q") + " --unauthenticated"));
    assert_eq!(world.read("q"), b"");
}

#[test]
pub(crate) fn ciphertexts_in_another_format() {
    let world = World::new();
    let line = transcipher("keys/eval.hek", "key.hwk", "c", "x");
    let plan = line.replace("transcipher", "job plan");
    let plan = plan.replace("x --progress none", "job");
    let gcm = line.replace(&format!("--mode ctr --iv {IV}"), "--mode gcm");
    let mail = "To: a@b\nContent-Type: application/pkcs7-mime; name=\"smime.p7m\"\n\nMIIB";
    let jwe = "eyJhbGciOiJkaXIiLCJlbmMiOiJBMTI4R0NNIn0..AAEC.3q2-7w.AAECAwQFBgcICQoLDA0ODw";
    for (head, words) in [
        ("Salted__12345678", "salt 3132333435363738, expected bare"),
        ("-----BEGIN CMS-----\n", "a CMS or S/MIME message"),
        (mail, "a CMS or S/MIME message"),
        (
            "age-encryption.org/v1\n-> X25519 ",
            "starts like a file of age",
        ),
        (jwe, "a JSON Web Encryption (JWE)"),
    ] {
        world.write("c", format!("{head}{}", "7".repeat(32)).as_bytes());
        for line in [&line, &plan, &gcm] {
            world.fails(1, line, words);
        }
        // one of many, too
        world.fails(1, &format!("{line} p"), words);
        world.ok(&format!("{line} --raw --force"));
        world.ok(&format!("{} --raw --force", gcm));
    }
    world.ok(&format!("{plan} --raw"));
}

#[test]
pub(crate) fn layouts_that_the_wrapped_key_lacks() {
    let world = World::new();
    let line = transcipher("keys/eval.hek", "key.hwk", "c", "x");
    for layout in ["packed", "bits"] {
        let words = format!("has no layout {layout}, expected sliced");
        world.fails(1, &format!("{line} --layout {layout}"), &words);
    }
    world.ok(&format!("{line} --layout sliced"));
}

#[cfg(unix)]
#[test]
fn a_file_that_cannot_grow() {
    let world = World::new();
    world.message(20000);
    // Files may have 8 KiB; exceeding it is an error instead of a signal.
    for line in [
        transcipher("keys/eval.hek", "key.hwk", "c", "x"),
        wrap("keys/secret.hsk", "k", "x"),
        "keygen --set bgv/toy-255 --out x --accept-insecure".into(),
    ] {
        let before = world.listing();
        let homaes = env!("CARGO_BIN_EXE_homaes");
        let script = format!("trap '' XFSZ; ulimit -f 8; exec {homaes} {line}");
        let run = Run::of(world.program("sh").arg("-c").arg(script));
        run.check_failure(1, "File too large", &line);
        assert_eq!(world.listing(), before, "{line}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_or_closed_standard_output() {
    let world = World::new();
    let full = fs::File::options().write(true).open("/dev/full").unwrap();
    let run = Run::of(
        world
            .command("params")
            .stdout(Stdio::from(full))
            .stderr(Stdio::piped()),
    );
    run.check_failure(1, "standard output", "params > /dev/full");
    for line in ["params", "params --json", "inspect o.hct", "--help"] {
        let mut child = world
            .command(line)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        drop(child.stdout.take());
        let output = child.wait_with_output().unwrap();
        assert_eq!(
            (output.status.code(), &output.stderr[..]),
            (Some(0), &b""[..]),
            "{line}"
        );
    }
    // The work is done although nobody follows it.
    let line = transcipher("keys/eval.hek", "key.hwk", "c", "x").replace("none", "json");
    let mut child = world
        .command(&line)
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    assert_eq!(child.wait().unwrap().code(), Some(0));
    world.ok(&decrypt("keys/secret.hsk", "x", "q"));
    assert_eq!(world.read("q"), world.read("p"));
}

#[test]
fn names_cannot_break_the_error_line() {
    let world = World::new();
    let run = Run::of(world.command("inspect").arg("a\nerror: b"));
    run.check_failure(1, "a\\nerror: b: No such file", "inspect");
}
