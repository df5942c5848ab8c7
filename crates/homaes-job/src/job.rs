//! A planned job: its plan, its shards, and the results file that they form.

use crate::error::{JobError, Result, check, refused};
use crate::manifest::{FORMAT, MAX_BYTES, Manifest, resolve};
use crate::store::{Location, Store, StoreError};
use homaes::{Cancel, ErrorKind, Layout, Merge, Output, RunId, Shard, ShardName};
use std::fs;
use std::io::{self, Write};
use std::ops::{Deref, Range};
use std::path::{Path, PathBuf};
use std::sync::Arc;

pub(crate) const PLAN: &str = "job.json";

/// Prefix of the names of shards.
pub(crate) const SHARDS: &str = "shards";

/// Most bytes of a shard, which is held in memory and written to a bucket in one piece.
pub const MAX_SHARD_BYTES: u64 = 512 << 20;

/// Length of a plan's head: it has the id and the division into shards, after two paths.
const HEAD_BYTES: usize = 16 << 10;

/// Length of a shard's beginning: it has the header and the first record.
const FRONT_BYTES: u64 = 512;

/// A job.
#[derive(Debug)]
pub struct Job {
    pub(crate) location: Location,
    pub(crate) store: Arc<dyn Store>,
    pub(crate) manifest: Manifest,
    pub(crate) layout: Layout,
    /// The head of the plan, to check often and cheaply that it is still in place.
    pub(crate) head: Vec<u8>,
}

impl Job {
    /// Opens the job at `location`.
    ///
    /// # Errors
    /// `ErrorKind::NoJob`; `ErrorKind::Plan` if its plan is damaged.
    pub fn open(location: Location) -> Result<Self> {
        let store = crate::store::open(&location)?;
        let job = location.to_string();
        let Some(text) = store.read(PLAN, MAX_BYTES)? else {
            return Err(no_job(&job));
        };
        let wrong = |what: &str| refused(ErrorKind::Plan, format!("{job}/{PLAN}"), what);
        let manifest: Manifest =
            serde_json::from_slice(&text).map_err(|error| wrong(&error.to_string()))?;
        let layout = Layout::from_name(&manifest.layout);
        let layout = layout.ok_or_else(|| wrong("unknown layout"))?;
        let job = Self {
            location,
            store,
            manifest,
            layout,
            head: head(&text),
        };
        match job.fault() {
            None => Ok(job),
            Some(what) => Err(wrong(what).into()),
        }
    }

