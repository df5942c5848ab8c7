//! Output that appears whole or not at all.
//!
//! On Linux a file has no name until it is complete (`O_TMPFILE`), so a killed process leaves nothing. Other systems,
//! and file systems without such files, use `.NAME.homaes-tmp-NUMBER` in the target folder.
//!
//! If the output must not overwrite, the last step is a hard link or a rename without replacing: it fails if the name
//! is taken.

use crate::WireError;
use std::ffi::OsStr;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::process;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};
use zeroize::{Zeroize, Zeroizing};

/// Bytes collected before they are written.
const BUFFER_BYTES: usize = 1 << 18;

/// The part of a temporary name between the final name and a number.
const MARK: &str = "homaes-tmp-";

/// Digits of that number.
const DIGITS: usize = 16;

/// Longer names are left out of the temporary name, which must stay below the usual limit of 255 bytes.
const MAX_NAME: usize = 200;

/// Temporary names in use, on file systems that need them.
static NAMED: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

fn named() -> MutexGuard<'static, Vec<PathBuf>> {
    // A list of paths is sound after a panic elsewhere.
    NAMED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Removes the named temporary files of every [`AtomicFile`] alive in this process.
///
/// For a program that is about to exit on a signal. It takes a lock: call it from a thread, not inside a signal
/// handler.
pub fn cleanup_all() {
    for path in named().drain(..) {
        // Nobody is left to tell if this fails.
        let _ = fs::remove_file(path);
    }
}

/// Options of an output.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct OutputOptions {
    /// Replace an existing file.
    ///
    /// The new file allows no more than the old one did (mode bits on Unix).
    pub force: bool,
    /// Readable and writable by the owner alone (mode 0600 on Unix), from the first byte on.
    pub private: bool,
}

/// A file that gets its name on [`commit`](Self::commit). If it is dropped before, nothing remains.
///
/// Writing is buffered, and the buffer is zeroised.
pub struct AtomicFile {
    target: PathBuf,
    /// Its name until then, if it has one.
    temporary: Option<PathBuf>,
    force: bool,
    /// Whether it keeps the temporary name when it is dropped.
    keep: bool,
    /// Mode bits to set with the final name, if they differ from those while writing.
    #[cfg_attr(not(unix), expect(dead_code, reason = "only Unix has them"))]
    mode: Option<u32>,
    file: File,
    buffer: Zeroizing<Vec<u8>>,
}

impl AtomicFile {
    /// Creates the file, without its name.
    ///
    /// A symbolic link is followed when overwriting. Only regular files are replaced, never a device or a folder.
    ///
    /// # Errors
    /// [`WireError::AlreadyExists`] if `target` exists and `force` is not set; [`WireError::Io`].
    pub fn create(target: &Path, options: OutputOptions) -> Result<Self, WireError> {
        Self::create_by(target, options, unnamed)
    }

    /// As [`create`](Self::create), with the function that opens a file without a name.
    fn create_by(
        target: &Path,
        options: OutputOptions,
        unnamed: fn(&Path, u32) -> io::Result<File>,
    ) -> Result<Self, WireError> {
        let OutputOptions { force, private } = options;
        check_name(target)?;
        let (target, replaced) = resolve(target, force)?;
        let mode = most(private, replaced.as_ref());
        let (file, temporary) = match unnamed(folder_of(&target), mode) {
            Ok(file) => (file, None),
            Err(_) => {
                let path = temporary_path(&target)?;
                let file = open_options(mode).open(&path);
                let file = file.map_err(|source| WireError::io(&target, source))?;
                named().push(path.clone());
                (file, Some(path))
            }
        };
        Ok(Self {
            target,
            temporary,
            force,
            keep: false,
            mode: None,
            file,
            buffer: Zeroizing::new(Vec::with_capacity(BUFFER_BYTES)),
        })
    }

