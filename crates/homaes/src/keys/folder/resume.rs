//! Resumes stopped key generation.
//!
//! The new keys have file names of their own, which stay when the process is stopped. Every record of an evaluation key
//! is a function of the secret key and of the public seed in its first record ([`homaes_scheme::file::error_seed`]).
//! The next run therefore needs only a complete secret key and whole records of its evaluation key. An evaluation key
//! of an older version has another header and is started again.

use super::{KeyFolder, KeyStep, KeyTick, exists, finish, id_of};
use crate::error::At;
use crate::keys::random;
use crate::keys::{
    EVAL_KEY_FILE, KdfCost, Passphrase, SECRET_KEY_FILE, SecretKey, readable_by_others,
};
use crate::machine::disk;
use crate::{Error, ErrorKind, Output, Result, Set};
use homaes_aes::Layout;
use homaes_wire::{Front, Kind, Reader, WireError, unfinished_path};
use std::fs::{self, File};
use std::path::Path;

impl KeyFolder {
    /// As [`create`](Self::create), with unfinished files that stay when the process is stopped and from which the next
    /// call continues: `secret.hsk.unfinished`, readable by the owner alone and under the passphrase, and
    /// `eval.hek.unfinished`. A stop does not change the keys, even while the files get their names.
    ///
    /// # Errors
    /// As [`create`](Self::create); `ErrorKind::UnfinishedKeys` if the unfinished keys are of another set or layouts;
    /// `ErrorKind::WrongPassphrase` or `ErrorKind::Protected` if they are under another passphrase.
    pub fn resume(
        self,
        set: &Set,
        lock: Option<(&Passphrase, KdfCost)>,
        tick: KeyTick<'_>,
    ) -> Result<SecretKey> {
        let (layouts, eval_bytes) = set.eval_key(&self.layouts)?;
        go_back(&self.path)?;
        let [secret_path, eval_path] = self.files()?;
        let there = self.unfinished().into_iter().map(fs::metadata);
        let there: u64 = there.filter_map(|found| Some(found.ok()?.len())).sum();
        let bytes = eval_bytes + set.card().secret_key_bytes;
        disk::check(&self.path, bytes.saturating_sub(there))?;
        let secret = Output::resumed(&secret_path, true)?;
        let eval = Output::resumed(&eval_path, false)?;
        let found = unfinished_secret(&secret, &unfinished_path(&secret_path), set, lock)?;
        let mut rng = random::generator()?;
        let seed = random::seed(&mut rng);
        let (key, secret) = match found {
            // its file is complete
            Some(key) => (key, secret.whole()?),
            None => {
                let key = SecretKey::generate(set, &mut rng, &mut |done, all| {
                    tick(KeyStep::Secret, done, all);
                })?;
                let secret = key.write(secret, lock)?.synced()?;
                (key, secret)
            }
        };
        let path = unfinished_path(&eval_path);
        // the records depend on the seed in the first one
        let first = |layouts: &[Layout]| {
            let file = key.key.eval_file(seed, layouts).map_err(Error::keys)?;
            let header = file.header().at(&path)?;
            let first = Front::first_body(eval.written()?, &header, seed.len() as u64);
            let first: Option<[u8; 32]> = first.and_then(|body| body.try_into().ok());
            Ok::<_, Error>(first.map(|first| (first, header)))
        };
        for (other, _) in set.eval_keys() {
            if other != layouts && first(&other)?.is_some() {
                let [found, expected] = [&other, &layouts].map(|layouts| Layout::list(layouts));
                let message =
                    format!("is an unfinished evaluation key for {found}, expected {expected}");
                let error = Error::refused(ErrorKind::UnfinishedKeys, message);
                return Err(error.with(found, expected).at(path));
            }
        }
        let found = first(&layouts)?;
        let front = match &found {
            Some((_, header)) => Front::of(eval.written()?, header),
            None => None,
        };
        let seed = found.map_or(seed, |(first, _)| first);
        finish(key, secret, eval, (seed, &layouts, front.as_ref()), tick)
    }
}

/// Makes the secret key unfinished again after a kill between the names, when it has its name and the matching
/// evaluation key does not. A secret key that others can access stays, because a resumed run would refuse it.
fn go_back(folder: &Path) -> Result<()> {
    let [own, eval] = [SECRET_KEY_FILE, EVAL_KEY_FILE].map(|name| folder.join(name));
    let unfinished = unfinished_path(&own);
    if exists(&eval) || exists(&unfinished) {
        return Ok(());
    }
    let secret = id_of(&own, Kind::SecretKey).ok();
    let made = id_of(&unfinished_path(&eval), Kind::EvalKey).ok();
    let private = File::open(&own).is_ok_and(|file| !readable_by_others(&file));
    match private && secret.is_some() && secret == made {
        true => fs::rename(&own, &unfinished).at(&own),
        false => Ok(()),
    }
}

/// The secret key of a stopped key generation, if it is complete.
fn unfinished_secret(
    output: &Output,
    path: &Path,
    set: &Set,
    lock: Option<(&Passphrase, KdfCost)>,
) -> Result<Option<SecretKey>> {
    // reads the open file that was found to be this user's, even if its path changes
    let open = |file| Reader::of_file(file, path, Some(Kind::SecretKey));
    let whole = open(output.written()?).and_then(|reader| {
        let found = reader.header().set().to_owned();
        reader.verify()?;
        Ok(found)
    });
    match whole {
        Ok(found) if found == set.name() => {}
        Ok(found) => {
            let expected = set.name();
            let message =
                format!("is the unfinished secret key of set {found}, expected {expected}");
            let error = Error::refused(ErrorKind::UnfinishedKeys, message);
            return Err(error.with(found, expected).at(path));
        }
        Err(WireError::Io { source, .. }) => return Err(Error::io(path, source)),
        Err(_) => return Ok(None),
    }
    let reader = open(output.written()?).at(path)?;
    let key = match lock {
        None => SecretKey::of_reader(reader, path),
        Some((passphrase, _)) => SecretKey::unlock_reader(reader, path, passphrase),
    };
    key.map(Some)
}
