//! What went wrong, where, and what to do about it.

pub(crate) mod foreign;
mod remedy;

pub use foreign::Foreign;
pub use homaes_scheme::{ParamsError, SchemeError};

use homaes_aes::Direction;
use homaes_wire::WireError;
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};

/// Result of this crate.
pub type Result<T, E = Error> = core::result::Result<T, E>;

/// What [`Error::NotOfMode`] says a mode without tags does not have.
pub(crate) const TAG_TO_CHECK: &str = "tag to check with an AES key";

/// Errors of the library. The message says what was found and expected; [`remedy`](Self::remedy) says what to do.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The operating system refused.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The output is there already and overwriting was not asked for.
    #[error("{}: file already exists", path.display())]
    AlreadyExists {
        /// The output.
        path: PathBuf,
    },
    /// The unfinished keys of a folder are of another set.
    #[error("{}: is the unfinished secret key of set {found}, expected {expected}", path.display())]
    UnfinishedOfSet {
        /// The unfinished secret key.
        path: PathBuf,
        /// Its set.
        found: String,
        /// The set asked for.
        expected: &'static str,
    },
    /// What is beside the output was left by a run on another message, with other keys or in another layout.
    #[error("{}: belongs to another run, whose message, keys or layout differ: found run {found}, expected {expected}", path.display())]
    OtherRun {
        /// The journal.
        path: PathBuf,
        /// Names the run.
        found: String,
        /// Names the run that was to go on.
        expected: String,
    },
    /// A shard of another run, or another shard.
    #[error("{}: is not the shard that is wanted: it differs in its {what}", path.display())]
    Shard {
        /// The shard.
        path: PathBuf,
        /// What differs.
        what: &'static str,
    },
    /// No journal says which run the unfinished output is of.
    #[error("{}: the journal of an unfinished run is missing or damaged in its first line", path.display())]
    Journal {
        /// The journal.
        path: PathBuf,
    },
    /// A file is no client key of the crate `tfhe`.
    #[error("{}: not a client key of the crate tfhe 1.8, written by safe_serialize", path.display())]
    ClientKey {
        /// The file.
        path: PathBuf,
    },
    /// A device has no such name.
    #[error(
        "device {}: expected auto, cpu, cuda, or cuda with numbers, such as cuda:0,1",
        quoted(found)
    )]
    UnknownDevice {
        /// The name.
        found: String,
    },
    /// GPUs were asked for, and there are none that can be used.
    #[error("device {device}: {why}")]
    NoGpu {
        /// What was asked for.
        device: String,
        /// What is missing.
        why: String,
        /// What to do.
        remedy: &'static str,
    },
    /// GPUs were asked for, for what is evaluated by the processor alone.
    #[error(
        "{what} is not evaluated on GPUs, expected layout sliced or packed of a set of bgv, without a bridge"
    )]
    NotOnGpu {
        /// What was asked for.
        what: String,
    },
    /// A message has no such bytes.
    #[error("{}: found bytes {} to {}, expected a part of 0 to {bytes}", path.display(), found.start, found.end)]
    Range {
        /// The file.
        path: PathBuf,
        /// The bytes asked for.
        found: Range<u64>,
        /// Bytes of the message.
        bytes: u64,
    },
    /// The output would replace a secret key.
    #[error("{}: holds a secret key, which an output of this kind does not replace", path.display())]
    HoldsSecretKey {
        /// The output.
        path: PathBuf,
    },
    /// The output would replace what is read.
    #[error("{}: is the output and also read", path.display())]
    OwnInput {
        /// The output.
        path: PathBuf,
    },
    /// A file is damaged or belongs elsewhere.
    #[error("{}: {source}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        source: WireError,
    },
    /// The content of a file cannot be used.
    #[error("{}: {source}", path.display())]
    Content {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        source: SchemeError,
    },
    /// A value that cannot be written.
    #[error("value {}: expected {expected}", quoted(label))]
    Value {
        /// Its label.
        label: String,
        /// What it must have.
        expected: &'static str,
    },
    /// A shard is damaged, or is none of the job that is read.
    #[error(transparent)]
    WrongShard(Box<Error>),
    /// A pattern of a search is empty, or its windows reach over more than a run of slots of the set.
    #[error("pattern {}: found {found} bytes, expected 1 to {most}", quoted(label))]
    Pattern {
        /// Its label.
        label: String,
        /// Its bytes.
        found: usize,
        /// The most that the set has room for.
        most: usize,
    },
    /// A ciphertext of a value cannot be read or decrypted.
    #[error("{}: value {label:?}: {source}", path.display())]
    Ciphertext {
        /// The file.
        path: PathBuf,
        /// The label of the value.
        label: String,
        /// Why.
        source: Box<SchemeError>,
    },
    /// The noise of a value has come too close to the modulus for its numbers to be trusted.
    #[error(
        "{}: value {label:?}: {found:.1} bits of noise left, expected at least {expected}",
        path.display()
    )]
    NoisyValue {
        /// The file.
        path: PathBuf,
        /// The label of the value.
        label: String,
        /// Bits between noise and failure.
        found: f64,
        /// Fewest that are trusted.
        expected: f64,
    },
    /// A number is larger than its value says.
    #[error("{}: value {label:?} has a number of more than {expected} bits", path.display())]
    Wide {
        /// The file.
        path: PathBuf,
        /// The label of the value.
        label: String,
        /// Bits of its numbers.
        expected: u8,
    },
    /// Ciphertexts of another scheme than a program computes with.
    #[error("{}: its ciphertexts are of set {set}, expected {expected}", path.display())]
    OtherState {
        /// The file.
        path: PathBuf,
        /// Its set.
        set: &'static str,
        /// The type asked for.
        expected: &'static str,
    },
    /// The run was cancelled.
    #[error("cancelled")]
    Cancelled,
    /// One batch of a run failed.
    #[error("{}batch {batch}: {source}", prefix(path))]
    Batch {
        /// The file it was read from; `None` while it was evaluated.
        path: Option<PathBuf>,
        /// Its number, from 0.
        batch: u64,
        /// Why.
        source: SchemeError,
    },
    /// The noise has come too close to the modulus for the result to be trusted.
    #[error(
        "{}batch {batch}: {found:.1} bits of noise left, expected at least {expected}",
        prefix(path)
    )]
    Noise {
        /// The file it was read from; `None` while it was evaluated.
        path: Option<PathBuf>,
        /// Number of the batch, from 0.
        batch: u64,
        /// Bits between noise and failure.
        found: f64,
        /// Fewest that are trusted.
        expected: f64,
    },
    /// Keys could not be made or do not go together.
    #[error(transparent)]
    Keys(SchemeError),
    /// A declared parameter set is unsound.
    #[error(transparent)]
    Params(ParamsError),
    /// No parameter set has this name.
    #[error("unknown parameter set {}{}, secure ones are {expected}", quoted(found), did_you_mean(*near))]
    UnknownSet {
        /// The name.
        found: String,
        /// The name that may be meant.
        near: Option<&'static str>,
        /// The names of secure sets.
        expected: String,
    },
    /// The parameter set has no room for AES with a key of this size.
    #[error(
        "an AES key of {found} bits: set {set} takes keys of {expected} bits{}", fitting(*other, *found)
    )]
    KeySizeOfSet {
        /// The set.
        set: &'static str,
        /// Bits of the key.
        found: usize,
        /// Bits of the keys that the set takes.
        expected: String,
        /// A set of the same scheme that takes the key.
        other: Option<&'static str>,
    },
    /// The file is for a parameter set that this program does not have.
    #[error("{}: unknown parameter set {found:?}, expected one of: {expected}", path.display())]
    UnknownSetInFile {
        /// The file.
        path: PathBuf,
        /// The name.
        found: String,
        /// The known names.
        expected: String,
    },
    /// The bytes are no AES key.
    #[error(
        "{}: not an AES key: found {found} bytes{}, expected 16, 24 or 32 bytes, or 32, 48 or 64 hex digits",
        path.display(), if *more { " or more" } else { "" }
    )]
    AesKey {
        /// The file.
        path: PathBuf,
        /// Its length, as far as it was read.
        found: usize,
        /// Whether it goes on there.
        more: bool,
    },
    /// The bytes may be a mistyped AES key.
    #[error(
        "{}: not an AES key: found 32 characters that are not all hex digits, though most are", path.display()
    )]
    AlmostHex {
        /// The file.
        path: PathBuf,
    },
    /// The length of the AES-encrypted file does not fit its mode.
    #[error("{}: {found} bytes cannot be of mode {mode}, expected {expected}", path.display())]
    MessageLength {
        /// The file.
        path: PathBuf,
        /// The mode.
        mode: &'static str,
        /// Its length in bytes, without a nonce that was read from it.
        found: u64,
        /// What the mode needs.
        expected: &'static str,
    },
    /// The file to transcipher holds AES ciphertext in another format, or none.
    #[error("{}: begins like {format}, expected bare AES ciphertext", path.display())]
    Foreign {
        /// The file.
        path: PathBuf,
        /// Its format.
        format: Foreign,
    },
    /// Associated data that cannot be carried.
    #[error(
        "{found} bytes of associated data with mode {mode}, expected at most {expected} and mode gcm"
    )]
    Aad {
        /// The mode.
        mode: &'static str,
        /// Bytes given.
        found: usize,
        /// Most that are carried.
        expected: usize,
    },
    /// The wrapped key is for the other direction of AES.
    #[error("the wrapped key is for AES {}, mode {mode} needs AES {}", cipher(*found), cipher(other(*found)))]
    Direction {
        /// The mode.
        mode: &'static str,
        /// Direction of the wrapped key.
        found: Direction,
    },
    /// An option of decryption does not go with the mode of the file.
    #[error("{}: mode {mode} has no {option}", path.display())]
    NotOfMode {
        /// The file.
        path: PathBuf,
        /// What the mode lacks.
        option: &'static str,
        /// The mode.
        mode: &'static str,
    },
    /// The AES key has another size than the one that the message was encrypted with.
    #[error("{}: the message is of AES-{expected}, found a key for AES-{found}", path.display())]
    AesKeySize {
        /// The file.
        path: PathBuf,
        /// Bits of the key.
        found: usize,
        /// Bits of the key of the message.
        expected: usize,
    },
    /// The tag of a GCM message is not the one that belongs to it.
    #[error(
        "{}: the GCM tag does not match: message, associated data, nonce, tag or AES key differ from those of the encryption",
        path.display()
    )]
    Tag {
        /// The file.
        path: PathBuf,
    },
    /// A GCM message is to be decrypted without the AES key, and that was not asked for.
    #[error("{}: a message of mode gcm, found no AES key to check its tag with", path.display())]
    NoAesKey {
        /// The file.
        path: PathBuf,
    },
    /// The message is not the one that is expected.
    #[error("{}: {what}: found {found}, expected {expected}", path.display())]
    Unexpected {
        /// The file.
        path: PathBuf,
        /// What differs.
        what: &'static str,
        /// What the file has.
        found: String,
        /// What was expected.
        expected: String,
    },
    /// A message is to be recorded in a replay log, but nothing proves which message it is.
    #[error("{}: found no checked tag, expected one: the replay log is for authenticated messages", path.display())]
    SeenUnchecked {
        /// The file.
        path: PathBuf,
    },
    /// The message was accepted before.
    #[error(
        "{}: expected a message that was not accepted before, found the one that was accepted on {time} ({}, line {line})",
        path.display(), log.display()
    )]
    Seen {
        /// The file.
        path: PathBuf,
        /// When it was accepted first, in the words of the log.
        time: String,
        /// The replay log.
        log: PathBuf,
        /// Its line, from 1.
        line: u64,
    },
    /// The replay log is not as it was written.
    #[error("{}: the replay log is damaged: line {line}: expected {expected}", path.display())]
    SeenDamaged {
        /// The replay log.
        path: PathBuf,
        /// The first line that is wrong, from 1.
        line: u64,
        /// What it should be.
        expected: &'static str,
    },
    /// The output is the replay log or its lock file.
    #[error("{}: is the output and the replay log or its lock file", path.display())]
    SeenIsOutput {
        /// The log.
        path: PathBuf,
    },
    /// The message does not end with padding.
    #[error(
        "{}: the message does not end with PKCS#7 padding, expected n bytes of value n, n from 1 to 16",
        path.display()
    )]
    Padding {
        /// The file.
        path: PathBuf,
    },
    /// The bytes are no passphrase.
    #[error("{}: not a passphrase: found {found}, expected one line of 1 to 1024 bytes", path.display())]
    Passphrase {
        /// The file.
        path: PathBuf,
        /// What it holds.
        found: &'static str,
    },
    /// The secret key is protected with a passphrase, and none was given.
    #[error("{}: the secret key is protected with a passphrase, found none", path.display())]
    Protected {
        /// The file.
        path: PathBuf,
    },
    /// A passphrase was given for a secret key that has none.
    #[error("{}: the secret key is not protected with a passphrase, found one for it", path.display())]
    NotProtected {
        /// The file.
        path: PathBuf,
    },
    /// The passphrase does not decrypt the secret key.
    #[error("{}: the passphrase does not open this secret key", path.display())]
    WrongPassphrase {
        /// The file.
        path: PathBuf,
    },
    /// There is not enough memory for the key derivation that the file of the secret key asks for.
    #[error("{}: no memory for the passphrase: Argon2id needs {wanted} bytes", path.display())]
    KdfMemory {
        /// The file.
        path: PathBuf,
        /// Bytes.
        wanted: u64,
    },
    /// The operating system gives no randomness.
    #[error("no randomness from the operating system: {0}")]
    Random(getrandom::Error),
    /// There are keys in the folder, which new ones never replace.
    #[error("{}: already exists, and keys are never replaced", path.display())]
    KeysExist {
        /// The key.
        path: PathBuf,
    },
    /// Names of parts that they cannot have.
    #[error("parts of a message: found {found}, expected {expected}")]
    PartNames {
        /// The first one that is wrong, in quotes, or how many there are.
        found: String,
        /// What they must be.
        expected: &'static str,
    },
    /// A message of many parts where one is wanted.
    #[error("{}: holds {count} parts", path.display())]
    ManyParts {
        /// The file.
        path: PathBuf,
        /// Their number.
        count: usize,
    },
    /// A message without parts where they are wanted.
    #[error("{}: holds one message without parts", path.display())]
    NoParts {
        /// The file.
        path: PathBuf,
    },
    /// No part has the name.
    #[error("{}: has no part '{name}'", path.display())]
    NoPart {
        /// The file.
        path: PathBuf,
        /// The name asked for.
        name: String,
    },
    /// With this secret key results that cross a bridge would be wrong too often: one in several is.
    #[error("{0}")]
    Unfit(SchemeError),
    /// Results of AES on which too few multiplications are left to cross a bridge.
    #[error(
        "too few multiplications left on the results of AES to cross: {needed} needed, {left} left"
    )]
    Crossing {
        /// Multiplications that it takes.
        needed: usize,
        /// Multiplications left.
        left: usize,
    },
    /// The disk has no room for the files.
    #[error("{}: {wanted} bytes wanted, {free} free on its disk", path.display())]
    Disk {
        /// The folder.
        path: PathBuf,
        /// Bytes still to be written.
        wanted: u64,
        /// Bytes free.
        free: u64,
    },
    /// The work needs more memory than this process can have.
    #[error("not enough memory: {wanted} bytes wanted at least")]
    Memory {
        /// Bytes.
        wanted: u64,
    },
}

