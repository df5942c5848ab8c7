//! The folder of a pair of keys: two files that belong together, replaced as one.
//!
//! Two names cannot change at once, so a killed process can leave any state between the steps below. In each of them
//! the secret key that fits the evaluation key in place is there too, and the next run can tell which one it is.
//!
//! | step | `secret.hsk` | `secret.hsk.replaced` | `eval.hek` | the next run |
//! |---|---|---|---|---|
//! | before | old | | old | |
//! | the old secret key is set aside | | old | old | puts it back |
//! | the new secret key gets its name | new | old | old | puts the old one back: it fits `eval.hek` |
//! | the new evaluation key gets its name | new | old | new | removes the old one: `eval.hek` fits the new one |
//! | the old secret key is removed | new | | new | |
//!
//! New files are on the disk before the first step, and the folder is synchronised after each one. A lock on the folder
//! keeps other runs out from the start to the end.

use super::{
    EVAL_KEY_FILE, KdfCost, Passphrase, SECRET_KEY_FILE, SecretKey, write_rest, write_secret,
    write_watched,
};
use crate::output::{Container, Folder, completing};
use crate::{Error, Output, Result, Set, random};
use homaes_wire::{AtomicFile, Front, KeyId, Kind, Reader, Temporary, WireError, unfinished_path};
use rand_core::Rng;
use std::fs::{self, File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};

/// Name of the secret key that is being replaced, within the folder of a pair of keys.
pub const REPLACED_KEY_FILE: &str = "secret.hsk.replaced";

/// A folder for a pair of keys, locked against other processes that make keys or change a passphrase there.
pub struct KeyFolder {
    path: PathBuf,
    _folder: Folder,
    /// Released when it is closed. `None` where folders cannot be locked.
    _lock: Option<File>,
    repair: Option<Repair>,
}

/// What a run that was killed had left, and what became of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Repair {
    /// The new pair was not complete: the old secret key, which fits the evaluation key in place, is back.
    PutBack,
    /// The new pair was complete: the secret key it replaced is removed.
    Completed,
}

impl KeyFolder {
    /// Makes the folder if it is missing, locks it, and brings a pair in order that a killed run left half replaced:
    /// see [`repair`](Self::repair). Another folder that was made goes again if no keys come to be in it.
    ///
    /// # Errors
    /// [`Error::Locked`] if another process makes keys there; [`Error::HalfReplaced`] if nothing tells which of two
    /// secret keys is the right one; [`Error::Io`].
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        let mut folder = Folder::create(path)?;
        let lock = match lock(path) {
            Ok(lock) => lock,
            Err(error) => {
                // The other process may have found the folder just made.
                folder.keep();
                return Err(error);
            }
        };
        let repair = completing(0, || repair(path))?;
        Ok(Self {
            path: path.to_owned(),
            _folder: folder,
            _lock: lock,
            repair,
        })
    }

    /// What was brought in order.
    #[must_use]
    pub fn repair(&self) -> Option<Repair> {
        self.repair
    }

    /// New keys: [`SECRET_KEY_FILE`], readable by the owner alone, and [`EVAL_KEY_FILE`]. `force` allows to replace
    /// existing ones, and `lock` puts the secret key under a passphrase. Both appear or none; a process that is killed meanwhile leaves what [`open`](Self::open) brings in
    /// order, and never an evaluation key without the secret key that fits it, if that was there before.
    ///
    /// # Errors
    /// As [`KeySet::generate`](crate::KeySet::generate); [`Error::AlreadyExists`] or [`Error::Io`]; with a passphrase [`Error::KdfMemory`].
    pub fn create(
        self,
        set: &Set,
        force: bool,
        lock: Option<(&Passphrase, KdfCost)>,
        tick: &mut dyn FnMut(u64, u64),
    ) -> Result<SecretKey> {
        let (secret, eval) = (
            self.path.join(SECRET_KEY_FILE),
            self.path.join(EVAL_KEY_FILE),
        );
        for path in [&secret, &eval] {
            refuse_link(path)?;
        }
        let secret = Output::replacing(&secret, force)?;
        let eval = Output::create(eval, force)?;
        let mut rng = random::generator()?;
        let key = SecretKey::generate(set, &mut rng)?;
        let mut seed = [0; 32];
        rng.fill_bytes(&mut seed);
        let secret = write_secret(secret, &*key.key, lock)?;
        let file = key.key.eval_file(seed).map_err(Error::Keys)?;
        let eval = write_watched(eval, &*file, tick);
        drop(file);
        let eval = eval?;
        self.commit(secret, eval)?;
        Ok(key)
    }

    /// As [`create`](Self::create), with unfinished files that stay when the process is stopped, and that the next call goes on
    /// with: `secret.hsk.unfinished`, readable by the owner alone and under the passphrase, and `eval.hek.unfinished`. The keys
    /// are the same as without the stop.
    ///
    /// # Errors
    /// As [`create`](Self::create); [`Error::UnfinishedOfSet`] if the unfinished keys are of another set;
    /// [`Error::WrongPassphrase`] or [`Error::Protected`] if they are under another passphrase.
    pub fn resume(
        self,
        set: &Set,
        force: bool,
        lock: Option<(&Passphrase, KdfCost)>,
        tick: &mut dyn FnMut(u64, u64),
    ) -> Result<SecretKey> {
        let (secret_path, eval_path) = (
            self.path.join(SECRET_KEY_FILE),
            self.path.join(EVAL_KEY_FILE),
        );
        for path in [&secret_path, &eval_path] {
            refuse_link(path)?;
            refuse_link(&unfinished_path(path))?;
        }
        let secret = Output::resumed(&secret_path, force, true)?;
        let eval = Output::resumed(&eval_path, force, false)?;
        let found = unfinished_secret(&unfinished_path(&secret_path), set, lock)?;
        let mut rng = random::generator()?;
        let mut seed = [0; 32];
        rng.fill_bytes(&mut seed);
        let (key, secret) = match found {
            // its file is whole
            Some(key) => (key, secret.whole()?),
            None => {
                let key = SecretKey::generate(set, &mut rng)?;
                let file = write_secret(secret, &*key.key, lock)?;
                (key, file.synced()?)
            }
        };
        let path = unfinished_path(&eval_path);
        let file = key.key.eval_file(seed).map_err(Error::Keys)?;
        let header = file.header();
        drop(file);
        let header = header.map_err(|source| Error::output(&path, source))?;
        let front = Front::of(&path, &header);
        let front = front.map_err(|source| Error::file(&path, source))?;
        let front = front.filter(|front| front.records > 0);
        if front.is_some()
            && let Some(first) = Front::first_body(&path, &header, seed.len() as u64)
            && let Ok(first) = first.try_into()
        {
            seed = first;
        }
        let file = key.key.eval_file(seed).map_err(Error::Keys)?;
        let eval = write_rest(eval.rest_of(header, front.as_ref())?, &*file, tick)?.synced();
        drop(file);
        let eval = eval?;
        completing(2, || exchange(&self.path, secret, eval, |_| ()))?;
        Ok(key)
    }

    fn commit(&self, secret: Container, eval: Container) -> Result<()> {
        let (secret, eval) = (secret.synced()?, eval.synced()?);
        completing(2, || exchange(&self.path, secret, eval, |_| ()))
    }
}

