//! Messages of many parts: each part is recovered by its name, alone or with all others.

#![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

use crate::common::{KEY, World};
use aes_gcm::aead::{Aead, KeyInit, Payload};
use ctr::cipher::{KeyIvInit, StreamCipher};
use homaes::{
    AesFile, AesInput, AesKey, DecryptOptions, Error, ErrorKind, Expect, Layout, Memory, Mode,
    Output, Reopened, Tag, Transcipher, WrapOptions, WrappedKey, describe, inspect,
};
use std::fs;

impl World {
    fn run(&self, message: impl Into<AesInput>, name: &str) {
        let run = Transcipher::new(&self.keys.eval, &self.wrapped).unwrap();
        let output = Output::create(self.at(name), true).unwrap();
        let report = run.run(message, output).unwrap();
        assert_eq!(
            report.file_bytes,
            fs::metadata(self.at(name)).unwrap().len()
        );
    }
}

fn plain(len: usize) -> Vec<u8> {
    (0..len).map(|i| (i * i / 5 + len) as u8).collect()
}

fn ctr_of(iv: [u8; 16], message: &[u8]) -> Vec<u8> {
    let mut text = message.to_vec();
    ctr::Ctr128BE::<aes::Aes128>::new(&KEY.into(), &iv.into()).apply_keystream(&mut text);
    text
}

fn gcm_of(nonce: [u8; 12], message: &[u8], aad: &[u8]) -> Vec<u8> {
    let cipher = aes_gcm::Aes128Gcm::new(&KEY.into());
    let payload = Payload { msg: message, aad };
    let text = cipher.encrypt(&nonce.into(), payload).unwrap();
    [&nonce[..], &text].concat()
}

/// Lengths of the parts: some fill batches of 16 blocks, some share a batch, some are empty.
const LENGTHS: [usize; 8] = [0, 20, 16 * 16, 1, 0, 700, 48, 5];

fn name(i: usize) -> String {
    match i % 2 {
        0 => format!("in/{i}.txt"),
        _ => format!("{i} é"),
    }
}

/// Options that check tags with this key, and accept parts without a tag.
fn checked_with(key: &AesKey) -> DecryptOptions<'_> {
    DecryptOptions {
        aes_key: Some(key),
        unauthenticated: true,
        ..DecryptOptions::default()
    }
}

/// Parts under CTR and GCM in turn, in memory.
fn parts(change: Option<usize>) -> AesInput {
    let parts = LENGTHS.iter().enumerate().map(|(i, len)| {
        let message = plain(*len);
        let part = match i % 3 {
            0 => {
                let iv = [i as u8 + 1; 16];
                AesFile::of(Memory::new(ctr_of(iv, &message), "m"), Mode::Ctr { iv })
            }
            _ => {
                let mut text = gcm_of([i as u8; 12], &message, b"data");
                if change == Some(i) {
                    text[12] ^= 1;
                }
                let part = AesFile::with_nonce(Memory::new(text, "m")).unwrap();
                part.with_aad(b"data".to_vec())
            }
        };
        (name(i), part.unwrap())
    });
    AesInput::of_parts(parts).unwrap()
}

