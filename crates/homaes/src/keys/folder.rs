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
//! Where there was no pair, a run that is killed after the second step leaves a secret key without an evaluation key. A new secret key that has its
//! name and fits the unfinished evaluation key of [`KeyFolder::resume`] becomes unfinished again, for the next such run to go on with.
//!
//! New files are on the disk before the first step, and the folder is synchronised after each one. A lock on the folder
//! keeps other runs out from the start to the end.

mod resume;

use super::{
    BRIDGE_KEY_FILE, EVAL_KEY_FILE, Fits, KdfCost, Passphrase, SECRET_KEY_FILE, SecretKey,
    readable_by_others, write_secret, write_watched,
};
use crate::keys::random;
use crate::machine::disk;
use crate::output::{Folder, REPLACED_KEY_FILE, completing};
use crate::{Error, Output, Result, Set};
use homaes_wire::{
    AtomicFile, KeyId, Kind, Reader, Temporary, WireError, is_one_file, unfinished_path,
};
use rand_core::Rng;
use std::fs::{self, File, TryLockError};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// A folder for a pair of keys, locked against other processes that make keys or change a passphrase there.
pub struct KeyFolder {
    path: PathBuf,
    _folder: Folder,
    /// Released when it is closed. `None` where folders cannot be locked.
    _lock: Option<File>,
    repair: Option<Repair>,
}

/// What of a pair of keys is being made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum KeyStep {
    /// The secret key: numbers drawn of all. Only schemes in which that takes minutes tell.
    Secret,
    /// The evaluation key: records written of all.
    Eval,
}

