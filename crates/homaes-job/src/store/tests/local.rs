use super::in_a_folder;
use crate::store::{Created, Local, Store, StoreError};
use std::fs;
use std::io;

#[test]
fn objects_are_files_of_their_names() {
    let folder = tempfile::tempdir().unwrap();
    let store = Local::new(folder.path());
    assert_eq!(store.folder(), Some(folder.path()));
    fs::write(folder.path().join("x"), b"made elsewhere").unwrap();
    assert_eq!(store.create("x", b"other").unwrap(), Created::Existed);
    store.create("a/b/c", b"here").unwrap();
    let path = folder.path().join("a/b/c");
    assert_eq!(fs::read(&path).unwrap(), b"here");
    assert_eq!(store.describe("a/b/c"), path.display().to_string());
}

#[test]
fn a_folder_that_is_not_there_is_empty() {
    let place = in_a_folder();
    assert_eq!(place.store.list("").unwrap().objects, []);
    assert_eq!(place.store.bytes("x").unwrap(), None);
    assert!(!place.store.folder().unwrap().exists());
}

#[test]
fn an_object_does_not_go_below_another() {
    let folder = tempfile::tempdir().unwrap();
    let store = Local::new(folder.path());
    store.create("a", b"").unwrap();
    store.create("b/c", b"").unwrap();
    // a bucket takes both
    assert!(store.create("a/b", b"").is_err());
    assert!(store.create("b", b"").is_err());
    assert_eq!(store.list("").unwrap().objects.len(), 2);
}

#[test]
fn temporary_files_are_no_objects() {
    let folder = tempfile::tempdir().unwrap();
    let store = Local::new(folder.path());
    store.create("a/b", b"x").unwrap();
    let left = folder.path().join("a/.c.homaes-tmp-0000000000000000");
    fs::write(&left, b"half").unwrap();
    assert_eq!(store.list("").unwrap().objects, [("a/b".to_owned(), 1)]);
}

#[cfg(unix)]
#[test]
fn what_is_no_file_is_refused() {
    use std::os::unix::fs::symlink;
    let folder = tempfile::tempdir().unwrap();
    let store = Local::new(folder.path());
    let _socket = std::os::unix::net::UnixListener::bind(folder.path().join("socket")).unwrap();
    assert!(store.read("socket", 10).is_err());
    assert_eq!(store.list("").unwrap().others, ["socket"]);
    fs::remove_file(folder.path().join("socket")).unwrap();
    // links to files are followed, dangling ones are not replaced
    fs::write(folder.path().join("file"), b"x").unwrap();
    symlink("file", folder.path().join("link")).unwrap();
    assert_eq!(store.read("link", 1).unwrap().unwrap(), b"x");
    assert_eq!(store.create("link", b"y").unwrap(), Created::Existed);
    assert_eq!(store.list("").unwrap().objects.len(), 2);
    symlink("none", folder.path().join("broken")).unwrap();
    assert_eq!(store.create("broken", b"y").unwrap(), Created::Existed);
    let errors = [
        store.bytes("broken").unwrap_err(),
        store.read("broken", 1).unwrap_err(),
    ];
    for error in errors {
        let text = error.to_string();
        assert!(
            text.contains("broken: is a symbolic link to nothing"),
            "{text}"
        );
    }
    fs::create_dir_all(folder.path().join("folder/empty")).unwrap();
    fs::write(folder.path().join("back\\slash"), b"x").unwrap();
    let found = store.list("").unwrap();
    assert_eq!(found.others, ["back\\slash", "broken", "folder/empty"]);
    assert_eq!(found.objects.len(), 2);
    // a folder is not mistaken for an existing object
    assert!(store.create("folder", b"x").is_err());
}

#[cfg(target_os = "linux")]
#[test]
fn names_that_are_not_utf8_are_told_from_objects() {
    use std::os::unix::ffi::OsStrExt;
    let folder = tempfile::tempdir().unwrap();
    let name = std::ffi::OsStr::from_bytes(b"a\xff");
    fs::write(folder.path().join(name), b"x").unwrap();
    let found = Local::new(folder.path()).list("").unwrap();
    assert_eq!(found.objects, []);
    assert_eq!(found.others, ["a\u{fffd}"]);
}

/// A limit on file sizes imitates a full disk: the write fails half-way.
#[cfg(unix)]
#[test]
fn a_full_disk_is_temporary_and_leaves_nothing() {
    use std::process::{Command, Stdio};
    let place = in_a_folder();
    let location = place.location.as_ref().unwrap().to_string();
    let child = Command::new("sh")
        .args([
            "-c",
            "trap '' XFSZ; ulimit -f 100; exec \"$0\" store::tests::process --exact --ignored --nocapture",
        ])
        .arg(std::env::current_exe().unwrap())
        .env(super::TASK, format!("fail\n{location}"))
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let said = super::answer(child);
    let path = place.store.describe("large");
    assert!(said.starts_with(&format!("true {path}: ")), "{said}");
    let files = fs::read_dir(place.store.folder().unwrap()).unwrap();
    assert_eq!(files.count(), 0);
}

#[test]
fn troubles_that_pass_are_told_from_others() {
    let error = |source| StoreError::io("x", source);
    let of_kind = |kind: io::ErrorKind| error(io::Error::from(kind));
    use io::ErrorKind as Kind;
    for kind in [
        Kind::StorageFull,
        Kind::QuotaExceeded,
        Kind::Interrupted,
        Kind::TimedOut,
    ] {
        assert!(of_kind(kind).is_temporary(), "{kind}");
    }
    for kind in [
        Kind::NotFound,
        Kind::PermissionDenied,
        Kind::ReadOnlyFilesystem,
        Kind::Other,
    ] {
        assert!(!of_kind(kind).is_temporary(), "{kind}");
    }
    #[cfg(unix)]
    for (number, temporary) in [(24, true), (23, true), (28, true), (13, false), (5, false)] {
        let error = error(io::Error::from_raw_os_error(number));
        assert_eq!(error.is_temporary(), temporary, "{error}");
    }
}
