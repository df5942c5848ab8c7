//! Secret keys under a passphrase, of every scheme: round trips, wrong passphrases, damage, and files that ask for too much.

#![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

use homaes::{
    Error, ErrorKind, KdfCost, KeyFolder, KeySet, Passphrase, REPLACED_KEY_FILE, Repair,
    SECRET_KEY_FILE, SecretKey, Set, inspect,
};
use homaes_wire::{Contents, Header, KeyId, Kind, OutputOptions, Reader, Writer};
use std::fs;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

const SETS: [&str; 3] = ["bgv/toy-255", "tfhe/toy", "tfhe/nibble-toy"];

/// As little as Argon2id takes with two lanes: tests are not to protect anything.
const COST: KdfCost = KdfCost {
    memory_kib: 16,
    passes: 1,
    lanes: 2,
};

struct World {
    folder: TempDir,
    passphrase: Passphrase,
    set: Set,
}

impl World {
    /// `keys/` without a passphrase, and the secret key with one in `locked`.
    fn new(set: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let set = Set::named(set).unwrap();
        let keys = KeySet::create(&set, folder.path().join("keys"), false).unwrap();
        let passphrase = Passphrase::new(b"correct horse").unwrap();
        let path = folder.path().join("locked");
        let lock = Some((&passphrase, COST));
        keys.secret.save(path, false, lock).unwrap();
        Self {
            folder,
            passphrase,
            set,
        }
    }

    fn at(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn unlock(&self, name: &str) -> homaes::Result<SecretKey> {
        SecretKey::unlock(self.at(name), &self.passphrase)
    }

    /// A file with these records and right checksums.
    fn write(&self, name: &str, id: KeyId, records: &[(u16, Vec<u8>)]) {
        let bodies = records.iter().map(|(_, body)| body.len() as u64);
        let contents = bodies.fold(Contents::default(), Contents::record);
        let (kind, digest) = (Kind::SecretKey, *self.set.digest());
        let header = Header::new(kind, self.set.name(), digest, id, contents).unwrap();
        let force = OutputOptions {
            force: true,
            private: true,
        };
        let mut writer = Writer::create(self.at(name), force, header).unwrap();
        for (tag, body) in records {
            writer.write_record(*tag, 0, body).unwrap();
        }
        writer.commit().unwrap();
    }
}

/// The key id and the records of a file.
fn read(path: &Path) -> (KeyId, Vec<(u16, Vec<u8>)>) {
    let mut reader = Reader::open(path, Kind::SecretKey).unwrap();
    let id = reader.header().key_id();
    let mut records = Vec::new();
    while let Some(mut record) = reader.begin_any().unwrap() {
        let head = record.head();
        let mut body = vec![0; head.len as usize];
        record.read_exact(&mut body).unwrap();
        record.finish().unwrap();
        records.push((head.tag, body));
    }
    (id, records)
}

#[test]
fn the_right_passphrase_opens_what_was_protected() {
    for set in SETS {
        let world = World::new(set);
        let plain = world.at("keys/secret.hsk");
        let key = world.unlock("locked").unwrap();
        assert!(key.is_protected() && !key.is_exposed());
        assert_eq!(key.id(), SecretKey::open(&plain).unwrap().id());
        // Stored without a passphrase, it is the same file again, byte for byte.
        key.save(world.at("again"), false, None).unwrap();
        assert_eq!(
            fs::read(world.at("again")).unwrap(),
            fs::read(&plain).unwrap()
        );
        // The same passphrase never gives the same file, nor a part of it.
        let lock = Some((&world.passphrase, COST));
        key.save(world.at("second"), false, lock).unwrap();
        let [(_, one), (_, two)] = ["locked", "second"].map(|name| read(&world.at(name)));
        assert_ne!(one[0].1[13..29], two[0].1[13..29]);
        assert_ne!(one[0].1[29..], two[0].1[29..]);
        assert_ne!(one[1].1[..64], two[1].1[..64]);
        let secret = &read(&plain).1[0].1;
        assert!(!one[1].1.windows(16).any(|part| part == &secret[..16]));
    }
}

#[test]
fn without_the_passphrase_a_file_tells_whose_it_is_and_no_more() {
    for set in SETS {
        let world = World::new(set);
        let error = SecretKey::open(world.at("locked")).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Protected, "{error}");
        let wrong = Passphrase::new(b"correct horsf").unwrap();
        let error = SecretKey::unlock(world.at("locked"), &wrong).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::WrongPassphrase, "{error}");
        let error = world.unlock("keys/secret.hsk").unwrap_err();
        assert_eq!(error.kind(), ErrorKind::NotProtected, "{error}");
        let found = inspect(world.at("locked")).unwrap();
        let plain = inspect(world.at("keys/secret.hsk")).unwrap();
        assert_eq!((found.protection, plain.protection), (Some(COST), None));
        assert_eq!((found.set_name.as_str(), found.key_id), (set, plain.key_id));
    }
}