    /// A contradiction within the plan. Keys and message are compared with it when they are opened.
    fn fault(&self) -> Option<&'static str> {
        let plan = &self.manifest;
        if plan.format != FORMAT {
            return Some("expected format \"homaes job 1\"");
        }
        let Ok(merge) = Self::merge_of(self) else {
            return Some("expected the front of a results file, and at least one batch per shard");
        };
        let (header, shards) = (merge.header(), merge.shards());
        let same_set = plan.set.name == header.set()
            && plan.set.digest.0 == *header.digest()
            && plan.key_id == header.key_id().to_string();
        let last = shards.saturating_sub(1);
        let batches = merge.shard(last).range().end;
        match () {
            () if !same_set => Some("set or key differ from those of the front"),
            () if shards == 0 || plan.shards != shards || plan.batches != batches => {
                Some("shards or batches differ from those of the front")
            }
            () if plan.inputs.len() as u64 != shards => Some("expected one input per shard"),
            () if plan.bytes.output != header.file_bytes() => {
                Some("length of the output differs from that of the front")
            }
            () if plan.bytes.shard.max(plan.bytes.last_shard) > MAX_SHARD_BYTES => {
                Some("shards are too long")
            }
            () if plan.parts.iter().any(|part| part.meta().is_none()) => {
                Some("invalid mode or IV of a part")
            }
            () => None,
        }
    }

    /// Its location.
    #[must_use]
    pub fn location(&self) -> &Location {
        &self.location
    }

    /// Identifies the computation.
    #[must_use]
    pub fn id(&self) -> RunId {
        RunId(self.manifest.id.0)
    }

    /// Name of the parameter set of its keys.
    #[must_use]
    pub fn set(&self) -> &str {
        &self.manifest.set.name
    }

    /// The layout in which AES is evaluated.
    #[must_use]
    pub fn layout(&self) -> Layout {
        self.layout
    }

    /// The level of its results.
    #[must_use]
    pub fn level(&self) -> usize {
        self.manifest.level as usize
    }

    /// Number of shards.
    #[must_use]
    pub fn shards(&self) -> u64 {
        self.manifest.shards
    }

    /// Batches per shard; the last one may have fewer.
    #[must_use]
    pub fn shard_batches(&self) -> u64 {
        self.manifest.shard_batches
    }

    /// Number of batches.
    #[must_use]
    pub fn batches(&self) -> u64 {
        self.manifest.batches
    }

    /// Length of the results file.
    #[must_use]
    pub fn output_bytes(&self) -> u64 {
        self.manifest.bytes.output
    }

    /// Number of parts of the message, and their total bytes.
    #[must_use]
    pub fn parts(&self) -> (u64, u64) {
        let parts = &self.manifest.parts;
        let bytes = parts
            .iter()
            .fold(0u64, |sum, part| sum.saturating_add(part.bytes));
        (parts.len() as u64, bytes)
    }

    /// What identifies shard `number`.
    pub(crate) fn shard(&self, number: u64) -> ShardName {
        let plan = &self.manifest;
        let first = number.saturating_mul(plan.shard_batches);
        ShardName {
            run: self.id(),
            number,
            first,
            batches: plan.shard_batches.min(plan.batches.saturating_sub(first)),
            front: blake3::hash(&plan.front.0).into(),
        }
    }

    pub(crate) fn check_number(&self, found: u64) -> Result<()> {
        match found < self.shards() {
            true => Ok(()),
            false => {
                let last = self.shards() - 1;
                let message = format!("there is no shard {found}, expected 0 to {last}");
                let error = refused(ErrorKind::NoShard, self.location.to_string(), &message);
                Err(error.with(found, format!("0 to {last}")).into())
            }
        }
    }

    pub(crate) fn object(number: u64) -> String {
        format!("{SHARDS}/{number:06}.hcs")
    }

    /// Name of shard `number` in messages.
    #[must_use]
    pub fn describe(&self, number: u64) -> String {
        self.store.describe(&Self::object(number))
    }

    pub(crate) fn shard_bytes(&self, number: u64) -> u64 {
        match number + 1 == self.shards() {
            true => self.manifest.bytes.last_shard,
            false => self.manifest.bytes.shard,
        }
    }

    /// The location of a URI in the plan.
    pub(crate) fn resolve(&self, uri: &str) -> Result<Location> {
        resolve(uri, &self.location)
    }

    /// Refuses a shard that is not a file: a folder, a pipe, or a dangling link.
    fn check_file(&self, number: u64) -> Result<()> {
        let Some(folder) = self.store.folder() else {
            return Ok(());
        };
        let path = folder.join(Self::object(number));
        let is_file = match fs::metadata(&path) {
            Ok(found) => found.is_file(),
            Err(_) => !path.is_symlink(),
        };
        match is_file {
            true => Ok(()),
            false => {
                let shard = self.describe(number);
                Err(refused(ErrorKind::Shard, shard, "not a regular file").into())
            }
        }
    }

    /// Whether shard `number` exists, judged by its length and first record; [`check`](Self::check) and reading verify
    /// its checksums. Errors: `ErrorKind::Shard` for another length or what is not a file, or if it belongs to another
    /// run or number.
    pub fn has(&self, number: u64) -> Result<bool> {
        self.check_file(number)?;
        let (object, expected) = (Self::object(number), self.shard_bytes(number));
        match self.store.bytes(&object)? {
            None => return Ok(false),
            Some(found) if found == expected => {}
            Some(found) => return Err(self.wrong_bytes(number, found)),
        }
        let mut front = vec![0; expected.min(FRONT_BYTES) as usize];
        self.store.read_at(&object, 0, &mut front)?;
        let path = PathBuf::from(self.describe(number));
        match Shard::name_of(&front, &path).map_err(homaes::Error::in_shard)? == self.shard(number)
        {
            true => Ok(true),
            false => Err(homaes::Error::wrong_shard(path, "run or number").into()),
        }
    }

    /// Refuses ranges beyond the last shard with `ErrorKind::NoShard`.
    pub fn check_ranges(&self, ranges: &[Range<u64>]) -> Result<()> {
        let mut ranges = ranges.iter();
        ranges.try_for_each(|range| self.check_number(range.end.saturating_sub(1)))
    }

    /// Fails if the job was removed or replaced.
    pub(crate) fn check_there(&self) -> Result<()> {
        let mut found = vec![0; self.head.len()];
        let read = match self.store.bytes(PLAN)? {
            None => return Err(no_job(&self.location.to_string())),
            Some(_) => self.store.read_at(PLAN, 0, &mut found),
        };
        match read {
            Ok(()) if found == self.head => Ok(()),
            Ok(()) | Err(StoreError::TooShort { .. }) => {
                let expected = self.id().to_string();
                Err(other_job(
                    &self.location,
                    "another plan".to_owned(),
                    expected,
                ))
            }
            Err(error) => Err(error.into()),
        }
    }

    /// The bytes of shard `number`; `None` if it is missing.
    pub(crate) fn read(&self, number: u64) -> Result<Option<Vec<u8>>> {
        self.check_file(number)?;
        let expected = self.shard_bytes(number);
        let bytes = match self.store.read(&Self::object(number), expected) {
            Err(StoreError::TooLong { found, .. }) => Err(found),
            read => match read? {
                None => return Ok(None),
                Some(bytes) if bytes.len() as u64 == expected => Ok(bytes),
                Some(bytes) => Err(bytes.len() as u64),
            },
        };
        bytes
            .map(Some)
            .map_err(|found| self.wrong_bytes(number, found))
    }

    /// The error of a shard of another length than it must have.
    fn wrong_bytes(&self, number: u64, found: u64) -> JobError {
        let (shard, expected) = (self.describe(number), self.shard_bytes(number));
        let message = format!("truncated: found {found} bytes, expected {expected}");
        refused(ErrorKind::Shard, shard, &message)
            .with(found, expected)
            .into()
    }

    /// Verifies checksums and identity of shard `number`, and returns what is wrong; `false` if it is missing.
    pub fn check(&self, number: u64) -> Result<bool> {
        let Some(bytes) = self.read(number)? else {
            return Ok(false);
        };
        let path = PathBuf::from(self.describe(number));
        let shard = Shard::read(bytes, &path).map_err(homaes::Error::in_shard)?;
        let merge = Self::merge_of(self)?;
        let checked = shard.check(&self.shard(number), merge.header(), &path);
        checked.map_err(homaes::Error::in_shard)?;
        Ok(true)
    }

    /// The results file formed by the shards, or `ErrorKind::Incomplete`: the same bytes as a
    /// [`reproducible`](homaes::Transcipher::reproducible) run on one machine.
    pub fn results(&self) -> Result<Merge<'_>> {
        self.check_missing(self.sound_status()?.missing())?;
        Self::merge_of(self)
    }

    /// As [`results`](Self::results), for a shared job.
    pub fn shared_results(job: &Arc<Self>) -> Result<Merge<'static>> {
        job.check_missing(job.sound_status()?.missing())?;
        Self::merge_of(job.clone())
    }

    /// The results file, whether or not all shards exist.
    fn merge_of<'j>(job: impl Deref<Target = Self> + Send + 'j) -> Result<Merge<'j>> {
        let plan = &job.manifest;
        let (front, run, batches) = (plan.front.0.clone(), job.id(), plan.shard_batches);
        let fetch = move |number| {
            let path = PathBuf::from(job.describe(number));
            let error = |source| homaes::Error::Io {
                path: path.clone(),
                source,
            };
            match job.read(number) {
                Ok(Some(bytes)) => Ok((bytes, path)),
                Ok(None) => Err(error(io::ErrorKind::NotFound.into())),
                Err(JobError::Work(wrong)) => Err(wrong),
                Err(JobError::Store(wrong)) => Err(error(io::Error::other(wrong))),
            }
        };
        Ok(Merge::new(front, run, batches, Box::new(fetch))?)
    }

    /// Refuses an output that would replace an input of the job, or that lies in its folder, with
    /// `ErrorKind::OwnInput`.
    pub fn refuse_output(&self, out: &Path) -> Result<()> {
        let plan = &self.manifest;
        let keys = [&plan.eval_key.uri, &plan.wrapped_key.uri];
        let parts = plan.parts.iter().map(|part| &part.uri);
        for uri in keys.into_iter().chain(parts) {
            if let Location::Local(input) = self.resolve(uri)? {
                homaes::refuse_own_input(out, [&*input])?;
            }
        }
        let folder = self.store.folder();
        let folder = folder.and_then(|folder| folder.canonicalize().ok());
        let out_path = std::path::absolute(out).unwrap_or_default();
        // the nearest existing ancestor
        let there = out_path
            .ancestors()
            .find_map(|path| path.canonicalize().ok());
        match (there, folder) {
            (Some(there), Some(folder)) if there.starts_with(&folder) => {
                let message = "the output is inside the job's folder";
                Err(refused(ErrorKind::OwnInput, out, message).into())
            }
            _ => Ok(()),
        }
    }

    /// Writes the results file until `cancel` is thrown.
    ///
    /// # Errors
    /// As [`results`](Self::results) and [`refuse_output`](Self::refuse_output); a damaged shard;
    /// [`homaes::Error::Cancelled`]. Then `output` does not appear.
    pub fn merge(&self, mut output: Output, cancel: &Cancel) -> Result<()> {
        let mut merge = self.results()?;
        if output.is_file() {
            self.refuse_output(output.path())?;
            let path = output.path().parent().unwrap_or(output.path()).to_owned();
            check_disk(path, self.output_bytes())?;
        }
        while let Some(bytes) = merge.next_bytes()? {
            check(cancel)?;
            let written = output.write_all(&bytes);
            written.map_err(|source| homaes::Error::Io {
                path: output.path().to_owned(),
                source,
            })?;
        }
        check(cancel)?;
        Ok(output.commit()?)
    }

    /// Removes the plan, so that workers stop, then the shards, claims and logs. Other files in the folder stay.
    ///
    /// # Errors
    /// `ErrorKind::NoJob` or `ErrorKind::OtherJob` if the job is gone; `ErrorKind::Linked` if its shards are behind a
    /// link; `ErrorKind::Busy` while workers evaluate shards; [`JobError::Store`].
    pub fn remove(&self) -> Result<()> {
        self.check_there()?;
        let folder = self.store.folder();
        if let Some(folder) = folder {
            let (shards, claimed) = (folder.join(SHARDS), crate::claim::held(folder));
            if shards.is_symlink() {
                return Err(refused(ErrorKind::Linked, shards, "is a symbolic link").into());
            }
            if claimed > 0 {
                let message = format!("{claimed} of its shards are being evaluated");
                return Err(refused(ErrorKind::Busy, self.location.to_string(), &message).into());
            }
        }
        self.store.remove(PLAN)?;
        for number in 0..self.shards() {
            self.store.remove(&Self::object(number))?;
        }
        if let Some(folder) = folder {
            crate::claim::remove_all(folder);
            crate::log::remove_all(folder);
            let _ = fs::remove_dir(folder.join(SHARDS));
            let _ = fs::remove_dir(folder);
        }
        Ok(())
    }

    /// Refuses to start if the disk has no room for the missing shards (`ErrorKind::Disk`).
    pub fn check_space(&self) -> Result<()> {
        let Some(folder) = self.store.folder() else {
            return Ok(());
        };
        let status = self.look()?;
        let Manifest { bytes, shards, .. } = &self.manifest;
        let all = (shards - 1)
            .saturating_mul(bytes.shard)
            .saturating_add(bytes.last_shard);
        check_disk(folder.to_owned(), all.saturating_sub(status.bytes))
    }
}

