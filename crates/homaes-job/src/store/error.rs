//! What can be wrong with an object.

use homaes::{Detail, ErrorKind};
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
    #[error("{name}: no such object")]
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

    /// Which kind of error it is.
    pub(crate) fn kind(&self) -> ErrorKind {
        match self {
            error if error.is_temporary() => ErrorKind::StoreBusy,
            Self::Io { source, .. } => ErrorKind::Io(source.kind()),
            Self::Missing { .. } => ErrorKind::Io(io::ErrorKind::NotFound),
            Self::Name { .. } | Self::Location { .. } => ErrorKind::Argument,
            Self::Service { .. } => ErrorKind::Store,
            _ => ErrorKind::Damaged,
        }
    }

    /// The object or place that it is about.
    pub(crate) fn name(&self) -> &str {
        match self {
            Self::Location { location: name, .. }
            | Self::Name { name, .. }
            | Self::Io { name, .. }
            | Self::Service { name, .. }
            | Self::Missing { name }
            | Self::TooLong { name, .. }
            | Self::TooShort { name, .. }
            | Self::OtherLength { name, .. }
            | Self::OtherContent { name, .. } => name,
        }
    }

    /// What was found and expected, if the error says so.
    #[rustfmt::skip] // a table
    pub(crate) fn details(&self) -> Option<[Detail; 2]> {
        match self {
            Self::TooLong { found, most: expected, .. }
            | Self::TooShort { found, expected, .. }
            | Self::OtherLength { found, expected, .. } => Some([*found, *expected].map(Detail::from)),
            Self::OtherContent { found, expected, .. } => Some([found, expected].map(Detail::text)),
            _ => None,
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
