//! Runs shared by many workers, on one machine or on many.
//!
//! A job is a folder, or everything below a key of a bucket:
//!
//! ```text
//! JOB/job.json             the plan: keys, message, shards; written once, never changed
//! JOB/shards/000017.hcs    the results of some batches
//! JOB/claims/000017        in folders: locked by the worker that evaluates the shard
//! JOB/log/*.ndjson         in folders: what each worker did, for people only
//! ```
//!
//! A shard is a function of job and keys: every worker computes the same bytes ([`homaes::Shard`]). So workers need not
//! know of each other. The first one to finish a shard writes it, and later ones compare theirs with it. A killed
//! worker leaves nothing to repair.
//!
//! Before evaluation a shard's ciphertext is read into memory and compared with the digest in the plan, so changed
//! input is reported and never used. A complete job reads as one results file ([`Job::results`]).
//!
//! ```
//! use homaes_job::{Job, Location, Planning, Worker};
//! # use homaes::{AesKey, Cancel, KeySet, Mode, Output, AesFile, Set, WrappedKey, WrapOptions};
//! # let folder = tempfile::tempdir()?;
//! # let at = |name: &str| folder.path().join(name);
//! # let keys = KeySet::create(&Set::named("bgv/toy-255")?, at("keys"))?;
//! # let aes_key = AesKey::from_bytes(&[7; 16])?;
//! # let wrapped = WrappedKey::create(&keys.secret, &aes_key, &WrapOptions::default(), at("key.hwk"), false)?;
//! # std::fs::write(at("c"), [0x3a; 1000])?;
//! let eval = Location::Local(at("keys/eval.hek"));
//! let wrapped = Location::Local(at("key.hwk"));
//! let message = AesFile::open(at("c"), Mode::Ctr { iv: [0; 16] })?.into();
//! let planning = Planning { shard_batches: Some(2), ..Planning::new(eval, wrapped) };
//! let job = Job::plan(Location::Local(at("job")), message, &planning)?;
//!
//! let keys = job.keys(None)?;
//! Worker::new(&job, &keys, None)?.run(&[], &mut |_| ())?;
//! assert_eq!(job.status()?.missing(), 0);
//! job.merge(Output::create(at("c.hct"), false)?, &Cancel::new())?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#![forbid(unsafe_code)]

mod claim;
mod error;
mod input;
mod job;
mod log;
mod manifest;
mod plan;
mod status;
pub mod store;
mod verify;
mod worker;

pub use error::{JobError, Result};
pub use input::open_source;
pub use job::{Job, MAX_SHARD_BYTES};
pub use plan::Planning;
pub use status::Status;
pub use store::{Location, StoreError, cache_folder};
pub use verify::Verified;
pub use worker::{Done, Keys, Outcome, Worker};
