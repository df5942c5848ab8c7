//! Decrypts `.hct` files batch by batch.
//!
//! The file's description of the message is compared with the expectations before the first byte is decrypted. Checks
//! of the whole message, such as the GCM tag and the padding of ECB and CBC, precede the output's name: bytes that fail
//! a check never appear. The first file of a message with parts appears after the checks of all parts.

mod expect;
mod gcm;
mod parts;
mod replay_log;

pub use expect::Expect;
use expect::unexpected;

use crate::bridge::log2_p_fail;
use crate::error::{At, quoted, too_noisy};
use crate::input::part_meta::PartMeta;
use crate::machine::pool::Pool;
use crate::results::meta::Meta;
use crate::{AesKey, AesKeyList, Ciphertexts, Error, ErrorKind, Output, Result, SecretKey};
use gcm::{Cipher, TagCheck};
use homaes_aes::{KeySize, Mode};
use homaes_wire::{Kind, Reader};
use replay_log::ReplayLog;
use std::collections::BTreeMap;
use std::io::{self, Write};
use std::ops::Range;
use std::path::{Path, PathBuf};
use zeroize::Zeroizing;

/// Least margin in bits between the largest noise coefficient and failure; noise that wrapped around can look like a
/// smaller one.
pub(crate) const MIN_MARGIN_BITS: f64 = 1.0;

/// Checks and changes at decryption, beyond the checks that always take place.
#[derive(Debug, Clone, Copy, Default)]
pub struct DecryptOptions<'k> {
    /// The AES key, which checks the tag of a GCM message. A valid tag shows that a holder of the AES key encrypted
    /// this message with the nonce and the associated data in the file. It shows neither that the server was asked for
    /// this message (see [`expect`](Self::expect)) nor that the message is new (see [`replay_log`](Self::replay_log)).
    /// A message or part whose mode has no tag is refused.
    pub aes_key: Option<&'k AesKey>,
    /// In place of `aes_key`, the AES keys of a message whose parts name theirs.
    pub aes_keys: Option<&'k AesKeyList>,
    /// Accept bytes that no tag protects and anybody may have changed: a GCM message without `aes_key`, whose tag is
    /// then not checked, and with `aes_key` messages and parts of other modes.
    pub unauthenticated: bool,
    /// Remove the PKCS#7 padding of an ECB or CBC message.
    pub unpad: bool,
    /// Required properties of the message.
    pub expect: Expect<'k>,
    /// Required properties of each part, by name. The message must have exactly these parts.
    pub parts: Option<&'k BTreeMap<String, Expect<'k>>>,
    /// Name of the part to decrypt, in a message with parts.
    pub part: Option<&'k str>,
    /// A replay log, created if missing. A message in the log is refused; an accepted one is recorded when the output
    /// is complete, and all parts are recorded together. Needs `aes_key`, because only a checked tag identifies a
    /// message. Runs that share the log take turns through a file beside it, named with `.lock` added.
    pub replay_log: Option<&'k Path>,
    /// Other files that the caller reads; an output must not replace them.
    pub reads: &'k [&'k Path],
}

/// The state of a message's tag.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tag {
    /// The mode has no tag: anybody may have changed the message.
    None,
    /// The tag was not checked, for lack of the AES key.
    Unchecked,
    /// The tag is valid.
    Verified,
}

/// The result of a decryption.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct DecryptReport {
    /// Bytes written, without removed padding.
    pub bytes: u64,
    /// Least margin between measured noise and failure, in bits; `None` for an empty message.
    pub margin_bits: Option<f64>,
    /// log2 of the bound on the probability that any decrypted batch is wrong; `None` for an empty message.
    pub log2_p_fail: Option<f64>,
    /// Whether the message is authentic, as far as known.
    pub tag: Tag,
    /// The mode, with nonce or IV.
    pub mode: Mode,
    /// Length of the associated data.
    pub aad_bytes: u64,
    /// SHA-256 of the associated data.
    pub aad_sha256: [u8; 32],
    /// Number of messages in the replay log, including this one, if a log was given.
    pub recorded: Option<u64>,
}

