//! Work in its own thread, while the calling thread handles signals and events.

use crate::errors::{fault, raise};
use homaes::Cancel;
use homaes_job::JobError;
use pyo3::prelude::*;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Duration;

/// Time between two looks at signals.
pub(crate) const SLICE: Duration = Duration::from_millis(50);

/// A message from a worker.
pub(crate) enum Told<E, T> {
    /// An event during the work.
    Event(E),
    /// The result.
    Done(T),
}

/// Waits for a worker.
pub(crate) struct Waiter<E, T>(Mutex<Receiver<Told<E, T>>>);

impl<E: Send, T: Send> Waiter<E, T> {
    pub(crate) fn new(receiver: Receiver<Told<E, T>>) -> Self {
        Self(Mutex::new(receiver))
    }

    fn next(&self, py: Python<'_>) -> Result<Told<E, T>, RecvTimeoutError> {
        py.detach(|| {
            let receiver = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            receiver.recv_timeout(SLICE)
        })
    }

    /// Waits for the end. If a signal or `take` raises an exception, sets `cancel` and returns the exception: after the
    /// worker has ended if `joined` says so, or else at once.
    pub(crate) fn wait(
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
