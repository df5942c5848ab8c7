//! Output that appears whole or not at all, also when the program is stopped by a signal.
//!
//! Files get their names only while [`GATE`] is held. [`interrupt`] takes it and never gives it back, so no file appears
//! after it.

mod folder;

pub(crate) use folder::Folder;

use crate::error::At;
use crate::{Error, Result};
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

/// Held while names appear.
static GATE: Mutex<Gate> = Mutex::new(Gate {
    completed: 0,
    folders: Vec::new(),
});

struct Gate {
    /// Outputs of this process that are complete.
    completed: usize,
    /// Folders made for outputs that are not there yet, the innermost first.
    folders: Vec<PathBuf>,
}

fn gate() -> MutexGuard<'static, Gate> {
    // Both are sound after a panic elsewhere.
    GATE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Removes every unfinished output of this process and lets no further one appear: the last call before an exit on a
/// signal. Outputs that are being completed at this moment are completed first; the result is how many outputs this
/// process has completed in all.
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

/// What names end with of what runs that go on have beside their outputs.
pub(crate) const PART: &str = ".homaes-part";
pub(crate) const JOURNAL: &str = ".homaes-journal";
/// And complete ones.
pub(crate) const DONE: &str = ".homaes-done";

/// Whether a file has the name of an output in the making, or of what a run that goes on has beside it. Such files are no
/// messages: later runs replace them.
#[must_use]
pub fn is_unfinished_name(name: &OsStr) -> bool {
    let bytes = name.as_encoded_bytes();
    let beside = |end: &str| bytes.starts_with(b".") && bytes.ends_with(end.as_bytes());
    is_temporary_name(name) || beside(PART) || beside(JOURNAL) || beside(DONE)
}

/// Refuses a file with such a name, for an output or an input: a later run, or the run itself, would remove it.
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

/// What files of client keys of the crate `tfhe` have in their first bytes, after the versions of the format.
const CLIENT_KEY: &[u8] = b"high_level_api::ClientKey";

/// Whether a file starts as a client key of the crate `tfhe`.
fn is_client_key(path: &Path) -> bool {
    let mut head = Vec::new();
    let read = fs::File::open(path).and_then(|file| file.take(128).read_to_end(&mut head));
    read.is_ok()
        && head
            .windows(CLIENT_KEY.len())
            .any(|part| part == CLIENT_KEY)
}

/// Refuses a path at which a secret key is, which `force` would replace.
pub(crate) fn spare_secret_key(path: &Path, force: bool) -> Result<()> {
    let is_key = || Reader::open(path, Kind::SecretKey).is_ok() || is_client_key(path);
    let held = force && path.is_file() && is_key();
    match held {
        true => Err(Error::HoldsSecretKey {
            path: path.to_owned(),
        }),
        false => Ok(()),
    }
}

/// Refuses an output that is one of the files that are read: to replace it, even by `force`, destroys what is read.
///
/// # Errors
/// [`Error::OwnInput`].
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
        true => Err(Error::OwnInput {
            path: out.to_owned(),
        }),
        false => Ok(()),
    }
}

/// Runs `complete`, which gives `count` outputs their names: together, as far as an [`interrupt`] is concerned.
pub(crate) fn completing<T, E>(
    count: usize,
    complete: impl FnOnce() -> Result<T, E>,
) -> Result<T, E> {
    let mut gate = gate();
    let done = complete()?;
    gate.completed += count;
    Ok(done)
}

/// A file that gets its name when it is complete, and is gone if it is dropped before.
///
/// Reserve outputs before long work: an existing file or an unwritable folder is found here.
#[derive(Debug)]
pub struct Output {
    path: PathBuf,
    sink: Sink,
    /// Whether it must not take the place of a secret key.
    spares: bool,
}

/// Where the bytes go.
enum Sink {
    File(AtomicFile),
    Buffered(BufferedOutput),
    Memory(Vec<u8>, Buffer),
    Stream(Box<dyn Write + Send>),
}

/// Where an output in memory is when it is complete.
#[derive(Debug, Clone, Default)]
pub struct Buffer(Arc<Mutex<Vec<u8>>>);

impl Buffer {
    /// Its bytes: none before it is complete, and after they were taken.
    #[must_use]
    pub fn take(&self) -> Vec<u8> {
        std::mem::take(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn set(&self, bytes: Vec<u8>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = bytes;
    }
}

impl core::fmt::Debug for Sink {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Self::File(file) => file.fmt(f),
            Self::Buffered(_) => f.write_str("Buffered"),
            Self::Memory(..) => f.write_str("Memory"),
            Self::Stream(_) => f.write_str("Stream"),
        }
    }
}

