//! Work in threads of their own, while the calling thread handles signals and events.

use crate::errors::{fault, raise};
use homaes::Cancel;
use homaes_job::JobError;
use pyo3::exceptions::{PyUserWarning, PyValueError};
use pyo3::prelude::*;
use std::ffi::CString;
use std::process;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, ThreadId};
use std::time::Duration;

/// Time between two looks at signals.
const SLICE: Duration = Duration::from_millis(50);

/// A message from a worker to the thread of Python that waits for it.
enum Told<E, T> {
    /// The work has begun, and must have ended before an exception is raised.
    Begun,
    /// An event during the work.
    Event(E),
    /// The result.
    Done(Result<T, JobError>),
}

fn next<T: Send>(py: Python<'_>, from: &Mutex<Receiver<T>>) -> Result<T, RecvTimeoutError> {
    py.detach(|| lock(from).recv_timeout(SLICE))
}

/// Waits for the result of a worker. If a signal or `take` raises an exception, sets `cancel` and returns the
/// exception: after the worker has ended if `joined` or if it has begun, or else at once.
fn wait<E: Send, T: Send>(
    py: Python<'_>,
    worker: &Mutex<Receiver<Told<E, T>>>,
    cancel: &Cancel,
    mut joined: bool,
    mut take: impl FnMut(E) -> PyResult<()>,
) -> PyResult<T> {
    loop {
        let taken = match next(py, worker) {
            Ok(Told::Done(done)) => return done.map_err(raise),
            Ok(Told::Begun) => {
                joined = true;
                Ok(())
            }
            Ok(Told::Event(event)) => take(event).and_then(|()| py.check_signals()),
            Err(RecvTimeoutError::Timeout) => py.check_signals(),
            Err(RecvTimeoutError::Disconnected) => return Err(fault("the worker ended")),
        };
        if let Err(raised) = taken {
            cancel.cancel();
            if joined {
                while !matches!(
                    next(py, worker),
                    Ok(Told::Done(_)) | Err(RecvTimeoutError::Disconnected)
                ) {}
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

fn run<T: Send + 'static, E: Into<JobError> + Send + 'static>(
    py: Python<'_>,
    joined: bool,
    work: impl FnOnce(&Cancel) -> Result<T, E> + Send + 'static,
) -> PyResult<T> {
    let cancel = Cancel::new();
    let thrown = cancel.clone();
    let (sender, worker) = channel();
    let thread = thread::Builder::new().name("homaes".into());
    thread.spawn(move || Caller(sender).end(work(&thrown).map_err(Into::into)))?;
    wait(py, &Mutex::new(worker), &cancel, joined, |()| Ok(()))
}

/// A thread: the sender of its tasks, and a channel that closes when it ends.
struct Thread<T> {
    tasks: Sender<T>,
    ended: Receiver<Told<(), usize>>,
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

/// Reasons why GPUs were not used, shown when a call ends. The prepared circuit keeps the function that adds them.
pub(crate) type Warnings = Arc<Mutex<Vec<String>>>;

impl<T: Send + 'static> Service<T> {
    /// Starts `body` in a thread. It calls `Tasks::serve` or fails, and adds its warnings.
    pub(crate) fn start(
        py: Python<'_>,
        class: &'static str,
        body: impl FnOnce(&Tasks<T>, Warnings) -> Result<(), JobError> + Send + 'static,
    ) -> PyResult<Self> {
        let (sender, tasks) = channel();
        let (ready, started) = channel();
        let warnings = Warnings::default();
        let warned = warnings.clone();
        let thread = thread::Builder::new().name("homaes runs".into());
        thread.spawn(move || {
            let tasks = Tasks {
                ready: Caller(ready),
                tasks,
            };
            if let Err(error) = body(&tasks, warned) {
                tasks.ready.end(Err(error));
            }
        })?;
        let started = Mutex::new(started);
        // if a signal raises, the channel of tasks closes and the thread ends
        let threads = wait(py, &started, &Cancel::new(), false, |()| Ok(()))?;
        let thread = Thread {
            tasks: sender,
            ended: started.into_inner().unwrap_or_else(PoisonError::into_inner),
        };
        Ok(Self {
            thread: Mutex::new(Some(thread)),
            waiting: Mutex::default(),
            process: process::id(),
            class,
            threads,
            warnings,
        })
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
        let sent = tasks.send(task(Caller(sender)));
        sent.map_err(|_| fault("the thread ended"))?;
        let own = thread::current().id();
        lock(&self.waiting).push(own);
        let done = wait(py, &Mutex::new(worker), cancel, false, take);
        lock(&self.waiting).retain(|&id| id != own);
        let warnings = std::mem::take(&mut *lock(&self.warnings));
        warnings.into_iter().try_for_each(|why| warn(py, why))?;
        done
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
    ready: Caller<(), usize>,
    tasks: Receiver<T>,
}

impl<T> Tasks<T> {
    /// Runs tasks on `worker`, which has this number of threads, until the service is closed.
    pub(crate) fn serve<W>(&self, threads: usize, mut worker: W, run: impl Fn(T, W) -> W) {
        self.ready.end(Ok(threads));
        while let Ok(task) = self.tasks.recv() {
            worker = run(task, worker);
        }
    }
}

/// The thread of Python that waits for a task, with events `E` and the result `T`.
pub(crate) struct Caller<E, T>(Sender<Told<E, T>>);

impl<E, T> Clone for Caller<E, T> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

// sending fails if nobody waits any more
impl<E, T> Caller<E, T> {
    pub(crate) fn begin(&self) {
        let _ = self.0.send(Told::Begun);
    }

    pub(crate) fn tell(&self, event: E) {
        let _ = self.0.send(Told::Event(event));
    }

    pub(crate) fn end(&self, done: Result<T, JobError>) {
        let _ = self.0.send(Told::Done(done));
    }
}

/// Warns the caller of this package.
pub(crate) fn warn(py: Python<'_>, what: impl Into<Vec<u8>>) -> PyResult<()> {
    PyErr::warn(py, &py.get_type::<PyUserWarning>(), &CString::new(what)?, 1)
}

pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
