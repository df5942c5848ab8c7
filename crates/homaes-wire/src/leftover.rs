//! Temporary files of killed processes.
//!
//! | the file | its lock | what it is |
//! |---|---|---|
//! | has a temporary name | held | an output in the making |
//! | | free | left by a process that was killed |
//! | | not supported by the file system | unknown, so it stays |
//!
//! Between the creation of a file and its lock another process may take it for a leftover. So its owner looks, once it
//! has the lock, whether the file is still there, and makes another one if not.

use std::ffi::{OsStr, OsString};
use std::fs::{self, File, Metadata, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::process;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

/// Stands between the name of the file to be and a number.
const MARK: &str = "homaes-tmp-";

/// Digits of the number.
const DIGITS: usize = 16;

/// Names longer than this are left out of the temporary name, which must stay below the usual limit of 255 bytes.
const MAX_NAME: usize = 200;

/// A name that is probably free. Whoever takes it must create the file and not open it: nothing here is secret.
pub(crate) fn temporary_name(name: &OsStr) -> OsString {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    // A clock before 1970 leaves the count, which is different for each name of the process.
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    let number = now.map_or(0, |now| now.subsec_nanos()).wrapping_add(count);
    let mut temporary = OsString::from(".");
    if name.len() <= MAX_NAME {
        temporary.push(name);
        temporary.push(".");
    }
    temporary.push(format!("{MARK}{:08x}{number:08x}", process::id()));
    temporary
}

/// Whether a file name is that of an output in the making, as [`AtomicFile`](crate::AtomicFile) makes it.
#[must_use]
pub fn is_temporary_name(name: &OsStr) -> bool {
    let bytes = name.as_encoded_bytes();
    let Some((head, digits)) = bytes.split_last_chunk::<DIGITS>() else {
        return false;
    };
    let number = digits
        .iter()
        .all(|d| matches!(d, b'0'..=b'9' | b'a'..=b'f'));
    let head = head.strip_suffix(MARK.as_bytes());
    number && head.is_some_and(|head| head.starts_with(b".") && head.ends_with(b"."))
}

/// Locks a new file, or folder, until it is closed; false if it is no longer at its path, or is about to be removed.
pub fn claim(file: &File, path: &Path) -> bool {
    match file.try_lock() {
        Ok(()) => is_at(file, path),
        Err(TryLockError::WouldBlock) => false,
        // A file system without locks: nobody will take it for a leftover.
        Err(TryLockError::Error(_)) => true,
    }
}

/// Whether an open file is the one at a path.
pub(crate) fn is_at(file: &File, path: &Path) -> bool {
    let (own, there) = (file.metadata(), fs::symlink_metadata(path));
    own.and_then(|own| Ok(is_same(&own, &there?)))
        .unwrap_or(false)
}

/// Whether both names are there and are of one file; false where names are all that tells files apart.
#[must_use]
pub fn is_one_file(a: &Path, b: &Path) -> bool {
    match (fs::symlink_metadata(a), fs::symlink_metadata(b)) {
        (Ok(a), Ok(b)) => cfg!(unix) && is_same(&a, &b),
        _ => false,
    }
}

#[cfg(unix)]
fn is_same(a: &Metadata, b: &Metadata) -> bool {
    use std::os::unix::fs::MetadataExt;
    (a.dev(), a.ino()) == (b.dev(), b.ino())
}

#[cfg(not(unix))]
fn is_same(_: &Metadata, _: &Metadata) -> bool {
    true // a file that is open cannot be removed
}

/// A file with a temporary name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Temporary {
    /// Where it is.
    pub path: PathBuf,
    /// Whether its process lives, as far as its lock tells: also true where locks are not supported, or the file cannot
    /// be opened.
    pub in_use: bool,
}

/// The temporary files in a folder, in the order of their names.
///
/// # Errors
/// If the folder cannot be read.
pub fn temporaries(folder: &Path) -> io::Result<Vec<Temporary>> {
    let mut found = Vec::new();
    visit(folder, |path, lock| {
        let in_use = lock.is_none();
        found.push(Temporary { path, in_use });
    })?;
    found.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(found)
}

/// Removes the temporary files in a folder whose process was killed, and gives their paths.
///
/// # Errors
/// If the folder cannot be read; a file that cannot be removed stays, and is not among the paths.
pub fn remove_leftovers(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut removed = Vec::new();
    visit(folder, |path, lock| {
        // The lock is held until the file is gone, so that no new owner of the name can lose it.
        if lock.is_some() && fs::remove_file(&path).is_ok() {
            removed.push(path);
        }
    })?;
    removed.sort();
    Ok(removed)
}

