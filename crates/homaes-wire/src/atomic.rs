//! Output that appears whole or not at all.
//!
//! Bytes go to `.NAME.homaes-tmp-NUMBER` in the target folder, so that the last step is a rename within one file
//! system. Without leave to overwrite, the last step is a hard link instead: it fails if the name was taken meanwhile.
//!
//! The process holds an advisory lock on its temporary file. A killed process holds none, so that
//! [`remove_leftovers`](crate::remove_leftovers) can tell its files from those in use.

use crate::leftover::{claim, is_at, is_one_file, temporary_name};
use crate::{Registry, WireError};
use std::fmt;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use zeroize::{Zeroize, Zeroizing};

/// Bytes collected before they are written.
const BUFFER_BYTES: usize = 1 << 18;

/// The temporary files of this process.
static LIVE: Registry = Registry::new();

/// Removes the temporary files of every [`AtomicFile`] alive in this process.
///
/// For a program that is about to exit on a signal. It takes a lock: call it from a thread, not inside a signal handler.
pub fn cleanup_all() {
    for path in LIVE.take() {
        // Nobody is left to tell if this fails.
        let _ = fs::remove_file(path);
    }
}

/// As [`cleanup_all`], for a program that ends at once because it has no memory left: takes no more of it, and gives up
/// after a second if the list cannot be had. What is left then, [`remove_leftovers`](crate::remove_leftovers) removes.
pub fn cleanup_without_memory() {
    LIVE.visit_without_memory(|path| {
        let _ = fs::remove_file(path);
    });
}

/// How an output may be made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct OutputOptions {
    /// Replace an existing file.
    ///
    /// The new file allows no more than the old one did (mode bits on Unix).
    pub force: bool,
    /// Readable and writable by the owner alone (mode 0600 on Unix), from the first byte on.
    pub private: bool,
}