impl core::fmt::Debug for KeyFolder {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("KeyFolder")
            .field("path", &self.path)
            .field("repair", &self.repair)
            .finish_non_exhaustive()
    }
}

/// The secret key of an unfinished key generation, if it was written to its end.
fn unfinished_secret(
    path: &Path,
    set: &Set,
    lock: Option<(&Passphrase, KdfCost)>,
) -> Result<Option<SecretKey>> {
    let whole = Reader::open(path, Kind::SecretKey).and_then(|reader| {
        let found = reader.header().set().to_owned();
        reader.verify()?;
        Ok(found)
    });
    match whole {
        Ok(found) if found == set.name() => {}
        Ok(found) => {
            return Err(Error::UnfinishedOfSet {
                path: path.to_owned(),
                found,
                expected: set.name(),
            });
        }
        Err(WireError::Io { source, .. }) => return Err(Error::io(path, source)),
        Err(_) => return Ok(None),
    }
    let key = match lock {
        None => SecretKey::open(path),
        Some((passphrase, _)) => SecretKey::unlock(path, passphrase),
    };
    key.map(Some)
}

/// Replacing what a link leads to could set aside one file and replace another.
fn refuse_link(path: &Path) -> Result<()> {
    match fs::symlink_metadata(path) {
        Ok(found) if found.is_symlink() => {
            let what = "is a symbolic link, expected a file or none";
            let source = io::Error::new(io::ErrorKind::InvalidInput, what);
            Err(Error::io(path, source))
        }
        _ => Ok(()),
    }
}

/// The lock on a folder, until it is closed.
#[cfg(unix)]
pub(super) fn lock(path: &Path) -> Result<Option<File>> {
    let folder = File::open(path).map_err(|source| Error::io(path, source))?;
    match folder.try_lock() {
        Ok(()) => Ok(Some(folder)),
        Err(TryLockError::WouldBlock) => Err(Error::Locked {
            path: path.to_owned(),
        }),
        // A file system without locks: two runs at once are then the user's to avoid.
        Err(TryLockError::Error(_)) => Ok(None),
    }
}

