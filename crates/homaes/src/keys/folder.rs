//! The folder of a key pair.
//!
//! Keys in the folder are never replaced, so no run can lose a secret key or mix two pairs. Both files are on the disk
//! before the first gets its name. A process killed between the names leaves the secret key alone, from where
//! [`KeyFolder::resume`] continues.

mod resume;

use super::{
    BRIDGE_KEY_FILE, EVAL_KEY_FILE, Fits, KdfCost, LINK_KEY_FILE, Passphrase, SECRET_KEY_FILE,
    SecretKey, write_rest,
};
use crate::error::At;
use crate::keys::random;
use crate::machine::disk;
use crate::output::{Folder, completing};
use crate::{Error, ErrorKind, Output, Result, Set};
use homaes_aes::Layout;
use homaes_wire::{
    AtomicFile, Front, KeyId, Kind, Reader, WireError, is_temporary_name, unfinished_path,
};
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// A folder for a key pair.
pub struct KeyFolder {
    path: PathBuf,
    /// of the evaluation key; none for all of the set's
    layouts: Vec<Layout>,
    _folder: Folder,
}

/// The part of a key pair that is being made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum KeyStep {
    /// The secret key: numbers drawn of all. Reported only by schemes in which this takes minutes.
    Secret,
    /// The evaluation key: records written of all.
    Eval,
}

/// Follows the generation of keys: called with the step, the work done and the whole work of the step.
pub type KeyTick<'t> = &'t mut (dyn FnMut(KeyStep, u64, u64) + Send);

impl KeyFolder {
    /// Creates the folder if it is missing. A new folder is removed again if it stays without keys.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        Ok(Self {
            path: path.to_owned(),
            layouts: Vec::new(),
            _folder: Folder::create(path)?,
        })
    }

    /// The same for an evaluation key of these layouts, as [`Set::eval_key`] takes them, instead of all of the set's.
    #[must_use]
    pub fn for_layouts(self, layouts: Vec<Layout>) -> Self {
        Self { layouts, ..self }
    }

    /// Files of a stopped key generation for [`resume`](Self::resume), possibly with a new secret key.
    /// [`create`](Self::create) leaves them alone.
    #[must_use]
    pub fn unfinished(&self) -> Vec<PathBuf> {
        unfinished(&self.path)
    }

    /// New keys: [`SECRET_KEY_FILE`], readable by the owner alone and under the passphrase of `lock`, and
    /// [`EVAL_KEY_FILE`]. Both files appear or none, except that a kill between the two names leaves the secret key
    /// alone.
    ///
    /// # Errors
    /// As [`KeySet::generate`](crate::KeySet::generate) and [`Set::eval_key`]; `ErrorKind::KeysExist` or [`Error::Io`];
    /// with a passphrase `ErrorKind::Memory`.
    pub fn create(
        self,
        set: &Set,
        lock: Option<(&Passphrase, KdfCost)>,
        tick: KeyTick<'_>,
    ) -> Result<SecretKey> {
        self.create_fit(set, lock, tick, &mut |_| Ok(()))
    }

    /// As [`create`](Self::create), with a secret key that `fits`, whose errors it passes on, as in
    /// [`KeySet::generate_fit`](crate::KeySet::generate_fit).
    pub fn create_fit(
        self,
        set: &Set,
        lock: Option<(&Passphrase, KdfCost)>,
        tick: KeyTick<'_>,
        fits: Fits<'_>,
    ) -> Result<SecretKey> {
        let (layouts, eval_bytes) = set.eval_key(&self.layouts)?;
        let [secret, eval] = self.files()?;
        disk::check(&self.path, eval_bytes + set.card().secret_key_bytes)?;
        let secret = Output::private(&secret, false)?;
        let eval = Output::create(eval, false)?;
        let mut rng = random::generator()?;
        let mut watch = |done, all| tick(KeyStep::Secret, done, all);
        let key = SecretKey::generate_fit(set, &mut rng, &mut watch, fits)?;
        let seed = random::seed(&mut rng);
        let secret = key.write(secret, lock)?.synced()?;
        finish(key, secret, eval, (seed, &layouts, None), tick)
    }

    /// As [`create`](Self::create), with existing keys: `key`, and the file `eval` of an evaluation key.
    ///
    /// # Errors
    /// [`Error::File`] if `eval` is no evaluation key of `key`; `ErrorKind::KeysExist` or [`Error::Io`]; with a
    /// passphrase `ErrorKind::Memory`.
    pub fn save(
        self,
        key: &SecretKey,
        eval: &[u8],
        lock: Option<(&Passphrase, KdfCost)>,
    ) -> Result<()> {
        let [secret, path] = self.files()?;
        let reader = Reader::from_slice(eval, Kind::EvalKey);
        let fits = reader.and_then(|reader| reader.check_key(key.id()));
        fits.at(&path)?;
        let secret = Output::private(&secret, false)?;
        let mut output = Output::create(&path, false)?;
        let secret = key.write(secret, lock)?;
        output.write_all(eval).at(&path)?;
        commit(secret.synced()?, output.synced()?)
    }

    /// The paths of the secret key and the evaluation key, which must be free.
    fn files(&self) -> Result<[PathBuf; 2]> {
        let paths = [SECRET_KEY_FILE, EVAL_KEY_FILE].map(|name| self.path.join(name));
        match paths.iter().find(|path| exists(path)) {
            Some(path) => Err(Error::taken(ErrorKind::KeysExist, path)),
            None => Ok(paths),
        }
    }
}

homaes_wire::debug_fields!(KeyFolder, path);

