use super::*;
use crate::{Cancel, KeySet, SecretKey};
use std::collections::BTreeMap;

const CHEAP: KdfCost = KdfCost {
    memory_kib: 8,
    passes: 1,
    lanes: 1,
};

fn set() -> Set {
    Set::named("bgv/toy-255").unwrap()
}

fn make(folder: &Path) -> Result<KeyId> {
    let key = KeyFolder::open(folder)?.create(&set(), None, &mut |_, _, _| ())?;
    Ok(key.id())
}

#[track_caller]
fn refused(folder: &Path) {
    let before = contents(folder);
    let error = make(folder).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::KeysExist, "{error}");
    assert!(contents(folder) == before);
}

fn contents(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        (name, fs::read(path).unwrap_or_default())
    });
    entries.collect()
}

fn written(folder: &Path) -> (AtomicFile, AtomicFile) {
    let [secret, eval] = [SECRET_KEY_FILE, EVAL_KEY_FILE].map(|name| folder.join(name));
    let mut rng = random::generator().unwrap();
    let key = SecretKey::generate(&set(), &mut rng, &mut |_, _| ()).unwrap();
    let secret = Output::private(secret, false).unwrap();
    let secret = key.write(secret, None).unwrap();
    let eval = Output::create(eval, false).unwrap();
    let eval =
        super::super::write(eval, &*key.key.eval_file([7; 32], set().layouts()).unwrap()).unwrap();
    (secret.synced().unwrap(), eval.synced().unwrap())
}

#[test]
fn keys_are_never_replaced() {
    let folder = tempfile::tempdir().unwrap();
    make(folder.path()).unwrap();
    for name in [SECRET_KEY_FILE, EVAL_KEY_FILE] {
        refused(folder.path());
        // either file prevents new keys
        let path = folder.path().join(name);
        let bytes = fs::read(&path).unwrap();
        fs::remove_file(&path).unwrap();
        refused(folder.path());
        fs::write(&path, bytes).unwrap();
    }
    // nor are links
    #[cfg(unix)]
    {
        let folder = tempfile::tempdir().unwrap();
        let secret = folder.path().join(SECRET_KEY_FILE);
        std::os::unix::fs::symlink(folder.path().join("s"), &secret).unwrap();
        refused(folder.path());
        assert!(secret.is_symlink());
    }
}

/// A kill leaves the first state, another program the others.
#[test]
fn a_name_taken_meanwhile_leaves_both_or_none() {
    for taken in [SECRET_KEY_FILE, EVAL_KEY_FILE] {
        let folder = tempfile::tempdir().unwrap();
        let (secret, eval) = written(folder.path());
        fs::write(folder.path().join(taken), b"other").unwrap();
        let error = commit(secret, eval).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::KeysExist, "{error}");
        let left = contents(folder.path());
        assert!(left.len() == 1 && left[taken] == b"other");
    }
    // killed between the names
    let folder = tempfile::tempdir().unwrap();
    written(folder.path()).0.commit().unwrap();
    let found = inspect_folder(folder.path()).unwrap();
    let incomplete = (&KeyFile::Missing, Pair::Incomplete);
    assert_eq!((&found.eval, found.pair), incomplete);
    refused(folder.path());
}

#[test]
fn keys_that_there_are_are_saved_together_or_not_at_all() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path().join("a/b");
    let save = |key: &SecretKey, eval: &[u8]| KeyFolder::open(&at)?.save(key, eval, None);
    let keys = || KeySet::generate_bytes(&set(), &[], &Cancel::new()).unwrap();
    let (old, old_eval) = keys();
    let (new, new_eval) = keys();
    for eval in [&old_eval[..], b"no key"] {
        let error = save(&new, eval).unwrap_err();
        assert!(matches!(error, Error::File { .. }), "{error}");
        assert!(!folder.path().join("a").exists());
    }
    save(&old, &old_eval).unwrap();
    let files = contents(&at);
    assert!(files[EVAL_KEY_FILE] == old_eval && inspect_folder(&at).unwrap().pair == Pair::Fits);
    let error = save(&new, &new_eval).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::KeysExist, "{error}");
    assert!(contents(&at) == files);
}

