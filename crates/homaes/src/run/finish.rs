//! Results for decryption alone, which take the least space.

use crate::results::ciphertexts::{Batch, Ciphertexts};
use crate::results::meta::{TAG_BATCH, TAG_META, TAG_PARTS, TAG_STEPS, encode_steps};
use crate::run::plan::{contents, in_memory};
use crate::{Error, ErrorKind, Output, Result};
use homaes_wire::{Header, Kind};

impl Ciphertexts<'_> {
    /// Writes the same results for decryption alone: rounded at the lowest level, for BGV 18 or 36 bytes for each of
    /// the message instead of 116 and more. Needs no key. Returns the length of the file.
    ///
    /// Results that have no multiplications left are written so at once.
    ///
    /// # Errors
    /// `ErrorKind::Argument` if the results of their set or layout have one form; `ErrorKind::OwnInput` if `output` is
    /// the file that is read; the faults of the file. `output` then does not appear.
    pub fn finish(self, output: Output) -> Result<u64> {
        output.refuse_own_input([self.path()])?;
        let (set, id, path) = (self.set().clone(), self.key_id(), self.path().to_owned());
        let mut meta = self.meta().clone();
        meta.level = 1;
        let mut batches = self.into_iter();
        let mut next = || -> Result<Option<(u64, Vec<u8>)>> {
            let Some(batch) = batches.next_batch()? else {
                return Ok(None);
            };
            match batch.finished() {
                Some(body) => Ok(Some((batch.index(), body?))),
                None => {
                    let (set, layout) = (set.name(), batch.layout().name());
                    let message = format!(
                        "results of {set} in layout {layout} have one form and cannot be made smaller, only BGV's in \
                         layout sliced or packed"
                    );
                    Err(Error::refused(ErrorKind::Argument, message).at(&path))
                }
            }
        };
        let mut record = next()?;
        let length = record.as_ref().map_or(0, |(_, body)| body.len() as u64);
        let mut front = vec![(TAG_META, meta.encode())];
        front.extend(meta.encode_parts().map(|body| (TAG_PARTS, body)));
        let contents = contents(&front, &meta, [length; 2]);
        let header = Header::new(Kind::Ciphertext, set.name(), *set.digest(), id, contents);
        let header = header.map_err(in_memory)?.of_version(meta.version());
        let bytes = header.file_bytes();
        let mut file = output.container(header)?;
        for (tag, body) in &front {
            file.record(*tag, 0, body)?;
        }
        while let Some((index, body)) = record {
            file.record(TAG_BATCH, index, &body)?;
            record = next()?;
        }
        let steps = batches.steps().unwrap_or_default();
        file.record(TAG_STEPS, 0, &encode_steps(steps, true))?;
        file.commit()?;
        Ok(bytes)
    }
}

impl Batch {
    /// Its record for decryption alone; `None` if there is no such form.
    fn finished(&self) -> Option<Result<Vec<u8>>> {
        let finish = || {
            let params = self.set().params();
            params.finish_batch(self.key_id(), self.shape(), self.bytes())
        };
        let record = self.pool().install(finish)?;
        Some(record.map_err(|source| self.wrong(source)))
    }
}
