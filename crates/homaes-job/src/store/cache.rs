//! Local copies of large objects, named by their digests.

use crate::store::local::{at, make_folder};
use crate::store::{Location, Store, StoreError, open};
use homaes_wire::{AtomicFile, OutputOptions, WireError, hex};
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

const PIECE_BYTES: usize = 1 << 24;

/// The path of a copy, in the folder `cache`, of the object at `location` with this BLAKE3 digest and length.
///
/// The first process of the machine fetches it while others wait. A copy gets its name once its digest is right. An
/// existing copy is verified again, and fetched again if damaged.
///
/// # Errors
/// [`StoreError::OtherLength`] or [`StoreError::OtherContent`] if the object differs; errors of
/// [`open`](crate::store::open()) and [`read_at`](crate::store::Store::read_at); [`StoreError::Io`] of the folder.
pub fn cached(
    cache: &Path,
    location: &Location,
    digest: &[u8; 32],
    bytes: u64,
) -> Result<PathBuf, StoreError> {
    let name = hex(digest);
    let path = cache.join(&name);
    if is_right(&path, digest, bytes) {
        return Ok(path);
    }
    make_folder(cache)?;
    let _lock = lock(&cache.join(format!(".{name}.lock")))?;
    // another process may have fetched it meanwhile
    if is_right(&path, digest, bytes) {
        return Ok(path);
    }
    let no_object = || StoreError::Location {
        location: location.to_string(),
        why: "expected the name of an object",
    };
    let (folder, name) = location.split().ok_or_else(no_object)?;
    fetch(&*open(&folder)?, name, &path, digest, bytes)?;
    Ok(path)
}

/// Copies an object to a file, which it replaces, and verifies it.
fn fetch(
    store: &dyn Store,
    name: &str,
    path: &Path,
    digest: &[u8; 32],
    bytes: u64,
) -> Result<(), StoreError> {
    let object = || store.describe(name);
    let found = store
        .bytes(name)?
        .ok_or_else(|| StoreError::Missing { name: object() })?;
    if found != bytes {
        return Err(StoreError::OtherLength {
            name: object(),
            found,
            expected: bytes,
        });
    }
    let failed = |error| match error {
        WireError::Io { source, .. } => at(path, source),
        other => at(path, io::Error::other(other)),
    };
    let force = OutputOptions {
        force: true,
        private: false,
    };
    let mut file = AtomicFile::create(path, force).map_err(failed)?;
    let mut hasher = blake3::Hasher::new();
    let mut piece = vec![0; PIECE_BYTES.min(usize::try_from(bytes).unwrap_or(PIECE_BYTES))];
    let mut offset = 0;
    while offset < bytes {
        let left = usize::try_from(bytes - offset).unwrap_or(PIECE_BYTES);
        let piece = &mut piece[..left.min(PIECE_BYTES)];
        store.read_at(name, offset, piece)?;
        hasher.update(piece);
        file.write_all(piece).map_err(|error| at(path, error))?;
        offset += piece.len() as u64;
    }
    let found = hasher.finalize();
    if found != *digest {
        return Err(StoreError::OtherContent {
            name: object(),
            found: hex(found.as_bytes()),
            expected: hex(digest),
        });
    }
    file.commit().map_err(failed)
}

/// Whether the file has this content; `false` if it cannot be read.
fn is_right(path: &Path, digest: &[u8; 32], bytes: u64) -> bool {
    let right = || -> io::Result<bool> {
        let found = fs::metadata(path)?;
        if !found.is_file() || found.len() != bytes {
            return Ok(false);
        }
        let mut hasher = blake3::Hasher::new();
        hasher.update_reader(File::open(path)?)?;
        Ok(hasher.finalize() == *digest)
    };
    right().unwrap_or(false)
}

/// Waits for the lock file. On file systems without locks several processes may fetch at once; each renames its copy
/// only when it is right.
fn lock(path: &Path) -> Result<File, StoreError> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false);
    let file = options.open(path).map_err(|error| at(path, error))?;
    loop {
        match file.lock() {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            _ => return Ok(file),
        }
    }
}
