//! Secret keys under a passphrase: round trips, wrong passphrases, damaged files, excessive costs.

#![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

use crate::common::{Record, forged, keys, records};
use homaes::{ErrorKind, KdfCost, KeyFolder, Passphrase, SecretKey, inspect};
use homaes_wire::{KeyId, Kind};
use std::fs;
use std::path::PathBuf;

/// The cheapest Argon2id cost with two lanes; protects nothing.
const COST: KdfCost = KdfCost {
    memory_kib: 16,
    passes: 1,
    lanes: 2,
};

const WRONG: &str = "the passphrase does not open this secret key";

/// The key pair without a passphrase in `keys/`, and the secret key under a passphrase in `locked`.
struct World {
    inner: crate::common::World,
    passphrase: Passphrase,
}

impl World {
    fn new(set: &str) -> Self {
        let inner = crate::common::World::with_files(set);
        let passphrase = Passphrase::new("über".as_bytes()).unwrap();
        let (path, lock) = (inner.at("locked"), Some((&passphrase, COST)));
        inner.keys.secret.save(path, false, lock).unwrap();
        Self { inner, passphrase }
    }

    fn at(&self, name: &str) -> PathBuf {
        self.inner.at(name)
    }

    fn id(&self) -> KeyId {
        self.inner.keys.secret.id()
    }

    fn lock(&self) -> Option<(&Passphrase, KdfCost)> {
        Some((&self.passphrase, COST))
    }

    fn unlock(&self, name: &str) -> homaes::Result<SecretKey> {
        SecretKey::unlock(self.at(name), &self.passphrase)
    }

    fn forge(&self, id: KeyId, records: &[Record]) {
        let (kind, set, digest, _) = self.inner.claims(Kind::SecretKey);
        let claims = (kind, set, digest, id);
        fs::write(self.at("bad"), forged(claims, records)).unwrap();
    }

    /// Writes `bad` as `locked` with another cost: memory, passes, lanes.
    fn forge_cost(&self, cost: [u32; 3]) {
        let mut bad = records(&self.at("locked"));
        let bytes = cost.map(u32::to_le_bytes);
        bad[0].2[1..13].copy_from_slice(bytes.as_flattened());
        self.forge(self.id(), &bad);
    }
}

#[test]
fn the_right_passphrase_opens_what_was_protected_and_another_does_not() {
    for set in ["bgv/toy-255", "tfhe/toy"] {
        let world = World::new(set);
        let plain = fs::read(world.at("keys/secret.hsk")).unwrap();
        let key = world.unlock("locked").unwrap();
        assert!(key.is_protected() && !key.is_exposed());
        assert_eq!(key.id(), world.id());
        // stored without a passphrase, the file is again the original
        key.save(world.at("again"), false, None).unwrap();
        assert_eq!(fs::read(world.at("again")).unwrap(), plain);
        // salt and nonce are new, so no part of the encrypted file repeats
        key.save(world.at("second"), false, world.lock()).unwrap();
        let [one, two] = ["locked", "second"].map(|name| records(&world.at(name)));
        assert_ne!(one[0].2[13..29], two[0].2[13..29]);
        assert_ne!(one[0].2[29..], two[0].2[29..]);
        assert_ne!(one[1].2[..64], two[1].2[..64]);
        let secret = &records(&world.at("keys/secret.hsk"))[0].2;
        assert!(!one[1].2.windows(16).any(|part| part == &secret[..16]));
        // without a passphrase the file still names its key
        let (right, wrong) = (&world.passphrase, Passphrase::new(b"uber").unwrap());
        let (locked, bytes) = (world.at("locked"), key.to_bytes(world.lock()).unwrap());
        let from_bytes = SecretKey::unlock_bytes(&bytes, right).unwrap();
        assert!(from_bytes.is_protected() && from_bytes.id() == world.id());
        use ErrorKind::{NotProtected, Protected, WrongPassphrase};
        for (opened, kind) in [
            (SecretKey::open(&locked), Protected),
            (SecretKey::from_bytes(&bytes), Protected),
            (SecretKey::unlock(&locked, &wrong), WrongPassphrase),
            (SecretKey::unlock_bytes(&bytes, &wrong), WrongPassphrase),
            (world.unlock("keys/secret.hsk"), NotProtected),
            (SecretKey::unlock_bytes(&plain, right), NotProtected),
        ] {
            assert_eq!(opened.unwrap_err().kind(), kind);
        }
        let found = inspect(world.at("locked")).unwrap();
        let plain = inspect(world.at("keys/secret.hsk")).unwrap();
        assert_eq!((found.protection, plain.protection), (Some(COST), None));
        assert_eq!((found.set_name.as_str(), found.key_id), (set, plain.key_id));
    }
}

#[test]
fn keys_are_made_under_a_passphrase() {
    let world = World::new("tfhe/toy");
    let folder = KeyFolder::open(world.at("new")).unwrap();
    let made = folder.create(
        world.inner.keys.secret.set(),
        world.lock(),
        &mut |_, _, _| (),
    );
    let path = world.at("new/secret.hsk");
    assert_eq!(
        world.unlock("new/secret.hsk").unwrap().id(),
        made.unwrap().id()
    );
    assert!(SecretKey::open(&path).is_err());
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let mode = fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }
}

