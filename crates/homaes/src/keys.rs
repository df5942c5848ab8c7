//! Key files: the secret key, the evaluation key, the wrapped AES key.
//!
//! `create` reserves the output first, so that nothing is computed for a file that cannot be written. `open` checks
//! kind, set, digest and key id before it reads the rest.

mod aes;
mod bytes;
mod eval;
mod folder;
mod list;
mod protect;
pub(crate) mod random;
mod wrapped;

pub use aes::{AesKey, MAX_AES_KEY_FILE_BYTES};
pub use eval::EvalKey;
pub(crate) use eval::layouts_of;
pub use folder::{FolderInspection, KeyFile, KeyFolder, KeyStep, KeyTick, Pair, inspect_folder};
pub use list::AesKeyList;
pub(crate) use protect::Protection;
pub use protect::{KdfCost, MAX_PASSPHRASE_BYTES, Passphrase};
pub use wrapped::WrappedKey;

use crate::error::At;
use crate::machine::memory;
use crate::machine::pool::Pool;
use crate::output::Container;
use crate::{Cancel, Error, ErrorKind, Output, Result, SchemeError, Set};
use homaes_aes::Layout;
use homaes_scheme::{Record, Records, traits};
use homaes_wire::{CHECKSUM_BYTES, Header, KeyId, Kind, Reader, WireError, Writer};
use protect::protected;
use rand_chacha::ChaCha20Rng;
use rayon::prelude::*;
use std::fs::File;
use std::io::{Read, Write};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use zeroize::Zeroizing;

/// Name of the secret key in the folder of [`KeySet::create`].
pub const SECRET_KEY_FILE: &str = "secret.hsk";

/// Name of the evaluation key in the folder of [`KeySet::create`].
pub const EVAL_KEY_FILE: &str = "eval.hek";
/// Name of the bridge key, next to the keys it was made with.
pub const BRIDGE_KEY_FILE: &str = "bridge.hbk";
/// Its file of a link key.
pub const LINK_KEY_FILE: &str = "link.key";

const WRAPPED_KEY: &str = "wrapped key";

/// The path of bytes without a file, in errors.
const MEMORY: &str = "<memory>";

/// Properties of the file that a key was read from.
struct Origin {
    set: Set,
    header: Header,
    /// The file's last one.
    checksum: [u8; CHECKSUM_BYTES],
    /// No output may replace the file. Absolute, so that it stays valid in another working folder.
    path: PathBuf,
}

homaes_wire::debug_fields!(Origin, set, path);

impl Origin {
    /// Reads a key if there is enough memory; `checksum` is the file's last one.
    fn read<R: Read + Send, K: Send>(
        reader: Reader<R>,
        set: Set,
        checksum: [u8; CHECKSUM_BYTES],
        read: impl FnOnce(Arc<dyn traits::Params>, Reader<R>) -> Result<K, SchemeError> + Send,
    ) -> Result<(Self, K)> {
        let (header, path) = (reader.header().clone(), reader.path().to_owned());
        memory::check_read(&set, &header)?;
        let key = Pool::new(0)
            .install(|| read(set.params(), reader))
            .at(&path)?;
        let origin = Self {
            set,
            header,
            checksum,
            path: std::path::absolute(&path).unwrap_or(path),
        };
        Ok((origin, key))
    }
}

fn open(path: &Path, kind: Kind) -> Result<Reader<File>> {
    Reader::open(path, kind).at(path)
}

fn reader(bytes: &[u8], kind: Kind) -> Result<Reader<&[u8]>> {
    Reader::from_slice(bytes, kind).at(Path::new(MEMORY))
}

fn set_of<R: Read>(reader: &Reader<R>) -> Result<Set> {
    Set::of_file(reader.path(), reader.header().set())
}

pub(crate) fn write(output: Output, key: &(impl Records + ?Sized)) -> Result<Container> {
    write_watched(output, key, &mut |_, _| ())
}

/// As [`write`]; calls `tick` with the records written and all records.
fn write_watched(
    output: Output,
    key: &(impl Records + ?Sized),
    tick: &mut dyn FnMut(u64, u64),
) -> Result<Container> {
    let header = key.header().at(output.path())?;
    let file = output.container(header)?;
    write_rest(file, key, tick)
}

