use super::{answer, in_a_folder, listed, start_with};
use crate::store::{Created, Local, Store, StoreError};
use std::fs;
use std::io;
use tempfile::TempDir;

fn local() -> (TempDir, Local) {
    let folder = tempfile::tempdir().unwrap();
    let store = Local::new(folder.path());
    (folder, store)
}

#[test]
fn objects_are_files_of_their_names() {
    let (folder, store) = local();
    assert_eq!(store.folder(), Some(folder.path()));
    fs::write(folder.path().join("x"), b"made elsewhere").unwrap();
    assert_eq!(store.create("x", b"other").unwrap(), Created::Existed);
    store.create("a/b/c", b"here").unwrap();
    let path = folder.path().join("a/b/c");
    assert_eq!(fs::read(&path).unwrap(), b"here");
    assert_eq!(store.describe("a/b/c"), path.display().to_string());
    // an object does not go below another, or in the place of a folder; a bucket takes both
    assert!(store.create("x/y", b"").is_err());
    assert!(store.create("a/b", b"").is_err());
    // temporary files are no objects
    let left = folder.path().join("a/.c.homaes-tmp-0000000000000000");
    fs::write(&left, b"half").unwrap();
    let expected = [("a/b/c".to_owned(), 4), ("x".to_owned(), 14)];
    assert_eq!(listed(&store, ""), expected);
    // a folder that does not exist is empty
    let none = Local::new(folder.path().join("none"));
    assert_eq!(listed(&none, ""), []);
    assert_eq!(none.bytes("x").unwrap(), None);
    assert!(!none.folder().unwrap().exists());
}

#[test]
fn what_is_no_file_is_refused() {
    use std::os::unix::fs::symlink;
    let (folder, store) = local();
    let at = |name: &str| folder.path().join(name);
    let _socket = std::os::unix::net::UnixListener::bind(at("socket")).unwrap();
    assert!(store.read("socket", 10).is_err());
    // links to files are followed, dangling ones are not replaced
    fs::write(at("file"), b"x").unwrap();
    symlink("file", at("link")).unwrap();
    assert_eq!(store.read("link", 1).unwrap().unwrap(), b"x");
    symlink("none", at("broken")).unwrap();
    for name in ["link", "broken"] {
        assert_eq!(store.create(name, b"y").unwrap(), Created::Existed);
    }
    let errors = [store.bytes("broken").err(), store.read("broken", 1).err()];
    for error in errors {
        let text = error.unwrap().to_string();
        assert!(text.ends_with("broken: is a symbolic link to nothing"));
    }
    fs::create_dir_all(at("folder/empty")).unwrap();
    fs::write(at("back\\slash"), b"x").unwrap();
    let found = store.list("").unwrap();
    assert_eq!(found.objects.len(), 2);
    let others = ["back\\slash", "broken", "folder/empty", "socket"];
    assert_eq!(found.others, others);
}

#[cfg(target_os = "linux")]
#[test]
fn names_that_are_not_utf8_are_told_from_objects() {
    use std::os::unix::ffi::OsStrExt;
    let (folder, store) = local();
    let name = std::ffi::OsStr::from_bytes(b"a\xff");
    fs::write(folder.path().join(name), b"x").unwrap();
    let found = store.list("").unwrap();
    assert_eq!(found.objects, []);
    assert_eq!(found.others, ["a\u{fffd}"]);
}

/// A limit on file sizes imitates a full disk: the write fails half-way.
#[test]
fn a_full_disk_is_temporary_and_leaves_nothing() {
    let place = in_a_folder();
    let task = ["fail", &place.location.to_string()];
    let said = answer(start_with("trap '' XFSZ; ulimit -f 100;", &task));
    let path = place.store.describe("large");
    assert!(said.starts_with(&format!("true {path}: ")), "{said}");
    let files = fs::read_dir(place.store.folder().unwrap()).unwrap();
    assert_eq!(files.count(), 0);
}

#[test]
fn troubles_that_pass_are_told_from_others() {
    use io::ErrorKind::{Interrupted, NotFound, Other, PermissionDenied, QuotaExceeded};
    use io::ErrorKind::{ReadOnlyFilesystem, StorageFull, TimedOut};
    let passes = |source: io::Error| StoreError::io("x", source).is_temporary();
    for kind in [StorageFull, QuotaExceeded, Interrupted, TimedOut] {
        assert!(passes(kind.into()), "{kind}");
    }
    for kind in [NotFound, PermissionDenied, ReadOnlyFilesystem, Other] {
        assert!(!passes(kind.into()), "{kind}");
    }
    for (number, temporary) in [(24, true), (23, true), (28, true), (13, false), (5, false)] {
        let error = io::Error::from_raw_os_error(number);
        assert_eq!(passes(error), temporary, "{number}");
    }
}
