//! Work in a thread of its own, while the calling thread answers to signals and hands on events.

use crate::errors::{Raise, fault, raise};
use homaes::Cancel;
use pyo3::prelude::*;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Duration;

/// Time between two looks at signals.
pub(crate) const SLICE: Duration = Duration::from_millis(50);

/// What a worker tells.
pub(crate) enum Told<E, T> {
    /// It goes on.
    Event(E),
    /// It has ended.
    Done(T),
}

/// A worker's end of work, as seen by who waits.
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

    /// Waits for the end. Where a signal or `take` raises an exception, that is thrown to the worker by `cancel`, and it comes out: after the worker
    /// has ended if
    /// `joined` says so, or at once.
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
                Err(RecvTimeoutError::Disconnected) => return Err(fault("the work has ended")),
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

/// Runs `work`, which looks at `cancel` if it writes anything, and waits for it. On a signal that raises an exception: `joined`, after `work` has
/// ended; otherwise at once, and what
/// it gives is dropped.
pub(crate) fn run<T: Send + 'static, E: Raise + Send + 'static>(
    py: Python<'_>,
    cancel: &Cancel,
    joined: bool,
    work: impl FnOnce() -> Result<T, E> + Send + 'static,
) -> PyResult<T> {
    let (sender, receiver) = channel::<Told<(), _>>();
    let worker = thread::Builder::new().name("homaes".into());
    worker.spawn(move || {
        // nobody waits any more
        let _ = sender.send(Told::Done(work()));
    })?;
    let done = Waiter::new(receiver).wait(py, cancel, || joined, |()| Ok(()))?;
    done.map_err(raise)
}
