use crate::error::{Result, check, refused};
use crate::job::{Job, MAX_SHARD_BYTES, PLAN, head, other_job, refuse_among};
use crate::manifest::{Bytes, FORMAT, Hex, KeyEntry, Lengths, Manifest, PartEntry, SetEntry, uri};
use crate::store::{Created, Location};
use crate::worker::{Keys, fetched, key_entry};
use homaes::{AesInput, Cancel, ErrorKind, Layout, Plan, Transcipher};
use std::fs;
use std::num::NonZeroUsize;
use std::path::PathBuf;

/// Default number of batches per shard.
const SHARD_BATCHES: u64 = 8;

/// Options of a plan.
#[derive(Debug, Clone)]
pub struct Planning {
    /// The evaluation key.
    pub eval: Location,
    /// The wrapped key.
    pub wrapped: Location,
    /// The layout of AES; by default the cheapest that the wrapped key allows for the message.
    pub layout: Option<Layout>,
    /// Batches per shard; by default 8, or fewer if a shard would be too long.
    pub shard_batches: Option<u64>,
    /// Plan even if the disk has no room for the shards.
    pub ignore_space: bool,
    /// Folder for keys from a bucket.
    pub cache: Option<PathBuf>,
    /// Once thrown, no plan is written.
    pub cancel: Cancel,
}

impl Planning {
    /// These keys, and defaults.
    #[must_use]
    pub fn new(eval: Location, wrapped: Location) -> Self {
        Self {
            eval,
            wrapped,
            layout: None,
            shard_batches: None,
            ignore_space: false,
            cache: None,
            cancel: Cancel::new(),
        }
    }
}

impl Job {
    /// Plans a job at `location`. Reads every input once, for its digest. The parts of `message` must be files or
    /// [`open_source`](crate::open_source)s. Planning the same job again returns the existing one.
    ///
    /// # Errors
    /// `ErrorKind::OtherJob` if there is another job; `ErrorKind::Argument`; errors of keys, message and store.
    pub fn plan(location: Location, message: AesInput, planning: &Planning) -> Result<Self> {
        let store = crate::store::open(&location)?;
        let (mut eval, mut wrapped) = (key_entry(&planning.eval)?, key_entry(&planning.wrapped)?);
        let cache = planning.cache.as_deref();
        let eval_path = fetched(&planning.eval, &eval, cache)?;
        let keys = Keys::open(&eval_path, &fetched(&planning.wrapped, &wrapped, cache)?)?;
        let transcipher = Transcipher::with_threads(&keys.eval, &keys.wrapped, NonZeroUsize::MIN)?;
        let transcipher = match planning.layout {
            Some(layout) => transcipher.layout(layout)?,
            None => transcipher,
        };
        let plan = transcipher.plan(message)?;
        if plan.split().batches() == 0 {
            let message = "the message of a job is empty, expected at least one byte";
            return Err(homaes::Error::refused(ErrorKind::Argument, message).into());
        }
        // paths in the plan are relative to it
        if let Some(folder) = store.folder() {
            for key in [&planning.eval, &planning.wrapped] {
                if let Location::Local(path) = key {
                    refuse_among(folder, path)?;
                }
            }
            for part in plan.message().parts() {
                refuse_among(folder, part.path())?;
            }
            let made = fs::create_dir_all(folder);
            made.map_err(|source| homaes::Error::Io {
                path: folder.to_owned(),
                source,
            })?;
        }
        eval.uri = uri(&planning.eval, &location)?;
        wrapped.uri = uri(&planning.wrapped, &location)?;
        let manifest = manifest(&plan, (eval, wrapped), planning.shard_batches, &location)?;
        let layout = plan.layout();
        let job = Self {
            location,
            store,
            manifest,
            layout,
            head: Vec::new(),
        };
        check(&planning.cancel)?;
        job.write(planning.ignore_space)
    }

    /// Writes the plan unless it exists.
    fn write(mut self, ignore_space: bool) -> Result<Self> {
        if !ignore_space {
            self.check_space()?;
        }
        let text = serde_json::to_vec_pretty(&self.manifest).map_err(|error| {
            let plan = format!("{}/{PLAN}", self.location);
            refused(ErrorKind::Plan, plan, &error.to_string())
        })?;
        self.head = head(&text);
        if self.store.create(PLAN, &text)? == Created::New {
            return Ok(self);
        }
        let there = Self::open(self.location.clone())?;
        let name = |job: &Self| format!("{}, {} batches a shard", job.id(), job.shard_batches());
        match there.manifest == self.manifest {
            true => Ok(there),
            false => Err(other_job(&self.location, name(&there), name(&self))),
        }
    }
}

fn manifest(
    plan: &Plan,
    (eval_key, wrapped_key): (KeyEntry, KeyEntry),
    shard_batches: Option<u64>,
    location: &Location,
) -> Result<Manifest> {
    let digests = plan.message().digests()?;
    let run = plan.id_of(&digests);
    let batches = plan.meta().split.batches();
    let shard_batches = shard_size(plan, shard_batches)?;
    let shards = batches.div_ceil(shard_batches);
    let name = |number| plan.shard(run, number, shard_batches);
    let inputs = (0..shards).map(|number| Ok(Hex(plan.input_digest(&name(number))?)));
    let parts = plan.message().parts().iter().zip(&plan.meta().parts);
    let parts = parts.zip(&digests).map(|((part, meta), &digest)| {
        let place = Location::parse(part.path())?;
        Ok(PartEntry::new(
            meta,
            uri(&place, location)?,
            part.offset(),
            digest,
        ))
    });
    let (meta, header) = (plan.meta(), plan.header());
    Ok(Manifest {
        format: FORMAT.to_owned(),
        id: Hex(run.0),
        set: SetEntry {
            name: header.set().to_owned(),
            digest: Hex(*header.digest()),
        },
        key_id: header.key_id().to_string(),
        eval_key,
        wrapped_key,
        layout: plan.layout().name().to_owned(),
        level: meta.level as u64,
        blocks_per_batch: plan.meta().split.blocks_per_batch,
        batches,
        shard_batches,
        shards,
        bytes: Lengths {
            shard: plan.shard_bytes(&name(0)),
            last_shard: plan.shard_bytes(&name(shards - 1)),
            output: plan.file_bytes(),
        },
        parts: parts.collect::<Result<_>>()?,
        inputs: inputs.collect::<Result<_>>()?,
        front: Bytes(plan.front()?),
    })
}

/// Batches per shard: as requested, or else at most 8 and as many as fit one object; whole batches of AES.
fn shard_size(plan: &Plan, asked: Option<u64>) -> Result<u64> {
    let (all, each) = (plan.meta().split.batches(), plan.results_per_batch());
    let bytes = |batches| {
        let name = plan.shard(homaes::RunId([0; 32]), 0, batches);
        plan.shard_bytes(&name)
    };
    let wanted = asked.unwrap_or(SHARD_BATCHES).clamp(1, all);
    let wanted = wanted.next_multiple_of(each);
    let fits = |batches: &u64| bytes(*batches) <= MAX_SHARD_BYTES;
    let fewest = if asked.is_some() { wanted } else { each };
    let mut sizes = (fewest..=wanted).rev().step_by(each as usize);
    sizes.find(fits).ok_or_else(|| {
        let (found, expected) = (bytes(fewest), MAX_SHARD_BYTES);
        let message =
            format!("a shard of {fewest} batches has {found} bytes, expected at most {expected}");
        let error = homaes::Error::refused(ErrorKind::Argument, message);
        error.with(found, expected).into()
    })
}
