//! Jobs, and their workers.

use crate::ciphertexts::Results;
use crate::counts::Number;
use crate::errors::raise;
use crate::input::{FilePart, Given, location, warn_of_shared_counters};
use crate::keys::{EvalKey, WrappedKey, layout_of};
use crate::place::{fixed, optional_path, path, text_of};
use crate::transcipher::{Warnings, device_of, threads_of};
use crate::wait::{self, Service, Start, Told, lock};
use homaes::Cancel;
use homaes_job::{Done, JobError, Keys, Outcome, Planning, Verified};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::ffi::OsString;
use std::ops::Range;
use std::path::PathBuf;
use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex};

/// A run that many workers share.
#[pyclass(frozen, module = "homaes._homaes")]
pub(crate) struct Job(Arc<homaes_job::Job>);

#[pymethods]
impl Job {
    /// Plan a job for the message of these parts.
    #[staticmethod]
    #[pyo3(signature = (parts, eval_key, wrapped_key, out, layout, shard_batches, ignore_space, cache, /))]
    #[allow(clippy::too_many_arguments, reason = "named in Python")]
    fn plan(
        py: Python<'_>,
        parts: Vec<Given<'_>>,
        eval_key: &Bound<'_, PyAny>,
        wrapped_key: &Bound<'_, PyAny>,
        out: &Bound<'_, PyAny>,
        layout: Option<&str>,
        shard_batches: Option<Number>,
        ignore_space: bool,
        #[pyo3(from_py_with = optional_path)] cache: Option<PathBuf>,
    ) -> PyResult<Self> {
        let shard_batches = shard_batches.map(|count| count.of("shard_batches", 1..=u64::MAX));
        let cancel = Cancel::new();
        let planning = Planning {
            layout: layout.map(layout_of).transpose()?,
            shard_batches: shard_batches.transpose()?,
            ignore_space,
            cache,
            cancel: cancel.clone(),
            ..Planning::new(location(eval_key)?, location(wrapped_key)?)
        };
        let parts = parts.into_iter().map(FilePart::of);
        let (place, parts) = (fixed(location(out)?), parts.collect::<PyResult<Vec<_>>>()?);
        let plan = move || {
            let message = FilePart::message(parts, &planning.cancel)?;
            let shared = message.shares_counters();
            homaes_job::Job::plan(place, message, &planning).map(|job| (job, shared))
        };
        let (job, shared) = wait::run(py, &cancel, true, plan)?;
        if shared {
            warn_of_shared_counters(py)?;
        }
        Ok(Self(job.into()))
    }

    /// Open the job at a location.
    #[staticmethod]
    #[pyo3(signature = (place, /))]
    fn open(place: &Bound<'_, PyAny>) -> PyResult<Self> {
        let (py, place) = (place.py(), fixed(location(place)?));
        let open = move || homaes_job::Job::open(place);
        let job = wait::run(py, &Cancel::new(), false, open)?;
        Ok(Self(job.into()))
    }

    /// Its location, a path or a URI.
    #[getter]
    fn location(&self) -> OsString {
        text_of(self.0.location())
    }

    /// The id of the work, in hex.
    #[getter]
    fn id(&self) -> String {
        self.0.id().to_string()
    }

    /// The name of the parameter set of its keys.
    #[getter]
    fn set(&self) -> &str {
        self.0.set()
    }

