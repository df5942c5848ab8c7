//! From `.hct` file back to bytes, batch by batch.
//!
//! What the file says of the message is held against what is expected before the first byte is decrypted. What is checked about the
//! whole message, the tag of GCM and the padding of ECB and CBC, is checked before the output gets its name: bytes that fail a check
//! never appear.

use crate::error::TAG_TO_CHECK;
use crate::expect;
use crate::gcm::TagCheck;
use crate::meta::{Meta, PartMeta};
use crate::output::{Folder, folder_of};
use crate::pool::Pool;
use crate::seen::{self, Seen};
use crate::{AesKey, Ciphertexts, Error, Expect, Output, Result, SecretKey};
use homaes_aes::{KeySize, Mode};
use homaes_wire::{KeyId, Kind, Reader};
use std::collections::BTreeMap;
use std::io::Write;
use std::ops::Range;
use std::path::Path;
use zeroize::Zeroizing;

/// Fewest bits between the largest noise coefficient and failure: with less, wrapped-around noise may look like this too.
pub(crate) const MIN_MARGIN_BITS: f64 = 1.0;

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
    /// What each part must be, by its name, if the message has parts: one that is missing or not named here is refused, as is a message without parts.
    pub parts: Option<&'k BTreeMap<String, Expect<'k>>>,
    /// The part to decrypt, by its name, of a message with parts.
    pub part: Option<&'k str>,
    /// A replay log, made if it is missing: a message in it is refused, and one that is accepted is recorded when the output is in
    /// place, each part by itself if all are decrypted. Needs `aes_key`, for without a checked tag nothing tells which message it is. A file beside it, its name
    /// with `.lock` added, lets runs that share it take turns.
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
    /// [`Error::SeenDamaged`], [`Error::SeenUnchecked`] or [`Error::SeenIsOutput`] if the replay log cannot be used;
    /// [`Error::OwnInput`] if `output` is the file that is read.
    pub fn decrypt_with(
        &self,
        path: impl AsRef<Path>,
        output: Output,
        options: DecryptOptions<'_>,
    ) -> Result<DecryptReport> {
        self.decrypt_from(self.open_own(path.as_ref())?, output, options)
    }

    /// As [`decrypt_with`](Self::decrypt_with), from ciphertexts that are open, whatever they are read from.
    ///
    /// # Errors
    /// As there.
    pub fn decrypt_from(
        &self,
        ciphertexts: Ciphertexts<'_>,
        output: Output,
        options: DecryptOptions<'_>,
    ) -> Result<DecryptReport> {
        ciphertexts.check(&self.set, self.id())?;
        let (path, meta) = (ciphertexts.path().to_owned(), ciphertexts.meta());
        let part = meta.chosen(&path, options.part)?.clone();
        check_parts(options, meta, &path)?;
        options.expect.check(&path, &part, options.unpad)?;
        output.refuse_own_input([&*path])?;
        let about = (&*path, meta.key_size, self.id());
        let mut sink = Sink::new(output, about, &part, options)?;
        let start = 16 * part.first_block;
        let own = start..start + part.bytes;
        let margin_bits = each_batch(self, ciphertexts, &own, &mut |offset, bytes| {
            let end = offset + bytes.len() as u64;
            let some = own.start.clamp(offset, end)..own.end.clamp(offset, end);
            sink.write(&bytes[(some.start - offset) as usize..(some.end - offset) as usize])
        })?;
        sink.finish(&path, &part, margin_bits)
    }

    /// Decrypts every part of the `.hct` file `path` into a file of its name below `folder`, which is made if it is missing; `force` allows to replace files. Each appears
    /// when it is whole and its tag right, one after the other: if one fails, those before it are there, and in the replay log. The AES key and the removal of
    /// padding apply to the parts that they can apply to.
    ///
    /// # Errors
    /// As [`decrypt_with`](Self::decrypt_with), whose path then names the part too; [`Error::NoParts`] if the message has none, [`Error::ManyParts`] for
    /// [`expect`](DecryptOptions::expect) and [`part`](DecryptOptions::part), which are about one message.
    pub fn decrypt_parts(
        &self,
        path: impl AsRef<Path>,
        folder: impl AsRef<Path>,
        force: bool,
        options: DecryptOptions<'_>,
    ) -> Result<Vec<(String, DecryptReport)>> {
        self.decrypt_parts_from(self.open_own(path.as_ref())?, folder, force, options)
    }

    /// As [`decrypt_parts`](Self::decrypt_parts), from ciphertexts that are open, whatever they are read from.
    ///
    /// # Errors
    /// As there.
    pub fn decrypt_parts_from(
        &self,
        ciphertexts: Ciphertexts<'_>,
        folder: impl AsRef<Path>,
        force: bool,
        options: DecryptOptions<'_>,
    ) -> Result<Vec<(String, DecryptReport)>> {
        ciphertexts.check(&self.set, self.id())?;
        let (path, folder) = (ciphertexts.path().to_owned(), folder.as_ref());
        let meta = ciphertexts.meta();
        if !meta.has_parts() {
            return Err(Error::NoParts { path });
        }
        if options.part.is_some() || options.expect != Expect::default() {
            return Err(meta.many(&path));
        }
        check_parts(options, meta, &path)?;
        if folder.as_os_str().is_empty() {
            let error = std::io::ErrorKind::NotFound.into();
            return Err(Error::io(folder, error));
        }
        // what one of them would stop at, before any is written
        for part in &meta.parts {
            let own = folder.join(part.name.as_deref().unwrap_or_default());
            if !force && own.symlink_metadata().is_ok() {
                return Err(Error::AlreadyExists { path: own });
            }
            if let (Some(log), Some(tag)) = (options.seen, part.tag) {
                seen::check(log, &part.place(&path), part, tag)?;
            }
        }
        let _made = Folder::create(folder)?;
        let all = 0..meta.split.bytes;
        let mut files = Files {
            folder,
            force,
            options,
            input: &path,
            about: (meta.key_size, self.id()),
            parts: meta.parts.clone().into_iter(),
            current: None,
            made: Vec::new(),
            done: Vec::new(),
        };
        let margin_bits = each_batch(self, ciphertexts, &all, &mut |offset, bytes| {
            files.write(offset, bytes)
        })?;
        let mut done = files.end()?;
        for (_, report) in &mut done {
            report.margin_bits = margin_bits;
        }
        Ok(done)
    }

    /// Opens a file of this key.
    fn open_own(&self, path: &Path) -> Result<Ciphertexts<'static>> {
        let reader = Reader::open(path, Kind::Ciphertext).and_then(|reader| {
            reader.check_set(self.set.name(), self.set.digest())?;
            reader.check_key(self.id())?;
            Ok(reader)
        });
        let reader = reader.map_err(|source| Error::file(path, source))?;
        Ciphertexts::new(reader.boxed(), self.set.clone())
    }
}

