//! Decrypts a message with parts, each into its own file.
//!
//! All parts are decrypted into one unnamed file, which the system removes with the process. After all checks each part
//! is copied to its own file. A run that is stopped while copying leaves correct parts, and the same run completes
//! them.

use super::{Checked, DecryptOptions, DecryptReport, check_parts, each_batch};
use crate::decrypt::replay_log::ReplayLog;
use crate::error::At;
use crate::input::part_meta::PartMeta;
use crate::machine::disk;
use crate::output::{FOLDS_CASE, Folder, folder_of, refuse_own_input};
use crate::{Ciphertexts, Error, ErrorKind, Expect, Output, Result, SecretKey};
use homaes_aes::KeySize;
use std::collections::{BTreeSet, VecDeque};
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use zeroize::Zeroizing;

const CHUNK_BYTES: u64 = 1 << 16;

impl SecretKey {
    /// Decrypts every part of the `.hct` file `path` into a file of its name below `folder`, which is created if
    /// missing. `force` allows replacing files. The first file appears after all parts passed all checks. An existing
    /// file with the bytes of its part stays, so that a stopped run can be repeated. Padding is removed from parts
    /// whose mode has it. The disk needs room for all parts twice.
    ///
    /// # Errors
    /// As [`decrypt_with`](Self::decrypt_with), with the part in the path; `ErrorKind::NoParts` if the message has
    /// none; `ErrorKind::ManyParts` for [`expect`](DecryptOptions::expect) and [`part`](DecryptOptions::part), which
    /// are about one message; [`Error::Io`] if a name leads through a symbolic link; `ErrorKind::Disk`.
    pub fn decrypt_parts(
        &self,
        path: impl AsRef<Path>,
        folder: impl AsRef<Path>,
        force: bool,
        options: DecryptOptions<'_>,
    ) -> Result<Vec<(String, DecryptReport)>> {
        self.decrypt_parts_from(self.open_own(path.as_ref())?, folder, force, options)
    }

    /// As [`decrypt_parts`](Self::decrypt_parts), with the same errors, from open ciphertexts of any source.
    pub fn decrypt_parts_from(
        &self,
        ciphertexts: Ciphertexts<'_>,
        folder: impl AsRef<Path>,
        force: bool,
        options: DecryptOptions<'_>,
    ) -> Result<Vec<(String, DecryptReport)>> {
        ciphertexts.check(&self.set, self.id())?;
        let (path, folder) = (ciphertexts.path().to_owned(), folder.as_ref());
        let meta = ciphertexts.meta().clone();
        if !meta.has_parts() {
            return Err(crate::Meta::no_parts(&path));
        }
        if options.part.is_some() || options.expect != Expect::default() {
            return Err(meta.many(&path));
        }
        check_parts(options, &meta, &path)?;
        if folder.as_os_str().is_empty() {
            return Err(Error::io(folder, io::ErrorKind::NotFound.into()));
        }
        let parts = Parts {
            folder,
            force,
            options,
            input: &path,
            key_size: meta.key_size,
        };
        // refuses unusable parts before any is decrypted
        let mut targets = BTreeSet::new();
        for part in &meta.parts {
            parts.checked(part)?;
            parts.check_target(part)?;
            let target = parts.target(part);
            if FOLDS_CASE && !targets.insert(target.to_string_lossy().to_lowercase()) {
                return Err(unusable(
                    &target,
                    "is the file of another part on this system",
                ));
            }
        }
        let replay_log = options.replay_log.map(|log| {
            let places = meta.parts.iter().map(|part| (part.place(&path), part));
            let replay_log = ReplayLog::open(log, self.id(), places)?;
            for part in &meta.parts {
                replay_log.spare(&parts.target(part))?;
            }
            Ok(replay_log)
        });
        let replay_log = replay_log.transpose()?;
        let _made = Folder::create(folder)?;
        // once in the unnamed file and once in the parts' files
        disk::check(folder, meta.bytes().saturating_mul(2))?;
        let mut spool = tempfile::tempfile_in(folder).at(folder)?;
        let all = 0..u64::MAX;
        let noise = each_batch(self, ciphertexts, &all, &mut |offset, bytes| {
            let written = spool.seek(SeekFrom::Start(offset));
            written.and_then(|_| spool.write_all(bytes)).at(folder)
        })?;
        let done = meta.parts.iter().map(|part| {
            let report = parts.check(part, &spool);
            report.map(|report| (part, report))
        });
        let done = done.collect::<Result<Vec<_>>>()?;
        let first = match replay_log {
            None => parts.put(&done, &spool).map(|()| None)?,
            Some(replay_log) => Some(replay_log.commit(|log| {
                parts.put(&done, &spool)?;
                log.commit()
            })?),
        };
        let done = done.into_iter().zip(0..);
        let done = done.map(|((part, mut report), number)| {
            (report.margin_bits, report.log2_p_fail) = (noise.margin_bits, noise.log2_p_fail);
            report.recorded = first.map(|first| first + number);
            (part.name.clone().unwrap_or_default(), report)
        });
        Ok(done.collect())
    }
}

