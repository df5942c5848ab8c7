//! Resumed and sharded runs give the bytes of an uninterrupted run.

#![allow(clippy::unwrap_used, clippy::panic, reason = "tests fail by panicking")]

use crate::common::{World, memory};
use homaes::{
    AesFile, Cancel, Error, ErrorKind, EvalKey, Kept, Merge, Mode, Output, Plan, Report, Resume,
    RunId, Shard, Transcipher, WrapOptions, WrappedKey, hex, journal_path, part_path,
};
use std::fs;
use std::path::Path;

/// The last batch is shorter.
const BATCHES: u64 = 5;
const BYTES: usize = BATCHES as usize * 256 - 7;

impl World {
    fn resume(&self, message: AesFile) -> Result<(Report, Vec<Kept>), Error> {
        let mut all = Vec::new();
        let path = self.at("o.hct");
        let report = self
            .transcipher()
            .resume(message, path, Resume::default(), &mut |kept| all.push(kept))?;
        Ok((report, all))
    }

    /// Starts or resumes a run and stops it after this many batches.
    fn stopped(&self, batches: u64) {
        let cancel = Cancel::new();
        let run = self.transcipher().cancel(cancel.clone());
        let (mut done, path) = (0, self.at("o.hct"));
        let error = run.resume(message(0), path, Resume::default(), &mut |_| {
            if done == batches {
                cancel.cancel();
            }
            done += 1;
        });
        assert!(matches!(error, Err(Error::Cancelled)), "{error:?}");
    }

    fn is_whole(&self, whole: &[u8]) {
        assert!(fs::read(self.at("o.hct")).unwrap() == whole);
        fs::remove_file(self.at("o.hct")).unwrap();
    }

    fn file_names(&self) -> Vec<String> {
        let mut names = self.names();
        // the journal of a complete output remains
        names.retain(|name| !name.ends_with(".homaes-done"));
        names
    }
}

fn message(seed: u8) -> AesFile {
    let bytes = (0..BYTES).map(|i| (i * i / 3) as u8 ^ seed);
    memory(bytes.collect::<Vec<_>>(), Mode::Ctr { iv: [3; 16] })
}

#[test]
fn output_in_memory_and_streamed_is_that_of_a_file() {
    let world = World::new();
    let run = world.transcipher();
    run.run(message(0), world.output("o.hct")).unwrap();
    let file = fs::read(world.at("o.hct")).unwrap();
    assert!(world.results(message(0)) == file);
    let stream = fs::File::create(world.at("stream")).unwrap();
    let stream = Output::stream("stream", stream);
    run.run(message(0), stream).unwrap();
    assert!(fs::read(world.at("stream")).unwrap() == file);
    // a failed run leaves the buffer empty
    let cancel = Cancel::new();
    cancel.cancel();
    let (output, buffer) = Output::memory();
    let run = run.cancel(cancel);
    assert!(run.run(message(0), output).is_err() && buffer.take().is_empty());
}

#[test]
fn a_run_goes_on_after_every_batch() {
    let world = World::new();
    let whole = world.results(message(0));
    let (report, kept) = world.resume(message(0)).unwrap();
    assert_eq!((report.batches, report.resumed), (BATCHES, 0));
    let of = |kept: &Kept| (kept.batches, kept.of, kept.lost);
    let expected: Vec<_> = (0..=BATCHES).map(|done| (done, BATCHES, 0)).collect();
    assert_eq!(kept.iter().map(of).collect::<Vec<_>>(), expected);
    assert_eq!(world.file_names(), ["o.hct"]);
    world.is_whole(&whole);
    for first in 0..BATCHES {
        world.stopped(first);
        let beside = [".o.hct.homaes-journal", ".o.hct.homaes-part"];
        assert_eq!(world.file_names(), beside);
        let (report, kept) = world.resume(message(0)).unwrap();
        assert_eq!((of(&kept[0]), report.resumed), ((first, BATCHES, 0), first));
        assert_eq!(world.file_names(), ["o.hct"]);
        world.is_whole(&whole);
    }
    // stopped after every batch
    (1..BATCHES).for_each(|_| world.stopped(1));
    world.resume(message(0)).unwrap();
    // a complete output stays; another message does not replace it
    let (report, kept) = world.resume(message(0)).unwrap();
    assert_eq!((report.resumed, kept.len()), (BATCHES, 0));
    let error = world.resume(message(1)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::AlreadyExists, "{error}");
    world.is_whole(&whole);
}

