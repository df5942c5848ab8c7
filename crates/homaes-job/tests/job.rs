//! Jobs: the bytes equal those of one run, and deviations from the plan are reported.

#![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

use homaes::{
    AesFile, AesInput, AesKey, Cancel, Error, ErrorKind, EvalKey, KeySet, Mode, Output, Set,
    Transcipher, WrapOptions, WrappedKey,
};
use homaes_job::{Job, JobError, Location, Outcome, Planning, Worker};
use homaes_wire::{Kind, Reader, Writer};
use std::fs;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::Mutex;
use std::thread;
use std::time::Duration;
use tempfile::TempDir;

/// Keys of `bgv/toy-255` in files, and messages.
struct World {
    folder: TempDir,
}

/// Tag of a batch record.
const TAG_BATCH: u16 = 2;

const IV: [u8; 16] = [0xff; 16];

impl World {
    fn new() -> Self {
        let world = Self {
            folder: tempfile::tempdir().unwrap(),
        };
        let set = Set::named("bgv/toy-255").unwrap();
        let keys = KeySet::create(&set, world.at("keys")).unwrap();
        for (name, key) in [("key.hwk", [7; 16]), ("other.hwk", [8; 16])] {
            let key = AesKey::from_bytes(&key).unwrap();
            let wrapping = WrapOptions::default();
            WrappedKey::create(&keys.secret, &key, &wrapping, world.at(name), false).unwrap();
        }
        for (name, bytes) in [("a", 700), ("b", 0), ("c", 5), ("d", 2000)] {
            let text: Vec<u8> = (0..bytes).map(|i| (i * i / 7) as u8).collect();
            fs::write(world.at(name), text).unwrap();
        }
        world
    }

