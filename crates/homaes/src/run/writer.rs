//! A file of results in the making: the records of batches, and the last one.

use crate::output::Container;
use crate::results::meta::{TAG_BATCH, TAG_STEPS, encode_steps};
use crate::run::evaluate::Evaluated;
use crate::{Error, Result, Step};
use homaes_wire::CHECKSUM_BYTES;

/// A file of results whose front is written.
pub(crate) struct Results {
    file: Container,
    /// Index of the next record of results.
    next: u64,
}

impl Results {
    /// Goes on after `next` records of results.
    pub(crate) fn new(file: Container, next: u64) -> Self {
        Self { file, next }
    }

    /// Writes the records of a batch; the next one is made while one is written.
    pub(crate) fn batch(&mut self, done: Evaluated<'_>) -> Result<()> {
        let mut records = done.records;
        let mut ready = records.next();
        while let Some(body) = ready {
            let body = body.map_err(|source| Error::batch(done.index, source))?;
            let write = || self.file.record(TAG_BATCH, self.next, &body);
            let (written, following) = rayon::join(write, || records.next());
            written?;
            self.next += 1;
            ready = following;
        }
        Ok(())
    }

    /// Records of results that are written.
    pub(crate) fn records(&self) -> u64 {
        self.next
    }

    /// The checksum of the last record, which covers everything before it.
    pub(crate) fn checksum(&self) -> [u8; CHECKSUM_BYTES] {
        self.file.checksum()
    }

    /// Writes what there is to the disk.
    pub(crate) fn sync_data(&mut self) -> Result<()> {
        self.file.sync_data()
    }

    /// Writes the last record; `timed`: with the seconds that steps took.
    pub(crate) fn steps(&mut self, steps: &[Step], timed: bool) -> Result<()> {
        self.file.record(TAG_STEPS, 0, &encode_steps(steps, timed))
    }

    /// Gives the file its name.
    pub(crate) fn commit(self) -> Result<()> {
        self.file.commit()
    }
}
