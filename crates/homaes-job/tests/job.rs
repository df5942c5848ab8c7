//! Jobs: the bytes equal those of one run, and deviations from the plan are reported.

#![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

use homaes::{
    AesFile, AesInput, AesKey, Cancel, ErrorKind, EvalKey, KeySet, Mode, Output, Set, Transcipher,
    WrapOptions, WrappedKey,
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
    /// has the files
    root: PathBuf,
}

/// Tag of a batch record.
const TAG_BATCH: u16 = 2;

const IV: [u8; 16] = [0xff; 16];

impl World {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("world");
        fs::create_dir(&root).unwrap();
        let world = Self { folder, root };
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
        self.root.join(name)
    }

    fn location(&self, name: &str) -> Location {
        Location::Local(self.at(name))
    }

    fn open(&self, name: &str) -> Result<Job, JobError> {
        Job::open(self.location(name))
    }

    fn message(&self) -> AesInput {
        message(|name, mode| AesFile::open(self.at(name), mode).unwrap())
    }

    fn try_plan(&self, name: &str, message: AesInput, shard_batches: u64) -> Result<Job, JobError> {
        let wrapped = self.location("key.hwk");
        let planning = Planning {
            shard_batches: Some(shard_batches),
            ..Planning::new(self.location("keys/eval.hek"), wrapped)
        };
        Job::plan(self.location(name), message, &planning)
    }

    fn plan(&self, name: &str, shard_batches: u64) -> Job {
        self.try_plan(name, self.message(), shard_batches).unwrap()
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
}

/// Parts in three modes, one of them empty.
fn message(open: impl Fn(&str, Mode) -> AesFile) -> AesInput {
    let modes = [
        ("a", Mode::Cfb { iv: IV }),
        ("b", Mode::Ctr { iv: IV }),
        ("c", Mode::Ctr { iv: [1; 16] }),
        ("d", Mode::Gcm { nonce: [2; 12] }),
    ];
    AesInput::of_parts(modes.map(|(name, mode)| (name.to_owned(), open(name, mode)))).unwrap()
}

fn merged(job: &Job) -> Result<Vec<u8>, JobError> {
    let (output, buffer) = Output::memory();
    job.merge(output, &Cancel::new())?;
    Ok(buffer.take())
}

const ONE: Option<NonZeroUsize> = Some(NonZeroUsize::MIN);

#[track_caller]
fn check_error<T>(result: Result<T, JobError>, kind: ErrorKind, words: &str) {
    let error = result.err().expect("an error");
    assert_eq!(error.kind(), kind, "{error}");
    assert!(error.to_string().contains(words), "{error}");
}