#[test]
fn folders_are_inspected() {
    let folder = tempfile::tempdir().unwrap();
    let inspect = || inspect_folder(folder.path()).unwrap();
    assert_eq!(inspect().pair, Pair::None);
    let id = make(folder.path()).unwrap();
    let found = inspect();
    assert_eq!(found.secret, KeyFile::Of(id));
    assert_eq!((found.eval, found.pair), (KeyFile::Of(id), Pair::Fits));
    assert!(found.temporaries.is_empty() && found.others.is_empty());
    let other = tempfile::tempdir().unwrap();
    make(other.path()).unwrap();
    let secret = folder.path().join(SECRET_KEY_FILE);
    fs::copy(other.path().join(SECRET_KEY_FILE), &secret).unwrap();
    assert_eq!(inspect().pair, Pair::Differs);
    fs::write(&secret, b"x").unwrap();
    assert!(matches!(inspect().secret, KeyFile::Unreadable(_)));
    assert_eq!(inspect().pair, Pair::Incomplete);
    assert!(inspect_folder(&secret).is_err());
}

fn files(folder: &Path) -> [Vec<u8>; 2] {
    [SECRET_KEY_FILE, EVAL_KEY_FILE].map(|name| fs::read(folder.join(name)).unwrap())
}

fn resume(folder: &Path, lock: Option<(&Passphrase, KdfCost)>) -> Result<(u64, u64)> {
    let mut first = None;
    let mut tick = |_, done, all| {
        first = first.or(Some((done, all)));
    };
    let set = set();
    KeyFolder::open(folder)?.resume(&set, lock, &mut tick)?;
    Ok(first.unwrap())
}

#[test]
fn a_stopped_key_generation_goes_on_to_the_same_keys() {
    let passphrase = Passphrase::new(b"horse").unwrap();
    for lock in [None, Some((&passphrase, CHEAP))] {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        let (done, records) = resume(folder.path(), lock).unwrap();
        assert!(done == 0 && records > 20, "{records}");
        let [secret, eval] = files(folder.path());
        let mut furthest = 0;
        for cut in (0..eval.len()).step_by(eval.len() / 7).chain([eval.len()]) {
            for name in [SECRET_KEY_FILE, EVAL_KEY_FILE] {
                fs::rename(at(name), unfinished_path(&at(name))).unwrap();
            }
            fs::write(unfinished_path(&at(EVAL_KEY_FILE)), &eval[..cut]).unwrap();
            let (done, _) = resume(folder.path(), lock).unwrap();
            assert!(done >= furthest, "records are kept");
            furthest = done;
            let [same_secret, same_eval] = files(folder.path());
            assert_eq!(same_secret, secret);
            // an empty file or a header without records: another public seed is drawn
            assert_eq!(same_eval == eval, done > 0, "cut at {cut}");
            fs::write(at(EVAL_KEY_FILE), &eval).unwrap();
        }
        assert_eq!(furthest, records);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2);
    }
}