impl<'k> DecryptOptions<'k> {
    /// The AES key of a part, if any was given.
    fn aes_key_of(&self, path: &Path, part: &PartMeta) -> Result<Option<&'k AesKey>> {
        let wrong = |message: String| Error::refused(ErrorKind::KeyName, message).at(path);
        match (self.aes_key, self.aes_keys, &part.key) {
            (one, None, None) => Ok(one),
            (None, None, Some(_)) => Ok(None),
            (None, Some(list), Some(key)) => {
                let found = list.get(&key.name).ok_or_else(|| {
                    let found = quoted(&key.name);
                    wrong(format!(
                        "AES key of this part: found {found}, expected a name in the list of keys"
                    ))
                })?;
                match part.folder_of_other(&key.name, |name| list.get(name).is_some()) {
                    None => Ok(Some(found)),
                    Some(folder) => {
                        let (found, expected) = (quoted(&key.name), quoted(folder));
                        Err(unexpected(path, "AES key", found, expected))
                    }
                }
            }
            (_, Some(_), None) => Err(wrong("a list of AES keys for a message under one".into())),
            (Some(_), _, Some(_)) => Err(wrong(
                "one AES key for a message whose parts have their own".into(),
            )),
        }
    }
}

impl SecretKey {
    /// Decrypts the `.hct` file `path` into `output`, which should be [private](Output::private). Padding stays. A GCM
    /// message is refused, because this function does not check its tag.
    ///
    /// # Errors
    /// The first fault of the file, including another set or another secret key; `output` then does not appear.
    /// `ErrorKind::Unchecked` for a GCM message.
    pub fn decrypt(&self, path: impl AsRef<Path>, output: Output) -> Result<DecryptReport> {
        self.decrypt_with(path, output, DecryptOptions::default())
    }

    /// As [`decrypt`](Self::decrypt), with checks of the whole message.
    ///
    /// # Errors
    /// As [`decrypt`](Self::decrypt); `ErrorKind::NotOfMode`, `ErrorKind::AesKeySize` or `ErrorKind::KeyName` if an option
    /// does not fit the file; `ErrorKind::Tag`, `ErrorKind::Padding`, `ErrorKind::Unexpected` or `ErrorKind::Replayed` if a check fails;
    /// `ErrorKind::ReplayLog`, `ErrorKind::ReplayUnchecked` or `ErrorKind::OwnInput` if the replay log cannot be used;
    /// `ErrorKind::OwnInput` if `output` is the file that is read.
    pub fn decrypt_with(
        &self,
        path: impl AsRef<Path>,
        output: Output,
        options: DecryptOptions<'_>,
    ) -> Result<DecryptReport> {
        self.decrypt_from(self.open_own(path.as_ref())?, output, options)
    }

    /// As [`decrypt_with`](Self::decrypt_with), with the same errors, from open ciphertexts of any source.
    pub fn decrypt_from(
        &self,
        ciphertexts: Ciphertexts<'_>,
        mut output: Output,
        options: DecryptOptions<'_>,
    ) -> Result<DecryptReport> {
        ciphertexts.check(&self.set, self.id())?;
        let (path, meta) = (ciphertexts.path().to_owned(), ciphertexts.meta());
        let part = meta.chosen(&path, options.part)?.clone();
        check_parts(options, meta, &path)?;
        output.refuse_own_input(options.reads.iter().copied().chain([&*path]))?;
        let target = output.path().to_owned();
        let mut message = Checked::new(&path, meta.key_size, &part, options)?;
        let replay_log = options.replay_log.map(|log| {
            let replay_log = ReplayLog::open(log, self.id(), [(path.clone(), &part)])?;
            if output.is_file() {
                replay_log.spare(&target)?;
            }
            Ok::<_, Error>(replay_log)
        });
        let replay_log = replay_log.transpose()?;
        let start = 16 * part.first_block;
        let own = start..start + part.bytes;
        // the blocks of one part are in order, also under many AES keys
        let noise = each_batch(self, ciphertexts, &own, &mut |offset, bytes| {
            let end = offset + bytes.len() as u64;
            let some = own.start.clamp(offset, end)..own.end.clamp(offset, end);
            let some = &bytes[(some.start - offset) as usize..(some.end - offset) as usize];
            message.write(some, &mut output).at(&target)
        })?;
        let mut report = message.finish(&mut output, &target)?;
        (report.margin_bits, report.log2_p_fail) = (noise.margin_bits, noise.log2_p_fail);
        match replay_log {
            None => output.commit()?,
            Some(replay_log) => {
                report.recorded = Some(replay_log.commit(|log| output.commit_with(log))?)
            }
        }
        Ok(report)
    }

