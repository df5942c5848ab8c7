//! Sources of AES ciphertext, read by offset.

use crate::error::At;
use crate::{Error, Result};
use std::fs::{self, File, Metadata};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

/// Bytes that are read by offset and whose number is known: a file, memory, an object in a store.
///
/// Repeated reads must give the same bytes, because resumed runs and other workers read them again.
pub trait Source: Send + Sync {
    /// Names it in errors.
    fn name(&self) -> &Path;

    /// Number of bytes.
    fn bytes(&self) -> u64;

    /// Fills `into` with the bytes from `offset` on.
    ///
    /// # Errors
    /// [`io::ErrorKind::UnexpectedEof`] if there are too few.
    fn read_at(&self, offset: u64, into: &mut [u8]) -> io::Result<()>;

    /// Whether the source is unchanged since the start, as far as it can tell: by its length and, for a file, the time
    /// of its last modification. Called at the end of a run.
    ///
    /// # Errors
    /// If this cannot be found out.
    fn is_whole(&self) -> io::Result<bool> {
        Ok(true)
    }
}

/// A regular file.
#[derive(Debug)]
pub struct FileSource {
    file: File,
    path: PathBuf,
    stamp: Stamp,
}

/// Changes when somebody writes to the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Stamp {
    bytes: u64,
    /// `None` if the system has no such time.
    modified: Option<SystemTime>,
}

impl Stamp {
    fn of(found: &Metadata) -> Self {
        Self {
            bytes: found.len(),
            modified: found.modified().ok(),
        }
    }
}

impl FileSource {
    /// Opens a regular file.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub fn open(path: &Path) -> Result<Self> {
        // first: opening a pipe would wait for its writer
        if !fs::metadata(path).at(path)?.is_file() {
            return Err(not_regular(path));
        }
        Self::of(File::open(path).at(path)?, path)
    }

    /// An open regular file; `path` names it in errors.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub fn of(file: File, path: &Path) -> Result<Self> {
        let data = file.metadata().at(path)?;
        match data.is_file() {
            true => Ok(Self {
                file,
                path: path.to_owned(),
                stamp: Stamp::of(&data),
            }),
            false => Err(not_regular(path)),
        }
    }
}

pub(crate) const NOT_REGULAR: &str = "not a regular file";

fn not_regular(path: &Path) -> Error {
    let error = io::Error::new(io::ErrorKind::InvalidInput, NOT_REGULAR);
    Error::io(path, error)
}

impl Source for FileSource {
    fn name(&self) -> &Path {
        &self.path
    }

    fn bytes(&self) -> u64 {
        self.stamp.bytes
    }

    /// One at a time, where the system moves a file's position for it.
    fn read_at(&self, offset: u64, into: &mut [u8]) -> io::Result<()> {
        homaes_wire::read_exact_at(&self.file, into, offset)
    }

    fn is_whole(&self) -> io::Result<bool> {
        Ok(Stamp::of(&self.file.metadata()?) == self.stamp)
    }
}

/// A regular file that is opened for each read, for messages of more files than a process may have open.
#[derive(Debug, Clone)]
pub struct Reopened {
    path: PathBuf,
    stamp: Stamp,
}

impl Reopened {
    /// The file at `path`.
    ///
    /// # Errors
    /// [`Error::Io`] if it is not a regular file or cannot be read.
    pub fn new(path: impl Into<PathBuf>) -> Result<Self> {
        let path = path.into();
        let stamp = FileSource::open(&path)?.stamp;
        Ok(Self { path, stamp })
    }
}

impl Source for Reopened {
    fn name(&self) -> &Path {
        &self.path
    }

    fn bytes(&self) -> u64 {
        self.stamp.bytes
    }

    fn read_at(&self, offset: u64, into: &mut [u8]) -> io::Result<()> {
        // opening a pipe that replaced the file would wait for a writer
        if !fs::metadata(&self.path)?.is_file() {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, NOT_REGULAR));
        }
        homaes_wire::read_exact_at(&File::open(&self.path)?, into, offset)
    }

    fn is_whole(&self) -> io::Result<bool> {
        Ok(Stamp::of(&fs::metadata(&self.path)?) == self.stamp)
    }
}

