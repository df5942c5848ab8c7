use super::{answer, inode, start};
use crate::store::{Location, StoreError, cached};
use std::fs;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

struct Source {
    folder: TempDir,
    location: Location,
    cache: PathBuf,
    bytes: Vec<u8>,
    digest: [u8; 32],
}

/// An object that takes more than one request.
fn source() -> Source {
    let folder = tempfile::tempdir().unwrap();
    let bytes: Vec<u8> = (0..40_000_000u32).map(|i| (i % 251) as u8).collect();
    let path = folder.path().join("eval.hek");
    fs::write(&path, &bytes).unwrap();
    Source {
        location: Location::Local(path),
        cache: folder.path().join("a/cache"),
        digest: *blake3::hash(&bytes).as_bytes(),
        bytes,
        folder,
    }
}

impl Source {
    fn cached(&self) -> Result<PathBuf, StoreError> {
        let bytes = self.bytes.len() as u64;
        cached(&self.cache, &self.location, &self.digest, bytes)
    }
}

/// Files of a folder except lock files.
fn files(folder: &Path) -> Vec<String> {
    let names = fs::read_dir(folder).unwrap().map(|entry| {
        let name = entry.unwrap().file_name();
        name.into_string().unwrap()
    });
    names.filter(|name| !name.ends_with(".lock")).collect()
}

#[test]
fn a_copy_is_made_once_and_verified_each_time() {
    let source = source();
    let path = source.cached().unwrap();
    assert!(fs::read(&path).unwrap() == source.bytes);
    let first = inode(&path);
    assert_eq!(source.cached().unwrap(), path);
    assert_eq!(inode(&path), first);
    // one byte, the end, everything
    let mut damaged = source.bytes.clone();
    damaged[30_000_000] ^= 1;
    for damaged in [&damaged[..], &source.bytes[..100], b""] {
        fs::write(&path, damaged).unwrap();
        source.cached().unwrap();
        assert!(fs::read(&path).unwrap() == source.bytes);
    }
    // an existing copy needs no source
    fs::remove_file(source.folder.path().join("eval.hek")).unwrap();
    assert_eq!(source.cached().unwrap(), path);
    fs::remove_file(&path).unwrap();
    let error = source.cached().unwrap_err();
    assert!(matches!(error, StoreError::Missing { .. }), "{error}");
    assert_eq!(files(&source.cache), [""; 0]);
}

#[test]
fn another_object_gets_no_name() {
    let mut source = source();
    source.digest[5] ^= 1;
    let error = source.cached().unwrap_err();
    let digests = [blake3::hash(&source.bytes), source.digest.into()];
    let [found, expected] = digests.map(|digest| digest.to_string());
    let message = format!("object has BLAKE3 digest {found}, expected {expected}");
    assert!(error.to_string().ends_with(&message), "{error}");
    assert!(!error.is_temporary());
    source.bytes.pop();
    let error = source.cached().unwrap_err();
    assert!(matches!(error, StoreError::OtherLength { .. }), "{error}");
    assert_eq!(files(&source.cache), [""; 0]);
}

#[test]
fn processes_of_a_machine_fetch_once() {
    let source = source();
    let (cache, location) = (source.cache.to_str().unwrap(), source.location.to_string());
    let digest = blake3::Hash::from_bytes(source.digest).to_string();
    let bytes = source.bytes.len().to_string();
    let processes = [(); 4].map(|()| start(&["cached", cache, &location, &digest, &bytes]));
    let path = source.cached().unwrap();
    let file = inode(&path).to_string();
    // a second fetch would have replaced the file
    for process in processes {
        assert_eq!(answer(process), file);
    }
    assert_eq!(files(&source.cache).len(), 1);
}
