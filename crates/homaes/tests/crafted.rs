//! Files with correct checksums but false contents, or of other versions, give errors: no wrong results, no panics.

#![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

use homaes::{
    AesFile, AesKey, DecryptOptions, ErrorKind, EvalKey, Expect, KeySet, Mode, Output, SecretKey,
    Set, Transcipher, WrapOptions, WrappedKey, inspect,
};
use homaes_wire::{Contents, Encoder, Header, KeyId, Kind, OutputOptions, Reader, Writer};
use std::fs;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// Tag, index, body.
type Record = (u16, u64, Vec<u8>);

struct World {
    folder: TempDir,
    keys: KeySet,
    /// Records of a valid `.hct` file of 33 blocks: three batches.
    records: Vec<Record>,
}

/// Header fields that a test can falsify.
struct Claims<'c> {
    kind: Kind,
    set: &'c str,
    digest: [u8; 32],
    id: KeyId,
}

impl World {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        let set = Set::named("bgv/toy-255").unwrap();
        let keys = KeySet::create(&set, at("keys")).unwrap();
        let key = AesKey::from_bytes(&[1; 16]).unwrap();
        let wrapping = WrapOptions::default();
        let path = at("key.hwk");
        let wrapped = WrappedKey::create(&keys.secret, &key, &wrapping, path, false).unwrap();
        fs::write(at("c"), [0; 33 * 16]).unwrap();
        let job = AesFile::open(at("c"), Mode::Ctr { iv: [2; 16] }).unwrap();
        let run = Transcipher::new(&keys.eval, &wrapped).unwrap();
        run.run(job, Output::create(at("o.hct"), false).unwrap())
            .unwrap();
        drop(run);
        let records = read(&at("o.hct"));
        Self {
            folder,
            keys,
            records,
        }
    }

    fn at(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn claims(&self, kind: Kind) -> Claims<'static> {
        let digest = *self.keys.secret.set().digest();
        let id = self.keys.secret.id();
        Claims {
            kind,
            set: "bgv/toy-255",
            digest,
            id,
        }
    }

    fn write(&self, claims: &Claims<'_>, records: &[Record]) -> PathBuf {
        let contents = records
            .iter()
            .fold(Contents::default(), |sum, (_, _, body)| {
                sum.record(body.len() as u64)
            });
        let header =
            Header::new(claims.kind, claims.set, claims.digest, claims.id, contents).unwrap();
        let force = OutputOptions {
            force: true,
            private: false,
        };
        let mut writer = Writer::create(self.at("bad"), force, header).unwrap();
        for (tag, index, body) in records {
            writer.write_record(*tag, *index, body).unwrap();
        }
        writer.commit().unwrap();
        self.at("bad")
    }

    /// The error of an `.hct` file with these records; decryption and inspection must give the same one.
    fn refused(&self, records: &[Record]) -> String {
        let path = self.write(&self.claims(Kind::Ciphertext), records);
        let inspected = inspect(&path).unwrap_err().to_string();
        let output = Output::create(self.at("x"), false).unwrap();
        let decrypted = self
            .keys
            .secret
            .decrypt(&path, output)
            .unwrap_err()
            .to_string();
        assert!(!self.at("x").exists());
        assert_eq!(inspected, decrypted);
        decrypted
    }
}

fn read(path: &Path) -> Vec<Record> {
    let mut reader = Reader::open_any(path).unwrap();
    let mut records = Vec::new();
    while let Some(mut record) = reader.begin_any().unwrap() {
        let head = record.head();
        let mut body = vec![0; head.len as usize];
        record.read_exact(&mut body).unwrap();
        record.finish().unwrap();
        records.push((head.tag, head.index, body));
    }
    records
}

/// First record: mode, layout, (AES key bits, level), (message bytes, blocks, blocks per batch).
fn meta(mode: &str, layout: &str, numbers: [u16; 2], lengths: [u64; 3]) -> Record {
    let body = Encoder::new().str(mode).str(layout);
    let body = numbers.into_iter().fold(body, Encoder::u16);
    let body = lengths.into_iter().fold(body, Encoder::u64);
    let body = body.sized_bytes(&[2; 16]).sized_bytes(&[]).sized_bytes(&[]);
    (1, 0, body.finish())
}

