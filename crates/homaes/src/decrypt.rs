//! From `.hct` file back to bytes, batch by batch.
//!
//! What the file says of the message is held against what is expected before the first byte is decrypted. What is checked about the
//! whole message, the tag of GCM and the padding of ECB and CBC, is checked before the output gets its name: bytes that fail a check
//! never appear.

use crate::error::TAG_TO_CHECK;
use crate::gcm::TagCheck;
use crate::meta::{MAX_META_BYTES, Meta, TAG_BATCH, TAG_META, TAG_STEPS};
use crate::pool::Pool;
use crate::scheme::Shape;
use crate::seen::Seen;
use crate::{AesKey, Error, Expect, Output, Result, SchemeError, SecretKey, Set, Step};
use homaes_aes::Mode;
use homaes_scheme::{FieldError, Misfit};
use homaes_wire::{KeyId, Kind, Reader, WireError};
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use zeroize::Zeroizing;

/// Fewest bits between the largest noise coefficient and failure: with less, wrapped-around noise may look like this too.
const MIN_MARGIN_BITS: f64 = 1.0;

/// What to check and remove at decryption, beyond what is always checked.
#[derive(Debug, Clone, Copy, Default)]
pub struct DecryptOptions<'k> {
    /// The AES key: the tag of a GCM message is computed anew and compared. A right tag shows that a holder of the AES key encrypted
    /// this message with the nonce and the associated data that the file names. It does not show that this is the message that the
    /// server was asked for ([`expect`](Self::expect)), nor that it was not returned before ([`seen`](Self::seen)).
    pub aes_key: Option<&'k AesKey>,
    /// Decrypt a GCM message without an AES key, and so without a check of its tag: anybody may have changed it.
    pub unauthenticated: bool,
    /// Remove the PKCS#7 padding of an ECB or CBC message.
    pub unpad: bool,
    /// What the message must be.
    pub expect: Expect<'k>,
    /// A replay log, made if it is missing: a message in it is refused, and one that is accepted is recorded when the output is in
    /// place. Needs `aes_key`, for without a checked tag nothing tells which message it is. A file beside it, its name with `.lock`
    /// added, lets runs that share it take turns.
    pub seen: Option<&'k Path>,
}

/// What became of the tag of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tag {
    /// The mode has none: nothing tells whether the message is the one that was encrypted.
    None,
    /// There is one, but without the AES key it was not checked.
    Unchecked,
    /// It is right.
    Verified,
}

/// What a decryption found.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct DecryptReport {
    /// Bytes written: of the message, without padding that was removed.
    pub bytes: u64,
    /// Least bits between measured noise and failure; `None` for an empty message.
    pub margin_bits: Option<f64>,
    /// Whether the message is authentic, as far as that is known.
    pub tag: Tag,
    /// The mode, with nonce or IV.
    pub mode: Mode,
    /// Length of the associated data.
    pub aad_bytes: u64,
    /// SHA-256 of the associated data.
    pub aad_sha256: [u8; 32],
    /// Number of messages in the replay log, this one included, if one was given.
    pub recorded: Option<u64>,
}

impl SecretKey {
    /// Decrypts the `.hct` file `path` into `output`, which should be [private](Output::private), with any padding. Not for GCM, whose
    /// tag is there to be checked.
    ///
    /// # Errors
    /// The first thing that is wrong with the file, another set or another secret key included; `output` then does not
    /// appear. [`Error::NoAesKey`] for a GCM message.
    pub fn decrypt(&self, path: impl AsRef<Path>, output: Output) -> Result<DecryptReport> {
        self.decrypt_with(path, output, DecryptOptions::default())
    }