    /// As [`create`](Self::create), under the name that `unfinished` gives, in the folder of the file. Without a commit
    /// the file stays there, and the next call opens it with its [`written`](Self::written) bytes. Writing begins
    /// where [`cut`](Self::cut) says.
    ///
    /// # Errors
    /// As [`create`](Self::create); if another process has it open; if the file there is not regular, belongs to
    /// another user or has a second name; if a private one is accessible to others, who could read the output.
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
        let file = loop {
            let file = open_unfinished(&temporary, private, most | 0o600).map_err(error)?;
            // file systems without locks: two runs at once are then the user's to avoid
            if let Err(TryLockError::WouldBlock) = file.try_lock() {
                let what = "another run is at work on it";
                return Err(error(io::Error::new(io::ErrorKind::ResourceBusy, what)));
            }
            // another process may have given it its own name between the opening and the lock
            if is_at(&file, &temporary) {
                break file;
            }
        };
        Ok(Self {
            target,
            temporary: Some(temporary),
            force,
            keep: true,
            mode: (most & 0o600 != 0o600).then_some(most),
            file,
            buffer: Zeroizing::new(Vec::with_capacity(BUFFER_BYTES)),
        })
    }

    /// The file itself for reading, from its beginning; [`cut`](Self::cut) says where writing goes on. Another file
    /// that takes the temporary name meanwhile is not read.
    ///
    /// # Errors
    /// [`WireError::Io`].
    pub fn written(&self) -> Result<File, WireError> {
        let file = self.file.try_clone().and_then(|mut file| {
            file.rewind()?;
            Ok(file)
        });
        file.map_err(|source| self.error(source))
    }

    /// Keeps only the first `bytes` of the file, and continues writing after them.
    ///
    /// # Errors
    /// [`WireError::Io`].
    pub fn cut(&mut self, bytes: u64) -> Result<(), WireError> {
        let cut = self
            .flush_buffer()
            .and_then(|()| self.file.set_len(bytes))
            .and_then(|()| self.file.seek(SeekFrom::Start(bytes)));
        let cut = cut.map_err(|source| self.error(source));
        cut.map(|_| ())
    }

    /// The final path.
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
            .map_err(|source| self.error(source))
    }

    /// As [`sync`](Self::sync), but without metadata other than the length: cheaper, between two steps of a long run.
    ///
    /// # Errors
    /// [`WireError::Io`].
    pub fn sync_data(&mut self) -> Result<(), WireError> {
        self.flush()
            .and_then(|()| self.file.sync_data())
            .map_err(|source| self.error(source))
    }

    /// Writes everything to the disk and gives the file its name.
    ///
    /// # Errors
    /// [`WireError::AlreadyExists`] if the name was taken since and `force` is not set; [`WireError::Io`], also if
    /// another file has come to be under the temporary name.
    pub fn commit(mut self) -> Result<(), WireError> {
        self.sync()?;
        #[cfg(unix)]
        if let Some(mode) = self.mode {
            use std::os::unix::fs::PermissionsExt;
            let set = self.file.set_permissions(fs::Permissions::from_mode(mode));
            set.map_err(|source| self.error(source))?;
        }
        let unnamed = self.temporary.is_none();
        if self.force && unnamed {
            // a file without a name can take a new one only; at the last moment, because a kill in between leaves it
            let path = temporary_path(&self.target)?;
            link(&self.file, &path).map_err(|source| self.error(source))?;
            self.temporary = Some(path);
        }
        let named = match &self.temporary {
            None => link(&self.file, &self.target),
            Some(path) if !is_at(&self.file, path) => {
                let what = "was removed or replaced meanwhile";
                return Err(self.error(io::Error::new(io::ErrorKind::NotFound, what)));
            }
            Some(path) if self.force => fs::rename(path, &self.target),
            Some(path) => rename_new(path, &self.target),
        };
        named.map_err(|source| match source.kind() {
            io::ErrorKind::AlreadyExists if !self.force => WireError::AlreadyExists {
                path: self.target.clone(),
            },
            _ => WireError::io(&self.target, source),
        })?;
        self.keep = false;
        if unnamed {
            // for file systems that write nothing of a file without a name
            let synced = self.file.sync_data();
            synced.map_err(|source| WireError::io(&self.target, source))?;
        }
        sync_folder(&self.target);
        Ok(())
    }

    /// An error of the file before it has its final name.
    fn error(&self, source: io::Error) -> WireError {
        WireError::io(self.temporary.as_ref().unwrap_or(&self.target), source)
    }

    fn flush_buffer(&mut self) -> io::Result<()> {
        let result = self.file.write_all(&self.buffer);
        // also after an error, or the part that was written would be written again
        self.buffer.as_mut_slice().zeroize();
        self.buffer.clear();
        result
    }
}

crate::debug_fields!(AtomicFile, target, temporary);

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
        if self.keep {
            // the next run checks how much of it is whole
            let _ = self.flush_buffer();
        }
        let Some(path) = &self.temporary else {
            return;
        };
        // an empty file is of no use to the next run
        let goes = !self.keep || self.file.metadata().is_ok_and(|found| found.len() == 0);
        // after a rename the name may be another process's
        if goes && is_at(&self.file, path) {
            let _ = fs::remove_file(path);
        }
        named().retain(|other| other != path);
    }
}

