//! What a store does.

use crate::store::StoreError;
use core::fmt;
use std::path::Path;

/// Objects by name: a folder, memory, or a bucket.
///
/// Names are relative and `/` separates their parts. No part is empty, `.` or `..`, and none has a backslash or a control character, so that a name means
/// the same in every store and never leads out of it.
///
/// Calls block. They may come from many threads at once.
pub trait Store: Send + Sync + fmt::Debug {
    /// How messages name an object: a path or a URI.
    fn describe(&self, name: &str) -> String;

    /// Length of an object in bytes; `None` if there is none.
    ///
    /// # Errors
    /// [`StoreError::Name`]; [`StoreError::Io`] and what else a service refuses.
    fn bytes(&self, name: &str) -> Result<Option<u64>, StoreError>;

    /// All of an object; `None` if there is none.
    ///
    /// # Errors
    /// [`StoreError::TooLong`] if it has more than `most` bytes; as [`bytes`](Self::bytes).
    fn read(&self, name: &str, most: u64) -> Result<Option<Vec<u8>>, StoreError>;

    /// Fills `into` with the bytes of an object from number `offset` on.
    ///
    /// # Errors
    /// [`StoreError::Missing`]; [`StoreError::TooShort`] if the object ends before; as [`bytes`](Self::bytes).
    fn read_at(&self, name: &str, offset: u64, into: &mut [u8]) -> Result<(), StoreError>;

    /// Writes an object that is not there yet, whole or not at all, and durably. Whoever comes second changes nothing.
    ///
    /// A bucket whose answer was lost may say [`Created::Existed`] of what this call wrote: compare the content where it matters.
    ///
    /// # Errors
    /// As [`bytes`](Self::bytes).
    fn create(&self, name: &str, bytes: &[u8]) -> Result<Created, StoreError>;

    /// What is below `prefix`, which is a name or empty for all. Unfinished temporary files are not in it.
    ///
    /// # Errors
    /// As [`bytes`](Self::bytes).
    fn list(&self, prefix: &str) -> Result<Listing, StoreError>;

    /// Removes an object; it is no error if there is none.
    ///
    /// # Errors
    /// As [`bytes`](Self::bytes).
    fn remove(&self, name: &str) -> Result<(), StoreError>;

    /// The folder, if the store is one.
    fn folder(&self) -> Option<&Path> {
        None
    }
}

/// What [`Store::list`] found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Listing {
    /// Names and lengths of objects, in the order of the names.
    pub objects: Vec<(String, u64)>,
    /// Names of what is there and is no object, in their order: a pipe, a link to nothing, an empty folder, or a file under a name that no object can have.
    pub others: Vec<String>,
}

impl Listing {
    pub(crate) fn sorted(mut self) -> Self {
        self.objects.sort();
        self.others.sort();
        self
    }
}

/// What [`Store::create`] did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Created {
    /// The object is new.
    New,
    /// There was one of this name, which stays as it was.
    Existed,
}

/// Refuses what cannot be the name of an object.
pub(crate) fn check_name(name: &str) -> Result<(), StoreError> {
    let refused = |why| {
        let name = name.to_owned();
        Err(StoreError::Name { name, why })
    };
    if name.contains(|c: char| c == '\\' || c.is_control()) {
        return refused("it has a backslash or a control character");
    }
    for part in name.split('/') {
        match part {
            "" => return refused("it is empty, or has an empty part"),
            "." | ".." => return refused("it has the part '.' or '..'"),
            _ if homaes_wire::is_temporary_name(part.as_ref()) => {
                return refused("it is that of a temporary file");
            }
            _ => {}
        }
    }
    Ok(())
}

/// The same for a prefix, which may be empty.
pub(crate) fn check_prefix(prefix: &str) -> Result<(), StoreError> {
    match prefix {
        "" => Ok(()),
        prefix => check_name(prefix),
    }
}

/// Refuses an object that is longer than `most`, and gives its length for memory.
pub(crate) fn fits(
    found: u64,
    most: u64,
    name: impl FnOnce() -> String,
) -> Result<usize, StoreError> {
    match usize::try_from(found) {
        Ok(len) if found <= most => Ok(len),
        _ => Err(StoreError::TooLong {
            name: name(),
            found,
            most,
        }),
    }
}
