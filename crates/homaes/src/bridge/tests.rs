//! Results that cross to a user's key, through files.

#![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

use super::*;
use crate::bridge::crossed_file::CrossedFile;
use crate::{AesFile, AesKey, Detail, KeySet, Memory, Mode, Transcipher, WrapOptions, inspect};
use ctr::cipher::{KeyIvInit, StreamCipher};
use homaes_bridge::Target;
use homaes_wire::{Contents, Header, Writer};

#[test]
#[ignore = "nightly: the command's test of a bridge always runs"]
fn nightly_results_cross_to_the_key_of_a_user() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let output = |name: &str| Output::create(at(name), false).unwrap();
    let set = Set::named("bgv/toy-4369").unwrap();
    let keys = KeySet::generate(&set).unwrap();
    let bits: Vec<u64> = (0..256).map(|i| i * i / 3 % 2).collect();
    let target = Target {
        id: KeyId([5; 16]),
        other: Other::User {
            pattern: 1,
            tag: b"mine".to_vec(),
        },
    };
    let bridge = BridgeKey::with(&keys.secret, |own, rng| {
        homaes_bridge::BridgeKey::generate(own, &bits, target.clone(), rng)
    });
    bridge.unwrap().save(output("b")).unwrap();
    let bridge = BridgeKey::open(at("b"), &keys.eval).unwrap();
    let message: Vec<u8> = (0..33 * 16 - 7).map(|i| (i * i / 7) as u8).collect();
    let mut encrypted = message.clone();
    let (key, iv) = ([3; 16].into(), [0; 16].into());
    ctr::Ctr128BE::<aes::Aes128>::new(&key, &iv).apply_keystream(&mut encrypted);
    let run = |levels| {
        let wrapping = WrapOptions {
            layouts: vec![Layout::Sliced],
            levels_left: Some(levels),
            ..WrapOptions::default()
        };
        let aes_key = AesKey::from_bytes(&[3; 16]).unwrap();
        let wrapped = WrappedKey::encrypt(&keys.secret, &aes_key, &wrapping).unwrap();
        let run = Transcipher::new(&keys.eval, &wrapped)?.via_bridge(&bridge)?;
        let part = Memory::new(encrypted.clone(), "c");
        let part = AesFile::of(part, Mode::Ctr { iv: [0; 16] })?;
        run.run(part, output("o"))
    };
    let error = run(0).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::BridgeLevels(5));
    assert_eq!(error.details(), Some([0, 5].map(Detail::Number)));
    let report = run(LIFT_LEVEL - 1).unwrap();
    assert!(report.quality.unwrap().capacity_bits > 4.0);
    // one batch: at most 2^-64 by AES and 2^-64 by the crossing
    assert_eq!(report.log2_p_fail(), Some(-63.0));
    let found = inspect(at("o")).unwrap();
    let end = found.end.unwrap();
    assert_eq!((found.kind, end.key_id), (Kind::Values, target.id));
    assert_eq!(end.tag.as_deref(), Some(&b"mine"[..]));
    let messages = found.messages.unwrap();
    assert_eq!(messages.meta.split.bytes, message.len() as u64);
    assert_eq!(messages.log2_p_fail, Some(-63.0));
    let reader = Reader::open(at("o"), Kind::Values).unwrap();
    let mut values = CrossedFile::new(reader.boxed(), set).unwrap();
    assert_eq!(values.end, target.other);
    let mut back = Vec::new();
    while let Some(batch) = values.next().unwrap() {
        let lwes = homaes_bridge::decode_lwes(batch.bytes());
        let pairs = lwes.chunks_exact(257).map(|lwe| {
            let products = lwe.iter().zip(&bits).map(|(a, z)| a.wrapping_mul(*z));
            let phase = products.fold(lwe[256], u64::wrapping_sub);
            (phase.wrapping_add(1 << 58) >> 59) as u8
        });
        let pairs: Vec<u8> = pairs.collect();
        assert!(pairs.iter().all(|pair| *pair < 4));
        let byte = |p: &[u8]| p[0] | p[1] << 2 | p[2] << 4 | p[3] << 6;
        back.extend(pairs.chunks_exact(4).map(byte));
    }
    assert_eq!(values.into_parts().1.len(), 11);
    assert_eq!(back[..message.len()], message);
    lies_are_refused(&at("o"), &at("bad"));
    // every byte of the file is covered by a check
    let file = std::fs::read(at("o")).unwrap();
    for place in (0..file.len()).step_by(file.len() / 60) {
        let mut bad = file.clone();
        bad[place] ^= 4;
        std::fs::write(at("bad"), &bad).unwrap();
        assert!(inspect(at("bad")).is_err(), "{place}");
    }
}

/// The file does not record the layout of AES, which may have been packed, in batches of 128 blocks.
#[test]
fn values_count_the_most_batches_that_they_can_come_from() {
    let set = Set::named("bgv/bridge128").unwrap();
    let end = Other::Link { log2_t: 8 };
    let found = |blocks| values_log2_p_fail(&set, &end, blocks);
    assert_eq!(found(0..0), None);
    for (blocks, batches) in [(0..1, 1), (0..128, 1), (100..129, 2), (0..2048, 16)] {
        let expected = (f64::from(batches) * ((-64f64).exp2() + (-66f64).exp2())).log2();
        assert_eq!(found(blocks), Some(expected));
    }
}