/// Writes the missing records, several made in parallel; calls `tick` with the records written and all records.
fn write_rest(
    mut file: Container,
    key: &(impl Records + ?Sized),
    tick: &mut dyn FnMut(u64, u64),
) -> Result<Container> {
    let records = file.header().records();
    let mut next = records - file.records_left();
    let pool = Pool::new(0);
    tick(next, records);
    while next < records {
        let some = some_records(key, &pool, next..records);
        for Record { tag, index, body } in some.map_err(Error::keys)? {
            file.record(tag, index, &body)?;
            next += 1;
        }
        tick(next, records);
    }
    Ok(file)
}

fn in_memory(
    key: &(impl Records + ?Sized),
    cancel: &Cancel,
) -> Result<Zeroizing<Vec<u8>>, SchemeError> {
    let header = key.header()?;
    let records = header.records();
    // final capacity, so that growing leaves no copies
    let mut bytes = Zeroizing::new(Vec::with_capacity(header.file_bytes() as usize));
    let mut writer = Writer::new(&mut *bytes, header)?;
    let pool = Pool::new(0);
    let mut next = 0;
    while next < records {
        cancel.check()?;
        for Record { tag, index, body } in some_records(key, &pool, next..records)? {
            writer.write_record(tag, index, &body)?;
            next += 1;
        }
    }
    writer.finish()?;
    Ok(bytes)
}

fn last_checksum(file: &[u8]) -> [u8; CHECKSUM_BYTES] {
    file.last_chunk().copied().unwrap_or_default()
}

/// The first of these records, one per thread.
fn some_records(
    key: &(impl Records + ?Sized),
    pool: &Pool,
    Range { start, end }: Range<u64>,
) -> Result<Vec<Record>, WireError> {
    let end = end.min(start + pool.threads() as u64);
    pool.install(|| {
        let numbers = (start..end).into_par_iter();
        numbers.map(|number| key.record(number)).collect()
    })
}

/// A passphrase to protect a secret key with, and the cost of trying another.
type Lock<'p> = (&'p Passphrase, KdfCost);

/// A secret key and the evaluation key made with it.
#[derive(Debug)]
pub struct KeySet {
    /// For the client alone.
    pub secret: SecretKey,
    /// For the server.
    pub eval: EvalKey,
}

/// Checks a secret key; `ErrorKind::UnfitKey` asks for another.
pub type Fits<'f> = &'f mut dyn FnMut(&SecretKey) -> Result<()>;

/// Most secret keys drawn until one fits.
const MOST_DRAWS: usize = 64;

impl KeySet {
    /// New keys in memory.
    ///
    /// # Errors
    /// [`Error::Random`], [`Error::Memory`], or [`Error::Keys`] if the set is unsound.
    pub fn generate(set: &Set) -> Result<Self> {
        Self::generate_fit(set, &mut |_| Ok(()))
    }

    /// As [`generate`](Self::generate), with a secret key that `fits`: up to 64 are drawn while it returns
    /// `ErrorKind::UnfitKey`. For keys with a further purpose, such as a [`BridgeKey`](crate::BridgeKey), which at
    /// least one in three fits.
    ///
    /// # Errors
    /// As [`generate`](Self::generate), and those of `fits`.
    pub fn generate_fit(set: &Set, fits: Fits<'_>) -> Result<Self> {
        let (secret, eval) = Self::generate_files(set, &[], fits, &Cancel::new())?;
        let eval = EvalKey::from_bytes(&eval)?;
        Ok(Self { secret, eval })
    }

    /// The secret key, and the file of the evaluation key for `layouts`.
    fn generate_files(
        set: &Set,
        layouts: &[Layout],
        fits: Fits<'_>,
        cancel: &Cancel,
    ) -> Result<(SecretKey, Vec<u8>)> {
        let (layouts, bytes) = set.eval_key(layouts)?;
        let mut rng = random::generator()?;
        Self::check_memory(set, bytes)?;
        let secret = SecretKey::generate_fit(set, &mut rng, &mut |_, _| (), fits)?;
        let file = secret.key.eval_file(random::seed(&mut rng), &layouts);
        let file = file.map_err(Error::keys)?;
        let mut eval = in_memory(&*file, cancel).map_err(Error::keys)?;
        drop(file);
        // public, so it need not be overwritten
        let eval = std::mem::take(&mut *eval);
        Ok((secret, eval))
    }