#[test]
fn keys_are_made_under_a_passphrase() {
    for set in SETS {
        let folder = tempfile::tempdir().unwrap();
        let passphrase = Passphrase::new("über".as_bytes()).unwrap();
        let set = Set::named(set).unwrap();
        let keys = KeySet::create_protected(&set, folder.path(), false, &passphrase, COST);
        let path = folder.path().join("secret.hsk");
        let unlocked = SecretKey::unlock(&path, &passphrase).unwrap();
        assert_eq!(unlocked.id(), keys.unwrap().secret.id());
        assert!(SecretKey::open(&path).is_err());
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            let mode = fs::metadata(&path).unwrap().permissions().mode();
            assert_eq!(mode & 0o777, 0o600);
        }
    }
}

#[test]
fn another_key_in_the_same_place_is_not_lost() {
    let world = World::new("tfhe/toy");
    let (path, lock) = (world.at("locked"), Some((&world.passphrase, COST)));
    let key = world.unlock("locked").unwrap();
    let before = fs::read(&path).unwrap();
    key.protect(&path, lock).unwrap();
    assert_ne!(fs::read(&path).unwrap(), before);
    // As when keys are made anew while a passphrase is typed.
    let other = KeySet::generate(&world.set).unwrap().secret;
    other.save(&path, true, None).unwrap();
    let there = fs::read(&path).unwrap();
    let error = key.protect(&path, lock).unwrap_err().to_string();
    assert!(error.contains("file belongs to key"), "{error}");
    assert_eq!(fs::read(&path).unwrap(), there);
    assert!(key.protect(world.at("missing"), lock).is_err() && !world.at("missing").exists());
}

/// As a kill leaves the folder when the new secret key has its name and the new evaluation key has not.
#[test]
fn a_protected_key_that_was_set_aside_is_put_back() {
    let world = World::new("bgv/toy-255");
    let [own, aside] = [SECRET_KEY_FILE, REPLACED_KEY_FILE].map(|name| world.at("keys").join(name));
    fs::copy(world.at("locked"), aside).unwrap();
    let other = KeySet::generate(&world.set).unwrap().secret;
    other
        .save(&own, true, Some((&world.passphrase, COST)))
        .unwrap();
    let folder = KeyFolder::open(world.at("keys")).unwrap();
    assert_eq!(folder.repair(), Some(Repair::PutBack));
    assert!(fs::read(own).unwrap() == fs::read(world.at("locked")).unwrap());
}

