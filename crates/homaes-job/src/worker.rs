use crate::claim::Claim;
use crate::error::{JobError, Result, check, refused};
use crate::input::{Object, open_source};
use crate::job::Job;
use crate::log::Log;
use crate::manifest::{Hex, KeyEntry, PartEntry, not_utf8};
use crate::store::{Created, Location};
use homaes::{
    AesFile, AesInput, Cancel, Devices, ErrorKind, EvalKey, Plan, Progress, Report, Source,
    Transcipher, WrappedKey,
};
use serde_json::json;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::io;
use std::num::NonZeroUsize;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// Interval at which a worker checks on the others.
const PAUSE: Duration = Duration::from_millis(200);

/// Bytes of a key that are hashed at a time.
const PIECE_BYTES: usize = 1 << 20;

/// The keys of a job.
#[derive(Debug)]
pub struct Keys {
    /// The evaluation key.
    pub eval: Arc<EvalKey>,
    /// The wrapped AES key.
    pub wrapped: Arc<WrappedKey>,
}

impl Keys {
    pub(crate) fn open(eval: &Path, wrapped: &Path) -> Result<Self> {
        homaes::check_memory(&[eval, wrapped])?;
        let eval = EvalKey::open(eval)?;
        let wrapped = WrappedKey::open(wrapped, &eval)?;
        Ok(Self {
            eval: eval.into(),
            wrapped: wrapped.into(),
        })
    }
}

/// The path of a key; a key in a bucket is copied to the cache.
pub(crate) fn fetched(
    location: &Location,
    entry: &KeyEntry,
    cache: Option<&Path>,
) -> Result<PathBuf> {
    match location {
        Location::Local(path) => Ok(path.clone()),
        Location::S3 { .. } => {
            let own = || crate::store::cache_folder().unwrap_or_else(std::env::temp_dir);
            let cache = cache.map_or_else(own, Path::to_owned);
            let KeyEntry { blake3, bytes, .. } = entry;
            Ok(crate::store::cached(&cache, location, &blake3.0, *bytes)?)
        }
    }
}

/// Describes a key file, which is read once.
pub(crate) fn key_entry(location: &Location) -> Result<KeyEntry> {
    let source = open_source(location)?;
    let mut hasher = blake3::Hasher::new();
    let mut piece = vec![0; PIECE_BYTES];
    let mut at = 0;
    while at < source.bytes() {
        let len = (source.bytes() - at).min(PIECE_BYTES as u64) as usize;
        let read = source.read_at(at, &mut piece[..len]);
        read.map_err(|error| homaes::Error::Io {
            path: source.name().to_owned(),
            source: error,
        })?;
        hasher.update(&piece[..len]);
        at += len as u64;
    }
    let text = match location {
        Location::Local(path) => path.to_str().map(str::to_owned),
        Location::S3 { .. } => Some(location.to_string()),
    };
    Ok(KeyEntry {
        uri: text.ok_or_else(|| not_utf8(location.to_string()))?,
        bytes: source.bytes(),
        blake3: Hex(hasher.finalize().into()),
    })
}

impl Job {
    /// Opens its keys. Keys in a bucket are copied to the folder `cache`, by default the user's cache folder.
    /// [`Worker::new`] checks that they are the keys of the plan.
    pub fn keys(&self, cache: Option<&Path>) -> Result<Keys> {
        let [eval, wrapped] = self.key_files(cache)?;
        Keys::open(&eval, &wrapped).map_err(|error| self.other_key(error))
    }

    /// The error about a key file that changed since the job was planned, or else `error`. Keys in buckets are
    /// fetched by their digests.
    fn other_key(&self, error: JobError) -> JobError {
        for entry in [&self.manifest.eval_key, &self.manifest.wrapped_key] {
            if let Ok(location @ Location::Local(path)) = &self.resolve(&entry.uri)
                && key_entry(location).is_ok_and(|found| found.blake3 != entry.blake3)
            {
                let message = "not the key file that the job was planned with";
                return refused(ErrorKind::JobKeys, path, message).into();
            }
        }
        error
    }

