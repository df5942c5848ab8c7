//! Messages whose parts are under many AES keys.

#![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

use crate::common::{World, forged_of, message, records};
use aes_gcm::aead::{Aead, KeyInit};
use ctr::cipher::{KeyIvInit, StreamCipher};
use homaes::{
    AesFile, AesInput, AesKey, AesKeyList, Ciphertexts, DecryptOptions, ErrorKind, Expect, Kind,
    Layout, Memory, Mode, Resume, Set, Tag, Transcipher, WrapOptions, WrappedKey, describe,
    inspect,
};
use std::fs;

/// Batches have 16 blocks, so the first key has four positions and the others three.
const KEYS: u8 = 5;

/// Key and length of each part: no key 3, one part of several batches, empty ones.
const PARTS: [(u8, usize); 9] = [
    (0, 20),
    (4, 16 * 7 + 3),
    (1, 0),
    (0, 1),
    (2, 48),
    (0, 16 * 9),
    (4, 5),
    (2, 0),
    (1, 33),
];

fn key(number: u8) -> [u8; 16] {
    core::array::from_fn(|i| number.wrapping_mul(91) ^ (i as u8 * 17))
}

fn list(keys: u8) -> AesKeyList {
    let keys = (0..keys).map(|number| {
        let key = AesKey::from_bytes(&key(number)).unwrap();
        (format!("k{number}"), key)
    });
    AesKeyList::new(keys).unwrap()
}

/// Every third part under GCM, with its nonce in front, the others under CTR; all keys share IV and nonce.
fn file(part: usize, changed: bool) -> AesFile {
    let (number, len) = PARTS[part];
    let (key, mut text) = (key(number), message(len));
    if part.is_multiple_of(3) {
        let cipher = aes_gcm::Aes128Gcm::new(&key.into());
        let nonce = [part as u8; 12];
        let mut text = [&nonce[..], &cipher.encrypt(&nonce.into(), &*text).unwrap()].concat();
        *text.last_mut().unwrap() ^= u8::from(changed);
        return AesFile::with_nonce(Memory::new(text, "m")).unwrap();
    }
    let iv = [part as u8; 16];
    ctr::Ctr128BE::<aes::Aes128>::new(&key.into(), &iv.into()).apply_keystream(&mut text);
    AesFile::of(Memory::new(text, "m"), Mode::Ctr { iv }).unwrap()
}

fn name(part: usize) -> String {
    match part % 2 {
        // the folder names the key
        0 => format!("k{}/{part}", PARTS[part].0),
        _ => format!("other/{part}"),
    }
}

fn input(changed: Option<usize>) -> AesInput {
    let parts = (0..PARTS.len()).map(|part| {
        let file = file(part, changed == Some(part));
        match part % 2 {
            0 => (name(part), file),
            _ => (name(part), file.under(format!("k{}", PARTS[part].0))),
        }
    });
    AesInput::of_parts(parts).unwrap()
}

fn world() -> World {
    world_of("bgv/toy-255")
}

fn world_of(set: &str) -> World {
    let world = World::of(set, &WrapOptions::default());
    let wrapped = WrappedKey::encrypt_many(&world.keys.secret, &list(KEYS), None).unwrap();
    World { wrapped, ..world }
}

fn checked(list: &AesKeyList) -> DecryptOptions<'_> {
    DecryptOptions {
        aes_keys: Some(list),
        unauthenticated: true,
        ..DecryptOptions::default()
    }
}

#[test]
fn every_part_comes_back_under_its_own_key() {
    every_part_comes_back("bgv/toy-255");
}

/// A batch of AES has two results of as many blocks.
#[test]
fn every_part_comes_back_from_another_ring() {
    every_part_comes_back("bgv/toy-k-255");
}

