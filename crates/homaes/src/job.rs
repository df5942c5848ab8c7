//! The input of a run, checked before any work starts.

use crate::batch::{Batches, Split};
use crate::{Error, Result};
use homaes_aes::{Block, Mode};
use std::fs::{self, File};
use std::io::{self, BufReader};
use std::path::{Path, PathBuf};

/// An AES-encrypted file and how it was encrypted.
///
/// CTR takes any length, the empty file included.
#[derive(Debug)]
pub struct Job {
    path: PathBuf,
    file: File,
    iv: Block,
    bytes: u64,
}

impl Job {
    /// Opens a file that was encrypted in `mode`.
    ///
    /// # Errors
    /// [`Error::Mode`] for a mode that is not evaluated yet; [`Error::Io`] if the file cannot be read or is not a regular file: its length must be known in advance.
    pub fn open(path: impl AsRef<Path>, mode: Mode) -> Result<Self> {
        let path = path.as_ref();
        let Mode::Ctr { iv } = mode else {
            return Err(Error::Mode { found: mode });
        };
        let error = |source| Error::io(path, source);
        // Asked before opening: opening a pipe would wait for its writer.
        if !fs::metadata(path).map_err(error)?.is_file() {
            return Err(error(io::Error::new(
                io::ErrorKind::InvalidInput,
                "not a regular file",
            )));
        }
        let file = File::open(path).map_err(error)?;
        let bytes = file.metadata().map_err(error)?.len();
        Ok(Self {
            path: path.to_owned(),
            file,
            iv,
            bytes,
        })
    }

    /// The file.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The mode with its public parameters.
    #[must_use]
    pub fn mode(&self) -> Mode {
        Mode::Ctr { iv: self.iv }
    }

    /// The initial counter block.
    pub(crate) fn iv(&self) -> Block {
        self.iv
    }

    /// Length of the message.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The file's batches.
    pub(crate) fn batches(self, split: Split) -> Batches<BufReader<File>> {
        Batches::new(BufReader::new(self.file), self.path, split)
    }
}
