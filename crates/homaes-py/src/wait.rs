//! Work in threads of their own, while the calling thread handles signals and events.

use crate::errors::{fault, raise};
use homaes::Cancel;
use homaes_job::JobError;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use std::process;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, ThreadId};
use std::time::Duration;

/// Time between two looks at signals.
const SLICE: Duration = Duration::from_millis(50);

/// A message from a worker.
pub(crate) enum Told<E, T> {
    /// An event during the work.
    Event(E),
    /// The result.
    Done(T),
}

/// Waits for a worker.
struct Waiter<E, T>(Mutex<Receiver<Told<E, T>>>);

impl<E: Send, T: Send> Waiter<E, T> {
    fn new(receiver: Receiver<Told<E, T>>) -> Self {
        Self(Mutex::new(receiver))
    }

    fn next(&self, py: Python<'_>) -> Result<Told<E, T>, RecvTimeoutError> {
        py.detach(|| lock(&self.0).recv_timeout(SLICE))
    }

    /// Waits for the end. If a signal or `take` raises an exception, sets `cancel` and returns the exception: after the
    /// worker has ended if `joined` says so, or else at once.
    fn wait(
        &self,
        py: Python<'_>,
        cancel: &Cancel,
        joined: impl Fn() -> bool,
        mut take: impl FnMut(E) -> PyResult<()>,
    ) -> PyResult<T> {
        loop {
            let taken = match self.next(py) {
                Ok(Told::Done(done)) => return Ok(done),
                Ok(Told::Event(event)) => take(event).and_then(|()| py.check_signals()),
                Err(RecvTimeoutError::Timeout) => py.check_signals(),
                Err(RecvTimeoutError::Disconnected) => return Err(fault("the worker ended")),
            };
            if let Err(raised) = taken {
                cancel.cancel();
                while joined() {
                    match self.next(py) {
                        Ok(Told::Done(_)) | Err(RecvTimeoutError::Disconnected) => break,
                        Ok(Told::Event(_)) | Err(RecvTimeoutError::Timeout) => {}
                    }
                }
                return Err(raised);
            }
        }
    }
}

/// Runs `work` and waits for it. If a signal raises an exception, returns after `work` has ended if `joined` is set, or
/// else at once, and drops the result. Work that writes must look at `cancel`.
pub(crate) fn run<T: Send + 'static, E: Into<JobError> + Send + 'static>(
    py: Python<'_>,
    cancel: &Cancel,
    joined: bool,
    work: impl FnOnce() -> Result<T, E> + Send + 'static,
) -> PyResult<T> {
    let (sender, receiver) = channel::<Told<(), _>>();
    let worker = thread::Builder::new().name("homaes".into());
    worker.spawn(move || {
        // fails if nobody waits any more
        let _ = sender.send(Told::Done(work()));
    })?;
    let done = Waiter::new(receiver).wait(py, cancel, || joined, |()| Ok(()))?;
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
}

impl<T: Send + 'static> Service<T> {
    /// Starts `body` in a thread. It sends one message when it is ready or has failed, and then runs tasks until the
    /// channel closes.
    pub(crate) fn start<R: Send + 'static, E: Into<JobError> + Send + 'static>(
        py: Python<'_>,
        class: &'static str,
        body: impl FnOnce(Sender<Result<R, E>>, Receiver<T>) + Send + 'static,
    ) -> PyResult<(Self, R)> {
        let (sender, tasks) = channel();
        let (told, ready) = channel();
        let (running, ended) = channel();
        let thread = thread::Builder::new().name("homaes runs".into());
        thread.spawn(move || {
            let _running: Sender<()> = running;
            body(told, tasks);
        })?;
        let ready = Mutex::new(ready);
        let ready = loop {
            match py.detach(|| lock(&ready).recv_timeout(SLICE)) {
                Ok(ready) => break ready,
                // if a signal raises, the channel of tasks closes and the thread ends
                Err(RecvTimeoutError::Timeout) => py.check_signals()?,
                Err(RecvTimeoutError::Disconnected) => return Err(fault("the thread ended")),
            }
        };
        let service = Self {
            thread: Mutex::new(Some(Thread {
                tasks: sender,
                ended,
            })),
            waiting: Mutex::default(),
            process: process::id(),
            class,
        };
        Ok((service, ready.map_err(raise)?))
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

    /// Sends the task that `task` makes, and waits for its end. The task calls `Start::tell` when it starts, and sends
    /// its events and its result.
    pub(crate) fn call<E: Send, D: Send>(
        &self,
        py: Python<'_>,
        cancel: &Cancel,
        take: impl FnMut(E) -> PyResult<()>,
        task: impl FnOnce(Start, Sender<Told<E, D>>) -> T,
    ) -> PyResult<D> {
        let jobs = self.sender()?;
        let (sender, receiver) = channel();
        let start = Start::default();
        let task = task(start.clone(), sender);
        jobs.send(task).map_err(|_| fault("the thread ended"))?;
        let joined = || start.0.load(Ordering::Acquire);
        let own = thread::current().id();
        lock(&self.waiting).push(own);
        let done = Waiter::new(receiver).wait(py, cancel, joined, take);
        let mut waiting = lock(&self.waiting);
        if let Some(place) = waiting.iter().position(|&id| id == own) {
            waiting.swap_remove(place);
        }
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
        while let Err(RecvTimeoutError::Timeout) = py.detach(|| lock(&ended).recv_timeout(SLICE)) {
            py.check_signals()?;
        }
        Ok(())
    }
}

/// Whether a task has started.
#[derive(Clone, Default)]
pub(crate) struct Start(Arc<AtomicBool>);

impl Start {
    /// Says that it has started.
    pub(crate) fn tell(&self) {
        self.0.store(true, Ordering::Release);
    }
}

pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
