//! Kinds of errors, for programs to act on, and the trait of scheme errors.

use homaes_aes::Direction;
use homaes_wire::{Kind, WireError};
use std::error::Error;
use std::{fmt, io};

/// The kind of an error. Its message has the details.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The operating system refused.
    Io(io::ErrorKind),
    /// A file that only its owner should be able to use, but others can.
    Untrusted,
    /// The output exists.
    AlreadyExists,
    /// The output would replace a secret key.
    HoldsSecretKey,
    /// The output would replace what is read.
    OwnInput,
    /// The disk has no room.
    Disk,
    /// There is not enough memory.
    Memory,
    /// The operating system gives no randomness.
    Random,
    /// There are keys in the folder.
    KeysExist,
    /// Not a file of this project.
    NotHomaes,
    /// Another kind of file, this one.
    WrongKind(Kind),
    /// A file of a newer version.
    NewerVersion,
    /// A file for a set that this program does not have.
    UnknownSetInFile,
    /// The set has changed.
    OtherDigest,
    /// Objects of different sets.
    OtherSet,
    /// Objects of different secret keys.
    OtherKey,
    /// A file changed while it was in use.
    Changed,
    /// A file is damaged.
    Damaged,
    /// The decryption is not a message.
    Undecryptable,
    /// Too much noise to trust the result.
    Noise,
    /// Unfinished keys of another set.
    UnfinishedKeys,
    /// The unfinished output of another run, or without a journal.
    OtherRun,
    /// A shard is damaged, or one of another run.
    Shard,
    /// No device has the name.
    UnknownDevice,
    /// There is no such GPU, or it cannot be used.
    NoGpu,
    /// Only the processor evaluates this.
    NotOnGpu,
    /// A device failed.
    DeviceFault,
    /// No set has the name.
    UnknownSet,
    /// The set does not take AES keys of the size.
    KeySize,
    /// The set does not have the layout.
    NoLayout,
    /// The wrapped key does not have the layout.
    NotWrapped,
    /// The evaluation key does not have the layout.
    NotInEvalKey,
    /// The set has too few levels.
    Levels,
    /// The set has no levels.
    NoLevels,
    /// The server cannot expand the AES key.
    ClientExpands,
    /// An evaluation key of an older version cannot expand a compact wrapped key.
    NoExpansion,
    /// A program has too few levels left.
    TooDeep,
    /// There is no key for an operation of a program.
    NoKey,
    /// A bridge needs this many multiplications.
    BridgeLevels(usize),
    /// The secret key does not fit the bridge.
    UnfitKey,
    /// Not an AES key.
    AesKey,
    /// A name that no AES key has, or that none can have.
    KeyName,
    /// An AES key of another size than that of the message.
    AesKeySize,
    /// The length does not fit the mode.
    MessageLength,
    /// The output of `openssl enc` with a password.
    Salted,
    /// Text in base64 or hexadecimal digits.
    Base64,
    /// Another format than bare AES ciphertext.
    Foreign,
    /// The mode needs AES in this direction.
    Direction(Direction),
    /// The mode has no tag to check.
    NoTag,
    /// The mode does not have what was asked for.
    NotOfMode,
    /// The GCM tag is wrong.
    Tag,
    /// The GCM tag was not checked.
    Unchecked,
    /// Not the expected message.
    Unexpected,
    /// The message was accepted before.
    Replayed,
    /// The replay log needs a checked tag.
    ReplayUnchecked,
    /// The replay log is damaged.
    ReplayLog,
    /// No PKCS#7 padding.
    Padding,
    /// Not a passphrase.
    Passphrase,
    /// The secret key needs its passphrase.
    Protected,
    /// The secret key has no passphrase.
    NotProtected,
    /// The passphrase is wrong.
    WrongPassphrase,
    /// Names that parts cannot have.
    PartNames,
    /// A message with parts where one is wanted.
    ManyParts,
    /// A message without parts where they are wanted.
    NoParts,
    /// No part has the name.
    NoPart,
    /// An argument has a value that is not possible.
    Argument,
    /// There is no job.
    NoJob,
    /// The plan of the job is damaged.
    Plan,
    /// Another job is there.
    OtherJob,
    /// Other keys than the job was planned with.
    JobKeys,
    /// The message changed after the job was planned.
    JobInput,
    /// A shard differs from the one that this machine computes.
    Differs,
    /// Workers evaluate shards of the job.
    Busy,
    /// A symbolic link, which is not followed.
    Linked,
    /// The job has no shard of this number.
    NoShard,
    /// Shards are missing.
    Incomplete,
    /// A store refused; the same request may succeed later.
    StoreBusy,
    /// A store refused.
    Store,
    /// The work was cancelled.
    Cancelled,
    /// A fault of this project.
    Fault,
}