impl Output {
    /// Reserves `path`; `force` allows to replace an existing file, but no secret key. The new file allows no more than the old one did.
    ///
    /// # Errors
    /// [`Error::AlreadyExists`], [`Error::HoldsSecretKey`] or [`Error::Io`].
    pub fn create(path: impl AsRef<Path>, force: bool) -> Result<Self> {
        let private = false;
        Self::sparing(path.as_ref(), OutputOptions { force, private })
    }

    /// As [`create`](Self::create), readable and writable by the owner alone (mode 0600 on Unix) from the first byte on: for
    /// plaintexts and keys.
    ///
    /// # Errors
    /// As [`create`](Self::create).
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

    /// An output without a file: it is held in memory, overwritten when dropped, and goes to `writer` when it is
    /// complete. `name` names it in errors. For messages, which are secret and must be whole.
    pub fn held(name: impl Into<PathBuf>, writer: impl Write + Send + 'static) -> Self {
        let held = BufferedOutput {
            parts: Vec::new(),
            writer: Box::new(writer),
        };
        Self::without_file(name, Sink::Buffered(held))
    }

    /// An output in memory: it is in the buffer when it is complete. For ciphertexts; it is not overwritten when it is dropped.
    #[must_use]
    pub fn memory() -> (Self, Buffer) {
        let buffer = Buffer::default();
        let sink = Sink::Memory(Vec::new(), buffer.clone());
        (Self::without_file("<memory>", sink), buffer)
    }

    /// An output that goes to `writer` while it is made: of a run that fails, the first part is there. The header of a `.hct` file says how long it is, so that
    /// a reader notices. `name` names it in errors.
    pub fn stream(name: impl Into<PathBuf>, writer: impl Write + Send + 'static) -> Self {
        Self::without_file(name, Sink::Stream(Box::new(writer)))
    }

    /// Whether it is a file, or will be.
    #[must_use]
    pub fn is_file(&self) -> bool {
        matches!(self.sink, Sink::File(_))
    }

    /// Where the file will be, with links resolved; the name of an output without a file.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Whether both will be one file.
    #[must_use]
    pub fn is_same(&self, other: &Self) -> bool {
        matches!(other.sink, Sink::File(_)) && self.is_at(&other.path)
    }

    /// Whether it will be the file at `path`, links to the file itself not followed.
    #[must_use]
    pub fn is_at(&self, path: &Path) -> bool {
        self.is_file() && is_one_place(&self.path, path)
    }

    /// As [`refuse_own_input`]; what is no file replaces none.
    pub(crate) fn refuse_own_input<'p>(
        &self,
        inputs: impl IntoIterator<Item = &'p Path>,
    ) -> Result<()> {
        match self.is_file() {
            true => refuse_own_input(&self.path, inputs),
            false => Ok(()),
        }
    }

    /// As [`create`](Self::create) or [`private`](Self::private), under a name that stays when the run is stopped: opened
    /// again, what was written is there. Replaces nothing.
    pub(crate) fn resumed(path: &Path, private: bool) -> Result<Self> {
        Self::resumed_as(path, false, private, unfinished_path)
    }

    /// The same under the name that `unfinished` gives.
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
                // named by its own path: it is there to be removed
                WireError::Io { path, source } => Error::io(&path, source),
                source => Error::file(path, source),
            })
        })
    }

    /// Refuses to take the place of a secret key that has come to be there meanwhile.
    fn spare(&self) -> Result<()> {
        match &self.sink {
            Sink::File(file) if self.spares => spare_secret_key(&self.path, file.replaces()),
            _ => Ok(()),
        }
    }

    /// Goes on with a container of which `front` is there; without it, starts one.
    pub(crate) fn rest_of(mut self, header: Header, front: Option<&Front>) -> Result<Container> {
        let path = self.path.clone();
        if self.is_file() || front.is_some() {
            self.cut(front.map_or(0, Front::bytes))?;
        }
        if let Sink::Memory(bytes, _) = &mut self.sink {
            // all of it now, so that nothing is moved while it grows
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

    /// Starts a container of this project.
    pub(crate) fn container(self, header: Header) -> Result<Container> {
        self.rest_of(header, None)
    }

    /// Gives up all but the first `bytes` of a [`resumed`](Self::resumed) file, and goes on writing after them.
    pub(crate) fn cut(&mut self, bytes: u64) -> Result<()> {
        match &mut self.sink {
            Sink::File(file) => file.cut(bytes).at(&self.path),
            _ => Err(self.no_file()),
        }
    }

    /// Writes what there is of a file to the disk.
    pub(crate) fn sync_data(&mut self) -> Result<()> {
        match &mut self.sink {
            Sink::File(file) => file.sync_data().at(&self.path),
            _ => Ok(()),
        }
    }

    /// What is there of a [`resumed`](Self::resumed) file.
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

    /// The file, of which everything was written.
    pub(crate) fn whole(self) -> Result<AtomicFile> {
        match self.sink {
            Sink::File(file) => Ok(file),
            _ => Err(self.no_file()),
        }
    }

    /// Gives the file its name, or hands over what was held: it is complete.
    ///
    /// # Errors
    /// [`Error::AlreadyExists`] or [`Error::HoldsSecretKey`] if something has come to be there meanwhile, [`Error::Io`].
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

    /// Completes this output and then `second`, which must be a file: together, as far as an [`interrupt`] is concerned. If the
    /// second fails, the first is removed; what was handed over cannot be taken back.
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
                // The first error is the one to report.
                let _ = fs::remove_file(&path);
                Error::file(&second_path, source)
            })
        })
    }
}

