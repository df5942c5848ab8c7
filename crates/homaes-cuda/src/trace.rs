//! Times of kernels and copies on the GPU with feature `trace`; without it nothing is timed.

#[cfg(feature = "trace")]
pub use on::Timed;
#[cfg(feature = "trace")]
pub(crate) use on::Trace;

#[cfg(not(feature = "trace"))]
#[derive(Default)]
pub(crate) struct Trace;

#[cfg(not(feature = "trace"))]
impl Trace {
    #[cfg(not(feature = "emulator"))]
    pub(crate) fn new<S>(_stream: &S) -> Self {
        Self
    }

    pub(crate) fn timed(
        &self,
        _name: &'static str,
        _size: usize,
        call: impl FnOnce() -> crate::Result<()>,
    ) -> crate::Result<()> {
        call()
    }
}

#[cfg(feature = "trace")]
mod on {
    use super::clock::{Clock, Moment};
    use crate::Result;
    use std::collections::BTreeMap;
    use std::sync::{Mutex, MutexGuard, PoisonError};

    /// All launches of a kernel, or all copies in one direction.
    #[derive(Clone, Debug, Default, PartialEq)]
    #[non_exhaustive]
    pub struct Timed {
        /// name of the kernel, or `upload` or `download`
        pub name: &'static str,
        /// number of them
        pub calls: usize,
        /// threads of kernels, bytes of copies
        pub size: usize,
        /// on the GPU, in milliseconds
        pub ms: f64,
    }

    struct Call {
        name: &'static str,
        size: usize,
        span: [Moment; 2],
    }

    /// Calls that put work on a stream, recorded during [`traced`](Self::traced).
    #[cfg_attr(feature = "emulator", derive(Default))]
    pub(crate) struct Trace {
        clock: Clock,
        calls: Mutex<Option<Vec<Call>>>,
    }

    impl Trace {
        #[cfg(not(feature = "emulator"))]
        pub(crate) fn new(stream: &Clock) -> Self {
            Self {
                clock: stream.clone(),
                calls: Mutex::default(),
            }
        }

        fn calls(&self) -> MutexGuard<'_, Option<Vec<Call>>> {
            self.calls.lock().unwrap_or_else(PoisonError::into_inner)
        }

        /// Makes a call and records it with its `size` in threads or bytes.
        pub(crate) fn timed(
            &self,
            name: &'static str,
            size: usize,
            call: impl FnOnce() -> Result<()>,
        ) -> Result<()> {
            if self.calls().is_none() {
                return call();
            }
            let start = Moment::of(&self.clock)?;
            call()?;
            let span = [start, Moment::of(&self.clock)?];
            if let Some(calls) = &mut *self.calls() {
                calls.push(Call { name, size, span });
            }
            Ok(())
        }

        /// Runs `work`, and lists its calls, the longest first.
        pub(crate) fn traced<T>(&self, work: impl FnOnce() -> T) -> Result<(T, Vec<Timed>)> {
            *self.calls() = Some(Vec::new());
            let out = work();
            let calls = self.calls().take();
            let mut all: BTreeMap<&str, Timed> = BTreeMap::new();
            for call in calls.into_iter().flatten() {
                let timed = all.entry(call.name).or_default();
                timed.name = call.name;
                timed.calls += 1;
                timed.size += call.size;
                timed.ms += Moment::between(&call.span)?;
            }
            let mut all: Vec<Timed> = all.into_values().collect();
            all.sort_by(|a, b| b.ms.total_cmp(&a.ms));
            Ok((out, all))
        }
    }
}

#[cfg(all(feature = "trace", feature = "emulator"))]
mod clock {
    use crate::Result;
    use std::time::Instant;

    pub(super) type Clock = ();

    pub(super) struct Moment(Instant);

    #[expect(clippy::unnecessary_wraps, reason = "as with a GPU")]
    impl Moment {
        pub(super) fn of((): &Clock) -> Result<Self> {
            Ok(Self(Instant::now()))
        }

        pub(super) fn between([start, end]: &[Self; 2]) -> Result<f64> {
            Ok(end.0.duration_since(start.0).as_secs_f64() * 1e3)
        }
    }
}

#[cfg(all(feature = "trace", not(feature = "emulator")))]
#[expect(unsafe_code, reason = "events of the driver")]
mod clock {
    use crate::{Error, Result};
    use cudarc::driver::{CudaStream, DriverError, result::event, sys};
    use std::sync::Arc;

    pub(super) type Clock = Arc<CudaStream>;

    /// A point of a stream.
    pub(super) struct Moment(sys::CUevent);

    // SAFETY: handles of events belong to a context, not to a thread.
    unsafe impl Send for Moment {}

    fn checked<T>(result: Result<T, DriverError>) -> Result<T> {
        result.map_err(|e| Error::Fault {
            at: "an event",
            why: e.to_string(),
        })
    }

    impl Moment {
        /// The point after all work on the stream so far.
        pub(super) fn of(stream: &Clock) -> Result<Self> {
            let created = event::create(sys::CUevent_flags::CU_EVENT_DEFAULT);
            let moment = Self(checked(created)?);
            // SAFETY: event and stream are of the context that callers have bound.
            checked(unsafe { event::record(moment.0, stream.cu_stream()) })?;
            Ok(moment)
        }

        /// Milliseconds between the two; waits for both.
        pub(super) fn between([start, end]: &[Self; 2]) -> Result<f64> {
            // SAFETY: both are recorded events.
            let elapsed =
                unsafe { event::synchronize(end.0).and_then(|()| event::elapsed(start.0, end.0)) };
            checked(elapsed).map(f64::from)
        }
    }

    impl Drop for Moment {
        fn drop(&mut self) {
            // SAFETY: made by `of`, and used nowhere else.
            let _ = unsafe { event::destroy(self.0) };
        }
    }
}