/// Reads all batches, decrypts those with bytes of `wanted`, and hands on their bytes with the number of the first one among those of the message; the least
/// margin of their noise. At the end every checksum was verified.
fn each_batch(
    secret: &SecretKey,
    ciphertexts: Ciphertexts<'_>,
    wanted: &Range<u64>,
    take: &mut dyn FnMut(u64, &[u8]) -> Result<()>,
) -> Result<Option<f64>> {
    let mut margin_bits: Option<f64> = None;
    let pool = Pool::new(0);
    let mut batches = ciphertexts.into_iter();
    while let Some(batch) = batches.next_batch()? {
        let index = batch.index();
        // A batch has at least the blocks of its shape, so it holds this part of the message.
        let split = batches.meta().split;
        let used = split.batch_bytes(index);
        let first = 16 * split.first_block(index);
        if wanted.start >= first + used || wanted.end <= first {
            continue;
        }
        let decrypted = pool.install(|| secret.key.decrypt(&*batch.read()?));
        let decrypted = decrypted.map_err(|source| batch.wrong(source))?;
        let margin = decrypted.margin_bits;
        if margin < MIN_MARGIN_BITS {
            return Err(Error::Noise {
                path: Some(batch.path()),
                batch: index,
                found: margin,
                expected: MIN_MARGIN_BITS,
            });
        }
        margin_bits = Some(margin_bits.map_or(margin, |bits| bits.min(margin)));
        take(first, &decrypted.blocks.as_flattened()[..used as usize])?;
    }
    Ok(margin_bits)
}