    fn at(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn location(&self, name: &str) -> Location {
        Location::Local(self.at(name))
    }

    /// Parts in three modes, one of them empty.
    fn message(&self) -> AesInput {
        let part = |(name, mode): (&str, Mode)| {
            let part = AesFile::open(self.at(name), mode).unwrap();
            (name.to_owned(), part)
        };
        let modes = [
            ("a", Mode::Cfb { iv: IV }),
            ("b", Mode::Ctr { iv: IV }),
            ("c", Mode::Ctr { iv: [1; 16] }),
            ("d", Mode::Gcm { nonce: [2; 12] }),
        ];
        AesInput::of_parts(modes.map(part)).unwrap()
    }

    fn planning(&self, shard_batches: u64) -> Planning {
        let wrapped = self.location("key.hwk");
        Planning {
            shard_batches: Some(shard_batches),
            ..Planning::new(self.location("keys/eval.hek"), wrapped)
        }
    }

    fn plan(&self, name: &str, shard_batches: u64) -> Job {
        let planning = self.planning(shard_batches);
        Job::plan(self.location(name), self.message(), &planning).unwrap()
    }

    /// The results of a single run.
    fn whole(&self) -> Vec<u8> {
        let eval = EvalKey::open(self.at("keys/eval.hek")).unwrap();
        let wrapped = WrappedKey::open(self.at("key.hwk"), &eval).unwrap();
        let transcipher = Transcipher::new(&eval, &wrapped).unwrap();
        let (output, buffer) = Output::memory();
        let transcipher = transcipher.reproducible(true);
        transcipher.run(self.message(), output).unwrap();
        buffer.take()
    }

    fn merged(&self, job: &Job) -> Result<Vec<u8>, JobError> {
        let (output, buffer) = Output::memory();
        job.merge(output, &Cancel::new())?;
        Ok(buffer.take())
    }
}

fn one() -> Option<NonZeroUsize> {
    Some(NonZeroUsize::MIN)
}

#[test]
fn shards_of_every_size_by_any_number_of_workers_make_the_bytes_of_one_run() {
    let world = World::new();
    let whole = world.whole();
    for (shard_batches, workers) in [(1, 3), (2, 1), (3, 2), (5, 2), (10, 2), (11, 1), (1000, 2)] {
        let name = format!("job-{shard_batches}");
        let planned = world.plan(&name, shard_batches);
        let job = Job::open(world.location(&name)).unwrap();
        assert_eq!((job.id(), job.shards()), (planned.id(), planned.shards()));
        let done = Mutex::new(Vec::new());
        thread::scope(|scope| {
            for _ in 0..workers {
                scope.spawn(|| {
                    let keys = job.keys(None).unwrap();
                    let worker = Worker::new(&job, &keys, one()).unwrap();
                    let each = &mut |shard: &homaes_job::Done| {
                        if shard.outcome == Outcome::Written {
                            done.lock().unwrap().push(shard.number);
                        }
                    };
                    worker.run(&[], each).unwrap();
                });
            }
        });
        let mut done = done.into_inner().unwrap();
        done.sort_unstable();
        assert!(done.into_iter().eq(0..job.shards()), "each shard once");
        let status = job.status().unwrap();
        assert_eq!((status.missing(), status.claimed), (0, 0));
        assert!(world.merged(&job).unwrap() == whole, "{shard_batches}");
        let verified = job.verify(&Cancel::new()).unwrap();
        assert_eq!((verified.shards, verified.missing), (job.shards(), 0));
        assert!(verified.wrong.is_empty());
    }
}

#[test]
fn a_plan_is_made_once() {
    let world = World::new();
    let job = world.plan("job", 2);
    let text = fs::read(world.at("job/job.json")).unwrap();
    // planning the same again returns the existing job
    assert_eq!(world.plan("job", 2).id(), job.id());
    let planning = world.planning(3);
    let error = Job::plan(world.location("job"), world.message(), &planning).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::OtherJob, "{error}");
    fs::write(world.at("c"), b"other").unwrap();
    let planning = world.planning(2);
    let error = Job::plan(world.location("job"), world.message(), &planning).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::OtherJob, "{error}");
    assert_eq!(fs::read(world.at("job/job.json")).unwrap(), text);
    let error = Job::open(world.location("none")).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NoJob, "{error}");
    let empty = AesFile::open(world.at("b"), Mode::Ecb).unwrap();
    let error = Job::plan(world.location("empty"), empty.into(), &planning).unwrap_err();
    // the wrapped key is for the other direction of AES
    assert!(matches!(error.kind(), ErrorKind::Direction(_)), "{error}");
    let empty = AesFile::open(world.at("b"), Mode::Ctr { iv: IV }).unwrap();
    let error = Job::plan(world.location("empty"), empty.into(), &planning).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Argument, "{error}");
    assert!(error.to_string().contains("is empty"));
}

#[test]
fn a_job_moves_with_its_keys_and_input() {
    let world = World::new();
    fs::create_dir(world.at("tree")).unwrap();
    for name in ["keys", "key.hwk", "a", "b", "c", "d"] {
        fs::rename(world.at(name), world.at(&format!("tree/{name}"))).unwrap();
    }
    let moved = World {
        folder: tempfile::tempdir_in(world.folder.path()).unwrap(),
    };
    let tree = |world: &World| World {
        folder: {
            let folder = tempfile::tempdir_in(world.folder.path()).unwrap();
            for name in fs::read_dir(world.at("tree")).unwrap() {
                let name = name.unwrap();
                fs::rename(name.path(), folder.path().join(name.file_name())).unwrap();
            }
            folder
        },
    };
    let first = tree(&world);
    let whole = first.whole();
    first.plan("job", 4);
    fs::rename(first.folder.path(), moved.at("tree")).unwrap();
    let job = Job::open(moved.location("tree/job")).unwrap();
    let keys = job.keys(None).unwrap();
    let worker = Worker::new(&job, &keys, None).unwrap();
    worker.run(&[], &mut |_| ()).unwrap();
    assert!(moved.merged(&job).unwrap() == whole);
}

