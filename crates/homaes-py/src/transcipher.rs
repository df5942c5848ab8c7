//! Runs: a thread that keeps the prepared circuit and evaluates one message at a time.

use crate::arguments::{Number, device_of, layout_of, threads_of};
use crate::ciphertexts::{Ciphertexts, report, steps};
use crate::input::{message, parts_of, warn_of_shared_counters};
use crate::keys::{EvalKey, WrappedKey};
use crate::place::{Opened, Place, Shared, optional_path};
use crate::wait::{Caller, Service, warn};
use homaes::{AesInput, Cancel, Devices, Kept, Output, Progress, Report, Resume};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
use std::path::{Path, PathBuf};

/// One run, which returns the circuit.
type Task = Box<dyn for<'k> FnOnce(homaes::Transcipher<'k>) -> homaes::Transcipher<'k> + Send>;

/// An event of a run.
enum Event {
    Step(Progress),
    Kept(Kept),
}

/// Turns AES ciphertexts into FHE ciphertexts.
///
/// It prepares the circuit in the first run and keeps it. Several threads may call ``run``; one evaluates at a time.
///
/// ``device``: "cpu"; "cuda" for all NVIDIA GPUs; "cuda:0,1" or a list for some of them; "auto" for all usable GPUs, or
/// else the processor. The default is HOMAES_DEVICE, or else "auto". The ciphertexts do not depend on the device.
#[pyclass(frozen, module = "homaes", weakref)]
pub(crate) struct Transcipher {
    service: Service<Task>,
    set: &'static str,
    device: Devices,
}

#[pymethods]
impl Transcipher {
    #[new]
    #[pyo3(signature = (eval_key, wrapped_key, *, threads=None, layout=None, device=None))]
    fn new(
        py: Python<'_>,
        eval_key: &EvalKey,
        wrapped_key: &WrappedKey,
        threads: Option<Number>,
        layout: Option<&str>,
        device: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        let (threads, device) = (threads_of(threads)?, device_of(device)?);
        let layout = layout.map(layout_of).transpose()?;
        let (eval, wrapped) = (eval_key.key.clone(), wrapped_key.key.clone());
        let (set, devices) = (eval.set().name(), device.clone());
        let service = Service::start(py, "Transcipher", move |tasks, warnings| {
            let mut made = homaes::Transcipher::with_threads(&eval, &wrapped, threads)?;
            if let Some(layout) = layout {
                made = made.layout(layout)?;
            }
            devices.check(eval.set(), layout, false)?;
            let made = made.on(devices).warn(move |why| warnings.add(why));
            tasks.serve(made.threads(), made, |task: Task, made| task(made));
            Ok(())
        })?;
        Ok(Self {
            service,
            set,
            device,
        })
    }