impl Error {
    /// Whether the same work can succeed later: it failed for want of room on the disk or in memory.
    #[must_use]
    pub fn is_temporary(&self) -> bool {
        use io::ErrorKind as Kind;
        match self {
            Self::Disk { .. } | Self::Memory { .. } => true,
            Self::Io { source, .. } => matches!(
                source.kind(),
                Kind::StorageFull | Kind::QuotaExceeded | Kind::FileTooLarge | Kind::OutOfMemory
            ),
            _ => false,
        }
    }

    pub(crate) fn io(path: &Path, source: io::Error) -> Self {
        Self::Io {
            path: path.to_owned(),
            source,
        }
    }

    /// An error about an input file. Where its bytes are made by this crate, an error of theirs is the one.
    pub(crate) fn file(path: &Path, source: WireError) -> Self {
        let path = path.to_owned();
        match source {
            WireError::Io { source, .. } => match source.downcast() {
                Ok(error) => error,
                Err(source) => Self::Io { path, source },
            },
            source => Self::File { path, source },
        }
    }

    /// An error about an output file, told by its own name instead of the temporary one.
    pub(crate) fn output(path: &Path, source: WireError) -> Self {
        match source {
            WireError::AlreadyExists { .. } => Self::AlreadyExists {
                path: path.to_owned(),
            },
            source => Self::file(path, source),
        }
    }

