//! The temporary folder of demonstrations and benchmarks, removed at the end and on a signal.

use crate::console::Failure;
use crate::signals::lock;
use std::fs;
use std::io;
use std::path::PathBuf;
use std::sync::Mutex;
use tempfile::TempDir;

static FOLDER: Mutex<Option<TempDir>> = Mutex::new(None);

pub(crate) fn remove() {
    drop(lock(&FOLDER).take());
}

/// A temporary folder until it is dropped. There is one at a time.
pub(crate) struct Scratch {
    path: PathBuf,
}

impl Scratch {
    pub(crate) fn new() -> Result<Self, Failure> {
        let made = tempfile::Builder::new().prefix("homaes-scratch-").tempdir();
        let made = made.map_err(|error| Failure::system("temporary folder", error))?;
        let path = made.path().to_owned();
        *lock(&FOLDER) = Some(made);
        Ok(Self { path })
    }

    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    pub(crate) fn write(&self, name: &str, bytes: &[u8]) -> Result<PathBuf, Failure> {
        let path = self.file(name);
        fs::write(&path, bytes).map_err(failed)?;
        Ok(path)
    }

    pub(crate) fn read(&self, name: &str) -> Result<Vec<u8>, Failure> {
        fs::read(self.file(name)).map_err(failed)
    }

    pub(crate) fn bytes(&self, name: &str) -> Result<u64, Failure> {
        let data = fs::metadata(self.file(name)).map_err(failed)?;
        Ok(data.len())
    }
}

pub(crate) fn failed(error: io::Error) -> Failure {
    Failure::system("temporary file", error)
}

impl Drop for Scratch {
    fn drop(&mut self) {
        remove();
    }
}
