//! Outputs appear whole or not at all, even if a signal stops the program.
//!
//! Files get their names only under [`GATE`]. [`interrupt`] takes the gate and keeps it, so no file appears afterwards.

mod folder;

pub(crate) use folder::Folder;

use crate::error::At;
use crate::{Error, ErrorKind, Result};
use homaes_wire::{
    AtomicFile, CHECKSUM_BYTES, Front, Header, Kind, OutputOptions, Reader, WireError, Writer,
    is_temporary_name, unfinished_path,
};
use std::ffi::OsStr;
use std::fs;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use zeroize::Zeroizing;

static GATE: Mutex<Gate> = Mutex::new(Gate {
    completed: 0,
    folders: Vec::new(),
});

struct Gate {
    /// Completed outputs of this process.
    completed: usize,
    /// Folders made for outputs that do not exist yet, innermost first.
    folders: Vec<PathBuf>,
}

fn gate() -> MutexGuard<'static, Gate> {
    // both fields are valid after a panic elsewhere
    GATE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Removes every unfinished output of this process and prevents further ones: the last call before an exit on a signal.
/// Outputs that are being completed are completed first. Returns how many outputs this process has completed.
///
/// Call it from a thread, not inside a signal handler. Threads that write outputs block from then on.
pub fn interrupt() -> usize {
    let gate = gate();
    homaes_wire::cleanup_all();
    folder::remove_folders(&gate.folders);
    let completed = gate.completed;
    std::mem::forget(gate);
    completed
}

/// Suffixes of the files that resumable runs keep beside their outputs.
pub(crate) const PART: &str = ".homaes-part";
pub(crate) const JOURNAL: &str = ".homaes-journal";
/// Suffix of the file beside a complete output.
pub(crate) const DONE: &str = ".homaes-done";

/// Whether a file has the name of an unfinished output, or of a file that a resumable run keeps beside its output. Such
/// files are no messages, because later runs replace them.
#[must_use]
pub fn is_unfinished_name(name: &OsStr) -> bool {
    let bytes = name.as_encoded_bytes();
    let beside = |end: &str| bytes.starts_with(b".") && bytes.ends_with(end.as_bytes());
    is_temporary_name(name) || beside(PART) || beside(JOURNAL) || beside(DONE)
}

/// Refuses such a name for an output or an input, because this run or a later one would remove the file.
pub(crate) fn refuse_unfinished_name(path: &Path) -> Result<()> {
    match path.file_name().is_some_and(is_unfinished_name) {
        true => {
            let what = "is the name of an unfinished output, which later runs remove or replace";
            let error = io::Error::new(io::ErrorKind::InvalidFilename, what);
            Err(Error::io(path, error))
        }
        false => Ok(()),
    }
}

/// Occurs at the start of client key files of the crate `tfhe`, after the format's versions.
const CLIENT_KEY: &[u8] = b"high_level_api::ClientKey";

/// Start of link key files.
pub(crate) const LINK_KEY: &str = "{\"homaes\":\"link key\"";

fn is_other_secret(path: &Path) -> bool {
    let mut head = Vec::new();
    let read = fs::File::open(path).and_then(|file| file.take(128).read_to_end(&mut head));
    let mut parts = head.windows(CLIENT_KEY.len());
    read.is_ok() && (head.starts_with(LINK_KEY.as_bytes()) || parts.any(|part| part == CLIENT_KEY))
}

/// Refuses a path with a secret key, which `force` would replace.
pub(crate) fn spare_secret_key(path: &Path, force: bool) -> Result<()> {
    let is_key = || Reader::open(path, Kind::SecretKey).is_ok() || is_other_secret(path);
    let held = force && path.is_file() && is_key();
    match held {
        true => Err(Error::taken(ErrorKind::HoldsSecretKey, path)),
        false => Ok(()),
    }
}

/// Refuses an output that is one of the files that are read, because replacing it, even by `force`, destroys that file.
///
/// # Errors
/// `ErrorKind::OwnInput`.
pub fn refuse_own_input<'p>(
    out: impl AsRef<Path>,
    inputs: impl IntoIterator<Item = &'p Path>,
) -> Result<()> {
    let out = out.as_ref();
    let Ok(file) = out.canonicalize() else {
        return Ok(()); // it does not exist yet
    };
    let mut inputs = inputs.into_iter();
    match inputs.any(|input| input.canonicalize().is_ok_and(|input| input == file)) {
        true => Err(Error::taken(ErrorKind::OwnInput, out)),
        false => Ok(()),
    }
}

