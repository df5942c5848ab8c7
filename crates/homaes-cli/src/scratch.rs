//! The temporary folder of demonstrations and benchmarks; it goes with them, also on a signal.

use crate::console::Failure;
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};
use tempfile::TempDir;

static FOLDER: Mutex<Option<TempDir>> = Mutex::new(None);

fn folder() -> MutexGuard<'static, Option<TempDir>> {
    FOLDER.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Removes the folder with its content.
pub(crate) fn remove() {
    // Dropping removes; a failure has nobody to be told.
    drop(folder().take());
}

/// A temporary folder until it is dropped. There is one at a time.
pub(crate) struct Scratch {
    path: PathBuf,
}

impl Scratch {
    pub(crate) fn new() -> Result<Self, Failure> {
        let made = tempfile::Builder::new().prefix("homaes-scratch-").tempdir();
        let made = made.map_err(|error| Failure::system("temporary folder", error))?;
        let path = made.path().to_owned();
        *folder() = Some(made);
        Ok(Self { path })
    }

    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        remove();
    }
}
