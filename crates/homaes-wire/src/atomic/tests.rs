use super::*;
use tempfile::TempDir;

const PLAIN: OutputOptions = OutputOptions {
    force: false,
    private: false,
};
const FORCE: OutputOptions = OutputOptions {
    force: true,
    private: false,
};

fn names(folder: &TempDir) -> Vec<String> {
    let mut names: Vec<_> = fs::read_dir(folder.path())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

fn write(path: &Path, options: OutputOptions, bytes: &[u8]) -> Result<(), WireError> {
    let mut file = AtomicFile::create(path, options)?;
    file.write_all(bytes).unwrap();
    file.commit()
}

#[test]
fn the_name_appears_at_the_end() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("out.hct");
    let mut file = AtomicFile::create(&path, PLAIN).unwrap();
    assert_eq!(file.target(), path);
    file.write_all(b"abc").unwrap();
    let before = names(&folder);
    assert!(
        before.len() == 1 && before[0].starts_with(".out.hct.homaes-tmp-"),
        "{before:?}"
    );
    file.commit().unwrap();
    assert_eq!(names(&folder), ["out.hct"]);
    assert_eq!(fs::read(&path).unwrap(), b"abc");
}

#[test]
fn dropped_files_leave_nothing() {
    let folder = TempDir::new().unwrap();
    let mut file = AtomicFile::create(&folder.path().join("out"), PLAIN).unwrap();
    file.write_all(b"abc").unwrap();
    drop(file);
    assert!(names(&folder).is_empty());
}

#[test]
fn long_and_mixed_writes_keep_their_order() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("out");
    let mut file = AtomicFile::create(&path, PLAIN).unwrap();
    let mut expected = Vec::new();
    for (i, len) in [
        1,
        BUFFER_BYTES - 1,
        1,
        BUFFER_BYTES,
        3,
        2 * BUFFER_BYTES + 1,
        5,
    ]
    .into_iter()
    .enumerate()
    {
        let part = vec![i as u8; len];
        file.write_all(&part).unwrap();
        expected.extend(part);
    }
    file.commit().unwrap();
    assert!(fs::read(path).unwrap() == expected);
}

#[test]
fn existing_files_need_force() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("out");
    fs::write(&path, b"old").unwrap();
    assert!(matches!(
        AtomicFile::create(&path, PLAIN),
        Err(WireError::AlreadyExists { .. })
    ));
    write(&path, FORCE, b"new").unwrap();
    assert_eq!(fs::read(&path).unwrap(), b"new");
    assert_eq!(names(&folder), ["out"]);
}

#[test]
fn a_name_taken_meanwhile_is_kept() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("out");
    let file = AtomicFile::create(&path, PLAIN).unwrap();
    fs::write(&path, b"other").unwrap();
    assert!(matches!(
        file.commit(),
        Err(WireError::AlreadyExists { .. })
    ));
    assert_eq!(fs::read(&path).unwrap(), b"other");
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
    assert!(matches!(
        AtomicFile::create(&folder.path().join("a/b"), PLAIN),
        Err(WireError::Io { .. })
    ));
    assert!(matches!(
        AtomicFile::create(Path::new(""), PLAIN),
        Err(WireError::Io { .. })
    ));
}

#[test]
fn long_names_work() {
    let folder = TempDir::new().unwrap();
    let name = "n".repeat(250);
    write(&folder.path().join(&name), PLAIN, b"abc").unwrap();
    assert_eq!(names(&folder), [name]);
}

#[cfg(unix)]
#[test]
fn private_files_are_private_from_the_start() {
    use std::os::unix::fs::PermissionsExt;
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("secret.hsk");
    let file = AtomicFile::create(
        &path,
        OutputOptions {
            force: false,
            private: true,
        },
    )
    .unwrap();
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&file.temporary), 0o600);
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
    assert!(matches!(
        AtomicFile::create(&link, PLAIN),
        Err(WireError::AlreadyExists { .. })
    ));
    write(&link, FORCE, b"new").unwrap();
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    assert_eq!(fs::read(&real).unwrap(), b"new");
    let error = AtomicFile::create(Path::new("/dev/null"), FORCE)
        .unwrap_err()
        .to_string();
    assert_eq!(error, "/dev/null: not a regular file");
}