/// Runs `complete`, which names `count` outputs; an [`interrupt`] comes before or after all of them.
pub(crate) fn completing<T, E>(
    count: usize,
    complete: impl FnOnce() -> Result<T, E>,
) -> Result<T, E> {
    let mut gate = gate();
    let done = complete()?;
    gate.completed += count;
    Ok(done)
}

/// A file that gets its name when it is complete, and is removed if it is dropped before.
///
/// Reserve outputs before long work, to find an existing file or an unwritable folder early.
pub struct Output {
    path: PathBuf,
    sink: Sink,
    /// Whether it must not replace a secret key.
    spares: bool,
}

enum Sink {
    File(AtomicFile),
    Buffered(BufferedOutput),
    Memory(Vec<u8>, Buffer),
    Stream(Box<dyn Write + Send>),
}

/// Receives the bytes of a complete output in memory.
#[derive(Debug, Clone, Default)]
pub struct Buffer(Arc<Mutex<Vec<u8>>>);

impl Buffer {
    /// Takes the bytes; empty before the output is complete and after an earlier call.
    #[must_use]
    pub fn take(&self) -> Vec<u8> {
        std::mem::take(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn set(&self, bytes: Vec<u8>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = bytes;
    }
}

homaes_wire::debug_fields!(Output, path);

impl Output {
    /// Reserves `path`; `force` allows replacing an existing file, but no secret key. The new file has no more
    /// permissions than the old one.
    ///
    /// # Errors
    /// `ErrorKind::AlreadyExists`, `ErrorKind::HoldsSecretKey` or [`Error::Io`].
    pub fn create(path: impl AsRef<Path>, force: bool) -> Result<Self> {
        let private = false;
        Self::sparing(path.as_ref(), OutputOptions { force, private })
    }

    /// As [`create`](Self::create), readable and writable by the owner alone (mode 0600 on Unix) from the first byte
    /// on, for plaintexts and keys.
    pub fn private(path: impl AsRef<Path>, force: bool) -> Result<Self> {
        let private = true;
        Self::sparing(path.as_ref(), OutputOptions { force, private })
    }

    fn sparing(path: &Path, options: OutputOptions) -> Result<Self> {
        spare_secret_key(path, options.force)?;
        Self::reserve(path, true, || AtomicFile::create(path, options).at(path))
    }

    /// As [`private`](Self::private), for a secret key, which may replace another.
    pub(crate) fn replacing(path: &Path, force: bool) -> Result<Self> {
        let private = true;
        let options = OutputOptions { force, private };
        Self::reserve(path, false, || AtomicFile::create(path, options).at(path))
    }

    fn reserve(
        path: &Path,
        spares: bool,
        make: impl FnOnce() -> Result<AtomicFile>,
    ) -> Result<Self> {
        refuse_unfinished_name(path)?;
        let _gate = gate();
        let file = make()?;
        Ok(Self {
            path: file.target().to_owned(),
            sink: Sink::File(file),
            spares,
        })
    }

    fn without_file(path: impl Into<PathBuf>, sink: Sink) -> Self {
        Self {
            path: path.into(),
            sink,
            spares: false,
        }
    }

    /// An output held in memory, overwritten when dropped, and given to `writer` when complete. `name` names it in
    /// errors. For messages, which are secret and must be whole.
    pub fn held(name: impl Into<PathBuf>, writer: impl Write + Send + 'static) -> Self {
        let held = BufferedOutput {
            parts: Vec::new(),
            writer: Box::new(writer),
        };
        Self::without_file(name, Sink::Buffered(held))
    }

    /// An output in memory, which the buffer receives when it is complete. For ciphertexts: it is not overwritten.
    #[must_use]
    pub fn memory() -> (Self, Buffer) {
        let buffer = Buffer::default();
        let sink = Sink::Memory(Vec::new(), buffer.clone());
        (Self::without_file("<memory>", sink), buffer)
    }

    /// An output that streams to `writer`; a failed run leaves its first part. The header of a `.hct` file states the
    /// length, so a reader notices. `name` names the output in errors.
    pub fn stream(name: impl Into<PathBuf>, writer: impl Write + Send + 'static) -> Self {
        Self::without_file(name, Sink::Stream(Box::new(writer)))
    }

    /// Whether it is a file.
    #[must_use]
    pub fn is_file(&self) -> bool {
        matches!(self.sink, Sink::File(_))
    }

    /// The file's path with links resolved, or the name of an output without a file.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Whether both will be one file.
    #[must_use]
    pub fn is_same(&self, other: &Self) -> bool {
        matches!(other.sink, Sink::File(_)) && self.is_at(&other.path)
    }

    /// Whether it will be the file at `path`; a link at `path` itself is not followed.
    #[must_use]
    pub fn is_at(&self, path: &Path) -> bool {
        self.is_file() && is_one_place(&self.path, path)
    }

    /// As [`refuse_own_input`]; an output without a file replaces nothing.
    pub(crate) fn refuse_own_input<'p>(
        &self,
        inputs: impl IntoIterator<Item = &'p Path>,
    ) -> Result<()> {
        match self.is_file() {
            true => refuse_own_input(&self.path, inputs),
            false => Ok(()),
        }
    }

    /// As [`create`](Self::create) or [`private`](Self::private), under a name that stays when the run is stopped and
    /// whose content the next run finds. Replaces nothing.
    pub(crate) fn resumed(path: &Path, private: bool) -> Result<Self> {
        Self::resumed_as(path, false, private, unfinished_path)
    }

    pub(crate) fn resumed_as(
        path: &Path,
        force: bool,
        private: bool,
        unfinished: fn(&Path) -> PathBuf,
    ) -> Result<Self> {
        if !private {
            spare_secret_key(path, force)?;
        }
        let options = OutputOptions { force, private };
        Self::reserve(path, !private, || {
            AtomicFile::resume_as(path, options, unfinished).map_err(|source| match source {
                // the user must find this file to remove it
                WireError::Io { path, source } => Error::io(&path, source),
                source => Error::file(path, source),
            })
        })
    }

    /// Refuses to replace a secret key that appeared meanwhile.
    fn spare(&self) -> Result<()> {
        match &self.sink {
            Sink::File(file) if self.spares => spare_secret_key(&self.path, file.replaces()),
            _ => Ok(()),
        }
    }

    /// Continues a container after `front`, or starts one.
    pub(crate) fn rest_of(mut self, header: Header, front: Option<&Front>) -> Result<Container> {
        let path = self.path.clone();
        if self.is_file() || front.is_some() {
            self.cut(front.map_or(0, Front::bytes))?;
        }
        if let Sink::Memory(bytes, _) = &mut self.sink {
            // reserved at once, so that growing moves nothing
            let wanted = header.file_bytes();
            let len = usize::try_from(wanted).unwrap_or(usize::MAX);
            let room = bytes.try_reserve_exact(len);
            room.map_err(|_| Error::Memory { wanted })?;
        }
        let writer = match front {
            Some(front) => Writer::resume(self, header, front),
            None => Writer::new(self, header).at(&path)?,
        };
        Ok(Container { writer, path })
    }

    pub(crate) fn container(self, header: Header) -> Result<Container> {
        self.rest_of(header, None)
    }

    /// Truncates a [`resumed`](Self::resumed) file to `bytes`, where writing continues.
    pub(crate) fn cut(&mut self, bytes: u64) -> Result<()> {
        match &mut self.sink {
            Sink::File(file) => file.cut(bytes).at(&self.path),
            _ => Err(self.no_file()),
        }
    }

    /// Writes a file's content to the disk.
    pub(crate) fn sync_data(&mut self) -> Result<()> {
        match &mut self.sink {
            Sink::File(file) => file.sync_data().at(&self.path),
            _ => Ok(()),
        }
    }

    /// The content of a [`resumed`](Self::resumed) file.
    pub(crate) fn written(&self) -> Result<fs::File> {
        match &self.sink {
            Sink::File(file) => file.written().at(&self.path),
            _ => Err(self.no_file()),
        }
    }

    fn no_file(&self) -> Error {
        let source = io::Error::new(io::ErrorKind::InvalidInput, "not a file");
        Error::io(&self.path, source)
    }

    /// The completely written file.
    pub(crate) fn whole(self) -> Result<AtomicFile> {
        match self.sink {
            Sink::File(file) => Ok(file),
            _ => Err(self.no_file()),
        }
    }

    /// The completely written file, on the disk but without its name.
    pub(crate) fn synced(self) -> Result<AtomicFile> {
        let path = self.path.clone();
        let mut file = self.whole()?;
        file.sync().at(&path)?;
        Ok(file)
    }

    /// Names the file, or hands over the held bytes: the output is complete.
    ///
    /// # Errors
    /// `ErrorKind::AlreadyExists` or `ErrorKind::HoldsSecretKey` if such a file appeared meanwhile, [`Error::Io`].
    pub fn commit(self) -> Result<()> {
        self.spare()?;
        let Self { path, sink, .. } = self;
        match sink {
            Sink::File(file) => {
                let committed = completing(1, || file.commit());
                committed.at(&path)
            }
            Sink::Buffered(held) => held.hand_over().at(&path),
            Sink::Memory(bytes, buffer) => {
                buffer.set(bytes);
                Ok(())
            }
            Sink::Stream(mut writer) => writer.flush().at(&path),
        }
    }

    /// Completes this output and then `second`, which must be a file; an [`interrupt`] comes before or after both. If
    /// the second fails, the first is removed, unless it was handed over.
    pub(crate) fn commit_with(self, second: Self) -> Result<()> {
        if !self.is_file() {
            self.commit()?;
            return second.commit();
        }
        self.spare()?;
        second.spare()?;
        let [path, second_path] = [&self, &second].map(|output| output.path.clone());
        let (first, second) = (self.whole()?, second.whole()?);
        completing(2, || {
            first.commit().at(&path)?;
            second.commit().map_err(|source| {
                // the first error is reported
                let _ = fs::remove_file(&path);
                Error::file(&second_path, source)
            })
        })
    }
}

/// Whether file systems of this system take names that differ in case for one.
pub(crate) const FOLDS_CASE: bool = cfg!(any(windows, target_vendor = "apple"));

/// Whether two paths name one file. The folders must exist, the file need not; a link at the path itself is not
/// followed.
pub(crate) fn is_one_place(a: &Path, b: &Path) -> bool {
    match (absolute(a), absolute(b)) {
        (Some(a), Some(b)) if FOLDS_CASE => {
            a.to_string_lossy().to_lowercase() == b.to_string_lossy().to_lowercase()
        }
        (Some(a), Some(b)) => a == b,
        _ => false,
    }
}

fn absolute(path: &Path) -> Option<PathBuf> {
    let folder = folder_of(path).canonicalize().ok()?;
    Some(folder.join(path.file_name()?))
}

pub(crate) fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    }
}