/// Bytes in memory, such as a vector, a slice or a foreign buffer.
#[derive(Debug, Clone)]
pub struct Memory<B> {
    bytes: B,
    name: PathBuf,
}

impl<B: AsRef<[u8]> + Send + Sync> Memory<B> {
    /// `name` names the bytes in errors.
    pub fn new(bytes: B, name: impl Into<PathBuf>) -> Self {
        let name = name.into();
        Self { bytes, name }
    }
}

impl<B: AsRef<[u8]> + Send + Sync> Source for Memory<B> {
    fn name(&self) -> &Path {
        &self.name
    }

    fn bytes(&self) -> u64 {
        self.bytes.as_ref().len() as u64
    }

    fn read_at(&self, offset: u64, into: &mut [u8]) -> io::Result<()> {
        let found = slice(self.bytes.as_ref(), Some(offset), into.len());
        into.copy_from_slice(found.ok_or(io::ErrorKind::UnexpectedEof)?);
        Ok(())
    }
}

/// `len` of these bytes, if there are so many from `offset` on.
fn slice(bytes: &[u8], offset: Option<u64>, len: usize) -> Option<&[u8]> {
    let start = usize::try_from(offset?).ok()?;
    bytes.get(start..start.checked_add(len)?)
}

/// A source with some of its bytes in memory, from where they are read.
pub(crate) struct CachedSource {
    pub(crate) inner: Arc<dyn Source>,
    /// Their offset.
    pub(crate) from: u64,
    pub(crate) bytes: Vec<u8>,
}

impl Source for CachedSource {
    fn name(&self) -> &Path {
        self.inner.name()
    }

    fn bytes(&self) -> u64 {
        self.inner.bytes()
    }

    fn read_at(&self, offset: u64, into: &mut [u8]) -> io::Result<()> {
        match slice(&self.bytes, offset.checked_sub(self.from), into.len()) {
            Some(held) => into.copy_from_slice(held),
            None => self.inner.read_at(offset, into)?,
        }
        Ok(())
    }

    fn is_whole(&self) -> io::Result<bool> {
        self.inner.is_whole()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_read_by_their_place_and_changes_are_noticed() {
        let bytes: Vec<u8> = (0..100).collect();
        let file = tempfile::NamedTempFile::new().unwrap();
        fs::write(file.path(), &bytes).unwrap();
        let opened = || -> [Box<dyn Source>; 2] {
            let reopened = Reopened::new(file.path()).unwrap();
            [
                Box::new(FileSource::open(file.path()).unwrap()),
                Box::new(reopened),
            ]
        };
        let memory: Box<dyn Source> = Box::new(Memory::new(bytes.clone(), "memory"));
        for source in opened().into_iter().chain([memory]) {
            assert_eq!(source.bytes(), 100);
            for (offset, len) in [(0, 100), (7, 3), (100, 0), (99, 1)] {
                let mut into = vec![0; len];
                source.read_at(offset, &mut into).unwrap();
                assert_eq!(into, bytes[offset as usize..][..len]);
            }
            for (offset, len) in [(0, 101), (100, 1), (u64::MAX, 2)] {
                assert!(source.read_at(offset, &mut vec![0; len]).is_err());
            }
            assert!(source.is_whole().unwrap());
        }
        let before = opened();
        fs::write(file.path(), b"shorter than it was").unwrap();
        assert!(before.iter().all(|source| !source.is_whole().unwrap()));
        // other bytes of the same length
        let before = opened();
        let later = SystemTime::now() + std::time::Duration::from_secs(1);
        file.as_file().set_modified(later).unwrap();
        assert!(before.iter().all(|source| !source.is_whole().unwrap()));
        assert!(FileSource::open(&std::env::temp_dir()).is_err());
    }
}