#[cfg(not(unix))]
pub(super) fn lock(_: &Path) -> Result<Option<File>> {
    Ok(None) // a folder cannot be opened as a file
}

/// A step of [`exchange`], after it was done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Step {
    SetAside,
    Secret,
    Eval,
}

/// Gives both files their names, in the order of the table above. If a step fails, those before it are undone.
fn exchange(
    folder: &Path,
    secret: AtomicFile,
    eval: AtomicFile,
    mut done: impl FnMut(Step),
) -> Result<()> {
    let (own, aside) = (folder.join(SECRET_KEY_FILE), folder.join(REPLACED_KEY_FILE));
    let (secret_path, eval_path) = (secret.target().to_owned(), eval.target().to_owned());
    let replaces = secret.replaces() && own.exists();
    if replaces {
        rename(&own, &aside)?;
        sync(folder);
        done(Step::SetAside);
    }
    // Best effort: the failure that led here is the one to report, and the next run finds what is left.
    let undo = |placed: bool| {
        if replaces {
            let _ = fs::rename(&aside, &own);
        } else if placed {
            let _ = fs::remove_file(&own);
        }
    };
    if let Err(source) = secret.commit() {
        undo(false);
        return Err(Error::output(&secret_path, source));
    }
    done(Step::Secret);
    if let Err(source) = eval.commit() {
        undo(true);
        return Err(Error::output(&eval_path, source));
    }
    done(Step::Eval);
    if replaces {
        // Both keys are in place; the next run removes it if this fails.
        let _ = fs::remove_file(&aside);
        sync(folder);
    }
    Ok(())
}

/// Brings in order what a killed run left.
fn repair(folder: &Path) -> Result<Option<Repair>> {
    let (own, aside) = (folder.join(SECRET_KEY_FILE), folder.join(REPLACED_KEY_FILE));
    let repair = match half_replaced(folder)? {
        None => return Ok(None),
        Some(Verdict::PutBack) => {
            rename(&aside, &own)?;
            Repair::PutBack
        }
        Some(Verdict::Complete) => {
            fs::remove_file(&aside).map_err(|source| Error::io(&aside, source))?;
            Repair::Completed
        }
        Some(Verdict::Unknown) => return Err(Error::HalfReplaced { path: aside }),
    };
    sync(folder);
    Ok(Some(repair))
}

/// What is to become of a secret key that was set aside.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Verdict {
    PutBack,
    Complete,
    Unknown,
}

/// Nothing but the evaluation key in place decides; `None` if no secret key was set aside.
fn half_replaced(folder: &Path) -> Result<Option<Verdict>> {
    let id = |name| key_id(folder, name);
    let aside = match id(REPLACED_KEY_FILE) {
        Id::Missing => return Ok(None),
        found => found,
    };
    let (own, eval) = (id(SECRET_KEY_FILE), id(EVAL_KEY_FILE));
    let fits = |secret: &Id| matches!((secret, &eval), (Id::Of(s), Id::Of(e)) if s == e);
    Ok(Some(match own {
        Id::Missing => Verdict::PutBack,
        ref own if fits(own) => Verdict::Complete,
        // a file that is no readable key is not replaced
        Id::Of(_) if fits(&aside) => Verdict::PutBack,
        _ => Verdict::Unknown,
    }))
}

/// Which secret key a file belongs to.
enum Id {
    Missing,
    Of(KeyId),
    Unreadable(WireError),
}

/// By the header of an evaluation key, and by a secret key that is whole.
fn key_id(folder: &Path, name: &str) -> Id {
    let found = || -> Result<KeyId, WireError> {
        let path = folder.join(name);
        if name == EVAL_KEY_FILE {
            return Ok(Reader::open(path, Kind::EvalKey)?.header().key_id());
        }
        let mut reader = Reader::open(path, Kind::SecretKey)?;
        // the next call checks what this one has begun
        while reader.begin_any()?.is_some() {}
        let id = reader.header().key_id();
        reader.finish()?;
        Ok(id)
    };
    match found() {
        Ok(id) => Id::Of(id),
        Err(WireError::Io { source, .. }) if source.kind() == io::ErrorKind::NotFound => {
            Id::Missing
        }
        Err(error) => Id::Unreadable(error),
    }
}

fn rename(from: &Path, to: &Path) -> Result<()> {
    fs::rename(from, to).map_err(|source| Error::io(from, source))
}

/// Makes changes of names durable where folders can be synchronised.
fn sync(folder: &Path) {
    if let Ok(folder) = File::open(folder) {
        let _ = folder.sync_all();
    }
}

/// What [`inspect_folder`] finds of one key file.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum KeyFile {
    /// There is no such file.
    Missing,
    /// It belongs to this secret key, by its header.
    Of(KeyId),
    /// What is wrong with it.
    Unreadable(String),
}