#[test]
fn what_is_not_as_planned_is_named_and_not_used() {
    let world = World::new();
    let job = world.plan("job", 2);
    let keys = job.keys(None).unwrap();
    let worker = Worker::new(&job, &keys, one()).unwrap();
    // reports the changed one of four parts, in shards that contain some of it
    let text = fs::read(world.at("d")).unwrap();
    let mut other = text.clone();
    other[1990] ^= 1;
    for (bytes, right) in [(&other, false), (&text, true)] {
        fs::write(world.at("d"), bytes).unwrap();
        let last = worker.shard(job.shards() - 1);
        match right {
            true => assert_eq!(last.unwrap().outcome, Outcome::Written),
            false => {
                let error = last.unwrap_err().to_string();
                assert!(error.contains("/d: changed since"), "{error}");
            }
        }
    }
    let mut other = text.clone();
    other[1000] ^= 1;
    fs::write(world.at("d"), other).unwrap();
    let mut found = 0;
    for number in 0..job.shards() - 1 {
        match worker.shard(number) {
            Ok(_) => {}
            Err(error) => {
                assert_eq!(error.kind(), ErrorKind::JobInput, "{error}");
                assert!(error.to_string().contains("/d: changed"), "{error}");
                found += 1;
            }
        }
    }
    assert_eq!(found, 1);
    assert_eq!(job.status().unwrap().missing(), 1);
    let error = world.merged(&job).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Incomplete, "{error}");
    assert!(error.to_string().contains(": 1 of "), "{error}");
    fs::write(world.at("d"), text).unwrap();
    worker.run(&[], &mut |_| ()).unwrap();
    assert!(world.merged(&job).unwrap() == world.whole());

    // other keys under the same names
    fs::rename(world.at("key.hwk"), world.at("kept.hwk")).unwrap();
    fs::rename(world.at("other.hwk"), world.at("key.hwk")).unwrap();
    let keys = job.keys(None).unwrap();
    let error = Worker::new(&job, &keys, None).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::JobKeys, "{error}");
}

#[test]
fn changed_plans_are_refused_or_make_the_same_bytes() {
    let world = World::new();
    let job = world.plan("job", 4);
    let keys = job.keys(None).unwrap();
    Worker::new(&job, &keys, None)
        .unwrap()
        .run(&[], &mut |_| ())
        .unwrap();
    let whole = world.whole();
    let path = world.at("job/job.json");
    let text = fs::read(&path).unwrap();
    let mut refused = 0;
    for at in (0..text.len()).step_by(19) {
        let mut bad = text.clone();
        bad[at] ^= 1;
        fs::write(&path, bad).unwrap();
        let merged = Job::open(world.location("job")).and_then(|job| world.merged(&job));
        match merged {
            // what the plan says of keys and parts concerns workers
            Ok(merged) => assert!(merged == whole, "{at}"),
            Err(_) => refused += 1,
        }
        let evaluated = Job::open(world.location("job")).and_then(|job| {
            let keys = job.keys(None)?;
            let worker = Worker::new(&job, &keys, one())?;
            let verified = worker.verify(0.0)?;
            Ok(verified.wrong.is_empty())
        });
        // a changed digest of an input is found in its shard
        assert!(evaluated.is_err() || evaluated.unwrap(), "{at}");
    }
    // one position of 19 is changed, and a third of all changes at least must be noticed
    assert!(refused > text.len() / 55, "{refused}");
}

