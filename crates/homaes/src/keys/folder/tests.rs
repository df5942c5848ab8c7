//! Pairs of keys: made, replaced, killed at every step, resumed, inspected.

use super::*;
use crate::{Cancel, ErrorKind, KeySet, SecretKey};
use std::collections::BTreeMap;
use tempfile::TempDir;

const CHEAP: KdfCost = KdfCost {
    memory_kib: 8,
    passes: 1,
    lanes: 1,
};

fn set() -> Set {
    Set::named("bgv/toy-255").unwrap()
}

fn make(folder: &Path, force: bool) -> Result<KeyId> {
    let key = KeyFolder::open(folder)?.create(&set(), force, None, &mut |_, _, _| ())?;
    Ok(key.id())
}

fn id(folder: &Path, name: &str) -> Option<KeyId> {
    match key_id(folder, name) {
        Id::Of(id) => Some(id),
        _ => None,
    }
}

/// Every file of a folder.
fn contents(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        (name, fs::read(path).unwrap())
    });
    entries.collect()
}

fn folder_with(files: &BTreeMap<String, Vec<u8>>) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, bytes) in files {
        fs::write(folder.path().join(name), bytes).unwrap();
    }
    folder
}

/// New keys in the two files.
fn written(secret: Output, eval: Output) -> (AtomicFile, AtomicFile) {
    let mut rng = random::generator().unwrap();
    let key = SecretKey::generate(&set(), &mut rng, &mut |_, _| ()).unwrap();
    let secret = super::super::write(secret, &*key.key).unwrap();
    let eval = super::super::write(eval, &*key.key.eval_file([7; 32]).unwrap()).unwrap();
    (secret.synced().unwrap(), eval.synced().unwrap())
}

/// The folder as a kill leaves it after each step of making keys in it.
fn kills(folder: &Path, force: bool) -> Vec<(Step, BTreeMap<String, Vec<u8>>)> {
    let (secret, eval) = (folder.join(SECRET_KEY_FILE), folder.join(EVAL_KEY_FILE));
    let secret = Output::replacing(&secret, force).unwrap();
    let eval = Output::create(eval, force).unwrap();
    let (secret, eval) = written(secret, eval);
    let mut states = Vec::new();
    exchange(folder, secret, eval, |step| {
        states.push((step, contents(folder)));
    })
    .unwrap();
    states
}

#[test]
fn a_kill_never_takes_the_secret_key_of_the_evaluation_key_in_place() {
    let folder = tempfile::tempdir().unwrap();
    let old = make(folder.path(), false).unwrap();
    let states = kills(folder.path(), true);
    let steps: Vec<Step> = states.iter().map(|(step, _)| *step).collect();
    assert_eq!(steps, [Step::SetAside, Step::Secret, Step::Eval]);
    let new = id(folder.path(), SECRET_KEY_FILE).unwrap();
    assert_ne!(old, new);
    for (step, files) in states {
        let killed = folder_with(&files);
        let at = killed.path();
        let in_place = id(at, EVAL_KEY_FILE).unwrap();
        let secrets = [id(at, SECRET_KEY_FILE), id(at, REPLACED_KEY_FILE)];
        assert!(secrets.contains(&Some(in_place)), "{step:?}");
        let (pair, repair, fits) = match step {
            Step::SetAside | Step::Secret => (Pair::ToPutBack, Repair::PutBack, old),
            Step::Eval => (Pair::ToComplete, Repair::Completed, new),
        };
        assert_eq!(inspect_folder(at).unwrap().pair, pair, "{step:?}");
        let opened = KeyFolder::open(at).unwrap();
        assert_eq!(opened.repair(), Some(repair), "{step:?}");
        drop(opened);
        assert_eq!(id(at, SECRET_KEY_FILE), Some(fits), "{step:?}");
        assert_eq!(id(at, EVAL_KEY_FILE), Some(fits), "{step:?}");
        assert!(!at.join(REPLACED_KEY_FILE).exists(), "{step:?}");
        assert_eq!(inspect_folder(at).unwrap().pair, Pair::Fits);
        SecretKey::open(at.join(SECRET_KEY_FILE)).unwrap();
        // and the next run goes through
        make(at, true).unwrap();
        assert_eq!(inspect_folder(at).unwrap().pair, Pair::Fits);
    }
}

