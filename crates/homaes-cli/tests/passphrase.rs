//! Secret keys under a passphrase, as users meet them.

#![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

use crate::common::{World, fields};
use serde_json::json;

/// The toy world with its secret key under the passphrase in `pass`.
fn protected() -> World {
    let world = World::new();
    world.write("pass", "correct horse\n");
    world.write("other", "battery staple\n");
    world.ok("passphrase --secret keys/secret.hsk --new-passphrase-file pass");
    world
}

#[test]
fn every_command_that_reads_a_secret_key_takes_the_passphrase() {
    let world = protected();
    world.table(
        "$decrypt o.hct -o q --passphrase-file pass
        $wrap new.hwk --passphrase-file pass
        inspect keys/secret.hsk => needed (Argon2id: 64.0 MiB, 3 passes, 4 lanes)",
    );
    assert_eq!(world.read("q"), world.read("p"));
    for line in ["$wrap x", "$decrypt o.hct -o x"] {
        world.table(&format!(
            "{line} --passphrase-file other =1 keys/secret.hsk: the passphrase does not open this secret key; \
                check the passphrase
            {line} --passphrase-file c =1 c: not a passphrase: found more than
            {line} --passphrase-file missing =1 missing: No such file"
        ));
    }
    let found = &world.json("inspect keys/secret.hsk --json")["secret_key"];
    assert_eq!(found["protected"], true);
    let cost = fields(&found["argon2id"], ["memory_kib", "passes", "lanes"]);
    assert_eq!(cost, json!([65536, 3, 4]));
    // the file of the passphrase is an input too
    let words = "both an input and the output";
    world.fails(
        1,
        "$decrypt o.hct -o pass --force --passphrase-file pass",
        words,
    );
}

#[test]
fn keys_are_made_under_a_passphrase_and_it_is_changed_and_removed() {
    let world = World::new();
    let plain = world.read("keys/secret.hsk");
    let found = world.json("inspect keys/secret.hsk --json");
    assert_eq!(found["secret_key"]["protected"], false);
    world.write("pass", "correct horse\n");
    world.write("other", "battery staple");
    let change = "passphrase --secret keys/secret.hsk";
    world.table(&format!(
        "{change} --new-passphrase-file pass \
            => keys/secret.hsk: protected with the new passphrase; set bgv/toy-255, key "
    ));
    let first = world.read("keys/secret.hsk");
    world.table(&format!(
        "{change} --passphrase-file other --new-passphrase-file pass =1 does not open this secret key
        {change} --passphrase-file pass --new-passphrase-file missing =1 missing: No such file
        {change} --passphrase-file pass --new-passphrase-file keys/eval.hek =1 keys/eval.hek: not a passphrase"
    ));
    assert_eq!(world.read("keys/secret.hsk"), first);
    world.table(&format!(
        "{change} --passphrase-file pass --new-passphrase-file other
        {change} --passphrase-file other --remove => no longer protected"
    ));
    assert_eq!(world.read("keys/secret.hsk"), plain);
    world.fails(
        1,
        &format!("{change} --remove"),
        "this secret key has no passphrase",
    );
    // from the beginning; a passphrase that is not needed is said to be unused
    world.table(&format!(
        "$decrypt o.hct -o q --passphrase-file pass =! warning: keys/secret.hsk: this secret key has no passphrase
        $keygen new --passphrase-file pass => stays here: keep it and its passphrase secret … new/eval.hek:
        wrap-key --secret new/secret.hsk --key-file k --out new.hwk --passphrase-file pass
        $keygen x --passphrase-file c =1 c: not a passphrase
        $keygen x --passphrase-file pass --passphrase =2 cannot be used with
        {change} --remove --new-passphrase-file pass =2 cannot be used with
        $decrypt o.hct -o x --passphrase-file - --key-file - =2 two inputs cannot both come from standard input
        wrap-key --secret keys/secret.hsk --key-file - --passphrase-file - --out x =2 two inputs cannot both
        {change} --passphrase-file - --new-passphrase-file - =2 two inputs cannot both"
    ));
}

#[cfg(target_os = "linux")]
mod terminal {
    use super::*;
    use crate::common::Run;
    use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
    use rustix::termios::{LocalModes, tcgetattr};
    use std::ffi::OsStr;
    use std::fs::File;
    use std::io::{Read, Write};
    use std::os::unix::ffi::OsStrExt;
    use std::os::unix::fs::OpenOptionsExt;
    use std::process::Stdio;