const PART_BYTES: usize = 1 << 16;

struct BufferedOutput {
    /// Each has the capacity [`PART_BYTES`] from the start, so that growing leaves no copies.
    parts: Vec<Zeroizing<Vec<u8>>>,
    writer: Box<dyn Write + Send>,
}

impl BufferedOutput {
    fn hold(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let room = |part: &Zeroizing<Vec<u8>>| part.capacity() - part.len();
        if self.parts.last().is_none_or(|part| room(part) == 0) {
            let mut part = Zeroizing::new(Vec::new());
            part.try_reserve_exact(PART_BYTES)?;
            self.parts.push(part);
        }
        let Some(part) = self.parts.last_mut() else {
            return Ok(0);
        };
        let count = bytes.len().min(room(part));
        part.extend_from_slice(&bytes[..count]);
        Ok(count)
    }

    fn hand_over(mut self) -> io::Result<()> {
        for part in &self.parts {
            self.writer.write_all(part)?;
        }
        self.writer.flush()
    }
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut self.sink {
            Sink::File(file) => file.write(bytes),
            Sink::Buffered(held) => held.hold(bytes),
            Sink::Memory(all, _) => {
                all.try_reserve(bytes.len())?;
                all.extend_from_slice(bytes);
                Ok(bytes.len())
            }
            Sink::Stream(writer) => writer.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match &mut self.sink {
            Sink::File(file) => file.flush(),
            Sink::Buffered(_) | Sink::Memory(..) => Ok(()),
            Sink::Stream(writer) => writer.flush(),
        }
    }
}

