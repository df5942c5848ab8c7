//! Messages of many parts: each part is recovered by its name, alone or with all others.

#![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

use crate::common::{KEY, World, ctr, memory, message, part};
use aes_gcm::aead::{Aead, KeyInit, Payload};
use homaes::{
    AesFile, AesInput, AesKey, DecryptOptions, DecryptReport, ErrorKind, Expect, Memory, Mode,
    Output, Reopened, Result, Tag, describe, inspect,
};
use std::fs;

impl World {
    fn run_into(&self, message: impl Into<AesInput>, name: &str) {
        let report = self.transcipher().run(message, self.output(name)).unwrap();
        let bytes = fs::metadata(self.at(name)).unwrap().len();
        assert_eq!(report.file_bytes, bytes);
    }

    fn all(
        &self,
        force: bool,
        options: DecryptOptions<'_>,
    ) -> Result<Vec<(String, DecryptReport)>> {
        let secret = &self.keys.secret;
        secret.decrypt_parts(self.at("o.hct"), self.at("all"), force, options)
    }

    fn one(&self, part: Option<&str>, options: DecryptOptions<'_>) -> Result<DecryptReport> {
        let output = Output::private(self.at("one"), true)?;
        let options = DecryptOptions { part, ..options };
        let secret = &self.keys.secret;
        secret.decrypt_with(self.at("o.hct"), output, options)
    }

    fn file_of(&self, i: usize) -> Vec<u8> {
        fs::read(self.at("all").join(name(i))).unwrap()
    }
}

/// The nonce comes first; the tag is wrong by one bit if `changed`.
fn gcm(nonce: u8, message: &[u8], changed: bool) -> AesFile {
    let cipher = aes_gcm::Aes128Gcm::new(&KEY.into());
    let (msg, aad) = (message, &b"data"[..]);
    let text = cipher.encrypt(&[nonce; 12].into(), Payload { msg, aad });
    let text = text.unwrap();
    let mut text = [&[nonce; 12][..], &text].concat();
    *text.last_mut().unwrap() ^= u8::from(changed);
    let part = AesFile::with_nonce(Memory::new(text, "m")).unwrap();
    part.with_aad(b"data".to_vec()).unwrap()
}

/// Some parts fill batches of 16 blocks, some share a batch, some are empty.
const LENGTHS: [usize; 8] = [0, 20, 16 * 16, 1, 0, 700, 48, 5];

fn name(i: usize) -> String {
    match i % 2 {
        0 => format!("in/{i}.txt"),
        _ => format!("{i} é"),
    }
}

/// Checks tags, and accepts parts without a tag.
fn checked_with(key: &AesKey) -> DecryptOptions<'_> {
    DecryptOptions {
        aes_key: Some(key),
        unauthenticated: true,
        ..DecryptOptions::default()
    }
}

/// Parts under CTR and GCM in turn; the tag of part `wrong` is wrong.
fn parts(wrong: Option<usize>) -> AesInput {
    let parts = LENGTHS.iter().enumerate().map(|(i, len)| {
        let message = message(*len);
        let iv = [i as u8 + 1; 16];
        let part = match i % 3 {
            0 => memory(ctr(iv, &message), Mode::Ctr { iv }),
            _ => gcm(i as u8, &message, wrong == Some(i)),
        };
        (name(i), part)
    });
    AesInput::of_parts(parts).unwrap()
}

#[test]
fn every_part_comes_back_by_its_name() {
    let world = World::new();
    let input = parts(None);
    assert_eq!(input.bytes(), LENGTHS.iter().sum::<usize>() as u64);
    world.run_into(input, "o.hct");
    let meta = describe(world.at("o.hct")).unwrap();
    assert!(meta.has_parts() && meta.parts.len() == LENGTHS.len());
    let inspected = inspect(world.at("o.hct")).unwrap().messages.unwrap();
    assert_eq!(inspected.meta, meta);
    let key = AesKey::from_bytes(&KEY).unwrap();
    let options = checked_with(&key);
    let done = world.all(false, options).unwrap();
    assert_eq!(done.len(), LENGTHS.len());
    for (i, len) in LENGTHS.into_iter().enumerate() {
        assert_eq!(world.file_of(i), message(len), "part {i}");
        let tag = match i % 3 {
            0 => Tag::None,
            _ => Tag::Verified,
        };
        assert_eq!(done[i].0, name(i));
        assert_eq!((done[i].1.bytes, done[i].1.tag), (len as u64, tag));
        let expect = Expect {
            bytes: Some(len as u64),
            ..Expect::default()
        };
        let options = DecryptOptions {
            unauthenticated: tag == Tag::None,
            expect,
            ..options
        };
        assert_eq!(world.one(Some(&name(i)), options).unwrap().tag, tag);
        assert_eq!(fs::read(world.at("one")).unwrap(), message(len), "part {i}");
    }
    // existing files stay, the missing one is written
    let last = world.at("all").join(name(7));
    fs::remove_file(&last).unwrap();
    assert_eq!(world.all(false, options).unwrap(), done);
    assert_eq!(world.file_of(7), message(5));
    // a file with other contents is not replaced, and nothing else is written
    fs::remove_file(&last).unwrap();
    let cut = &message(700)[..699];
    for other in [cut.to_vec(), message(20), [cut, b"x"].concat()] {
        fs::write(world.at("all").join(name(5)), &other).unwrap();
        let error = world.all(false, options).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::AlreadyExists);
        assert!(world.file_of(5) == other && !last.exists());
    }
    assert_eq!(world.all(true, options).unwrap(), done);
    assert_eq!(world.file_of(5), message(700));
}

