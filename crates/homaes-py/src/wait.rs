//! Work in threads of their own, while the calling thread handles signals and events.

use crate::errors::{fault, raise};
use homaes::Cancel;
use homaes_job::JobError;
use pyo3::exceptions::{PyUserWarning, PyValueError};
use pyo3::prelude::*;
use std::ffi::CString;
use std::process;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, ThreadId};
use std::time::Duration;

/// Time between two looks at signals.
const SLICE: Duration = Duration::from_millis(50);

/// A message from a worker.
enum Told<E, T> {
    /// An event during the work.
    Event(E),
    /// The result.
    Done(T),
}

fn next<T: Send>(py: Python<'_>, from: &Mutex<Receiver<T>>) -> Result<T, RecvTimeoutError> {
    py.detach(|| lock(from).recv_timeout(SLICE))
}

/// Waits for the result of a worker. If a signal or `take` raises an exception, sets `cancel` and returns the
/// exception: after the worker has ended if `joined` says so, or else at once.
fn wait<E: Send, T: Send>(
    py: Python<'_>,
    worker: Receiver<Told<E, T>>,
    cancel: &Cancel,
    joined: impl Fn() -> bool,
    mut take: impl FnMut(E) -> PyResult<()>,
) -> PyResult<T> {
    let worker = Mutex::new(worker);
    loop {
        let taken = match next(py, &worker) {
            Ok(Told::Done(done)) => return Ok(done),
            Ok(Told::Event(event)) => take(event).and_then(|()| py.check_signals()),
            Err(RecvTimeoutError::Timeout) => py.check_signals(),
            Err(RecvTimeoutError::Disconnected) => return Err(fault("the worker ended")),
        };
        if let Err(raised) = taken {
            cancel.cancel();
            while joined() {
                match next(py, &worker) {
                    Ok(Told::Done(_)) | Err(RecvTimeoutError::Disconnected) => break,
                    Ok(Told::Event(_)) | Err(RecvTimeoutError::Timeout) => {}
                }
            }
            return Err(raised);
        }
    }
}

/// Runs `work` and waits for it. If a signal raises an exception, returns at once and drops the result.
pub(crate) fn read<T: Send + 'static, E: Into<JobError> + Send + 'static>(
    py: Python<'_>,
    work: impl FnOnce(&Cancel) -> Result<T, E> + Send + 'static,
) -> PyResult<T> {
    run(py, false, work)
}

/// As [`read`], but if a signal raises an exception, returns after `work` has ended: its output must not appear later.
pub(crate) fn write<T: Send + 'static, E: Into<JobError> + Send + 'static>(
    py: Python<'_>,
    work: impl FnOnce(&Cancel) -> Result<T, E> + Send + 'static,
) -> PyResult<T> {
    run(py, true, work)
}

/// As [`write`] if `joined`, or else as [`read`].
pub(crate) fn run<T: Send + 'static, E: Into<JobError> + Send + 'static>(
    py: Python<'_>,
    joined: bool,
    work: impl FnOnce(&Cancel) -> Result<T, E> + Send + 'static,
) -> PyResult<T> {
    let cancel = Cancel::new();
    let thrown = cancel.clone();
    let (sender, worker) = channel::<Told<(), _>>();
    let thread = thread::Builder::new().name("homaes".into());
    thread.spawn(move || {
        // fails if nobody waits any more
        let _ = sender.send(Told::Done(work(&thrown)));
    })?;
    let done = wait(py, worker, &cancel, || joined, |()| Ok(()))?;
    done.map_err(raise)
}

/// A thread: the sender of its tasks, and a channel that closes when it ends.
struct Thread<T> {
    tasks: Sender<T>,
    ended: Receiver<()>,
}

/// A thread that runs tasks `T`.
pub(crate) struct Service<T> {
    thread: Mutex<Option<Thread<T>>>,
    /// Threads of Python that wait for a task, which may call back into Python.
    waiting: Mutex<Vec<ThreadId>>,
    /// The process that has the thread. A forked process does not have it.
    process: u32,
    /// Its class in Python.
    class: &'static str,
    /// Number of threads that evaluate.
    pub(crate) threads: usize,
    warnings: Warnings,
}

