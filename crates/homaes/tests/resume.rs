//! Resumed and sharded runs give the bytes of an uninterrupted run.

#![allow(clippy::unwrap_used, clippy::panic, reason = "tests fail by panicking")]

use crate::common::{KEY, World};
use homaes::{
    AesFile, AesKey, Cancel, Error, ErrorKind, EvalKey, Kept, KeySet, Memory, Merge, Mode, Output,
    Plan, Report, Resume, RunId, Set, Shard, Transcipher, WrapOptions, WrappedKey, journal_path,
    part_path,
};
use std::fs;
use std::io::Read;
use std::path::Path;

/// Batches of the message; the last one is shorter.
const BATCHES: u64 = 12;

impl World {
    fn transcipher(&self) -> Transcipher<'_> {
        let run = Transcipher::new(&self.keys.eval, &self.wrapped).unwrap();
        run.reproducible(true)
    }

    /// Output of an uninterrupted run.
    fn whole(&self) -> Vec<u8> {
        let (output, buffer) = Output::memory();
        self.transcipher().run(message(0), output).unwrap();
        buffer.take()
    }

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
        let mut left = batches + 1;
        let mut kept = |_| {
            left -= 1;
            if left == 0 {
                cancel.cancel();
            }
        };
        let path = self.at("o.hct");
        let error = run.resume(message(0), path, Resume::default(), &mut kept);
        assert!(matches!(error, Err(Error::Cancelled)), "{error:?}");
    }

    fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(self.folder.path()).unwrap();
        let names = entries.map(|e| e.unwrap().file_name().into_string().unwrap());
        // the journal of a complete output remains
        let names = names.filter(|name| !name.ends_with(".homaes-done"));
        let mut names: Vec<_> = names.collect();
        names.sort_unstable();
        names
    }
}

fn message(seed: u8) -> AesFile {
    let bytes: Vec<u8> = (0..BATCHES as usize * 256 - 7)
        .map(|i| (i * i / 3) as u8 ^ seed)
        .collect();
    AesFile::of(Memory::new(bytes, "m"), Mode::Ctr { iv: [3; 16] }).unwrap()
}

#[test]
fn output_in_memory_and_streamed_is_that_of_a_file() {
    let world = World::new();
    let output = Output::create(world.at("o.hct"), false).unwrap();
    world.transcipher().run(message(0), output).unwrap();
    let file = fs::read(world.at("o.hct")).unwrap();
    assert!(world.whole() == file);
    let (mut reader, writer) = std::io::pipe().unwrap();
    let streamed = std::thread::scope(|scope| {
        let reader = scope.spawn(move || {
            let mut all = Vec::new();
            reader.read_to_end(&mut all).unwrap();
            all
        });
        let output = Output::stream("pipe", writer);
        world.transcipher().run(message(0), output).unwrap();
        reader.join().unwrap()
    });
    assert!(streamed == file);
    // a failed run leaves the buffer empty
    let cancel = Cancel::new();
    cancel.cancel();
    let (output, buffer) = Output::memory();
    let run = world.transcipher().cancel(cancel);
    assert!(run.run(message(0), output).is_err() && buffer.take().is_empty());
}