/// What the `.hct` file `path` says about its message, without a look at its ciphertexts.
///
/// # Errors
/// The first thing that is wrong with the front of the file.
pub fn describe(path: impl AsRef<Path>) -> Result<Meta> {
    Ok(Ciphertexts::open(path)?.meta().clone())
}

/// Holds what is expected of parts against those of a message, before anything is decrypted.
fn check_parts(options: DecryptOptions<'_>, meta: &Meta, path: &Path) -> Result<()> {
    let Some(expected) = options.parts else {
        return Ok(());
    };
    if !meta.has_parts() {
        return Err(Error::NoParts {
            path: path.to_owned(),
        });
    }
    let names = meta.parts.iter().filter_map(|part| part.name.as_deref());
    expect::check_names(path, expected, names)?;
    for part in &meta.parts {
        if let Some(expect) = part.name.as_ref().and_then(|name| expected.get(name)) {
            let unpad = options.unpad && part.mode.whole_blocks();
            expect.check(&part.place(path), part, unpad)?;
        }
    }
    Ok(())
}

/// Of a message: the file, the size of its AES key, and its FHE key.
type About<'p> = (&'p Path, KeySize, KeyId);

/// Parts of a message, each on its way to a file of its own.
struct Files<'k> {
    folder: &'k Path,
    force: bool,
    options: DecryptOptions<'k>,
    input: &'k Path,
    about: (KeySize, KeyId),
    /// Those to come.
    parts: std::vec::IntoIter<PartMeta>,
    current: Option<(PartMeta, Sink<'k>)>,
    /// Folders made for parts, which go again if nothing comes to be in them.
    made: Vec<Folder>,
    done: Vec<(String, DecryptReport)>,
}

impl Files<'_> {
    /// Takes the next bytes of the message, whole batches of blocks, the first of them number `offset`.
    fn write(&mut self, mut offset: u64, mut bytes: &[u8]) -> Result<()> {
        while !bytes.is_empty() {
            if self.current.is_none() && !self.begin()? {
                return Ok(());
            }
            let Some((part, sink)) = &mut self.current else {
                continue;
            };
            let start = 16 * part.first_block;
            let (end, padded) = (start + part.bytes, start + 16 * part.blocks());
            let taken = (padded - offset).min(bytes.len() as u64);
            let used = end.saturating_sub(offset).min(taken);
            sink.write(&bytes[..used as usize])?;
            bytes = &bytes[taken as usize..];
            offset += taken;
            if offset == padded {
                self.finish()?;
            }
        }
        Ok(())
    }

    /// Reserves the file of the next part, if there is one; those without bytes are done at once.
    fn begin(&mut self) -> Result<bool> {
        while let Some(part) = self.parts.next() {
            let path = self.folder.join(part.name.as_deref().unwrap_or_default());
            let parent = folder_of(&path);
            if !parent.is_dir() {
                self.made.push(Folder::create(parent)?);
            }
            let output = Output::private(&path, self.force)?;
            output.refuse_own_input([self.input])?;
            let expect = self.options.parts.zip(part.name.as_ref());
            let expect = expect.and_then(|(parts, name)| parts.get(name));
            let options = DecryptOptions {
                aes_key: self.options.aes_key.filter(|_| part.tag.is_some()),
                unpad: self.options.unpad && part.mode.whole_blocks(),
                expect: expect.copied().unwrap_or_default(),
                ..self.options
            };
            let (key_size, key) = self.about;
            let about = (&*part.place(self.input), key_size, key);
            let sink = Sink::new(output, about, &part, options)?;
            let empty = part.bytes == 0;
            self.current = Some((part, sink));
            if !empty {
                return Ok(true);
            }
            self.finish()?;
        }
        Ok(false)
    }

    /// Lets the file of this part appear.
    fn finish(&mut self) -> Result<()> {
        if let Some((part, sink)) = self.current.take() {
            let report = sink.finish(&part.place(self.input), &part, None)?;
            self.done.push((part.name.unwrap_or_default(), report));
        }
        Ok(())
    }

    /// Ends the message, whose last block may be partial: parts that are left have no bytes.
    fn end(mut self) -> Result<Vec<(String, DecryptReport)>> {
        self.finish()?;
        while self.begin()? {
            self.finish()?;
        }
        Ok(std::mem::take(&mut self.done))
    }
}

