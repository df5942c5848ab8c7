//! Secret keys under a passphrase, of every scheme: round trips, wrong passphrases, damaged files, excessive costs.

#![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

use homaes::{ErrorKind, KdfCost, KeySet, Passphrase, SecretKey, Set, inspect};
use homaes_wire::{Contents, Header, KeyId, Kind, OutputOptions, Reader, Writer};
use std::fs;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

const SETS: [&str; 3] = ["bgv/toy-255", "tfhe/toy", "tfhe/nibble-toy"];

/// The cheapest Argon2id cost with two lanes; protects nothing.
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
    /// The key pair in `keys/`, without a passphrase, and the secret key under a passphrase in `locked`.
    fn new(set: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let set = Set::named(set).unwrap();
        let keys = KeySet::create(&set, folder.path().join("keys")).unwrap();
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

    /// Writes a file of these records with correct checksums.
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
        // stored without a passphrase, the file is again the original
        key.save(world.at("again"), false, None).unwrap();
        assert_eq!(
            fs::read(world.at("again")).unwrap(),
            fs::read(&plain).unwrap()
        );
        // salt and nonce are fresh: no part of the encrypted file repeats
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
        let keys = KeySet::create_protected(&set, folder.path(), &passphrase, COST);
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
    // as if the keys were replaced while the passphrase is typed
    let other = KeySet::generate(&world.set).unwrap().secret;
    other.save(&path, true, None).unwrap();
    let there = fs::read(&path).unwrap();
    let error = key.protect(&path, lock).unwrap_err().to_string();
    assert!(error.contains("file belongs to key"), "{error}");
    assert_eq!(fs::read(&path).unwrap(), there);
    assert!(key.protect(world.at("missing"), lock).is_err() && !world.at("missing").exists());
}

/// Checksums detect accidents only, so this test makes them correct after each change.
#[test]
fn every_change_is_noticed() {
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
    // salt, nonce, first and last byte of the encrypted key, and its tag
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
    // an allowed cost, but not the one of this file
    let mut bad = good.clone();
    bad[0].1[5] = 2;
    refused(id, &bad, wrong);
    type Change = fn(&mut Vec<(u16, Vec<u8>)>);
    let changes: [(Change, &str); 9] = [
        (|r| r[1].1.truncate(15), wrong),
        (|r| r[1].1.clear(), wrong),
        (|r| r[1].1.resize(1 << 21, 0), "expected at most 1048576"),
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

/// A changed file must not make those who open or inspect it run out of memory or time.
#[test]
fn the_cost_that_a_file_asks_for_is_bounded() {
    let world = World::new("tfhe/toy");
    let (id, good) = read(&world.at("locked"));
    let malformed = "cost of Argon2id is malformed, expected 1 lane and 1 pass at least";
    for ([memory, passes, lanes], words) in [
        (
            [u32::MAX, 1, 1],
            "memory of Argon2id in KiB is 4294967295, expected at most 1048576",
        ),
        ([(1 << 20) + 1, 1, 1], "expected at most 1048576"),
        (
            [1 << 20, 5, 1],
            "memory times passes of Argon2id in KiB is 5242880, expected at most 4194304",
        ),
        ([8, u32::MAX, 1], "memory times passes"),
        ([1 << 16, 65, 4], "memory times passes"),
        (
            [1 << 16, 1, 65],
            "lanes of Argon2id is 65, expected at most 64",
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
        // such a file cannot be written either
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

/// Time to open the most expensive files that are accepted: 1 GiB of memory and seconds.
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
