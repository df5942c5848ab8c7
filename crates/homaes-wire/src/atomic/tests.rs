use super::*;
#[cfg(unix)]
use std::os::unix::fs::PermissionsExt;
use tempfile::TempDir;

const fn options(force: bool, private: bool) -> OutputOptions {
    OutputOptions { force, private }
}

const PLAIN: OutputOptions = options(false, false);
const FORCE: OutputOptions = options(true, false);

/// An empty folder, and the path of a file in it.
fn place(name: &str) -> (TempDir, PathBuf) {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join(name);
    (folder, path)
}

#[track_caller]
fn is_taken<T>(result: Result<T, WireError>) {
    let error = result.err().expect("an error");
    assert!(matches!(error, WireError::AlreadyExists { .. }), "{error}");
}

fn names(folder: &TempDir) -> Vec<String> {
    let mut names: Vec<_> = fs::read_dir(folder.path())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

#[cfg(unix)]
fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

fn resume(path: &Path, options: OutputOptions) -> Result<AtomicFile, WireError> {
    AtomicFile::resume_as(path, options, unfinished_path)
}

fn write(path: &Path, options: OutputOptions, bytes: &[u8]) -> Result<(), WireError> {
    let mut file = AtomicFile::create(path, options)?;
    file.write_all(bytes).unwrap();
    file.commit()
}

#[test]
fn the_name_appears_at_the_end() {
    let (folder, path) = place("out.hct");
    let begun = || {
        let mut file = AtomicFile::create(&path, PLAIN).unwrap();
        assert_eq!(file.target(), path);
        file.write_all(b"abc").unwrap();
        file
    };
    drop(begun());
    assert!(names(&folder).is_empty());
    let file = begun();
    assert!(!path.exists());
    file.commit().unwrap();
    assert_eq!(names(&folder), ["out.hct"]);
    assert_eq!(fs::read(&path).unwrap(), b"abc");
}

/// As on systems and file systems without unnamed files.
fn named(path: &Path, options: OutputOptions) -> AtomicFile {
    AtomicFile::create_by(path, options, |_, _| Err(io::ErrorKind::Unsupported.into())).unwrap()
}

/// One test, for the clean-up reaches every such file of the process.
#[test]
fn files_that_need_a_name_have_a_temporary_one() {
    let folder = TempDir::new().unwrap();
    let path = |name: &str| folder.path().join(name);
    let [mut a, b] = ["a", "b"].map(|name| named(&path(name), PLAIN));
    named(&path("done"), PLAIN).commit().unwrap();
    let before = names(&folder);
    assert!(
        before.len() == 3 && before[0].starts_with(".a.homaes-tmp-"),
        "{before:?}"
    );
    assert!(is_temporary_name(before[0].as_ref()) && !is_temporary_name("done".as_ref()));
    drop(named(&path("c"), PLAIN));
    assert_eq!(names(&folder).len(), 3);
    cleanup_all();
    assert_eq!(names(&folder), ["done"]);
    // What was cleaned up can be written to and dropped, but not committed.
    a.write_all(b"abc").unwrap();
    assert!(matches!(a.commit(), Err(WireError::Io { .. })));
    drop(b);
    let file = named(&path("a"), PLAIN);
    fs::write(path("a"), b"other").unwrap();
    is_taken(file.commit());
    let mut file = named(&path("a"), FORCE);
    file.write_all(b"new").unwrap();
    file.commit().unwrap();
    assert_eq!(fs::read(path("a")).unwrap(), b"new");
    assert_eq!(names(&folder), ["a", "done"]);
}

#[test]
fn temporary_names_are_told_from_others() {
    for name in ["a", "secret.hsk", &"n".repeat(300)] {
        let name = Path::new(name);
        let temporary = temporary_path(name).unwrap();
        assert_ne!(temporary, temporary_path(name).unwrap());
        let temporary = temporary.as_os_str();
        assert!(
            is_temporary_name(temporary) && temporary.len() < 256,
            "{name:?}"
        );
    }
    for other in [
        "",
        "a",
        "homaes-tmp-0123456789abcdef",
        ".homaes-tmp-0123456789abcde",
        ".a.homaes-tmp-0123456789abcdeg",
        ".a.homaes-tmp-0123456789abcdef0",
        ".a.homaes-tmp-0123456789ABCDEF",
        "a.homaes-tmp-0123456789abcdef",
        "._homaes-tmp-0123456789abcdef",
    ] {
        assert!(!is_temporary_name(other.as_ref()), "{other}");
    }
}

#[test]
fn long_and_mixed_writes_keep_their_order() {
    // and under a long name
    let (_folder, path) = place(&"n".repeat(250));
    let mut file = AtomicFile::create(&path, PLAIN).unwrap();
    let mut expected = Vec::new();
    const B: usize = BUFFER_BYTES;
    for (i, len) in (0..).zip([1, B - 1, 1, B, 3, 2 * B + 1, 5]) {
        let part = vec![i; len];
        file.write_all(&part).unwrap();
        expected.extend(part);
    }
    file.commit().unwrap();
    assert!(fs::read(path).unwrap() == expected);
}

#[test]
fn existing_files_need_force() {
    let (folder, path) = place("out");
    // there before, and since the file was begun
    let begun = AtomicFile::create(&path, PLAIN).unwrap();
    fs::write(&path, b"old").unwrap();
    is_taken(AtomicFile::create(&path, PLAIN));
    is_taken(begun.commit());
    assert_eq!(fs::read(&path).unwrap(), b"old");
    write(&path, FORCE, b"new").unwrap();
    assert_eq!(fs::read(&path).unwrap(), b"new");
    assert_eq!(names(&folder), ["out"]);
}

#[test]
fn folders_and_missing_parents_are_refused() {
    let folder = TempDir::new().unwrap();
    // no advice to overwrite it
    for options in [PLAIN, FORCE] {
        let error = AtomicFile::create(folder.path(), options).unwrap_err();
        let error = error.to_string();
        assert!(error.ends_with("is a folder"), "{error}");
    }
    for path in [&folder.path().join("a/b"), Path::new("")] {
        let found = AtomicFile::create(path, PLAIN);
        assert!(matches!(found, Err(WireError::Io { .. })));
    }
}

#[cfg(unix)]
#[test]
fn private_files_are_private_from_the_start() {
    let (_folder, path) = place("secret.hsk");
    let file = AtomicFile::create(&path, options(false, true)).unwrap();
    let first = file.file.metadata().unwrap();
    assert_eq!(first.permissions().mode() & 0o777, 0o600);
    file.commit().unwrap();
    assert_eq!(mode(&path), 0o600);
}

#[cfg(unix)]
#[test]
fn links_are_followed_and_devices_spared() {
    use std::os::unix::fs::symlink;
    let folder = TempDir::new().unwrap();
    let (link, real) = (folder.path().join("link"), folder.path().join("real"));
    fs::write(&real, b"old").unwrap();
    symlink(&real, &link).unwrap();
    is_taken(AtomicFile::create(&link, PLAIN));
    write(&link, FORCE, b"new").unwrap();
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    assert_eq!(fs::read(&real).unwrap(), b"new");
    let error = AtomicFile::create(Path::new("/dev/null"), FORCE).unwrap_err();
    assert_eq!(error.to_string(), "/dev/null: not a regular file");
}

/// A second name of an unfinished file is somebody's, who would read what is written.
#[cfg(unix)]
#[test]
fn an_unfinished_file_has_one_name() {
    let (folder, path) = place("eval.hek");
    fs::write(unfinished_path(&path), b"abc").unwrap();
    fs::hard_link(unfinished_path(&path), folder.path().join("other")).unwrap();
    let error = resume(&path, FORCE).unwrap_err().to_string();
    assert!(error.contains("another name"), "{error}");
}

#[cfg(unix)]
#[test]
fn an_unfinished_file_allows_no_more_than_the_one_it_replaces() {
    let (_folder, path) = place("eval.hek");
    for (path, mode) in [(&path, 0o600), (&unfinished_path(&path), 0o666)] {
        fs::write(path, b"old").unwrap();
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    }
    let mut file = resume(&path, FORCE).unwrap();
    file.cut(3).unwrap();
    file.commit().unwrap();
    assert_eq!(mode(&path), 0o600);
}

/// Whoever opens an unfinished file just before another process gives it its name must not write into it.
#[test]
fn a_file_that_is_complete_meanwhile_is_not_written_into() {
    const BYTES: usize = 70_000;
    let (folder, path) = place("x");
    let run = |who: u8| {
        let mut done = 0;
        while done < 50 {
            // in use, or about to be
            let Ok(mut file) = resume(&path, FORCE) else {
                continue;
            };
            file.cut(0).unwrap();
            file.write_all(&[who; BYTES]).unwrap();
            file.commit().unwrap();
            done += 1;
            let found = fs::read(&path).unwrap();
            assert!(found.len() == BYTES && found.iter().all(|&x| x == found[0]));
        }
    };
    std::thread::scope(|scope| {
        for who in 1..4 {
            let run = &run;
            scope.spawn(move || run(who));
        }
    });
    assert_eq!(names(&folder), ["x"]);
}

/// What is read back is the file that was found in order, not what is at its path by then.
#[test]
fn what_was_written_is_read_from_the_file_itself() {
    let (folder, path) = place("x");
    fs::write(unfinished_path(&path), b"own").unwrap();
    let file = resume(&path, PLAIN).unwrap();
    fs::rename(unfinished_path(&path), folder.path().join("away")).unwrap();
    fs::write(unfinished_path(&path), b"planted").unwrap();
    let mut found = String::new();
    io::Read::read_to_string(&mut file.written().unwrap(), &mut found).unwrap();
    assert_eq!(found, "own");
}

/// What is committed is what was written, not what somebody else has put under the temporary name.
#[test]
fn another_file_under_the_temporary_name_is_not_published() {
    let (_folder, path) = place("x");
    for force in [PLAIN, FORCE] {
        let mut first = resume(&path, force).unwrap();
        first.write_all(b"whole").unwrap();
        first.sync().unwrap();
        fs::remove_file(unfinished_path(&path)).unwrap();
        let mut second = resume(&path, force).unwrap();
        second.write_all(b"ha").unwrap();
        second.sync().unwrap();
        let error = first.commit().unwrap_err().to_string();
        assert!(error.contains("removed or replaced"), "{error}");
        assert!(!path.exists());
        second.write_all(b"lf").unwrap();
        second.commit().unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"half");
        fs::remove_file(&path).unwrap();
    }
}

/// A key that its owner made read-only is replaced by one that is, and a stopped run goes on all the same.
#[cfg(unix)]
#[test]
fn an_unfinished_file_can_be_opened_again_whatever_it_replaces() {
    let (_folder, path) = place("secret.hsk");
    fs::write(&path, b"old").unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o400)).unwrap();
    let private = options(true, true);
    let mut file = resume(&path, private).unwrap();
    file.write_all(b"new").unwrap();
    drop(file);
    assert_eq!(mode(&unfinished_path(&path)), 0o600);
    let mut file = resume(&path, private).unwrap();
    file.cut(3).unwrap();
    file.commit().unwrap();
    assert_eq!(
        (mode(&path), fs::read(&path).unwrap()),
        (0o400, b"new".into())
    );
}