    /// Files of its evaluation key and wrapped key, copied as in [`keys`](Self::keys). They may not exist.
    pub fn key_files(&self, cache: Option<&Path>) -> Result<[PathBuf; 2]> {
        let plan = &self.manifest;
        let path = |entry: &KeyEntry| fetched(&self.resolve(&entry.uri)?, entry, cache);
        Ok([path(&plan.eval_key)?, path(&plan.wrapped_key)?])
    }

    /// The message; its parts are opened when read.
    fn message(&self) -> Result<AesInput> {
        let part = |entry: &PartEntry| {
            let plan = format!("{}/job.json", self.location);
            let damaged = || refused(ErrorKind::Plan, &*plan, "invalid description of a part");
            let meta = entry.meta().ok_or_else(damaged)?;
            let tag = meta.tag.map_or(0, |tag| tag.len() as u64);
            let bytes = entry.offset.checked_add(meta.bytes);
            let bytes = bytes.and_then(|bytes| bytes.checked_add(tag));
            let object = Object::new(&self.resolve(&entry.uri)?, bytes.ok_or_else(damaged)?)?;
            let part = AesFile::described(object, entry.offset, &meta)?;
            Ok::<_, JobError>(match &entry.key {
                Some(key) => part.under(key),
                None => part,
            })
        };
        let entries = &self.manifest.parts;
        if let [entry] = &entries[..]
            && entry.name.is_none()
        {
            return Ok(part(entry)?.into());
        }
        let name = |entry: &PartEntry| entry.name.clone().unwrap_or_default();
        let named = entries.iter().map(|entry| Ok((name(entry), part(entry)?)));
        Ok(AesInput::of_parts(named.collect::<Result<Vec<_>>>()?)?)
    }
}

/// The outcome of a shard.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// It existed.
    There,
    /// It was evaluated and written.
    Written,
    /// It was evaluated, but another worker had written the same bytes first.
    Same,
}

impl Outcome {
    /// Its name in logs.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::There => "there",
            Self::Written => "written",
            Self::Same => "same",
        }
    }
}

/// A shard that exists now.
#[derive(Debug, Clone)]
pub struct Done {
    /// Its number.
    pub number: u64,
    /// What was done.
    pub outcome: Outcome,
    /// Measurements, if it was evaluated.
    pub report: Option<Report>,
}

/// Evaluates shards of a job.
pub struct Worker<'k> {
    pub(crate) job: &'k Job,
    transcipher: Transcipher<'k>,
    plan: Plan,
    pub(crate) cancel: Cancel,
    log: Mutex<Log>,
}

impl<'k> Worker<'k> {
    /// A worker with `threads` threads, by default one per core.
    ///
    /// # Errors
    /// `ErrorKind::JobKeys` if the keys are not those of the plan; `ErrorKind::Plan` if the plan is damaged.
    pub fn new(job: &'k Job, keys: &'k Keys, threads: Option<NonZeroUsize>) -> Result<Self> {
        Self::planned(job, keys, threads).map_err(|error| job.other_key(error))
    }