    const DECRYPT: &str = "$decrypt o.hct --force -o q";
    const PRESENT: &str = "passphrase of keys/secret.hsk: ";
    const NEW: &str = "new passphrase of keys/secret.hsk: ";
    const AGAIN: &str = "new passphrase of keys/secret.hsk, again: ";

    /// `O_NOCTTY`: the terminal is that of the command, not of the test.
    const NO_CONTROLLING_TERMINAL: i32 = 0o400;

    /// Runs a command on a terminal of its own, types each part at its prompt, and returns what is seen there.
    #[track_caller]
    fn typed(world: &World, code: i32, line: &str, parts: &[(&str, &str)]) -> String {
        let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
        grantpt(&master).unwrap();
        unlockpt(&master).unwrap();
        let name = ptsname(&master, Vec::new()).unwrap();
        let slave = File::options()
            .read(true)
            .write(true)
            .custom_flags(NO_CONTROLLING_TERMINAL)
            .open(OsStr::from_bytes(name.as_bytes()))
            .unwrap();
        let stream = || Stdio::from(slave.try_clone().unwrap());
        let mut command = world.shell(&format!("exec setsid -c -w $homaes {line}"));
        command.stdin(stream()).stdout(stream()).stderr(stream());
        let mut child = command.spawn().unwrap();
        // when the command is gone, reading ends with an error
        drop((command, slave));
        let mut master = File::from(master);
        let mut seen = Vec::new();
        for (prompt, part) in parts {
            while !seen.ends_with(prompt.as_bytes()) {
                let mut byte = [0];
                master.read_exact(&mut byte).unwrap();
                seen.push(byte[0]);
            }
            master.write_all(part.as_bytes()).unwrap();
            seen.push(b'|');
        }
        let found = child.wait().unwrap().code();
        let settings = tcgetattr(&master).unwrap();
        let echoes = settings.local_modes.contains(LocalModes::ECHO);
        assert!(echoes, "the terminal stays silent");
        let _ = master.read_to_end(&mut seen);
        let seen = String::from_utf8(seen).unwrap();
        assert_eq!(found, Some(code), "{seen}");
        seen
    }

    #[test]
    fn passphrases_are_asked_for_and_not_shown() {
        let world = protected();
        let seen = typed(&world, 0, DECRYPT, &[(PRESENT, "correct horse\n")]);
        assert!(
            seen.starts_with(PRESENT) && !seen.contains("horse"),
            "{seen}"
        );
        assert_eq!(world.read("q"), world.read("p"));
        // a new one is asked for twice
        let change = "passphrase --secret keys/secret.hsk --passphrase-file pass";
        let keygen = "$keygen new --passphrase";
        let [new, again] = [NEW, AGAIN].map(|prompt| prompt.replace("keys/", "new/"));
        let (new, again) = (&new[..], &again[..]);
        let wrong = "error: keys/secret.hsk: the passphrase does not open";
        let differ = "error: the two passphrases differ";
        let staple = "battery staple\n";
        for (code, line, parts, words) in [
            (1, DECRYPT, &[(PRESENT, "wrong\n")][..], wrong),
            (1, change, &[(NEW, "one\n"), (AGAIN, "two\n")], differ),
            (0, change, &[(NEW, staple), (AGAIN, staple)], ""),
            (1, keygen, &[(new, "\n")], "not a passphrase: found nothing"),
            (0, keygen, &[(new, staple), (again, staple)], ""),
            // ctrl-C leaves the terminal as it was
            (
                130,
                DECRYPT,
                &[(PRESENT, "correct\x03")],
                "error: interrupted",
            ),
        ] {
            let seen = typed(&world, code, line, parts);
            assert!(seen.contains(words), "{seen}");
        }
        world.table(&format!(
            "{DECRYPT} --passphrase-file other
            wrap-key --secret new/secret.hsk --key-file k --out new.hwk --passphrase-file other"
        ));
        // from standard input, and where there is nobody to ask
        assert_eq!(
            world
                .fed(&format!("{DECRYPT} --passphrase-file -"), "other")
                .code,
            Some(0)
        );
        let run = Run::of(&mut world.shell(&format!("exec setsid -w $homaes {DECRYPT}")));
        let words = "passphrase of keys/secret.hsk: no terminal to ask on (No such device or address (os error 6)); \
            use --passphrase-file";
        run.check_failure(1, words, DECRYPT);
    }
}