fn every_part_comes_back(set: &str) {
    let (world, list) = (world_of(set), list(KEYS));
    let results = Set::named(set).unwrap().blocks_per_batch(Layout::Sliced) / 16;
    assert_eq!(world.wrapped.names(), ["k0", "k1", "k2", "k3", "k4"]);
    assert!(world.wrapped.is_compact());
    let report = world.transcipher().run(input(None), world.output("o.hct"));
    let (report, meta) = (report.unwrap(), describe(world.at("o.hct")).unwrap());
    // 8 blocks of the fifth key, three a batch, and 12 of the first, four a batch
    assert_eq!(
        (report.batches, meta.split.batches()),
        (3_u64.div_ceil(results), 3)
    );
    assert_eq!(meta.aes_keys(), Some(u64::from(KEYS)));
    let blocks: usize = PARTS.iter().map(|part| part.1.div_ceil(16)).sum();
    assert_eq!(report.blocks, blocks as u64);
    assert_eq!(
        inspect(world.at("o.hct")).unwrap().messages.unwrap().meta,
        meta
    );
    let secret = &world.keys.secret;
    let done = secret.decrypt_parts(world.at("o.hct"), world.at("all"), false, checked(&list));
    let done = done.unwrap();
    for (part, (number, len)) in PARTS.into_iter().enumerate() {
        let found = fs::read(world.at("all").join(name(part))).unwrap();
        assert_eq!(found, message(len), "part {part}");
        let tag = [Tag::Verified, Tag::None, Tag::None][part % 3];
        assert_eq!((done[part].1.bytes, done[part].1.tag), (len as u64, tag));
        let own = meta.parts[part].key.as_ref().unwrap();
        assert_eq!(
            (&*own.name, own.number),
            (&*format!("k{number}"), number.into())
        );
        let name = name(part);
        let options = DecryptOptions {
            part: Some(&name),
            ..checked(&list)
        };
        let one = Ciphertexts::open(world.at("o.hct")).unwrap();
        assert_eq!(world.read(one, options).unwrap().0, message(len));
    }
}

#[test]
fn a_stopped_run_goes_on_and_shards_are_the_same() {
    stopped_run("bgv/toy-255");
    stopped_run("bgv/toy-k-255");
}

fn stopped_run(set: &str) {
    let world = world_of(set);
    let whole = world.results(input(None));
    let run = || world.transcipher();
    let cancel = homaes::Cancel::new();
    let stopped = run().cancel(cancel.clone()).resume(
        input(None),
        world.at("o.hct"),
        Resume::default(),
        &mut |kept| {
            if kept.batches == 1 {
                cancel.cancel();
            }
        },
    );
    assert_eq!(stopped.unwrap_err().kind(), ErrorKind::Cancelled);
    let report = run().resume(
        input(None),
        world.at("o.hct"),
        Resume::default(),
        &mut |_| (),
    );
    assert!(report.unwrap().resumed >= 1);
    assert!(fs::read(world.at("o.hct")).unwrap() == whole);
    // a worker that holds only its own ciphertext
    let plan = run().plan(input(None)).unwrap();
    let id = plan.id().unwrap();
    for number in 0..plan.split().batches() {
        let shard = plan.shard(id, number, plan.results_per_batch());
        let (held, digest) = plan.hold(&shard).unwrap();
        assert_eq!(digest, plan.input_digest(&shard).unwrap());
        let [alone, whole] = [&held, &plan].map(|plan| run().shard(plan, &shard).unwrap().0);
        assert!(alone == whole);
    }
    // half a batch of AES is no shard
    let one = run().shard(&plan, &plan.shard(id, 0, 1));
    assert_eq!(one.is_ok(), plan.results_per_batch() == 1);
}

#[test]
fn wrong_keys_and_names_are_refused() {
    let (world, list) = (world(), list(KEYS));
    let secret = &world.keys.secret;
    let plan = |parts: Vec<(&str, AesFile)>| {
        let parts = parts
            .into_iter()
            .map(|(name, part)| (name.to_owned(), part));
        let plan = world.transcipher().plan(AesInput::of_parts(parts).unwrap());
        plan.unwrap_err()
    };
    for (error, words) in [
        (plan(vec![("a", file(0, false))]), "names no AES key"),
        (
            plan(vec![("k9/a", file(0, false))]),
            "found \"k9\", expected one of the 5",
        ),
        (
            plan(vec![("k0/a", file(0, false).under("x"))]),
            "found \"x\", expected one of",
        ),
        (
            world.transcipher().plan(file(0, false)).unwrap_err(),
            "names no AES key",
        ),
    ] {
        assert_eq!(error.kind(), ErrorKind::KeyName);
        assert!(error.to_string().contains(words), "{error}");
    }
    let other = plan(vec![("k0/a", file(0, false).under("k1"))]);
    assert!(
        other.to_string().contains("which its first folder names"),
        "{other}"
    );
    // a key with one AES key takes no names
    let one = World::new();
    let error = one
        .transcipher()
        .plan(file(0, false).under("k0"))
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::KeyName);
    // a wrong tag, the key of another part, a list without the key, one key
    for changed in [None, Some(3)] {
        world
            .transcipher()
            .run(input(changed), world.output("o.hct"))
            .unwrap();
        let decrypt = |options| {
            let parts = secret.decrypt_parts(world.at("o.hct"), world.at("all"), false, options);
            parts.unwrap_err().kind()
        };
        let swapped = (0..KEYS).map(|number| {
            let key = AesKey::from_bytes(&key((number + 1) % KEYS)).unwrap();
            (format!("k{number}"), key)
        });
        let swapped = AesKeyList::new(swapped).unwrap();
        assert_eq!(decrypt(checked(&swapped)), ErrorKind::Tag);
        if changed.is_some() {
            assert_eq!(decrypt(checked(&list)), ErrorKind::Tag);
        }
        let (short, one) = (self::list(2), AesKey::from_bytes(&key(0)).unwrap());
        assert_eq!(decrypt(checked(&short)), ErrorKind::KeyName);
        let one = DecryptOptions {
            aes_key: Some(&one),
            aes_keys: None,
            ..checked(&list)
        };
        assert_eq!(decrypt(one), ErrorKind::KeyName);
        assert_eq!(decrypt(DecryptOptions::default()), ErrorKind::Unchecked);
        assert!(!world.at("all").exists());
    }
    let run = Transcipher::new(&one.keys.eval, &one.wrapped).unwrap();
    run.run(crate::common::part(b"m"), world.output("o.hct"))
        .unwrap();
    let error = one
        .keys
        .secret
        .decrypt_with(world.at("o.hct"), world.output("m"), checked(&list));
    assert_eq!(error.unwrap_err().kind(), ErrorKind::KeyName);
}