/// A file under a temporary name until [`commit`](Self::commit); dropped before, it is removed.
///
/// Writing is buffered, and the buffer is zeroised.
pub struct AtomicFile {
    target: PathBuf,
    temporary: PathBuf,
    force: bool,
    /// Whether it stays under its temporary name when it is dropped.
    keep: bool,
    /// Mode bits it gets with its name, where they are not those it is written under.
    mode: Option<u32>,
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
        check_name(target)?;
        let (target, replaced) = resolve(target, force)?;
        let name = target.file_name().ok_or_else(|| not_a_file_name(&target))?;
        let options = open_options(most(private, replaced.as_ref()));
        let buffer = Zeroizing::new(Vec::with_capacity(BUFFER_BYTES));
        loop {
            let temporary = target.with_file_name(temporary_name(name));
            // Before the file is there, so that clean-up never misses it.
            LIVE.add(temporary.clone());
            let file = match options.open(&temporary) {
                Ok(file) => file,
                Err(error) => {
                    LIVE.remove(&temporary);
                    if error.kind() == io::ErrorKind::AlreadyExists {
                        continue;
                    }
                    return Err(WireError::io(temporary, error));
                }
            };
            if !claim(&file, &temporary) {
                // Another process took it for a leftover in this moment.
                LIVE.remove(&temporary);
                let _ = fs::remove_file(&temporary);
                continue;
            }
            return Ok(Self {
                target,
                temporary,
                force,
                keep: false,
                mode: None,
                file,
                buffer,
            });
        }
    }

    /// As [`resume_as`](Self::resume_as), under the name [`unfinished_path`].
    ///
    /// # Errors
    /// As there.
    pub fn resume(target: &Path, options: OutputOptions) -> Result<Self, WireError> {
        Self::resume_as(target, options, unfinished_path)
    }

    /// As [`create`](Self::create), under the temporary name that `unfinished` gives, in the folder of the file, which stays when the file is not
    /// committed: opened again, it holds what was [`written`](Self::written) then. Writing begins where [`cut`](Self::cut) says. Where that
    /// name is a second one of the file to replace, as a run leaves it that was killed in the last step, the name is given up and the file begun
    /// anew.
    ///
    /// # Errors
    /// As [`create`](Self::create); if another process has it open; if what is there is no regular file, or not this user's own under one
    /// name, or for a private file accessible to others: who made it could read what is written.
    pub fn resume_as(
        target: &Path,
        options: OutputOptions,
        unfinished: fn(&Path) -> PathBuf,
    ) -> Result<Self, WireError> {
        let OutputOptions { force, private } = options;
        check_name(target)?;
        let (target, replaced) = resolve(target, force)?;
        let temporary = unfinished(&target);
        let error = |source| WireError::io(&temporary, source);
        // the owner may write it, and open it again, whatever it replaces
        let most = most(private, replaced.as_ref());
        let options = open_options(most | 0o600);
        let lock = |file: &File| match file.try_lock() {
            Err(TryLockError::WouldBlock) => {
                let busy =
                    io::Error::new(io::ErrorKind::ResourceBusy, "another run is at work on it");
                Err(error(busy))
            }
            // file systems without locks: two runs at once are then the user's to avoid
            _ => Ok(()),
        };
        let file = loop {
            if is_one_file(&temporary, &target) {
                // the process that gives it its name has the lock until it has removed the other
                let held = File::open(&target).map_err(error)?;
                lock(&held)?;
                if is_one_file(&temporary, &target) {
                    fs::remove_file(&temporary).map_err(error)?;
                }
                drop(held);
            }
            let file = open_unfinished(&temporary, &options, private, most | 0o600);
            let file = file.map_err(error)?;
            lock(&file)?;
            // another process may have given it its own name between the opening and the lock
            if is_at(&file, &temporary) && !is_one_file(&temporary, &target) {
                break file;
            }
        };
        Ok(Self {
            target,
            temporary,
            force,
            keep: true,
            mode: (most & 0o600 != 0o600).then_some(most),
            file,
            buffer: Zeroizing::new(Vec::with_capacity(BUFFER_BYTES)),
        })
    }

    /// The file itself for reading, from its beginning; [`cut`](Self::cut) says where writing goes on. Another file that takes the
    /// temporary name meanwhile is not read.
    ///
    /// # Errors
    /// [`WireError::Io`].
    pub fn written(&self) -> Result<File, WireError> {
        let file = self.file.try_clone().and_then(|mut file| {
            file.rewind()?;
            Ok(file)
        });
        file.map_err(|source| WireError::io(&self.temporary, source))
    }

    /// Gives up all but the first `bytes` of what is there, and goes on writing after them.
    ///
    /// # Errors
    /// [`WireError::Io`].
    pub fn cut(&mut self, bytes: u64) -> Result<(), WireError> {
        let cut = self
            .flush_buffer()
            .and_then(|()| self.file.set_len(bytes))
            .and_then(|()| self.file.seek(SeekFrom::Start(bytes)));
        let cut = cut.map_err(|source| WireError::io(&self.temporary, source));
        cut.map(|_| ())
    }

    /// Where the bytes are until then.
    #[must_use]
    pub fn temporary(&self) -> &Path {
        &self.temporary
    }

    /// Where the file will be.
    #[must_use]
    pub fn target(&self) -> &Path {
        &self.target
    }

    /// Whether it may replace an existing file.
    #[must_use]
    pub fn replaces(&self) -> bool {
        self.force
    }

    /// Writes everything to the disk, under the temporary name.
    ///
    /// # Errors
    /// [`WireError::Io`].
    pub fn sync(&mut self) -> Result<(), WireError> {
        self.flush()
            .and_then(|()| self.file.sync_all())
            .map_err(|source| WireError::io(&self.temporary, source))
    }

    /// As [`sync`](Self::sync), without what the folder says of the file but its length: cheaper, between two steps of a long run.
    ///
    /// # Errors
    /// [`WireError::Io`].
    pub fn sync_data(&mut self) -> Result<(), WireError> {
        self.flush()
            .and_then(|()| self.file.sync_data())
            .map_err(|source| WireError::io(&self.temporary, source))
    }

    /// Writes everything to the disk and gives the file its name.
    ///
    /// # Errors
    /// [`WireError::AlreadyExists`] if the name was taken since and `force` is not set; [`WireError::Io`], also if another file has come to be under
    /// the temporary name.
    pub fn commit(mut self) -> Result<(), WireError> {
        self.sync()?;
        if !is_at(&self.file, &self.temporary) {
            let gone = io::Error::new(io::ErrorKind::NotFound, "was removed or replaced meanwhile");
            return Err(WireError::io(&self.temporary, gone));
        }
        #[cfg(unix)]
        if let Some(mode) = self.mode {
            use std::os::unix::fs::PermissionsExt;
            let set = self.file.set_permissions(fs::Permissions::from_mode(mode));
            set.map_err(|source| WireError::io(&self.temporary, source))?;
        }
        if self.force {
            fs::rename(&self.temporary, &self.target)
                .map_err(|source| WireError::io(&self.target, source))?;
        } else {
            self.link()?;
        }
        self.keep = false;
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

/// Without what is to be written, which may be secret.
impl fmt::Debug for AtomicFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AtomicFile")
            .field("target", &self.target)
            .field("temporary", &self.temporary)
            .finish_non_exhaustive()
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
        // What was written last goes to the file if it can: the next run looks how far that is.
        if self.keep {
            let _ = self.flush_buffer();
            // there is nothing to go on with in an empty one
            let empty = self.file.metadata().is_ok_and(|found| found.len() == 0);
            if empty && is_at(&self.file, &self.temporary) {
                let _ = fs::remove_file(&self.temporary);
            }
            return;
        }
        // Before it is off the list: clean-up must not miss it. After a clean-up, or a rename, there is nothing to remove; the name of an
        // unfinished file may be another process's by then.
        if is_at(&self.file, &self.temporary) {
            let _ = fs::remove_file(&self.temporary);
        }
        LIVE.remove(&self.temporary);
    }
}