    /// A scheme's error while a file was read or written.
    pub(crate) fn content(path: &Path, source: SchemeError) -> Self {
        match source.into_wire() {
            Ok(source) => Self::output(path, source),
            Err(source) => Self::Content {
                path: path.to_owned(),
                source,
            },
        }
    }

    pub(crate) fn batch(batch: u64, source: SchemeError) -> Self {
        if source.is_cancelled() {
            return Self::Cancelled;
        }
        let path = None;
        Self::Batch {
            path,
            batch,
            source,
        }
    }

    /// Adds the file to a failure of a batch.
    pub(crate) fn in_file(self, file: &Path) -> Self {
        match self {
            Self::Batch { batch, source, .. } => Self::Batch {
                path: Some(file.to_owned()),
                batch,
                source,
            },
            error => error,
        }
    }
}

fn prefix(path: &Option<PathBuf>) -> String {
    path.as_ref()
        .map_or_else(String::new, |path| format!("{}: ", path.display()))
}

/// The name that may be meant, for an error.
fn did_you_mean(near: Option<&str>) -> String {
    near.map_or_else(String::new, |near| format!(" (did you mean {near}?)"))
}

/// The set that takes keys of so many bits, for an error.
fn fitting(set: Option<&str>, bits: usize) -> String {
    set.map_or_else(String::new, |set| format!(", {set} takes {bits}"))
}