    /// New keys in `folder`, which is created if missing: [`SECRET_KEY_FILE`], readable by the owner alone, and
    /// [`EVAL_KEY_FILE`]. [`KeyFolder::create`] says when both appear.
    ///
    /// # Errors
    /// As [`KeyFolder::open`] and [`KeyFolder::create`].
    pub fn create(set: &Set, folder: impl AsRef<Path>) -> Result<Self> {
        let folder = folder.as_ref();
        Self::check_memory(set, set.card().eval_key_bytes)?;
        let secret = KeyFolder::open(folder)?.create(set, None, &mut |_, _, _| ())?;
        let eval = EvalKey::open(folder.join(EVAL_KEY_FILE))?;
        Ok(Self { secret, eval })
    }

    fn check_memory(set: &Set, eval_bytes: u64) -> Result<()> {
        memory::check(set.scheme().memory_of_key(Kind::EvalKey, eval_bytes))
    }
}

/// The client's key, which wraps AES keys and decrypts results.
pub struct SecretKey {
    pub(crate) key: Box<dyn traits::SecretKey>,
    id: KeyId,
    pub(crate) set: Set,
    exposed: bool,
    protected: bool,
}

impl SecretKey {
    fn generate_fit(
        set: &Set,
        rng: &mut ChaCha20Rng,
        tick: &mut (dyn FnMut(u64, u64) + Send),
        fits: Fits<'_>,
    ) -> Result<Self> {
        let mut draws = 0;
        loop {
            let key = Self::generate(set, rng, tick)?;
            draws += 1;
            match fits(&key) {
                Err(error) if error.kind() == ErrorKind::UnfitKey && draws < MOST_DRAWS => {}
                fit => return fit.map(|()| key),
            }
        }
    }

    fn generate(
        set: &Set,
        rng: &mut ChaCha20Rng,
        tick: &mut (dyn FnMut(u64, u64) + Send),
    ) -> Result<Self> {
        let key = Pool::new(0).install(|| set.params().generate(rng, tick));
        let key = key.map_err(Error::keys)?;
        Ok(Self {
            id: key.header().map_err(Error::keys)?.key_id(),
            key,
            set: set.clone(),
            exposed: false,
            protected: false,
        })
    }

