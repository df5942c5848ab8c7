//! Files with correct checksums but false contents, or of other versions, give errors: no wrong results, no panics.

#![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

use crate::common::{Claims, IV, KEY, Record, forged, part, records};
use homaes::{
    AesKey, DecryptOptions, DecryptReport, Error, ErrorKind, EvalKey, Expect, Output, Result,
    SecretKey, WrappedKey, inspect,
};
use homaes_wire::{Encoder, Kind};
use std::fs;
use std::path::PathBuf;

const BYTES: u64 = 33 * 16;

struct World {
    inner: crate::common::World,
    /// A valid `.hct` file of 33 blocks: three batches.
    records: Vec<Record>,
}

impl World {
    fn new() -> Self {
        Self::of("bgv/toy-255")
    }

    fn of(set: &str) -> Self {
        let inner = crate::common::World::with_files(set);
        let path = inner.at("o.hct");
        fs::write(&path, inner.results(part(&[0; BYTES as usize]))).unwrap();
        let records = records(&path);
        Self { inner, records }
    }

    fn at(&self, name: &str) -> PathBuf {
        self.inner.at(name)
    }

    fn claims(&self, kind: Kind) -> Claims<'static> {
        self.inner.claims(kind)
    }

    fn write(&self, claims: Claims<'_>, records: &[Record]) -> PathBuf {
        fs::write(self.at("bad"), forged(claims, records)).unwrap();
        self.at("bad")
    }

    fn decrypt(&self, records: &[Record], options: DecryptOptions<'_>) -> Result<DecryptReport> {
        let path = self.write(self.claims(Kind::Ciphertext), records);
        let output = Output::create(self.at("x"), true).unwrap();
        let secret = &self.inner.keys.secret;
        let report = secret.decrypt_with(path, output, options);
        assert_eq!(self.at("x").exists(), report.is_ok());
        report
    }

    /// The error after `change`, which decryption and inspection must agree on.
    fn refused(&self, change: impl Fn(&mut Vec<Record>)) -> String {
        let mut records = self.records.clone();
        change(&mut records);
        let error = self.decrypt(&records, DecryptOptions::default());
        let error = error.unwrap_err().to_string();
        let inspected = inspect(self.at("bad")).unwrap_err().to_string();
        assert_eq!(inspected, error);
        error
    }

    /// Reads the file `bad` as the kind in its header.
    fn open(&self, kind: Kind) -> Result<()> {
        let path = self.at("bad");
        let keys = &self.inner.keys;
        match kind {
            Kind::SecretKey => SecretKey::open(path).map(drop),
            Kind::EvalKey => EvalKey::open(path).map(drop),
            Kind::WrappedKey => WrappedKey::open(path, &keys.eval).map(drop),
            _ => {
                let output = Output::create(self.at("x"), false)?;
                keys.secret.decrypt(path, output).map(drop)
            }
        }
    }
}

/// First record: mode and layout, AES key bits and level, then message bytes, blocks and blocks per batch.
fn meta(names: &str, numbers: [u16; 2], lengths: [u64; 3]) -> Record {
    let names = names.split(' ').fold(Encoder::new(), Encoder::str);
    let body = numbers.into_iter().fold(names, Encoder::u16);
    let body = lengths.into_iter().fold(body, Encoder::u64);
    let body = body.sized_bytes(&IV).sized_bytes(&[]).sized_bytes(&[]);
    (1, 0, body.finish())
}

