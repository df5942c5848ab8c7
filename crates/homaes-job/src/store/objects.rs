use crate::store::StoreError;
use core::fmt;
use std::path::Path;

/// Objects by name, in a folder or in a bucket. Calls block and may come from several threads.
///
/// Names are relative, with parts separated by `/`. No part is empty, `.` or `..`, or has a backslash or a control
/// character, so a name means the same in every store and never leads out of it. Every call can fail with
/// [`StoreError::Name`], and with [`StoreError::Io`] or other failures of a service.
pub trait Store: Send + Sync + fmt::Debug {
    /// Name of an object in messages: a path or a URI.
    fn describe(&self, name: &str) -> String;

    /// Length of an object in bytes; `None` if missing.
    fn bytes(&self, name: &str) -> Result<Option<u64>, StoreError>;

    /// Reads an object of at most `most` bytes, or fails with [`StoreError::TooLong`]; `None` if missing.
    fn read(&self, name: &str, most: u64) -> Result<Option<Vec<u8>>, StoreError>;

    /// Fills `into` with the bytes of an object from `offset`. Errors: [`StoreError::Missing`];
    /// [`StoreError::TooShort`] if the object ends before.
    fn read_at(&self, name: &str, offset: u64, into: &mut [u8]) -> Result<(), StoreError>;

    /// Writes an object that does not exist yet: durably, and whole or not at all. Never changes an existing object.
    ///
    /// If a bucket's answer was lost, the result may be [`Created::Existed`] although this call wrote the object.
    /// Compare the content where that matters.
    fn create(&self, name: &str, bytes: &[u8]) -> Result<Created, StoreError>;

    /// Lists everything below `prefix`, a name or empty for all, except unfinished temporary files.
    fn list(&self, prefix: &str) -> Result<Listing, StoreError>;

    /// Removes an object; a missing one is no error.
    fn remove(&self, name: &str) -> Result<(), StoreError>;

    /// The folder, for a store in a folder.
    fn folder(&self) -> Option<&Path> {
        None
    }
}

/// The result of [`Store::list`].
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Listing {
    /// Names and lengths of objects, sorted by name.
    pub objects: Vec<(String, u64)>,
    /// Sorted names of anything else: pipes, dangling links, empty folders, and files whose name no object can have.
    pub others: Vec<String>,
}

impl Listing {
    pub(crate) fn sorted(mut self) -> Self {
        self.objects.sort();
        self.others.sort();
        self
    }
}

/// The result of [`Store::create`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Created {
    /// The object is new.
    New,
    /// An object of this name existed and stays unchanged.
    Existed,
}

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

pub(crate) fn check_prefix(prefix: &str) -> Result<(), StoreError> {
    match prefix {
        "" => Ok(()),
        prefix => check_name(prefix),
    }
}

/// Refuses an object longer than `most`, and returns its length as `usize`.
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