#[test]
fn the_message_record_must_fit_the_file() {
    let world = World::new();
    let good = meta("ctr", "sliced", [128, 1], [33 * 16, 33, 16]);
    assert_eq!(world.records[0], good);
    let (right, lengths) = ([128, 1], [528, 33, 16]);
    let cases = [
        (
            meta("ofb", "sliced", right, lengths),
            "mode is malformed, expected ecb, cbc, cfb, ctr, gcm, ctr64, ctr32, ctr-le, ctr64-le or ctr32-le",
        ),
        (
            meta("gcm", "sliced", right, lengths),
            "iv is malformed, expected 12 bytes",
        ),
        (
            meta("ecb", "sliced", right, lengths),
            "iv is malformed, expected none in mode ecb",
        ),
        (
            meta("cbc", "sliced", right, [527, 33, 16]),
            "expected a length that its mode allows",
        ),
        (
            meta("ctr", "packed", right, lengths),
            "has no layout packed, expected sliced or bits",
        ),
        (
            meta("ctr", "striped", right, lengths),
            "layout is malformed, expected packed, sliced or bits",
        ),
        (meta("ctr", "sliced", [129, 1], lengths), "AES key bits"),
        (
            meta("ctr", "sliced", [128, 0], lengths),
            "level is malformed, expected at least 1",
        ),
        (
            meta("ctr", "sliced", [128, 58], lengths),
            "level: found 58, expected 57",
        ),
        (
            meta("ctr", "sliced", [128, 2], lengths),
            "level: found 1, expected 2",
        ),
        (
            meta("ctr", "sliced", right, [528, 34, 16]),
            "AES blocks is malformed",
        ),
        (
            meta("ctr", "sliced", right, [528, 33, 0]),
            "AES blocks is malformed",
        ),
        (
            meta("ctr", "sliced", right, [768 + 1, 49, 16]),
            "file has 5 records, expected 6",
        ),
        (
            meta("ctr", "sliced", right, [512, 32, 16]),
            "file has 5 records, expected 4",
        ),
        (
            meta("ctr", "sliced", right, [u64::MAX, 1 << 60, 16]),
            "records",
        ),
        (
            meta("ctr", "sliced", right, [528, 33, 15]),
            "blocks per batch: found 15, expected 16",
        ),
        ((1, 0, vec![0; 257 + (1 << 20)]), "at most 1048832"),
        ((1, 0, Vec::new()), "mode needs 4 bytes, only 0 are left"),
        ((7, 0, good.2), "tag 7, expected 1"),
    ];
    for (first, words) in cases {
        let mut records = world.records.clone();
        records[0] = first;
        let error = world.refused(&records);
        assert!(error.contains(words), "{words}: {error}");
    }
}

/// The server states the mode, so it can present a GCM message as CTR, which has no tag.
#[test]
fn a_tag_can_be_left_out_unless_it_is_asked_for() {
    let world = World::new();
    let body = Encoder::new().str("gcm").str("sliced").u16(128).u16(1);
    let body = [33 * 16, 33, 16].into_iter().fold(body, Encoder::u64);
    let body = body.sized_bytes(&[2; 12]).sized_bytes(&[3; 16]);
    let mut gcm = world.records.clone();
    gcm[0] = (1, 0, body.sized_bytes(b"aad").finish());
    let key = AesKey::from_bytes(&[1; 16]).unwrap();
    let any = DecryptOptions::default();
    let with_key = DecryptOptions {
        aes_key: Some(&key),
        ..any
    };
    let expected = DecryptOptions {
        expect: Expect {
            mode: Some("gcm"),
            ..Expect::default()
        },
        ..any
    };
    let log = world.at("log");
    let recorded = DecryptOptions {
        replay_log: Some(&log),
        ..any
    };
    let decrypt = |records: &[Record], options| {
        let path = world.write(&world.claims(Kind::Ciphertext), records);
        let output = Output::private(world.at("x"), true).unwrap();
        world.keys.secret.decrypt_with(path, output, options)
    };
    let error = decrypt(&gcm, any).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unchecked, "{error}");
    let error = decrypt(&gcm, with_key).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Tag, "{error}");
    // as CTR, it is refused only by options that ask for a mode, a key or a log
    let ctr = &world.records;
    let error = decrypt(ctr, with_key).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NoTag, "{error}");
    let error = decrypt(ctr, expected).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unexpected, "{error}");
    let error = decrypt(ctr, recorded).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::ReplayUnchecked, "{error}");
    let unchecked = DecryptOptions {
        unauthenticated: true,
        ..recorded
    };
    let error = decrypt(&gcm, unchecked).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::ReplayUnchecked, "{error}");
    assert!(!log.exists() && !world.at("x").exists());
    assert_eq!(decrypt(ctr, any).unwrap().bytes, 33 * 16);
}

#[test]
fn the_record_of_steps_must_have_one_per_round() {
    let world = World::new();
    let good = world.records[4].clone();
    assert_eq!((good.0, good.1, good.2.len()), (3, 0, 11 * 26));
    type Change = fn(&mut Record);
    let cases: [(Change, &str); 5] = [
        (|record| record.0 = 2, "tag 2, expected 3"),
        (
            |record| record.2.truncate(10 * 26),
            "level of a step needs 2",
        ),
        (|record| record.2.push(0), "at most 286"),
        (
            |record| record.2[2..10].fill(0xff),
            "noise bits of a step is malformed",
        ),
        (
            |record| record.2[25] |= 0x80,
            "seconds of a step is malformed",
        ),
    ];
    for (change, words) in cases {
        let mut records = world.records.clone();
        change(&mut records[4]);
        let error = world.refused(&records);
        assert!(error.contains(words), "{words}: {error}");
    }
}