    /// As [`decrypt`](Self::decrypt), with checks of the whole message.
    ///
    /// # Errors
    /// As [`decrypt`](Self::decrypt); [`Error::NotOfMode`] or [`Error::AesKeySize`] if an option does not go with the
    /// file; [`Error::Tag`], [`Error::Padding`], [`Error::Unexpected`] or [`Error::Seen`] if a check fails;
    /// [`Error::SeenDamaged`], [`Error::SeenUnchecked`] or [`Error::SeenIsOutput`] if the replay log cannot be used.
    pub fn decrypt_with(
        &self,
        path: impl AsRef<Path>,
        output: Output,
        options: DecryptOptions<'_>,
    ) -> Result<DecryptReport> {
        let path = path.as_ref();
        let reader = Reader::open(path, Kind::Ciphertext).and_then(|reader| {
            reader.check_set(self.set.name(), self.set.digest())?;
            reader.check_key(self.id())?;
            Ok(reader)
        });
        let reader = reader.map_err(|source| Error::file(path, source))?;
        let mut messages = Ciphertexts::new(reader, &self.set)?;
        options.expect.check(path, &messages.meta, options.unpad)?;
        let mut sink = Sink::new(output, &messages, options, self.id())?;
        let mut margin_bits: Option<f64> = None;
        let pool = Pool::new(0);
        while let Some(batch) = messages.next(&self.set)? {
            let index = batch.index;
            let decrypted = pool.install(|| {
                let state = self.key.read_batch(batch.shape, &batch.body)?;
                // schemes say better what is wrong; this is for one that does not look
                let (found, expected) =
                    (batch.body.len() as u64, self.set.batch_bytes(batch.shape));
                if found != expected {
                    return Err(FieldError::new("bytes of a batch", found, expected).into());
                }
                self.key.decrypt(&*state)
            });
            let decrypted = decrypted.map_err(|source| messages.wrong(index, source))?;
            let margin = decrypted.margin_bits;
            if margin < MIN_MARGIN_BITS {
                return Err(Error::Noise {
                    path: Some(path.to_owned()),
                    batch: index,
                    found: margin,
                    expected: MIN_MARGIN_BITS,
                });
            }
            margin_bits = Some(margin_bits.map_or(margin, |bits| bits.min(margin)));
            // A batch has at least the blocks of its shape, so it holds this part of the message.
            let used = messages.meta.split.batch_bytes(index) as usize;
            sink.write(&decrypted.blocks.as_flattened()[..used])?;
        }
        let (meta, _) = messages.finish()?;
        let (bytes, tag, recorded) = sink.finish(path)?;
        Ok(DecryptReport {
            bytes,
            margin_bits,
            tag,
            mode: meta.mode,
            aad_bytes: meta.aad.len() as u64,
            aad_sha256: meta.aad_sha256(),
            recorded,
        })
    }
}

/// The output, behind the checks.
struct Sink<'k> {
    output: Output,
    written: u64,
    tag: Tag,
    check: Option<TagCheck>,
    expect: Expect<'k>,
    seen: Option<Seen>,
    /// The last block so far, if padding is to be removed from it.
    held: Option<Zeroizing<Vec<u8>>>,
}

impl<'k> Sink<'k> {
    fn new(
        output: Output,
        file: &Ciphertexts,
        options: DecryptOptions<'k>,
        key_id: KeyId,
    ) -> Result<Self> {
        let meta = &file.meta;
        let not_of_mode = |option| Error::NotOfMode {
            path: file.path.clone(),
            option,
            mode: meta.mode.name(),
        };
        if options.unpad && !meta.mode.whole_blocks() {
            return Err(not_of_mode("padding to remove"));
        }
        let check = match (options.aes_key, meta.mode, meta.tag) {
            (None, _, Some(_)) if !options.unauthenticated => {
                let path = file.path.clone();
                return Err(Error::NoAesKey { path });
            }
            (None, ..) => None,
            (Some(key), Mode::Gcm { nonce }, Some(tag)) => {
                check_size(&file.path, key, meta)?;
                Some(TagCheck::new(key, nonce, &meta.aad, tag))
            }
            (Some(_), ..) => return Err(not_of_mode(TAG_TO_CHECK)),
        };
        let seen = match (options.seen, &check, meta.tag) {
            (None, ..) => None,
            (Some(log), Some(_), Some(tag)) => {
                let path = &file.path;
                Some(Seen::open(log, &output, path, meta, tag, key_id)?)
            }
            (Some(_), ..) => {
                let path = file.path.clone();
                return Err(Error::SeenUnchecked { path });
            }
        };
        Ok(Self {
            output,
            expect: options.expect,
            seen,
            written: 0,
            tag: match (meta.tag, &check) {
                (None, _) => Tag::None,
                (Some(_), None) => Tag::Unchecked,
                (Some(_), Some(_)) => Tag::Verified,
            },
            check,
            held: options.unpad.then(Zeroizing::default),
        })
    }