#[test]
fn files_of_another_run_are_refused() {
    let world = World::new();
    world.stopped(3);
    // the same AES key, wrapped again, is another file
    let again = world.wrap(&WrapOptions::default());
    let own = world.transcipher();
    let other = Transcipher::new(&world.keys.eval, &again).unwrap();
    // another IV, and the same bytes in another mode
    let mode = |mode| memory([0; BYTES], mode);
    for (run, message) in [
        (&own, message(1)),
        (&own, mode(Mode::Ctr { iv: [4; 16] })),
        (&own, mode(Mode::Cfb { iv: [3; 16] })),
        (&other, message(0)),
    ] {
        let path = world.at("o.hct");
        let error = run.resume(message, path, Resume::default(), &mut |_| ());
        assert_eq!(error.unwrap_err().kind(), ErrorKind::OtherRun);
    }
    let (report, _) = world.resume(message(0)).unwrap();
    assert_eq!(report.resumed, 3);
    fs::remove_file(world.at("o.hct")).unwrap();
    // `force` starts again from batch 0
    world.stopped(3);
    let how = Resume {
        force: true,
        ..Resume::default()
    };
    let mut first = None;
    let mut kept = |kept: Kept| {
        first.get_or_insert(kept.batches);
    };
    own.resume(message(1), world.at("o.hct"), how, &mut kept)
        .unwrap();
    assert_eq!(first, Some(0));
    world.is_whole(&world.results(message(1)));
}

#[test]
fn damage_costs_batches_or_is_an_error_but_changes_no_byte() {
    let world = World::new();
    let whole = world.results(message(0));
    world.stopped(4);
    let path = world.at("o.hct");
    let paths = [part_path(&path), journal_path(&path)];
    let good = paths.each_ref().map(|path| fs::read(path).unwrap());
    let resumed = |damaged: [&[u8]; 2]| -> Result<(u64, u64), Error> {
        for (path, bytes) in paths.iter().zip(damaged) {
            fs::write(path, bytes).unwrap();
        }
        let (report, kept) = world.resume(message(0))?;
        world.is_whole(&whole);
        assert_eq!(report.resumed, kept[0].batches);
        Ok((kept[0].batches, kept[0].lost))
    };
    let (mut anew, mut named, mut rest) = (0, 0, 0);
    let mut tried = |damaged: [&[u8]; 2]| match resumed(damaged) {
        Ok((0, _)) => anew += 1,
        Ok((batches, _)) => {
            assert!(batches <= 4);
            rest += 1;
        }
        Err(error) => {
            assert_eq!(error.kind(), ErrorKind::OtherRun, "{error}");
            named += 1;
            // an empty journal is deleted
            let _ = paths.each_ref().map(fs::remove_file);
        }
    };
    for i in 0..5 {
        let at = good.each_ref().map(|bytes| i * (bytes.len() - 1) / 4);
        let mut bad = good.clone();
        bad[0][at[0]] ^= 1;
        bad[1][at[1]] ^= 1;
        tried([&bad[0], &good[1]]);
        tried([&good[0][..at[0]], &good[1]]);
        tried([&good[0], &bad[1]]);
        tried([&good[0], &good[1][..at[1]]]);
    }
    // bytes after the last batch in the journal are dropped
    tried([
        &[&good[0][..], b"what was not on the disk"].concat(),
        &good[1],
    ]);
    let lines: Vec<&[u8]> = good[1].split_inclusive(|&byte| byte == b'\n').collect();
    tried([&good[0], &[lines[0], lines[4], lines[2]].concat()]);
    assert!(anew > 0 && named > 0 && rest > 5, "{anew} {named} {rest}");
    // expected batches kept and lost: a run killed between part and journal, a journal without its last two lines, a
    // flipped bit in the third line, a part cut short
    let mut flipped = good[1].clone();
    flipped[lines[..2].concat().len() + 9] ^= 1;
    let short = &good[0][..good[0].len() - 1];
    for (part, journal, expected) in [
        (&good[0][..], &good[1], (4, 0)),
        (&good[0], &lines[..4].concat(), (3, 0)),
        (&good[0], &lines[..3].concat(), (2, 2)),
        (&good[0], &flipped, (1, 3)),
        (short, &good[1], (3, 1)),
    ] {
        assert_eq!(resumed([part, journal]).unwrap(), expected);
    }
    // a foreign file with the name of the part is not overwritten
    fs::write(&paths[0], b"precious").unwrap();
    let error = world.resume(message(0)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::OtherRun, "{error}");
    assert!(error.to_string().contains("the journal"), "{error}");
    assert_eq!(fs::read(&paths[0]).unwrap(), b"precious");
}