#[test]
fn batches_must_be_complete_and_in_order() {
    let world = World::new();
    let changed = |change: &dyn Fn(&mut Vec<Record>)| {
        let mut records = world.records.clone();
        change(&mut records);
        world.refused(&records)
    };
    assert!(changed(&|r| r.swap(1, 2)).contains("batches in order"));
    assert!(changed(&|r| drop(r.pop())).contains("file has 4 records, expected 5"));
    assert!(changed(&|r| r.push(r[3].clone())).contains("file has 6 records, expected 5"));
    assert!(changed(&|r| r[2].0 = 9).contains("tag 9, expected 2"));
    changed(&|r| r[2].2.truncate(9));
    changed(&|r| r[2].2.push(0));
    changed(&|r| r[2].2.clear());
    changed(&|r| r[2].2.fill(0xff));
}

#[test]
fn a_result_that_is_not_bytes_is_noticed() {
    let world = World::new();
    let mut records = world.records.clone();
    // clearing bits keeps residues in range: the file is well-formed, and only decryption can notice
    let middle = records[1].2.len() / 2;
    for byte in &mut records[1].2[middle..middle + 24] {
        *byte &= 0x24;
    }
    let path = world.write(&world.claims(Kind::Ciphertext), &records);
    let output = Output::create(world.at("x"), false).unwrap();
    let error = world.keys.secret.decrypt(&path, output).unwrap_err();
    assert!(error.to_string().contains("batch 0"), "{error}");
    assert!(!world.at("x").exists());
}

#[test]
fn other_versions_of_a_set_and_unknown_sets_are_named() {
    let world = World::new();
    let records = &world.records;
    let mut claims = world.claims(Kind::Ciphertext);
    claims.digest[0] ^= 1;
    let path = world.write(&claims, records);
    let output = || Output::create(world.at("x"), false).unwrap();
    for error in [
        inspect(&path).unwrap_err(),
        world.keys.secret.decrypt(&path, output()).unwrap_err(),
    ] {
        assert!(
            error
                .to_string()
                .contains("parameter set bgv/toy-255 has changed"),
            "{error}"
        );
    }
    for kind in [
        Kind::SecretKey,
        Kind::EvalKey,
        Kind::WrappedKey,
        Kind::Ciphertext,
    ] {
        let claims = Claims {
            set: "tfhe/later",
            ..world.claims(kind)
        };
        let path = world.write(&claims, records);
        let error = match kind {
            Kind::SecretKey => SecretKey::open(&path).unwrap_err(),
            Kind::EvalKey => EvalKey::open(&path).unwrap_err(),
            Kind::WrappedKey => WrappedKey::open(&path, &world.keys.eval).unwrap_err(),
            Kind::Ciphertext => world.keys.secret.decrypt(&path, output()).unwrap_err(),
            Kind::Shard | Kind::Computed | Kind::BridgeKey | Kind::Values => {
                unreachable!("not among those above")
            }
        };
        assert!(error.to_string().contains("tfhe/later"), "{error}");
        // it can be inspected
        let found = inspect(&path).unwrap();
        assert!(found.set.is_none() && found.messages.is_none());
        assert_eq!((found.set_name.as_str(), found.kind), ("tfhe/later", kind));
    }
}

#[test]
fn keys_with_other_records_are_refused() {
    let world = World::new();
    for (name, kind) in [
        ("keys/secret.hsk", Kind::SecretKey),
        ("keys/eval.hek", Kind::EvalKey),
        ("key.hwk", Kind::WrappedKey),
    ] {
        let good = read(&world.at(name));
        for change in 0..4 {
            let mut bad = good.clone();
            match change {
                0 => drop(bad.pop()),
                1 => bad.push(good[0].clone()),
                2 => bad[0].2.push(0),
                _ => bad.iter_mut().for_each(|record| record.2.fill(0xff)),
            }
            let path = world.write(&world.claims(kind), &bad);
            let opened = match kind {
                Kind::SecretKey => SecretKey::open(&path).map(drop),
                Kind::EvalKey => EvalKey::open(&path).map(drop),
                _ => WrappedKey::open(&path, &world.keys.eval).map(drop),
            };
            let error = opened.unwrap_err().to_string();
            assert!(error.contains("bad: "), "{name} {change}: {error}");
        }
    }
}

#[test]
fn keys_have_all_their_records() {
    let world = World::new();
    for (name, kind) in [
        ("keys/eval.hek", Kind::EvalKey),
        ("keys/secret.hsk", Kind::SecretKey),
    ] {
        let path = world.at(name);
        let mut records = read(&path);
        let found = inspect(&path).unwrap();
        assert_eq!(found.records.values().sum::<u64>(), records.len() as u64);
        records.pop();
        let bad = world.write(&world.claims(kind), &records);
        let error = inspect(&bad).unwrap_err().to_string();
        assert!(error.contains("record bytes in all: found"), "{error}");
        let opened = match kind {
            Kind::EvalKey => EvalKey::open(&bad).map(drop),
            _ => SecretKey::open(&bad).map(drop),
        };
        assert!(opened.is_err());
    }
}