#[test]
fn every_part_comes_back_by_its_name() {
    let world = World::new();
    let message = parts(None);
    assert_eq!(message.bytes(), LENGTHS.iter().sum::<usize>() as u64);
    world.run(message, "o.hct");
    let meta = describe(world.at("o.hct")).unwrap();
    assert!(meta.has_parts() && meta.parts.len() == LENGTHS.len());
    assert_eq!(
        inspect(world.at("o.hct")).unwrap().messages.unwrap().meta,
        meta
    );
    let key = AesKey::from_bytes(&KEY).unwrap();
    let options = checked_with(&key);
    let secret = &world.keys.secret;
    let done = secret.decrypt_parts(world.at("o.hct"), world.at("all"), false, options);
    let done = done.unwrap();
    assert_eq!(done.len(), LENGTHS.len());
    for (i, len) in LENGTHS.into_iter().enumerate() {
        let found = fs::read(world.at("all").join(name(i))).unwrap();
        assert_eq!(found, plain(len), "part {i}");
        let tag = match i % 3 {
            0 => Tag::None,
            _ => Tag::Verified,
        };
        assert_eq!(done[i].0, name(i));
        assert_eq!((done[i].1.bytes, done[i].1.tag), (len as u64, tag));
        // this part alone
        let own = name(i);
        let options = DecryptOptions {
            part: Some(&own),
            aes_key: Some(&key),
            unauthenticated: tag == Tag::None,
            expect: Expect {
                bytes: Some(len as u64),
                ..Expect::default()
            },
            ..DecryptOptions::default()
        };
        let output = Output::private(world.at("one"), true).unwrap();
        let report = secret.decrypt_with(world.at("o.hct"), output, options);
        assert_eq!(report.unwrap().tag, tag);
        assert_eq!(fs::read(world.at("one")).unwrap(), plain(len), "part {i}");
    }
    // existing files stay, the missing one is written
    let last = name(7);
    fs::remove_file(world.at("all").join(&last)).unwrap();
    let again = secret.decrypt_parts(world.at("o.hct"), world.at("all"), false, options);
    assert_eq!(again.unwrap(), done);
    assert_eq!(fs::read(world.at("all").join(&last)).unwrap(), plain(5));
    // a file with other contents is not replaced, and nothing else is written
    fs::remove_file(world.at("all").join(&last)).unwrap();
    for other in [plain(699), plain(20), [&plain(699)[..], b"x"].concat()] {
        let file = world.at("all").join(name(5));
        fs::write(&file, &other).unwrap();
        let again = secret.decrypt_parts(world.at("o.hct"), world.at("all"), false, options);
        assert!(matches!(again.unwrap_err(), Error::AlreadyExists { .. }));
        assert!(fs::read(&file).unwrap() == other && !world.at("all").join(&last).exists());
    }
    let forced = secret.decrypt_parts(world.at("o.hct"), world.at("all"), true, options);
    assert_eq!(forced.unwrap(), done);
    assert_eq!(fs::read(world.at("all").join(name(5))).unwrap(), plain(700));
}

/// Unless `unauthenticated` is set, a part whose mode has no tag is refused before anything is written.
#[test]
fn with_a_key_every_part_needs_a_tag() {
    let world = World::new();
    world.run(parts(None), "o.hct");
    let key = AesKey::from_bytes(&KEY).unwrap();
    let options = DecryptOptions {
        unauthenticated: false,
        ..checked_with(&key)
    };
    let secret = &world.keys.secret;
    let all = secret.decrypt_parts(world.at("o.hct"), world.at("all"), true, options);
    assert_eq!(all.unwrap_err().kind(), ErrorKind::NoTag);
    let own = name(6);
    let options = DecryptOptions {
        part: Some(&own),
        ..options
    };
    let output = Output::private(world.at("one"), true).unwrap();
    let one = secret.decrypt_with(world.at("o.hct"), output, options);
    assert_eq!(one.unwrap_err().kind(), ErrorKind::NoTag);
    assert!(!world.at("all").exists() && !world.at("one").exists());
}

#[test]
fn parts_need_a_name_or_a_folder() {
    let world = World::new();
    world.run(parts(None), "o.hct");
    let secret = &world.keys.secret;
    let one = |file: &str, part| {
        let options = DecryptOptions {
            part,
            ..DecryptOptions::default()
        };
        let output = Output::private(world.at("one"), true).unwrap();
        secret
            .decrypt_with(world.at(file), output, options)
            .unwrap_err()
    };
    let error = one("o.hct", None);
    assert_eq!(error.kind(), ErrorKind::ManyParts);
    assert!(error.to_string().ends_with("holds 8 parts"), "{error}");
    let error = one("o.hct", Some("in/9.txt"));
    assert_eq!(error.kind(), ErrorKind::NoPart);
    // GCM without the AES key
    let error = one("o.hct", Some("1 é"));
    assert_eq!(error.kind(), ErrorKind::Unchecked);
    assert!(!world.at("one").exists());
    // a message without parts
    let iv = [1; 16];
    fs::write(world.at("c"), ctr_of(iv, &plain(40))).unwrap();
    let part = AesFile::open(world.at("c"), Mode::Ctr { iv }).unwrap();
    world.run(part, "single.hct");
    let error = one("single.hct", Some("c"));
    assert_eq!(error.kind(), ErrorKind::NoParts);
    let all = secret.decrypt_parts(
        world.at("single.hct"),
        world.at("all"),
        false,
        DecryptOptions::default(),
    );
    assert_eq!(all.unwrap_err().kind(), ErrorKind::NoParts);
    assert!(!world.at("all").exists());
    // format version, byte 8: 1 for one file, 2 for parts
    assert_eq!(fs::read(world.at("single.hct")).unwrap()[8], 1);
    assert_eq!(fs::read(world.at("o.hct")).unwrap()[8], 2);
}

