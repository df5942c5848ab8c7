//! The replay log lists the authenticated messages that were accepted.
//!
//! ```text
//! homaes replay log 1
//! TIME gcm nonce=HEX aad-sha256=HEX tag=HEX bytes=N key=HEX check=HEX
//! …
//! ```
//!
//! Each message has a line, in order of acceptance. Nonce, associated data and tag identify a message: a server that
//! returns it again cannot change them without invalidating the tag, whereas the FHE ciphertexts, layout and FHE key
//! can differ. The time (RFC 3339), the length and the id of the FHE key are for the reader. `check` is the front of a
//! hash of the line and the previous check. It reveals changed, missing and truncated lines, except lines missing at
//! the end, which no file can reveal by itself.
//!
//! A run writes a copy of the log with the new lines and then replaces the log, so a line is never partially present.
//! Before it names an output it replaces the log by the same text, because not every log can be replaced. Each
//! decryption therefore writes some 500 bytes per logged message, once for all parts of a message.

use crate::decrypt::expect::unexpected;
use crate::error::At;
use crate::input::part_meta::sha256;
use crate::input::source::NOT_REGULAR;
use crate::output::is_one_place;
use crate::{Error, ErrorKind, Output, PartMeta, Result};
use homaes_wire::{KeyId, hex};
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

const HEAD: &str = "homaes replay log 1\n";

/// The log with the messages to be recorded.
pub(crate) struct ReplayLog {
    /// Replaces the log. Its path resolves symbolic links, so that all names share one lock.
    copy: Output,
    /// The place of each message in the results, by the name in its line.
    places: BTreeMap<String, PathBuf>,
    /// The new lines, without time and check.
    lines: Vec<String>,
}

impl ReplayLog {
    /// Checks that no message is in `log`, which may be missing, and that no message occurs twice; reserves the new
    /// log. `parts` holds the messages, all with tags, and their places in the results.
    pub(crate) fn open<'p>(
        log: &Path,
        key: KeyId,
        parts: impl IntoIterator<Item = (PathBuf, &'p PartMeta)>,
    ) -> Result<Self> {
        let (mut places, mut lines) = (BTreeMap::new(), Vec::new());
        for (place, part) in parts {
            let name = name_of(part);
            lines.push(format!("{name} bytes={} key={key}", part.bytes));
            if let Some(first) = places.insert(name, place.clone()) {
                let found = format!("that of {}", first.display());
                return Err(unexpected(
                    &place,
                    "message",
                    found,
                    "each message once".into(),
                ));
            }
        }
        let copy = Output::private(log, true)?;
        scan(copy.path(), &places)?;
        Ok(Self {
            copy,
            places,
            lines,
        })
    }

    /// Refuses a file that is the log or its lock file, or that would need one of them as a folder.
    pub(crate) fn spare(&self, file: &Path) -> Result<()> {
        let path = self.copy.path();
        match file.ancestors().any(|file| is_own(path, file)) {
            true => Err(Error::refused(
                ErrorKind::OwnInput,
                "is both the output and the replay log or its lock file",
            )
            .at(path)),
            false => Ok(()),
        }
    }

    /// Records all messages: runs `put`, which names the outputs and then the log. Returns the number of the first
    /// message in the log. `put` does not run if another run recorded a message meanwhile, or if recording fails.
    pub(crate) fn commit(mut self, put: impl FnOnce(Output) -> Result<()>) -> Result<u64> {
        // held until all files have their names
        let log = self.copy.path().to_owned();
        let lock = lock(&log).map_err(|source| Error::io(&lock_path(&log), source))?;
        let (mut text, messages, mut check) = scan(&log, &self.places)?;
        // a log that cannot be replaced is found here, before a message is out
        if log.exists() {
            let mut same = Output::private(&log, true)?;
            same.write_all(text.as_bytes()).at(&log)?;
            same.commit()?;
        }
        let time = humantime::format_rfc3339_seconds(SystemTime::now().max(UNIX_EPOCH));
        for line in &self.lines {
            let line = format!("{time}{line}");
            check = next(check, &line);
            text.push_str(&format!("{line} check={}\n", hex(&check)));
        }
        // a full disk is found here, before an output has its name
        let written = self.copy.write_all(text.as_bytes());
        let written = written.and_then(|()| self.copy.flush());
        written.at(&log)?;
        put(self.copy)?;
        drop(lock);
        Ok(messages + 1)
    }
}

