//! Paths to be removed when the process ends before its time.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError, TryLockError};
use std::thread;
use std::time::Duration;

/// Paths of a process that are removed when it ends before its time.
///
/// Memory is neither taken nor given back while the list is held: a thread that runs out of memory never holds it, and
/// can read it.
#[derive(Debug)]
pub struct Registry(Mutex<Vec<PathBuf>>);

/// Paths that the list gets room for at a time.
const ROOM: usize = 16;

impl Registry {
    /// An empty one.
    #[must_use]
    #[expect(clippy::new_without_default, reason = "it is for statics")]
    pub const fn new() -> Self {
        Self(Mutex::new(Vec::new()))
    }

    fn list(&self) -> MutexGuard<'_, Vec<PathBuf>> {
        // A list of paths is sound after a panic elsewhere.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a path; one that leads to nothing does no harm.
    pub fn add(&self, path: PathBuf) {
        let mut spare: Vec<PathBuf> = Vec::new();
        loop {
            let mut list = self.list();
            if list.len() < list.capacity() {
                list.push(path);
                break;
            }
            let wanted = list.len() + 1;
            if spare.capacity() >= wanted {
                spare.append(&mut list);
                spare.push(path);
                std::mem::swap(&mut *list, &mut spare);
                break;
            }
            drop(list);
            spare = Vec::with_capacity(wanted + ROOM);
        }
        // `spare`, of either kind, is given back here, after the list.
    }

    /// Takes a path off; whether it was there.
    pub fn remove(&self, path: &Path) -> bool {
        let mut list = self.list();
        let place = list.iter().position(|other| other == path);
        // Last on, first off: folders stay in the order in which they can be removed.
        let taken = place.map(|place| list.remove(place));
        drop(list);
        taken.is_some()
    }

    /// Takes all paths.
    pub fn take(&self) -> Vec<PathBuf> {
        std::mem::take(&mut *self.list())
    }

    /// Calls `see` for each path, for a program that ends at once because it has no memory left. Gives up after a second
    /// if the list cannot be had.
    pub fn visit_without_memory(&self, mut see: impl FnMut(&Path)) {
        for _ in 0..100 {
            let list = match self.0.try_lock() {
                Ok(list) => list,
                Err(TryLockError::Poisoned(list)) => list.into_inner(),
                Err(TryLockError::WouldBlock) => {
                    thread::sleep(Duration::from_millis(10));
                    continue;
                }
            };
            list.iter().for_each(|path| see(path));
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(registry: &Registry) -> Vec<PathBuf> {
        let mut seen = Vec::new();
        registry.visit_without_memory(|path| seen.push(path.to_owned()));
        seen
    }

    #[test]
    fn paths_come_and_go_in_their_order() {
        let registry = Registry::new();
        let path = |i: usize| PathBuf::from(i.to_string());
        for i in 0..3 * ROOM {
            registry.add(path(i));
        }
        assert!(registry.remove(&path(5)) && !registry.remove(&path(5)));
        let left: Vec<PathBuf> = (0..3 * ROOM).filter(|&i| i != 5).map(path).collect();
        assert_eq!(seen(&registry), left);
        assert_eq!(registry.take(), left);
        assert!(seen(&registry).is_empty());
    }

    #[test]
    fn a_list_that_is_held_is_given_up() {
        let registry = Registry::new();
        registry.add("a".into());
        let held = registry.list();
        assert!(seen(&registry).is_empty());
        drop(held);
        assert_eq!(seen(&registry).len(), 1);
    }
}