/// One part in nested folders, with a wrong tag.
fn parts_in_folder() -> AesInput {
    let mut text = gcm_of([1; 12], &plain(20), b"");
    text[12] ^= 1;
    let part = AesFile::with_nonce(Memory::new(text, "m")).unwrap();
    AesInput::of_parts([("a/b/c".to_owned(), part)]).unwrap()
}

#[test]
fn a_part_with_a_wrong_tag_does_not_appear() {
    let world = World::new();
    world.run(parts(Some(5)), "o.hct");
    let key = AesKey::from_bytes(&KEY).unwrap();
    let options = checked_with(&key);
    let secret = &world.keys.secret;
    let all = secret.decrypt_parts(world.at("o.hct"), world.at("all"), false, options);
    assert_eq!(all.unwrap_err().kind(), ErrorKind::Tag);
    // nor does a folder for it
    world.run(parts_in_folder(), "deep.hct");
    let deep = secret.decrypt_parts(world.at("deep.hct"), world.at("deep"), false, options);
    assert_eq!(deep.unwrap_err().kind(), ErrorKind::Tag);
    assert!(!world.at("deep").exists());
    // nor do the parts before it
    assert!(!world.at("all").exists());
}

/// Parts read from files give the same message as parts in memory, in every layout.
#[test]
fn parts_in_files_equal_parts_in_memory() {
    let world = World::new();
    let mut files = Vec::new();
    let mut memory = Vec::new();
    for i in 0..40_usize {
        let iv = [i as u8; 16];
        let (text, mode) = (ctr_of(iv, &plain(3 * i)), Mode::Ctr { iv });
        fs::write(world.at(&i.to_string()), &text).unwrap();
        let file = Reopened::new(world.at(&i.to_string())).unwrap();
        files.push((i.to_string(), AesFile::of(file, mode).unwrap()));
        memory.push((
            i.to_string(),
            AesFile::of(Memory::new(text, "m"), mode).unwrap(),
        ));
    }
    let [files, memory] = [files, memory].map(|parts| AesInput::of_parts(parts).unwrap());
    for layout in [Layout::Sliced, Layout::Bits] {
        let key = AesKey::from_bytes(&KEY).unwrap();
        let wrapping = WrapOptions {
            layouts: vec![layout],
            ..WrapOptions::default()
        };
        let wrapped = WrappedKey::encrypt(&world.keys.secret, &key, &wrapping).unwrap();
        let run = Transcipher::new(&world.keys.eval, &wrapped).unwrap();
        let run = run.reproducible(true);
        for (message, out) in [(&files, "f.hct"), (&memory, "m.hct")] {
            let output = Output::create(world.at(out), true).unwrap();
            run.run(message.clone(), output).unwrap();
        }
        let read = |name: &str| fs::read(world.at(name)).unwrap();
        assert!(read("f.hct") == read("m.hct"));
        let options = DecryptOptions::default();
        let all =
            world
                .keys
                .secret
                .decrypt_parts(world.at("f.hct"), world.at("all"), true, options);
        assert_eq!(all.unwrap().len(), 40);
        for i in 0..40 {
            assert_eq!(read(&format!("all/{i}")), plain(3 * i));
        }
    }
}

#[test]
fn names_are_checked_before_any_work() {
    let part = |_| AesFile::of(Memory::new(vec![0; 16], "m"), Mode::Ecb).unwrap();
    let refused = |names: &[&str]| {
        let parts = names.iter().map(|name| ((*name).to_owned(), part(())));
        AesInput::of_parts(parts).unwrap_err()
    };
    for (names, text) in [
        (
            &[][..],
            "parts of a message: found none, expected at least one part",
        ),
        (
            &["b", "../a"],
            "parts of a message: found \"../a\", expected a path",
        ),
        (
            &["b", "a", "a"],
            "parts of a message: found \"a\", expected another name for each part",
        ),
        (
            &["a/b", "a"],
            "parts of a message: found \"a\", expected no part that is a folder",
        ),
    ] {
        let error = refused(names);
        let kind = if names.is_empty() {
            ErrorKind::Argument
        } else {
            ErrorKind::PartNames
        };
        assert_eq!(error.kind(), kind, "{names:?}");
        assert!(error.to_string().starts_with(text), "{names:?}: {error}");
    }
}
