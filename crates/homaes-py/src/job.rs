//! Jobs, and their workers.

use crate::arguments::{Number, layout_of};
use crate::ciphertexts::{Ciphertexts, report};
use crate::input::{job_message, location, parts_of, warn_of_shared_counters};
use crate::keys::{EvalKey, WrappedKey};
use crate::origin::Origin;
use crate::place::{fixed, optional_path, text_of};
use crate::wait;
use crate::worker::{JobWorker, asked, look, verified};
use homaes_job::{Keys, Location, Planning};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyRange, PyString, PyTuple};
use std::collections::HashMap;
use std::ffi::OsString;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;

/// A message, keys and a location for results. Any number of workers evaluate its shards in any order.
///
/// A location is a path, ``file:///path`` or ``s3://bucket/key``. The file of results is the same, byte for byte, for
/// any number of workers.
#[pyclass(frozen, module = "homaes", weakref)]
pub(crate) struct Job(pub(crate) Arc<homaes_job::Job>);

#[pymethods]
impl Job {
    #[new]
    #[pyo3(signature = (*_args, **_named))]
    fn new(_args: &Bound<'_, PyTuple>, _named: Option<&Bound<'_, PyDict>>) -> PyResult<Self> {
        let message = "a Job is made by Job.plan, or opened by Job.open(place)";
        Err(PyTypeError::new_err(message))
    }

    /// Plan a job at ``out``. Planning the same job again returns the existing one.
    ///
    /// ``data``: files or objects, but no bytes, because the workers read them. ``eval_key``, ``wrapped_key``: their
    /// locations, or keys that were loaded from there. ``shard_batches``: batches per shard, at most 8 by default.
    /// ``raw``: as in ``Transcipher.run``.
    #[staticmethod]
    #[pyo3(signature = (data, mode=None, *, eval_key, wrapped_key, out, layout=None, shard_batches=None, ignore_space=false, cache=None, raw=false))]
    fn plan(
        data: &Bound<'_, PyAny>,
        mode: Option<&Bound<'_, PyAny>>,
        eval_key: &Bound<'_, PyAny>,
        wrapped_key: &Bound<'_, PyAny>,
        out: &Bound<'_, PyAny>,
        layout: Option<&str>,
        shard_batches: Option<Number>,
        ignore_space: bool,
        #[pyo3(from_py_with = optional_path)] cache: Option<PathBuf>,
        raw: bool,
    ) -> PyResult<Self> {
        let (py, parts) = (data.py(), parts_of(data, mode, raw)?);
        let eval = key_location("eval_key", eval_key)?;
        let wrapped = key_location("wrapped_key", wrapped_key)?;
        let shard_batches = shard_batches.map(|count| count.of("shard_batches", 1..=u64::MAX));
        let mut planning = Planning {
            layout: layout.map(layout_of).transpose()?,
            shard_batches: shard_batches.transpose()?,
            ignore_space,
            cache,
            ..Planning::new(eval, wrapped)
        };
        let (place, message) = (fixed(location(out)?), job_message(parts)?);
        let (job, shared) = wait::write(py, move |cancel| {
            planning.cancel = cancel.clone();
            let message = message(cancel)?;
            let shared = message.shares_counters();
            homaes_job::Job::plan(place, message, &planning).map(|job| (job, shared))
        })?;
        if shared {
            warn_of_shared_counters(py)?;
        }
        // the files that were read must still be those of the keys
        key_location("eval_key", eval_key)?;
        key_location("wrapped_key", wrapped_key)?;
        Ok(Self(job.into()))
    }

    /// Open the job at a location.
    #[staticmethod]
    #[pyo3(signature = (place, /))]
    fn open(place: &Bound<'_, PyAny>) -> PyResult<Self> {
        let (py, place) = (place.py(), fixed(location(place)?));
        let job = wait::read(py, move |_| homaes_job::Job::open(place))?;
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

    /// The name of the parameter set.
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

    /// Look at the shards.
    fn status<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let status = look(py, &self.0)?;
        let present = status.present.iter().map(|there| python_range(py, there));
        report!(py, "JobStatus", {
            shards: status.shards,
            batches: status.batches,
            present: present.collect::<PyResult<Vec<_>>>()?,
            wrong: HashMap::<u64, u64>::from_iter(status.wrong),
            others: status.others,
            claimed: status.claimed,
            bytes: status.bytes,
        })
    }

