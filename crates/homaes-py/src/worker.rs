//! Workers of jobs: a thread that keeps the prepared circuit and evaluates shards.

use crate::arguments::{FilePath, Number, device_of, threads_of};
use crate::ciphertexts::report;
use crate::job::{Job, SHARDS, asked, look};
use crate::keys::{EvalKey, WrappedKey};
use crate::wait::{self, Caller, Service, lock};
use homaes::Cancel;
use homaes_job::{Done, JobError, Keys, Outcome, Verified};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyFloat, PyInt, PyString, PyTuple};
use std::collections::HashMap;
use std::sync::Mutex;
use std::time::Instant;

/// One task, which returns the worker.
type Task = Box<dyn for<'k> FnOnce(homaes_job::Worker<'k>) -> homaes_job::Worker<'k> + Send>;

/// A finished shard: its number, the outcome, and the seconds of the evaluation.
type Shard = (u64, &'static str, f64);

fn shard(done: &Done) -> Shard {
    let seconds = done.report.as_ref().map_or(0.0, |report| report.seconds);
    (done.number, Outcome::name(done.outcome), seconds)
}

#[pymethods]
impl Job {
    /// Make a worker, which evaluates shards in one call after the other.
    ///
    /// ``eval_key`` and ``wrapped_key``: loaded keys; by default, the worker reads those of the plan.
    /// ``device``: as for ``Transcipher``; workers of one job may use different devices.
    #[pyo3(signature = (*, threads=None, eval_key=None, wrapped_key=None, device=None, cache=None))]
    fn worker(
        this: &Bound<'_, Self>,
        threads: Option<Number>,
        eval_key: Option<&EvalKey>,
        wrapped_key: Option<&WrappedKey>,
        device: Option<&Bound<'_, PyAny>>,
        cache: Option<FilePath>,
    ) -> PyResult<JobWorker> {
        let keys = match (eval_key, wrapped_key) {
            (Some(eval), Some(wrapped)) => Some(Keys {
                eval: eval.key.clone(),
                wrapped: wrapped.key.clone(),
            }),
            (None, None) => None,
            _ => {
                return Err(PyTypeError::new_err(
                    "keys: found one, expected both eval_key and wrapped_key, or neither",
                ));
            }
        };
        JobWorker::start(this, threads, keys, device, cache)
    }

    /// Evaluate the missing shards, or those of ``shards`` that are missing, and wait for those of other workers.
    ///
    /// ``progress``: True for a bar, or a function to call for every shard, in this thread. Ctrl-C ends the run within
    /// a second. Finished shards stay, and the same call continues.
    #[pyo3(signature = (*, threads=None, shards=None, progress=None, device=None, cache=None))]
    fn run<'py>(
        this: &Bound<'py, Self>,
        threads: Option<Number>,
        shards: Option<&Bound<'py, PyAny>>,
        progress: Option<&Bound<'py, PyAny>>,
        device: Option<&Bound<'py, PyAny>>,
        cache: Option<FilePath>,
    ) -> PyResult<Bound<'py, PyAny>> {
        JobWorker::once(this, threads, device, cache, |worker| {
            worker.run(this.py(), shards, progress)
        })
    }

    /// Evaluate a shard if it is missing. Returns "written", "same" or "there", as in ``JobProgress.outcome``.
    #[pyo3(signature = (number, /, *, threads=None, device=None, cache=None))]
    fn run_shard(
        this: &Bound<'_, Self>,
        number: Number,
        threads: Option<Number>,
        device: Option<&Bound<'_, PyAny>>,
        cache: Option<FilePath>,
    ) -> PyResult<&'static str> {
        JobWorker::once(this, threads, device, cache, |worker| {
            worker.run_shard(this.py(), number)
        })
    }

    /// Verify the checksums of all finished shards.
    ///
    /// ``sample``: also evaluate this share of them again, at least one, drawn at random, and compare. This finds the
    /// errors of a broken processor and forged shards, whose checksums are right.
    #[pyo3(signature = (sample=None, *, threads=None, cache=None))]
    fn verify<'py>(
        this: &Bound<'py, Self>,
        sample: Option<&Bound<'py, PyAny>>,
        threads: Option<Number>,
        cache: Option<FilePath>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let py = this.py();
        let Some(sample) = sample else {
            let job = this.get().0.clone();
            return verified(py, &wait::read(py, move |cancel| job.verify(cancel))?);
        };
        let device = PyString::new(py, "cpu").into_any();
        JobWorker::once(this, threads, Some(&device), cache, |worker| {
            worker.verify(sample)
        })
    }
}

