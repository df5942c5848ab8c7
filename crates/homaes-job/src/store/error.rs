//! Errors of stores.

use homaes::{Detail, ErrorKind};
use std::io;

/// What is wrong with an object or a place.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// The name is not valid for an object.
    #[error("\"{}\" cannot be the name of an object: {why}", name.escape_default())]
    Name {
        /// The name.
        name: String,
        /// The rule it breaks.
        why: &'static str,
    },
    /// The text is not a location.
    #[error("{location}: {why}")]
    Location {
        /// The text.
        location: String,
        /// The rule it breaks.
        why: &'static str,
    },
    /// An I/O operation failed.
    #[error("{name}: {source}")]
    Io {
        /// The object or folder.
        name: String,
        /// Why.
        source: io::Error,
    },
    /// The service of a bucket refused or was unreachable.
    #[error("{name}: {message}")]
    Service {
        /// The object or the bucket.
        name: String,
        /// The message of the service or of the client library.
        message: String,
        /// Whether the same request may succeed later.
        temporary: bool,
    },
    /// The object is missing.
    #[error("{name}: no such object")]
    Missing {
        /// The object.
        name: String,
    },
    /// The object exceeds the reader's limit.
    #[error("{name}: object has {found} bytes, expected at most {most}")]
    TooLong {
        /// The object.
        name: String,
        /// Its length in bytes.
        found: u64,
        /// The limit.
        most: u64,
    },
    /// The object ends before the requested bytes.
    #[error("{name}: object has {found} bytes, expected at least {expected}")]
    TooShort {
        /// The object.
        name: String,
        /// Its length in bytes.
        found: u64,
        /// End of the requested bytes.
        expected: u64,
    },
    /// The object has another length than requested.
    #[error("{name}: object has {found} bytes, expected {expected}")]
    OtherLength {
        /// The object.
        name: String,
        /// Its length in bytes.
        found: u64,
        /// The requested length.
        expected: u64,
    },
    /// The object has another content than requested.
    #[error("{name}: object has BLAKE3 digest {found}, expected {expected}")]
    OtherContent {
        /// The object.
        name: String,
        /// Its digest in hex digits.
        found: String,
        /// The requested digest.
        expected: String,
    },
}

impl StoreError {
    /// Whether the same call may succeed later: after a network or service failure, or once the disk has room.
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
    // out of file descriptors, for the process and the system: the same numbers on every Unix
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
