//! Secret keys under a passphrase, as users meet them.

use crate::common::{World, assert_fields};
use serde_json::json;
use std::sync::OnceLock;

/// The toy world with its secret key under the passphrase in `pass`.
fn protected() -> World {
    static KEY: OnceLock<Vec<u8>> = OnceLock::new();
    let world = World::new();
    world.write("pass", "correct horse\n");
    world.write("other", "battery staple\n");
    let key = KEY.get_or_init(|| {
        world.ok("passphrase --secret keys/secret.hsk --new-passphrase-file pass");
        world.read("keys/secret.hsk")
    });
    world.write("keys/secret.hsk", key);
    world
}

#[test]
fn every_command_that_reads_a_secret_key_takes_the_passphrase() {
    let world = protected();
    world.table(
        "$decrypt o.hct -o q --passphrase-file pass
        same q p
        $wrap new.hwk --passphrase-file pass
        inspect keys/secret.hsk => needed (Argon2id: 64.0 MiB, 3 passes, 4 lanes)",
    );
    let line = "$decrypt o.hct -o x";
    world.table(&format!(
        "{line} --passphrase-file other =1 keys/secret.hsk: the passphrase does not open this secret key; \
            check the passphrase
        {line} --passphrase-file c =1 c: not a passphrase: found more than
        {line} --passphrase-file missing =1 missing: No such file
        $wrap x --passphrase-file other =1 keys/secret.hsk: the passphrase does not open"
    ));
    let found = &world.json("inspect keys/secret.hsk --json")["secret_key"];
    assert_eq!(found["protected"], true);
    let expected = json!({ "memory_kib": 65536, "passes": 3, "lanes": 4 });
    assert_fields(&found["argon2id"], expected);
    // the file of the passphrase is an input too
    let words = "both an input and the output";
    let line = "$decrypt o.hct -o pass --force --passphrase-file pass";
    world.fails(1, line, words);
}

#[test]
fn keys_are_made_under_a_passphrase_and_it_is_changed_and_removed() {
    let world = World::new();
    let found = world.json("inspect keys/secret.hsk --json");
    assert_eq!(found["secret_key"]["protected"], false);
    world.write("pass", "correct horse\n");
    world.write("other", "battery staple");
    let change = "passphrase --secret keys/secret.hsk";
    // at the end, a passphrase that is not needed is said to be unused
    world.table(&format!(
        "cp keys/secret.hsk plain
        {change} --new-passphrase-file pass \
            => keys/secret.hsk: protected with the new passphrase; set bgv/toy-255, key
        {change} --passphrase-file other --new-passphrase-file pass =1 does not open this secret key
        {change} --passphrase-file pass --new-passphrase-file missing =1 missing: No such file
        {change} --passphrase-file pass --new-passphrase-file keys/eval.hek =1 keys/eval.hek: not a passphrase
        {change} --passphrase-file pass --new-passphrase-file other
        {change} --passphrase-file other --remove => no longer protected
        same keys/secret.hsk plain
        {change} --remove =1 this secret key has no passphrase
        $decrypt o.hct -o q --passphrase-file pass =! warning: keys/secret.hsk: this secret key has no passphrase
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
    use rustix::pty::{OpenptFlags, grantpt, ioctl_tiocgptpeer, openpt, unlockpt};
    use rustix::termios::{LocalModes, tcgetattr};
    use std::fs::File;
    use std::io::{Read, Write};
    use std::process::Stdio;

    const DECRYPT: &str = "$decrypt o.hct --force -o q";
    const PRESENT: &str = "passphrase of keys/secret.hsk: ";
    const NEW: &str = "new passphrase of keys/secret.hsk: ";
    const AGAIN: &str = "new passphrase of keys/secret.hsk, again: ";

    /// Runs a command on a terminal of its own, types each part at its prompt, and returns what is seen there.
    #[track_caller]
    fn typed(world: &World, code: i32, line: &str, parts: &[(&str, &str)]) -> String {
        // the terminal is that of the command, not of the test
        let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY;
        let master = openpt(flags).unwrap();
        grantpt(&master).unwrap();
        unlockpt(&master).unwrap();
        let slave = File::from(ioctl_tiocgptpeer(&master, flags).unwrap());
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
        let asked = seen.starts_with(PRESENT) && !seen.contains("horse");
        assert!(asked, "{seen}");
        world.step("same q p");
        // a new one is asked for twice
        let change = "passphrase --secret keys/secret.hsk --passphrase-file pass";
        let keygen = "$keygen new --passphrase";
        let [new, again] = [NEW, AGAIN].map(|prompt| prompt.replace("keys/", "new/"));
        let (new, again) = (&new[..], &again[..]);
        let wrong = "error: keys/secret.hsk: the passphrase does not open";
        let differ = "error: the two passphrases differ";
        let staple = "battery staple\n";
        let interrupted = "error: interrupted";
        for (code, line, parts, words) in [
            (1, DECRYPT, &[(PRESENT, "wrong\n")][..], wrong),
            (1, change, &[(NEW, "one\n"), (AGAIN, "two\n")], differ),
            (0, change, &[(NEW, staple), (AGAIN, staple)], ""),
            (1, keygen, &[(new, "\n")], "not a passphrase: found nothing"),
            (0, keygen, &[(new, staple), (again, staple)], ""),
            // ctrl-C leaves the terminal as it was
            (130, DECRYPT, &[(PRESENT, "correct\x03")], interrupted),
        ] {
            let seen = typed(&world, code, line, parts);
            assert!(seen.contains(words), "{seen}");
        }
        world.table(&format!(
            "{DECRYPT} --passphrase-file other
            wrap-key --secret new/secret.hsk --key-file k --out new.hwk --passphrase-file other"
        ));
        // from standard input, and where there is nobody to ask
        let run = world.fed(&format!("{DECRYPT} --passphrase-file -"), "other");
        run.ends(0);
        let mut nobody = world.shell(&format!("exec setsid -w $homaes {DECRYPT}"));
        let words = "passphrase of keys/secret.hsk: no terminal to ask on (No such device or address (os error 6)); \
            use --passphrase-file";
        world.refused(1, &mut nobody, words);
    }
}