#[cfg(unix)]
#[test]
fn no_passphrase_is_changed_while_keys_are_made() {
    let world = World::new("tfhe/toy");
    let path = world.at("keys").join(SECRET_KEY_FILE);
    let key = SecretKey::open(&path).unwrap();
    let before = fs::read(&path).unwrap();
    let lock = Some((&world.passphrase, COST));
    let folder = KeyFolder::open(world.at("keys")).unwrap();
    let error = key.protect(&path, lock).unwrap_err();
    assert!(matches!(error, Error::Locked { .. }), "{error}");
    assert!(fs::read(&path).unwrap() == before);
    drop(folder);
    key.protect(&path, lock).unwrap();
    SecretKey::unlock(&path, &world.passphrase).unwrap();
}

/// Checksums find accidents only; here they are made right again.
#[test]
fn no_change_passes_unnoticed() {
    let world = World::new("tfhe/toy");
    let (id, good) = read(&world.at("locked"));
    world.write("bad", id, &good);
    world.unlock("bad").unwrap();
    let refused = |id, records: &[(u16, Vec<u8>)], words: &str| {
        world.write("bad", id, records);
        let error = world.unlock("bad").unwrap_err().to_string();
        assert!(error.contains(words), "{words}: {error}");
    };
    let wrong = "the passphrase does not open this secret key";
    refused(KeyId([1; 16]), &good, wrong);
    // Salt, nonce, the first and the last byte of the encrypted key, and its tag.
    let last = good[1].1.len() - 1;
    for (record, at) in [
        (0, 13),
        (0, 28),
        (0, 29),
        (0, 52),
        (1, 0),
        (1, last - 16),
        (1, last - 15),
        (1, last),
    ] {
        let mut bad = good.clone();
        bad[record].1[at] ^= 1;
        refused(id, &bad, wrong);
    }
    // A cost that is allowed, but not the one it was made with.
    let mut bad = good.clone();
    bad[0].1[5] = 2;
    refused(id, &bad, wrong);
    type Change = fn(&mut Vec<(u16, Vec<u8>)>);
    let changes: [(Change, &str); 9] = [
        (|r| r[1].1.truncate(15), wrong),
        (|r| r[1].1.clear(), wrong),
        (
            |r| r[1].1.resize(1 << 21, 0),
            "at most 1048576 are possible",
        ),
        (|r| drop(r.pop()), "file has 1 records, expected 2"),
        (|r| r.push((3, vec![0])), "file has 3 records, expected 2"),
        (|r| r[1].0 = 4, "tag 4, expected 3"),
        (|r| r[0].0 = 4, "this secret key has no passphrase"),
        (|r| r[0].1.push(0), "protection has 54 bytes, expected 53"),
        (|r| r[0].1[0] = 2, "expected method 1"),
    ];
    for (change, words) in changes {
        let mut bad = good.clone();
        change(&mut bad);
        refused(id, &bad, words);
    }
}

/// Whoever changes the file must not make the one who opens or inspects it run out of memory or time.
#[test]
fn what_a_file_can_ask_for_is_bounded() {
    let world = World::new("tfhe/toy");
    let (id, good) = read(&world.at("locked"));
    let malformed = "cost of Argon2id is malformed, expected 1 lane and 1 pass at least";
    for ([memory, passes, lanes], words) in [
        (
            [u32::MAX, 1, 1],
            "memory of Argon2id in KiB is 4294967295, at most 1048576 is possible",
        ),
        ([(1 << 20) + 1, 1, 1], "at most 1048576 is possible"),
        (
            [1 << 20, 5, 1],
            "memory times passes of Argon2id in KiB is 5242880, at most 4194304",
        ),
        ([8, u32::MAX, 1], "memory times passes"),
        ([1 << 16, 65, 4], "memory times passes"),
        (
            [1 << 16, 1, 65],
            "lanes of Argon2id is 65, at most 64 is possible",
        ),
        ([1 << 16, 1, u32::MAX], "lanes of Argon2id"),
        ([0, 0, 0], malformed),
        ([7, 1, 1], malformed),
        ([31, 1, 4], malformed),
        ([16, 0, 1], malformed),
        ([16, 1, 0], malformed),
    ] {
        let mut bad = good.clone();
        for (i, value) in [memory, passes, lanes].into_iter().enumerate() {
            bad[0].1[1 + 4 * i..][..4].copy_from_slice(&value.to_le_bytes());
        }
        world.write("bad", id, &bad);
        for error in [
            world.unlock("bad").unwrap_err(),
            SecretKey::open(world.at("bad")).unwrap_err(),
            inspect(world.at("bad")).unwrap_err(),
        ] {
            let error = error.to_string();
            assert!(error.contains(words), "{words}: {error}");
        }
        // Nor is such a file written.
        let key = world.unlock("locked").unwrap();
        let cost = KdfCost {
            memory_kib: memory,
            passes,
            lanes,
        };
        let saved = key.save(world.at("new"), false, Some((&world.passphrase, cost)));
        assert!(saved.is_err() && !world.at("new").exists());
    }
}