    fn planned(job: &'k Job, keys: &'k Keys, threads: Option<NonZeroUsize>) -> Result<Self> {
        let transcipher = match threads {
            Some(threads) => Transcipher::with_threads(&keys.eval, &keys.wrapped, threads),
            None => Transcipher::new(&keys.eval, &keys.wrapped),
        };
        let transcipher = transcipher?.layout(job.layout)?.reproducible(true);
        let plan = transcipher.plan(job.message()?)?;
        let manifest = &job.manifest;
        let digests: Vec<[u8; 32]> = manifest.parts.iter().map(|part| part.blake3.0).collect();
        let name = job.location.to_string();
        let header = plan.header();
        let same_keys = header.set() == manifest.set.name
            && *header.digest() == manifest.set.digest.0
            && header.key_id().to_string() == manifest.key_id
            // an AES key wrapped for other levels
            && plan.meta().level as u64 == manifest.level;
        let same_front = plan.front()? == manifest.front.0;
        if !same_keys || (same_front && plan.id_of(&digests) != job.id()) {
            let message = "the keys are not those of the plan";
            return Err(refused(ErrorKind::JobKeys, name, message).into());
        }
        let lengths = |number| plan.shard_bytes(&job.shard(number)) == job.shard_bytes(number);
        if !same_front || !lengths(0) || !lengths(job.shards() - 1) {
            let what = "its description of the message contradicts its front";
            return Err(refused(ErrorKind::Plan, format!("{name}/job.json"), what).into());
        }
        Ok(Self {
            job,
            transcipher,
            plan,
            cancel: Cancel::new(),
            log: Mutex::new(Log::new(job.store.folder())),
        })
    }

    /// Stops with [`homaes::Error::Cancelled`] within a second after `cancel` is thrown. Finished shards stay.
    #[must_use]
    pub fn cancel(mut self, cancel: Cancel) -> Self {
        self.transcipher = self.transcipher.cancel(cancel.clone());
        self.cancel = cancel;
        self
    }

    /// Calls `watch` after every round of every batch, from one worker thread at a time.
    #[must_use]
    pub fn watch(mut self, watch: impl FnMut(Progress) + Send + 'k) -> Self {
        self.transcipher = self.transcipher.watch(watch);
        self
    }

    /// Evaluates on these devices, as [`Transcipher::on`].
    #[must_use]
    pub fn on(mut self, devices: Devices) -> Self {
        self.transcipher = self.transcipher.on(devices);
        self
    }

    /// As [`Transcipher::warn`].
    #[must_use]
    pub fn warn(mut self, warn: impl Fn(&str) + Send + Sync + 'k) -> Self {
        self.transcipher = self.transcipher.warn(warn);
        self
    }

    /// Number of threads.
    #[must_use]
    pub fn threads(&self) -> usize {
        self.transcipher.threads()
    }

    /// Evaluates shard `number` if it is missing. Waits while another worker has claimed it.
    ///
    /// # Errors
    /// `ErrorKind::JobInput` if the message has changed; `ErrorKind::Differs` if another worker wrote other bytes
    /// meanwhile; errors of evaluation and store.
    pub fn shard(&self, number: u64) -> Result<Done> {
        self.job.check_number(number)?;
        self.job.check_there()?;
        loop {
            if let Some(done) = self.attempt(number)? {
                return Ok(done);
            }
            self.pause()?;
        }
    }

    /// Evaluates the missing shards of `ranges` (all if empty), and waits until all of them exist. Calls `each` with
    /// every shard that was missing at the start.
    ///
    /// # Errors
    /// As [`shard`](Self::shard); `ErrorKind::Incomplete` if shards were removed meanwhile.
    pub fn run(&self, ranges: &[Range<u64>], each: &mut dyn FnMut(&Done)) -> Result<()> {
        let status = self.job.sound_status()?;
        let all = 0..self.job.shards();
        let ranges = match ranges {
            [] => std::slice::from_ref(&all),
            ranges => ranges,
        };
        self.job.check_ranges(ranges)?;
        let mut left = Vec::new();
        for number in ranges.iter().cloned().flatten() {
            // checks the identity of existing shards
            if !status.has(number) || !self.job.has(number)? {
                left.push(number);
            }
        }
        if self.job.store.folder().is_none() && !left.is_empty() {
            // without claims, workers that start in different places seldom collide
            let start = RandomState::new().build_hasher().finish() % left.len() as u64;
            left.rotate_left(start as usize);
        }
        loop {
            let mut busy = Vec::new();
            for number in left {
                match self.attempt(number)? {
                    Some(done) => each(&done),
                    None => busy.push(number),
                }
            }
            if busy.is_empty() {
                return self.check_done(ranges);
            }
            left = busy;
            self.pause()?;
        }
    }