fn unusable(target: &Path, what: &str) -> Error {
    Error::refused(ErrorKind::PartNames, what).at(target)
}

/// Whether a name leads below the folder on Windows, to a file of its own: no drive, stream or device, and no end that
/// Windows leaves out.
fn fits_windows(name: &str) -> bool {
    name.split('/').all(|part| {
        let stem = part.split('.').next().unwrap_or_default();
        let stem = stem.trim_end().to_lowercase();
        let port = stem.strip_prefix("com").or(stem.strip_prefix("lpt"));
        let is_port = port
            .is_some_and(|port| port.chars().count() == 1 && port.chars().all(char::is_numeric));
        let devices = ["con", "prn", "aux", "nul", "conin$", "conout$"];
        let is_device = is_port || devices.contains(&&stem[..]);
        !part.contains(['<', '>', ':', '"', '|', '?', '*'])
            && !part.ends_with(['.', ' '])
            && !is_device
    })
}

#[derive(Clone, Copy)]
struct Parts<'k> {
    folder: &'k Path,
    force: bool,
    options: DecryptOptions<'k>,
    input: &'k Path,
    key_size: KeySize,
}

impl<'k> Parts<'k> {
    fn target(&self, part: &PartMeta) -> PathBuf {
        self.folder.join(part.name.as_deref().unwrap_or_default())
    }

    fn unpads(&self, part: &PartMeta) -> bool {
        self.options.unpad && part.mode.whole_blocks()
    }

