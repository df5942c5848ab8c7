//! Every bad input ends in its own error, the right exit code, no panic, and nothing left behind.

use crate::common::{IV, World, end};

/// A command that reads `bad` in the place of each kind of file, and one that inspects it.
const USES: [&str; 6] = [
    "wrap-key --secret bad --key-file k --out x",
    "decrypt --secret bad o.hct -o x",
    "transcipher --eval bad --wrapped-key key.hwk --mode ctr --iv $iv c -o x",
    "transcipher --eval keys/eval.hek --wrapped-key bad --mode ctr --iv $iv c -o x",
    "$decrypt bad -o x",
    "inspect bad",
];

#[test]
fn wrong_command_lines() {
    let world = World::new();
    world.table(
        "frobnicate =2 frobnicate
        keygen --set bgv/toy-255 =2 --out
        keygen --set bgv/ase128 --out x =2 unknown parameter set \"bgv/ase128\" (did you mean bgv/aes128?), \
            secure ones are bgv/aes128,
        encrypt -o x c =2 encrypt with any AES tool
        keygen --set bgv/toy-255 --out x =2 --accept-insecure
        demo --blocks 0 =2 --blocks
        bench kernels --set bgv/toy-255 =2 --set
        transcipher $keys --mode ctr --iv 00 c -o x =2 found 2 hex digits, expected 32
        transcipher $keys --mode ctr --iv $iv00 c -o x =2 found 34 hex digits, expected 32
        transcipher $keys --mode ctr --iv 0g0g0g0g0g0g0g0g0g0g0g0g0g0g0g0g c -o x =2 found 'g', expected 32 hex digits
        transcipher $keys --mode ctr --iv -1 c -o x =2 error:
        transcipher $keys --mode ctr --iv c -o x =2 error:
        transcipher $keys --mode ofb --iv $iv c -o x =2 possible values: ecb, cbc, cfb, ctr, gcm, ctr64
        transcipher $keys --mode gcm --iv $iv c -o x \
            =2 found 32 hex digits, expected 24: nonces of other lengths are hashed
        transcipher $keys --mode ecb --iv $iv c -o x =2 mode ecb takes none
        transcipher $keys --mode cbc --iv 00 c -o x =2 expected 32: the initialisation vector
        transcipher $keys --mode ctr c -o x =2 --iv: missing, expected 32 hex digits
        $transcipher c -o x --aad k =2 only mode gcm has associated data
        $transcipher c -o x --threads 0 =2 --threads
        bench bgv --key-bits 64 =2 expected 128, 192 or 256
        bench bgv --set bgv/toy-255 --layout packed =2 set bgv/toy-255 has no such layout, expected sliced or bits
        bench bgv --set bgv/aes128 --key-bits 192 =2 too few levels for AES-192
        bench kernels --layout packed =2 --layout
        demo --set bgv/toy-4369 --layout bits =2 has no such layout, expected sliced
        inspect =2 <FILE>
        inspect o.hct --verbose =2 --verbose
        demo --scheme ckks =2 possible values: bgv, tfhe
        demo --variant bits =2 only scheme tfhe has variants
        demo --scheme tfhe --variant words =2 possible values: bits, nibble
        demo --scheme tfhe --variant bits --set tfhe/toy =2 cannot be used with
        demo --scheme tfhe --set bgv/toy-255 =2 set bgv/toy-255 belongs to scheme bgv, expected tfhe
        bench ckks =2 possible values: bgv, tfhe, ntru, dghv, bridge, kernels, all
        bench bgv --variant nibble =2 only scheme tfhe has variants
        bench tfhe --set bgv/toy-255 =2 set bgv/toy-255 belongs to scheme bgv, expected tfhe
        bench kernels --variant bits =2 --variant
        $decrypt o.hct -o x --expect-nonce 00 =2 --expect-nonce: found 2 hex digits, expected 32
        $decrypt o.hct -o x --expect-mode ofb =2 possible values: ecb, cbc, cfb, ctr, gcm, ctr64
        $decrypt o.hct -o x --expect-bytes -1 =2 error:
        $decrypt o.hct -o x --seen log =2 --key-file
        $decrypt o.hct -o x --key-file k --seen - =2 '--seen <FILE>'",
    );
    let bare = world.run("");
    let errors = bare.err.lines().filter(|line| line.starts_with("error:"));
    assert_eq!((bare.code, errors.count()), (Some(2), 1), "{bare:?}");
    for line in ["--help", "--version", "help", "keygen --help"] {
        let run = world.ok(line);
        assert!(!run.out.is_empty() && run.err.is_empty(), "{line}");
    }
}