    /// Takes the next part of the message: whole blocks, but for the last part.
    fn write(&mut self, part: &[u8]) -> Result<()> {
        if let Some(check) = &mut self.check {
            check.update(part);
        }
        let Some(before) = self.held.take() else {
            return self.put(part);
        };
        let (head, last) = part.split_at(part.len().saturating_sub(16));
        self.put(&before)?;
        self.put(head)?;
        self.held = Some(Zeroizing::new(last.to_vec()));
        Ok(())
    }

    fn put(&mut self, bytes: &[u8]) -> Result<()> {
        self.written += bytes.len() as u64;
        let written = self.output.write_all(bytes);
        written.map_err(|source| Error::io(self.output.path(), source))
    }

    /// Lets the output appear if all is right, and records its message.
    fn finish(mut self, path: &Path) -> Result<(u64, Tag, Option<u64>)> {
        if self.check.take().is_some_and(|check| !check.verify()) {
            let path = path.to_owned();
            return Err(Error::Tag { path });
        }
        if let Some(last) = self.held.take() {
            let path = path.to_owned();
            let kept = unpadded(&last).ok_or(Error::Padding { path })?;
            self.put(kept)?;
        }
        self.expect.length(path, self.written)?;
        let recorded = match self.seen {
            None => {
                self.output.commit()?;
                None
            }
            Some(seen) => Some(seen.commit(self.output, path)?),
        };
        Ok((self.written, self.tag, recorded))
    }
}

fn check_size(path: &Path, key: &AesKey, meta: &Meta) -> Result<()> {
    if key.size() == meta.key_size {
        return Ok(());
    }
    Err(Error::AesKeySize {
        path: path.to_owned(),
        found: 8 * key.size().key_bytes(),
        expected: 8 * meta.key_size.key_bytes(),
    })
}

/// A last block without its padding: n bytes of value n, n from 1 to 16 (PKCS#7, RFC 5652 section 6.3).
fn unpadded(block: &[u8]) -> Option<&[u8]> {
    let count = usize::from(*block.last()?);
    let (kept, padding) = block.split_at_checked(block.len().checked_sub(count)?)?;
    let right = count > 0 && padding.iter().all(|&byte| usize::from(byte) == count);
    right.then_some(kept)
}

/// A batch as it stands in the file.
pub(crate) struct Batch {
    pub(crate) index: u64,
    pub(crate) shape: Shape,
    pub(crate) body: Vec<u8>,
}

/// The batches of an `.hct` file in order.
pub(crate) struct Ciphertexts {
    reader: Reader<File>,
    path: PathBuf,
    pub(crate) meta: Meta,
    next: u64,
}

impl Ciphertexts {
    /// Reads the first record, which must go with `set`.
    pub(crate) fn new(reader: Reader<File>, set: &Set) -> Result<Self> {
        let file = Self::framed(reader, 0)?;
        check_meta(&file.path, &file.meta, set)?;
        file.check_cut(set.blocks_per_batch(file.meta.layout))?;
        Ok(file)
    }

