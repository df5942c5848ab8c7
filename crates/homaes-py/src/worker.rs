//! Workers of jobs: a thread that keeps the prepared circuit and evaluates shards.

use crate::arguments::{Number, device_of, threads_of};
use crate::ciphertexts::report;
use crate::errors::raise;
use crate::wait::{self, Caller, Service, lock};
use homaes::Cancel;
use homaes_job::{Done, JobError, Keys, Outcome, Status, Verified};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyByteArray, PyBytes, PyFloat, PyInt, PyString, PyTuple};
use std::collections::{BTreeSet, HashMap};
use std::ops::{Range, RangeInclusive};
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Instant;

/// One task, which returns the worker.
type Task = Box<dyn for<'k> FnOnce(homaes_job::Worker<'k>) -> homaes_job::Worker<'k> + Send>;

/// A finished shard: its number, the outcome, and the seconds of the evaluation.
type Shard = (u64, &'static str, f64);

fn shard(done: &Done) -> Shard {
    let seconds = done.report.as_ref().map_or(0.0, |report| report.seconds);
    (done.number, Outcome::name(done.outcome), seconds)
}

/// Evaluates shards of a job and keeps the prepared circuit between them. Several threads may share one.
#[pyclass(frozen, module = "homaes", weakref)]
pub(crate) struct JobWorker {
    /// The `Job` of Python.
    object: Py<PyAny>,
    job: Arc<homaes_job::Job>,
    service: Service<Task>,
    /// Ends the running calls.
    cancel: Mutex<Cancel>,
}

#[pymethods]
impl JobWorker {
    /// The job.
    #[getter]
    fn job(&self, py: Python<'_>) -> Py<PyAny> {
        self.object.clone_ref(py)
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
        let (asked, status) = (asked(&self.job, shards)?, look(py, &self.job)?);
        let wanted: u64 = asked.iter().map(length).sum();
        let pairs = asked
            .iter()
            .flat_map(|one| status.present.iter().map(move |two| (one, two)));
        let common = pairs.map(|(one, two)| one.start.max(two.start)..one.end.min(two.end));
        let there: u64 = common.map(|some| length(&some)).sum();
        let follower = py.import("homaes._progress")?;
        let follower = follower.call_method1("shards_follower_of", (progress, there, wanted))?;
        let (mut done, mut evaluated) = (there, 0);
        let take = |(shard, outcome, seconds): Shard| {
            done += 1;
            evaluated += u64::from(outcome != "there");
            let event = report!(py, "JobProgress", {
                shard: shard,
                outcome: outcome,
                seconds: seconds,
                done: done,
                shards: wanted,
            })?;
            follower.call_method1("step", (event,)).map(drop)
        };
        let ended = match wanted {
            0 => Ok(()),
            _ => self.call(py, take, move |worker, tell| {
                worker.run(&asked, &mut |done| tell(shard(done)))
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
        let evaluate = move |worker: &homaes_job::Worker<'_>, _: &dyn Fn(())| {
            worker.shard(number).map(|done| shard(&done))
        };
        let (_, outcome, seconds) = self.call(py, |()| Ok(()), evaluate)?;
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
        let verify = move |worker: &homaes_job::Worker<'_>, _: &dyn Fn(())| worker.verify(share);
        verified(py, &self.call(py, |()| Ok(()), verify)?)
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
        let (place, threads) = (self.job.location(), self.threads());
        format!("<homaes.JobWorker of {place}, {threads} threads>")
    }
}

impl JobWorker {
    /// A worker with these keys, or those of the plan.
    pub(crate) fn start(
        object: &Bound<'_, PyAny>,
        job: &Arc<homaes_job::Job>,
        threads: Option<Number>,
        keys: Option<Keys>,
        device: Option<&Bound<'_, PyAny>>,
        cache: Option<PathBuf>,
    ) -> PyResult<Self> {
        let (threads, devices) = (threads_of(threads)?, device_of(device)?);
        let own = job.clone();
        let service = Service::start(object.py(), "JobWorker", move |tasks, warnings| {
            devices.check(&homaes::Set::named(own.set())?, Some(own.layout()), false)?;
            let keys = keys.map_or_else(|| own.keys(cache.as_deref()), Ok)?;
            let worker = homaes_job::Worker::new(&own, &keys, Some(threads))?;
            let worker = worker.on(devices).warn(move |why| warnings.add(why));
            tasks.serve(worker.threads(), worker, |task: Task, worker| task(worker));
            Ok(())
        })?;
        Ok(Self {
            object: object.clone().unbind(),
            job: job.clone(),
            service,
            cancel: Mutex::default(),
        })
    }

    /// Makes a worker for one call.
    pub(crate) fn once<T>(
        object: &Bound<'_, PyAny>,
        job: &Arc<homaes_job::Job>,
        threads: Option<Number>,
        device: Option<&Bound<'_, PyAny>>,
        cache: Option<PathBuf>,
        call: impl FnOnce(&Self) -> PyResult<T>,
    ) -> PyResult<T> {
        let worker = Self::start(object, job, threads, None, device, cache)?;
        let done = call(&worker);
        worker.close(object.py())?;
        done
    }

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
        let task = |caller: Caller<E, T>| -> Task {
            Box::new(move |worker| {
                caller.begin();
                let worker = worker.cancel(thrown);
                caller.end(work(&worker, &|event| caller.tell(event)));
                worker
            })
        };
        self.service.call(py, &cancel, take, task)
    }
}

fn length(range: &Range<u64>) -> u64 {
    range.end.saturating_sub(range.start)
}

pub(crate) fn verified<'py>(py: Python<'py>, found: &Verified) -> PyResult<Bound<'py, PyAny>> {
    let wrong = found.wrong.iter();
    let wrong = wrong.map(|(number, error)| (*number, error.to_string()));
    report!(py, "JobVerified", {
        shards: found.shards,
        evaluated: found.evaluated,
        missing: found.missing,
        wrong: wrong.collect::<HashMap<_, _>>(),
    })
}