/// Refuses an input in one of the folders that the job makes.
pub(crate) fn refuse_among(folder: &Path, input: &Path) -> Result<()> {
    let Ok(input) = input.canonicalize() else {
        return Ok(()); // opening it will fail
    };
    let own = [SHARDS, crate::log::LOGS, crate::claim::CLAIMS].map(|name| folder.join(name));
    let among = |own: &PathBuf| own.canonicalize().is_ok_and(|own| input.starts_with(own));
    match own.iter().any(among) {
        true => {
            let message = "is an input inside the job's folder";
            Err(refused(ErrorKind::OwnInput, input, message).into())
        }
        false => Ok(()),
    }
}

/// The error of a place without a job.
fn no_job(job: &str) -> JobError {
    refused(ErrorKind::NoJob, job, "not a job: job.json is missing").into()
}

/// The error of a place with another job.
pub(crate) fn other_job(location: &Location, found: String, expected: String) -> JobError {
    let message = format!("holds another job: found {found}, expected {expected}");
    let error = refused(ErrorKind::OtherJob, location.to_string(), &message);
    error.with(found, expected).into()
}

pub(crate) fn head(text: &[u8]) -> Vec<u8> {
    text[..text.len().min(HEAD_BYTES)].to_vec()
}

/// Refuses to write `wanted` bytes into a folder without room for them, as far as that is known.
fn check_disk(folder: PathBuf, wanted: u64) -> Result<()> {
    let folder = match folder.as_os_str().is_empty() {
        true => PathBuf::from("."),
        false => folder,
    };
    Ok(homaes::check_disk(&folder, wanted)?)
}