#[test]
fn a_kill_at_the_first_keys_leaves_no_evaluation_key_alone() {
    let folder = tempfile::tempdir().unwrap();
    let states = kills(folder.path(), false);
    let steps: Vec<Step> = states.iter().map(|(step, _)| *step).collect();
    assert_eq!(steps, [Step::Secret, Step::Eval]);
    let killed = folder_with(&states[0].1);
    let found = inspect_folder(killed.path()).unwrap();
    assert_eq!(
        (&found.eval, found.pair),
        (&KeyFile::Missing, Pair::Incomplete)
    );
    assert_eq!(KeyFolder::open(killed.path()).unwrap().repair(), None);
    assert!(make(killed.path(), false).is_err(), "it may be in use");
    make(killed.path(), true).unwrap();
}

#[test]
fn what_nothing_decides_stays() {
    let folder = tempfile::tempdir().unwrap();
    make(folder.path(), false).unwrap();
    let (_, files) = kills(folder.path(), true).swap_remove(2);
    for spoil in [
        |at: &Path| fs::remove_file(at.join(EVAL_KEY_FILE)).unwrap(),
        |at: &Path| fs::write(at.join(EVAL_KEY_FILE), b"damaged").unwrap(),
        |at: &Path| {
            let other = tempfile::tempdir().unwrap();
            make(other.path(), false).unwrap();
            fs::copy(other.path().join(EVAL_KEY_FILE), at.join(EVAL_KEY_FILE)).unwrap();
        },
    ] {
        let killed = folder_with(&files);
        spoil(killed.path());
        let before = contents(killed.path());
        let error = KeyFolder::open(killed.path()).unwrap_err();
        assert!(matches!(error, Error::HalfReplaced { .. }), "{error}");
        assert_eq!(inspect_folder(killed.path()).unwrap().pair, Pair::Unknown);
        assert!(contents(killed.path()) == before);
    }
    // what is in place of the secret key is no key that is whole: the one set aside stays
    let (_, files) = kills(folder.path(), true).swap_remove(2);
    for spoil in [
        |at: &Path| fs::copy(at.join(EVAL_KEY_FILE), at.join(SECRET_KEY_FILE)).map(drop),
        |at: &Path| {
            let mut bytes = fs::read(at.join(SECRET_KEY_FILE))?;
            *bytes.last_mut().unwrap() ^= 1;
            fs::write(at.join(SECRET_KEY_FILE), bytes)
        },
    ] {
        let killed = folder_with(&files);
        spoil(killed.path()).unwrap();
        let before = contents(killed.path());
        let error = KeyFolder::open(killed.path()).unwrap_err();
        assert!(matches!(error, Error::HalfReplaced { .. }), "{error}");
        assert!(contents(killed.path()) == before);
    }
}

#[test]
fn a_failed_step_undoes_those_before_it() {
    let folder = tempfile::tempdir().unwrap();
    let old = make(folder.path(), false).unwrap();
    let (secret, eval) = (
        folder.path().join(SECRET_KEY_FILE),
        folder.path().join(EVAL_KEY_FILE),
    );
    for first in [false, true] {
        if first {
            fs::remove_file(&secret).unwrap();
        }
        fs::remove_file(&eval).unwrap();
        let new_secret = Output::replacing(&secret, true).unwrap();
        let new_eval = Output::create(&eval, true).unwrap();
        let files = written(new_secret, new_eval);
        // no file can be renamed to a folder that is not empty
        fs::create_dir_all(eval.join("a")).unwrap();
        assert!(exchange(folder.path(), files.0, files.1, |_| ()).is_err());
        fs::remove_dir_all(&eval).unwrap();
        let left = (!first).then_some(old);
        assert_eq!(id(folder.path(), SECRET_KEY_FILE), left);
        assert_eq!(contents(folder.path()).len(), usize::from(!first));
        if !first {
            fs::write(&eval, b"to be removed").unwrap();
        }
    }
}

