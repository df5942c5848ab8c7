//! How long kernels and copies take on the GPU (feature `trace`).

#[cfg(feature = "trace")]
pub use on::Timed;
#[cfg(feature = "trace")]
pub(crate) use on::Trace;

#[cfg(not(feature = "trace"))]
impl crate::driver::Driver {
    /// Makes a call that puts work on the stream.
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
    use crate::Result;
    use crate::driver::{Driver, Moment};
    use std::collections::BTreeMap;
    use std::sync::{Mutex, MutexGuard, PoisonError};

    /// All launches of a kernel, or all copies in one direction.
    #[derive(Clone, Debug, Default, PartialEq)]
    #[non_exhaustive]
    pub struct Timed {
        /// of the kernel; copies are `upload` and `download`
        pub name: &'static str,
        /// how many there were
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

    /// Calls that were timed; nothing if nobody wants to know.
    #[derive(Default)]
    pub(crate) struct Trace(Mutex<Option<Vec<Call>>>);

    impl Trace {
        fn calls(&self) -> MutexGuard<'_, Option<Vec<Call>>> {
            self.0.lock().unwrap_or_else(PoisonError::into_inner)
        }
    }

    impl Driver {
        /// Makes a call that puts work on the stream: of `size` threads or bytes.
        pub(crate) fn timed(
            &self,
            name: &'static str,
            size: usize,
            call: impl FnOnce() -> Result<()>,
        ) -> Result<()> {
            if self.trace.calls().is_none() {
                return call();
            }
            let start = self.moment()?;
            call()?;
            let span = [start, self.moment()?];
            if let Some(calls) = &mut *self.trace.calls() {
                calls.push(Call { name, size, span });
            }
            Ok(())
        }

        /// What `work` gives, and its calls, the longest first.
        pub(crate) fn traced<T>(&self, work: impl FnOnce() -> T) -> Result<(T, Vec<Timed>)> {
            *self.trace.calls() = Some(Vec::new());
            let out = work();
            let calls = self.trace.calls().take();
            self.wait()?;
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
