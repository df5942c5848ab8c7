//! Where results are: in a file, in memory, or in the shards of a job.

use crate::errors::{raise, refuse};
use crate::place::Place;
use crate::wait;
use homaes::{
    Cancel, DecryptOptions, DecryptReport, Error, Memory, Output, Reopened, SecretKey, Source,
};
use homaes_job::{Job, JobError, Location};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

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
            Place::File(file) if file.path().join("job.json").is_file() => {
                let location = Location::Local(file.path().to_owned());
                let job = object.py().detach(|| Job::open(location)).map_err(raise)?;
                Ok(Self::Job(job.into()))
            }
            place => Ok(Self::File(place)),
        }
    }

    /// The file that holds them.
    pub(crate) fn into_place(self) -> PyResult<Place> {
        match self {
            Self::File(place) => Ok(place),
            Self::Job(_) => Err(refuse(
                "the results of a job, expected computed values (.hcv)",
                "write them with homaes.save_values",
            )),
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
                    let path = from.path().to_owned();
                    let file = std::fs::File::open(&path);
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
        let done = secret.decrypt_from(self.open(cancel)?, output, options);
        match cancel.is_cancelled() {
            true => Err(Error::Cancelled.into()),
            false => Ok(done?),
        }
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
        let done = secret.decrypt_parts_from(open, folder, force, options);
        match cancel.is_cancelled() {
            true => Err(Error::Cancelled.into()),
            false => Ok(done?),
        }
    }

    /// Refuses an output that would replace them.
    fn refuse_output(&self, path: &Path) -> Result<(), JobError> {
        match self {
            Self::File(Place::File(file)) => Ok(homaes::refuse_own_input(path, [file.path()])?),
            Self::File(Place::Bytes(_)) => Ok(()),
            Self::Job(job) => Ok(job.refuse_output(path)?),
        }
    }

    /// Reads their front; `cancel` ends reading.
    pub(crate) fn open(&self, cancel: &Cancel) -> Result<homaes::Ciphertexts<'static>, JobError> {
        let cancel = cancel.clone();
        Ok(match self {
            Self::File(Place::File(file)) => {
                let inner = Reopened::new(file.path())?;
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