/// Calls `see` for every temporary file, with its lock if nobody else holds it.
fn visit(folder: &Path, mut see: impl FnMut(PathBuf, Option<File>)) -> io::Result<()> {
    let folder = match folder.as_os_str().is_empty() {
        true => Path::new("."),
        false => folder,
    };
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        // Anything but a regular file is not one of ours; opening a pipe would wait for its writer.
        if !is_temporary_name(&entry.file_name()) || !entry.file_type()?.is_file() {
            continue;
        }
        let lock = File::open(entry.path()).ok();
        let lock = lock.filter(|file| file.try_lock().is_ok());
        see(entry.path(), lock);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{AtomicFile, OutputOptions};

    #[test]
    fn names_are_told_from_others() {
        for name in ["a", "secret.hsk", "", &"n".repeat(300)] {
            let temporary = temporary_name(OsStr::new(name));
            assert!(
                is_temporary_name(&temporary) && temporary.len() < 256,
                "{name}"
            );
            assert_ne!(temporary, temporary_name(OsStr::new(name)));
        }
        for other in [
            "",
            "a",
            "homaes-tmp-0123456789abcdef",
            ".homaes-tmp-0123456789abcde",
            ".a.homaes-tmp-0123456789abcdeg",
            ".a.homaes-tmp-0123456789abcdef0",
            ".a.homaes-tmp-0123456789ABCDEF",
            "a.homaes-tmp-0123456789abcdef",
            "._homaes-tmp-0123456789abcdef",
        ] {
            assert!(!is_temporary_name(OsStr::new(other)), "{other}");
        }
    }

    #[test]
    fn files_in_use_stay_and_others_go() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        let live = AtomicFile::create(&at("a"), OutputOptions::default()).unwrap();
        let left = at(".b.homaes-tmp-00000001fffffff0");
        fs::write(&left, b"secret").unwrap();
        fs::write(at("c"), b"").unwrap();
        fs::create_dir(at(".d.homaes-tmp-0000000000000000")).unwrap();
        let found = temporaries(folder.path()).unwrap();
        let in_use: Vec<bool> = found.iter().map(|file| file.in_use).collect();
        assert_eq!(in_use, [true, false]);
        assert_eq!(remove_leftovers(folder.path()).unwrap(), [left]);
        assert_eq!(remove_leftovers(folder.path()).unwrap(), [] as [PathBuf; 0]);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 3);
        live.commit().unwrap();
        assert!(at("a").exists());
    }

    #[test]
    fn a_new_file_that_is_taken_for_a_leftover_is_made_again() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(temporary_name(OsStr::new("a")));
        let file = File::create(&path).unwrap();
        assert_eq!(remove_leftovers(folder.path()).unwrap().len(), 1);
        assert!(!claim(&file, &path), "it is gone");
        let file = File::create(&path).unwrap();
        let other = File::open(&path).unwrap();
        other.lock().unwrap();
        assert!(!claim(&file, &path), "it is about to go");
        drop(other);
        assert!(claim(&file, &path));
    }

    #[test]
    fn the_second_name_of_a_finished_file_goes_alone() {
        // what a process leaves that is killed between the hard link and the removal
        let folder = tempfile::tempdir().unwrap();
        let (target, left) = (
            folder.path().join("a"),
            folder.path().join(".a.homaes-tmp-0000000000000000"),
        );
        fs::write(&left, b"whole").unwrap();
        fs::hard_link(&left, &target).unwrap();
        remove_leftovers(folder.path()).unwrap();
        assert_eq!(fs::read(target).unwrap(), b"whole");
        assert!(!left.exists());
    }

    #[test]
    fn files_are_made_while_others_remove_leftovers() {
        let folder = tempfile::tempdir().unwrap();
        std::thread::scope(|scope| {
            let sweeper = scope.spawn(|| {
                for _ in 0..2000 {
                    remove_leftovers(folder.path()).unwrap();
                }
            });
            let mut made = 0;
            while !sweeper.is_finished() {
                let path = folder.path().join(format!("f{made}"));
                let file = AtomicFile::create(&path, OutputOptions::default()).unwrap();
                file.commit().unwrap();
                made += 1;
            }
            for i in 0..made {
                assert!(folder.path().join(format!("f{i}")).exists());
            }
            assert!(made > 0);
        });
    }
}
