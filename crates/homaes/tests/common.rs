//! Keys and folders that the tests share.

#![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

use homaes::{AesKey, KeySet, Set, WrapOptions, WrappedKey};
use std::path::PathBuf;
use tempfile::TempDir;

pub(crate) const KEY: [u8; 16] = *b"not a secret key";

/// Keys of `bgv/toy-255`, [`KEY`] wrapped under them, and a temporary folder.
pub(crate) struct World {
    pub(crate) folder: TempDir,
    pub(crate) keys: KeySet,
    pub(crate) wrapped: WrappedKey,
}

impl World {
    pub(crate) fn new() -> Self {
        let set = Set::named("bgv/toy-255").unwrap();
        let keys = KeySet::generate(&set).unwrap();
        let key = AesKey::from_bytes(&KEY).unwrap();
        let wrapped = WrappedKey::encrypt(&keys.secret, &key, &WrapOptions::default()).unwrap();
        let folder = tempfile::tempdir().unwrap();
        Self {
            folder,
            keys,
            wrapped,
        }
    }

    /// Keys stored as `keys/` and `key.hwk` in the folder.
    pub(crate) fn with_files() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let set = Set::named("bgv/toy-255").unwrap();
        let keys = KeySet::create(&set, folder.path().join("keys")).unwrap();
        let key = AesKey::from_bytes(&KEY).unwrap();
        let (wrapping, path) = (WrapOptions::default(), folder.path().join("key.hwk"));
        let wrapped = WrappedKey::create(&keys.secret, &key, &wrapping, path, false).unwrap();
        Self {
            folder,
            keys,
            wrapped,
        }
    }

    pub(crate) fn at(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }
}