    /// Number of threads.
    #[getter]
    fn threads(&self) -> usize {
        self.service.threads
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

    /// Evaluate AES on ``data``, encrypted in ``mode``, into the file ``out`` or in memory.
    ///
    /// Bytes are read in place, without a copy. ``progress``: True for a bar, or a function to call after every step
    /// of AES of every batch, in this thread; an exception in it ends the run. ``resume``: keep finished batches next
    /// to ``out`` and continue from them. ``reproducible``: produce the same bytes in every run. ``force``: replace an
    /// existing file, but no input and no secret key. ``raw``: accept data that begin like another format, such as
    /// ``openssl enc`` with a password, as bare AES ciphertext.
    #[pyo3(signature = (data, mode=None, out=None, *, progress=None, resume=false, reproducible=false, force=false, raw=false))]
    fn run(
        &self,
        data: &Bound<'_, PyAny>,
        mode: Option<&Bound<'_, PyAny>>,
        #[pyo3(from_py_with = optional_path)] out: Option<PathBuf>,
        progress: Option<&Bound<'_, PyAny>>,
        resume: bool,
        reproducible: bool,
        force: bool,
        raw: bool,
    ) -> PyResult<Ciphertexts> {
        let py = data.py();
        if resume && out.is_none() {
            let message = "resume: there is no file to continue, expected out";
            return Err(PyValueError::new_err(message));
        }
        let parts = parts_of(data, mode, raw)?;
        self.service.check()?;
        let message = message(parts)?;
        if message.shares_counters() {
            warn_of_shared_counters(py)?;
        }
        if let Some(out) = out.as_deref().filter(|_| !resume) {
            warn_of_unfinished(py, out)?;
        }
        let follower = py.import("homaes._progress")?;
        let follower = follower.call_method1("follower_of", (progress,))?;
        let watched = !follower.is_none();
        let take = |event| match event {
            Event::Step(event) => follower.call_method1("step", step(event)).map(drop),
            Event::Kept(kept) => {
                let kept = (kept.batches, kept.of, kept.lost);
                follower.call_method1("kept", kept).map(drop)
            }
        };
        let cancel = Cancel::new();
        let thrown = cancel.clone();
        let task = |caller: Caller<Event, _>| -> Task {
            Box::new(move |made| {
                caller.begin();
                let made = made.cancel(thrown).reproducible(reproducible);
                let steps = caller.clone();
                let made = made.watch(move |event| {
                    if watched {
                        steps.tell(Event::Step(event));
                    }
                });
                let mut kept = |kept| {
                    if watched {
                        caller.tell(Event::Kept(kept));
                    }
                };
                let done = evaluate(&made, message, out, (force, resume), &mut kept);
                caller.end(done.map_err(Into::into));
                // closes the channel with this run
                made.watch(|_| ())
            })
        };
        let done = self.service.call(py, &cancel, take, task);
        if watched {
            follower.call_method0("close")?;
        }
        let (place, report) = done?;
        Ok(Ciphertexts::new(place, report_of(py, &report)?))
    }

    fn __enter__(this: PyRef<'_, Self>) -> PyRef<'_, Self> {
        this
    }

    #[pyo3(signature = (*_error))]
    fn __exit__(&self, py: Python<'_>, _error: &Bound<'_, PyTuple>) -> PyResult<()> {
        self.close(py)
    }

    fn __repr__(&self) -> String {
        let (set, threads) = (self.set, self.threads());
        format!("<homaes.Transcipher under {set}, {threads} threads>")
    }
}

/// Runs it, into a file or into memory.
fn evaluate(
    made: &homaes::Transcipher<'_>,
    message: AesInput,
    out: Option<PathBuf>,
    (force, resume): (bool, bool),
    kept: &mut (dyn FnMut(Kept) + Send),
) -> homaes::Result<(Place, Report)> {
    let Some(path) = out else {
        let (output, buffer) = Output::memory();
        let report = made.run(message, output)?;
        return Ok((Place::Bytes(Shared::Own(buffer.take().into())), report));
    };
    let report = if resume {
        let how = Resume {
            force,
            ignore_space: false,
        };
        made.resume(message, &path, how, kept)?
    } else {
        made.run(message, Output::create(&path, force)?)?
    };
    Ok((Place::File(Opened::new(&path)), report))
}

fn warn_of_unfinished(py: Python<'_>, out: &Path) -> PyResult<()> {
    let Some(journal) = homaes::unfinished(out) else {
        return Ok(());
    };
    let (journal, part) = (journal.display(), homaes::part_path(out));
    let what = format!(
        "{journal}: left by a stopped run with resume=True; pass resume=True to continue it, or remove it and {}",
        part.display()
    );
    warn(py, what)
}

/// The fields of `homaes.Progress`.
fn step(event: Progress) -> (u64, u64, usize, usize, f64, usize, f64, f64) {
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

fn report_of<'py>(py: Python<'py>, found: &Report) -> PyResult<Bound<'py, PyAny>> {
    let devices = PyDict::new(py);
    for share in &found.devices {
        devices.set_item(&share.device, share.batches)?;
    }
    let counts = PyDict::new(py);
    for (name, count) in &found.counts {
        counts.set_item(name, count)?;
    }
    report!(py, "Report", {
        scheme: found.scheme.name(),
        layout: found.layout.name(),
        bytes: found.bytes,
        blocks: found.blocks,
        batches: found.batches,
        resumed: found.resumed,
        threads: found.threads,
        devices: devices,
        setup_seconds: found.setup_seconds,
        seconds: found.seconds,
        file_bytes: found.file_bytes,
        log2_p_fail: found.log2_p_fail(),
        steps: steps(py, &found.steps)?,
        counts: counts,
    })
}