/// Whether two paths name one file. Their folders must exist, the file need not; links to the file itself are not followed.
pub(crate) fn is_one_place(a: &Path, b: &Path) -> bool {
    match (absolute(a), absolute(b)) {
        (Some(a), Some(b)) => a == b,
        _ => false,
    }
}

/// The path of a file that need not exist, in a folder that does.
fn absolute(path: &Path) -> Option<PathBuf> {
    let folder = folder_of(path).canonicalize().ok()?;
    Some(folder.join(path.file_name()?))
}

/// The folder that a file is in, by its path.
pub(crate) fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    }
}

/// Bytes of one part of what is held.
const PART_BYTES: usize = 1 << 16;

/// Bytes that wait until all of them are there.
struct BufferedOutput {
    /// Each of [`PART_BYTES`] and never larger, so that no copy of it is left behind.
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

/// An [`Output`] with a header and records.
pub(crate) struct Container {
    writer: Writer<Output>,
    path: PathBuf,
}

impl Container {
    pub(crate) fn header(&self) -> &Header {
        self.writer.header()
    }

    /// The checksum of the last record.
    pub(crate) fn checksum(&self) -> [u8; CHECKSUM_BYTES] {
        self.writer.checksum()
    }

    /// Writes what there is of a file to the disk.
    pub(crate) fn sync_data(&mut self) -> Result<()> {
        self.writer.output().sync_data()
    }

    pub(crate) fn record(&mut self, tag: u16, index: u64, body: &[u8]) -> Result<()> {
        self.writer.write_record(tag, index, body).at(&self.path)
    }

    /// Gives the file its name.
    pub(crate) fn commit(self) -> Result<()> {
        let Self { writer, path } = self;
        let output = writer.finish().at(&path)?;
        output.commit()
    }

    /// Records that are not yet written.
    pub(crate) fn records_left(&self) -> u64 {
        self.writer.records_left()
    }

    /// The file, complete and on the disk, still without its name.
    pub(crate) fn synced(self) -> Result<AtomicFile> {
        let Self { writer, path } = self;
        let output = writer.finish();
        let mut file = output.at(&path)?.whole()?;
        file.sync().at(&path)?;
        Ok(file)
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
        // nor is one made below a file
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
            assert!(matches!(error, Error::HoldsSecretKey { .. }), "{error}");
            let error = make(&path, false).unwrap_err();
            assert!(matches!(error, Error::AlreadyExists { .. }), "{error}");
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
        let received = |commit: bool| {
            let (mut reader, writer) = io::pipe().unwrap();
            let reader = std::thread::spawn(move || {
                let mut received = Vec::new();
                reader.read_to_end(&mut received).unwrap();
                received
            });
            let mut output = Output::held("pipe", writer);
            output.write_all(&bytes[..10]).unwrap();
            output.write_all(&bytes[10..]).unwrap();
            match commit {
                true => output.commit().unwrap(),
                false => drop(output),
            }
            reader.join().unwrap()
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
        assert!(matches!(error, Error::AlreadyExists { path } if path == b));
        assert!(!a.exists() && fs::read(&b).unwrap() == b"taken");
        fs::remove_file(&b).unwrap();
        let [first, second] = files();
        first.commit_with(second).unwrap();
        assert!(a.exists() && b.exists());
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2);
    }
}