/// The identity of a message in its line.
fn name_of(part: &PartMeta) -> String {
    let (aad, tag) = (part.aad_sha256(), part.tag.unwrap_or_default());
    let [nonce, aad, tag] = [part.mode.iv(), &aad, &tag].map(hex);
    format!(" gcm nonce={nonce} aad-sha256={aad} tag={tag}")
}

/// Chains the hashes of all lines.
fn next(check: [u8; 16], line: &str) -> [u8; 16] {
    let hash = sha256(&[&check, line.as_bytes()].concat());
    *hash.first_chunk().expect("32 bytes hold 16")
}

/// Reads or begins a log and checks that it contains none of the messages. Returns its text, the number of its
/// messages, and its last check.
fn scan(log: &Path, places: &BTreeMap<String, PathBuf>) -> Result<(String, u64, [u8; 16])> {
    let damaged = |line, expected| {
        let message = format!("the replay log is damaged: line {line}: expected {expected}");
        Error::refused(ErrorKind::ReplayLog, message).at(log)
    };
    let text = match fs::read(log) {
        // invalid UTF-8 fails the checks below
        Ok(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
        Err(error) if error.kind() == io::ErrorKind::NotFound => HEAD.into(),
        Err(source) => return Err(Error::io(log, source)),
    };
    let lines = text.strip_prefix(HEAD);
    let lines = lines.ok_or_else(|| damaged(1, HEAD.trim_end()))?;
    let (mut check, mut messages) = (next([0; 16], HEAD.trim_end()), 0);
    for line in lines.split_inclusive('\n') {
        let number = messages + 2;
        let entry = line.strip_suffix('\n');
        let entry = entry.and_then(|line| line.rsplit_once(" check="));
        let right = entry.filter(|(entry, found)| {
            check = next(check, entry);
            *found == hex(&check)
        });
        let what = "a whole line, with the check of it and of those before it";
        let (entry, _) = right.ok_or_else(|| damaged(number, what))?;
        let (time, rest) = entry.split_at(entry.find(' ').unwrap_or(entry.len()));
        let name = rest.split_once(" bytes=").map_or(rest, |(name, _)| name);
        if let Some(place) = places.get(name) {
            let log = log.display();
            let what =
                format!("this message was already accepted on {time} ({log}, line {number})");
            return Err(Error::refused(ErrorKind::Replayed, what).at(place));
        }
        messages += 1;
    }
    Ok((text, messages, check))
}

impl Output {
    /// Whether this output is the replay log `log` or its lock file.
    #[must_use]
    pub fn is_log(&self, log: &Self) -> bool {
        self.is_file() && is_own(log.path(), self.path())
    }
}

fn is_own(log: &Path, file: &Path) -> bool {
    is_one_place(log, file) || is_one_place(&lock_path(log), file)
}

/// A separate file is locked, because the log is replaced.
fn lock_path(log: &Path) -> PathBuf {
    log.with_added_extension("lock")
}

/// The lock file stays, empty.
fn lock(log: &Path) -> io::Result<File> {
    let path = lock_path(log);
    // opening a pipe would wait for a reader
    if fs::metadata(&path).is_ok_and(|found| !found.is_file()) {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, NOT_REGULAR));
    }
    let mut options = File::options();
    options.append(true).create(true);
    // another user who could open it could hold the lock
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let file = options.open(path)?;
    file.lock()?;
    Ok(file)
}
