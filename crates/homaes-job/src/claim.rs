//! Who evaluates which shard, in a folder: so that workers on one machine, or on machines whose file system has locks, do not do the same work.
//!
//! Nothing depends on claims but time: two workers who evaluate the same shard write the same bytes.

use std::fs::{self, File, TryLockError};
use std::path::{Path, PathBuf};

const CLAIMS: &str = "claims";

/// A lock on a shard, which ends with the process.
pub(crate) struct Claim {
    path: PathBuf,
    /// Locked.
    _file: Option<File>,
}

impl Claim {
    /// Claims shard `number`; `None` if another process has it. Where locks cannot be had, everybody has them.
    pub(crate) fn take(folder: &Path, number: u64) -> Option<Self> {
        let folder = folder.join(CLAIMS);
        let path = folder.join(format!("{number:06}"));
        let open = || {
            fs::create_dir_all(&folder)?;
            File::options().create(true).append(true).open(&path)
        };
        let Ok(file) = open() else {
            return Some(Self { path, _file: None });
        };
        match file.try_lock() {
            Err(TryLockError::WouldBlock) => None,
            _ => {
                let _file = Some(file);
                Some(Self { path, _file })
            }
        }
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        // Who opened it meanwhile locks a file without a name, and finds the shard there.
        let _ = fs::remove_file(&self.path);
    }
}

/// How many shards are claimed.
pub(crate) fn held(folder: &Path) -> u64 {
    let entries = fs::read_dir(folder.join(CLAIMS)).into_iter().flatten();
    let held = entries.flatten().filter(|entry| {
        File::open(entry.path())
            .is_ok_and(|file| matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock)))
    });
    held.count() as u64
}

/// Removes the claims that killed workers left, when the job is done.
pub(crate) fn remove_all(folder: &Path) {
    let _ = fs::remove_dir_all(folder.join(CLAIMS));
}