/// The checksums are right, but the records do not fit their blocks.
fn lies_are_refused(good: &Path, bad: &Path) {
    let mut reader = Reader::open(good, Kind::Values).unwrap();
    let header = reader.header().clone();
    let record = |(tag, index)| {
        let (found, body) = reader.next_indexed(tag, 1 << 24).unwrap();
        assert_eq!(found, index);
        (tag, index, body)
    };
    let records = [(1, 0), (4, 0), (2, 0), (2, 1), (3, 0)].map(record);
    let refused = |set: &Set, number: usize, change: &dyn Fn(&mut Vec<u8>)| {
        let mut records = records.clone();
        change(&mut records[number].2);
        let lengths = records.iter().map(|record| record.2.len() as u64);
        let contents = lengths.fold(Contents::default(), Contents::record);
        let (name, id) = (set.name(), header.key_id());
        let header = Header::new(Kind::Values, name, *set.digest(), id, contents).unwrap();
        let mut writer = Writer::new(Vec::new(), header).unwrap();
        for (tag, index, body) in &records {
            writer.write_record(*tag, *index, body).unwrap();
        }
        std::fs::write(bad, writer.finish().unwrap()).unwrap();
        inspect(bad).unwrap_err().to_string()
    };
    let set = Set::named(header.set()).unwrap();
    for len in [0, 4, 192] {
        let error = refused(&set, 3, &|body| body.truncate(len));
        assert!(error.contains("ciphertexts is malformed"), "{error}");
    }
    let tfhe = Set::named("tfhe/toy").unwrap();
    let error = refused(&tfhe, 3, &|body| body.clear());
    assert!(error.contains("set is malformed"), "{error}");
    // layout sliced for bits
    let error = refused(&set, 0, &|meta| {
        let at = meta.windows(4).position(|w| w == b"bits").unwrap();
        meta.splice(at - 4..at + 4, *b"\x06\0\0\0sliced");
    });
    assert!(error.contains("layout or level"), "{error}");
}

/// Files of results under a link key whose checksums are right, but whose records are of another kind or length.
#[test]
fn lies_about_a_link_are_refused() {
    let golden = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../interop/lattigo/testdata/toy.hrl"
    );
    let mut reader = Reader::open(golden, Kind::Packed).unwrap();
    let header = reader.header().clone();
    let set = Set::named(header.set()).unwrap();
    let batches = (0..6).map(|i| (2, i));
    let records: Vec<_> = [(1, 0), (4, 0)]
        .into_iter()
        .chain(batches)
        .chain([(3, 0)])
        .collect();
    let records: Vec<_> = records
        .into_iter()
        .map(|(tag, index)| (tag, index, reader.next_indexed(tag, 1 << 16).unwrap().1))
        .collect();
    let folder = tempfile::tempdir().unwrap();
    let bad = folder.path().join("bad.hrl");
    let refused = |kind, number: usize, change: &dyn Fn(&mut Vec<u8>)| {
        let mut records = records.clone();
        change(&mut records[number].2);
        let lengths = records.iter().map(|record| record.2.len() as u64);
        let contents = lengths.fold(Contents::default(), Contents::record);
        let header = Header::new(kind, set.name(), *set.digest(), header.key_id(), contents);
        let mut writer = Writer::new(Vec::new(), header.unwrap()).unwrap();
        for (tag, index, body) in &records {
            writer.write_record(*tag, *index, body).unwrap();
        }
        std::fs::write(&bad, writer.finish().unwrap()).unwrap();
        let output = || Output::create(folder.path().join("out"), false).unwrap();
        let error = export_npz(&bad, output(), &mut |_, _| ())
            .err()
            .map(|e| e.to_string());
        assert_eq!(error.is_some(), inspect(&bad).is_err());
        error.unwrap_or_default()
    };
    assert_eq!(refused(Kind::Packed, 0, &|_| ()), "");
    std::fs::remove_file(folder.path().join("out")).unwrap();
    for (number, change, words) in [
        (
            1,
            (|end| end[1] = 12) as fn(&mut Vec<u8>),
            "other side of the bridge is malformed",
        ),
        (
            1,
            |end| *end = b"\x00tfhe/toy".to_vec(),
            "other side of the bridge is malformed",
        ),
        (
            1,
            |end| *end = b"\x01\x00tag".to_vec(),
            "expected a link key",
        ),
        (2, |body| body.truncate(2044), "ciphertexts is malformed"),
        (7, |body| body.extend([0; 4]), "record"),
    ] {
        let error = refused(Kind::Packed, number, &change);
        assert!(error.contains(words), "{number}: {error}");
    }
    assert!(inspect(&bad).is_err() && !folder.path().join("out").exists());
    // the same records as values of another kind
    let error = refused(Kind::Values, 0, &|_| ());
    assert!(error.contains("expected"), "{error}");
}