#[test]
fn shards_of_every_size_by_any_number_of_workers_make_the_bytes_of_one_run() {
    let world = World::new();
    let whole = world.whole();
    // of 11 batches: divided evenly, unevenly, and fewer than in a shard
    for (shard_batches, workers) in [(1, 3), (3, 2), (1000, 2)] {
        let name = format!("job-{shard_batches}");
        let planned = world.plan(&name, shard_batches);
        let job = world.open(&name).unwrap();
        assert_eq!((job.id(), job.shards()), (planned.id(), planned.shards()));
        assert_eq!(job.batches(), 11);
        let done = Mutex::new(Vec::new());
        thread::scope(|scope| {
            for _ in 0..workers {
                scope.spawn(|| {
                    let keys = job.keys(None).unwrap();
                    let worker = Worker::new(&job, &keys, ONE).unwrap();
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
        assert!(merged(&job).unwrap() == whole, "{shard_batches}");
        let verified = job.verify(&Cancel::new()).unwrap();
        assert_eq!((verified.shards, verified.missing), (job.shards(), 0));
        assert!(verified.wrong.is_empty());
    }
}

#[test]
fn a_plan_is_made_once_and_moves_with_its_keys_and_input() {
    let mut world = World::new();
    let job = world.plan("job", 2);
    let text = fs::read(world.at("job/job.json")).unwrap();
    // planning the same again returns the existing job
    assert_eq!(world.plan("job", 2).id(), job.id());
    let plan = |shard_batches| world.try_plan("job", world.message(), shard_batches);
    check_error(plan(3), ErrorKind::OtherJob, "holds another job");
    let part = fs::read(world.at("c")).unwrap();
    fs::write(world.at("c"), b"other").unwrap();
    check_error(plan(2), ErrorKind::OtherJob, "holds another job");
    fs::write(world.at("c"), part).unwrap();
    assert_eq!(fs::read(world.at("job/job.json")).unwrap(), text);
    check_error(world.open("none"), ErrorKind::NoJob, "");
    let empty = |mode| {
        let empty = AesFile::open(world.at("b"), mode).unwrap();
        world.try_plan("empty", empty.into(), 2)
    };
    // the wrapped key is for the other direction of AES
    let error = empty(Mode::Ecb).unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Direction(_)), "{error}");
    let ctr = empty(Mode::Ctr { iv: IV });
    check_error(ctr, ErrorKind::Argument, "is empty");

    let moved = world.folder.path().join("moved");
    fs::rename(&world.root, &moved).unwrap();
    // a worker makes nothing where its job is gone
    check_error(job.status(), ErrorKind::NoJob, "");
    world.root = moved;
    let job = world.open("job").unwrap();
    let keys = job.keys(None).unwrap();
    let worker = Worker::new(&job, &keys, ONE).unwrap();
    let [here, away] = ["job", "away"].map(|name| world.at(name));
    fs::rename(&here, &away).unwrap();
    check_error(worker.run(&[], &mut |_| ()), ErrorKind::NoJob, "");
    check_error(worker.shard(0), ErrorKind::NoJob, "");
    assert!(!here.exists());
    fs::rename(&away, &here).unwrap();
    worker.run(&[], &mut |_| ()).unwrap();
    assert!(merged(&job).unwrap() == world.whole());
}

#[test]
fn what_is_not_as_planned_is_named_and_not_used() {
    let world = World::new();
    let job = world.plan("job", 2);
    let keys = job.keys(None).unwrap();
    let worker = Worker::new(&job, &keys, ONE).unwrap();
    // reports the changed one of four parts, in shards that contain some of it
    let text = fs::read(world.at("d")).unwrap();
    // the tag, which concerns all shards of its part, and one byte
    for (at, missing) in [(1990, 5), (1000, 1)] {
        let mut other = text.clone();
        other[at] ^= 1;
        fs::write(world.at("d"), other).unwrap();
        let shards = (0..job.shards()).map(|number| worker.shard(number));
        for shard in shards.filter(Result::is_err) {
            check_error(shard, ErrorKind::JobInput, "/d: changed since");
        }
        assert_eq!(job.status().unwrap().missing(), missing);
    }
    check_error(merged(&job), ErrorKind::Incomplete, ": 1 of ");
    fs::write(world.at("d"), text).unwrap();
    worker.run(&[], &mut |_| ()).unwrap();
    assert!(merged(&job).unwrap() == world.whole());

    // other keys under the same names
    fs::rename(world.at("other.hwk"), world.at("key.hwk")).unwrap();
    let keys = job.keys(None).unwrap();
    let found = Worker::new(&job, &keys, None);
    check_error(found, ErrorKind::JobKeys, "/key.hwk: not the key file");
}

#[test]
fn changed_plans_are_refused_or_make_the_same_bytes() {
    let world = World::new();
    let job = world.plan("job", 4);
    let keys = job.keys(None).unwrap();
    let worker = Worker::new(&job, &keys, ONE).unwrap();
    worker.run(&[], &mut |_| ()).unwrap();
    let whole = world.whole();
    let path = world.at("job/job.json");
    let text = fs::read(&path).unwrap();
    let (mut tried, mut refused) = (0, 0);
    for at in (0..text.len()).step_by(41) {
        let mut bad = text.clone();
        bad[at] ^= 1;
        fs::write(&path, bad).unwrap();
        tried += 1;
        match world.open("job").and_then(|job| merged(&job)) {
            // what the plan says of keys and parts concerns workers
            Ok(merged) => assert!(merged == whole, "{at}"),
            Err(_) => refused += 1,
        }
        let evaluated = world.open("job").and_then(|job| {
            let keys = job.keys(None)?;
            let verified = Worker::new(&job, &keys, ONE)?.verify(0.0)?;
            Ok(verified.wrong.is_empty())
        });
        // a changed digest of an input is found in its shard
        assert!(evaluated.is_err() || evaluated.unwrap(), "{at}");
    }
    assert!(55 * refused > 19 * tried, "{refused} of {tried}");
}

#[test]
fn damaged_and_forged_shards_are_found() {
    let world = World::new();
    let job = world.plan("job", 3);
    let keys = job.keys(None).unwrap();
    let worker = Worker::new(&job, &keys, ONE).unwrap();
    worker.run(&[], &mut |_| ()).unwrap();
    let path = world.at("job/shards/000001.hcs");
    let right = fs::read(&path).unwrap();
    let wrong = || {
        let verified = job.verify(&Cancel::new()).unwrap();
        let wrong = verified.wrong.into_iter().map(|(number, error)| {
            assert!(error.to_string().contains("000001.hcs"), "{error}");
            number
        });
        wrong.collect::<Vec<_>>()
    };
    // truncated, too long, another shard of the same job, and single bits
    let other = fs::read(world.at("job/shards/000002.hcs")).unwrap();
    let longer = [&right[..], &[0]].concat();
    let mut all = vec![right[..right.len() - 1].to_vec(), longer, other, Vec::new()];
    let bits = (0..8 * right.len()).step_by(8 * right.len() / 60 + 1);
    all.extend(bits.map(|bit| {
        let mut bad = right.clone();
        bad[bit / 8] ^= 1 << (bit % 8);
        bad
    }));
    for bad in all {
        fs::write(&path, bad).unwrap();
        assert_eq!(wrong(), [1]);
        let error = merged(&job).unwrap_err().to_string();
        assert!(error.contains("000001.hcs"), "{error}");
    }
    fs::write(&path, &right[..9]).unwrap();
    assert_eq!(job.status().unwrap().wrong, [(1, 9)]);
    let ran = worker.run(&[], &mut |_| ());
    check_error(ran, ErrorKind::Shard, "found 9 bytes");

    // one bit of a ciphertext, with right checksums
    fs::write(&path, forged(&right)).unwrap();
    assert_eq!(wrong(), [] as [u64; 0]);
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
    let outcome = || {
        let worker = Worker::new(&job, &keys, ONE).unwrap();
        worker.shard(0).unwrap().outcome
    };
    let outcomes = thread::scope(|scope| {
        let both = [(); 2].map(|()| scope.spawn(outcome));
        both.map(|worker| worker.join().unwrap())
    });
    let written = outcomes.iter().filter(|&&o| o == Outcome::Written);
    assert_eq!(written.count(), 1);
    assert_eq!(fs::read_dir(world.at("job/shards")).unwrap().count(), 1);
}

#[test]
fn a_cancelled_worker_ends_soon_and_leaves_the_shards_that_are_whole() {
    let world = World::new();
    let job = world.plan("job", 1);
    let keys = job.keys(None).unwrap();
    let cancel = Cancel::new();
    let worker = Worker::new(&job, &keys, ONE).unwrap();
    let worker = worker.cancel(cancel.clone());
    thread::scope(|scope| {
        let canceller = scope.spawn(|| {
            while job.status().unwrap().done() == 0 {
                thread::sleep(Duration::from_millis(1));
            }
            cancel.cancel();
        });
        let ran = worker.run(&[], &mut |_| ());
        canceller.join().unwrap();
        check_error(ran, ErrorKind::Cancelled, "");
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
    let bucket = std::env::var("HOMAES_STORE_TEST_S3").expect("the script .ci/s3 names a bucket");
    let place = Location::parse(format!("{bucket}/job test {}", std::process::id())).unwrap();
    let store = homaes_job::store::open(&place).unwrap();
    let put = |name: &str, bytes: &[u8]| store.create(name, bytes).unwrap();
    for name in ["keys/eval.hek", "key.hwk", "a", "b", "c", "d"] {
        put(name, &fs::read(world.at(name)).unwrap());
    }
    let message = message(|name, mode| {
        let source = homaes_job::open_source(&place.join(name)).unwrap();
        AesFile::of(source, mode).unwrap()
    });
    let cache = world.at("cache");
    let planning = Planning {
        shard_batches: Some(3),
        cache: Some(cache.clone()),
        ..Planning::new(place.join("keys/eval.hek"), place.join("key.hwk"))
    };
    Job::plan(place.join("job"), message, &planning).unwrap();
    let job = Job::open(place.join("job")).unwrap();
    let run = || {
        let keys = job.keys(Some(&cache)).unwrap();
        let worker = Worker::new(&job, &keys, ONE).unwrap();
        worker.run(&[], &mut |_| ())
    };
    thread::scope(|scope| {
        for worker in [(); 2].map(|()| scope.spawn(run)) {
            worker.join().unwrap().unwrap();
        }
    });
    // one copy of each key
    let names = fs::read_dir(&cache)
        .unwrap()
        .map(|e| e.unwrap().file_name());
    let copies = names.filter(|name| !name.to_string_lossy().starts_with('.'));
    assert_eq!(copies.count(), 2);
    assert_eq!(job.status().unwrap().missing(), 0);
    assert!(merged(&job).unwrap() == world.whole());
    assert!(job.verify(&Cancel::new()).unwrap().wrong.is_empty());
    // a changed object
    let mut bytes = fs::read(world.at("d")).unwrap();
    bytes[1000] ^= 1;
    store.remove("d").unwrap();
    put("d", &bytes);
    let shards = store.list("job/shards").unwrap().objects;
    assert_eq!(shards.len() as u64, job.shards());
    for (name, _) in shards {
        store.remove(&name).unwrap();
    }
    check_error(run(), ErrorKind::JobInput, "/d: changed");
    job.remove().unwrap();
    check_error(Job::open(place.join("job")), ErrorKind::NoJob, "");
}