#[test]
fn unfinished_keys_that_are_damaged_or_foreign_are_not_used() {
    let folder = tempfile::tempdir().unwrap();
    let [own, made] = [SECRET_KEY_FILE, EVAL_KEY_FILE].map(|name| folder.path().join(name));
    let unfinished = [&own, &made].map(|path| unfinished_path(path));
    resume(folder.path(), None).unwrap();
    let [secret, eval] = files(folder.path());
    let restart = |secret: &[u8], eval: &[u8]| {
        // a secret key's file is private
        fs::rename(&own, &unfinished[0]).unwrap();
        fs::write(&unfinished[0], secret).unwrap();
        fs::rename(&made, &unfinished[1]).unwrap();
        fs::write(&unfinished[1], eval).unwrap();
        resume(folder.path(), None).unwrap()
    };
    // an incomplete secret key: both are made anew
    assert_eq!(restart(&secret[..secret.len() - 1], &eval).0, 0);
    let [other, other_eval] = files(folder.path());
    assert!(other != secret && other_eval != eval);
    // an evaluation key of another secret key, and one with a wrong byte
    assert_eq!(restart(&secret, &other_eval).0, 0);
    let mut wrong = eval.clone();
    wrong[eval.len() / 2] ^= 1;
    let (done, records) = restart(&secret, &wrong);
    let kept = (records / 4..records).contains(&done);
    assert!(kept, "{done} of {records}");
    assert_eq!(files(folder.path())[1], eval);
    // another set, and a missing passphrase
    fs::rename(&own, &unfinished[0]).unwrap();
    fs::remove_file(&made).unwrap();
    let other = Set::named("bgv/toy-4369").unwrap();
    let opened = KeyFolder::open(folder.path()).unwrap();
    let error = opened.resume(&other, None, &mut |_, _, _| ());
    assert_eq!(error.unwrap_err().kind(), ErrorKind::UnfinishedKeys);
    let passphrase = Passphrase::new(b"horse").unwrap();
    let error = resume(folder.path(), Some((&passphrase, CHEAP)));
    assert_eq!(error.unwrap_err().kind(), ErrorKind::NotProtected);
    // keys of an older version number their streams, so continuing would mix both kinds in one file
    for name in ["bgv/toy-255", "tfhe/toy"] {
        let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
        let golden = golden.join(name.replace('/', "-"));
        let [secret, eval] = files(&golden);
        let folder = tempfile::tempdir().unwrap();
        let [own, made] = [SECRET_KEY_FILE, EVAL_KEY_FILE].map(|name| folder.path().join(name));
        let key = SecretKey::open(golden.join(SECRET_KEY_FILE)).unwrap();
        key.save(unfinished_path(&own), false, None).unwrap();
        fs::write(unfinished_path(&made), &eval[..eval.len() / 2]).unwrap();
        let set = Set::named(name).unwrap();
        let mut least = u64::MAX;
        let mut tick = |_, done, _| least = least.min(done);
        let opened = KeyFolder::open(folder.path()).unwrap();
        opened.resume(&set, None, &mut tick).unwrap();
        let [same, anew] = files(folder.path());
        assert!(same == secret && least == 0, "{name}: {least}");
        let [old, new] = [&eval, &anew].map(|file| {
            let mut reader = Reader::from_slice(file, Kind::EvalKey).unwrap();
            reader.next_record(1, 32).unwrap()
        });
        assert_eq!(anew.len() as u64, set.card().eval_key_bytes, "{name}");
        assert!(old != new, "{name}");
        crate::EvalKey::open(&made).unwrap();
    }
}

/// A kill while the pair is named can leave each of these states: the files go from `NAME.unfinished` to `NAME`.
#[test]
fn a_run_that_was_killed_between_the_names_goes_on_to_the_same_keys() {
    let folder = tempfile::tempdir().unwrap();
    resume(folder.path(), None).unwrap();
    let keys = files(folder.path());
    let [secret, eval] = [SECRET_KEY_FILE, EVAL_KEY_FILE].map(|name| folder.path().join(name));
    for unfinished in [&[&secret, &eval][..], &[&eval]] {
        for path in unfinished {
            fs::rename(path, unfinished_path(path)).unwrap();
        }
        resume(folder.path(), None).unwrap();
        assert_eq!(files(folder.path()), keys);
        assert_eq!(contents(folder.path()).len(), 2);
    }
    let exist = || {
        let error = resume(folder.path(), None).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::KeysExist, "{error}");
    };
    exist();
    assert_eq!(files(folder.path()), keys);
    // a secret key that others can access is not made unfinished again, because a resumed run would refuse it
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let allow = |mode| fs::set_permissions(&secret, fs::Permissions::from_mode(mode)).unwrap();
        fs::rename(&eval, unfinished_path(&eval)).unwrap();
        allow(0o644);
        exist();
        assert_eq!(fs::read(&secret).unwrap(), keys[0]);
        allow(0o600);
        resume(folder.path(), None).unwrap();
        assert_eq!(files(folder.path()), keys);
    }
}