fn unfinished(folder: &Path) -> Vec<PathBuf> {
    let names = [SECRET_KEY_FILE, EVAL_KEY_FILE].into_iter();
    let paths = names.map(|name| unfinished_path(&folder.join(name)));
    paths.filter(|path| path.exists()).collect()
}

/// Whether the name is taken, even by a dangling link.
fn exists(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok()
}

/// Writes the evaluation key, the rest of it if a stopped run left its front, and names both files.
fn finish(
    key: SecretKey,
    secret: AtomicFile,
    eval: Output,
    (seed, layouts, front): ([u8; 32], &[Layout], Option<&Front>),
    tick: KeyTick<'_>,
) -> Result<SecretKey> {
    let file = key.key.eval_file(seed, layouts).map_err(Error::keys)?;
    let header = file.header().at(eval.path())?;
    let eval = eval.rest_of(header, front)?;
    let mut tick = |done, all| tick(KeyStep::Eval, done, all);
    let eval = write_rest(eval, &*file, &mut tick)?.synced()?;
    drop(file);
    commit(secret, eval)?;
    Ok(key)
}

/// Names both files, which are on the disk. If the second name fails, a secret key that can be made again is removed.
fn commit(secret: AtomicFile, eval: AtomicFile) -> Result<()> {
    let [secret_path, eval_path] = [&secret, &eval].map(|file| file.target().to_owned());
    let named = |path: &Path, source| match source {
        WireError::AlreadyExists { .. } => Error::taken(ErrorKind::KeysExist, path),
        source => Error::file(path, source),
    };
    completing(2, || {
        secret
            .commit()
            .map_err(|source| named(&secret_path, source))?;
        eval.commit().map_err(|source| {
            // a resumed run continues with this secret key
            if !unfinished_path(&eval_path).exists() {
                let _ = fs::remove_file(&secret_path);
            }
            named(&eval_path, source)
        })
    })
}

/// The key id in the header of a key file. A secret key is read to its end.
fn id_of(path: &Path, kind: Kind) -> Result<KeyId, WireError> {
    let mut reader = Reader::open(path, kind)?;
    let id = reader.header().key_id();
    if kind == Kind::SecretKey {
        // each call verifies the record that the previous one began
        while reader.begin_any()?.is_some() {}
        reader.finish()?;
    }
    Ok(id)
}

/// The state of one key file, from [`inspect_folder`].
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum KeyFile {
    /// There is no such file.
    Missing,
    /// Its header names this secret key.
    Of(KeyId),
    /// The fault of the file.
    Unreadable(String),
}

impl KeyFile {
    fn read(path: &Path, kind: Kind) -> Self {
        match id_of(path, kind) {
            Ok(id) => Self::Of(id),
            Err(WireError::Io { source, .. }) if source.kind() == io::ErrorKind::NotFound => {
                Self::Missing
            }
            Err(error) => Self::Unreadable(error.to_string()),
        }
    }
}

/// Whether the keys of a folder match.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Pair {
    /// No secret key and no evaluation key.
    None,
    /// The evaluation key was made with the secret key.
    Fits,
    /// The evaluation key was made with another secret key.
    Differs,
    /// One of the two is missing or unreadable.
    Incomplete,
}

/// The content of a folder of keys.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct FolderInspection {
    /// [`SECRET_KEY_FILE`].
    pub secret: KeyFile,
    /// [`EVAL_KEY_FILE`].
    pub eval: KeyFile,
    /// [`BRIDGE_KEY_FILE`], with the keys that it leads from.
    pub bridge: KeyFile,
    /// Files of a stopped key generation, for [`KeyFolder::resume`].
    pub unfinished: Vec<PathBuf>,
    /// Whether the keys match.
    pub pair: Pair,
    /// Temporary files of this project's programs, on file systems where outputs have such names.
    pub temporaries: Vec<PathBuf>,
    /// All other files with the extension of a kind, and [`LINK_KEY_FILE`], sorted by name.
    pub others: Vec<PathBuf>,
}

/// Looks at a folder without changes: secret keys are read whole, other files by name and header.
///
/// # Errors
/// [`Error::Io`] if the folder cannot be read.
pub fn inspect_folder(path: impl AsRef<Path>) -> Result<FolderInspection> {
    let path = path.as_ref();
    let named = [SECRET_KEY_FILE, EVAL_KEY_FILE, BRIDGE_KEY_FILE].map(|name| path.join(name));
    let secret = KeyFile::read(&named[0], Kind::SecretKey);
    let eval = KeyFile::read(&named[1], Kind::EvalKey);
    let bridge = KeyFile::read(&named[2], Kind::BridgeKey);
    let pair = match (&secret, &eval) {
        (KeyFile::Missing, KeyFile::Missing) => Pair::None,
        (KeyFile::Of(s), KeyFile::Of(e)) if s == e => Pair::Fits,
        (KeyFile::Of(_), KeyFile::Of(_)) => Pair::Differs,
        _ => Pair::Incomplete,
    };
    let (mut temporaries, mut others) = (Vec::new(), Vec::new());
    for entry in fs::read_dir(path).at(path)? {
        let found = entry.at(path)?.path();
        let extension = found.extension().and_then(|extension| extension.to_str());
        let mut kinds = Kind::ALL.iter();
        let of_kind = kinds.any(|kind| extension == Some(kind.extension()))
            || found.file_name().is_some_and(|name| name == LINK_KEY_FILE);
        if found.file_name().is_some_and(is_temporary_name) {
            temporaries.push(found);
        } else if of_kind && !named.contains(&found) {
            others.push(found);
        }
    }
    temporaries.sort();
    others.sort();
    Ok(FolderInspection {
        secret,
        eval,
        bridge,
        unfinished: unfinished(path),
        pair,
        temporaries,
        others,
    })
}

#[cfg(test)]
mod tests;