    fn open_own(&self, path: &Path) -> Result<Ciphertexts<'static>> {
        let reader = Reader::open(path, Kind::Ciphertext).at(path)?;
        self.set.check_own(&reader, self.id())?;
        Ciphertexts::new(reader.boxed(), self.set.clone())
    }
}

/// Summary of the batches' noise, as in [`DecryptReport`].
#[derive(Clone, Copy, Default)]
struct Noise {
    margin_bits: Option<f64>,
    log2_p_fail: Option<f64>,
}

/// Reads all batches, decrypts those with bytes of `wanted`, and passes on their bytes in runs, each with the message
/// offset of its first byte. Every checksum is verified by the end.
fn each_batch(
    secret: &SecretKey,
    ciphertexts: Ciphertexts<'_>,
    wanted: &Range<u64>,
    take: &mut dyn FnMut(u64, &[u8]) -> Result<()>,
) -> Result<Noise> {
    let (mut margin_bits, mut count): (Option<f64>, u64) = (None, 0);
    let pool = Pool::new(0);
    let mut batches = ciphertexts.into_iter();
    while let Some(batch) = batches.next_batch()? {
        let index = batch.index();
        // a batch has at least the blocks of its shape, so it holds this part of the message
        let mut pieces = batches.meta().pieces(index);
        pieces.retain(|(bytes, _)| wanted.start < bytes.end && bytes.start < wanted.end);
        if pieces.is_empty() {
            continue;
        }
        let decrypted = pool.install(|| secret.key.decrypt(&*batch.read()?));
        let decrypted = decrypted.map_err(|source| batch.wrong(source))?;
        let margin = decrypted.margin_bits;
        if margin < MIN_MARGIN_BITS {
            return Err(too_noisy(index, margin, MIN_MARGIN_BITS).at(batch.path()));
        }
        margin_bits = Some(margin_bits.map_or(margin, |bits| bits.min(margin)));
        count += 1;
        for (bytes, piece) in pieces {
            let blocks = piece.positions().map(|at| decrypted.blocks[at]);
            let blocks = Zeroizing::new(blocks.collect::<Vec<_>>());
            let len = (bytes.end - bytes.start) as usize;
            take(bytes.start, &blocks.as_flattened()[..len])?;
        }
    }
    let steps = batches.steps().unwrap_or_default();
    Ok(Noise {
        margin_bits,
        log2_p_fail: log2_p_fail(&secret.set, steps, count),
    })
}

/// The description of the message in the `.hct` file `path`; the ciphertexts are not read.
///
/// # Errors
/// The first fault of the records before the ciphertexts.
pub fn describe(path: impl AsRef<Path>) -> Result<Meta> {
    Ok(Ciphertexts::open(path)?.meta().clone())
}

