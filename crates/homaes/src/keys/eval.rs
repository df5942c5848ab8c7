//! The evaluation key.

use super::{Origin, last_checksum, open, reader, set_of};
use crate::error::At;
use crate::{Error, Result, Set};
use homaes_aes::Layout;
use homaes_scheme::{FieldError, traits};
use homaes_wire::{CHECKSUM_BYTES, Header, KeyId, Kind};
use std::any::Any;
use std::path::Path;

/// The server's key, which evaluates and cannot decrypt.
pub struct EvalKey {
    pub(crate) key: Box<dyn traits::EvalKey>,
    origin: Origin,
}

impl EvalKey {
    /// Reads a `.hek` file.
    ///
    /// # Errors
    /// The first fault of the file.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        let file = open(path, Kind::EvalKey)?;
        let (set, checksum) = (set_of(&file)?, file.last_checksum().at(path)?);
        let read = Origin::read(file, set, checksum, |params, file| params.open_eval(file));
        read.map(|(origin, key)| Self { key, origin })
    }

    /// The key in `bytes`, the content of a `.hek` file, which are not kept.
    ///
    /// # Errors
    /// Their first fault.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        let file = reader(bytes, Kind::EvalKey)?;
        let (set, checksum) = (set_of(&file)?, last_checksum(bytes));
        let read = Origin::read(file, set, checksum, |params, file| {
            params.read_eval(file.boxed())
        });
        read.map(|(origin, key)| Self { key, origin })
    }

    /// The set that the header of a `.hek` file names.
    ///
    /// # Errors
    /// [`Error::File`](crate::Error::File); `ErrorKind::UnknownSetInFile`.
    pub fn set_in(path: impl AsRef<Path>) -> Result<Set> {
        set_of(&open(path.as_ref(), Kind::EvalKey)?)
    }

    /// The layouts that a `.hek` file has keys for, by its header.
    ///
    /// # Errors
    /// As [`set_in`](Self::set_in); [`Error::Content`](crate::Error::Content) if no key of the set has its length.
    pub fn layouts_in(path: impl AsRef<Path>) -> Result<Vec<Layout>> {
        let path = path.as_ref();
        let file = open(path, Kind::EvalKey)?;
        layouts_of(path, &set_of(&file)?, file.header())
    }

    /// No output may replace this file.
    pub(crate) fn path(&self) -> &Path {
        &self.origin.path
    }

    /// Its parameter set.
    #[must_use]
    pub fn set(&self) -> &Set {
        &self.origin.set
    }

    /// The layouts that it has keys for.
    #[must_use]
    pub fn layouts(&self) -> Vec<Layout> {
        let mut layouts = self.set().layouts().to_vec();
        layouts.retain(|&layout| self.key.check_layout(layout).is_ok());
        layouts
    }

    /// Checks that it has keys for a layout.
    pub(crate) fn check_layout(&self, layout: Layout) -> Result<()> {
        self.key.check_layout(layout).map_err(Error::keys)
    }

    /// Identifies the secret key it was made with.
    #[must_use]
    pub fn key_id(&self) -> KeyId {
        self.origin.header.key_id()
    }

    /// The key in the type of its scheme's crate, for computing on results: a `homaes_bgv::EvalKey`, a
    /// `homaes_tfhe::EvalKey`, a `homaes_ntru::EvalKey<_>`, a `homaes_dghv::EvalKey`; `None` if it is of another
    /// scheme.
    #[must_use]
    pub fn of_scheme<K: Any>(&self) -> Option<&K> {
        let key: &dyn Any = &*self.key;
        key.downcast_ref()
    }

    /// The last checksum of its file covers the whole file.
    pub(crate) fn checksum(&self) -> &[u8; CHECKSUM_BYTES] {
        &self.origin.checksum
    }

    /// Size of its file.
    #[must_use]
    pub fn file_bytes(&self) -> u64 {
        self.origin.header.file_bytes()
    }
}

homaes_wire::debug_fields!(EvalKey, origin);

/// The layouts of the evaluation key with this header: all keys of a set and a version have one of a few lengths; more
/// or fewer whole records would be useless.
pub(crate) fn layouts_of(path: &Path, set: &Set, header: &Header) -> Result<Vec<Layout>> {
    let keys = set.params().eval_keys_of(header.version());
    let (found, expected) = (header.file_bytes(), keys.first().map_or(0, |key| key.1));
    let key = keys.into_iter().find(|&(_, bytes)| bytes == found);
    let error = || FieldError::new("bytes in all", found, expected);
    let key = key.ok_or_else(|| Error::content(path, error().into()))?;
    Ok(key.0)
}