#[test]
fn missing_and_unreadable_files() {
    let world = World::new();
    world.step("mkdir folder");
    for (bad, words) in [
        ("missing", "missing: No such file"),
        ("folder", "folder: not a regular file"),
        ("c/below", "c/below: Not a directory"),
    ] {
        // a folder is inspected as one
        let uses = USES.map(|line| line.replace("bad", bad));
        for line in uses.iter().filter(|line| *line != "inspect folder") {
            world.fails(1, line, words);
        }
    }
    world.table(
        "$transcipher missing -o x =1 missing: No such file
        $transcipher folder -o x =1 folder: no files in this folder
        $transcipher c/below -o x =1 c/below: Not a directory
        wrap-key --secret keys/secret.hsk --key-file missing --out x =1 missing: No such file
        wrap-key --secret keys/secret.hsk --key-file 000102030405060708090a0b0c0d0e0f -o x =2 name of a file, found hex
        wrap-key --secret keys/secret.hsk --key-file folder --out x =1 folder:
        job plan --eval keys/eval.hek --wrapped-key key.hwk --mode ecb c -o keys =1 keys: holds a secret key",
    );
}

/// An output in the folder that is read is no part of it, and does not take the place of one.
#[test]
fn outputs_in_a_folder_that_is_read() {
    let world = World::new();
    world.table(
        "mkdir in
        cp c in/a
        cp c in/b
        $transcipher in -o in/out.hct
        inspect in/out.hct => parts        2
        $transcipher in -o in/a --force =1 in/out.hct: starts like a file of homaes itself
        rm in/out.hct
        $transcipher in -o in/a --force =1 both an input and the output",
    );
}

#[test]
fn existing_outputs_need_force() {
    let world = World::new();
    world.write("mine", "mine");
    for line in ["$wrap x", "$transcipher c -o x", "$decrypt o.hct -o x"] {
        world.table(&format!(
            "cp mine x
            {line} =1 x: file already exists; choose another name or overwrite with --force
            {line} --force"
        ));
        assert_ne!(world.read("x"), b"mine");
    }
    world.table(
        "$keygen keys =1 secret.hsk: already exists, and keys are never replaced; move or delete the old folder
        $keygen keys --force =1 keys are never replaced",
    );
}

/// Inputs are not replaced, whatever name they are called by. The library's tests have every kind.
#[test]
fn outputs_never_replace_what_is_read() {
    let world = World::new();
    for line in [
        "$wrap keys/secret.hsk",
        "$wrap k",
        "$transcipher c -o keys/eval.hek",
        "$transcipher c -o c --report x",
        "$transcipher c -o x --report c",
        "$transcipher c -o ./key.hwk --report x",
        "$transcipher c -o x --report key.hwk",
        "$decrypt o.hct -o keys/../keys/secret.hsk",
    ] {
        world.table(&format!("{line} --force =1 both an input and the output"));
    }
}

#[test]
fn paths_are_checked_before_keys_are_read() {
    let world = World::new();
    for path in "new/ new/. new/.. .. none/x k/x keys k".split(' ') {
        for line in [
            "wrap-key --secret none --key-file k --out PATH",
            "transcipher --eval none --wrapped-key none --mode ctr --iv $iv c --out PATH",
            "transcipher --eval none --wrapped-key none --mode ctr --iv $iv c --out x --report PATH",
            "decrypt --secret none o.hct --out PATH",
        ] {
            // a folder asks for parts, which this message has not
            let words = match path {
                "new/" | "keys" | ".." if line.starts_with("decrypt") => {
                    "error: o.hct: holds one message without parts; if you expect parts, do not use it"
                }
                _ => &format!("error: {path}: "),
            };
            world.fails(1, &line.replace("PATH", path), words);
        }
    }
    world.table(
        "$wrap k/x =1 k/x: Not a directory
        $wrap none/x =1 none/x: No such file
        $wrap .. =1 ..: is a folder
        $keygen k =1 k: k is not a folder
        $keygen k/keys =1 k/keys: k is not a folder",
    );
    for (out, report) in [("x", "x"), ("x", "./x"), ("keys/../x", "x")] {
        let line = "transcipher --eval none --wrapped-key none --mode ctr --iv $iv c";
        world.table(&format!(
            "{line} -o {out} --report {report} =2 name the same file"
        ));
    }
}

#[test]
fn foreign_files_and_wrong_kinds() {
    let world = World::new();
    let mut newer = world.read("o.hct");
    newer[8] = 4;
    let script = b"#!/bin/sh\necho this is a script, and it is long enough to hold a header of ninety-three bytes\n";
    for (content, words) in [
        (&script[..], "not a homaes file"),
        (b"", "file has 0 bytes, expected at least"),
        (&newer, "newer than this program"),
    ] {
        world.write("bad", content);
        for line in USES {
            world.fails(1, line, words);
        }
    }
    let [secret, others @ ..] = ["keys/secret.hsk", "keys/eval.hek", "key.hwk", "o.hct"];
    for (line, right) in USES.iter().zip([secret, secret].iter().chain(&others)) {
        for bad in others.iter().filter(|bad| *bad != right) {
            let words = format!("{bad}: wrong kind of file");
            world.fails(1, &line.replace("bad", bad), &words);
        }
    }
}