    /// Reads the first record of a file that has `others` beside those of every file.
    pub(crate) fn framed(mut reader: Reader<File>, others: u64) -> Result<Self> {
        let path = reader.path().to_owned();
        let records = reader.header().records().saturating_sub(others);
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

    /// Refuses batches of another size.
    pub(crate) fn check_cut(&self, expected: u64) -> Result<()> {
        let found = self.meta.split.blocks_per_batch;
        if found == expected {
            return Ok(());
        }
        let error = FieldError::new("blocks per batch", found, expected);
        Err(Error::content(&self.path, error.into()))
    }

    /// A record beside those of every file.
    pub(crate) fn record<T>(
        &mut self,
        tag: u16,
        most: u64,
        decode: impl FnOnce(&[u8]) -> Result<T, WireError>,
    ) -> Result<T> {
        let body = self.reader.next_record(tag, most);
        body.and_then(|body| decode(&body))
            .map_err(|source| self.error(source))
    }

    /// The next batch; none after the last one.
    pub(crate) fn next(&mut self, set: &Set) -> Result<Option<Batch>> {
        self.next_of(|shape| set.batch_bytes(shape))
    }

    /// The next batch, whose length is `bytes` of its shape; none after the last one.
    pub(crate) fn next_of(&mut self, bytes: impl FnOnce(Shape) -> u64) -> Result<Option<Batch>> {
        if self.next == self.meta.split.batches() {
            return Ok(None);
        }
        let shape = self.meta.shape(self.next);
        let (index, body) = self
            .reader
            .next_indexed(TAG_BATCH, bytes(shape))
            .map_err(|source| self.error(source))?;
        if index != self.next {
            return Err(self.error(WireError::Malformed {
                what: "batch number",
                expected: "batches in order",
            }));
        }
        self.next += 1;
        Ok(Some(Batch { index, shape, body }))
    }

    /// What is wrong with batch `index`.
    pub(crate) fn wrong(&self, index: u64, source: SchemeError) -> Error {
        Error::batch(index, source).in_file(&self.path)
    }

    /// Reads the last record and checks that nothing follows.
    pub(crate) fn finish(mut self) -> Result<(Meta, Vec<Step>)> {
        let steps = self
            .reader
            .next_record(TAG_STEPS, self.meta.steps_bytes())
            .and_then(|body| self.meta.decode_steps(&body))
            .map_err(|source| self.error(source))?;
        let path = self.path;
        self.reader
            .finish()
            .map_err(|source| Error::file(&path, source))?;
        Ok((self.meta, steps))
    }

    /// What is wrong with the file.
    pub(crate) fn error(&self, source: WireError) -> Error {
        Error::file(&self.path, source)
    }
}

/// What the first record says must be possible under the set: what follows is read by it.
fn check_meta(path: &Path, meta: &Meta, set: &Set) -> Result<()> {
    let (layout, level) = (meta.layout, meta.level);
    let content = |source| Error::content(path, source);
    if !set.layouts().contains(&layout) {
        let misfit = Misfit::NoLayout {
            layout,
            set: set.name(),
            offered: set.layouts(),
        };
        return Err(content(misfit.into()));
    }
    let top = set.top_level();
    if level > top {
        let error = FieldError::new("level", level as u64, top as u64);
        return Err(content(error.into()));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn padding_is_one_to_sixteen_bytes_of_their_number() {
        for count in 1..=16u8 {
            let mut block = [0xaa; 16];
            block[16 - usize::from(count)..].fill(count);
            assert_eq!(unpadded(&block).unwrap().len(), 16 - usize::from(count));
            if count > 1 {
                block[16 - usize::from(count)] ^= 1;
                assert_eq!(unpadded(&block), None);
            }
        }
        for last in [0, 17, 255] {
            assert_eq!(unpadded(&[last; 16]), None);
        }
        assert_eq!(unpadded(&[]), None);
    }
}