    /// Reads a `.hsk` file without a passphrase.
    ///
    /// # Errors
    /// `ErrorKind::Protected` if it has a passphrase; the first fault of the file.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        Self::of_reader(open(path, Kind::SecretKey)?, path)
    }

    fn of_reader(mut reader: Reader<File>, path: &Path) -> Result<Self> {
        let set = set_of(&reader)?;
        if Protection::read(&mut reader).at(path)?.is_some() {
            return Err(protected(path));
        }
        let file = reader.into_input();
        let exposed = readable_by_others(&file);
        let again = Reader::of_file(file, path, Some(Kind::SecretKey)).at(path)?;
        Self::read(set, again, path, exposed)
    }

    /// The content of its file, which `path` names in errors.
    fn file(&self, lock: Option<Lock<'_>>, path: &Path) -> Result<Zeroizing<Vec<u8>>> {
        let plain = in_memory(&*self.key, &Cancel::new()).at(path)?;
        match lock {
            None => Ok(plain),
            Some(lock) => protect::seal(plain, &self.key.header().at(path)?, lock, path),
        }
    }

    fn write(&self, mut output: Output, lock: Option<Lock<'_>>) -> Result<Output> {
        let path = output.path().to_owned();
        let bytes = self.file(lock, &path)?;
        // a stopped run may have left something
        output.cut(0)?;
        output.write_all(&bytes).at(&path)?;
        Ok(output)
    }

    /// Reads a `.hsk` file under this passphrase.
    ///
    /// # Errors
    /// `ErrorKind::NotProtected`, `ErrorKind::WrongPassphrase`, `ErrorKind::Memory`; the first fault of the file.
    pub fn unlock(path: impl AsRef<Path>, passphrase: &Passphrase) -> Result<Self> {
        let path = path.as_ref();
        Self::unlock_reader(open(path, Kind::SecretKey)?, path, passphrase)
    }

    fn unlock_reader(reader: Reader<File>, path: &Path, passphrase: &Passphrase) -> Result<Self> {
        let exposed = readable_by_others(reader.input());
        Self::unsealed(reader, path, exposed, passphrase)
    }

    fn unsealed<R: Read>(
        reader: Reader<R>,
        path: &Path,
        exposed: bool,
        passphrase: &Passphrase,
    ) -> Result<Self> {
        let set = set_of(&reader)?;
        reader.check_set(set.name(), set.digest()).at(path)?;
        let id = reader.header().key_id();
        let plain = protect::open(reader, passphrase, path)?;
        let inner = Reader::from_slice(&plain, Kind::SecretKey).at(path)?;
        inner.check_key(id).at(path)?;
        let key = Self::read(set, inner, path, exposed)?;
        Ok(Self {
            protected: true,
            ..key
        })
    }

    fn read<R: Read + Send>(
        set: Set,
        reader: Reader<R>,
        path: &Path,
        exposed: bool,
    ) -> Result<Self> {
        let id = reader.header().key_id();
        let key = Pool::new(0)
            .install(|| set.params().read_secret(reader.boxed()))
            .at(path)?;
        Ok(Self {
            id,
            key,
            set,
            exposed,
            protected: false,
        })
    }

    /// Writes the key to the file `path`, readable by the owner alone, under a passphrase if `lock` has one. `force`
    /// allows replacing an existing file, whose bytes stay on the disk until they are overwritten.
    ///
    /// # Errors
    /// `ErrorKind::AlreadyExists`, [`Error::Io`], and with a passphrase [`Error::Random`] or `ErrorKind::Memory`.
    pub fn save(
        &self,
        path: impl AsRef<Path>,
        force: bool,
        lock: Option<(&Passphrase, KdfCost)>,
    ) -> Result<()> {
        self.write(Output::replacing(path.as_ref(), force)?, lock)?
            .commit()
    }

    /// As [`save`](Self::save), but replaces a file of this key, to change or remove its passphrase.
    ///
    /// # Errors
    /// As [`save`](Self::save); [`Error::File`] if `path` holds another key, which would be lost.
    pub fn protect(
        &self,
        path: impl AsRef<Path>,
        lock: Option<(&Passphrase, KdfCost)>,
    ) -> Result<()> {
        let path = path.as_ref();
        let file = self.write(Output::replacing(path, true)?, lock)?;
        // as late as possible
        open(path, Kind::SecretKey)?.check_key(self.id()).at(path)?;
        file.commit()
    }

    /// Its parameter set.
    #[must_use]
    pub fn set(&self) -> &Set {
        &self.set
    }

    /// Identifies the key in everything made with it. Not secret.
    #[must_use]
    pub fn id(&self) -> KeyId {
        self.id
    }

    /// Whether its file has a passphrase.
    #[must_use]
    pub fn is_protected(&self) -> bool {
        self.protected
    }

    /// Whether users other than the owner could read its file. Known on Unix only.
    #[must_use]
    pub fn is_exposed(&self) -> bool {
        self.exposed
    }
}

homaes_wire::debug_fields!(SecretKey, set, id);

/// Whether users other than the owner can access the file `path`; `false` if unknown.
#[must_use]
pub fn is_exposed(path: impl AsRef<Path>) -> bool {
    let path = path.as_ref();
    // opening a pipe would consume its content
    path.is_file() && File::open(path).is_ok_and(|file| readable_by_others(&file))
}

#[cfg(unix)]
fn readable_by_others(file: &File) -> bool {
    use std::os::unix::fs::MetadataExt;
    file.metadata().is_ok_and(|data| data.mode() & 0o077 != 0)
}

#[cfg(not(unix))]
fn readable_by_others(_: &File) -> bool {
    false
}
