//! Jobs, and their workers.

use crate::arguments::{self, FilePath, Number, fixed, layout_of, text_of};
use crate::ciphertexts::{Ciphertexts, report};
use crate::errors::raise;
use crate::input::{job_message, location, parts_of, warn_of_shared_counters};
use crate::keys::{EvalKey, WrappedKey};
use crate::methods::getters;
use crate::origin::Origin;
use crate::wait;
use homaes_job::{Location, Planning, Status};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyByteArray, PyBytes, PyDict, PyRange, PyString, PyTuple};
use std::collections::{BTreeSet, HashMap};
use std::ffi::OsString;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::ops::{Range, RangeInclusive};
use std::path::PathBuf;
use std::sync::Arc;

/// A message, keys and a location for results. Any number of workers evaluate its shards in any order.
///
/// A location is a path, ``file:///path`` or ``s3://bucket/key``. The file of results is the same, byte for byte, for
/// any number of workers.
#[pyclass(frozen, module = "homaes", weakref)]
pub(crate) struct Job(pub(crate) Arc<homaes_job::Job>);

getters! { Job as job:
    /// Its location, a path or a URI.
    location: OsString = text_of(job.0.location());
    /// The id of the work, in hex.
    id: String = job.0.id().to_string();
    /// The name of the parameter set.
    set: &str = job.0.set();
    /// How ciphertexts hold the bytes: "packed", "sliced" or "bits".
    layout: &'static str = job.0.layout().name();
    /// Number of shards.
    shards: u64 = job.0.shards();
    /// Number of batches in all shards.
    batches: u64 = job.0.batches();
    /// Batches per shard; the last shard may have fewer.
    shard_batches: u64 = job.0.shard_batches();
    /// Number of parts of the message.
    part_count: u64 = job.0.parts().0;
    /// Length of the message in bytes.
    bytes: u64 = job.0.parts().1;
    /// Length of the file of results in bytes.
    file_bytes: u64 = job.0.output_bytes();
}

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
        cache: Option<FilePath>,
        raw: bool,
    ) -> PyResult<Self> {
        let (py, parts) = (data.py(), parts_of(data, mode)?);
        let eval = key_location("eval_key", eval_key)?;
        let wrapped = key_location("wrapped_key", wrapped_key)?;
        let shard_batches = shard_batches.map(|count| count.of("shard_batches", 1..=u64::MAX));
        let mut planning = Planning {
            layout: layout.map(layout_of).transpose()?,
            shard_batches: shard_batches.transpose()?,
            ignore_space,
            cache: cache.map(|path| path.0),
            ..Planning::new(eval, wrapped)
        };
        let (place, message) = (fixed(location(out)?), job_message(parts, raw)?);
        let (job, shared) = wait::write(py, move |cancel| {
            planning.cancel = cancel.clone();
            let message = message(cancel)?;
            let shared = message.shares_counters(false);
            homaes_job::Job::plan(place, message, &planning).map(|job| (job, shared))
        })?;
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
        let job = wait::read(py, move |_| homaes_job::Job::open(place))?;
        Ok(Self(job.into()))
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
    fn key_files(&self, py: Python<'_>, cache: Option<FilePath>) -> PyResult<(OsString, OsString)> {
        let (job, cache) = (self.0.clone(), cache.map(|path| path.0));
        let files = wait::read(py, move |_| job.key_files(cache.as_deref()))?;
        Ok(files.map(PathBuf::into_os_string).into())
    }

    /// The results. They are read from the shards.
    fn results(&self, py: Python<'_>) -> PyResult<Ciphertexts> {
        // the error names missing shards
        Ciphertexts::of(py, Origin::Job(self.0.clone()), None)
    }

    /// Write the file of results.
    #[pyo3(signature = (path, /, *, force=false))]
    fn merge(&self, path: &Bound<'_, PyAny>, force: bool) -> PyResult<Ciphertexts> {
        Origin::Job(self.0.clone()).save(path.py(), arguments::path(path)?, force)?;
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
pub(crate) const SHARDS: RangeInclusive<u64> = 0..=i64::MAX as u64 - 1;

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