impl<T: Send + 'static> Service<T> {
    /// Starts `body` in a thread. It calls `Tasks::serve` or fails, and gives its warnings to `Warnings::add`.
    pub(crate) fn start(
        py: Python<'_>,
        class: &'static str,
        body: impl FnOnce(&Tasks<T>, Warnings) -> Result<(), JobError> + Send + 'static,
    ) -> PyResult<Self> {
        let (sender, tasks) = channel();
        let (ready, started) = channel();
        let (running, ended) = channel();
        let warnings = Warnings::default();
        let warned = warnings.clone();
        let thread = thread::Builder::new().name("homaes runs".into());
        thread.spawn(move || {
            let _running: Sender<()> = running;
            let tasks = Tasks { ready, tasks };
            if let Err(error) = body(&tasks, warned) {
                // fails if nobody waits any more
                let _ = tasks.ready.send(Err(error));
            }
        })?;
        let started = Mutex::new(started);
        let threads = loop {
            match next(py, &started) {
                Ok(ready) => break ready.map_err(raise)?,
                // if a signal raises, the channel of tasks closes and the thread ends
                Err(RecvTimeoutError::Timeout) => py.check_signals()?,
                Err(RecvTimeoutError::Disconnected) => return Err(fault("the thread ended")),
            }
        };
        let tasks = sender;
        Ok(Self {
            thread: Mutex::new(Some(Thread { tasks, ended })),
            waiting: Mutex::default(),
            process: process::id(),
            class,
            threads,
            warnings,
        })
    }

    /// Refuses a service that cannot take tasks.
    pub(crate) fn check(&self) -> PyResult<()> {
        self.sender().map(|_| ())
    }

    fn sender(&self) -> PyResult<Sender<T>> {
        let class = self.class;
        let refused = |why| Err(PyValueError::new_err(format!("the {class} {why}")));
        if self.process != process::id() {
            return refused(
                "was made before this process was forked and has no threads here; make a new one",
            );
        }
        let sender = lock(&self.thread).as_ref().map(|one| one.tasks.clone());
        match sender {
            Some(sender) => Ok(sender),
            None => refused("is closed; make a new one"),
        }
    }

    /// Sends the task that `task` makes, and waits for its end. It calls `Caller::begin` when it starts, and
    /// `Caller::end` with its result.
    pub(crate) fn call<E: Send, D: Send>(
        &self,
        py: Python<'_>,
        cancel: &Cancel,
        take: impl FnMut(E) -> PyResult<()>,
        task: impl FnOnce(Caller<E, D>) -> T,
    ) -> PyResult<D> {
        let tasks = self.sender()?;
        let (sender, worker) = channel();
        let begun = Arc::new(AtomicBool::new(false));
        let joined = || begun.load(Ordering::Acquire);
        let caller = Caller {
            begun: begun.clone(),
            sender,
        };
        let sent = tasks.send(task(caller));
        sent.map_err(|_| fault("the thread ended"))?;
        let own = thread::current().id();
        lock(&self.waiting).push(own);
        let done = wait(py, worker, cancel, joined, take);
        let mut waiting = lock(&self.waiting);
        if let Some(place) = waiting.iter().position(|&id| id == own) {
            waiting.swap_remove(place);
        }
        drop(waiting);
        let done = done?;
        self.warnings.show(py)?;
        done.map_err(raise)
    }

    /// Refuses further tasks, and waits until the last one has ended and the circuit is freed. Inside a task's own
    /// callback it does not wait, and the task continues.
    pub(crate) fn close(&self, py: Python<'_>) -> PyResult<()> {
        let Some(Thread { tasks, ended }) = lock(&self.thread).take() else {
            return Ok(());
        };
        drop(tasks);
        let own = thread::current().id();
        if self.process != process::id() || lock(&self.waiting).contains(&own) {
            return Ok(());
        }
        let ended = Mutex::new(ended);
        while let Err(RecvTimeoutError::Timeout) = next(py, &ended) {
            py.check_signals()?;
        }
        Ok(())
    }
}

/// The tasks of a service, in its thread.
pub(crate) struct Tasks<T> {
    ready: Sender<Result<usize, JobError>>,
    tasks: Receiver<T>,
}

impl<T> Tasks<T> {
    /// Runs tasks on `worker`, which has this number of threads, until the service is closed.
    pub(crate) fn serve<W>(&self, threads: usize, mut worker: W, run: impl Fn(T, W) -> W) {
        // fails if nobody waits any more
        let _ = self.ready.send(Ok(threads));
        while let Ok(task) = self.tasks.recv() {
            worker = run(task, worker);
        }
    }
}

/// The thread of Python that waits for a task, with events `E` and the result `D`.
pub(crate) struct Caller<E, D> {
    begun: Arc<AtomicBool>,
    sender: Sender<Told<E, Result<D, JobError>>>,
}

impl<E, D> Clone for Caller<E, D> {
    fn clone(&self) -> Self {
        let (begun, sender) = (self.begun.clone(), self.sender.clone());
        Self { begun, sender }
    }
}

// sending fails if nobody waits any more
impl<E, D> Caller<E, D> {
    pub(crate) fn begin(&self) {
        self.begun.store(true, Ordering::Release);
    }

    pub(crate) fn tell(&self, event: E) {
        let _ = self.sender.send(Told::Event(event));
    }

    pub(crate) fn end(&self, done: Result<D, JobError>) {
        let _ = self.sender.send(Told::Done(done));
    }
}

/// Reasons why GPUs were not used, shown when a call ends.
#[derive(Clone, Default)]
pub(crate) struct Warnings(Arc<Mutex<Vec<String>>>);

impl Warnings {
    pub(crate) fn add(&self, why: &str) {
        lock(&self.0).push(why.to_owned());
    }

    fn show(&self, py: Python<'_>) -> PyResult<()> {
        let all = std::mem::take(&mut *lock(&self.0));
        all.into_iter().try_for_each(|why| warn(py, why))
    }
}

/// Warns the caller of this package.
pub(crate) fn warn(py: Python<'_>, what: impl Into<Vec<u8>>) -> PyResult<()> {
    PyErr::warn(py, &py.get_type::<PyUserWarning>(), &CString::new(what)?, 1)
}

pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
