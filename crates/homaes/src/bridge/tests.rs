//! Results across to the key of a user, by files.

#![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

use super::*;
use crate::bridge::lwe_file::LweFile;
use crate::{AesFile, AesKey, Detail, KeySet, Mode, Transcipher, WrapOptions, inspect};
use homaes_aes::RoundKeys;
use homaes_aes::clear::encrypt_block;

/// A message of 33 blocks across to the key of a user, read with that key.
#[test]
#[ignore = "nightly: the command's test of a bridge always runs"]
fn nightly_results_cross_to_the_key_of_a_user() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
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
    bridge
        .unwrap()
        .save(Output::create(at("b"), false).unwrap())
        .unwrap();
    let bridge = BridgeKey::open(at("b"), &keys.eval).unwrap();
    let aes_key = AesKey::from_bytes(&[3; 16]).unwrap();
    let wrapping = WrapOptions {
        layouts: vec![Layout::Sliced],
        levels_left: Some(LIFT_LEVEL - 1),
        ..WrapOptions::default()
    };
    let wrapped = WrappedKey::encrypt(&keys.secret, &aes_key, &wrapping).unwrap();
    let shallow = WrapOptions {
        levels_left: Some(0),
        ..wrapping
    };
    let shallow = WrappedKey::encrypt(&keys.secret, &aes_key, &shallow).unwrap();
    let message: Vec<u8> = (0..33 * 16 - 7).map(|i| (i * i / 7) as u8).collect();
    let round_keys = RoundKeys::expand(&[3; 16]).unwrap();
    let mut encrypted = message.clone();
    for (counter, block) in encrypted.chunks_mut(16).enumerate() {
        let key = encrypt_block((counter as u128).to_be_bytes(), &round_keys);
        block.iter_mut().zip(key).for_each(|(x, k)| *x ^= k);
    }
    std::fs::write(at("c"), &encrypted).unwrap();
    let job = AesFile::open(at("c"), Mode::Ctr { iv: [0; 16] }).unwrap();
    let run = Transcipher::new(&keys.eval, &shallow).unwrap();
    let run = run.via_bridge(&bridge).unwrap();
    let job_of = |mode| AesFile::open(at("c"), mode).unwrap();
    let error = run.run(job_of(job.mode()), Output::create(at("o"), false).unwrap());
    let error = error.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::BridgeLevels(5));
    assert_eq!(error.details(), Some([0, 5].map(Detail::Number)));
    let run = Transcipher::new(&keys.eval, &wrapped).unwrap();
    let run = run.via_bridge(&bridge).unwrap();
    let report = run.run(job, Output::create(at("o"), false).unwrap());
    let report = report.unwrap();
    assert!(report.quality.unwrap().capacity_bits > 4.0);
    // one batch: 2^-64 by AES, and as much by its way across
    assert_eq!(report.log2_p_fail(), Some(-63.0));
    let found = inspect(at("o")).unwrap();
    let end = found.end.unwrap();
    assert_eq!((found.kind, end.key_id), (Kind::Values, target.id));
    assert_eq!(end.tag.as_deref(), Some(&b"mine"[..]));
    let messages = found.messages.unwrap();
    assert_eq!(messages.meta.split.bytes, message.len() as u64);
    assert_eq!(messages.log2_p_fail, Some(-63.0));
    let reader = Reader::open(at("o"), Kind::Values).unwrap();
    let mut values = LweFile::new(reader.boxed(), set).unwrap();
    assert_eq!(values.user, target.other);
    let mut back = Vec::new();
    while let Some(batch) = values.next().unwrap() {
        let lwes = homaes_bridge::decode_lwes(batch.bytes());
        let pairs = lwes.chunks_exact(257).map(|lwe| {
            let masked = lwe
                .iter()
                .zip(&bits)
                .fold(lwe[256], |p, (a, z)| p.wrapping_sub(a.wrapping_mul(*z)));
            (masked.wrapping_add(1 << 58) >> 59) as u8
        });
        let pairs: Vec<u8> = pairs.collect();
        assert!(pairs.iter().all(|pair| *pair < 4));
        let byte = |p: &[u8]| p[0] | p[1] << 2 | p[2] << 4 | p[3] << 6;
        back.extend(pairs.chunks_exact(4).map(byte));
    }
    assert_eq!(values.into_parts().1.len(), 11);
    assert_eq!(back[..message.len()], message);
    lies_are_refused(&at("o"), &at("bad"));
    // every byte of the file counts
    let file = std::fs::read(at("o")).unwrap();
    for place in (0..file.len()).step_by(file.len() / 60) {
        let mut bad = file.clone();
        bad[place] ^= 4;
        std::fs::write(at("bad"), &bad).unwrap();
        assert!(inspect(at("bad")).is_err(), "{place}");
    }
}

