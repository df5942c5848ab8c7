//! Where keys and results are: in a file, in memory, or in the shards of a job.

use crate::arguments::{buffer, path_or_bytes};
use crate::errors::raise;
use crate::wait;
use homaes::{
    Cancel, DecryptOptions, DecryptReport, Error, ErrorKind, Memory, Output, Reopened, SecretKey,
    Source,
};
use homaes_job::{Job, JobError, Location};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::PyBytes;
use std::fs;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

/// Results of a run, in a file or in memory, or of a job.
#[derive(Clone)]
pub(crate) enum Origin {
    File(Place),
    Job(Arc<Job>),
}

impl Origin {
    /// Of an object that names a file or the folder of a job.
    pub(crate) fn named(object: &Bound<'_, PyAny>) -> PyResult<Self> {
        match Place::of(object)? {
            Place::File(file) if file.path.join("job.json").is_file() => {
                let location = Location::Local(file.path.clone());
                let job = object.py().detach(|| Job::open(location)).map_err(raise)?;
                Ok(Self::Job(job.into()))
            }
            place => Ok(Self::File(place)),
        }
    }

    /// All bytes of the file.
    pub(crate) fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let bytes = match self.clone() {
            Self::File(place) => return place.to_bytes(py),
            Self::Job(job) => wait::read(py, move |cancel| {
                let (output, buffer) = Output::memory();
                job.merge(output, cancel).map(|()| buffer.take())
            })?,
        };
        Ok(PyBytes::new(py, &bytes))
    }

    /// Writes the file.
    pub(crate) fn save(&self, py: Python<'_>, path: PathBuf, force: bool) -> PyResult<()> {
        let origin = self.clone();
        wait::write(py, move |cancel| {
            origin.refuse_output(&path)?;
            let mut output = Output::create(&path, force)?;
            let error = |source| Error::Io {
                path: path.clone(),
                source,
            };
            match origin {
                Self::Job(job) => return job.merge(output, cancel),
                Self::File(Place::Bytes(bytes)) => {
                    output.write_all(bytes.as_ref()).map_err(error)?;
                }
                Self::File(Place::File(from)) => {
                    let path = from.path.clone();
                    let file = fs::File::open(&path);
                    let inner = file.map_err(|source| Error::Io { path, source })?;
                    from.check()?;
                    let cancel = cancel.clone();
                    io::copy(&mut Cancellable { inner, cancel }, &mut output).map_err(error)?;
                    from.check()?;
                }
            }
            Ok::<_, JobError>(output.commit()?)
        })
    }

    /// Decrypts them into `output`, which does not appear after a cancellation.
    pub(crate) fn decrypt(
        &self,
        secret: &SecretKey,
        output: Output,
        options: DecryptOptions<'_>,
        cancel: &Cancel,
    ) -> Result<DecryptReport, JobError> {
        if output.is_file() {
            self.refuse_output(output.path())?;
        }
        Ok(secret.decrypt_from(self.open(cancel)?, output, options)?)
    }

    /// Decrypts their parts into files in a folder; no file appears after a cancellation. `force`: replace files.
    pub(crate) fn decrypt_parts(
        &self,
        secret: &SecretKey,
        (folder, force): (&Path, bool),
        options: DecryptOptions<'_>,
        cancel: &Cancel,
    ) -> Result<Vec<(String, DecryptReport)>, JobError> {
        self.refuse_output(folder)?;
        let open = self.open(cancel)?;
        let names = open.meta().parts.iter();
        for name in names.filter_map(|part| part.name.as_ref()) {
            self.refuse_output(&folder.join(name))?;
        }
        Ok(secret.decrypt_parts_from(open, folder, force, options)?)
    }

    /// Refuses an output that would replace them.
    pub(crate) fn refuse_output(&self, path: &Path) -> Result<(), JobError> {
        match self {
            Self::File(Place::File(file)) => Ok(homaes::refuse_own_input(path, [&*file.path])?),
            Self::File(Place::Bytes(_)) => Ok(()),
            Self::Job(job) => Ok(job.refuse_output(path)?),
        }
    }

    /// Reads their front; `cancel` ends reading.
    pub(crate) fn open(&self, cancel: &Cancel) -> Result<homaes::Ciphertexts<'static>, JobError> {
        let cancel = cancel.clone();
        Ok(match self {
            Self::File(Place::File(file)) => {
                let inner = Reopened::new(&file.path)?;
                file.check()?;
                homaes::Ciphertexts::of_source(Cancellable { inner, cancel })?
            }
            Self::File(Place::Bytes(bytes)) => {
                let inner = Memory::new(bytes.clone(), "<memory>");
                homaes::Ciphertexts::of_source(Cancellable { inner, cancel })?
            }
            Self::Job(job) => {
                let inner = Job::shared_results(job)?;
                let name = job.location().to_string();
                homaes::Ciphertexts::of_read(Cancellable { inner, cancel }, name)?
            }
        })
    }
}