/// Where [`AtomicFile::resume`] keeps an unfinished file.
#[must_use]
pub fn unfinished_path(target: &Path) -> PathBuf {
    let mut name = target.file_name().unwrap_or_default().to_owned();
    name.push(".unfinished");
    target.with_file_name(name)
}

fn not_a_file_name(target: &Path) -> WireError {
    let error = io::Error::new(io::ErrorKind::InvalidInput, "not a file name");
    WireError::io(target, error)
}

/// Refuses names that only a folder can have: `a/`, `a/.`, `..`. `Path` itself takes the first two for `a`.
fn check_name(target: &Path) -> Result<(), WireError> {
    let bytes = target.as_os_str().as_encoded_bytes();
    let separator = |&byte: &u8| std::path::is_separator(char::from(byte));
    match bytes.rsplit(separator).next() {
        None | Some(b"" | b"." | b"..") if !target.is_dir() => Err(not_a_file_name(target)),
        _ => Ok(()),
    }
}

/// How to create the temporary file with these mode bits.
fn open_options(mode: u32) -> OpenOptions {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, mode);
    #[cfg(not(unix))]
    let _ = mode;
    options
}

/// The mode bits that a new file may have: no more than the one it replaces.
fn most(private: bool, replaced: Option<&fs::Metadata>) -> u32 {
    let most = if private { 0o600 } else { 0o666 };
    #[cfg(unix)]
    let most = most & replaced.map_or(most, std::os::unix::fs::MetadataExt::mode);
    #[cfg(not(unix))]
    let _ = replaced;
    most
}

/// Makes the file, or opens the one that is there if its content is this user's own business. It allows no more than `most` then.
fn open_unfinished(
    path: &Path,
    options: &OpenOptions,
    private: bool,
    most: u32,
) -> io::Result<File> {
    match options.open(path) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
        made => return made,
    }
    let refused = |what| Err(io::Error::new(io::ErrorKind::PermissionDenied, what));
    // asked before opening: opening a pipe would wait for its reader
    if !fs::symlink_metadata(path)?.is_file() {
        return refused("is not a regular file");
    }
    let mut options = OpenOptions::new();
    options.read(true).write(true);
    #[cfg(unix)]
    {
        use rustix::fs::OFlags;
        use std::os::unix::fs::OpenOptionsExt;
        // should it have become something else in this moment
        options.custom_flags((OFlags::NOFOLLOW | OFlags::NONBLOCK).bits().cast_signed());
    }
    let file = options.open(path)?;
    let found = file.metadata()?;
    if !found.is_file() {
        return refused("is not a regular file");
    }
    #[cfg(unix)]
    {
        use std::os::unix::fs::{MetadataExt, PermissionsExt};
        if found.uid() != rustix::process::geteuid().as_raw() {
            return refused("belongs to another user");
        }
        if found.nlink() > 1 {
            return refused("has another name too, as a hard link");
        }
        if private && found.mode() & 0o077 != 0 {
            return refused("is accessible to others");
        }
        let mode = found.mode() & 0o777;
        if mode & !most != 0 {
            file.set_permissions(fs::Permissions::from_mode(mode & most))?;
        }
    }
    #[cfg(not(unix))]
    let _ = (private, most);
    Ok(file)
}

/// Bytes that this user can still write on the disk of a file or folder, if the system tells.
#[must_use]
pub fn free_bytes(path: &Path) -> Option<u64> {
    #[cfg(unix)]
    {
        let found = rustix::fs::statvfs(path).ok()?;
        found.f_bavail.checked_mul(found.f_frsize)
    }
    #[cfg(not(unix))]
    {
        let _ = path;
        None
    }
}

/// The file that will be there, and what is known of the one to replace; or an error if it may not be replaced.
fn resolve(target: &Path, force: bool) -> Result<(PathBuf, Option<fs::Metadata>), WireError> {
    let error = |source| WireError::io(target, source);
    match fs::symlink_metadata(target) {
        Err(missing) if missing.kind() == io::ErrorKind::NotFound => Ok((target.to_owned(), None)),
        Err(source) => Err(error(source)),
        // whatever `force` says
        Ok(found) if found.is_dir() => Err(error(io::Error::new(
            io::ErrorKind::IsADirectory,
            "is a folder",
        ))),
        Ok(_) if !force => Err(WireError::AlreadyExists {
            path: target.to_owned(),
        }),
        Ok(link) => {
            let found = fs::metadata(target).map_err(error)?;
            if !found.is_file() {
                return Err(error(io::Error::new(
                    io::ErrorKind::InvalidInput,
                    "not a regular file",
                )));
            }
            let target = match link.is_symlink() {
                true => fs::canonicalize(target).map_err(error)?,
                false => target.to_owned(),
            };
            Ok((target, Some(found)))
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