/// Opens a file without a name, for [`link`].
#[cfg(target_os = "linux")]
fn unnamed(folder: &Path, mode: u32) -> io::Result<File> {
    use rustix::fs::{Mode, OFlags};
    let flags = OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC;
    let file = rustix::fs::open(folder, flags, Mode::from_raw_mode(mode))?;
    fs::symlink_metadata(own_path(&file))?;
    Ok(file.into())
}

#[cfg(not(target_os = "linux"))]
fn unnamed(_: &Path, _: u32) -> io::Result<File> {
    Err(io::ErrorKind::Unsupported.into())
}

/// Names a file that has no name, unless the name is taken.
#[cfg(target_os = "linux")]
fn link(file: &File, path: &Path) -> io::Result<()> {
    use rustix::fs::{AtFlags, CWD, linkat};
    Ok(linkat(
        CWD,
        own_path(file),
        CWD,
        path,
        AtFlags::SYMLINK_FOLLOW,
    )?)
}

#[cfg(not(target_os = "linux"))]
fn link(_: &File, _: &Path) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

/// The path by which the system shows an open file, with or without a name.
#[cfg(target_os = "linux")]
fn own_path(file: &impl std::os::fd::AsRawFd) -> PathBuf {
    format!("/proc/self/fd/{}", file.as_raw_fd()).into()
}

/// Renames a file to a name that is free.
fn rename_new(from: &Path, to: &Path) -> io::Result<()> {
    #[cfg(any(target_os = "linux", target_vendor = "apple"))]
    {
        use rustix::fs::{CWD, RenameFlags, renameat_with};
        match renameat_with(CWD, from, CWD, to, RenameFlags::NOREPLACE) {
            Ok(()) => return Ok(()),
            Err(rustix::io::Errno::EXIST) => return Err(io::ErrorKind::AlreadyExists.into()),
            Err(_) => {} // a file system that cannot: look, then rename
        }
    }
    // a second name never replaces
    #[cfg(windows)]
    match fs::hard_link(from, to) {
        Ok(()) => return fs::remove_file(from),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => return Err(error),
        Err(_) => {} // as above
    }
    match fs::symlink_metadata(to) {
        Ok(_) => Err(io::ErrorKind::AlreadyExists.into()),
        Err(_) => fs::rename(from, to),
    }
}

/// A temporary name that is probably free, in the folder of the file to be.
fn temporary_path(target: &Path) -> Result<PathBuf, WireError> {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let name = target.file_name().ok_or_else(|| not_a_file_name(target))?;
    // A clock before 1970 leaves the count, which is different for each name of the process.
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    let number = now.map_or(0, |now| now.subsec_nanos()).wrapping_add(count);
    let mut temporary = std::ffi::OsString::from(".");
    if name.len() <= MAX_NAME {
        temporary.push(name);
        temporary.push(".");
    }
    temporary.push(format!("{MARK}{:08x}{number:08x}", process::id()));
    Ok(target.with_file_name(temporary))
}

/// Whether a file name is a temporary one of [`AtomicFile`].
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

/// Whether an open file is the one at a path.
fn is_at(file: &File, path: &Path) -> bool {
    let (Ok(_own), Ok(_there)) = (file.metadata(), fs::symlink_metadata(path)) else {
        return false;
    };
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        (_own.dev(), _own.ino()) == (_there.dev(), _there.ino())
    }
    #[cfg(not(unix))]
    true // files have no number that the standard library tells
}

/// The usual name of an unfinished file, for [`AtomicFile::resume_as`].
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

/// Creates the file, or opens the one that is there if nobody else can use it, with at most the mode bits `most`.
fn open_unfinished(path: &Path, private: bool, most: u32) -> io::Result<File> {
    match open_options(most).open(path) {
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

/// The final path, and the metadata of the file to replace; an error if it may not be replaced.
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

fn folder_of(target: &Path) -> &Path {
    match target.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    }
}

/// Makes the new name durable where folders can be synchronised; the data are on the disk already.
fn sync_folder(target: &Path) {
    if let Ok(folder) = File::open(folder_of(target)) {
        let _ = folder.sync_all();
    }
}

#[cfg(test)]
mod tests;