impl From<&WireError> for ErrorKind {
    fn from(error: &WireError) -> Self {
        match error {
            WireError::Io { source, .. } => Self::Io(source.kind()),
            WireError::AlreadyExists { .. } => Self::AlreadyExists,
            WireError::NotHomaes { .. }
            | WireError::UnknownKind { .. }
            | WireError::TooShort { .. } => Self::NotHomaes,
            WireError::WrongKind { found, .. } => Self::WrongKind(*found),
            WireError::NewerVersion { .. } => Self::NewerVersion,
            WireError::OtherSet { .. } => Self::OtherSet,
            WireError::OtherDigest { .. } => Self::OtherDigest,
            WireError::OtherKey { .. } => Self::OtherKey,
            WireError::Changed { .. } => Self::Changed,
            _ => Self::Damaged,
        }
    }
}

/// A value that was found or expected.
#[derive(Clone, Debug, PartialEq)]
pub enum Detail {
    /// Words.
    Text(String),
    /// A count.
    Number(u64),
    /// A figure.
    Real(f64),
}

impl Detail {
    /// The value found and the one expected, if the error has them.
    #[must_use]
    #[rustfmt::skip] // a table
    pub fn of_wire(error: &WireError) -> Option<[Self; 2]> {
        Some(match error {
            WireError::TooShort { found, expected }
            | WireError::Truncated { found, expected }
            | WireError::TrailingBytes { found, expected }
            | WireError::RecordCount { found, expected } => [*found, *expected].map(Self::from),
            WireError::NewerVersion { found, expected } => [*found, *expected].map(|version| u64::from(version).into()),
            WireError::WrongKind { found, expected } => [found, expected].map(Self::text),
            WireError::OtherSet { found, expected } => [found, expected].map(Self::text),
            WireError::OtherKey { found, expected } => [found, expected].map(Self::text),
            _ => return None,
        })
    }

    /// The text of a value.
    #[must_use]
    pub fn text(value: impl fmt::Display) -> Self {
        Self::Text(value.to_string())
    }
}

macro_rules! details {
    ($($type:ty => |$value:ident| $detail:expr;)*) => {
        $(impl From<$type> for Detail {
            fn from($value: $type) -> Self {
                $detail
            }
        })*
    };
}

details! {
    &str => |text| Self::text(text);
    String => |text| Self::Text(text);
    u64 => |number| Self::Number(number);
    usize => |number| Self::Number(number as u64);
    f64 => |number| Self::Real(number);
}

/// An error of a scheme.
pub trait Failure: Error + Send + Sync + 'static {
    /// Its kind.
    fn kind(&self) -> ErrorKind;

    /// The value found and the one expected, if the error has them.
    fn details(&self) -> Option<[Detail; 2]> {
        None
    }

    /// The error of the container, if it is one; otherwise this error.
    ///
    /// # Errors
    /// Itself.
    fn into_wire(self: Box<Self>) -> Result<WireError, Box<dyn Failure>>;
}
