//! The temporary folder of demonstrations and benchmarks; it goes with them, also on a signal. It is locked while it is
//! in use, so that the next one finds what a killed one has left.

use crate::console::{self, Failure};
use std::fs::{self, File};
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError, TryLockError};
use tempfile::TempDir;

static FOLDER: Mutex<Option<Locked>> = Mutex::new(None);

struct Locked {
    /// Removed when it is dropped.
    _folder: TempDir,
    /// `None` where a folder cannot be opened.
    _lock: Option<File>,
}

/// Its name but for [`RANDOM`] letters and digits.
const PREFIX: &str = "homaes-scratch-";
const RANDOM: usize = 16;

fn folder() -> MutexGuard<'static, Option<Locked>> {
    FOLDER.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Removes the folder with its content.
pub(crate) fn remove() {
    // Dropping removes; a failure has nobody to be told.
    drop(folder().take());
}

/// As [`remove`], unless another thread, or this one, is at the folder at this moment.
pub(crate) fn remove_without_waiting() {
    let mut folder = match FOLDER.try_lock() {
        Ok(folder) => folder,
        Err(TryLockError::Poisoned(folder)) => folder.into_inner(),
        Err(TryLockError::WouldBlock) => return,
    };
    drop(folder.take());
}

/// A temporary folder until it is dropped. There is one at a time.
pub(crate) struct Scratch {
    path: PathBuf,
}

impl Scratch {
    pub(crate) fn new() -> Result<Self, Failure> {
        remove_leftovers();
        loop {
            let made = tempfile::Builder::new()
                .prefix(PREFIX)
                .rand_bytes(RANDOM)
                .tempdir()
                .map_err(|error| Failure::system("temporary folder", error))?;
            let path = made.path().to_owned();
            let lock = File::open(&path).ok();
            if lock
                .as_ref()
                .is_some_and(|lock| !homaes::claim(lock, &path))
            {
                // Another process took it for a leftover in this moment.
                continue;
            }
            *folder() = Some(Locked {
                _folder: made,
                _lock: lock,
            });
            return Ok(Self { path });
        }
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

/// Removes the folders of killed runs, and says so.
fn remove_leftovers() {
    let Ok(entries) = fs::read_dir(std::env::temp_dir()) else {
        return;
    };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let random = name.to_str().and_then(|name| name.strip_prefix(PREFIX));
        let own = random.is_some_and(|random| {
            random.len() == RANDOM && random.bytes().all(|byte| byte.is_ascii_alphanumeric())
        });
        // Not a link to one.
        if !own || !entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            continue;
        }
        let path = entry.path();
        let lock = File::open(&path).ok();
        // The lock is held until the folder is gone.
        if lock.is_some_and(|lock| lock.try_lock().is_ok() && fs::remove_dir_all(&path).is_ok()) {
            let path = path.display();
            console::warn(&format!("removed files of a killed run: {path}"));
        }
    }
}