#[test]
fn the_message_record_must_fit_the_file() {
    let world = World::new();
    let (right, lengths) = ([128, 1], [BYTES, 33, 16]);
    let good = meta("ctr sliced", right, lengths);
    assert_eq!(world.records[0], good);
    let modes = "mode is malformed, expected ecb, cbc, cfb, ctr, gcm, ctr64, ctr32, ctr-le, ctr64-le or ctr32-le";
    let no_iv = "iv is malformed, expected none in mode ecb";
    let packed = "has no layout packed, expected sliced or bits";
    let layouts = "layout is malformed, expected packed, sliced or bits";
    let per_batch = "blocks per batch: found 15, expected 16";
    let length = "expected a length that its mode allows";
    let blocks = "AES blocks is malformed";
    for (names, numbers, lengths, words) in [
        ("ofb sliced", right, lengths, modes),
        ("gcm sliced", right, lengths, "iv is malformed, expected 12"),
        ("ecb sliced", right, lengths, no_iv),
        ("cbc sliced", right, [527, 33, 16], length),
        ("ctr packed", right, lengths, packed),
        ("ctr striped", right, lengths, layouts),
        ("ctr sliced", [129, 1], lengths, "AES key bits"),
        ("ctr sliced", [128, 0], lengths, "expected at least 1"),
        ("ctr sliced", [128, 58], lengths, "found 58, expected 57"),
        (
            "ctr sliced",
            [128, 2],
            lengths,
            "bytes of a batch: found 4880",
        ),
        ("ctr sliced", right, [528, 34, 16], blocks),
        ("ctr sliced", right, [528, 33, 0], blocks),
        ("ctr sliced", right, [769, 49, 16], "5 records, expected 6"),
        ("ctr sliced", right, [512, 32, 16], "5 records, expected 4"),
        ("ctr sliced", right, [u64::MAX, 1 << 60, 16], "records"),
        ("ctr sliced", right, [528, 33, 15], per_batch),
    ] {
        let error = world.refused(|records| records[0] = meta(names, numbers, lengths));
        assert!(error.contains(words), "{words}: {error}");
    }
    for (tag, body, words) in [
        (1, vec![0; 257 + (1 << 20)], "at most 1048832"),
        (1, Vec::new(), "mode needs 4 bytes, only 0 are left"),
        (7, good.2, "tag 7, expected 1"),
    ] {
        let error = world.refused(|records| records[0] = (tag, 0, body.clone()));
        assert!(error.contains(words), "{words}: {error}");
    }
}

/// The server states the mode, so it can present a GCM message as CTR, which has no tag.
#[test]
fn a_tag_can_be_left_out_unless_it_is_asked_for() {
    let world = World::new();
    let body = Encoder::new().str("gcm").str("sliced").u16(128).u16(1);
    let body = [BYTES, 33, 16].into_iter().fold(body, Encoder::u64);
    let body = body.sized_bytes(&[2; 12]).sized_bytes(&[3; 16]);
    let mut gcm = world.records.clone();
    gcm[0] = (1, 0, body.sized_bytes(b"aad").finish());
    let key = AesKey::from_bytes(&KEY).unwrap();
    let log = world.at("log");
    let any = DecryptOptions::default();
    let with_key = DecryptOptions {
        aes_key: Some(&key),
        ..any
    };
    let expect = Expect {
        mode: Some("gcm"),
        ..Expect::default()
    };
    let expected = DecryptOptions { expect, ..any };
    let recorded = DecryptOptions {
        replay_log: Some(&log),
        ..any
    };
    let unchecked = DecryptOptions {
        unauthenticated: true,
        ..recorded
    };
    // as CTR, it is refused only by options that ask for a mode, a key or a log
    let ctr = &world.records;
    for (records, options, kind) in [
        (&gcm, any, ErrorKind::Unchecked),
        (&gcm, with_key, ErrorKind::Tag),
        (ctr, with_key, ErrorKind::NoTag),
        (ctr, expected, ErrorKind::Unexpected),
        (ctr, recorded, ErrorKind::ReplayUnchecked),
        (&gcm, unchecked, ErrorKind::ReplayUnchecked),
    ] {
        let error = world.decrypt(records, options).unwrap_err();
        assert_eq!(error.kind(), kind, "{error}");
    }
    assert!(!log.exists());
    assert_eq!(world.decrypt(ctr, any).unwrap().bytes, BYTES);
}