/// What AES does in a direction.
fn cipher(direction: Direction) -> &'static str {
    match direction {
        Direction::Encrypt => "encryption",
        Direction::Decrypt => "decryption",
    }
}

fn other(direction: Direction) -> Direction {
    match direction {
        Direction::Encrypt => Direction::Decrypt,
        Direction::Decrypt => Direction::Encrypt,
    }
}

/// A word of the caller between quotation marks, whose end is left out where it is long.
pub(crate) fn quoted(word: &str) -> String {
    const MAX_CHARS: usize = 80;
    let shown: String = word.chars().take(MAX_CHARS).collect();
    match shown.len() == word.len() {
        true => format!("{word:?}"),
        false => format!("{shown:?}... ({} bytes)", word.len()),
    }
}

/// A text for people: characters that hide or reorder others (controls, format characters and line separators of
/// Unicode) become escapes.
#[must_use]
pub fn printable(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for c in text.chars() {
        match is_hidden(c) {
            true => shown.extend(c.escape_default()),
            false => shown.push(c),
        }
    }
    shown
}

/// The categories Cc, Cf, Zl and Zp of Unicode.
fn is_hidden(c: char) -> bool {
    c.is_control()
        || matches!(
            u32::from(c),
            0xad | 0x600..=0x605 | 0x61c | 0x6dd | 0x70f | 0x890..=0x891 | 0x8e2 | 0x180e
                | 0x200b..=0x200f | 0x2028..=0x202e | 0x2060..=0x206f | 0xfeff | 0xfff9..=0xfffb
                | 0x110bd | 0x110cd | 0x13430..=0x1343f | 0x1bca0..=0x1bca3 | 0x1d173..=0x1d17a
                | 0xe0000..=0xe007f
        )
}