    /// The numbers of shards as sorted ranges without duplicates; all shards for None.
    #[pyo3(signature = (shards, /))]
    fn _asked<'py>(
        &self,
        py: Python<'py>,
        shards: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Vec<Bound<'py, PyRange>>> {
        let asked = asked(&self.0, shards)?;
        asked.iter().map(|some| python_range(py, some)).collect()
    }

    /// The paths of its evaluation key and its wrapped key.
    ///
    /// Keys in a bucket are copied to ``cache``, or to the user's cache.
    #[pyo3(signature = (cache=None))]
    fn key_files(
        &self,
        py: Python<'_>,
        #[pyo3(from_py_with = optional_path)] cache: Option<PathBuf>,
    ) -> PyResult<(OsString, OsString)> {
        let job = self.0.clone();
        let files = wait::read(py, move |_| job.key_files(cache.as_deref()))?;
        let [eval, wrapped] = files.map(PathBuf::into_os_string);
        Ok((eval, wrapped))
    }

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
        #[pyo3(from_py_with = optional_path)] cache: Option<PathBuf>,
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
        JobWorker::start(this, &this.get().0, threads, keys, device, cache)
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
        #[pyo3(from_py_with = optional_path)] cache: Option<PathBuf>,
    ) -> PyResult<Bound<'py, PyAny>> {
        JobWorker::once(this, &this.get().0, threads, device, cache, |worker| {
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
        #[pyo3(from_py_with = optional_path)] cache: Option<PathBuf>,
    ) -> PyResult<&'static str> {
        JobWorker::once(this, &this.get().0, threads, device, cache, |worker| {
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
        #[pyo3(from_py_with = optional_path)] cache: Option<PathBuf>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let py = this.py();
        let Some(sample) = sample else {
            let job = this.get().0.clone();
            return verified(py, &wait::read(py, move |cancel| job.verify(cancel))?);
        };
        let device = PyString::new(py, "cpu").into_any();
        JobWorker::once(
            this,
            &this.get().0,
            threads,
            Some(&device),
            cache,
            |worker| worker.verify(sample),
        )
    }

    /// The results. They are read from the shards.
    fn results(&self, py: Python<'_>) -> PyResult<Ciphertexts> {
        let job = self.0.clone();
        // the error names missing shards
        wait::read(py, move |_| job.results().map(drop))?;
        Ok(Ciphertexts::at(Origin::Job(self.0.clone())))
    }

    /// Write the file of results.
    #[pyo3(signature = (path, /, *, force=false))]
    fn merge(&self, path: &Bound<'_, PyAny>, force: bool) -> PyResult<Ciphertexts> {
        let file = crate::place::path(path)?;
        Origin::Job(self.0.clone()).save(path.py(), file, force)?;
        Ciphertexts::open(path)
    }

    /// Remove the plan, the shards and the logs of the workers. Workers stop.
    ///
    /// Other files in the folder stay.
    fn remove(&self, py: Python<'_>) -> PyResult<()> {
        let job = self.0.clone();
        wait::write(py, move |_| job.remove())
    }

    fn __eq__(&self, other: &Self) -> bool {
        (self.location(), self.id()) == (other.location(), other.id())
    }

    fn __hash__(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        (self.location(), self.id()).hash(&mut hasher);
        hasher.finish()
    }

    fn __reduce__<'py>(
        &self,
        py: Python<'py>,
    ) -> PyResult<(Bound<'py, PyAny>, (OsString, String, u64))> {
        let reopen = py.import("homaes._pickling")?.getattr("reopen")?;
        Ok((reopen, (self.location(), self.id(), self.shard_batches())))
    }

    fn __repr__(&self) -> String {
        let (bytes, set, layout) = (self.bytes(), self.set(), self.layout());
        let (place, batches, shards) = (self.0.location(), self.batches(), self.shards());
        format!(
            "<homaes.Job at {place}: {bytes} bytes under {set}, {layout}, {batches} batches in {shards} shards>"
        )
    }
}

fn python_range<'py>(py: Python<'py>, range: &Range<u64>) -> PyResult<Bound<'py, PyRange>> {
    PyRange::new(py, range.start as isize, range.end as isize)
}

/// The location of a key. Refuses one whose file has changed since it was loaded.
fn key_location(name: &str, key: &Bound<'_, PyAny>) -> PyResult<Location> {
    if !key.is_instance_of::<EvalKey>() && !key.is_instance_of::<WrappedKey>() {
        return location(key);
    }
    key.call_method0("_check_file")?;
    let path = key.getattr("path")?;
    if path.is_none() {
        return Err(PyValueError::new_err(format!(
            "{name}: is in memory, but workers read it from a file: save it, and pass its path"
        )));
    }
    location(&path)
}