/// A path, or bytes.
#[derive(Clone)]
pub(crate) enum Place {
    File(Opened),
    Bytes(Shared),
}

/// A file: its absolute path, and a stamp of the file at opening.
#[derive(Clone)]
pub(crate) struct Opened {
    pub(crate) path: PathBuf,
    /// The path as it was passed, for reading at once.
    pub(crate) given: PathBuf,
    stamp: Option<Stamp>,
}

/// Metadata that differ once the file is replaced.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Stamp {
    bytes: u64,
    modified: Option<SystemTime>,
    /// device, inode, and time of the last change of the inode
    #[cfg(unix)]
    entry: (u64, u64, i64, i64),
}

impl Opened {
    pub(crate) fn new(given: &Path) -> Self {
        let path = std::path::absolute(given).unwrap_or_else(|_| given.to_owned());
        let (stamp, given) = (Stamp::of(&path), given.to_owned());
        Self { path, given, stamp }
    }

    /// All of it, if it has not changed since it was opened.
    pub(crate) fn read(&self) -> homaes::Result<Vec<u8>> {
        // a pipe in its place would block until a writer opens it
        self.check()?;
        let bytes = fs::read(&self.path).map_err(|source| Error::Io {
            path: self.path.clone(),
            source,
        })?;
        self.check()?;
        Ok(bytes)
    }

    /// Refuses a file that has changed since it was opened.
    pub(crate) fn check(&self) -> homaes::Result<()> {
        match Stamp::of(&self.path) == self.stamp {
            true => Ok(()),
            false => {
                let message = "the file has changed since it was opened";
                Err(Error::refused(ErrorKind::Changed, message).at(&self.path))
            }
        }
    }
}

impl Stamp {
    /// `None` if there is no file.
    fn of(path: &Path) -> Option<Self> {
        let found = fs::metadata(path).ok()?;
        Some(Self {
            bytes: found.len(),
            modified: found.modified().ok(),
            #[cfg(unix)]
            entry: {
                use std::os::unix::fs::MetadataExt;
                (found.dev(), found.ino(), found.ctime(), found.ctime_nsec())
            },
        })
    }
}

/// Bytes that several objects share.
#[derive(Clone)]
pub(crate) struct Shared(Arc<dyn AsRef<[u8]> + Send + Sync>);

impl AsRef<[u8]> for Shared {
    fn as_ref(&self) -> &[u8] {
        (*self.0).as_ref()
    }
}

impl Place {
    /// The file or bytes that an object names.
    pub(crate) fn of(object: &Bound<'_, PyAny>) -> PyResult<Self> {
        if let Ok(bytes) = object.cast::<PyBytes>() {
            return Ok(Self::memory(PyBackedBytes::from(bytes.clone())));
        }
        Ok(match buffer(object)? {
            // a copy, because an object such as a bytearray may change
            Some(buffer) => Self::memory(buffer.to_vec(object.py())?),
            None => Self::File(Opened::new(&path_or_bytes(object, true)?)),
        })
    }

    pub(crate) fn memory(bytes: impl AsRef<[u8]> + Send + Sync + 'static) -> Self {
        Self::Bytes(Shared(Arc::new(bytes)))
    }

    /// All bytes.
    pub(crate) fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        match self {
            Self::Bytes(bytes) => Ok(PyBytes::new(py, bytes.as_ref())),
            Self::File(file) => {
                let file = file.clone();
                let bytes = wait::read(py, move |_| file.read())?;
                Ok(PyBytes::new(py, &bytes))
            }
        }
    }

    /// The path, if it is a file.
    pub(crate) fn path(&self) -> Option<PathBuf> {
        match self {
            Self::File(file) => Some(file.path.clone()),
            Self::Bytes(_) => None,
        }
    }

    /// Refuses a file that has changed since it was opened.
    pub(crate) fn check(&self) -> homaes::Result<()> {
        match self {
            Self::File(file) => file.check(),
            Self::Bytes(_) => Ok(()),
        }
    }
}

/// A source whose reads fail once `cancel` is set.
pub(crate) struct Cancellable<S> {
    pub(crate) inner: S,
    pub(crate) cancel: Cancel,
}

impl<S> Cancellable<S> {
    fn check(&self) -> io::Result<()> {
        match self.cancel.is_cancelled() {
            true => Err(io::Error::other("cancelled")),
            false => Ok(()),
        }
    }
}

impl<S: Source> Source for Cancellable<S> {
    fn name(&self) -> &Path {
        self.inner.name()
    }

    fn bytes(&self) -> u64 {
        self.inner.bytes()
    }

    fn read_at(&self, offset: u64, into: &mut [u8]) -> io::Result<()> {
        self.check()?;
        self.inner.read_at(offset, into)
    }

    fn is_whole(&self) -> io::Result<bool> {
        self.inner.is_whole()
    }
}

impl<S: Read> Read for Cancellable<S> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        self.check()?;
        self.inner.read(into)
    }
}