#[cfg(unix)]
#[test]
fn keys_that_there_are_are_saved_together_or_not_at_all() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path().join("a/b");
    let save =
        |key: &SecretKey, eval: &[u8], force| KeyFolder::open(&at)?.save(key, eval, force, None);
    let keys = || KeySet::generate_bytes(&set(), &Cancel::new()).unwrap();
    let (old, old_eval) = keys();
    save(&old, &old_eval, false).unwrap();
    let files = contents(&at);
    assert!(files[EVAL_KEY_FILE] == old_eval && inspect_folder(&at).unwrap().pair == Pair::Fits);
    let (new, new_eval) = keys();
    let error = save(&new, &new_eval, false).unwrap_err();
    assert!(matches!(error, Error::AlreadyExists { .. }), "{error}");
    for eval in [&old_eval[..], b"no key"] {
        let error = save(&new, eval, true).unwrap_err();
        assert!(matches!(error, Error::File { .. }), "{error}");
    }
    assert!(contents(&at) == files);
    // the second of the two cannot be replaced
    fs::remove_file(at.join(EVAL_KEY_FILE)).unwrap();
    fs::create_dir(at.join(EVAL_KEY_FILE)).unwrap();
    save(&new, &new_eval, true).unwrap_err();
    assert_eq!(id(&at, SECRET_KEY_FILE), Some(old.id()));
    fs::remove_dir(at.join(EVAL_KEY_FILE)).unwrap();
    assert_eq!(contents(&at).len(), 1);
    save(&new, &new_eval, true).unwrap();
    assert!(contents(&at)[EVAL_KEY_FILE] == new_eval && contents(&at).len() == 2);
    assert_eq!(id(&at, SECRET_KEY_FILE), Some(new.id()));
}

#[test]
fn one_process_at_a_time_makes_keys() {
    let base = tempfile::tempdir().unwrap();
    let path = base.path().join("keys");
    let open = KeyFolder::open(&path).unwrap();
    let error = KeyFolder::open(&path).unwrap_err();
    assert!(matches!(error, Error::Locked { .. }), "{error}");
    assert!(path.exists(), "it is in use");
    drop(open);
    assert!(!path.exists());
    std::thread::scope(|scope| {
        let runs: Vec<_> = (0..4).map(|_| scope.spawn(|| make(&path, true))).collect();
        let made = runs.into_iter().filter_map(|run| run.join().unwrap().ok());
        assert!(made.count() > 0);
    });
    assert_eq!(inspect_folder(&path).unwrap().pair, Pair::Fits);
}

#[cfg(unix)]
#[test]
fn links_are_not_replaced() {
    let folder = tempfile::tempdir().unwrap();
    make(folder.path(), false).unwrap();
    let secret = folder.path().join(SECRET_KEY_FILE);
    let elsewhere = folder.path().join("s");
    fs::rename(&secret, &elsewhere).unwrap();
    std::os::unix::fs::symlink(&elsewhere, &secret).unwrap();
    let before = contents(folder.path());
    let error = make(folder.path(), true).unwrap_err().to_string();
    assert!(error.contains("symbolic link"), "{error}");
    assert!(contents(folder.path()) == before);
}

#[test]
fn folders_are_inspected() {
    let folder = tempfile::tempdir().unwrap();
    let inspect = || inspect_folder(folder.path()).unwrap();
    assert_eq!(inspect().pair, Pair::None);
    let id = make(folder.path(), false).unwrap();
    let found = inspect();
    assert_eq!(found.secret, KeyFile::Of(id));
    assert_eq!((found.eval, found.pair), (KeyFile::Of(id), Pair::Fits));
    assert!(found.temporaries.is_empty() && found.others.is_empty());
    let other = tempfile::tempdir().unwrap();
    make(other.path(), false).unwrap();
    let secret = folder.path().join(SECRET_KEY_FILE);
    fs::copy(other.path().join(SECRET_KEY_FILE), &secret).unwrap();
    assert_eq!(inspect().pair, Pair::Differs);
    fs::write(&secret, b"x").unwrap();
    assert!(matches!(inspect().secret, KeyFile::Unreadable(_)));
    assert_eq!(inspect().pair, Pair::Incomplete);
    assert!(inspect_folder(&secret).is_err());
}