#[test]
fn damaged_and_forged_shards_are_found() {
    let world = World::new();
    let job = world.plan("job", 3);
    let keys = job.keys(None).unwrap();
    let worker = Worker::new(&job, &keys, one()).unwrap();
    worker.run(&[], &mut |_| ()).unwrap();
    let path = world.at("job/shards/000001.hcs");
    let right = fs::read(&path).unwrap();
    let wrong = |job: &Job| {
        let verified = job.verify(&Cancel::new()).unwrap();
        let wrong = verified.wrong.into_iter().map(|(number, error)| {
            assert!(error.to_string().contains("000001.hcs"), "{error}");
            number
        });
        wrong.collect::<Vec<_>>()
    };
    for bit in (0..8 * right.len()).step_by(8 * right.len() / 60 + 1) {
        let mut bad = right.clone();
        bad[bit / 8] ^= 1 << (bit % 8);
        fs::write(&path, bad).unwrap();
        assert_eq!(wrong(&job), [1]);
        let error = world.merged(&job).unwrap_err().to_string();
        assert!(error.contains("000001.hcs"), "{error}");
    }
    // truncated, too long, and another shard of the same job
    let other = fs::read(world.at("job/shards/000002.hcs")).unwrap();
    let longer = [&right[..], &[0]].concat();
    for bad in [&right[..right.len() - 1], &longer, &other, &[]] {
        fs::write(&path, bad).unwrap();
        assert_eq!(wrong(&job), [1]);
        assert!(world.merged(&job).is_err());
    }
    fs::write(&path, &right[..9]).unwrap();
    assert_eq!(job.status().unwrap().wrong, [(1, 9)]);
    let error = worker.run(&[], &mut |_| ()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Shard, "{error}");
    assert!(error.to_string().contains("found 9 bytes"), "{error}");

    // one bit of a ciphertext, with right checksums
    fs::write(&path, forged(&right)).unwrap();
    assert_eq!(wrong(&job), [] as [u64; 0]);
    let verified = worker.verify(1.0).unwrap();
    assert_eq!(verified.evaluated, job.shards());
    let [(1, error)] = &verified.wrong[..] else {
        panic!("{:?}", verified.wrong);
    };
    assert_eq!(error.kind(), ErrorKind::Differs);
    // checking a share of the shards finds it sooner or later
    let found = (0..200).position(|_| !worker.verify(0.1).unwrap().wrong.is_empty());
    assert!(found.is_some());
    fs::write(&path, &right).unwrap();
    assert!(worker.verify(1.0).unwrap().wrong.is_empty());
}

/// Changes a bit of a shard's first batch and keeps all checksums right.
fn forged(shard: &[u8]) -> Vec<u8> {
    let mut reader = Reader::from_slice(shard, Kind::Shard).unwrap();
    let mut writer = Writer::new(Vec::new(), reader.header().clone()).unwrap();
    let mut first = true;
    while let Some(mut record) = reader.begin_any().unwrap() {
        let head = record.head();
        let mut body = vec![0; head.len as usize];
        record.read_exact(&mut body).unwrap();
        record.finish().unwrap();
        if head.tag == TAG_BATCH && std::mem::take(&mut first) {
            *body.last_mut().unwrap() ^= 1;
        }
        writer.write_record(head.tag, head.index, &body).unwrap();
    }
    writer.finish().unwrap()
}

#[test]
fn who_comes_second_compares() {
    let world = World::new();
    let job = world.plan("job", 4);
    let keys = job.keys(None).unwrap();
    // without claims, as in a bucket, two workers may evaluate the same shard
    fs::write(world.at("job/claims"), b"no folder").unwrap();
    let outcomes = Mutex::new(Vec::new());
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                let worker = Worker::new(&job, &keys, one()).unwrap();
                let done = worker.shard(0).unwrap();
                outcomes.lock().unwrap().push(done.outcome);
            });
        }
    });
    let outcomes = outcomes.into_inner().unwrap();
    let written = outcomes.iter().filter(|&&o| o == Outcome::Written);
    assert_eq!((outcomes.len(), written.count()), (2, 1));
    assert_eq!(fs::read_dir(world.at("job/shards")).unwrap().count(), 1);
}

#[test]
fn a_cancelled_worker_ends_soon_and_leaves_the_shards_that_are_whole() {
    let world = World::new();
    let job = world.plan("job", 1);
    let keys = job.keys(None).unwrap();
    let cancel = Cancel::new();
    let worker = Worker::new(&job, &keys, one()).unwrap();
    let worker = worker.cancel(cancel.clone());
    thread::scope(|scope| {
        let canceller = scope.spawn(|| {
            while job.status().unwrap().done() == 0 {
                thread::sleep(Duration::from_millis(1));
            }
            cancel.cancel();
        });
        let error = worker.run(&[], &mut |_| ()).unwrap_err();
        canceller.join().unwrap();
        assert!(matches!(error, JobError::Work(Error::Cancelled)), "{error}");
    });
    let verified = job.verify(&Cancel::new()).unwrap();
    assert!(verified.shards > 0 && verified.missing > 0 && verified.wrong.is_empty());
}