#[test]
fn another_key_in_the_same_place_is_not_lost() {
    let world = World::new("tfhe/toy");
    let (path, lock) = (world.at("locked"), world.lock());
    let key = world.unlock("locked").unwrap();
    let before = fs::read(&path).unwrap();
    key.protect(&path, lock).unwrap();
    assert_ne!(fs::read(&path).unwrap(), before);
    // as if the keys were replaced while the passphrase is typed
    let other = keys("tfhe/toy").secret;
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
    let good = records(&world.at("locked"));
    world.forge(world.id(), &good);
    world.unlock("bad").unwrap();
    let refused = |id, records: &[Record], words: &str| {
        world.forge(id, records);
        let error = world.unlock("bad").unwrap_err().to_string();
        assert!(error.contains(words), "{words}: {error}");
    };
    refused(KeyId([1; 16]), &good, WRONG);
    // an allowed cost that is not the file's, salt, nonce, first and last byte of the encrypted key, and its tag
    let last = good[1].2.len() - 1;
    let body = [0, last - 16, last - 15, last].map(|at| (1, at, 1));
    for (record, at, bits) in [(0, 5, 3), (0, 13, 1), (0, 28, 1), (0, 29, 1), (0, 52, 1)]
        .into_iter()
        .chain(body)
    {
        let mut bad = good.clone();
        bad[record].2[at] ^= bits;
        refused(world.id(), &bad, WRONG);
    }
    type Change = fn(&mut Vec<Record>);
    let changes: [(Change, &str); 9] = [
        (|r| r[1].2.truncate(15), WRONG),
        (|r| r[1].2.clear(), WRONG),
        (|r| r[1].2.resize(1 << 21, 0), "expected at most 1048576"),
        (|r| drop(r.pop()), "file has 1 records, expected 2"),
        (|r| r.push(r[1].clone()), "file has 3 records, expected 2"),
        (|r| r[1].0 = 4, "tag 4, expected 3"),
        (|r| r[0].0 = 4, "this secret key has no passphrase"),
        (|r| r[0].2.push(0), "protection has 54 bytes, expected 53"),
        (|r| r[0].2[0] = 2, "expected method 1"),
    ];
    for (change, words) in changes {
        let mut bad = good.clone();
        change(&mut bad);
        refused(world.id(), &bad, words);
    }
}

/// Opening or inspecting a changed file must not exhaust memory or time.
#[test]
fn the_cost_that_a_file_asks_for_is_bounded() {
    let world = World::new("tfhe/toy");
    let key = world.unlock("locked").unwrap();
    let memory = "memory of Argon2id in KiB is 4294967295, expected at most 1048576";
    let work = "memory times passes of Argon2id in KiB is 5242880, expected at most 4194304";
    let lanes = "lanes of Argon2id is 65, expected at most 64";
    let malformed = "cost of Argon2id is malformed, expected 1 lane and 1 pass at least";
    for (cost, words) in [
        ([u32::MAX, 1, 1], memory),
        ([(1 << 20) + 1, 1, 1], "expected at most 1048576"),
        ([1 << 20, 5, 1], work),
        ([8, u32::MAX, 1], "memory times passes"),
        ([1 << 16, 65, 4], "memory times passes"),
        ([1 << 16, 1, 65], lanes),
        ([1 << 16, 1, u32::MAX], "lanes of Argon2id"),
        ([0, 0, 0], malformed),
        ([7, 1, 1], malformed),
        ([31, 1, 4], malformed),
        ([16, 0, 1], malformed),
        ([16, 1, 0], malformed),
    ] {
        world.forge_cost(cost);
        for error in [
            world.unlock("bad").unwrap_err(),
            SecretKey::open(world.at("bad")).unwrap_err(),
            inspect(world.at("bad")).unwrap_err(),
        ] {
            let error = error.to_string();
            assert!(error.contains(words), "{words}: {error}");
        }
        // such a file cannot be written either
        let [memory_kib, passes, lanes] = cost;
        let cost = KdfCost {
            memory_kib,
            passes,
            lanes,
        };
        let saved = key.save(world.at("new"), false, Some((&world.passphrase, cost)));
        assert!(saved.is_err() && !world.at("new").exists());
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
    let endless = Passphrase::read(std::io::repeat(b'x'), "file");
    for (read, found) in [
        (read(b""), "nothing"),
        (read(b"\r\n"), "nothing"),
        (read(b"a\nb\n"), "more than one line"),
        (read(b"\na"), "more than one line"),
        (read(&[b'x'; 1025]), "more than 1024 bytes"),
        (endless, "more than 1024 bytes"),
        (Passphrase::new(b""), "nothing"),
    ] {
        let error = read.unwrap_err().to_string();
        let expected = format!("found {found}, expected one line");
        assert!(error.contains(&expected), "{error}");
    }
}

#[test]
fn debug_output_shows_no_secret() {
    let world = World::new("tfhe/toy");
    assert_eq!(format!("{:?}", world.passphrase), "Passphrase(..)");
    let text = format!("{:?}", world.unlock("locked").unwrap());
    let start = "SecretKey { set: Set(\"tfhe/toy\"), id: KeyId(";
    assert!(text.starts_with(start), "{text}");
    assert!(text.ends_with("), .. }") && text.len() < 100, "{text}");
}