#[cfg(test)]
mod tests {
    use super::*;
    use homaes_bgv::Error as Scheme;
    use homaes_scheme::Mismatch;

    #[test]
    fn messages_name_the_file_once() {
        let path = Path::new("a.hct");
        let io = || io::Error::new(io::ErrorKind::StorageFull, "disk full");
        let temporary = || PathBuf::from(".a.hct.homaes-tmp-1");
        let full = WireError::Io {
            path: temporary(),
            source: io(),
        };
        let taken = WireError::AlreadyExists { path: temporary() };
        let short = || WireError::Truncated {
            found: 1,
            expected: 2,
        };
        let cases = [
            (Error::output(path, full), "a.hct: disk full"),
            (Error::output(path, taken), "a.hct: file already exists"),
            (
                Error::content(path, Scheme::Wire(short()).into()),
                "a.hct: file is truncated: found 1 bytes, expected 2",
            ),
            (
                Error::batch(
                    3,
                    Scheme::Mismatch(Mismatch::TooMany {
                        what: "blocks",
                        found: 17,
                        expected: 16,
                    })
                    .into(),
                ),
                "batch 3: 17 blocks in a batch of 16",
            ),
            (
                Error::AesKey {
                    path: path.into(),
                    found: 17,
                    more: false,
                },
                "a.hct: not an AES key: found 17 bytes, expected 16, 24 or 32 bytes, or 32, 48 or 64 hex digits",
            ),
        ];
        let long = Error::UnknownSet {
            found: "\n".repeat(1_000_000),
            near: None,
            expected: "bgv/toy-255".to_owned(),
        };
        let text = long.to_string();
        assert!(
            text.len() < 300 && text.contains("... (1000000 bytes), "),
            "{text}"
        );
        for (error, message) in cases {
            assert_eq!(error.to_string(), message);
            assert!(!error.remedy().is_empty() && !error.remedy().ends_with('.'));
        }
    }

