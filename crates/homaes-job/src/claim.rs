//! Claims on shards in a folder, so that workers with a common file system do not repeat work. Only speed depends on
//! them: two workers that evaluate the same shard write the same bytes.

use std::fs::{self, File, TryLockError};
use std::path::{Path, PathBuf};

pub(crate) const CLAIMS: &str = "claims";

/// A lock on a shard, released when the process ends.
pub(crate) struct Claim {
    held: Option<(PathBuf, File)>,
}

impl Claim {
    /// Claims shard `number`; `None` if another process has it. Always succeeds where locks are unavailable.
    pub(crate) fn take(folder: &Path, number: u64) -> Option<Self> {
        let folder = folder.join(CLAIMS);
        // fails if the job was removed
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
        // a process that has opened the file meanwhile locks it in vain, and then finds the shard
        if let Some((path, _)) = &self.held {
            remove(path);
        }
    }
}

/// Removes an empty regular file, as claims are.
fn remove(path: &Path) {
    if fs::symlink_metadata(path).is_ok_and(|found| found.is_file() && found.len() == 0) {
        let _ = fs::remove_file(path);
    }
}

fn all(folder: &Path) -> impl Iterator<Item = PathBuf> {
    let entries = fs::read_dir(folder.join(CLAIMS));
    let paths = entries.into_iter().flatten().flatten();
    paths.map(|entry| entry.path()).filter(|path| {
        let name = path.file_name().and_then(|name| name.to_str());
        name.is_some_and(|name| name.bytes().all(|byte| byte.is_ascii_digit()))
    })
}

/// Number of claimed shards.
pub(crate) fn held(folder: &Path) -> u64 {
    let held = all(folder).filter(|path| {
        File::open(path)
            .is_ok_and(|file| matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock)))
    });
    held.count() as u64
}

/// Removes claims left by killed workers, and their folder if it is empty.
pub(crate) fn remove_all(folder: &Path) {
    all(folder).for_each(|path| remove(&path));
    let _ = fs::remove_dir(folder.join(CLAIMS));
}