/// Keys, message and job are in a bucket.
#[test]
#[cfg(feature = "s3")]
#[ignore = "needs a server: .ci/s3 starts one"]
fn jobs_in_a_bucket_make_the_same_bytes() {
    let world = World::new();
    let whole = world.whole();
    let bucket = std::env::var("HOMAES_STORE_TEST_S3").expect("the script .ci/s3 names a bucket");
    let place = Location::parse(format!("{bucket}/job test {}", std::process::id())).unwrap();
    let store = homaes_job::store::open(&place).unwrap();
    let names = ["keys/eval.hek", "key.hwk", "other.hwk", "a", "b", "c", "d"];
    for name in names {
        store
            .create(name, &fs::read(world.at(name)).unwrap())
            .unwrap();
    }
    let modes = [
        ("a", Mode::Cfb { iv: IV }),
        ("b", Mode::Ctr { iv: IV }),
        ("c", Mode::Ctr { iv: [1; 16] }),
        ("d", Mode::Gcm { nonce: [2; 12] }),
    ];
    let parts = modes.map(|(name, mode)| {
        let source = homaes_job::open_source(&place.join(name)).unwrap();
        (name.to_owned(), AesFile::of(source, mode).unwrap())
    });
    let message = AesInput::of_parts(parts).unwrap();
    let planning = Planning {
        shard_batches: Some(3),
        cache: Some(world.at("cache")),
        ..Planning::new(place.join("keys/eval.hek"), place.join("key.hwk"))
    };
    Job::plan(place.join("job"), message, &planning).unwrap();
    let job = Job::open(place.join("job")).unwrap();
    let cache = world.at("cache");
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                let keys = job.keys(Some(&cache)).unwrap();
                let worker = Worker::new(&job, &keys, one()).unwrap();
                worker.run(&[], &mut |_| ()).unwrap();
            });
        }
    });
    // one copy of each key
    let copies = fs::read_dir(&cache).unwrap().filter(|entry| {
        let name = entry.as_ref().unwrap().file_name();
        !name.to_string_lossy().starts_with('.')
    });
    assert_eq!(copies.count(), 2);
    assert_eq!(job.status().unwrap().missing(), 0);
    assert!(world.merged(&job).unwrap() == whole);
    assert!(job.verify(&Cancel::new()).unwrap().wrong.is_empty());
    // a changed object
    let mut bytes = fs::read(world.at("d")).unwrap();
    bytes[1000] ^= 1;
    store.remove("d").unwrap();
    store.create("d", &bytes).unwrap();
    let keys = job.keys(Some(&cache)).unwrap();
    let worker = Worker::new(&job, &keys, one()).unwrap();
    let shards = store.list("job/shards").unwrap().objects;
    assert_eq!(shards.len() as u64, job.shards());
    shards
        .iter()
        .for_each(|(name, _)| store.remove(name).unwrap());
    let error = worker.run(&[], &mut |_| ()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::JobInput, "{error}");
    assert!(error.to_string().contains("/d: changed"), "{error}");
    drop(worker);
    job.remove().unwrap();
    let error = Job::open(place.join("job")).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NoJob);
}

#[test]
fn a_worker_makes_nothing_where_its_job_is_gone() {
    let world = World::new();
    let job = world.plan("job", 2);
    let keys = job.keys(None).unwrap();
    let worker = Worker::new(&job, &keys, one()).unwrap();
    fs::rename(world.at("job"), world.at("moved")).unwrap();
    let error = worker.run(&[], &mut |_| ()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NoJob, "{error}");
    assert!(!world.at("job").exists());
}
