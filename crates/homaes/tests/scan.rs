//! Search finds patterns at every position; impossible searches are refused before any work.

#![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

use crate::common::{World, layout, levels, message, part};
use homaes::{
    Cancel, Computed, Direction, Error, ErrorKind, Layout, Output, Pool, Result, Scan, Set,
    WrapOptions, WrappedKey,
};

fn scan(set: &Set, all: &[(&str, &[u8])]) -> Result<Scan> {
    let all = all.iter();
    Scan::new(
        set,
        all.map(|(label, bytes)| ((*label).to_owned(), bytes.to_vec())),
    )
}

fn searched(
    scan: &Scan,
    world: &World,
    wrapped: &WrappedKey,
    message: &[u8],
    cancel: &Cancel,
) -> Result<Computed> {
    let pool = Pool::new(0);
    scan.run(&world.keys.eval, wrapped, part(message), &pool, cancel)
}

/// The tests of the Python package search too; those of homaes-bgv search without AES.
#[test]
#[ignore = "nightly: AES on 256 blocks"]
fn nightly_patterns_are_found_wherever_they_begin() {
    // AES leaves more levels than rotations allow
    let world = &World::of("bgv/toy-4369", &levels(12));
    let all: &[(&str, &[u8])] = &[("two", b"ab"), ("long", b"across a block's end")];
    let set = world.keys.eval.set();
    let search = scan(set, all).unwrap();
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
        let found = windows.filter(|(_, window)| *window == pattern);
        found.map(|(at, _)| at).collect()
    };
    let computed = searched(&search, world, &world.wrapped, &message, &Cancel::new()).unwrap();
    let (output, buffer) = Output::memory();
    computed.write(output).unwrap();
    let file = buffer.take();
    let values = world.keys.secret.open_values_of(&file[..], "x").unwrap();
    let answers = values.iter();
    let answers = answers.map(|value| (&*value.meta.label, &value.numbers[..]));
    let answers: Vec<_> = answers.collect();
    assert_eq!(answers.len(), 3);
    let found = search.starts(&answers).unwrap();
    for (starts, (_, pattern)) in found.iter().zip(all) {
        assert_eq!(starts, &clear(pattern));
        assert!(starts.len() > 1);
    }
    // answers of another search, and incomplete ones
    let cut = (answers[1].0, &answers[1].1[..9]);
    for (all, answers) in [
        (&all[..1], answers.clone()),
        (&[all[1], all[0]], answers.clone()),
        (&[("two", b"aB"), all[1]], answers.clone()),
        (all, answers[1..].to_vec()),
        (all, answers[..2].to_vec()),
        (all, vec![answers[0], cut, answers[2]]),
    ] {
        let error = scan(set, all).unwrap().starts(&answers).unwrap_err();
        let error = error.to_string();
        assert!(error.contains("all answers of one search"), "{error}");
    }
}

#[test]
fn what_cannot_be_searched_is_refused() {
    let world = &World::of("bgv/toy-4369", &levels(8));
    let set = world.keys.eval.set();
    let long = vec![1; 2034];
    assert!(scan(set, &[("long", &long[1..])]).is_ok());
    let tfhe = Set::named("tfhe/toy").unwrap();
    let empty = "pattern \"empty\": found 0 bytes, expected 1 to 2033";
    let too_long = "pattern \"long\": found 2034 bytes, expected 1 to 2033";
    for (set, all, words) in [
        (set, &[("a", &b"x"[..]), ("empty", b"")][..], empty),
        (set, &[("long", &long[..])], too_long),
        (set, &[], "value \"\": "),
        (&tfhe, &[("a", b"x")], ""),
    ] {
        let error = scan(set, all).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Argument);
        assert!(error.to_string().contains(words), "{error}");
    }
    let (small, cancel) = (World::new(), Cancel::new());
    let bits = small.wrap(&layout(Layout::Bits));
    let reverse = world.wrap(&WrapOptions {
        direction: Direction::Decrypt,
        ..levels(8)
    });
    let one = scan(set, &[("a", b"x")]).unwrap();
    let twice = scan(set, &[("a", b"x"), ("a", b"y")]).unwrap();
    let longer = scan(set, &[("long", &long[..113])]).unwrap();
    let at_most_112 = "found 113 bytes, expected at most 112 with 8 multiplications left";
    let short = scan(small.keys.eval.set(), &[("a", b"x")]).unwrap();
    let other_set = "evaluation key belongs to set bgv/toy-255";
    for (search, world, wrapped, words) in [
        (&twice, world, &world.wrapped, "value \"a\": "),
        (&longer, world, &world.wrapped, at_most_112),
        (&one, world, &world.wrap(&levels(2)), "out of depth: 7"),
        (&one, world, &reverse, "needs AES encryption"),
        (&short, &small, &bits, "no layout sliced"),
        (&one, &small, &bits, other_set),
    ] {
        let error = searched(search, world, wrapped, &message(1), &cancel).unwrap_err();
        assert!(error.to_string().contains(words), "{words}: {error}");
    }
    cancel.cancel();
    let ended = searched(&one, world, &world.wrapped, &message(1), &cancel);
    assert!(matches!(ended, Err(Error::Cancelled)));
}
