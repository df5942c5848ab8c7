//! Runs: a thread that keeps the prepared circuit and evaluates one message at a time.

use crate::ciphertexts::{Results, steps};
use crate::counts::Number;
use crate::errors::raise;
use crate::input::{Given, message, warn_of_shared_counters};
use crate::keys::{EvalKey, WrappedKey, layout_of};
use crate::place::optional_path;
use crate::wait::{Service, Start, Told, lock};
use homaes::{AesInput, Cancel, Devices, Kept, Output, Progress, Report, Resume, Transcipher};
use pyo3::exceptions::PyUserWarning;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::ffi::CString;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex};
use std::thread::available_parallelism;

/// One run, which returns the circuit.
type Task = Box<dyn for<'k> FnOnce(Transcipher<'k>) -> Transcipher<'k> + Send>;

/// An event of a run.
enum Event {
    Step(Progress),
    Kept(Kept),
}

type Outcome = homaes::Result<(Option<Vec<u8>>, Report)>;

/// Evaluates AES under a pair of keys, one message at a time: the base class of `homaes.Transcipher`.
#[pyclass(frozen, subclass, module = "homaes._homaes")]
pub(crate) struct Runner {
    service: Service<Task>,
    threads: usize,
    set: &'static str,
    device: Devices,
    warnings: Warnings,
}

#[pymethods]
impl Runner {
    #[new]
    #[pyo3(signature = (eval_key, wrapped_key, threads, layout, device, /))]
    fn new(
        py: Python<'_>,
        eval_key: &EvalKey,
        wrapped_key: &WrappedKey,
        threads: Option<Number>,
        layout: Option<&str>,
        device: Option<&str>,
    ) -> PyResult<Self> {
        let threads = threads_of(threads)?;
        let device = device_of(device)?;
        let warnings = Warnings::default();
        let (devices, warned) = (device.clone(), warnings.clone());
        let layout = layout.map(layout_of).transpose()?;
        let (eval, wrapped) = (eval_key.key.clone(), wrapped_key.key.clone());
        let set = eval.set().name();
        let (service, threads) = Service::start(py, "Transcipher", move |ready, tasks| {
            let made = Transcipher::with_threads(&eval, &wrapped, threads);
            let made = made.and_then(|made| match layout {
                Some(layout) => made.layout(layout),
                None => Ok(made),
            });
            let made = made.and_then(|made| {
                devices.check(eval.set(), layout, false)?;
                Ok(made.on(devices).warn(move |why| warned.add(why)))
            });
            let mut transcipher = match made {
                Ok(made) => made,
                Err(error) => return drop(ready.send(Err(error))),
            };
            // fails if nobody waits any more
            drop(ready.send(Ok(transcipher.threads())));
            while let Ok(task) = tasks.recv() {
                let task: Task = task;
                transcipher = task(transcipher);
            }
        })?;
        Ok(Self {
            service,
            threads,
            set,
            device,
            warnings,
        })
    }

    /// Number of threads.
    #[getter]
    fn threads(&self) -> usize {
        self.threads
    }

    /// The device as requested: "auto", "cpu", "cuda", "cuda:0,1".
    #[getter]
    fn device(&self) -> String {
        self.device.to_string()
    }

    /// The name of the parameter set.
    #[getter]
    fn set(&self) -> &'static str {
        self.set
    }

    /// Refuse further runs, and free the prepared circuit after the last one.
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        self.service.close(py)
    }

    /// Evaluate the message of these parts, into the file `out` or in memory.
    #[pyo3(name = "_run", signature = (parts, out, force, step, kept, resume, reproducible, /))]
    #[allow(clippy::too_many_arguments, reason = "named in Python")]
    fn run<'py>(
        &self,
        py: Python<'py>,
        parts: Vec<Given<'py>>,
        #[pyo3(from_py_with = optional_path)] out: Option<PathBuf>,
        force: bool,
        step: Option<&Bound<'py, PyAny>>,
        kept: Option<&Bound<'py, PyAny>>,
        resume: bool,
        reproducible: bool,
    ) -> PyResult<(Results, Bound<'py, PyDict>)> {
        self.service.check()?;
        let message = message(parts)?;
        if message.shares_counters() {
            warn_of_shared_counters(py)?;
        }
        if !resume && let Some(journal) = out.as_deref().and_then(homaes::unfinished) {
            let what = format!(
                "{}: left by a stopped run with resume=True; pass resume=True to continue it, or remove it and {}",
                journal.display(),
                out.as_deref()
                    .map(homaes::part_path)
                    .unwrap_or_default()
                    .display()
            );
            let category = py.get_type::<PyUserWarning>();
            PyErr::warn(py, &category, &CString::new(what)?, 2)?;
        }
        let cancel = Cancel::new();
        let (place, thrown) = (out.clone(), cancel.clone());
        let watched = step.is_some();
        let take = |event| match (event, step, kept) {
            (Event::Step(event), Some(step), _) => step.call1(progress(event)).map(|_| ()),
            (Event::Kept(event), _, Some(kept)) => kept
                .call1((event.batches, event.of, event.lost))
                .map(|_| ()),
            _ => Ok(()),
        };
        let task = |start: Start, sender| -> Task {
            let run = Run {
                message,
                out: place,
                force,
                resume,
                reproducible,
                watched,
                cancel: thrown,
                sender,
            };
            Box::new(move |transcipher| {
                start.tell();
                run.on(transcipher)
            })
        };
        let done: Outcome = self.service.call(py, &cancel, take, task)?;
        self.warnings.show(py)?;
        let (bytes, report) = done.map_err(raise)?;
        let held = match (bytes, out) {
            (None, Some(path)) => Results::file(path),
            (bytes, _) => Results::own(bytes.unwrap_or_default()),
        };
        Ok((held, report_dict(py, &report)?))
    }
}

