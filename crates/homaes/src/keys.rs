//! Keys on disk: the secret key, the evaluation key, the wrapped AES key.
//!
//! `create` reserves the output first, so that nothing is computed for a file that cannot be written; `open` checks
//! kind, set, digest and key id before it reads the rest.

mod aes;
mod bytes;
mod folder;
mod protect;
pub(crate) mod random;
mod wrapped;

pub use aes::{AesKey, MAX_AES_KEY_FILE_BYTES};
pub use folder::{FolderInspection, KeyFile, KeyFolder, KeyStep, KeyTick, Pair, inspect_folder};
pub(crate) use protect::Protection;
pub use protect::{KdfCost, MAX_PASSPHRASE_BYTES, Passphrase};
pub use wrapped::WrappedKey;

use crate::machine::memory;
use crate::machine::pool::Pool;
use crate::output::Container;
use crate::{Cancel, Error, ErrorKind, Output, Result, SchemeError, Set};
use core::fmt;
use homaes_aes::Layout;
use homaes_scheme::{Gpus, Mismatch, Record, Records, traits};
use homaes_wire::{CHECKSUM_BYTES, Header, KeyId, Kind, Reader, WireError, Writer};
use protect::{Sealed, protected};
use rand_chacha::ChaCha20Rng;
use rand_core::Rng;
use rayon::prelude::*;
use std::any::Any;
use std::fs::File;
use std::io::Read;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use zeroize::Zeroizing;

/// Name of the secret key within the folder of [`KeySet::create`].
pub const SECRET_KEY_FILE: &str = "secret.hsk";

/// Name of the evaluation key within the folder of [`KeySet::create`].
pub const EVAL_KEY_FILE: &str = "eval.hek";
/// Name of the bridge key beside the keys it was made with.
pub const BRIDGE_KEY_FILE: &str = "bridge.hbk";

/// What a key is called in errors.
const WRAPPED_KEY: &str = "wrapped key";

/// What bytes without a file are called in errors.
const MEMORY: &str = "<memory>";

/// The header of a key's file that is open, and the key, which `read` reads where there is the memory.
fn read_key<R: Read + Send, K: Send>(
    reader: Reader<R>,
    path: &Path,
    set: &Set,
    read: impl FnOnce(Arc<dyn traits::Params>, Reader<R>) -> Result<K, SchemeError> + Send,
) -> Result<(Header, K)> {
    let header = reader.header().clone();
    memory::check_read(set, &header)?;
    let key = Pool::new(0).install(|| read(set.params(), reader));
    Ok((header, key.map_err(|source| Error::content(path, source))?))
}

/// What is wrong with a key in the making.
fn made(source: SchemeError) -> Error {
    match source.is_cancelled() {
        true => Error::Cancelled,
        false => Error::Keys(source),
    }
}

fn open(path: &Path, kind: Kind) -> Result<Reader<File>> {
    Reader::open(path, kind).map_err(|source| Error::file(path, source))
}

fn set_of<R: Read>(path: &Path, reader: &Reader<R>) -> Result<Set> {
    Set::of_file(path, reader.header().set())
}

/// Writes a key's header and records.
pub(crate) fn write(output: Output, key: &(impl Records + ?Sized)) -> Result<Container> {
    write_watched(output, key, &mut |_, _| ())
}

/// As [`write`]; calls `tick` with the records written and all records.
fn write_watched(
    output: Output,
    key: &(impl Records + ?Sized),
    tick: &mut dyn FnMut(u64, u64),
) -> Result<Container> {
    let header = key.header();
    let header = header.map_err(|source| Error::output(output.path(), source))?;
    let file = output.container(header)?;
    write_rest(file, key, tick)
}

/// Writes the records that are missing, a few made side by side; calls `tick` with the records written and all records.
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
        for Record { tag, index, body } in some.map_err(|source| Error::Keys(source.into()))? {
            file.record(tag, index, &body)?;
            next += 1;
        }
        tick(next, records);
    }
    Ok(file)
}

/// The bytes of a key's file.
fn in_memory(key: &(impl Records + ?Sized)) -> Result<Zeroizing<Vec<u8>>, SchemeError> {
    in_memory_until(key, &Cancel::new())
}