    fn checked(&self, part: &'k PartMeta) -> Result<Checked<'k>> {
        let expect = self.options.parts.zip(part.name.as_ref());
        let expect = expect.and_then(|(parts, name)| parts.get(name));
        let options = DecryptOptions {
            unpad: self.unpads(part),
            expect: expect.copied().unwrap_or_default(),
            ..self.options
        };
        let place = part.place(self.input);
        Checked::new(&place, self.key_size, part, options)
    }

    /// Refuses a name that leads out of the folder, or to an existing file that must stay.
    fn check_target(&self, part: &PartMeta) -> Result<()> {
        let target = self.target(part);
        let name = part.name.as_deref().unwrap_or_default();
        if cfg!(windows) && !fits_windows(name) {
            return Err(unusable(Path::new(name), "is no name of a file on Windows"));
        }
        let mut above = self.folder.to_owned();
        for name in name.split('/') {
            above.push(name);
            if above.is_symlink() {
                let what = "is a symbolic link, which could lead a part out of the folder";
                let error = io::Error::new(io::ErrorKind::PermissionDenied, what);
                return Err(Error::io(&above, error));
            }
        }
        let reads = self.options.reads.iter().copied();
        refuse_own_input(&target, reads.chain([self.input]))?;
        let Ok(there) = target.symlink_metadata() else {
            return Ok(());
        };
        // it may be the part itself, from a stopped run
        let padding = if self.unpads(part) { 16 } else { 0 };
        let least = part.bytes.saturating_sub(padding);
        match self.force || there.is_file() && (least..=part.bytes).contains(&there.len()) {
            true => Ok(()),
            false => Err(Error::taken(ErrorKind::AlreadyExists, target)),
        }
    }

    /// Checks the bytes of a part in `spool`, which holds all blocks of the message.
    fn check(&self, part: &'k PartMeta, spool: &File) -> Result<DecryptReport> {
        let (mut checked, mut nowhere) = (self.checked(part)?, io::sink());
        each_chunk(spool, part, part.bytes, |chunk| {
            checked.write(chunk, &mut nowhere)
        })
        .at(self.folder)?;
        checked.finish(&mut nowhere, self.folder)
    }

    /// Copies every part to its file. A file with the same bytes stays. One with other bytes stops the run before any
    /// part appears, unless it may be replaced.
    fn put(&self, done: &[(&PartMeta, DecryptReport)], spool: &File) -> Result<()> {
        let mut there = BTreeSet::new();
        if !self.force {
            for (number, (part, report)) in done.iter().enumerate() {
                let path = self.target(part);
                match is_there(&path, spool, part, report.bytes) {
                    Ok(true) => _ = there.insert(number),
                    Ok(false) => return Err(Error::taken(ErrorKind::AlreadyExists, path)),
                    Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                    Err(source) => return Err(Error::io(&path, source)),
                }
            }
        }
        // innermost first: new folders that stay empty are removed again
        let mut made = VecDeque::new();
        for (number, (part, report)) in done.iter().enumerate() {
            if there.contains(&number) {
                continue;
            }
            self.check_target(part)?;
            let path = self.target(part);
            made.push_front(Folder::create(folder_of(&path))?);
            let mut output = Output::private(&path, self.force)?;
            // padding, at the end, is left out
            let copied = each_chunk(spool, part, report.bytes, |chunk| output.write_all(chunk));
            copied.at(&path)?;
            output.commit()?;
        }
        Ok(())
    }
}

/// Passes on the first `bytes` of a part.
fn each_chunk(
    mut spool: &File,
    part: &PartMeta,
    bytes: u64,
    mut take: impl FnMut(&[u8]) -> io::Result<()>,
) -> io::Result<()> {
    spool.seek(SeekFrom::Start(16 * part.first_block))?;
    let mut chunk = Zeroizing::new(vec![0; bytes.min(CHUNK_BYTES) as usize]);
    let mut left = bytes;
    while left > 0 {
        let some = &mut chunk[..left.min(CHUNK_BYTES) as usize];
        spool.read_exact(some)?;
        left -= some.len() as u64;
        take(some)?;
    }
    Ok(())
}

/// Whether the file at `path` equals the first `bytes` of a part.
fn is_there(path: &Path, spool: &File, part: &PartMeta, bytes: u64) -> io::Result<bool> {
    let mut there = File::open(path)?;
    let mut same = there.metadata()?.len() == bytes;
    let mut other = Zeroizing::new(vec![0; bytes.min(CHUNK_BYTES) as usize]);
    each_chunk(spool, part, bytes, |chunk| {
        let other = &mut other[..chunk.len()];
        same = same && there.read_exact(other).is_ok() && *other == *chunk;
        Ok(())
    })?;
    Ok(same)
}

#[cfg(test)]
mod tests {
    use super::fits_windows;

    #[test]
    fn names_that_windows_reads_differently_are_refused() {
        let names = "Z:/evil.bat|a/Z:|a.txt:stream|a./b|a.|a |con|a/NUL.txt|aux .txt|COM1|lpt\u{b2}.log|what?|CONOUT$";
        for name in names.split('|') {
            assert!(!fits_windows(name), "{name}");
        }
        for name in "a|a b/c.d.e|.hidden|con1|com|coma.txt|com10|null|résumé".split('|') {
            assert!(fits_windows(name), "{name}");
        }
    }
}
