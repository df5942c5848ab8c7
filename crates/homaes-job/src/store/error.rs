//! What can be wrong with an object.

use std::io;

/// What is wrong, with the object or place it is about.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// No object can have this name.
    #[error("\"{}\" cannot be the name of an object: {why}", name.escape_default())]
    Name {
        /// As given.
        name: String,
        /// The rule it breaks.
        why: &'static str,
    },
    /// The text is no place of objects.
    #[error("{location}: {why}")]
    Location {
        /// As given.
        location: String,
        /// The rule it breaks.
        why: &'static str,
    },
    /// The operating system refused.
    #[error("{name}: {source}")]
    Io {
        /// The object, or the folder.
        name: String,
        /// Why.
        source: io::Error,
    },
    /// The service of a bucket refused, or could not be reached.
    #[error("{name}: {message}")]
    Service {
        /// The object or the bucket.
        name: String,
        /// Why, in the words of the service or of the library that talks to it.
        message: String,
        /// Whether the same request can succeed later.
        temporary: bool,
    },
    /// There is no such object.
    #[error("{name}: there is no such object")]
    Missing {
        /// The object.
        name: String,
    },
    /// The object is longer than its reader takes.
    #[error("{name}: object has {found} bytes, expected at most {most}")]
    TooLong {
        /// The object.
        name: String,
        /// Its length in bytes.
        found: u64,
        /// The reader's limit.
        most: u64,
    },
    /// The object ends before the bytes asked for.
    #[error("{name}: object has {found} bytes, expected at least {expected}")]
    TooShort {
        /// The object.
        name: String,
        /// Its length in bytes.
        found: u64,
        /// Where the bytes asked for end.
        expected: u64,
    },
    /// The object has another length than the one asked for.
    #[error("{name}: object has {found} bytes, expected {expected}")]
    OtherLength {
        /// The object.
        name: String,
        /// Its length in bytes.
        found: u64,
        /// The length asked for.
        expected: u64,
    },
    /// The object has another content than the one asked for.
    #[error("{name}: object has BLAKE3 digest {found}, expected {expected}")]
    OtherContent {
        /// The object.
        name: String,
        /// Its digest, in hex digits.
        found: String,
        /// The digest asked for.
        expected: String,
    },
}

impl StoreError {
    /// Whether the same call can succeed later without another input: after trouble of the network or of a service, or once there is room on the disk.
    #[must_use]
    pub fn is_temporary(&self) -> bool {
        match self {
            Self::Io { source, .. } => is_temporary(source),
            Self::Service { temporary, .. } => *temporary,
            _ => false,
        }
    }

    pub(crate) fn io(name: impl Into<String>, source: io::Error) -> Self {
        let name = name.into();
        Self::Io { name, source }
    }
}

fn is_temporary(error: &io::Error) -> bool {
    use io::ErrorKind as Kind;
    // out of file descriptors, of the process and of the system: the same numbers on every Unix
    const TOO_MANY_OPEN: [i32; 2] = [24, 23];
    let kind = matches!(
        error.kind(),
        Kind::StorageFull
            | Kind::QuotaExceeded
            | Kind::FileTooLarge
            | Kind::OutOfMemory
            | Kind::Interrupted
            | Kind::WouldBlock
            | Kind::TimedOut
            | Kind::ResourceBusy
            | Kind::StaleNetworkFileHandle
            | Kind::HostUnreachable
            | Kind::NetworkUnreachable
            | Kind::NetworkDown
            | Kind::ConnectionRefused
            | Kind::ConnectionReset
            | Kind::ConnectionAborted
            | Kind::NotConnected
            | Kind::BrokenPipe
    );
    kind || cfg!(unix)
        && error
            .raw_os_error()
            .is_some_and(|number| TOO_MANY_OPEN.contains(&number))
}