#[test]
fn a_run_goes_on_after_every_batch() {
    let world = World::new();
    let whole = world.whole();
    let (report, kept) = world.resume(message(0)).unwrap();
    assert!(fs::read(world.at("o.hct")).unwrap() == whole);
    assert_eq!((report.batches, report.resumed), (BATCHES, 0));
    let of = |kept: &Kept| (kept.batches, kept.of, kept.lost);
    let expected: Vec<_> = (0..=BATCHES).map(|done| (done, BATCHES, 0)).collect();
    assert_eq!(kept.iter().map(of).collect::<Vec<_>>(), expected);
    assert_eq!(world.names(), ["o.hct"]);
    fs::remove_file(world.at("o.hct")).unwrap();
    for first in 0..BATCHES {
        world.stopped(first);
        assert_eq!(
            world.names(),
            [".o.hct.homaes-journal", ".o.hct.homaes-part"]
        );
        let (report, kept) = world.resume(message(0)).unwrap();
        assert_eq!((of(&kept[0]), report.resumed), ((first, BATCHES, 0), first));
        assert!(fs::read(world.at("o.hct")).unwrap() == whole);
        assert_eq!(world.names(), ["o.hct"]);
        fs::remove_file(world.at("o.hct")).unwrap();
    }
    // stopped after every batch
    (1..BATCHES).for_each(|_| world.stopped(1));
    world.resume(message(0)).unwrap();
    assert!(fs::read(world.at("o.hct")).unwrap() == whole);
    // a complete output stays; another message does not replace it
    let (report, kept) = world.resume(message(0)).unwrap();
    assert_eq!((report.resumed, kept.len()), (BATCHES, 0));
    let error = world.resume(message(1)).unwrap_err();
    assert!(matches!(error, Error::AlreadyExists { .. }), "{error}");
}

#[test]
fn files_of_another_run_are_refused() {
    let world = World::new();
    world.stopped(3);
    let refused = |run: &Transcipher<'_>, message: AesFile| {
        let path = world.at("o.hct");
        let error = run.resume(message, path, Resume::default(), &mut |_| ());
        assert_eq!(error.unwrap_err().kind(), ErrorKind::OtherRun);
    };
    let own = world.transcipher();
    refused(&own, message(1));
    // another IV, and the same bytes in another mode
    let bytes: Vec<u8> = vec![0; BATCHES as usize * 256 - 7];
    for mode in [Mode::Ctr { iv: [4; 16] }, Mode::Cfb { iv: [3; 16] }] {
        refused(
            &own,
            AesFile::of(Memory::new(bytes.clone(), "m"), mode).unwrap(),
        );
    }
    // the same AES key, wrapped again, is another file
    let key = AesKey::from_bytes(&KEY).unwrap();
    let again = WrappedKey::encrypt(&world.keys.secret, &key, &WrapOptions::default()).unwrap();
    refused(
        &Transcipher::new(&world.keys.eval, &again).unwrap(),
        message(0),
    );
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
    let own = world.transcipher();
    own.resume(message(1), world.at("o.hct"), how, &mut kept)
        .unwrap();
    assert_eq!(first, Some(0));
    assert!(fs::read(world.at("o.hct")).unwrap() != world.whole());
}

