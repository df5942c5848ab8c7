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
//! A new line is written with a copy of the log, which then replaces it: no line is ever there in part. So the cost of a decryption
//! grows with the log, by some 250 bytes for each message in it.

use crate::meta::sha256;
use crate::source::NOT_REGULAR;
use crate::{Error, Output, PartMeta, Result};
use homaes_aes::Block;
use homaes_wire::KeyId;
use homaes_wire::hex;
use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

const HEAD: &str = "homaes replay log 1";

/// Longer than any line.
const MAX_LINE_BYTES: u64 = 512;

/// The end of the year 9999: later times have no such text.
const LAST_SECOND: u64 = 253_402_300_799;

/// The log, and the message that is to be recorded in it.
pub(crate) struct Seen {
    log: PathBuf,
    /// The log with its new line.
    output: Output,
    /// What names the message in its line.
    name: String,
    /// What else its line says.
    note: String,
}

impl Seen {
    /// Checks that the message is not in `log`, which need not be there yet, and reserves what is written later; `out` is the
    /// output of the decryption of the message in `path`.
    pub(crate) fn open(
        log: &Path,
        out: &Output,
        path: &Path,
        part: &PartMeta,
        tag: Block,
        key: KeyId,
    ) -> Result<Self> {
        let output = Output::private(log, true)?;
        if out.is_log(&output) {
            let path = log.to_owned();
            return Err(Error::SeenIsOutput { path });
        }
        let seen = Self {
            // the file itself, where `log` is a symbolic link to it: one lock for all its names
            log: output.path().to_owned(),
            output,
            name: name_of(part, tag),
            note: format!(" bytes={} key={key}", part.bytes),
        };
        scan(log, path, &seen.name, |_| Ok(()))?;
        Ok(seen)
    }

    /// Lets `out` appear and records its message; the number of messages in the log. If another run has recorded it meanwhile, or
    /// nothing can be recorded, `out` does not appear.
    pub(crate) fn commit(self, out: Output, path: &Path) -> Result<u64> {
        let Self {
            log,
            mut output,
            name,
            note,
        } = self;
        let error = |source| Error::io(&log, source);
        // Held until both files have their names.
        let lock = lock_path(&log);
        let lock = open_lock(&lock).map_err(|source| Error::io(&lock, source))?;
        let end = scan(&log, path, &name, |line| {
            output.write_all(line).map_err(error)
        })?;
        let line = format!("{}{name}{note}", time());
        let check = end.check.next(line.as_bytes());
        output
            .write_all(format!("{line} check={}\n", hex(&check.0)).as_bytes())
            .map_err(error)?;
        // A full disk is found here, before the output has its name.
        output.flush().map_err(error)?;
        out.commit_with(output)?;
        drop(lock);
        Ok(end.messages + 1)
    }
}

/// Checks that a message is not in `log`, as [`Seen::open`] does.
pub(crate) fn check(log: &Path, path: &Path, part: &PartMeta, tag: Block) -> Result<()> {
    scan(log, path, &name_of(part, tag), |_| Ok(())).map(drop)
}

/// What names a message in its line.
fn name_of(part: &PartMeta, tag: Block) -> String {
    format!(
        " gcm nonce={} aad-sha256={} tag={}",
        hex(part.mode.iv()),
        hex(&part.aad_sha256()),
        hex(&tag)
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

/// The end of a log.
struct End {
    messages: u64,
    check: Check,
}

/// Reads a log line by line and checks it, and that the message of `path` called `name` is not in it. `each` gets every line; of a
/// log that is not there, the first one.
fn scan(
    log: &Path,
    path: &Path,
    name: &str,
    mut each: impl FnMut(&[u8]) -> Result<()>,
) -> Result<End> {
    let mut end = End {
        messages: 0,
        check: Check([0; 16]).next(HEAD.as_bytes()),
    };
    let file = match File::open(log) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            each(format!("{HEAD}\n").as_bytes())?;
            return Ok(end);
        }
        Err(source) => return Err(Error::io(log, source)),
    };
    let damaged = |line, expected| Error::SeenDamaged {
        path: log.to_owned(),
        line,
        expected,
    };
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
            if rest
                .strip_prefix(name)
                .is_some_and(|note| note.starts_with(' '))
            {
                return Err(Error::Seen {
                    path: path.to_owned(),
                    time: time.to_owned(),
                    log: log.to_owned(),
                    line: number,
                });
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