/// The same, unless it is cancelled.
fn in_memory_until(
    key: &(impl Records + ?Sized),
    cancel: &Cancel,
) -> Result<Zeroizing<Vec<u8>>, SchemeError> {
    let header = key.header()?;
    let records = header.records();
    // With its final capacity, so that no copy stays behind.
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

/// The last checksum of a file in memory.
fn last_checksum(file: &[u8]) -> [u8; CHECKSUM_BYTES] {
    file.last_chunk().copied().unwrap_or_default()
}

/// The first of these records, one for each thread.
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

/// Writes a secret key, under a passphrase if there is one.
fn write_secret(
    output: Output,
    key: &dyn traits::SecretKey,
    lock: Option<(&Passphrase, KdfCost)>,
) -> Result<Container> {
    let Some((passphrase, cost)) = lock else {
        return write(output, key);
    };
    let path = output.path().to_owned();
    let header = key.header();
    let header = header.map_err(|source| Error::output(&path, source))?;
    let plain = in_memory(key).map_err(|source| Error::content(&path, source))?;
    let sealed = Sealed::seal(plain, &header, passphrase, cost, &path)?;
    let mut file = output.container(sealed.header)?;
    for (tag, body) in sealed.records {
        file.record(tag, 0, &body)?;
    }
    Ok(file)
}

/// A secret key and the evaluation key made with it.
#[derive(Debug)]
pub struct KeySet {
    /// For the client alone.
    pub secret: SecretKey,
    /// For the server.
    pub eval: EvalKey,
}

/// Whether a secret key serves; `ErrorKind::UnfitKey` if another may.
pub type Fits<'f> = &'f mut dyn FnMut(&SecretKey) -> Result<()>;

/// Secret keys that are drawn until one fits, at most.
const MOST_DRAWS: usize = 64;

impl KeySet {
    /// New keys, in memory only.
    ///
    /// # Errors
    /// [`Error::Random`], [`Error::Memory`], or [`Error::Keys`] if the set is unsound.
    pub fn generate(set: &Set) -> Result<Self> {
        Self::generate_fit(set, &mut |_| Ok(()))
    }

    /// As [`generate`](Self::generate), with a secret key that `fits`: where that says `ErrorKind::UnfitKey`, others
    /// are drawn, 64 at most. For keys that must serve more than their set asks for, such as a
    /// [`BridgeKey`](crate::BridgeKey), of which one in three fits at worst.
    ///
    /// # Errors
    /// As [`generate`](Self::generate); those of `fits`.
    pub fn generate_fit(set: &Set, fits: Fits<'_>) -> Result<Self> {
        let mut rng = random::generator()?;
        Self::check_memory(set)?;
        let secret = SecretKey::generate_fit(set, &mut rng, &mut |_, _| (), fits)?;
        let eval = EvalKey::from_bytes(&secret.eval_bytes(&mut rng, &Cancel::new())?)?;
        Ok(Self { secret, eval })
    }

    /// New keys in `folder`, which is made if it is missing: [`SECRET_KEY_FILE`], readable by the owner alone, and
    /// [`EVAL_KEY_FILE`]. Both appear or none: see [`KeyFolder`].
    ///
    /// # Errors
    /// As [`KeyFolder::open`] and [`KeyFolder::create`].
    pub fn create(set: &Set, folder: impl AsRef<Path>) -> Result<Self> {
        Self::create_in(set, folder.as_ref(), None)
    }

    /// As [`create`](Self::create), with the secret key under a passphrase.
    ///
    /// # Errors
    /// As [`create`](Self::create), and `ErrorKind::Memory`.
    pub fn create_protected(
        set: &Set,
        folder: impl AsRef<Path>,
        passphrase: &Passphrase,
        cost: KdfCost,
    ) -> Result<Self> {
        Self::create_in(set, folder.as_ref(), Some((passphrase, cost)))
    }

    /// Refuses keys for which there is not the memory.
    fn check_memory(set: &Set) -> Result<()> {
        let eval_bytes = set.card().eval_key_bytes;
        memory::check(set.scheme().memory_of_key(Kind::EvalKey, eval_bytes))
    }

    fn create_in(set: &Set, folder: &Path, lock: Option<(&Passphrase, KdfCost)>) -> Result<Self> {
        Self::check_memory(set)?;
        let secret = KeyFolder::open(folder)?.create(set, lock, &mut |_, _, _| ())?;
        let eval = EvalKey::open(folder.join(EVAL_KEY_FILE))?;
        Ok(Self { secret, eval })
    }
}

/// The client's key: wraps AES keys and decrypts results.
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
        for _ in 1..MOST_DRAWS {
            let key = Self::generate(set, rng, tick)?;
            match fits(&key) {
                Err(error) if error.kind() == ErrorKind::UnfitKey => {}
                fit => return fit.map(|()| key),
            }
        }
        let key = Self::generate(set, rng, tick)?;
        fits(&key).map(|()| key)
    }

    fn generate(
        set: &Set,
        rng: &mut ChaCha20Rng,
        tick: &mut (dyn FnMut(u64, u64) + Send),
    ) -> Result<Self> {
        let key = Pool::new(0).install(|| set.params().generate(rng, tick));
        let key = key.map_err(Error::Keys)?;
        let header = key.header();
        let header = header.map_err(|source| Error::Keys(source.into()))?;
        Ok(Self {
            id: header.key_id(),
            key,
            set: set.clone(),
            exposed: false,
            protected: false,
        })
    }

    /// Reads a `.hsk` file that is not protected with a passphrase.
    ///
    /// # Errors
    /// `ErrorKind::Protected` if it is; the first thing that is wrong with the file.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        Self::of_reader(open(path, Kind::SecretKey)?, path)
    }

    fn of_reader(mut reader: Reader<File>, path: &Path) -> Result<Self> {
        let error = |source| Error::file(path, source);
        let set = set_of(path, &reader)?;
        if Protection::read(&mut reader).map_err(error)?.is_some() {
            return Err(protected(path));
        }
        let file = reader.into_input();
        let exposed = readable_by_others(&file);
        let again = Reader::of_file(file, path, Some(Kind::SecretKey)).map_err(error)?;
        Self::read(set, again, path, exposed)
    }

    /// The bytes of the file of a new evaluation key.
    fn eval_bytes(&self, rng: &mut ChaCha20Rng, cancel: &Cancel) -> Result<Vec<u8>> {
        let mut seed = [0; 32];
        rng.fill_bytes(&mut seed);
        let file = self.key.eval_file(seed).map_err(Error::Keys)?;
        let mut bytes = in_memory_until(&*file, cancel).map_err(made)?;
        // not secret: it is not to be overwritten
        Ok(std::mem::take(&mut *bytes))
    }

    /// Reads a `.hsk` file that is protected with this passphrase.
    ///
    /// # Errors
    /// `ErrorKind::NotProtected`, `ErrorKind::WrongPassphrase`, `ErrorKind::Memory`; the first thing that is wrong with
    /// the file.
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
        let error = |source| Error::file(path, source);
        let set = set_of(path, &reader)?;
        reader.check_set(set.name(), set.digest()).map_err(error)?;
        let id = reader.header().key_id();
        let plain = protect::open(reader, passphrase, path)?;
        let inner = Reader::from_slice(&plain, Kind::SecretKey).map_err(error)?;
        inner.check_key(id).map_err(error)?;
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
            .map_err(|source| Error::content(path, source))?;
        Ok(Self {
            id,
            key,
            set,
            exposed,
            protected: false,
        })
    }

    /// Writes it to the file `path`, readable by the owner alone, under a passphrase if there is one; `force` allows to replace an
    /// existing file. The bytes of a file that is replaced stay on the disk until they are written over.
    ///
    /// # Errors
    /// [`Error::AlreadyExists`], [`Error::Io`], and with a passphrase [`Error::Random`] or `ErrorKind::Memory`.
    pub fn save(
        &self,
        path: impl AsRef<Path>,
        force: bool,
        lock: Option<(&Passphrase, KdfCost)>,
    ) -> Result<()> {
        write_secret(Output::replacing(path.as_ref(), force)?, &*self.key, lock)?.commit()
    }

    /// Replaces its file `path` by one under another passphrase, or under none. As [`save`](Self::save), but the file must be of this key.
    ///
    /// # Errors
    /// As [`save`](Self::save); [`Error::File`] if another key has come to be there, which would be lost.
    pub fn protect(
        &self,
        path: impl AsRef<Path>,
        lock: Option<(&Passphrase, KdfCost)>,
    ) -> Result<()> {
        let path = path.as_ref();
        let output = Output::replacing(path, true)?;
        let file = write_secret(output, &*self.key, lock)?;
        // As late as possible.
        open(path, Kind::SecretKey)?
            .check_key(self.id())
            .map_err(|source| Error::file(path, source))?;
        file.commit()
    }

    /// Its parameter set.
    #[must_use]
    pub fn set(&self) -> &Set {
        &self.set
    }

    /// Names the key; everything made with it carries the same id. Not secret.
    #[must_use]
    pub fn id(&self) -> KeyId {
        self.id
    }

    /// Whether the file it came from is protected with a passphrase.
    #[must_use]
    pub fn is_protected(&self) -> bool {
        self.protected
    }

    /// Whether others than the owner could read the file it came from. Only known on Unix.
    #[must_use]
    pub fn is_exposed(&self) -> bool {
        self.exposed
    }
}

