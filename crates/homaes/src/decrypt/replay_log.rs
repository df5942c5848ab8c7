//! The replay log: which authenticated messages were accepted already.
//!
//! ```text
//! homaes replay log 1
//! TIME gcm nonce=HEX aad-sha256=HEX tag=HEX bytes=N key=HEX check=HEX
//! …
//! ```
//!
//! One line for each message, in the order of acceptance. A message is known by nonce, associated data and tag: whoever returns
//! it again cannot change them without making the tag wrong, while its FHE ciphertexts, its layout and the FHE key can differ. The
//! time (RFC 3339), the length and the id of the FHE key are for the reader. `check` is the front of a hash of the line and of the
//! check before it, so that a change, a lost line and a line cut short are noticed. Lines lost at the end are not: no file can tell
//! that by itself.
//!
//! New lines are written with a copy of the log, which then replaces it: no line is ever there in part. So the cost of a decryption
//! grows with the log, by some 250 bytes for each message in it, once for all parts of a message.

use crate::decrypt::expect::unexpected;
use crate::input::part_meta::sha256;
use crate::input::source::NOT_REGULAR;
use crate::output::{folder_of, is_one_place, remove_leftovers};
use crate::{Error, ErrorKind, Output, PartMeta, Result};
use homaes_wire::KeyId;
use homaes_wire::hex;
use std::collections::BTreeMap;
use std::fs::{self, File, Metadata};
use std::io::{self, BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

const HEAD: &str = "homaes replay log 1";

/// Longer than any line.
const MAX_LINE_BYTES: u64 = 512;

/// The end of the year 9999: later times have no such text.
const LAST_SECOND: u64 = 253_402_300_799;

/// The log, and the messages that are to be recorded in it.
pub(crate) struct ReplayLog {
    log: PathBuf,
    /// The log with its new lines.
    copy: Output,
    /// The end of the log that was copied.
    end: End,
    /// By what names a message in its line.
    messages: BTreeMap<String, Message>,
}

struct Message {
    /// Where it is in the results.
    place: PathBuf,
    /// Its number among those of this run.
    number: usize,
    /// What else its line says.
    note: String,
}

impl ReplayLog {
    /// Checks that no message is in `log`, which need not exist yet, and none is given twice; reserves the new log.
    /// `parts`: the messages, all with tags, and their places in the results.
    pub(crate) fn open<'p>(
        log: &Path,
        key: KeyId,
        parts: impl IntoIterator<Item = (PathBuf, &'p PartMeta)>,
    ) -> Result<Self> {
        let mut messages = BTreeMap::new();
        for (number, (place, part)) in parts.into_iter().enumerate() {
            let note = format!(" bytes={} key={key}", part.bytes);
            let message = Message {
                place: place.clone(),
                number,
                note,
            };
            if let Some(Message { place: first, .. }) = messages.insert(name_of(part), message) {
                let found = format!("that of {}", first.display());
                return Err(unexpected(
                    &place,
                    "message",
                    found,
                    "each message once".into(),
                ));
            }
        }
        let _ = remove_leftovers(folder_of(log));
        let copy = Output::private(log, true)?;
        let mut replay_log = Self {
            // the file itself, where `log` is a symbolic link to it: one lock for all its names
            log: copy.path().to_owned(),
            copy,
            end: End::default(),
            messages,
        };
        replay_log.read()?;
        Ok(replay_log)
    }

    /// Copies the log, and checks it.
    fn read(&mut self) -> Result<()> {
        self.copy.cut(0)?;
        let (copy, log) = (&mut self.copy, &self.log);
        self.end = scan(log, &self.messages, |line| {
            let written = copy.write_all(line);
            written.map_err(|source| Error::io(log, source))
        })?;
        Ok(())
    }

    /// Refuses a file that is the log or its lock file, or has a folder of their name above it.
    pub(crate) fn spare(&self, file: &Path) -> Result<()> {
        let lock = lock_path(&self.log);
        let is_own = |path: &Path| self.copy.is_at(path) || is_one_place(&lock, path);
        match file.ancestors().any(is_own) {
            true => Err(Error::refused(
                ErrorKind::OwnInput,
                "is both the output and the replay log or its lock file",
            )
            .at(&self.log)),
            false => Ok(()),
        }
    }

    /// Records all messages: runs `put`, which names the outputs and then the log. Gives the number of the first message
    /// in the log. `put` does not run if another run has recorded one of them meanwhile, or nothing can be recorded.
    pub(crate) fn commit(mut self, put: impl FnOnce(Output) -> Result<()>) -> Result<u64> {
        // held until all files have their names
        let lock = lock_path(&self.log);
        let lock = open_lock(&lock).map_err(|source| Error::io(&lock, source))?;
        if Stamp::of(fs::metadata(&self.log)) != self.end.stamp {
            self.read()?;
        }
        let (time, mut check) = (time(), self.end.check);
        let mut messages: Vec<_> = self.messages.iter().collect();
        messages.sort_by_key(|(_, message)| message.number);
        let error = |source| Error::io(&self.log, source);
        for (name, Message { note, .. }) in messages {
            let line = format!("{time}{name}{note}");
            check = check.next(line.as_bytes());
            let line = format!("{line} check={}\n", hex(&check.0));
            self.copy.write_all(line.as_bytes()).map_err(error)?;
        }
        // A full disk is found here, before an output has its name.
        self.copy.flush().map_err(error)?;
        put(self.copy)?;
        drop(lock);
        Ok(self.end.messages + 1)
    }
}

/// What names a message in its line.
fn name_of(part: &PartMeta) -> String {
    format!(
        " gcm nonce={} aad-sha256={} tag={}",
        hex(part.mode.iv()),
        hex(&part.aad_sha256()),
        hex(&part.tag.unwrap_or_default())
    )
}

/// The front of the hash of everything so far.
#[derive(Clone, Copy)]
struct Check([u8; 16]);

impl Check {
    fn next(self, line: &[u8]) -> Self {
        let hash = sha256(&[&self.0, line].concat());
        Self(*hash.first_chunk().expect("32 bytes hold 16"))
    }
}

impl Default for Check {
    fn default() -> Self {
        Self([0; 16]).next(HEAD.as_bytes())
    }
}

/// The end of a log.
#[derive(Default)]
struct End {
    messages: u64,
    check: Check,
    /// `None` of a log that is not there.
    stamp: Option<Stamp>,
}

/// Tells whether a log, which only grows, is as it was.
#[derive(PartialEq)]
struct Stamp {
    bytes: u64,
    modified: Option<SystemTime>,
}

impl Stamp {
    fn of(metadata: io::Result<Metadata>) -> Option<Self> {
        let metadata = metadata.ok()?;
        Some(Self {
            bytes: metadata.len(),
            modified: metadata.modified().ok(),
        })
    }
}

/// Checks a log line by line, and that none of `messages` is in it. `each` gets every line, and the first one if there is
/// no log yet.
fn scan(
    log: &Path,
    messages: &BTreeMap<String, Message>,
    mut each: impl FnMut(&[u8]) -> Result<()>,
) -> Result<End> {
    let mut end = End::default();
    let file = match File::open(log) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            each(format!("{HEAD}\n").as_bytes())?;
            return Ok(end);
        }
        Err(source) => return Err(Error::io(log, source)),
    };
    let damaged = |line, expected| {
        let message = format!("the replay log is damaged: line {line}: expected {expected}");
        Error::refused(ErrorKind::ReplayLog, message).at(log)
    };
    end.stamp = Stamp::of(file.metadata());
    let mut input = BufReader::new(file);
    let mut line = Vec::new();
    let mut number = 0;
    loop {
        line.clear();
        number += 1;
        let read = input
            .by_ref()
            .take(MAX_LINE_BYTES)
            .read_until(b'\n', &mut line);
        if read.map_err(|source| Error::io(log, source))? == 0 {
            break;
        }
        let text = line
            .strip_suffix(b"\n")
            .and_then(|text| str::from_utf8(text).ok());
        let text = text.ok_or_else(|| damaged(number, "a whole line"))?;
        if number == 1 {
            if text != HEAD {
                return Err(damaged(number, HEAD));
            }
        } else {
            let (entry, check) = text
                .rsplit_once(" check=")
                .ok_or_else(|| damaged(number, "a checksum"))?;
            end.check = end.check.next(entry.as_bytes());
            if check != hex(&end.check.0) {
                return Err(damaged(
                    number,
                    "the checksum of the line and of those before it",
                ));
            }
            let (time, rest) = entry.split_at(entry.find(' ').unwrap_or(entry.len()));
            let name = rest.split_once(" bytes=").map_or(rest, |(name, _)| name);
            if let Some(message) = messages.get(name) {
                let log = log.display();
                let what =
                    format!("this message was already accepted on {time} ({log}, line {number})");
                return Err(Error::refused(ErrorKind::Replayed, what).at(&message.place));
            }
            end.messages += 1;
        }
        each(&line)?;
    }
    match number {
        1 => Err(damaged(1, HEAD)),
        _ => Ok(end),
    }
}

impl Output {
    /// Whether it will be the file of the replay log `log`, or the lock file beside it.
    #[must_use]
    pub fn is_log(&self, log: &Self) -> bool {
        self.is_same(log) || self.is_at(&lock_path(log.path()))
    }
}

/// The file that is locked. Not the log, which is replaced.
fn lock_path(log: &Path) -> PathBuf {
    let mut lock = log.as_os_str().to_owned();
    lock.push(".lock");
    lock.into()
}

/// Opens and locks the lock file; it stays where it is, empty.
fn open_lock(path: &Path) -> io::Result<File> {
    // opening a pipe would wait for a reader
    if fs::metadata(path).is_ok_and(|found| !found.is_file()) {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, NOT_REGULAR));
    }
    let mut options = File::options();
    options.write(true).create(true).truncate(false);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt;
        options.mode(0o600);
    }
    let file = options.open(path)?;
    file.lock()?;
    Ok(file)
}

/// Now, as far as clocks are right.
fn time() -> impl std::fmt::Display {
    let last = UNIX_EPOCH + Duration::from_secs(LAST_SECOND);
    humantime::format_rfc3339_seconds(SystemTime::now().clamp(UNIX_EPOCH, last))
}