/// Each is refused before anything is written.
#[test]
fn parts_need_a_name_or_a_folder_and_with_a_key_a_tag() {
    let world = World::new();
    world.run_into(parts(None), "o.hct");
    let any = DecryptOptions::default();
    let key = AesKey::from_bytes(&KEY).unwrap();
    let with_key = DecryptOptions {
        aes_key: Some(&key),
        ..any
    };
    let error = world.one(None, any).unwrap_err();
    assert!(error.to_string().ends_with("holds 8 parts"), "{error}");
    for (part, options, kind) in [
        (None, any, ErrorKind::ManyParts),
        (Some("in/9.txt"), any, ErrorKind::NoPart),
        (Some("1 é"), any, ErrorKind::Unchecked),
        (Some("in/6.txt"), with_key, ErrorKind::NoTag),
    ] {
        assert_eq!(world.one(part, options).unwrap_err().kind(), kind);
    }
    let error = world.all(true, with_key).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NoTag);
    // format version, byte 8: 1 for one file, 2 for parts
    assert_eq!(fs::read(world.at("o.hct")).unwrap()[8], 2);
    world.run_into(part(&message(40)), "o.hct");
    assert_eq!(fs::read(world.at("o.hct")).unwrap()[8], 1);
    let error = world.one(Some("c"), any).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NoParts);
    let error = world.all(false, any).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NoParts);
    assert!(!world.at("all").exists() && !world.at("one").exists());
}

/// Earlier parts and new folders do not appear either.
#[test]
fn a_part_with_a_wrong_tag_does_not_appear() {
    let world = World::new();
    let key = AesKey::from_bytes(&KEY).unwrap();
    let deep = ("a/b/c".to_owned(), gcm(1, &message(20), true));
    for input in [parts(Some(5)), AesInput::of_parts([deep]).unwrap()] {
        world.run_into(input, "o.hct");
        let error = world.all(false, checked_with(&key)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Tag);
        assert!(!world.at("all").exists());
    }
}

#[test]
fn parts_in_files_equal_parts_in_memory() {
    let world = World::new();
    let parts = |in_files: bool| {
        let parts = (0..20_usize).map(|i| {
            let iv = [i as u8; 16];
            let (text, mode) = (ctr(iv, &message(3 * i)), Mode::Ctr { iv });
            if !in_files {
                return (i.to_string(), memory(text, mode));
            }
            let path = world.at(&i.to_string());
            fs::write(&path, &text).unwrap();
            let part = AesFile::of(Reopened::new(path).unwrap(), mode);
            (i.to_string(), part.unwrap())
        });
        AesInput::of_parts(parts).unwrap()
    };
    let results = world.results(parts(true));
    assert!(results == world.results(parts(false)));
    fs::write(world.at("o.hct"), results).unwrap();
    let all = world.all(true, DecryptOptions::default()).unwrap();
    assert_eq!(all.len(), 20);
    for (i, (name, _)) in all.iter().enumerate() {
        let found = fs::read(world.at("all").join(name)).unwrap();
        assert_eq!(found, message(3 * i));
    }
}

#[test]
fn names_are_checked_before_any_work() {
    let twice = "\"a\", expected another name for each part";
    for (names, text) in [
        (&[][..], "none, expected at least one part"),
        (&["b", "../a"], "\"../a\", expected a path"),
        (&["b", "a", "a"], twice),
        (&["a/b", "a"], "\"a\", expected no part that is a folder"),
    ] {
        let parts = names.iter().map(|name| (name.to_string(), part(b"")));
        let error = AesInput::of_parts(parts).unwrap_err();
        let kind = match names {
            [] => ErrorKind::Argument,
            _ => ErrorKind::PartNames,
        };
        assert_eq!(error.kind(), kind, "{names:?}");
        let text = format!("parts of a message: found {text}");
        assert!(error.to_string().starts_with(&text), "{names:?}: {error}");
    }
}