impl fmt::Debug for SecretKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        debug("SecretKey", &self.set, self.id(), f)
    }
}

/// The server's key: evaluates, and decrypts nothing.
pub struct EvalKey {
    pub(crate) key: Box<dyn traits::EvalKey>,
    header: Header,
    /// The last one of its file.
    checksum: [u8; CHECKSUM_BYTES],
    set: Set,
    /// Where it was read from.
    path: PathBuf,
}

impl EvalKey {
    /// Reads a `.hek` file.
    ///
    /// # Errors
    /// The first thing that is wrong with the file.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        let reader = open(path, Kind::EvalKey)?;
        let checksum = reader.last_checksum();
        let checksum = checksum.map_err(|source| Error::file(path, source))?;
        Self::read(reader, path, checksum, |params, file| {
            params.open_eval(file)
        })
    }

    /// Reads it by `read`, whose file ends with `checksum`.
    fn read<R: Read + Send>(
        reader: Reader<R>,
        path: &Path,
        checksum: [u8; CHECKSUM_BYTES],
        read: impl FnOnce(
            Arc<dyn traits::Params>,
            Reader<R>,
        ) -> Result<Box<dyn traits::EvalKey>, SchemeError>
        + Send,
    ) -> Result<Self> {
        let set = set_of(path, &reader)?;
        let (header, key) = read_key(reader, path, &set, read)?;
        Ok(Self {
            key,
            header,
            checksum,
            set,
            path: fixed(path),
        })
    }

    /// Where it was read from, which no output may replace.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Its parameter set.
    #[must_use]
    pub fn set(&self) -> &Set {
        &self.set
    }

    /// Names the secret key it was made with.
    #[must_use]
    pub fn key_id(&self) -> KeyId {
        self.header.key_id()
    }

    /// The key as the crate of its scheme has it, to compute on results with: a `homaes_bgv::EvalKey`, a `homaes_tfhe::EvalKey`, a `homaes_ntru::EvalKey<_>`, a
    /// `homaes_dghv::EvalKey`; `None` if it is of another scheme.
    #[must_use]
    pub fn of_scheme<K: Any>(&self) -> Option<&K> {
        let key: &dyn Any = &*self.key;
        key.downcast_ref()
    }

    /// The last checksum of its file, which covers all of it.
    pub(crate) fn checksum(&self) -> &[u8; CHECKSUM_BYTES] {
        &self.checksum
    }

    /// Size of its file.
    #[must_use]
    pub fn file_bytes(&self) -> u64 {
        self.header.file_bytes()
    }

    /// Checks that both were made for one set with one secret key.
    pub(crate) fn check_match(&self, wrapped: &WrappedKey) -> Result<()> {
        wrapped.check_of(self.set().id(), self.key_id())
    }

    /// AES under both, which must match, in `layout`; with the current thread pool.
    /// The set that the header of a `.hek` file names.
    ///
    /// # Errors
    /// [`Error::File`]; `ErrorKind::UnknownSetInFile`.
    pub fn set_in(path: impl AsRef<Path>) -> Result<Set> {
        let path = path.as_ref();
        set_of(path, &open(path, Kind::EvalKey)?)
    }

    pub(crate) fn circuit<'k>(
        &'k self,
        wrapped: &'k WrappedKey,
        layout: Layout,
        gpus: Gpus<'k>,
        cancel: &Cancel,
    ) -> Result<Box<dyn traits::Circuit + 'k>> {
        let circuit = self.key.circuit(&*wrapped.key, layout, gpus, cancel);
        let circuit = circuit.ok_or_else(|| self.other_set(wrapped))?;
        circuit.map_err(made)
    }

    fn other_set(&self, wrapped: &WrappedKey) -> Error {
        let mismatch = Mismatch::OtherSet {
            what: WRAPPED_KEY,
            found: wrapped.set().name(),
            expected: self.set().name(),
        };
        Error::Keys(mismatch.into())
    }
}

impl fmt::Debug for EvalKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        debug("EvalKey", &self.set, self.key_id(), f)
    }
}

/// A path that is the same one when the process goes to another folder.
fn fixed(path: &Path) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.to_owned())
}

fn debug(what: &str, set: &Set, id: KeyId, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    f.debug_struct(what)
        .field("set", &set.name())
        .field("key_id", &id)
        .finish_non_exhaustive()
}

/// Whether others than the owner have access to the file at `path`; not where that cannot be told.
#[must_use]
pub fn is_exposed(path: impl AsRef<Path>) -> bool {
    let path = path.as_ref();
    // opening a pipe would take what its writer has for the reader
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