/// The devices that a word names; for None those of HOMAES_DEVICE, or else `auto`.
pub(crate) fn device_of(device: Option<&str>) -> PyResult<Devices> {
    let devices = device.map_or_else(Devices::of_environment, str::parse);
    devices.map_err(raise)
}

/// Reasons why GPUs were not used, shown when a call ends.
#[derive(Clone, Default)]
pub(crate) struct Warnings(Arc<Mutex<Vec<String>>>);

impl Warnings {
    pub(crate) fn add(&self, why: &str) {
        lock(&self.0).push(why.to_owned());
    }

    /// Issues them as warnings of Python.
    pub(crate) fn show(&self, py: Python<'_>) -> PyResult<()> {
        let category = py.get_type::<PyUserWarning>();
        let all = std::mem::take(&mut *lock(&self.0));
        all.into_iter()
            .try_for_each(|why| PyErr::warn(py, &category, &CString::new(why)?, 3))
    }
}

/// More threads than any machine can use.
const MOST_THREADS: u64 = 1024;

/// A number of threads; for None one per core.
pub(crate) fn threads_of(threads: Option<Number>) -> PyResult<NonZeroUsize> {
    let Some(threads) = threads else {
        return Ok(available_parallelism().unwrap_or(NonZeroUsize::MIN));
    };
    let threads = threads.of("threads", 1..=MOST_THREADS)? as usize;
    Ok(NonZeroUsize::new(threads).unwrap_or(NonZeroUsize::MIN))
}

/// The inputs of a run.
struct Run {
    message: AesInput,
    out: Option<PathBuf>,
    force: bool,
    resume: bool,
    reproducible: bool,
    watched: bool,
    cancel: Cancel,
    sender: Sender<Told<Event, Outcome>>,
}

impl Run {
    /// Runs it, and returns the circuit.
    fn on<'k>(self, transcipher: Transcipher<'k>) -> Transcipher<'k> {
        let transcipher = transcipher
            .cancel(self.cancel.clone())
            .reproducible(self.reproducible);
        let (events, watched) = (self.sender.clone(), self.watched);
        let transcipher = transcipher.watch(move |event| {
            if watched {
                // fails if nobody waits any more
                drop(events.send(Told::Event(Event::Step(event))));
            }
        });
        let sender = self.sender.clone();
        let outcome = self.outcome(&transcipher);
        drop(sender.send(Told::Done(outcome)));
        // closes the channel with this run
        transcipher.watch(|_| ())
    }

    fn outcome(self, transcipher: &Transcipher<'_>) -> Outcome {
        let Some(path) = self.out else {
            let (output, buffer) = Output::memory();
            let report = transcipher.run(self.message, output)?;
            return Ok((Some(buffer.take()), report));
        };
        if !self.resume {
            let output = Output::create(path, self.force)?;
            return Ok((None, transcipher.run(self.message, output)?));
        }
        let how = Resume {
            force: self.force,
            ignore_space: false,
        };
        let sender = self.sender;
        let mut kept = |kept| drop(sender.send(Told::Event(Event::Kept(kept))));
        let report = transcipher.resume(self.message, path, how, &mut kept)?;
        Ok((None, report))
    }
}

/// The arguments of a callback.
fn progress(event: Progress) -> (u64, u64, usize, usize, f64, usize, f64, f64) {
    let quality = event.step.quality;
    (
        event.batch,
        event.batches,
        event.round,
        event.rounds,
        event.step.seconds,
        quality.level,
        quality.noise_bits,
        quality.capacity_bits,
    )
}

fn report_dict<'py>(py: Python<'py>, report: &Report) -> PyResult<Bound<'py, PyDict>> {
    let out = PyDict::new(py);
    out.set_item("scheme", report.scheme.name())?;
    out.set_item("layout", report.layout.name())?;
    out.set_item("bytes", report.bytes)?;
    out.set_item("blocks", report.blocks)?;
    out.set_item("batches", report.batches)?;
    out.set_item("resumed", report.resumed)?;
    out.set_item("threads", report.threads)?;
    let devices = PyDict::new(py);
    for share in &report.devices {
        devices.set_item(&share.device, share.batches)?;
    }
    out.set_item("devices", devices)?;
    out.set_item("setup_seconds", report.setup_seconds)?;
    out.set_item("seconds", report.seconds)?;
    out.set_item("file_bytes", report.file_bytes)?;
    out.set_item("log2_p_fail", report.log2_p_fail())?;
    out.set_item("steps", steps(&report.steps))?;
    let counts = PyDict::new(py);
    for (name, count) in &report.counts {
        counts.set_item(name, count)?;
    }
    out.set_item("counts", counts)?;
    Ok(out)
}