    #[test]
    fn messages_say_what_was_found_and_expected() {
        let set = "tfhe/toy";
        for (error, message) in [
            (
                SchemeError::NoLevels { wanted: 3, set },
                "3 multiplications to be left on the output, expected none: that of set tfhe/toy has no levels and can be bootstrapped",
            ),
            (
                SchemeError::ClientExpands { set: "bgv/toy-255" },
                "key expansion by the server, expected by the client: set bgv/toy-255 has no circuit for it",
            ),
            (
                homaes_tfhe::Error::Blocks {
                    found: 33,
                    expected: 32,
                }
                .into(),
                "33 blocks, expected 32",
            ),
        ] {
            assert_eq!(error.to_string(), message);
            assert!(!error.remedy().is_empty() && !error.remedy().ends_with('.'));
        }
    }

    #[test]
    fn errors_of_the_container_are_found_in_every_scheme() {
        let short = || WireError::Truncated {
            found: 1,
            expected: 2,
        };
        for error in [
            SchemeError::from(homaes_bgv::Error::from(short())),
            homaes_tfhe::Error::from(short()).into(),
        ] {
            assert_eq!(error.remedy(), short().remedy());
            assert_eq!(error.into_wire().unwrap().to_string(), short().to_string());
        }
        let other = SchemeError::from(homaes_bgv::Error::NotBytes);
        assert!(other.into_wire().is_err());
    }
}
