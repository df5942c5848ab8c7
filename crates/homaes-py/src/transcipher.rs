//! Runs: a thread that keeps the prepared circuit and evaluates one message at a time.

use crate::arguments::{FilePath, Number, device_of, layout_of, threads_of};
use crate::ciphertexts::{Ciphertexts, report, steps};
use crate::input::{message, parts_of, warn_of_shared_counters};
use crate::keys::{EvalKey, WrappedKey};
use crate::methods::getters;
use crate::origin::{Opened, Origin, Place};
use crate::wait::{Caller, Service, lock, warn};
use homaes::{AesInput, Cancel, Devices, Kept, Output, Progress, Report, Resume};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{IntoPyDict, PyTuple};
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
    /// Whether each part is under the AES key it names.
    own_keys: bool,
}

getters! { Transcipher as made:
    /// Number of threads.
    threads: usize = made.service.threads;
    /// The device as requested: "auto", "cpu", "cuda", "cuda:0,1".
    device: String = made.device.to_string();
    /// The name of the parameter set.
    set: &'static str = made.set;
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
        let own_keys = !wrapped.names().is_empty();
        let service = Service::start(py, "Transcipher", move |tasks, warnings| {
            let mut made = homaes::Transcipher::with_threads(&eval, &wrapped, threads)?;
            if let Some(layout) = layout {
                made = made.layout(layout)?;
            }
            devices.check(eval.set(), layout)?;
            let made = made.on(devices);
            let made = made.warn(move |why| lock(&warnings).push(why.to_owned()));
            tasks.serve(made.threads(), made, |task: Task, made| task(made));
            Ok(())
        })?;
        Ok(Self {
            service,
            set,
            device,
            own_keys,
        })
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
        out: Option<FilePath>,
        progress: Option<&Bound<'_, PyAny>>,
        resume: bool,
        reproducible: bool,
        force: bool,
        raw: bool,
    ) -> PyResult<Ciphertexts> {
        let (py, out) = (data.py(), out.map(|path| path.0));
        if resume && out.is_none() {
            let message = "resume: there is no file to continue, expected out";
            return Err(PyValueError::new_err(message));
        }
        let message = message(parts_of(data, mode)?, raw)?;
        if message.shares_counters(self.own_keys) {
            warn_of_shared_counters(py)?;
        }
        if let Some(out) = out.as_deref().filter(|_| !resume) {
            warn_of_unfinished(py, out)?;
        }
        let follower = py.import("homaes._progress")?;
        let follower = follower.call_method1("follower_of", (progress,))?;
        let watched = !follower.is_none();
        let take = |event| match event {
            Event::Step(event) => follower
                .call_method1("call", (step(py, &event)?,))
                .map(drop),
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
                let steps = caller.clone();
                let made = made.cancel(thrown).reproducible(reproducible);
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
                made
            })
        };
        let done = self.service.call(py, &cancel, take, task);
        if watched {
            follower.call_method0("close")?;
        }
        let (place, report) = done?;
        let report = report_of(py, &report)?.unbind();
        Ciphertexts::of(py, Origin::File(place), Some(report))
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
        return Ok((Place::memory(buffer.take()), report));
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

fn step<'py>(py: Python<'py>, event: &Progress) -> PyResult<Bound<'py, PyAny>> {
    let quality = event.step.quality;
    report!(py, "Progress", {
        batch: event.batch,
        batches: event.batches,
        round: event.round,
        rounds: event.rounds,
        seconds: event.step.seconds,
        level: quality.level,
        noise_bits: quality.noise_bits,
        capacity_bits: quality.capacity_bits,
    })
}

fn report_of<'py>(py: Python<'py>, found: &Report) -> PyResult<Bound<'py, PyAny>> {
    let devices = found.devices.iter();
    let devices = devices.map(|share| (&share.device, share.batches));
    report!(py, "Report", {
        scheme: found.scheme.name(),
        layout: found.layout.name(),
        bytes: found.bytes,
        blocks: found.blocks,
        batches: found.batches,
        resumed: found.resumed,
        threads: found.threads,
        devices: devices.into_py_dict(py)?,
        setup_seconds: found.setup_seconds,
        seconds: found.seconds,
        file_bytes: found.file_bytes,
        log2_p_fail: found.log2_p_fail(),
        steps: steps(py, &found.steps)?,
        counts: found.counts.clone().into_py_dict(py)?,
    })
}