#[test]
fn the_record_of_steps_must_have_one_per_round() {
    let world = World::new();
    let good = &world.records[4];
    assert_eq!((good.0, good.1, good.2.len()), (3, 0, 11 * 26));
    type Change = fn(&mut Vec<u8>);
    let cases: [(Change, &str); 4] = [
        (|body| body.truncate(10 * 26), "level of a step needs 2"),
        (|body| body.push(0), "at most 286"),
        (|body| body[2..10].fill(0xff), "noise bits of a step is"),
        (|body| body[25] |= 0x80, "seconds of a step is malformed"),
    ];
    for (change, words) in cases {
        let error = world.refused(|records| change(&mut records[4].2));
        assert!(error.contains(words), "{words}: {error}");
    }
}

#[test]
fn batches_must_be_complete_and_in_order() {
    batches_must_be_complete(&World::new());
}

/// The first two batches are the halves of one batch of AES.
#[test]
fn halves_of_a_batch_must_be_complete_and_in_order() {
    batches_must_be_complete(&World::of("bgv/toy-k-255"));
}

fn batches_must_be_complete(world: &World) {
    type Change = fn(&mut Vec<Record>);
    let cases: [(Change, &str); 9] = [
        (|r| r.swap(1, 2), "batches in order"),
        (|r| drop(r.pop()), "file has 4 records, expected 5"),
        (|r| r.push(r[3].clone()), "file has 6 records, expected 5"),
        (|r| r[2].0 = 9, "tag 9, expected 2"),
        (|r| r[4].0 = 2, "tag 2, expected 3"),
        (|r| r[2].2.truncate(9), "batch 1"),
        (|r| r[2].2.push(0), ""),
        (|r| r[2].2.clear(), "batch 1"),
        (|r| r[2].2.fill(0xff), "batch 1"),
    ];
    for (change, words) in cases {
        let error = world.refused(change);
        assert!(error.contains(words), "{words}: {error}");
    }
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
    let error = world.decrypt(&records, DecryptOptions::default());
    let error = error.unwrap_err().to_string();
    assert!(error.contains("batch 0"), "{error}");
}

#[test]
fn other_versions_of_a_set_and_unknown_sets_are_named() {
    let world = World::new();
    let mut claims = world.claims(Kind::Ciphertext);
    claims.2[0] ^= 1;
    let path = world.write(claims, &world.records);
    let inspected: Result<(), Error> = inspect(path).map(drop);
    for found in [inspected, world.open(Kind::Ciphertext)] {
        let error = found.unwrap_err().to_string();
        let words = "parameter set bgv/toy-255 has changed";
        assert!(error.contains(words), "{error}");
    }
    for kind in [
        Kind::SecretKey,
        Kind::EvalKey,
        Kind::WrappedKey,
        Kind::Ciphertext,
    ] {
        let (_, _, digest, id) = world.claims(kind);
        let path = world.write((kind, "tfhe/later", digest, id), &world.records);
        let error = world.open(kind).unwrap_err().to_string();
        assert!(error.contains("tfhe/later"), "{error}");
        // inspection works
        let found = inspect(path).unwrap();
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
        let good = records(&world.at(name));
        let inspected = inspect(world.at(name)).unwrap();
        assert_eq!(inspected.records.values().sum::<u64>(), good.len() as u64);
        for change in 0..4 {
            let mut bad = good.clone();
            match change {
                0 => drop(bad.pop()),
                1 => bad.push(good[0].clone()),
                2 => bad[0].2.push(0),
                _ => bad.iter_mut().for_each(|record| record.2.fill(0xff)),
            }
            let path = world.write(world.claims(kind), &bad);
            let error = world.open(kind).unwrap_err().to_string();
            assert!(error.contains("bad: "), "{name} {change}: {error}");
            // keys of a set have one length
            if change < 3 && kind != Kind::WrappedKey {
                let error = inspect(path).unwrap_err().to_string();
                assert!(error.contains("record bytes in all: found"), "{error}");
            }
        }
    }
}