/// Evaluates shards of a job and keeps the prepared circuit between them. Several threads may share one.
#[pyclass(frozen, module = "homaes", weakref)]
pub(crate) struct JobWorker {
    job: Py<Job>,
    service: Service<Task>,
    /// Ends the running calls.
    cancel: Mutex<Cancel>,
}

#[pymethods]
impl JobWorker {
    /// The job.
    #[getter]
    fn job(&self, py: Python<'_>) -> Py<Job> {
        self.job.clone_ref(py)
    }

    /// Number of threads.
    #[getter]
    fn threads(&self) -> usize {
        self.service.threads
    }

    /// As ``Job.run``. A call to this worker inside ``progress`` waits until this run has ended.
    #[pyo3(signature = (*, shards=None, progress=None))]
    pub(crate) fn run<'py>(
        &self,
        py: Python<'py>,
        shards: Option<&Bound<'py, PyAny>>,
        progress: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let start = Instant::now();
        let job = &self.job.get().0;
        let (asked, status) = (asked(job, shards)?, look(py, job)?);
        let wanted = asked.iter().cloned().flatten();
        let there = wanted.clone().filter(|&shard| status.has(shard)).count();
        let wanted = wanted.count();
        let follower = py.import("homaes._progress")?;
        let follower = follower.call_method1("shards_follower_of", (progress, there, wanted))?;
        let (mut done, mut evaluated) = (there, 0);
        let take = |(shard, outcome, seconds): Shard| {
            done += 1;
            evaluated += usize::from(outcome != "there");
            let event = report!(py, "JobProgress", {
                shard: shard,
                outcome: outcome,
                seconds: seconds,
                done: done,
                shards: wanted,
            })?;
            follower.call_method1("call", (event,)).map(drop)
        };
        let ended = match wanted {
            0 => Ok(()),
            _ => self.call(py, take, move |worker, caller| {
                worker.run(&asked, &mut |done| caller.tell(shard(done)))
            }),
        };
        follower.call_method0("close")?;
        ended?;
        report!(py, "JobReport", {
            shards: wanted,
            evaluated: evaluated,
            there: there,
            seconds: start.elapsed().as_secs_f64(),
        })
    }

    /// As ``Job.run_shard``.
    #[pyo3(signature = (number, /))]
    pub(crate) fn run_shard(&self, py: Python<'_>, number: Number) -> PyResult<&'static str> {
        Ok(self.evaluate(py, number)?.0)
    }

    /// As ``run_shard``, with the seconds of the evaluation.
    #[pyo3(signature = (number, /))]
    fn evaluate(&self, py: Python<'_>, number: Number) -> PyResult<(&'static str, f64)> {
        let number = number.of("shards", SHARDS)?;
        let (_, outcome, seconds) = self.call(
            py,
            |()| Ok(()),
            move |worker, _| worker.shard(number).map(|done| shard(&done)),
        )?;
        Ok((outcome, seconds))
    }

    /// As ``Job.verify``.
    #[pyo3(signature = (sample, /))]
    pub(crate) fn verify<'py>(&self, sample: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let py = sample.py();
        let is_number = sample.is_instance_of::<PyInt>() || sample.is_instance_of::<PyFloat>();
        if sample.is_instance_of::<PyBool>() || !is_number {
            let found = sample.get_type().name()?;
            let message = format!("sample: found {found}, expected a number");
            return Err(PyTypeError::new_err(message));
        }
        let share: f64 = sample.extract()?;
        if !(share > 0.0 && share <= 1.0) {
            let message = format!("sample: found {sample}, expected a share above 0, up to 1");
            return Err(PyValueError::new_err(message));
        }
        let found = self.call(py, |()| Ok(()), move |worker, _| worker.verify(share))?;
        verified(py, &found)
    }

    /// End the calls in other threads within a second. They raise ``Cancelled``.
    fn cancel(&self) {
        lock(&self.cancel).cancel();
    }

    /// Refuse further calls, and free the prepared circuit.
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        self.service.close(py)
    }

    fn __enter__(this: PyRef<'_, Self>) -> PyRef<'_, Self> {
        this
    }

    #[pyo3(signature = (*_error))]
    fn __exit__(&self, py: Python<'_>, _error: &Bound<'_, PyTuple>) -> PyResult<()> {
        self.close(py)
    }

    fn __repr__(&self) -> String {
        let (place, threads) = (self.job.get().0.location(), self.threads());
        format!("<homaes.JobWorker of {place}, {threads} threads>")
    }
}