/// Key files of a folder, finished or not.
fn files(folder: &Path) -> [Vec<u8>; 2] {
    [SECRET_KEY_FILE, EVAL_KEY_FILE].map(|name| fs::read(folder.join(name)).unwrap())
}

fn resume(folder: &Path, lock: Option<(&Passphrase, KdfCost)>) -> Result<(u64, u64)> {
    let mut first = None;
    let mut tick = |_, done, all| {
        first = first.or(Some((done, all)));
    };
    let set = set();
    KeyFolder::open(folder)?.resume(&set, false, lock, &mut tick)?;
    Ok(first.unwrap())
}

#[test]
fn a_stopped_key_generation_goes_on_to_the_same_keys() {
    let passphrase = Passphrase::read(&b"horse"[..], "p").unwrap();
    for lock in [None, Some((&passphrase, CHEAP))] {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        let (done, records) = resume(folder.path(), lock).unwrap();
        assert!(done == 0 && records > 20, "{records}");
        let [secret, eval] = files(folder.path());
        let mut furthest = 0;
        for cut in (0..eval.len()).step_by(eval.len() / 23).chain([eval.len()]) {
            for name in [SECRET_KEY_FILE, EVAL_KEY_FILE] {
                fs::rename(at(name), unfinished_path(&at(name))).unwrap();
            }
            fs::write(unfinished_path(&at(EVAL_KEY_FILE)), &eval[..cut]).unwrap();
            let (done, _) = resume(folder.path(), lock).unwrap();
            assert!(done >= furthest, "records are kept");
            furthest = done;
            let [same_secret, same_eval] = files(folder.path());
            assert_eq!(same_secret, secret);
            // of nothing, or the header alone, another public seed is drawn
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
    let at = |name: &str| folder.path().join(name);
    let unfinished = |name: &str| unfinished_path(&at(name));
    resume(folder.path(), None).unwrap();
    let [secret, eval] = files(folder.path());
    let restart = |secret: &[u8], eval: &[u8]| {
        for name in [SECRET_KEY_FILE, EVAL_KEY_FILE] {
            let _ = fs::remove_file(at(name));
        }
        let mut options = fs::OpenOptions::new();
        options.write(true).create_new(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        for (name, bytes) in [(SECRET_KEY_FILE, secret), (EVAL_KEY_FILE, eval)] {
            let _ = fs::remove_file(unfinished(name));
            let mut file = options.open(unfinished(name)).unwrap();
            Write::write_all(&mut file, bytes).unwrap();
        }
        resume(folder.path(), None)
    };
    // a secret key that is not whole: both are made anew
    let (done, _) = restart(&secret[..secret.len() - 1], &eval).unwrap();
    assert_eq!(done, 0);
    let [other, other_eval] = files(folder.path());
    assert!(other != secret && other_eval != eval);
    // an evaluation key of another secret key, and one with a wrong byte
    assert_eq!(restart(&secret, &other_eval).unwrap().0, 0);
    let mut wrong = eval.clone();
    wrong[eval.len() / 2] ^= 1;
    let (done, records) = restart(&secret, &wrong).unwrap();
    assert!(
        (records / 4..records).contains(&done),
        "{done} of {records}"
    );
    assert_eq!(files(folder.path())[1], eval);
    // another set, and a passphrase that is not there
    let error = {
        fs::rename(at(SECRET_KEY_FILE), unfinished(SECRET_KEY_FILE)).unwrap();
        fs::remove_file(at(EVAL_KEY_FILE)).unwrap();
        let other = Set::named("bgv/toy-4369").unwrap();
        let folder = KeyFolder::open(folder.path()).unwrap();
        folder.resume(&other, false, None, &mut |_, _, _| ())
    };
    assert_eq!(error.unwrap_err().kind(), ErrorKind::UnfinishedKeys);
    let passphrase = Passphrase::read(&b"horse"[..], "p").unwrap();
    let error = resume(folder.path(), Some((&passphrase, CHEAP)));
    assert_eq!(error.unwrap_err().kind(), ErrorKind::NotProtected);
    resume(folder.path(), None).unwrap();
    // keys that are there
    let error = resume(folder.path(), None);
    assert!(matches!(error, Err(Error::AlreadyExists { .. })));
}

/// Streams of keys of an older version have numbers. To go on would mix both kinds in one file.
#[test]
fn keys_that_an_older_version_began_are_begun_anew() {
    for name in ["bgv/toy-255", "tfhe/toy"] {
        let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
        let [secret, eval] = files(&golden.join(name.replace('/', "-")));
        let folder = tempfile::tempdir().unwrap();
        let opened = KeyFolder::open(folder.path()).unwrap();
        let key = SecretKey::open(golden.join(name.replace('/', "-")).join(SECRET_KEY_FILE));
        let [own, made] = [SECRET_KEY_FILE, EVAL_KEY_FILE].map(|name| folder.path().join(name));
        key.unwrap()
            .save(unfinished_path(&own), false, None)
            .unwrap();
        fs::write(unfinished_path(&made), &eval[..eval.len() / 2]).unwrap();
        let set = Set::named(name).unwrap();
        let mut least = u64::MAX;
        let mut tick = |_, done, _| least = least.min(done);
        opened.resume(&set, false, None, &mut tick).unwrap();
        let [same, anew] = files(folder.path());
        assert!(same == secret && least == 0, "{name}: {least}");
        let [old, new] = [&eval, &anew].map(|file| {
            let mut reader = Reader::from_slice(file, Kind::EvalKey).unwrap();
            reader.next_record(1, 32).unwrap()
        });
        assert!(old != new && eval.len() == anew.len(), "{name}");
        crate::EvalKey::open(&made).unwrap();
    }
}

/// Every state that a kill can leave while a first pair gets its names: the two files go from `NAME.unfinished` to `NAME`, each for a
/// moment under both.
#[cfg(unix)]
#[test]
fn a_run_that_was_killed_between_the_names_goes_on_to_the_same_keys() {
    let made = tempfile::tempdir().unwrap();
    resume(made.path(), None).unwrap();
    let keys = files(made.path());
    // (final name, unfinished name) of the secret key and of the evaluation key
    let states = [
        [(true, true), (false, true)],
        [(true, false), (false, true)],
        [(true, false), (true, true)],
        [(true, true), (true, false)],
    ];
    for state in states {
        for force in [false, true] {
            let folder = tempfile::tempdir().unwrap();
            let names = [SECRET_KEY_FILE, EVAL_KEY_FILE].map(|name| folder.path().join(name));
            for ((path, bytes), (last, unfinished)) in names.iter().zip(&keys).zip(state) {
                let first = if last {
                    path.clone()
                } else {
                    unfinished_path(path)
                };
                let output = AtomicFile::create(
                    &first,
                    homaes_wire::OutputOptions {
                        force: false,
                        private: true,
                    },
                );
                let mut output = output.unwrap();
                output.write_all(bytes).unwrap();
                output.commit().unwrap();
                if last && unfinished {
                    fs::hard_link(path, unfinished_path(path)).unwrap();
                }
            }
            let complete = state.iter().all(|(last, _)| *last);
            let opened = KeyFolder::open(folder.path()).unwrap();
            let result = opened.resume(&set(), force, None, &mut |_, _, _| ());
            if complete && force {
                // another pair takes the place of this one, and is not written into its files
                result.unwrap();
                let new = files(folder.path());
                assert!(new[0] != keys[0] && new[1] != keys[1]);
            } else {
                assert_eq!(result.is_ok(), !complete);
                assert_eq!(files(folder.path()), keys, "{state:?}");
            }
            let pair = inspect_folder(folder.path()).unwrap().pair;
            assert_eq!(pair, Pair::Fits);
            assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2);
        }
    }
}

/// What a killed run sets aside is a whole secret key; anything else of that name is not for us to put in place.
#[cfg(unix)]
#[test]
fn only_a_secret_key_is_put_back() {
    let folder = tempfile::tempdir().unwrap();
    let [own, aside] = [SECRET_KEY_FILE, REPLACED_KEY_FILE].map(|name| folder.path().join(name));
    make(folder.path(), false).unwrap();
    let bytes = fs::read(&own).unwrap();
    let plant: [&dyn Fn(); 4] = [
        &|| fs::write(&aside, b"junk").unwrap(),
        &|| fs::write(&aside, &bytes[..bytes.len() - 1]).unwrap(),
        &|| fs::create_dir(&aside).unwrap(),
        &|| std::os::unix::fs::symlink(folder.path().join("elsewhere"), &aside).unwrap(),
    ];
    fs::rename(&own, folder.path().join("elsewhere")).unwrap();
    for plant in plant {
        plant();
        let error = KeyFolder::open(folder.path()).unwrap_err();
        assert!(matches!(error, Error::HalfReplaced { .. }), "{error}");
        assert!(!own.exists());
        let _ = fs::remove_dir(&aside).or_else(|_| fs::remove_file(&aside));
    }
    fs::write(&aside, &bytes).unwrap();
    let opened = KeyFolder::open(folder.path()).unwrap();
    assert_eq!(opened.repair(), Some(Repair::PutBack));
    assert_eq!(fs::read(&own).unwrap(), bytes);
}

/// The same where keys are replaced: the new secret key has its name, the new evaluation key has not.
#[cfg(unix)]
#[test]
fn a_run_that_was_killed_while_it_replaced_keys_goes_on_to_the_same_keys() {
    use std::os::unix::fs::PermissionsExt;
    let [made, old] = [0, 1].map(|_| tempfile::tempdir().unwrap());
    resume(made.path(), None).unwrap();
    resume(old.path(), None).unwrap();
    let (keys, old) = (files(made.path()), files(old.path()));
    // which keys were there before
    for before in [[true, true], [true, false], [false, true]] {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        let put = |path: &Path, bytes: &[u8]| {
            fs::write(path, bytes).unwrap();
            fs::set_permissions(path, fs::Permissions::from_mode(0o600)).unwrap();
        };
        if before[0] {
            put(&at(REPLACED_KEY_FILE), &old[0]);
        }
        if before[1] {
            put(&at(EVAL_KEY_FILE), &old[1]);
        }
        put(&at(SECRET_KEY_FILE), &keys[0]);
        put(&unfinished_path(&at(EVAL_KEY_FILE)), &keys[1]);
        let opened = KeyFolder::open(folder.path()).unwrap();
        assert_eq!(opened.repair(), before[0].then_some(Repair::PutBack));
        if before[0] {
            assert_eq!(fs::read(at(SECRET_KEY_FILE)).unwrap(), old[0]);
        }
        opened
            .resume(&set(), true, None, &mut |_, _, _| ())
            .unwrap();
        assert_eq!(files(folder.path()), keys, "{before:?}");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2);
    }
}

/// A secret key that others can access is not made unfinished again: a resumed run would not take it.
#[cfg(unix)]
#[test]
fn a_secret_key_that_others_can_access_stays_where_it_is() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    resume(folder.path(), None).unwrap();
    let [own, eval] = [SECRET_KEY_FILE, EVAL_KEY_FILE].map(|name| folder.path().join(name));
    fs::rename(&eval, unfinished_path(&eval)).unwrap();
    fs::set_permissions(&own, fs::Permissions::from_mode(0o644)).unwrap();
    let bytes = fs::read(&own).unwrap();
    let error = resume(folder.path(), None).unwrap_err();
    assert!(matches!(error, Error::AlreadyExists { .. }), "{error}");
    assert_eq!(fs::read(&own).unwrap(), bytes);
    fs::set_permissions(&own, fs::Permissions::from_mode(0o600)).unwrap();
    resume(folder.path(), None).unwrap();
    assert_eq!(fs::read(&own).unwrap(), bytes);
}