impl Drop for Files<'_> {
    fn drop(&mut self) {
        self.current = None;
        // the innermost first
        while self.made.pop().is_some() {}
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
        (path, key_size, key_id): About<'_>,
        part: &PartMeta,
        options: DecryptOptions<'k>,
    ) -> Result<Self> {
        let not_of_mode = |option| Error::NotOfMode {
            path: path.to_owned(),
            option,
            mode: part.mode.name(),
        };
        if options.unpad && !part.mode.whole_blocks() {
            return Err(not_of_mode("padding to remove"));
        }
        let check = match (options.aes_key, part.mode, part.tag) {
            (None, _, Some(_)) if !options.unauthenticated => {
                let path = path.to_owned();
                return Err(Error::NoAesKey { path });
            }
            (None, ..) => None,
            (Some(key), Mode::Gcm { nonce }, Some(tag)) => {
                check_size(path, key, key_size)?;
                Some(TagCheck::new(key, nonce, &part.aad, tag))
            }
            (Some(_), ..) => return Err(not_of_mode(TAG_TO_CHECK)),
        };
        let seen = match (options.seen, &check, part.tag) {
            (None, ..) => None,
            (Some(log), Some(_), Some(tag)) => {
                Some(Seen::open(log, &output, path, part, tag, key_id)?)
            }
            (Some(_), ..) => {
                let path = path.to_owned();
                return Err(Error::SeenUnchecked { path });
            }
        };
        Ok(Self {
            output,
            expect: options.expect,
            seen,
            written: 0,
            tag: match (part.tag, &check) {
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
    fn finish(
        mut self,
        path: &Path,
        part: &PartMeta,
        margin_bits: Option<f64>,
    ) -> Result<DecryptReport> {
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
        Ok(DecryptReport {
            bytes: self.written,
            margin_bits,
            tag: self.tag,
            mode: part.mode,
            aad_bytes: part.aad.len() as u64,
            aad_sha256: part.aad_sha256(),
            recorded,
        })
    }
}

fn check_size(path: &Path, key: &AesKey, expected: KeySize) -> Result<()> {
    if key.size() == expected {
        return Ok(());
    }
    Err(Error::AesKeySize {
        path: path.to_owned(),
        found: 8 * key.size().key_bytes(),
        expected: 8 * expected.key_bytes(),
    })
}

/// A last block without its padding: n bytes of value n, n from 1 to 16 (PKCS#7, RFC 5652 section 6.3).
fn unpadded(block: &[u8]) -> Option<&[u8]> {
    let count = usize::from(*block.last()?);
    let (kept, padding) = block.split_at_checked(block.len().checked_sub(count)?)?;
    let right = count > 0 && padding.iter().all(|&byte| usize::from(byte) == count);
    right.then_some(kept)
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