/// Files of another key, of the same set and of another. The conformance suite has every scheme.
#[test]
fn wrong_sets_and_keys() {
    let world = World::new();
    // nothing to decrypt, but the key is checked all the same
    world.message(0);
    world.table(
        "$transcipher c -o empty.hct =! the input is empty
        $keygen one
        transcipher --eval one/eval.hek --wrapped-key key.hwk --mode ctr --iv $iv c -o x \
            =1 key.hwk: file belongs to key
        decrypt --secret one/secret.hsk o.hct -o x =1 o.hct: file belongs to key
        decrypt --secret one/secret.hsk empty.hct -o x =1 empty.hct: file belongs to key
        keygen --set tfhe/toy --out two --accept-insecure
        transcipher --eval two/eval.hek --wrapped-key key.hwk --mode ctr --iv $iv c -o x \
            =1 key.hwk: file is for parameter set bgv/toy-255, expected tfhe/toy
        decrypt --secret two/secret.hsk empty.hct -o x \
            =1 empty.hct: file is for parameter set bgv/toy-255, expected tfhe/toy",
    );
}

/// AES keys, layouts, and lengths that do not fit the mode. The library's tests have every mode.
#[test]
fn wrong_aes_keys_and_lengths() {
    let world = World::new();
    world.write("17", [0; 17]);
    world.write("16", [0; 16]);
    world.write("aad", vec![0; (1 << 20) + 1]);
    let gcm = format!("transcipher $keys --mode gcm --iv {}", &IV[..24]);
    // nothing but a tag is a message too: the empty one
    world.table(&format!(
        "wrap-key --secret keys/secret.hsk --key-file 17 --out x =1 17: not an AES key: found 17 bytes
        wrap-key --secret keys/secret.hsk --key-file - --out x =1 standard input: not an AES key: found 0 bytes
        $wrap x --expand server =1 set bgv/toy-255 has no circuit for it; leave --expand out
        $transcipher c -o x --layout bits =1 has no layout bits, expected sliced
        $transcipher c -o x --layout sliced
        transcipher $keys --mode ecb 17 -o y =1 17 bytes do not fit mode ecb, expected a multiple of 16
        transcipher $keys --mode gcm 17 -o y =1 17 bytes do not fit mode gcm, expected at least 28
        {gcm} 16 -o y --aad aad =1 expected at most 1048576 and mode gcm
        {gcm} 16 -o y --aad missing =1 missing: No such file
        {gcm} 16 -o y
        $decrypt y -o q --unauthenticated"
    ));
    assert_eq!(world.read("q"), b"");
}

/// The library's tests have every format.
#[test]
fn ciphertexts_in_another_format() {
    World::new().table(
        "write c Salted__1234567877777777777777777777777777777777
        $transcipher c -o x =1 salt 3132333435363738, expected bare
        $transcipher p c -o x =1 salt 3132333435363738, expected bare
        transcipher $keys --mode gcm c -o x =1 salt 3132333435363738, expected bare
        $plan c -o job =1 salt 3132333435363738, expected bare
        write cms -----BEGIN CMS-----
        $transcipher cms -o x =1 a CMS or S/MIME message
        $transcipher c -o x --raw
        transcipher $keys --mode gcm c -o y --raw
        $plan c -o job --raw",
    );
}

#[cfg(unix)]
#[test]
fn a_file_that_cannot_grow() {
    let world = World::new();
    world.message(2000);
    for line in ["$transcipher c -o x", "$wrap x", "$keygen x"] {
        // files may have 8 KiB; exceeding it is an error instead of a signal
        let script = format!("trap '' XFSZ; ulimit -f 8; exec $homaes {line}");
        world.refused(1, &mut world.shell(&script), "File too large");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_or_closed_standard_output() {
    let world = World::new();
    let closed = |line: &str| {
        let mut child = world.spawn(line);
        drop(child.stdout.take());
        end(child)
    };
    let run = world.without_room("man");
    run.check_failure(1, "standard output", "man > /dev/full");
    for line in ["man", "inspect o.hct --json", "inspect o.hct", "--help"] {
        let run = closed(line);
        assert_eq!((run.code, &run.err[..]), (Some(0), ""), "{line}");
    }
    // the work is done although nobody follows it
    assert_eq!(closed("$transcipher c -o x --progress json").code, Some(0));
    world.table("$decrypt x -o q\n same q p");
}

#[test]
fn names_cannot_break_the_error_line() {
    let world = World::new();
    let mut command = world.command("inspect");
    world.refused(1, command.arg("a\nerror: b"), "a\\nerror: b: No such file");
}