    /// How ciphertexts hold the bytes: "packed", "sliced" or "bits".
    #[getter]
    fn layout(&self) -> &'static str {
        self.0.layout().name()
    }

    /// Number of shards.
    #[getter]
    fn shards(&self) -> u64 {
        self.0.shards()
    }

    /// Number of batches in all shards.
    #[getter]
    fn batches(&self) -> u64 {
        self.0.batches()
    }

    /// Batches per shard; the last shard may have fewer.
    #[getter]
    fn shard_batches(&self) -> u64 {
        self.0.shard_batches()
    }

    /// Number of parts of the message.
    #[getter]
    fn part_count(&self) -> u64 {
        self.0.parts().0
    }

    /// Length of the message in bytes.
    #[getter]
    fn bytes(&self) -> u64 {
        self.0.parts().1
    }

    /// Length of the file of results in bytes.
    #[getter]
    fn file_bytes(&self) -> u64 {
        self.0.output_bytes()
    }

    /// The state of the shards.
    fn status<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let job = self.0.clone();
        let status = wait::run(py, &Cancel::new(), false, move || job.status())?;
        let ends = |ranges: &[Range<u64>]| -> Vec<(u64, u64)> {
            ranges
                .iter()
                .map(|range| (range.start, range.end))
                .collect()
        };
        let out = PyDict::new(py);
        out.set_item("shards", status.shards)?;
        out.set_item("batches", status.batches)?;
        out.set_item("present", ends(&status.present))?;
        out.set_item("wrong", status.wrong.clone())?;
        out.set_item("others", status.others)?;
        out.set_item("claimed", status.claimed)?;
        out.set_item("bytes", status.bytes)?;
        Ok(out)
    }

    /// Refuse numbers of shards that do not exist.
    #[pyo3(signature = (ranges, /))]
    fn check(&self, ranges: Vec<(u64, u64)>) -> PyResult<()> {
        self.0.check_ranges(&ranges_of(&ranges)).map_err(raise)
    }

    /// The paths of its evaluation key and its wrapped key; copies if they are in a bucket.
    #[pyo3(signature = (cache, /))]
    fn key_files(
        &self,
        py: Python<'_>,
        #[pyo3(from_py_with = optional_path)] cache: Option<PathBuf>,
    ) -> PyResult<[PathBuf; 2]> {
        let job = self.0.clone();
        let files = move || job.key_files(cache.as_deref());
        wait::run(py, &Cancel::new(), false, files)
    }

    /// Verify the checksums of all finished shards.
    fn verify(&self, py: Python<'_>) -> PyResult<Found> {
        let (job, cancel) = (self.0.clone(), Cancel::new());
        let thrown = cancel.clone();
        let verify = move || job.verify(&thrown).map(found);
        wait::run(py, &cancel, false, verify)
    }

    /// The results, read from its shards.
    fn results(&self, py: Python<'_>) -> PyResult<Results> {
        let job = self.0.clone();
        // the error names missing shards
        let check = move || job.results().map(drop);
        wait::run(py, &Cancel::new(), false, check)?;
        Ok(Results::of_job(self.0.clone()))
    }

    /// Write the file of results.
    #[pyo3(signature = (path, force, /))]
    fn merge(
        &self,
        py: Python<'_>,
        #[pyo3(from_py_with = path)] path: PathBuf,
        force: bool,
    ) -> PyResult<()> {
        Results::of_job(self.0.clone()).save(py, path, force)
    }

    /// Remove the plan and the shards.
    fn remove(&self, py: Python<'_>) -> PyResult<()> {
        let job = self.0.clone();
        wait::run(py, &Cancel::new(), true, move || job.remove())
    }
}

/// Numbers of right, re-evaluated and missing shards, and the wrong ones with their errors.
type Found = (u64, u64, u64, Vec<(u64, String)>);

fn found(verified: Verified) -> Found {
    let wrong = verified.wrong.iter();
    let wrong = wrong.map(|(number, error)| (*number, error.to_string()));
    let wrong = wrong.collect();
    (verified.shards, verified.evaluated, verified.missing, wrong)
}

fn ranges_of(ends: &[(u64, u64)]) -> Vec<Range<u64>> {
    ends.iter().map(|&(start, end)| start..end).collect()
}

/// One task, which returns the worker.
type Task = Box<dyn for<'k> FnOnce(homaes_job::Worker<'k>) -> homaes_job::Worker<'k> + Send>;