/// Follows the generation of keys: called with the step, what is done of it, and all of it.
pub type KeyTick<'t> = &'t mut (dyn FnMut(KeyStep, u64, u64) + Send);

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
        let repair = completing(0, || {
            forget_second_names(path);
            repair(path)
        })?;
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

    /// Files of a key generation that was stopped, for [`resume`](Self::resume), a new secret key among them. [`create`](Self::create) leaves
    /// them alone.
    #[must_use]
    pub fn unfinished(&self) -> Vec<PathBuf> {
        unfinished(&self.path)
    }

    /// New keys: [`SECRET_KEY_FILE`], readable by the owner alone, and [`EVAL_KEY_FILE`]. `force` allows to replace
    /// existing ones, `lock` puts the secret key under a passphrase, and `tick` follows. Both appear or none; a process that is killed meanwhile leaves what [`open`](Self::open) brings in
    /// order, or a new secret key alone where there was none, and never an evaluation key without the secret key that fits it, if that was there
    /// before.
    ///
    /// # Errors
    /// As [`KeySet::generate`](crate::KeySet::generate); [`Error::AlreadyExists`] or [`Error::Io`]; with a passphrase
    /// `ErrorKind::Memory`.
    pub fn create(
        self,
        set: &Set,
        force: bool,
        lock: Option<(&Passphrase, KdfCost)>,
        tick: KeyTick<'_>,
    ) -> Result<SecretKey> {
        self.create_fit(set, force, lock, tick, &mut |_| Ok(()))
    }

    /// As [`create`](Self::create), with a secret key that `fits`, as in [`KeySet::generate_fit`](crate::KeySet::generate_fit). If it fails, nothing is replaced.
    ///
    /// # Errors
    /// As [`create`](Self::create); those of `fits`.
    pub fn create_fit(
        self,
        set: &Set,
        force: bool,
        lock: Option<(&Passphrase, KdfCost)>,
        tick: KeyTick<'_>,
        fits: Fits<'_>,
    ) -> Result<SecretKey> {
        let [secret, eval] = self.files(refuse_link)?;
        self.check_disk(set, 0)?;
        let secret = Output::replacing(&secret, force)?;
        let eval = Output::create(eval, force)?;
        let mut rng = random::generator()?;
        let mut watch = |done, all| tick(KeyStep::Secret, done, all);
        let key = SecretKey::generate_fit(set, &mut rng, &mut watch, fits)?;
        let mut seed = [0; 32];
        rng.fill_bytes(&mut seed);
        let secret = write_secret(secret, &*key.key, lock)?;
        let file = key.key.eval_file(seed).map_err(Error::Keys)?;
        let eval = write_watched(eval, &*file, &mut |done, all| {
            tick(KeyStep::Eval, done, all)
        })?
        .synced()?;
        drop(file);
        self.commit(secret.synced()?, eval)?;
        Ok(key)
    }

    /// As [`create`](Self::create), with keys that there are: `key`, and the file `eval` of an evaluation key.
    ///
    /// # Errors
    /// [`Error::File`] if `eval` is none, or of another secret key; [`Error::AlreadyExists`] or [`Error::Io`]; with a
    /// passphrase `ErrorKind::Memory`.
    pub fn save(
        self,
        key: &SecretKey,
        eval: &[u8],
        force: bool,
        lock: Option<(&Passphrase, KdfCost)>,
    ) -> Result<()> {
        let [secret, path] = self.files(refuse_link)?;
        let reader = Reader::from_slice(eval, Kind::EvalKey);
        let fits = reader.and_then(|reader| reader.check_key(key.id()));
        fits.map_err(|source| Error::file(&path, source))?;
        let secret = Output::replacing(&secret, force)?;
        let mut output = Output::create(&path, force)?;
        let secret = write_secret(secret, &*key.key, lock)?;
        let written = output.write_all(eval).and_then(|()| output.flush());
        written.map_err(|source| Error::io(&path, source))?;
        output.sync_data()?;
        self.commit(secret.synced()?, output.whole()?)
    }

    /// Refuses keys that the disk has no room for, before the work; `there` bytes of them are written already.
    fn check_disk(&self, set: &Set, there: u64) -> Result<()> {
        let card = set.card();
        let bytes = card.eval_key_bytes.saturating_add(card.secret_key_bytes);
        disk::check(&self.path, bytes, there)
    }

    /// The paths of the secret key and the evaluation key, both checked.
    fn files(&self, check: impl Fn(&Path) -> Result<()>) -> Result<[PathBuf; 2]> {
        let paths = [SECRET_KEY_FILE, EVAL_KEY_FILE].map(|name| self.path.join(name));
        paths.iter().try_for_each(|path| check(path))?;
        Ok(paths)
    }

    fn commit(&self, secret: AtomicFile, eval: AtomicFile) -> Result<()> {
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

/// Files in a folder of a key generation that was stopped.
fn unfinished(folder: &Path) -> Vec<PathBuf> {
    let names = [SECRET_KEY_FILE, EVAL_KEY_FILE].into_iter();
    let paths = names.map(|name| unfinished_path(&folder.join(name)));
    paths.filter(|path| path.exists()).collect()
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

/// Of a pair that is in place, removes the names that its files had unfinished, if a run was killed between the two.
fn forget_second_names(folder: &Path) {
    let own = [SECRET_KEY_FILE, EVAL_KEY_FILE].map(|name| folder.join(name));
    if own.iter().all(|path| path.is_file()) {
        for path in own {
            let unfinished = unfinished_path(&path);
            if is_one_file(&path, &unfinished) {
                // where it stays, the next run gives it up
                let _ = fs::remove_file(unfinished);
            }
        }
    }
}

/// Brings in order what a killed run left.
fn repair(folder: &Path) -> Result<Option<Repair>> {
    let (own, aside) = (folder.join(SECRET_KEY_FILE), folder.join(REPLACED_KEY_FILE));
    let repair = match half_replaced(folder)? {
        None => return Ok(None),
        Some(Verdict::PutBack) => {
            // the new one, for a resumed run to go on with
            if fits_unfinished(folder) {
                rename(&own, &unfinished_path(&own))?;
            }
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
    let aside = match fs::symlink_metadata(folder.join(REPLACED_KEY_FILE)) {
        Ok(found) if found.is_file() => id(REPLACED_KEY_FILE),
        // a link, or what is no file: a run that was killed leaves no such thing
        Ok(_) => return Ok(Some(Verdict::Unknown)),
        Err(_) => return Ok(None),
    };
    let (own, eval) = (id(SECRET_KEY_FILE), id(EVAL_KEY_FILE));
    let fits = |secret: &Id| matches!((secret, &eval), (Id::Of(s), Id::Of(e)) if s == e);
    Ok(Some(match own {
        Id::Missing if matches!(aside, Id::Of(_)) => Verdict::PutBack,
        ref own if fits(own) => Verdict::Complete,
        // a file that is no readable key is not replaced
        Id::Of(_) if fits(&aside) => Verdict::PutBack,
        // there was no evaluation key, and the new one has not got its name
        Id::Of(_)
            if matches!((&aside, &eval), (Id::Of(_), Id::Missing)) && fits_unfinished(folder) =>
        {
            Verdict::PutBack
        }
        _ => Verdict::Unknown,
    }))
}

/// Whether the secret key in place is that of the unfinished evaluation key and not of the one in place, and its unfinished name is free: a
/// run was killed between the names. One that others can access is not taken back.
fn fits_unfinished(folder: &Path) -> bool {
    let [own, eval] = [SECRET_KEY_FILE, EVAL_KEY_FILE].map(|name| folder.join(name));
    let unfinished = fs::symlink_metadata(unfinished_path(&own));
    let (Id::Of(secret), Ok(made)) = (
        key_id(folder, SECRET_KEY_FILE),
        id_of(&unfinished_path(&eval), Kind::EvalKey),
    ) else {
        return false;
    };
    let in_use = matches!(key_id(folder, EVAL_KEY_FILE), Id::Of(id) if id == secret);
    let private = || File::open(&own).is_ok_and(|file| !readable_by_others(&file));
    secret == made && !in_use && unfinished.is_err() && private()
}

/// Which secret key a file belongs to.
enum Id {
    Missing,
    Of(KeyId),
    Unreadable(WireError),
}

/// By the header of an evaluation or bridge key, and by a secret key that is whole.
fn key_id(folder: &Path, name: &str) -> Id {
    let kind = match name {
        EVAL_KEY_FILE => Kind::EvalKey,
        BRIDGE_KEY_FILE => Kind::BridgeKey,
        _ => Kind::SecretKey,
    };
    match id_of(&folder.join(name), kind) {
        Ok(id) => Id::Of(id),
        Err(WireError::Io { source, .. }) if source.kind() == io::ErrorKind::NotFound => {
            Id::Missing
        }
        Err(error) => Id::Unreadable(error),
    }
}

/// The key id in the header of a key file. A secret key must be whole.
fn id_of(path: &Path, kind: Kind) -> Result<KeyId, WireError> {
    let mut reader = Reader::open(path, kind)?;
    let id = reader.header().key_id();
    if kind == Kind::SecretKey {
        // the next call checks what this one has begun
        while reader.begin_any()?.is_some() {}
        reader.finish()?;
    }
    Ok(id)
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
    /// [`BRIDGE_KEY_FILE`]: the keys that it leads from.
    pub bridge: KeyFile,
    /// [`REPLACED_KEY_FILE`], left by a run that was killed.
    pub replaced: KeyFile,
    /// Files of a key generation that was stopped, for [`KeyFolder::resume`].
    pub unfinished: Vec<PathBuf>,
    /// How they go together.
    pub pair: Pair,
    /// Temporary files of this project's programs, also in folders below.
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
    let (secret, eval, bridge, replaced) = (
        file(SECRET_KEY_FILE),
        file(EVAL_KEY_FILE),
        file(BRIDGE_KEY_FILE),
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
        let named = [SECRET_KEY_FILE, EVAL_KEY_FILE, BRIDGE_KEY_FILE];
        let named = named.map(|name| path.join(name));
        let extension = found.extension().and_then(|extension| extension.to_str());
        let mut kinds = Kind::ALL.iter();
        let of_kind = kinds.any(|kind| extension == Some(kind.extension()));
        if of_kind && !named.contains(&found) {
            others.push(found);
        }
    }
    others.sort();
    Ok(FolderInspection {
        unfinished: unfinished(path),
        secret,
        eval,
        bridge,
        replaced,
        pair,
        temporaries: {
            let mut found = homaes_wire::temporaries(path).map_err(error)?;
            temporaries_below(path, &mut found);
            found
        },
        others,
    })
}

/// Adds the temporary files of folders below one, where parts of a message are written. Unreadable folders are skipped,
/// and links are not followed.
fn temporaries_below(path: &Path, found: &mut Vec<Temporary>) {
    let mut folders: Vec<PathBuf> = fs::read_dir(path)
        .into_iter()
        .flatten()
        .flatten()
        .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()))
        .map(|entry| entry.path())
        .collect();
    folders.sort();
    for folder in folders {
        found.extend(homaes_wire::temporaries(&folder).unwrap_or_default());
        temporaries_below(&folder, found);
    }
}

#[cfg(test)]
mod tests;