/// Looks at the shards.
pub(crate) fn look(py: Python<'_>, job: &Arc<homaes_job::Job>) -> PyResult<Status> {
    let job = job.clone();
    wait::read(py, move |_| job.status())
}

/// The numbers of shards as sorted ranges without duplicates; all shards for None.
pub(crate) fn asked(
    job: &homaes_job::Job,
    shards: Option<&Bound<'_, PyAny>>,
) -> PyResult<Vec<Range<u64>>> {
    let Some(shards) = shards else {
        let all = 0..job.shards();
        return Ok(vec![all]);
    };
    let refused = |found: &Bound<'_, PyAny>| {
        let found = found.get_type().name()?;
        let message = format!("shards: found {found}, expected numbers of shards");
        Err(PyTypeError::new_err(message))
    };
    let is_text = shards.is_instance_of::<PyString>()
        || shards.is_instance_of::<PyBytes>()
        || shards.is_instance_of::<PyByteArray>();
    let Some(all) = shards.try_iter().ok().filter(|_| !is_text) else {
        return refused(shards);
    };
    let mut numbers = BTreeSet::new();
    for number in all {
        let number = number?;
        if number.is_instance_of::<PyBool>() {
            return refused(&number);
        }
        numbers.insert(number.extract::<Number>()?.of("shards", SHARDS)?);
    }
    let mut ranges: Vec<Range<u64>> = Vec::new();
    for number in numbers {
        match ranges.last_mut() {
            Some(last) if last.end == number => last.end += 1,
            _ => ranges.push(number..number + 1),
        }
    }
    job.check_ranges(&ranges).map_err(raise)?;
    Ok(ranges)
}

/// Numbers that shards may have, also in a range of Python.
const SHARDS: RangeInclusive<u64> = 0..=i64::MAX as u64 - 1;