/// What the most expensive file that is read costs the one who opens it: gibibytes of memory and seconds.
///
/// `cargo test --release -p homaes --test all passphrase:: -- --ignored --nocapture`
#[test]
#[ignore = "nightly: takes seconds and 1 GiB of memory"]
fn nightly_the_most_expensive_file_takes_seconds() {
    let world = World::new("tfhe/toy");
    let (id, good) = read(&world.at("locked"));
    for [memory, passes, lanes] in [
        [1_u32 << 16, 3, 4],
        [1 << 20, 4, 1],
        [1 << 20, 4, 64],
        [8, 1 << 19, 1],
        [512, 1 << 13, 64],
    ] {
        let mut bad = good.clone();
        for (i, value) in [memory, passes, lanes].into_iter().enumerate() {
            bad[0].1[1 + 4 * i..][..4].copy_from_slice(&value.to_le_bytes());
        }
        world.write("bad", id, &bad);
        let start = std::time::Instant::now();
        let error = world.unlock("bad").unwrap_err();
        assert_eq!(error.kind(), ErrorKind::WrongPassphrase, "{error}");
        let seconds = start.elapsed().as_secs_f64();
        println!("{memory} KiB, {passes} passes, {lanes} lanes: {seconds:.2} s");
        assert!(seconds < 60.0);
    }
}

#[test]
fn passphrases_are_one_line() {
    let read = |content: &[u8]| Passphrase::read(content, "file");
    let same = Passphrase::new(b"a b ").unwrap();
    for content in [&b"a b "[..], b"a b \n", b"a b \r\n"] {
        assert!(read(content).unwrap() == same);
    }
    assert!(read(b"a b\n").unwrap() != same);
    assert!(read(&[b'x'; 1024]).is_ok() && read(&[&[b'x'; 1024][..], b"\r\n"].concat()).is_ok());
    let long = [b'x'; 1025];
    let endless = std::io::repeat(b'x');
    for (error, found) in [
        (read(b"").unwrap_err(), "nothing"),
        (read(b"\r\n").unwrap_err(), "nothing"),
        (read(b"a\nb\n").unwrap_err(), "more than one line"),
        (read(b"\na").unwrap_err(), "more than one line"),
        (read(&long).unwrap_err(), "more than 1024 bytes"),
        (
            Passphrase::read(endless, "file").unwrap_err(),
            "more than 1024 bytes",
        ),
        (Passphrase::new(b"").unwrap_err(), "nothing"),
    ] {
        let error = error.to_string();
        assert!(
            error.contains(&format!("found {found}, expected one line")),
            "{error}"
        );
    }
}

#[test]
fn debug_output_shows_no_secret() {
    let world = World::new("tfhe/toy");
    assert_eq!(format!("{:?}", world.passphrase), "Passphrase(..)");
    let text = format!("{:?}", world.unlock("locked").unwrap());
    assert!(
        text.starts_with("SecretKey { set: \"tfhe/toy\", key_id: KeyId("),
        "{text}"
    );
    assert!(text.ends_with("), .. }") && text.len() < 100, "{text}");
}
