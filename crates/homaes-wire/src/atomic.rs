//! Output that appears whole or not at all.
//!
//! Bytes go to `.NAME.homaes-tmp-RANDOM` in the target folder, so that the last step is a rename within one file
//! system. Without leave to overwrite, the last step is a hard link instead: it fails if the name was taken meanwhile.

use crate::WireError;
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::hash::{BuildHasher, RandomState};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use zeroize::{Zeroize, Zeroizing};

/// Bytes collected before they are written.
const BUFFER_BYTES: usize = 1 << 18;

/// Names longer than this are left out of the temporary name, which must stay below the usual limit of 255 bytes.
const MAX_NAME_IN_TEMPORARY: usize = 200;

static LIVE: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());

fn live() -> MutexGuard<'static, BTreeSet<PathBuf>> {
    // A set of paths is sound after a panic elsewhere.
    LIVE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Removes the temporary files of every [`AtomicFile`] alive in this process.
///
/// For a program that is about to exit on a signal. It takes a lock: call it from a thread, not inside a signal handler.
pub fn cleanup_all() {
    for path in std::mem::take(&mut *live()) {
        // Nobody is left to tell if this fails.
        let _ = fs::remove_file(path);
    }
}

/// How an output may be made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct OutputOptions {
    /// Replace an existing file.
    pub force: bool,
    /// Readable and writable by the owner alone (mode 0600 on Unix), from the first byte on.
    pub private: bool,
}

/// A file under a temporary name until [`commit`](Self::commit); dropped before, it is removed.
///
/// Writing is buffered, and the buffer is zeroised.
#[derive(Debug)]
pub struct AtomicFile {
    target: PathBuf,
    temporary: PathBuf,
    force: bool,
    file: File,
    buffer: Zeroizing<Vec<u8>>,
}

impl AtomicFile {
    /// Creates the temporary file.
    ///
    /// A symbolic link is followed when overwriting. Only regular files are replaced, never a device or a folder.
    ///
    /// # Errors
    /// [`WireError::AlreadyExists`] if `target` exists and `force` is not set; [`WireError::Io`].
    pub fn create(target: &Path, options: OutputOptions) -> Result<Self, WireError> {
        let OutputOptions { force, private } = options;
        let target = resolve(target, force)?;
        let invalid = || {
            WireError::io(
                &target,
                io::Error::new(io::ErrorKind::InvalidInput, "not a file name"),
            )
        };
        let name = target.file_name().ok_or_else(invalid)?;
        let mut options = OpenOptions::new();
        options.write(true).create_new(true);
        #[cfg(unix)]
        if private {
            use std::os::unix::fs::OpenOptionsExt;
            options.mode(0o600);
        }
        #[cfg(not(unix))]
        let _ = private;
        loop {
            let mut temporary = OsString::from(".");
            if name.len() <= MAX_NAME_IN_TEMPORARY {
                temporary.push(name);
                temporary.push(".");
            }
            // The standard library's hash keys are random: enough to avoid an existing name, and nothing else is at stake.
            temporary.push(format!(
                "homaes-tmp-{:016x}",
                RandomState::new().hash_one(std::process::id())
            ));
            let temporary = target.with_file_name(temporary);
            // Under the lock, so that clean-up never misses a file that was just created.
            let mut live = live();
            match options.open(&temporary) {
                Ok(file) => {
                    live.insert(temporary.clone());
                    let buffer = Zeroizing::new(Vec::with_capacity(BUFFER_BYTES));
                    return Ok(Self {
                        target,
                        temporary,
                        force,
                        file,
                        buffer,
                    });
                }
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(source) => return Err(WireError::io(temporary, source)),
            }
        }
    }

    /// Where the file will be.
    #[must_use]
    pub fn target(&self) -> &Path {
        &self.target
    }

    /// Writes everything to the disk and gives the file its name.
    ///
    /// # Errors
    /// [`WireError::AlreadyExists`] if the name was taken since and `force` is not set; [`WireError::Io`].
    pub fn commit(mut self) -> Result<(), WireError> {
        self.flush()
            .and_then(|()| self.file.sync_all())
            .map_err(|source| WireError::io(&self.temporary, source))?;
        if self.force {
            fs::rename(&self.temporary, &self.target)
                .map_err(|source| WireError::io(&self.target, source))?;
        } else {
            self.link()?;
        }
        sync_folder(&self.target);
        Ok(())
    }

    /// Gives the file its name unless that is taken. Drop removes the temporary name where a hard link was made.
    fn link(&self) -> Result<(), WireError> {
        let taken = || WireError::AlreadyExists {
            path: self.target.clone(),
        };
        match fs::hard_link(&self.temporary, &self.target) {
            Ok(()) => Ok(()),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Err(taken()),
            // A file system without hard links: look, then rename, with a short gap between the two.
            Err(_) if fs::symlink_metadata(&self.target).is_ok() => Err(taken()),
            Err(_) => fs::rename(&self.temporary, &self.target)
                .map_err(|source| WireError::io(&self.target, source)),
        }
    }

    fn flush_buffer(&mut self) -> io::Result<()> {
        let result = self.file.write_all(&self.buffer);
        // Also after an error: what was written in part must not be written again.
        self.buffer.as_mut_slice().zeroize();
        self.buffer.clear();
        result
    }
}

impl Write for AtomicFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        // The buffer never grows, so it leaves no copies behind.
        if self.buffer.len() + bytes.len() > BUFFER_BYTES {
            self.flush_buffer()?;
        }
        if bytes.len() >= BUFFER_BYTES {
            return self.file.write(bytes);
        }
        self.buffer.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.flush_buffer()?;
        self.file.flush()
    }
}

impl Drop for AtomicFile {
    fn drop(&mut self) {
        let mut live = live();
        if live.remove(&self.temporary) {
            // Fails after a rename, when there is nothing to remove.
            let _ = fs::remove_file(&self.temporary);
        }
    }
}

/// The file to replace, or an error if it may not be replaced.
fn resolve(target: &Path, force: bool) -> Result<PathBuf, WireError> {
    let error = |source| WireError::io(target, source);
    match fs::symlink_metadata(target) {
        Err(missing) if missing.kind() == io::ErrorKind::NotFound => Ok(target.to_owned()),
        Err(source) => Err(error(source)),
        // whatever `force` says
        Ok(found) if found.is_dir() => Err(error(io::Error::new(
            io::ErrorKind::IsADirectory,
            "is a folder",
        ))),
        Ok(_) if !force => Err(WireError::AlreadyExists {
            path: target.to_owned(),
        }),
        Ok(found) => {
            if !fs::metadata(target).map_err(error)?.is_file() {
                return Err(error(io::Error::new(
                    io::ErrorKind::InvalidInput,
                    "not a regular file",
                )));
            }
            if found.is_symlink() {
                fs::canonicalize(target).map_err(error)
            } else {
                Ok(target.to_owned())
            }
        }
    }
}

/// Makes the new name durable where folders can be synchronised; the data are on the disk already.
fn sync_folder(target: &Path) {
    let folder = target
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty())
        .unwrap_or(Path::new("."));
    if let Ok(folder) = File::open(folder) {
        let _ = folder.sync_all();
    }
}

#[cfg(test)]
mod tests;