/// A file of values does not say in which layout AES was evaluated: it may have been packed, in batches of 128 blocks.
#[test]
fn values_count_the_most_batches_that_they_can_come_from() {
    let set = Set::named("bgv/bridge128").unwrap();
    let found = |blocks| values_log2_p_fail(&set, blocks);
    assert_eq!(found(0..0), None);
    for (blocks, batches) in [(0..1, 1), (0..128, 1), (100..129, 2), (0..2048, 16)] {
        let expected = (f64::from(batches) * 2.0 * (-64f64).exp2()).log2();
        assert_eq!(found(blocks), Some(expected));
    }
}

/// Tag, index, body.
type Record = (u16, u64, Vec<u8>);

/// Files whose checksums are right, and whose records are others than their blocks fill.
fn lies_are_refused(good: &Path, bad: &Path) {
    let mut reader = Reader::open(good, Kind::Values).unwrap();
    let header = reader.header().clone();
    let records: Vec<Record> = [(1, 0), (4, 0), (2, 0), (2, 1), (3, 0)]
        .map(|(tag, index)| {
            let (found, body) = reader.next_indexed(tag, 1 << 24).unwrap();
            assert_eq!(found, index);
            (tag, index, body)
        })
        .to_vec();
    let refused = |set: &str, digest: [u8; 32], change: &dyn Fn(&mut Vec<Record>)| {
        let mut records = records.clone();
        change(&mut records);
        let contents = records
            .iter()
            .fold(homaes_wire::Contents::default(), |sum, record| {
                sum.record(record.2.len() as u64)
            });
        let id = header.key_id();
        let header = homaes_wire::Header::new(Kind::Values, set, digest, id, contents).unwrap();
        let mut writer = homaes_wire::Writer::new(Vec::new(), header).unwrap();
        for (tag, index, body) in &records {
            writer.write_record(*tag, *index, body).unwrap();
        }
        std::fs::write(bad, writer.finish().unwrap()).unwrap();
        inspect(bad).unwrap_err().to_string()
    };
    let (set, digest) = (header.set().to_owned(), *header.digest());
    for len in [0, 4, 192] {
        let error = refused(&set, digest, &|records| records[3].2.truncate(len));
        assert!(error.contains("LWE ciphertexts is malformed"), "{error}");
    }
    let tfhe = Set::named("tfhe/toy").unwrap();
    let error = refused(tfhe.name(), *tfhe.digest(), &|records| {
        records[3].2.clear();
    });
    assert!(error.contains("set is malformed"), "{error}");
    // layout sliced for bits: the same number of letters does not matter
    let error = refused(&set, digest, &|records| {
        let at = records[0].2.windows(4).position(|w| w == b"bits").unwrap();
        let mut meta = records[0].2[..at - 4].to_vec();
        meta.extend_from_slice(&6u32.to_le_bytes());
        meta.extend_from_slice(b"sliced");
        meta.extend_from_slice(&records[0].2[at + 4..]);
        records[0].2 = meta;
    });
    assert!(error.contains("layout or level"), "{error}");
}