pub(crate) struct Container {
    writer: Writer<Output>,
    path: PathBuf,
}

impl Container {
    pub(crate) fn header(&self) -> &Header {
        self.writer.header()
    }

    pub(crate) fn checksum(&self) -> [u8; CHECKSUM_BYTES] {
        self.writer.checksum()
    }

    pub(crate) fn sync_data(&mut self) -> Result<()> {
        self.writer.output().sync_data()
    }

    pub(crate) fn record(&mut self, tag: u16, index: u64, body: &[u8]) -> Result<()> {
        self.writer.write_record(tag, index, body).at(&self.path)
    }

    pub(crate) fn commit(self) -> Result<()> {
        self.writer.finish().at(&self.path)?.commit()
    }

    pub(crate) fn records_left(&self) -> u64 {
        self.writer.records_left()
    }

    /// The complete file, on the disk but without its name.
    pub(crate) fn synced(self) -> Result<AtomicFile> {
        self.writer.finish().at(&self.path)?.synced()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{KeySet, Set};

    #[test]
    fn an_unused_folder_goes_with_its_parents_and_a_used_one_stays() {
        let base = tempfile::tempdir().unwrap();
        let deep = base.path().join("a/b");
        drop(Folder::create(&deep).unwrap());
        assert!(!base.path().join("a").exists() && base.path().exists());
        let folder = Folder::create(&deep).unwrap();
        let file = Output::create(deep.join("f"), false).unwrap();
        file.commit().unwrap();
        drop(folder);
        assert!(deep.join("f").exists());
        // nor is a folder made below a file
        assert!(Folder::create(&deep.join("f/a")).is_err());
        assert!(Output::create(deep.join("f/a"), false).is_err());
        assert!(deep.join("f").exists());
    }

    #[test]
    fn a_secret_key_is_not_replaced() {
        let base = tempfile::tempdir().unwrap();
        let path = base.path().join("k");
        let keys = KeySet::generate(&Set::named("bgv/toy-255").unwrap()).unwrap();
        keys.secret.save(&path, false, None).unwrap();
        for make in [Output::create, Output::private] {
            let error = make(&path, true).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::HoldsSecretKey, "{error}");
            let error = make(&path, false).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::AlreadyExists, "{error}");
        }
        keys.secret.save(&path, true, None).unwrap();
        fs::write(&path, "no key").unwrap();
        Output::create(&path, true).unwrap().commit().unwrap();
    }

    #[test]
    fn one_file_under_two_names_is_found() {
        let base = tempfile::tempdir().unwrap();
        fs::create_dir(base.path().join("a")).unwrap();
        let at = |name: &str| Output::create(base.path().join(name), false).unwrap();
        let (plain, round, other) = (at("x"), at("a/../x"), at("a/x"));
        assert!(plain.is_same(&round) && !plain.is_same(&other));
        let held = || Output::held("x", io::sink());
        assert!(!held().is_same(&held()));
    }

    #[test]
    fn what_is_held_is_handed_over_at_the_end() {
        let bytes: Vec<u8> = (0..3 * PART_BYTES + 7).map(|i| (i % 251) as u8).collect();
        let file = tempfile::NamedTempFile::new().unwrap();
        let received = |commit: bool| {
            let writer = fs::File::create(file.path()).unwrap();
            let mut output = Output::held("file", writer);
            output.write_all(&bytes[..10]).unwrap();
            output.write_all(&bytes[10..]).unwrap();
            match commit {
                true => output.commit().unwrap(),
                false => drop(output),
            }
            fs::read(file.path()).unwrap()
        };
        assert!(received(true) == bytes && received(false).is_empty());
    }

    #[test]
    fn of_two_files_both_appear_or_none() {
        let folder = tempfile::tempdir().unwrap();
        let [a, b] = ["a", "b"].map(|name| folder.path().join(name));
        let files = || [&a, &b].map(|path| Output::create(path, false).unwrap());
        let [first, second] = files();
        fs::write(&b, b"taken").unwrap();
        let error = first.commit_with(second).unwrap_err();
        assert_eq!(
            (error.kind(), error.path()),
            (ErrorKind::AlreadyExists, Some(&*b))
        );
        assert!(!a.exists() && fs::read(&b).unwrap() == b"taken");
        fs::remove_file(&b).unwrap();
        let [first, second] = files();
        first.commit_with(second).unwrap();
        assert!(a.exists() && b.exists());
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2);
    }
}
