//! Search finds patterns at every position; impossible searches are refused before any work.

#![allow(clippy::unwrap_used, clippy::panic, reason = "tests fail by panicking")]

use crate::common::KEY;
use ctr::cipher::{KeyIvInit, StreamCipher};
use homaes::{
    AesFile, AesKey, Cancel, Computed, Direction, Error, ErrorKind, KeySet, Layout, Memory, Mode,
    Output, Pool, Result, Scan, Set, WrapOptions, WrappedKey,
};

const SET: &str = "bgv/toy-4369";

fn patterns(all: &[(&str, &[u8])]) -> Vec<(String, Vec<u8>)> {
    let all = all.iter();
    all.map(|(label, bytes)| ((*label).to_owned(), bytes.to_vec()))
        .collect()
}

fn keys(set: &str) -> KeySet {
    KeySet::generate(&Set::named(set).unwrap()).unwrap()
}

fn wrapped(keys: &KeySet, levels: usize) -> WrappedKey {
    let wrapping = WrapOptions {
        levels_left: Some(levels),
        ..WrapOptions::default()
    };
    let key = AesKey::from_bytes(&KEY).unwrap();
    WrappedKey::encrypt(&keys.secret, &key, &wrapping).unwrap()
}

fn part(message: &[u8]) -> AesFile {
    let mut text = message.to_vec();
    ctr::Ctr128BE::<aes::Aes128>::new(&KEY.into(), &[7; 16].into()).apply_keystream(&mut text);
    AesFile::of(Memory::new(text, "m"), Mode::Ctr { iv: [7; 16] }).unwrap()
}

fn searched(scan: &Scan, keys: &KeySet, wrapped: &WrappedKey, part: AesFile) -> Result<Computed> {
    scan.run(&keys.eval, wrapped, part, &Pool::new(0), &Cancel::new())
}

#[test]
fn patterns_are_found_wherever_they_begin() {
    let all: &[(&str, &[u8])] = &[("two", b"ab"), ("long", b"across a block's end")];
    let keys = keys(SET);
    let scan = Scan::new(keys.eval.set(), patterns(all)).unwrap();
    let mut message = vec![b'.'; 16 * 125 + 70];
    let end = message.len() - 20;
    // the second run begins at block 126: one occurrence straddles its start
    for at in [0, 9, 16 * 126 - 5, end] {
        message[at..at + 20].copy_from_slice(all[1].1);
    }
    message[40..42].copy_from_slice(b"ab");
    message[63..65].copy_from_slice(b"ab");
    let clear = |pattern: &[u8]| -> Vec<u64> {
        let windows = (0..).zip(message.windows(pattern.len()));
        windows
            .filter(|(_, w)| *w == pattern)
            .map(|(at, _)| at)
            .collect()
    };
    // starts at more levels than rotations work at
    let computed = searched(&scan, &keys, &wrapped(&keys, 12), part(&message)).unwrap();
    let (output, buffer) = Output::memory();
    computed.write(output).unwrap();
    let values = keys.secret.open_values_of(&buffer.take()[..], "x").unwrap();
    let answers: Vec<_> = values
        .iter()
        .map(|value| (&*value.meta.label, &value.numbers[..]))
        .collect();
    assert_eq!(answers.len(), 3);
    let found = scan.starts(&answers).unwrap();
    for (starts, (_, pattern)) in found.iter().zip(all) {
        assert_eq!(starts, &clear(pattern));
        assert!(starts.len() > 1);
    }
    // answers of another search, and incomplete ones
    let refused = |scan: &Scan, answers: &[(&str, &[u64])]| {
        let error = scan.starts(answers).unwrap_err();
        assert!(
            error.to_string().contains("all answers of one search"),
            "{error}"
        );
    };
    for all in [&all[..1], &[all[1], all[0]], &[("two", b"aB"), all[1]]] {
        refused(
            &Scan::new(keys.eval.set(), patterns(all)).unwrap(),
            &answers,
        );
    }
    refused(&scan, &answers[1..]);
    refused(&scan, &answers[..2]);
    let cut = (answers[1].0, &answers[1].1[..9]);
    refused(&scan, &[answers[0], cut, answers[2]]);
}

#[test]
fn what_cannot_be_searched_is_refused() {
    let keys = keys(SET);
    let scan = |all: &[(&str, &[u8])]| Scan::new(keys.eval.set(), patterns(all));
    let long = vec![1; 2034];
    assert!(scan(&[("long", &long[1..])]).is_ok());
    for (all, expected) in [
        (vec![("a", &b"x"[..]), ("empty", b"")], "\"empty\": found 0"),
        (vec![("long", &long[..])], "\"long\": found 2034"),
    ] {
        let error = scan(&all).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Argument);
        let message = format!("pattern {expected} bytes, expected 1 to 2033");
        assert_eq!(error.to_string(), message);
    }
    let error = scan(&[]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Argument);
    assert!(error.to_string().starts_with("value \"\": "), "{error}");
    let twice = scan(&[("a", b"x"), ("a", b"y")]).unwrap();
    let run = |scan: &Scan, wrapped: &WrappedKey| searched(scan, &keys, wrapped, part(b"x"));
    let error = run(&twice, &wrapped(&keys, 8)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Argument);
    assert!(error.to_string().starts_with("value \"a\": "), "{error}");
    let one = scan(&[("a", b"x")]).unwrap();
    let error = run(&one, &wrapped(&keys, 2)).unwrap_err();
    assert!(error.to_string().starts_with("out of depth: 7"), "{error}");
    let wrapping = WrapOptions {
        direction: Direction::Decrypt,
        levels_left: Some(8),
        ..WrapOptions::default()
    };
    let key = AesKey::from_bytes(&KEY).unwrap();
    let reverse = WrappedKey::encrypt(&keys.secret, &key, &wrapping).unwrap();
    let error = run(&one, &reverse).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Direction(Direction::Encrypt));
    let wrapping = WrapOptions {
        layouts: vec![Layout::Bits],
        ..WrapOptions::default()
    };
    let small = self::keys("bgv/toy-255");
    let bits = WrappedKey::encrypt(&small.secret, &key, &wrapping).unwrap();
    let short = Scan::new(small.eval.set(), patterns(&[("a", b"x")])).unwrap();
    let error = searched(&short, &small, &bits, part(b"x")).unwrap_err();
    assert!(error.to_string().contains("no layout sliced"), "{error}");
    let error = searched(&one, &small, &bits, part(b"x")).unwrap_err();
    assert!(matches!(error, Error::Keys(_)), "{error}");
    let tfhe = Scan::new(&Set::named("tfhe/toy").unwrap(), patterns(&[("a", b"x")]));
    assert_eq!(tfhe.unwrap_err().kind(), ErrorKind::Argument);
    let cancel = Cancel::new();
    cancel.cancel();
    let key = wrapped(&keys, 8);
    let ended = one.run(&keys.eval, &key, part(b"x"), &Pool::new(0), &cancel);
    assert!(matches!(ended, Err(Error::Cancelled)));
}