    /// Checks that the shards still exist at the end.
    fn check_done(&self, ranges: &[Range<u64>]) -> Result<()> {
        let status = self.job.status()?;
        let numbers = ranges.iter().cloned().flatten();
        let missing = numbers.filter(|&number| !status.has(number));
        self.job.check_missing(missing.count() as u64)
    }

    fn pause(&self) -> Result<()> {
        thread::sleep(PAUSE);
        check(&self.cancel)
    }

    /// Evaluates shard `number` unless it exists; `None` if another worker is at it.
    fn attempt(&self, number: u64) -> Result<Option<Done>> {
        let folder = self.job.store.folder();
        let claim = folder.map(|folder| Claim::take(folder, number));
        if matches!(claim, Some(None)) {
            return Ok(None);
        }
        // only now, as the former owner may have finished just before the claim
        if self.job.has(number)? {
            return Ok(Some(Done {
                number,
                outcome: Outcome::There,
                report: None,
            }));
        }
        let start = Instant::now();
        let (bytes, report) = self.evaluate(number)?;
        // the job may have been removed, which writing would undo
        self.job.check_there()?;
        let outcome = match self.job.store.create(&Job::object(number), &bytes)? {
            Created::New => Outcome::Written,
            Created::Existed => {
                if self.job.read(number)?.as_ref() != Some(&bytes) {
                    return Err(self.differs(number));
                }
                Outcome::Same
            }
        };
        let mut log = self.log.lock().unwrap_or_else(PoisonError::into_inner);
        log.add(json!({
            "shard": number,
            "outcome": outcome.name(),
            "seconds": start.elapsed().as_secs_f64(),
            "threads": self.threads(),
        }));
        Ok(Some(Done {
            number,
            outcome,
            report: Some(report),
        }))
    }

    /// The error of a shard that is not the one that this machine computes.
    pub(crate) fn differs(&self, number: u64) -> JobError {
        let message = "differs from the shard that this machine computes";
        refused(ErrorKind::Differs, self.job.describe(number), message).into()
    }

    pub(crate) fn evaluate(&self, number: u64) -> Result<(Vec<u8>, Report)> {
        let name = self.job.shard(number);
        // the length or tag differs from the plan
        let changed = |error| match error {
            homaes::Error::Io { path, source } if source.kind() == io::ErrorKind::InvalidData => {
                changed_input(path)
            }
            error => error.into(),
        };
        let (held, digest) = self.plan.hold(&name).map_err(changed)?;
        if digest != self.job.manifest.inputs[number as usize].0 {
            return Err(self.changed(&name));
        }
        self.transcipher.shard(&held, &name).map_err(changed)
    }

    /// The part of a shard that has changed.
    fn changed(&self, name: &homaes::ShardName) -> JobError {
        let Range { start, end } = name.range();
        let split = self.plan.meta().split;
        let blocks = split.first_block(start)..split.first_block(end);
        let message = self.plan.message();
        let parts = message.parts_of(blocks);
        let changed = parts.clone().find(|&part| {
            let planned = self.job.manifest.parts.get(part);
            let planned = planned.map(|entry| entry.blake3.0);
            message.parts()[part].digest().ok() != planned
        });
        let part = &message.parts()[changed.unwrap_or(parts.start)];
        changed_input(part.path().to_owned())
    }
}

impl core::fmt::Debug for Worker<'_> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Worker")
            .field("job", &self.job.location)
            .finish_non_exhaustive()
    }
}

/// The error of a part that is not as it was when the job was planned.
fn changed_input(path: PathBuf) -> JobError {
    refused(
        ErrorKind::JobInput,
        path,
        "changed since the job was planned",
    )
    .into()
}