impl JobWorker {
    /// A worker with these keys, or those of the plan.
    fn start(
        job: &Bound<'_, Job>,
        threads: Option<Number>,
        keys: Option<Keys>,
        device: Option<&Bound<'_, PyAny>>,
        cache: Option<FilePath>,
    ) -> PyResult<Self> {
        let (threads, devices) = (threads_of(threads)?, device_of(device)?);
        let (own, cache) = (job.get().0.clone(), cache.map(|path| path.0));
        let service = Service::start(job.py(), "JobWorker", move |tasks, warnings| {
            devices.check(&homaes::Set::named(own.set())?, Some(own.layout()))?;
            let keys = keys.map_or_else(|| own.keys(cache.as_deref()), Ok)?;
            let worker = homaes_job::Worker::new(&own, &keys, Some(threads))?.on(devices);
            let worker = worker.warn(move |why| lock(&warnings).push(why.to_owned()));
            tasks.serve(worker.threads(), worker, |task: Task, worker| task(worker));
            Ok(())
        })?;
        Ok(Self {
            job: job.clone().unbind(),
            service,
            cancel: Mutex::default(),
        })
    }

    /// Makes a worker for one call.
    fn once<T>(
        job: &Bound<'_, Job>,
        threads: Option<Number>,
        device: Option<&Bound<'_, PyAny>>,
        cache: Option<FilePath>,
        call: impl FnOnce(&Self) -> PyResult<T>,
    ) -> PyResult<T> {
        let worker = Self::start(job, threads, None, device, cache)?;
        let done = call(&worker);
        worker.close(job.py())?;
        done
    }

    /// Runs `work` on the worker, and passes its events to `take`.
    fn call<E: Send + 'static, T: Send + 'static>(
        &self,
        py: Python<'_>,
        take: impl FnMut(E) -> PyResult<()>,
        work: impl FnOnce(&homaes_job::Worker<'_>, &Caller<E, T>) -> Result<T, JobError>
        + Send
        + 'static,
    ) -> PyResult<T> {
        let cancel = {
            let mut cancel = lock(&self.cancel);
            if cancel.is_cancelled() {
                *cancel = Cancel::new();
            }
            cancel.clone()
        };
        let thrown = cancel.clone();
        let task = |caller: Caller<E, T>| -> Task {
            Box::new(move |worker| {
                caller.begin();
                let worker = worker.cancel(thrown);
                caller.end(work(&worker, &caller));
                worker
            })
        };
        self.service.call(py, &cancel, take, task)
    }
}

fn verified<'py>(py: Python<'py>, found: &Verified) -> PyResult<Bound<'py, PyAny>> {
    let wrong = found.wrong.iter();
    let wrong = wrong.map(|(number, error)| (*number, error.to_string()));
    report!(py, "JobVerified", {
        shards: found.shards,
        evaluated: found.evaluated,
        missing: found.missing,
        wrong: wrong.collect::<HashMap<_, _>>(),
    })
}
