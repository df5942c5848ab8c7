//! Counts and times of an evaluation, collected while it runs.

use std::array;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

/// `C` counters and `S` stages that are timed apart, shared by all threads.
#[derive(Debug)]
pub struct Counters<const C: usize, const S: usize> {
    counts: [AtomicU64; C],
    nanos: [AtomicU64; S],
}

impl<const C: usize, const S: usize> Default for Counters<C, S> {
    fn default() -> Self {
        Self {
            counts: array::from_fn(|_| AtomicU64::new(0)),
            nanos: array::from_fn(|_| AtomicU64::new(0)),
        }
    }
}

impl<const C: usize, const S: usize> Counters<C, S> {
    /// Adds to counter `at`.
    ///
    /// # Panics
    /// If there is no such counter.
    pub fn add(&self, at: usize, count: usize) {
        self.counts[at].fetch_add(count as u64, Ordering::Relaxed);
    }

    /// Runs `f` and adds its time to a stage, which costs tens of nanoseconds.
    ///
    /// # Panics
    /// If there is no such stage.
    pub fn time<T>(&self, stage: usize, f: impl FnOnce() -> T) -> T {
        let start = Instant::now();
        let out = f();
        let nanos = start.elapsed().as_nanos() as u64;
        self.nanos[stage].fetch_add(nanos, Ordering::Relaxed);
        out
    }

    /// The current values, with their names.
    #[must_use]
    pub fn read(&self, counts: [&'static str; C], stages: [&'static str; S]) -> Reading {
        let load = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        Reading {
            counts: counts
                .into_iter()
                .zip(self.counts.iter().map(load))
                .collect(),
            seconds: stages
                .into_iter()
                .zip(self.nanos.iter().map(|nanos| load(nanos) as f64 * 1e-9))
                .collect(),
        }
    }
}

/// Values of a scheme's counters.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Reading {
    /// Counts, for example of transforms.
    pub counts: Vec<(&'static str, u64)>,
    /// Wall-clock seconds by stage, summed over threads.
    pub seconds: Vec<(&'static str, f64)>,
}

impl Reading {
    /// The counter of this name; 0 if there is none.
    #[must_use]
    pub fn count(&self, name: &str) -> u64 {
        found(&self.counts, name)
    }

    /// The increase since `before`, an earlier reading of the same counters.
    #[must_use]
    pub fn since(&self, before: &Self) -> Self {
        let counts = self.counts.iter();
        let seconds = self.seconds.iter();
        Self {
            counts: counts
                .map(|&(name, count)| (name, count - before.count(name)))
                .collect(),
            seconds: seconds
                .map(|&(name, seconds)| (name, seconds - found(&before.seconds, name)))
                .collect(),
        }
    }
}

fn found<T: Copy + Default>(named: &[(&'static str, T)], name: &str) -> T {
    let mut named = named.iter();
    let found = named.find(|(found, _)| *found == name);
    found.map_or(T::default(), |&(_, value)| value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_counted_before_is_not_counted_since() {
        let counters = Counters::<2, 1>::default();
        let read = || counters.read(["a", "b"], ["s"]);
        counters.add(1, 3);
        let before = read();
        counters.add(0, 2);
        counters.add(1, 4);
        assert_eq!(counters.time(0, || 7), 7);
        let since = read().since(&before);
        assert_eq!(since.counts, [("a", 2), ("b", 4)]);
        assert_eq!((since.count("b"), since.count("c")), (4, 0));
        assert!(since.seconds[0].1 >= 0.0 && read().since(&Reading::default()) == read());
    }
}