#[test]
fn damage_costs_batches_or_is_an_error_but_changes_no_byte() {
    let world = World::new();
    let whole = world.whole();
    world.stopped(5);
    let (part, journal) = (
        part_path(&world.at("o.hct")),
        journal_path(&world.at("o.hct")),
    );
    let good = [&part, &journal].map(|path| fs::read(path).unwrap());
    let (mut anew, mut named, mut rest) = (0, 0, 0);
    let mut tried = |damaged: [&[u8]; 2]| {
        fs::write(&part, damaged[0]).unwrap();
        fs::write(&journal, damaged[1]).unwrap();
        match world.resume(message(0)) {
            Ok((report, kept)) => {
                assert!(fs::read(world.at("o.hct")).unwrap() == whole);
                assert_eq!(report.resumed, kept[0].batches);
                assert!(report.resumed <= 5);
                match report.resumed {
                    0 => anew += 1,
                    _ => rest += 1,
                }
                fs::remove_file(world.at("o.hct")).unwrap();
            }
            Err(error) => {
                assert_eq!(error.kind(), ErrorKind::OtherRun, "{error}");
                named += 1;
                fs::remove_file(&part).unwrap();
                // an empty journal is deleted
                let _ = fs::remove_file(&journal);
            }
        }
    };
    for i in 0..8 {
        let mut bad = good.clone();
        let at = i * (bad[0].len() - 1) / 7;
        bad[0][at] ^= 1;
        tried([&bad[0], &good[1]]);
        tried([&good[0][..at], &good[1]]);
        let at = i * (good[1].len() - 1) / 7;
        bad[1][at] ^= 1;
        tried([&good[0], &bad[1]]);
        tried([&good[0], &good[1][..at]]);
    }
    // a foreign file with the name of the part is not overwritten
    fs::write(&part, b"precious").unwrap();
    let _ = fs::remove_file(&journal);
    let error = world.resume(message(0)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::OtherRun, "{error}");
    assert!(error.to_string().contains("the journal"), "{error}");
    assert_eq!(fs::read(&part).unwrap(), b"precious");
    // bytes after the last batch in the journal are dropped
    let longer = [&good[0][..], b"what was not on the disk"].concat();
    tried([&longer, &good[1]]);
    let lines: Vec<&[u8]> = good[1].split_inclusive(|&byte| byte == b'\n').collect();
    tried([&good[0], &[lines[0], lines[4], lines[2]].concat()]);
    assert!(anew > 0 && named > 0 && rest > 5, "{anew} {named} {rest}");
    // `lost` counts batches: journal without its last three lines, with a flipped bit in the third, part cut short
    let lost = |part_bytes: &[u8], lines: &[u8], expected: (u64, u64)| {
        fs::write(&part, part_bytes).unwrap();
        fs::write(&journal, lines).unwrap();
        let (_, kept) = world.resume(message(0)).unwrap();
        assert_eq!((kept[0].batches, kept[0].lost), expected);
        assert!(fs::read(world.at("o.hct")).unwrap() == whole);
        fs::remove_file(world.at("o.hct")).unwrap();
    };
    lost(&good[0], &good[1], (5, 0));
    lost(&good[0], &lines[..5].concat(), (4, 0)); // killed between part and journal
    lost(&good[0], &lines[..3].concat(), (2, 3));
    let mut flipped = good[1].clone();
    flipped[lines[..2].concat().len() + 9] ^= 1;
    lost(&good[0], &flipped, (1, 4));
    lost(&good[0][..good[0].len() - 1], &good[1], (4, 1));
}

#[test]
fn a_run_killed_after_the_final_rename_is_complete() {
    let world = World::new();
    let path = world.at("o.hct");
    let journal = journal_path(&path);
    // the journal at the last batch; one more line precedes the rename
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
    assert_eq!(world.names(), ["o.hct"]);
    // a damaged output is not taken for complete
    fs::write(&journal, &text).unwrap();
    let mut damaged = whole.clone();
    damaged[1000] ^= 1;
    fs::write(&path, &damaged).unwrap();
    let error = world.resume(message(0)).unwrap_err();
    assert!(matches!(error, Error::AlreadyExists { .. }), "{error}");
    fs::write(&path, &whole).unwrap();
    // nor is that of another message
    let error = world.resume(message(1)).unwrap_err();
    assert!(matches!(error, Error::AlreadyExists { .. }), "{error}");
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
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
    let whole = world.whole();
    let run = world.transcipher();
    let plan = run.plan(message(0)).unwrap();
    let id = plan.id().unwrap();
    assert_eq!(plan.file_bytes(), whole.len() as u64);
    for batches in [1, 2, 5, BATCHES - 1, BATCHES, BATCHES + 1] {
        let shards = shards(&run, &plan, id, batches);
        assert!(merged(&plan, id, batches, &shards).unwrap() == whole);
    }
    // read as a stream
    let five = shards(&run, &plan, id, 5);
    let all = five.clone();
    let fetch = move |number: u64| Ok((all[number as usize].clone(), "s".into()));
    let mut merge = Merge::new(plan.front().unwrap(), id, 5, Box::new(fetch)).unwrap();
    let mut read = Vec::new();
    merge.read_to_end(&mut read).unwrap();
    assert!(read == whole);
    // on one thread
    let one = Transcipher::with_threads(&world.keys.eval, &world.wrapped, 1.try_into().unwrap());
    assert!(one.unwrap().shard(&plan, &plan.shard(id, 1, 5)).unwrap().0 == five[1]);
}

