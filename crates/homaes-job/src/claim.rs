//! Who evaluates which shard, in a folder: so that workers on one machine, or on machines whose file system has locks, do
//! not do the same work.
//!
//! Nothing depends on claims but time: two workers who evaluate the same shard write the same bytes.

use std::fs::{self, File, TryLockError};
use std::path::{Path, PathBuf};

pub(crate) const CLAIMS: &str = "claims";

/// A lock on a shard, which ends with the process.
pub(crate) struct Claim {
    /// The file that is locked, if there could be one.
    held: Option<(PathBuf, File)>,
}

impl Claim {
    /// Claims shard `number`; `None` if another process has it. Where locks cannot be had, everybody has them.
    pub(crate) fn take(folder: &Path, number: u64) -> Option<Self> {
        let folder = folder.join(CLAIMS);
        // nothing where the job is gone
        let _ = fs::create_dir(&folder);
        let path = folder.join(format!("{number:06}"));
        let Ok(file) = File::options().create(true).append(true).open(&path) else {
            return Some(Self { held: None });
        };
        match file.try_lock() {
            Err(TryLockError::WouldBlock) => None,
            _ => Some(Self {
                held: Some((path, file)),
            }),
        }
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        // Who opened it meanwhile locks a file without a name, and finds the shard there.
        if let Some((path, _)) = &self.held {
            remove(path);
        }
    }
}

/// Removes a claim, which is empty, and nothing else.
fn remove(path: &Path) {
    if fs::symlink_metadata(path).is_ok_and(|found| found.is_file() && found.len() == 0) {
        let _ = fs::remove_file(path);
    }
}

/// The claims of a job.
fn all(folder: &Path) -> impl Iterator<Item = PathBuf> {
    let entries = fs::read_dir(folder.join(CLAIMS));
    let paths = entries.into_iter().flatten().flatten();
    paths.map(|entry| entry.path()).filter(|path| {
        let name = path.file_name().and_then(|name| name.to_str());
        name.is_some_and(|name| name.bytes().all(|byte| byte.is_ascii_digit()))
    })
}

/// How many shards are claimed.
pub(crate) fn held(folder: &Path) -> u64 {
    let held = all(folder).filter(|path| {
        File::open(path)
            .is_ok_and(|file| matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock)))
    });
    held.count() as u64
}

/// Removes the claims that killed workers left, when the job is done, and their folder if nothing else is in it.
pub(crate) fn remove_all(folder: &Path) {
    all(folder).for_each(|path| remove(&path));
    let _ = fs::remove_dir(folder.join(CLAIMS));
}