#[test]
fn a_run_killed_after_the_final_rename_is_complete() {
    let world = World::new();
    let path = world.at("o.hct");
    let journal = journal_path(&path);
    // the journal up to the last batch; one more line precedes the rename
    let mut text = Vec::new();
    let own = world.transcipher();
    let mut kept = |_| text = fs::read(&journal).unwrap();
    own.resume(message(0), &path, Resume::default(), &mut kept)
        .unwrap();
    let whole = fs::read(&path).unwrap();
    let done = format!(r#"{{"done":"{}"}}"#, hex(&whole[whole.len() - 16..]));
    let sum = blake3::derive_key("homaes journal 1 line", done.as_bytes());
    text.extend_from_slice(format!("{done} {}\n", hex(&sum[..8])).as_bytes());
    fs::write(&journal, &text).unwrap();
    let (report, _) = world.resume(message(0)).unwrap();
    assert_eq!((report.batches, report.resumed), (BATCHES, BATCHES));
    assert!(fs::read(&path).unwrap() == whole);
    assert_eq!(world.file_names(), ["o.hct"]);
    // neither a damaged output nor that of another message is taken for complete
    fs::write(&journal, &text).unwrap();
    let mut damaged = whole.clone();
    damaged[1000] ^= 1;
    for (bytes, seed) in [(&damaged, 0), (&whole, 1)] {
        fs::write(&path, bytes).unwrap();
        let error = world.resume(message(seed)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::AlreadyExists, "{error}");
    }
}

fn shards(run: &Transcipher<'_>, plan: &Plan, id: RunId, batches: u64) -> Vec<Vec<u8>> {
    let numbers = 0..BATCHES.div_ceil(batches);
    let one = |number| {
        let name = plan.shard(id, number, batches);
        let (bytes, report) = run.shard(plan, &name).unwrap();
        assert_eq!(bytes.len() as u64, plan.shard_bytes(&name));
        assert_eq!(report.batches, name.batches);
        bytes
    };
    numbers.map(one).collect()
}

fn merged(plan: &Plan, id: RunId, batches: u64, shards: &[Vec<u8>]) -> Result<Vec<u8>, Error> {
    let fetch = |number: u64| {
        let name = format!("shard {number}");
        Ok((shards[number as usize].clone(), name.into()))
    };
    let mut merge = Merge::new(plan.front().unwrap(), id, batches, Box::new(fetch))?;
    let mut out = Vec::new();
    while let Some(bytes) = merge.next_bytes()? {
        out.extend(bytes);
    }
    Ok(out)
}

#[test]
fn shards_of_every_size_make_the_file() {
    let world = World::new();
    let whole = world.results(message(0));
    let run = world.transcipher();
    let plan = run.plan(message(0)).unwrap();
    let id = plan.id().unwrap();
    assert_eq!(plan.file_bytes(), whole.len() as u64);
    for batches in [1, 3, BATCHES, BATCHES + 1] {
        let shards = shards(&run, &plan, id, batches);
        assert!(merged(&plan, id, batches, &shards).unwrap() == whole);
        let (last, one) = (shards.len() - 1, 1.try_into().unwrap());
        let one = Transcipher::with_threads(&world.keys.eval, &world.wrapped, one).unwrap();
        let name = plan.shard(id, last as u64, batches);
        assert!(one.shard(&plan, &name).unwrap().0 == shards[last]);
    }
}

#[test]
fn shards_that_are_not_wanted_are_named() {
    let world = World::new();
    let run = world.transcipher();
    let plan = run.plan(message(0)).unwrap();
    let id = plan.id().unwrap();
    let good = shards(&run, &plan, id, 3);
    let wrong = |change: &dyn Fn(&mut Vec<Vec<u8>>)| {
        let mut bad = good.clone();
        change(&mut bad);
        match merged(&plan, id, 3, &bad).unwrap_err() {
            Error::WrongShard(wrong) => *wrong,
            error => panic!("{error:?}"),
        }
    };
    let differs = |error: &Error, what: &str| {
        let named = error.to_string().contains(&format!("its {what} does"));
        assert!(error.kind() == ErrorKind::Shard && named, "{error}");
    };
    let other = run.plan(message(1)).unwrap();
    let theirs = shards(&run, &other, other.id().unwrap(), 3);
    let smaller = shards(&run, &plan, id, 2);
    differs(&wrong(&|all| all.swap(0, 1)), "shard");
    differs(&wrong(&|all| all[1] = smaller[1].clone()), "shard");
    differs(&wrong(&|all| all[1] = theirs[1].clone()), "run");
    let len = good[0].len();
    for i in 0..32 {
        let at = i * (len - 1) / 31;
        let flipped = wrong(&|all| all[0][at] ^= 1);
        let cut = wrong(&|all| all[0].truncate(at));
        for error in [flipped, cut] {
            assert!(matches!(error, Error::File { .. }), "{error}");
        }
    }
    assert!(Shard::read(Vec::new(), Path::new("s")).is_err());
    // a shard beyond the end, and keys other than the plan's
    assert!(run.shard(&plan, &plan.shard(id, 2, 3)).is_err());
    assert!(plan.shard_bytes(&plan.shard(id, u64::MAX, u64::MAX)) > 0);
    let stranger = World::new();
    let error = stranger.transcipher().shard(&plan, &plan.shard(id, 0, 3));
    differs(&error.unwrap_err(), "keys");
    // only the merge can check the content of the id
    assert!(run.shard(&other, &plan.shard(id, 0, 3)).is_ok());
}

#[test]
fn keys_in_memory_and_from_files_give_the_same_id() {
    let world = World::with_files("bgv/toy-255");
    let id = |run: &Transcipher<'_>, seed| run.plan(message(seed)).unwrap().id().unwrap();
    let own = id(&world.transcipher(), 0);
    assert_eq!(own, id(&world.transcipher(), 0));
    let eval = EvalKey::open(world.at("keys/eval.hek")).unwrap();
    let wrapped = WrappedKey::open(world.at("key.hwk"), &eval).unwrap();
    assert_eq!(id(&Transcipher::new(&eval, &wrapped).unwrap(), 0), own);
}