/// A finished shard: its number, the outcome, and the seconds of the evaluation.
type Shard = (u64, &'static str, f64);

/// Evaluates shards of a job.
#[pyclass(frozen, module = "homaes._homaes")]
pub(crate) struct JobWorker {
    service: Service<Task>,
    threads: usize,
    warnings: Warnings,
    /// Ends the running calls.
    cancel: Mutex<Cancel>,
}

#[pymethods]
impl JobWorker {
    #[new]
    #[pyo3(signature = (job, eval_key, wrapped_key, threads, device, cache, /))]
    fn new(
        py: Python<'_>,
        job: &Job,
        eval_key: Option<&EvalKey>,
        wrapped_key: Option<&WrappedKey>,
        threads: Option<Number>,
        device: Option<&str>,
        #[pyo3(from_py_with = optional_path)] cache: Option<PathBuf>,
    ) -> PyResult<Self> {
        let threads = Some(threads_of(threads)?);
        let devices = device_of(device)?;
        let warnings = Warnings::default();
        let warned = warnings.clone();
        let given = eval_key.zip(wrapped_key).map(|(eval, wrapped)| Keys {
            eval: eval.key.clone(),
            wrapped: wrapped.key.clone(),
        });
        let job = job.0.clone();
        let (service, threads) = Service::start(py, "JobWorker", move |ready, tasks| {
            let set = homaes::Set::named(job.set());
            let checked = set.and_then(|set| devices.check(&set, Some(job.layout()), false));
            if let Err(error) = checked {
                return drop(ready.send(Err(error.into())));
            }
            let keys = given.map_or_else(|| job.keys(cache.as_deref()), Ok);
            let keys = match keys {
                Ok(keys) => keys,
                Err(error) => return drop(ready.send(Err(error))),
            };
            let mut worker = match homaes_job::Worker::new(&job, &keys, threads) {
                Ok(worker) => worker,
                Err(error) => return drop(ready.send(Err(error))),
            };
            worker = worker.on(devices).warn(move |why| warned.add(why));
            // fails if nobody waits any more
            drop(ready.send(Ok(worker.threads())));
            while let Ok(task) = tasks.recv() {
                let task: Task = task;
                worker = task(worker);
            }
        })?;
        Ok(Self {
            service,
            threads,
            warnings,
            cancel: Mutex::default(),
        })
    }

    /// Number of threads.
    #[getter]
    fn threads(&self) -> usize {
        self.threads
    }

    /// Evaluate the missing shards of these ranges. Calls `each` with every shard.
    #[pyo3(signature = (ranges, each, /))]
    fn run(
        &self,
        py: Python<'_>,
        ranges: Vec<(u64, u64)>,
        each: &Bound<'_, PyAny>,
    ) -> PyResult<()> {
        let take = |done: Shard| each.call1(done).map(|_| ());
        self.call(py, take, move |worker, tell| {
            worker.run(&ranges_of(&ranges), &mut |done| tell(shard(done)))
        })
    }

    /// Evaluate a shard if it is missing.
    #[pyo3(signature = (number, /))]
    fn shard(&self, py: Python<'_>, number: u64) -> PyResult<Shard> {
        let evaluate = move |worker: &homaes_job::Worker<'_>, _: &dyn Fn(())| {
            worker.shard(number).map(|done| shard(&done))
        };
        self.call(py, |()| Ok(()), evaluate)
    }

    /// Verify the checksums of all finished shards, and evaluate a share of them again.
    #[pyo3(signature = (share, /))]
    fn verify(&self, py: Python<'_>, share: f64) -> PyResult<Found> {
        let verify =
            move |worker: &homaes_job::Worker<'_>, _: &dyn Fn(())| worker.verify(share).map(found);
        self.call(py, |()| Ok(()), verify)
    }

    /// End the running calls of other threads within a second. They raise `Cancelled`.
    fn cancel(&self) {
        lock(&self.cancel).cancel();
    }

    /// Refuse further calls, and free the prepared circuit after the last one.
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        self.service.close(py)
    }
}

impl JobWorker {
    /// Runs `work` on the worker, and passes its events to `take`.
    fn call<E: Send + 'static, T: Send + 'static>(
        &self,
        py: Python<'_>,
        take: impl FnMut(E) -> PyResult<()>,
        work: impl FnOnce(&homaes_job::Worker<'_>, &dyn Fn(E)) -> Result<T, JobError> + Send + 'static,
    ) -> PyResult<T> {
        let cancel = {
            let mut cancel = lock(&self.cancel);
            if cancel.is_cancelled() {
                *cancel = Cancel::new();
            }
            cancel.clone()
        };
        let thrown = cancel.clone();
        let task = |start: Start, sender: Sender<Told<E, Result<T, JobError>>>| -> Task {
            Box::new(move |worker| {
                start.tell();
                let worker = worker.cancel(thrown);
                // fails if nobody waits any more
                let tell = |event| drop(sender.send(Told::Event(event)));
                let done = work(&worker, &tell);
                drop(sender.send(Told::Done(done)));
                worker
            })
        };
        let done = self.service.call(py, &cancel, take, task)?;
        self.warnings.show(py)?;
        done.map_err(raise)
    }
}

fn shard(done: &Done) -> Shard {
    let seconds = done.report.as_ref().map_or(0.0, |report| report.seconds);
    (done.number, Outcome::name(done.outcome), seconds)
}