/// A server may give each of two parts the other's name. Both tags stay valid.
#[test]
fn exchanged_parts_are_refused() {
    let (world, list) = (world(), list(KEYS));
    let decrypt = |names: [&str; 2], expect: Option<&str>| {
        let parts = [(names[0], 0, "k0"), (names[1], 3, "k0")];
        let parts = parts.map(|(name, part, key)| (name.to_owned(), file(part, false).under(key)));
        let run = world
            .transcipher()
            .run(AesInput::of_parts(parts).unwrap(), world.output("o.hct"));
        run.unwrap();
        let expect = Expect {
            key_name: expect,
            ..Expect::default()
        };
        let expected = names.map(|name| (name.to_owned(), expect)).into();
        let options = DecryptOptions {
            parts: Some(&expected),
            ..checked(&list)
        };
        let secret = &world.keys.secret;
        secret.decrypt_parts(world.at("o.hct"), world.at("all"), true, options)
    };
    assert!(decrypt(["a", "k0/b"], Some("k0")).is_ok());
    for expect in ["k1", ""] {
        let error = decrypt(["a", "b"], Some(expect)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unexpected);
        assert!(
            error.to_string().contains("AES key: found \"k0\""),
            "{error}"
        );
    }
    // folders name keys, whatever key the table of parts states
    let parts = [("k0/a".to_owned(), file(0, false))];
    let run = world
        .transcipher()
        .run(AesInput::of_parts(parts).unwrap(), world.output("o.hct"));
    run.unwrap();
    let mut all = records(&world.at("o.hct"));
    let at = all[1]
        .2
        .windows(4)
        .position(|bytes| bytes == b"k0/a")
        .unwrap();
    all[1].2[at + 1] = b'1';
    let forged = forged_of(3, world.claims(Kind::Ciphertext), &all);
    let read = Ciphertexts::of_read(&forged[..], "results").unwrap();
    let secret = &world.keys.secret;
    let error = secret.decrypt_parts_from(read, world.at("other"), false, checked(&list));
    let error = error.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unexpected);
    assert!(
        error
            .to_string()
            .contains("AES key: found \"k0\", expected \"k1\""),
        "{error}"
    );
}

#[test]
fn only_schemes_and_sets_with_room_wrap_many() {
    let [tfhe, bgv] =
        ["tfhe/toy", "bgv/toy-255"].map(|set| World::of(set, &WrapOptions::default()));
    let wrap = |world: &World, keys, levels| {
        WrappedKey::encrypt_many(&world.keys.secret, &list(keys), levels).unwrap_err()
    };
    let error = wrap(&tfhe, 2, None);
    assert!(
        error
            .to_string()
            .starts_with("many AES keys in one wrapped key"),
        "{error}"
    );
    // a batch has 16 blocks
    assert_eq!(wrap(&bgv, 17, None).kind(), ErrorKind::Argument);
    assert_eq!(wrap(&bgv, 2, Some(99)).kind(), ErrorKind::Levels);
    let long = AesKeyList::new([("a".to_owned(), AesKey::from_bytes(&[1; 32]).unwrap())]).unwrap();
    let error = WrappedKey::encrypt_many(&bgv.keys.secret, &long, None).unwrap_err();
    assert!(
        error.to_string().contains("has 256 bits, expected 128"),
        "{error}"
    );
    // the same counter under two keys shows nothing
    let parts = [("k0/a", 1), ("k1/a", 1)].map(|(name, part)| (name.to_owned(), file(part, false)));
    let both = AesInput::of_parts(parts).unwrap();
    assert!(both.shares_counters(false) && !both.shares_counters(true));
}
