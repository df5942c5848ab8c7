//! A run from file to file: keys and job in, `.hct` file and report out.

use crate::batch::Split;
use crate::evaluate::transcipher;
use crate::meta::{Meta, TAG_BATCH, TAG_META};
use crate::output::Container;
use crate::scheme::Bgv;
use crate::{Error, EvalKey, Job, Output, Progress, Report, Result, Set, WrappedKey};
use homaes_bgv::SlicedAes;
use homaes_wire::{Contents, Header, Kind};
use std::num::NonZeroUsize;
use std::sync::{Mutex, PoisonError};
use std::thread::available_parallelism;
use std::time::Instant;

type Watch<'k> = Box<dyn FnMut(Progress) + Send + 'k>;

/// Runs AES on files under encryption.
pub struct Transcipher<'k> {
    eval: &'k EvalKey,
    wrapped: &'k WrappedKey,
    bgv: Bgv<'k>,
    pool: rayon::ThreadPool,
    watch: Mutex<Watch<'k>>,
}

impl<'k> Transcipher<'k> {
    /// Takes the keys and prepares them, to run on every core.
    ///
    /// # Errors
    /// [`Error::Keys`] if they belong to different sets or secret keys, [`Error::Threads`].
    pub fn new(eval: &'k EvalKey, wrapped: &'k WrappedKey) -> Result<Self> {
        let threads = available_parallelism().unwrap_or(NonZeroUsize::MIN);
        Self::with_threads(eval, wrapped, threads)
    }

    /// As [`new`](Self::new) with a number of worker threads. The result does not depend on it.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn with_threads(
        eval: &'k EvalKey,
        wrapped: &'k WrappedKey,
        threads: NonZeroUsize,
    ) -> Result<Self> {
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(threads.get())
            .build()
            .map_err(|error| Error::Threads {
                threads: threads.get(),
                reason: error.to_string(),
            })?;
        let aes = pool
            .install(|| SlicedAes::new(&eval.key, &wrapped.key))
            .map_err(Error::Keys)?;
        let params = eval.set().params();
        Ok(Self {
            eval,
            wrapped,
            bgv: Bgv { params, aes },
            pool,
            watch: Mutex::new(Box::new(|_| ())),
        })
    }

    /// Calls `watch` from the workers, one at a time, after every round of every batch.
    #[must_use]
    pub fn watch(self, watch: impl FnMut(Progress) + Send + 'k) -> Self {
        let watch: Mutex<Watch<'k>> = Mutex::new(Box::new(watch));
        Self { watch, ..self }
    }

    /// The parameter set of the keys.
    #[must_use]
    pub fn set(&self) -> &Set {
        self.eval.set()
    }

    /// Evaluates `job` into `output`, a `.hct` file.
    ///
    /// # Errors
    /// The first thing that went wrong; `output` then does not appear.
    pub fn run(&self, job: Job, output: Output) -> Result<Report> {
        let threads = self.pool.current_num_threads();
        let split = Split {
            bytes: job.bytes(),
            blocks_per_batch: self.set().blocks_per_batch(),
        };
        let mut file = self.start(&job, split, output)?;
        let mut report = Report {
            bytes: split.bytes,
            blocks: split.blocks(),
            threads,
            file_bytes: file.writer().header().file_bytes(),
            ..Report::default()
        };
        let watch = |batch, round| self.tell(split, batch, round);
        let (iv, mut batches) = (job.iv(), job.batches(split));
        let (before, start) = (self.bgv.aes.meter(), Instant::now());
        self.pool.install(|| {
            transcipher(
                &self.bgv,
                iv,
                &mut batches,
                batches_in_flight(threads),
                &watch,
                |done| {
                    report.add(&done);
                    file.record(TAG_BATCH, done.index, &done.record)
                },
            )
        })?;
        batches.finish()?;
        report.seconds = start.elapsed().as_secs_f64();
        report.count(&before, &self.bgv.aes.meter());
        file.commit()?;
        Ok(report)
    }

    /// Writes header and first record.
    fn start(&self, job: &Job, split: Split, output: Output) -> Result<Container> {
        let body = Meta {
            iv: job.iv(),
            key_size: self.wrapped.key_size(),
            split,
        }
        .encode();
        let batch_bytes = homaes_bgv::batch_bytes(self.bgv.params);
        let contents = Contents::default()
            .record(body.len() as u64)
            .records(split.batches(), batch_bytes);
        let (set, id) = (self.set(), self.eval.key_id());
        let header = Header::new(Kind::Ciphertext, set.name(), *set.digest(), id, contents)
            .map_err(|source| Error::output(output.path(), source))?;
        let mut file = output.container(header)?;
        file.record(TAG_META, 0, &body)?;
        Ok(file)
    }

    fn tell(&self, split: Split, batch: u64, round: usize) {
        // A watcher that panicked once is called again.
        let mut watch = self.watch.lock().unwrap_or_else(PoisonError::into_inner);
        watch(Progress {
            batch,
            batches: split.batches(),
            round,
            rounds: self.wrapped.key_size().rounds(),
        });
    }
}

impl core::fmt::Debug for Transcipher<'_> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Transcipher")
            .field("set", &self.set().name())
            .field("threads", &self.pool.current_num_threads())
            .finish_non_exhaustive()
    }
}

/// Batches evaluated side by side. One keeps sixteen threads busy, and threads that work on the same batch share what
/// they fetch of the keys; only beyond that does another batch help.
fn batches_in_flight(threads: usize) -> usize {
    threads.div_ceil(16)
}