/// Compares the expected parts with those of a message, before anything is decrypted.
fn check_parts(options: DecryptOptions<'_>, meta: &Meta, path: &Path) -> Result<()> {
    let Some(expected) = options.parts else {
        return Ok(());
    };
    if !meta.has_parts() {
        return Err(Meta::no_parts(path));
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

/// Checks one message, whose bytes pass through to an output.
struct Checked<'k> {
    path: PathBuf,
    written: u64,
    tag: Tag,
    check: Option<TagCheck>,
    expect: Expect<'k>,
    /// The last block so far, if padding will be removed from it.
    held: Option<Zeroizing<Vec<u8>>>,
    part: &'k PartMeta,
}

impl<'k> Checked<'k> {
    /// Checks the description in the file `path`, and that the options fit it.
    fn new(
        path: &Path,
        key_size: KeySize,
        part: &'k PartMeta,
        options: DecryptOptions<'k>,
    ) -> Result<Self> {
        let refuse = |kind, message: &str| Err(Error::refused(kind, message).at(path));
        let not_of_mode = |kind, what| {
            let mode = part.mode.name();
            refuse(kind, &format!("mode {mode} has no {what}"))
        };
        options.expect.check(path, part, options.unpad)?;
        if options.unpad && !part.mode.whole_blocks() {
            return not_of_mode(ErrorKind::NotOfMode, "padding to remove");
        }
        let check = match (options.aes_key_of(path, part)?, part.mode, part.tag) {
            (Some(key), Mode::Gcm { nonce }, Some(tag)) => {
                check_size(path, key, key_size)?;
                Some(TagCheck::new(Cipher::of(key), nonce, &part.aad, tag))
            }
            // the server may have renamed the mode of a GCM message to avoid the check
            (Some(_), ..) if !options.unauthenticated => {
                return not_of_mode(ErrorKind::NoTag, "tag to check with an AES key");
            }
            (None, _, Some(_)) if !options.unauthenticated => {
                return refuse(
                    ErrorKind::Unchecked,
                    "checking the GCM tag needs the AES key",
                );
            }
            _ => None,
        };
        if options.replay_log.is_some() && check.is_none() {
            let message = "the replay log takes only messages with a checked tag";
            return refuse(ErrorKind::ReplayUnchecked, message);
        }
        Ok(Self {
            path: path.to_owned(),
            written: 0,
            tag: match (part.tag, &check) {
                (None, _) => Tag::None,
                (Some(_), None) => Tag::Unchecked,
                (Some(_), Some(_)) => Tag::Verified,
            },
            check,
            expect: options.expect,
            held: options.unpad.then(Zeroizing::default),
            part,
        })
    }

    /// Takes the next bytes: whole blocks, except at the end of the message.
    fn write(&mut self, bytes: &[u8], out: &mut dyn Write) -> io::Result<()> {
        if let Some(check) = &mut self.check {
            check.update(bytes);
        }
        let Some(before) = self.held.take() else {
            return self.put(bytes, out);
        };
        let (head, last) = bytes.split_at(bytes.len().saturating_sub(16));
        self.put(&before, out)?;
        self.put(head, out)?;
        self.held = Some(Zeroizing::new(last.to_vec()));
        Ok(())
    }

    fn put(&mut self, bytes: &[u8], out: &mut dyn Write) -> io::Result<()> {
        self.written += bytes.len() as u64;
        out.write_all(bytes)
    }

    /// Does the final checks, and writes the bytes held back; `target` names the output in errors.
    fn finish(mut self, out: &mut dyn Write, target: &Path) -> Result<DecryptReport> {
        let refused = |kind, message: &str| Error::refused(kind, message).at(&self.path);
        if self.check.take().is_some_and(|check| !check.verify()) {
            let message = "the GCM tag does not match message, associated data, nonce and AES key";
            return Err(refused(ErrorKind::Tag, message));
        }
        if let Some(last) = self.held.take() {
            let message = "the message does not end with PKCS#7 padding, expected n bytes of value n, n from 1 to 16";
            let kept = unpadded(&last).ok_or_else(|| refused(ErrorKind::Padding, message))?;
            self.put(kept, out).at(target)?;
        }
        self.expect.length(&self.path, self.written)?;
        Ok(DecryptReport {
            bytes: self.written,
            margin_bits: None,
            log2_p_fail: None,
            tag: self.tag,
            mode: self.part.mode,
            aad_bytes: self.part.aad.len() as u64,
            aad_sha256: self.part.aad_sha256(),
            recorded: None,
        })
    }
}

fn check_size(path: &Path, key: &AesKey, expected: KeySize) -> Result<()> {
    if key.size() == expected {
        return Ok(());
    }
    let [found, expected] = [key.size(), expected].map(|size| 8 * size.key_bytes());
    let message = format!("found a key for AES-{found}, expected AES-{expected} as in the message");
    Err(Error::refused(ErrorKind::AesKeySize, message)
        .with(found, expected)
        .at(path))
}

/// Removes the padding of a last block: n bytes of value n, n from 1 to 16 (PKCS#7, RFC 5652 section 6.3).
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