/// A run that was killed in the last step left the file under both names. What replaces it must not be written into it.
#[cfg(unix)]
#[test]
fn a_second_name_of_the_file_to_replace_is_given_up() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("eval.hek");
    let whole = vec![7; 3 * BUFFER_BYTES];
    fs::write(&path, &whole).unwrap();
    fs::hard_link(&path, unfinished_path(&path)).unwrap();
    assert!(AtomicFile::resume(&path, PLAIN).is_err());
    let mut file = AtomicFile::resume(&path, FORCE).unwrap();
    file.cut(0).unwrap();
    file.write_all(&whole[..2 * BUFFER_BYTES + 1]).unwrap();
    file.sync().unwrap();
    drop(file);
    assert_eq!(fs::read(&path).unwrap(), whole);
    let written = fs::read(unfinished_path(&path)).unwrap();
    assert_eq!(written.len(), 2 * BUFFER_BYTES + 1);
    // a name elsewhere is somebody's
    fs::hard_link(unfinished_path(&path), folder.path().join("other")).unwrap();
    let error = AtomicFile::resume(&path, FORCE).unwrap_err().to_string();
    assert!(error.contains("another name"), "{error}");
}

#[cfg(unix)]
#[test]
fn an_unfinished_file_allows_no_more_than_the_one_it_replaces() {
    use std::os::unix::fs::PermissionsExt;
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("eval.hek");
    for (path, mode) in [(&path, 0o600), (&unfinished_path(&path), 0o666)] {
        fs::write(path, b"old").unwrap();
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    }
    let mut file = AtomicFile::resume(&path, FORCE).unwrap();
    file.cut(3).unwrap();
    file.commit().unwrap();
    assert_eq!(
        fs::metadata(&path).unwrap().permissions().mode() & 0o777,
        0o600
    );
}

/// Whoever opens an unfinished file just before another process gives it its name must not write into it.
#[test]
fn a_file_that_is_complete_meanwhile_is_not_written_into() {
    const BYTES: usize = 70_000;
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("x");
    let run = |who: u8| {
        let mut done = 0;
        while done < 300 {
            // in use, or about to be
            let Ok(mut file) = AtomicFile::resume(&path, FORCE) else {
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
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("x");
    fs::write(unfinished_path(&path), b"own").unwrap();
    let file = AtomicFile::resume(&path, PLAIN).unwrap();
    fs::rename(unfinished_path(&path), folder.path().join("away")).unwrap();
    fs::write(unfinished_path(&path), b"planted").unwrap();
    let mut found = String::new();
    io::Read::read_to_string(&mut file.written().unwrap(), &mut found).unwrap();
    assert_eq!(found, "own");
}

/// What is committed is what was written, not what somebody else has put under the temporary name.
#[test]
fn another_file_under_the_temporary_name_is_not_published() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("x");
    for force in [PLAIN, FORCE] {
        let mut first = AtomicFile::resume(&path, force).unwrap();
        first.write_all(b"whole").unwrap();
        first.sync().unwrap();
        fs::remove_file(unfinished_path(&path)).unwrap();
        let mut second = AtomicFile::resume(&path, force).unwrap();
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
    use std::os::unix::fs::PermissionsExt;
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("secret.hsk");
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    fs::write(&path, b"old").unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o400)).unwrap();
    let private = OutputOptions {
        private: true,
        ..FORCE
    };
    let mut file = AtomicFile::resume(&path, private).unwrap();
    file.write_all(b"new").unwrap();
    drop(file);
    assert_eq!(mode(&unfinished_path(&path)), 0o600);
    let mut file = AtomicFile::resume(&path, private).unwrap();
    file.cut(3).unwrap();
    file.commit().unwrap();
    assert_eq!(
        (mode(&path), fs::read(&path).unwrap()),
        (0o400, b"new".to_vec())
    );
}
