//! From `.hct` file back to bytes, batch by batch.

use crate::meta::{MAX_META_BYTES, Meta, TAG_BATCH, TAG_META};
use crate::{Error, Output, Result, SecretKey, Set};
use homaes_bgv::{Ciphertext, batch_bytes, decode_batch};
use homaes_wire::{Kind, Reader, WireError};
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};

/// Fewest bits between the largest noise coefficient and failure: with less, wrapped-around noise may look like this too.
const MIN_MARGIN_BITS: f64 = 1.0;

/// What a decryption found.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DecryptReport {
    /// Bytes of the message.
    pub bytes: u64,
    /// Least bits between measured noise and failure; `None` for an empty message.
    pub margin_bits: Option<f64>,
}

impl SecretKey {
    /// Decrypts the `.hct` file `path` into `output`.
    ///
    /// # Errors
    /// The first thing that is wrong with the file, another set or another secret key included; `output` then does not
    /// appear.
    pub fn decrypt(&self, path: impl AsRef<Path>, mut output: Output) -> Result<DecryptReport> {
        let mut messages = Reader::open(path.as_ref(), Kind::Ciphertext)
            .and_then(|reader| {
                reader.check_set(self.set.name(), self.set.digest())?;
                reader.check_key(self.id())?;
                Ok(reader)
            })
            .map_err(|source| Error::file(path.as_ref(), source))
            .and_then(Ciphertexts::new)?;
        let mut margin_bits: Option<f64> = None;
        while let Some((index, batch)) = messages.next(&self.set)? {
            let wrong = |source| Error::batch(index, source).in_file(path.as_ref());
            let decrypted = self.key.decrypt_blocks(&batch).map_err(wrong)?;
            let margin = decrypted.margin_bits;
            if margin < MIN_MARGIN_BITS {
                return Err(Error::Noise {
                    path: Some(path.as_ref().to_owned()),
                    batch: index,
                    found: margin,
                    expected: MIN_MARGIN_BITS,
                });
            }
            margin_bits = Some(margin_bits.map_or(margin, |bits| bits.min(margin)));
            // A batch has as many blocks as the set has slots, so it holds this part of the message.
            let used = messages.meta.split.batch_bytes(index) as usize;
            let written = output.write_all(&decrypted.blocks.as_flattened()[..used]);
            written.map_err(|source| Error::io(output.path(), source))?;
        }
        let bytes = messages.finish()?.split.bytes;
        output.commit()?;
        Ok(DecryptReport { bytes, margin_bits })
    }
}

/// The batches of an `.hct` file in order.
pub(crate) struct Ciphertexts {
    reader: Reader<File>,
    path: PathBuf,
    pub(crate) meta: Meta,
    next: u64,
}

impl Ciphertexts {
    /// Reads the first record.
    pub(crate) fn new(mut reader: Reader<File>) -> Result<Self> {
        let path = reader.path().to_owned();
        let records = reader.header().records();
        let meta = reader
            .next_record(TAG_META, MAX_META_BYTES)
            .and_then(|body| Meta::decode(&body, records))
            .map_err(|source| Error::file(&path, source))?;
        Ok(Self {
            reader,
            path,
            meta,
            next: 0,
        })
    }

    /// The next batch with its number; none after the last one.
    pub(crate) fn next(&mut self, set: &Set) -> Result<Option<(u64, [Ciphertext; 16])>> {
        let (found, expected) = (self.meta.split.blocks_per_batch, set.blocks_per_batch());
        if found != expected {
            let what = "blocks per batch";
            return Err(self.error(WireError::Length {
                what,
                found,
                expected,
            }));
        }
        if self.next == self.meta.split.batches() {
            return Ok(None);
        }
        let (index, body) = self
            .reader
            .next_indexed(TAG_BATCH, batch_bytes(set.params()))
            .map_err(|source| self.error(source))?;
        if index != self.next {
            return Err(self.error(WireError::Malformed {
                what: "batch number",
                expected: "batches in order",
            }));
        }
        let batch = decode_batch(set.params(), &body)
            .map_err(|source| Error::batch(index, source).in_file(&self.path))?;
        self.next += 1;
        Ok(Some((index, batch)))
    }

    /// Checks that nothing follows.
    pub(crate) fn finish(self) -> Result<Meta> {
        let path = self.path;
        self.reader
            .finish()
            .map_err(|source| Error::file(&path, source))?;
        Ok(self.meta)
    }

    fn error(&self, source: WireError) -> Error {
        Error::file(&self.path, source)
    }
}