#[test]
fn shards_that_are_not_wanted_are_named() {
    let world = World::new();
    let run = world.transcipher();
    let plan = run.plan(message(0)).unwrap();
    let id = plan.id().unwrap();
    let good = shards(&run, &plan, id, 5);
    let wrong = |change: &dyn Fn(&mut Vec<Vec<u8>>)| {
        let mut bad = good.clone();
        change(&mut bad);
        match merged(&plan, id, 5, &bad).unwrap_err() {
            Error::WrongShard(wrong) => *wrong,
            error => panic!("{error:?}"),
        }
    };
    let differs = |error: &Error, what: &str| {
        error.kind() == ErrorKind::Shard && error.to_string().contains(&format!("its {what} does"))
    };
    let error = wrong(&|all| all.swap(0, 1));
    assert!(differs(&error, "shard"), "{error}");
    let error = wrong(&|all| all[1] = shards(&run, &plan, id, 4)[1].clone());
    assert!(differs(&error, "shard"), "{error}");
    let other = run.plan(message(1)).unwrap();
    let theirs = shards(&run, &other, other.id().unwrap(), 5);
    let error = wrong(&|all| all[2] = theirs[2].clone());
    assert!(differs(&error, "run"), "{error}");
    let len = good[0].len();
    for i in 0..64 {
        let at = i * (len - 1) / 63;
        let flipped = wrong(&|all| all[0][at] ^= 1);
        let cut = wrong(&|all| all[0].truncate(at));
        for error in [flipped, cut] {
            assert!(matches!(error, Error::File { .. }), "{error}");
        }
    }
    assert!(Shard::read(Vec::new(), Path::new("s")).is_err());
    // a shard beyond the end, and keys other than the plan's
    assert!(run.shard(&plan, &plan.shard(id, 3, 5)).is_err());
    assert!(plan.shard_bytes(&plan.shard(id, u64::MAX, u64::MAX)) > 0);
    let stranger = World::new();
    let error = stranger.transcipher().shard(&plan, &plan.shard(id, 0, 5));
    assert!(differs(&error.unwrap_err(), "keys"));
    assert!(
        run.shard(&other, &plan.shard(id, 0, 5))
            .is_ok_and(|(bytes, _)| bytes.len() == len)
    );
}

#[test]
fn the_id_of_a_run_depends_on_all_that_its_bytes_do() {
    let world = World::new();
    let run = world.transcipher();
    let id = |run: &Transcipher<'_>, message: AesFile| run.plan(message).unwrap().id().unwrap();
    let own = id(&run, message(0));
    assert_eq!(own, id(&run, message(0)));
    assert_ne!(own, id(&run, message(1)));
    // keys in memory and the same keys from files give one id
    let folder = world.at("keys");
    let set = Set::named("bgv/toy-255").unwrap();
    let keys = KeySet::create(&set, &folder).unwrap();
    let key = AesKey::from_bytes(&[1; 16]).unwrap();
    let wrapped = WrappedKey::encrypt(&keys.secret, &key, &WrapOptions::default()).unwrap();
    wrapped
        .save(Output::create(world.at("w"), false).unwrap())
        .unwrap();
    let again = EvalKey::open(folder.join("eval.hek")).unwrap();
    let read = WrappedKey::open(world.at("w"), &again).unwrap();
    let of_files = Transcipher::new(&again, &read).unwrap();
    let of_memory = Transcipher::new(&keys.eval, &wrapped).unwrap();
    assert_eq!(id(&of_files, message(0)), id(&of_memory, message(0)));
    assert_ne!(own, id(&of_files, message(0)));
}