/// How the keys of a folder go together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Pair {
    /// No secret key and no evaluation key.
    None,
    /// The secret key is the one that the evaluation key was made with.
    Fits,
    /// The evaluation key was made with another secret key.
    Differs,
    /// One of the two is not there, or cannot be read.
    Incomplete,
    /// A run was killed while it replaced the pair; the next key generation in this folder puts the old secret key back.
    ToPutBack,
    /// A run was killed when it had replaced the pair; the next key generation in this folder removes the old secret key.
    ToComplete,
    /// A run was killed while it replaced the pair, and nothing tells which of two secret keys is the right one.
    Unknown,
}

/// What is in a folder of keys.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct FolderInspection {
    /// [`SECRET_KEY_FILE`].
    pub secret: KeyFile,
    /// [`EVAL_KEY_FILE`].
    pub eval: KeyFile,
    /// [`REPLACED_KEY_FILE`], left by a run that was killed.
    pub replaced: KeyFile,
    /// Files of a key generation that was stopped, for [`KeyFolder::resume`].
    pub unfinished: Vec<PathBuf>,
    /// How they go together.
    pub pair: Pair,
    /// Temporary files of this project's programs.
    pub temporaries: Vec<Temporary>,
    /// Files with the extension of a kind, in the order of their names, the above left out.
    pub others: Vec<PathBuf>,
}

/// Looks at the files of a folder, secret keys whole and the others by their names and headers, and changes nothing.
///
/// # Errors
/// [`Error::Io`] if the folder cannot be read.
pub fn inspect_folder(path: impl AsRef<Path>) -> Result<FolderInspection> {
    let path = path.as_ref();
    let error = |source| Error::io(path, source);
    let file = |name| match key_id(path, name) {
        Id::Missing => KeyFile::Missing,
        Id::Of(id) => KeyFile::Of(id),
        Id::Unreadable(error) => KeyFile::Unreadable(error.to_string()),
    };
    let (secret, eval, replaced) = (
        file(SECRET_KEY_FILE),
        file(EVAL_KEY_FILE),
        file(REPLACED_KEY_FILE),
    );
    let pair = match (half_replaced(path)?, &secret, &eval) {
        (Some(Verdict::PutBack), ..) => Pair::ToPutBack,
        (Some(Verdict::Complete), ..) => Pair::ToComplete,
        (Some(Verdict::Unknown), ..) => Pair::Unknown,
        (None, KeyFile::Missing, KeyFile::Missing) => Pair::None,
        (None, KeyFile::Of(s), KeyFile::Of(e)) if s == e => Pair::Fits,
        (None, KeyFile::Of(_), KeyFile::Of(_)) => Pair::Differs,
        (None, ..) => Pair::Incomplete,
    };
    let mut others = Vec::new();
    for entry in fs::read_dir(path).map_err(error)? {
        let found = entry.map_err(error)?.path();
        let named = [SECRET_KEY_FILE, EVAL_KEY_FILE].map(|name| path.join(name));
        let extension = found.extension().and_then(|extension| extension.to_str());
        let of_kind = matches!(extension, Some("hsk" | "hek" | "hwk" | "hct"));
        if of_kind && !named.contains(&found) {
            others.push(found);
        }
    }
    others.sort();
    let unfinished = [SECRET_KEY_FILE, EVAL_KEY_FILE].map(|name| unfinished_path(&path.join(name)));
    Ok(FolderInspection {
        unfinished: unfinished
            .into_iter()
            .filter(|path| path.exists())
            .collect(),
        secret,
        eval,
        replaced,
        pair,
        temporaries: homaes_wire::temporaries(path).map_err(error)?,
        others,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::SecretKey;
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
        let key = KeyFolder::open(folder)?.create(&set(), force, None, &mut |_, _| ())?;
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
        let key = SecretKey::generate(&set(), &mut rng).unwrap();
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
        let mut tick = |done, all| {
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
            fs::write(unfinished(SECRET_KEY_FILE), secret).unwrap();
            fs::write(unfinished(EVAL_KEY_FILE), eval).unwrap();
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
            folder.resume(&other, false, None, &mut |_, _| ())
        };
        assert!(matches!(error, Err(Error::UnfinishedOfSet { .. })));
        let passphrase = Passphrase::read(&b"horse"[..], "p").unwrap();
        let error = resume(folder.path(), Some((&passphrase, CHEAP)));
        assert!(matches!(error, Err(Error::NotProtected { .. })));
        resume(folder.path(), None).unwrap();
        // keys that are there
        let error = resume(folder.path(), None);
        assert!(matches!(error, Err(Error::AlreadyExists { .. })));
    }
}
