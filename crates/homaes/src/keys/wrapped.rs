use super::{
    AesKey, AesKeyList, EvalKey, Origin, SecretKey, WRAPPED_KEY, in_memory, last_checksum, open,
    reader, set_of, write, write_watched,
};
use crate::error::At;
use crate::keys::random;
use crate::machine::memory;
use crate::{
    Cancel, Error, ErrorKind, Output, Result, SchemeError, Set, WrapOptions, WrappedKeyInfo,
};
use homaes_aes::{Direction, KeySize, Layout};
use homaes_scheme::traits::WrappedFile;
use homaes_scheme::{Expansion, Gpus, Mismatch, SetId, mismatch, traits};
use homaes_wire::{CHECKSUM_BYTES, KeyId, Kind, Reader};
use std::any::Any;
use std::collections::HashSet;
use std::fs::File;
use std::path::Path;

/// An AES key under FHE: its round keys, or the input from which the server expands them.
pub struct WrappedKey {
    pub(crate) key: Box<dyn traits::WrappedKey>,
    origin: Origin,
}

impl WrappedKey {
    /// Checks that it is of this set and this secret key.
    pub(crate) fn check_of(&self, set: SetId<'_>, key: KeyId) -> Result<()> {
        mismatch::check(WRAPPED_KEY, (self.set().id(), self.key_id()), (set, key))
            .map_err(Error::keys)
    }

    /// The key for one of its directions.
    fn of_direction(&self, direction: Direction) -> &dyn traits::WrappedKey {
        self.key.of_direction(direction).unwrap_or(&*self.key)
    }

    /// The key for one of its directions, in the type of its scheme's crate.
    pub(crate) fn of_scheme<K: Any>(&self, direction: Direction) -> Option<&K> {
        let key: &dyn Any = self.of_direction(direction);
        key.downcast_ref()
    }

    /// The level of the output of AES in `layout`.
    pub(crate) fn checked_level(&self, layout: Layout) -> Result<usize> {
        let level = self.output_level(layout);
        level.ok_or_else(|| {
            let held = self.layouts();
            Error::keys(Mismatch::NotWrapped { layout, held })
        })
    }

    /// AES under `eval`, which must match, in `layout`; with the current thread pool.
    pub(crate) fn circuit<'k>(
        &'k self,
        eval: &'k EvalKey,
        (layout, direction): (Layout, Direction),
        gpus: Gpus<'k>,
        cancel: &Cancel,
    ) -> Result<Box<dyn traits::Circuit + 'k>> {
        let key = self.of_direction(direction);
        let circuit = eval.key.circuit(key, layout, gpus, cancel);
        let other_set = || {
            Error::keys(Mismatch::OtherSet {
                what: WRAPPED_KEY,
                found: self.set().name(),
                expected: eval.set().name(),
            })
        };
        circuit.ok_or_else(other_set)?.map_err(Error::keys)
    }

    /// Encrypts `aes_key`, in memory only.
    ///
    /// # Errors
    /// `ErrorKind::KeySize`; [`Error::Keys`] if the set lacks a layout, has too few levels, or cannot expand the key as
    /// requested; [`Error::Random`], [`Error::Memory`].
    pub fn encrypt(secret: &SecretKey, aes_key: &AesKey, wrapping: &WrapOptions) -> Result<Self> {
        Self::of_records(secret, &*wrapped(secret, aes_key, wrapping)?)
    }

    fn of_records(secret: &SecretKey, file: &dyn WrappedFile) -> Result<Self> {
        let header = file.header().map_err(Error::keys)?;
        memory::check_read(&secret.set, &header)?;
        // needed even for schemes whose opened keys stay in their files
        memory::check(header.file_bytes())?;
        let file = in_memory(file, &Cancel::new()).map_err(Error::keys)?;
        Self::of_slice(&file, secret.set.clone(), secret.id())
    }

    /// Encrypts all keys of `list`, in memory only: a batch then has blocks under each of them, and every part of a
    /// message names its key ([`AesFile::under`](crate::AesFile::under)). For BGV sets with enough levels, AES-128, the
    /// layout sliced, and modes that encrypt. Of K keys, each has a K-th of the blocks of a batch.
    ///
    /// # Errors
    /// As [`encrypt`](Self::encrypt); [`Error::Keys`] if the scheme takes one key, the set has too few levels, or a
    /// batch has fewer blocks than there are keys.
    pub fn encrypt_many(
        secret: &SecretKey,
        list: &AesKeyList,
        levels_left: Option<usize>,
    ) -> Result<Self> {
        Self::of_records(secret, &*wrapped_many(secret, list, levels_left)?)
    }

    /// Encrypts `aes_key` into a file without holding the result in memory; calls `tick` with the records written and
    /// all records.
    ///
    /// # Errors
    /// As [`encrypt`](Self::encrypt); `ErrorKind::AlreadyExists` or [`Error::Io`].
    pub fn write(
        secret: &SecretKey,
        aes_key: &AesKey,
        wrapping: &WrapOptions,
        output: Output,
        tick: &mut dyn FnMut(u64, u64),
    ) -> Result<WrappedKeyInfo> {
        let file = wrapped(secret, aes_key, wrapping)?;
        write_watched(output, &*file, tick)?.commit()?;
        Ok(file.describe())
    }

    /// As [`encrypt_many`](Self::encrypt_many), into a file, without holding the result in memory.
    ///
    /// # Errors
    /// As there; `ErrorKind::AlreadyExists` or [`Error::Io`].
    pub fn write_many(
        secret: &SecretKey,
        list: &AesKeyList,
        levels_left: Option<usize>,
        output: Output,
        tick: &mut dyn FnMut(u64, u64),
    ) -> Result<WrappedKeyInfo> {
        let file = wrapped_many(secret, list, levels_left)?;
        write_watched(output, &*file, tick)?.commit()?;
        Ok(file.describe())
    }

    /// Encrypts `aes_key` into the file `path`; `force` allows replacing an existing one.
    ///
    /// # Errors
    /// As [`encrypt`](Self::encrypt); `ErrorKind::AlreadyExists` or [`Error::Io`].
    pub fn create(
        secret: &SecretKey,
        aes_key: &AesKey,
        wrapping: &WrapOptions,
        path: impl AsRef<Path>,
        force: bool,
    ) -> Result<Self> {
        let path = path.as_ref();
        let output = Output::create(path, force)?;
        Self::write(secret, aes_key, wrapping, output, &mut |_, _| ())?;
        Self::of_file(
            open(path, Kind::WrappedKey)?,
            secret.set.clone(),
            secret.id(),
        )
    }

    /// Writes the key to a file.
    ///
    /// # Errors
    /// `ErrorKind::AlreadyExists` or [`Error::Io`].
    pub fn save(&self, output: Output) -> Result<()> {
        write(output, &*self.key)?.commit()
    }

    /// Reads a `.hwk` file for use with `eval`.
    ///
    /// # Errors
    /// The first fault of the file, including another set or another secret key.
    pub fn open(path: impl AsRef<Path>, eval: &EvalKey) -> Result<Self> {
        let file = open(path.as_ref(), Kind::WrappedKey)?;
        Self::of_file(file, eval.set().clone(), eval.key_id())
    }

    /// As [`open`](Self::open), without an evaluation key; [`Transcipher::new`](crate::Transcipher::new) checks that
    /// both match.
    pub fn open_alone(path: impl AsRef<Path>) -> Result<Self> {
        let file = open(path.as_ref(), Kind::WrappedKey)?;
        let (set, id) = (set_of(&file)?, file.header().key_id());
        Self::of_file(file, set, id)
    }

    fn of_file(file: Reader<File>, set: Set, id: KeyId) -> Result<Self> {
        set.check_own(&file, id)?;
        let checksum = file.last_checksum().at(file.path())?;
        let read = Origin::read(file, set, checksum, |params, file| {
            params.open_wrapped(file)
        });
        read.map(|(origin, key)| Self { key, origin })
    }

    pub(super) fn of_slice(bytes: &[u8], set: Set, id: KeyId) -> Result<Self> {
        let file = reader(bytes, Kind::WrappedKey)?;
        set.check_own(&file, id)?;
        let read = Origin::read(file, set, last_checksum(bytes), |params, file| {
            params.read_wrapped(file.boxed())
        });
        read.map(|(origin, key)| Self { key, origin })
    }

    /// No output may replace this file.
    pub(crate) fn path(&self) -> &Path {
        &self.origin.path
    }

    /// Its parameter set.
    #[must_use]
    pub fn set(&self) -> &Set {
        &self.origin.set
    }

    /// Size of the AES key.
    #[must_use]
    pub fn key_size(&self) -> KeySize {
        self.key.describe().key_size
    }

    /// Directions of the cipher: one, or both.
    #[must_use]
    pub fn directions(&self) -> Vec<Direction> {
        self.key.describe().directions
    }

    /// Who expands the AES key.
    #[must_use]
    pub fn expansion(&self) -> Expansion {
        self.key.describe().expansion
    }

    /// Whether the server must first expand the round keys from a compact form: [`Transcipher`](crate::Transcipher)
    /// does so once per layout.
    #[must_use]
    pub fn is_compact(&self) -> bool {
        self.key.describe().compact
    }

    /// Names of the AES keys, if it holds many; empty if it holds one.
    #[must_use]
    pub fn names(&self) -> Vec<String> {
        self.key.describe().names
    }

    /// The layouts that it has round keys for.
    #[must_use]
    pub fn layouts(&self) -> Vec<Layout> {
        self.key.describe().layouts()
    }

    /// Level of the output of AES in `layout`, if the key has round keys for it: one more than the multiplications
    /// left, if the scheme has levels.
    #[must_use]
    pub fn output_level(&self, layout: Layout) -> Option<usize> {
        self.key.describe().output_level(layout)
    }

    /// Identifies the secret key it was made with.
    #[must_use]
    pub fn key_id(&self) -> KeyId {
        self.origin.header.key_id()
    }

    /// The last checksum of its file covers the whole file.
    pub(crate) fn checksum(&self) -> &[u8; CHECKSUM_BYTES] {
        &self.origin.checksum
    }

    /// Size of its file.
    #[must_use]
    pub fn file_bytes(&self) -> u64 {
        self.origin.header.file_bytes()
    }
}

/// Checks that the set offers the options; removes duplicate layouts.
fn wrapped<'s>(
    secret: &'s SecretKey,
    aes_key: &AesKey,
    wrapping: &WrapOptions,
) -> Result<Box<dyn WrappedFile + 's>> {
    let (set, offered) = (&secret.set, secret.set.layouts());
    let mut layouts = wrapping.layouts.clone();
    if layouts.is_empty() {
        let bytes = |layout: &Layout| *layout != Layout::Bits;
        layouts.extend_from_slice(offered);
        layouts.retain(|layout| bytes(layout) || !offered.iter().any(bytes));
    }
    let mut once = HashSet::new();
    layouts.retain(|&layout| once.insert(layout));
    set.check_layouts(&layouts)?;
    check_size(set, aes_key.size())?;
    let wrapping = WrapOptions {
        layouts,
        ..*wrapping
    };
    let mut rng = random::generator()?;
    let file = secret
        .key
        .wrap_file(aes_key.round_keys(), &wrapping, &mut rng);
    let file = file.map_err(Error::keys)?;
    if wrapping.both && file.describe().directions.len() == 1 {
        let set = set.name();
        return Err(Error::keys(SchemeError::OneDirection { set }));
    }
    Ok(file)
}

fn wrapped_many<'s>(
    secret: &'s SecretKey,
    list: &AesKeyList,
    levels_left: Option<usize>,
) -> Result<Box<dyn WrappedFile + 's>> {
    for (_, key) in list.keys() {
        check_size(&secret.set, key.size())?;
    }
    let keys = list.keys().iter();
    let keys: Vec<_> = keys
        .map(|(name, key)| (name.clone(), key.round_keys()))
        .collect();
    let mut rng = random::generator()?;
    let file = secret.key.wrap_many(&keys, levels_left, &mut rng);
    file.map_err(Error::keys)
}

fn check_size(set: &Set, size: KeySize) -> Result<()> {
    let (bits, takes) = (|size: &KeySize| 8 * size.key_bytes(), set.key_sizes());
    if takes.contains(&size) {
        return Ok(());
    }
    let expected: Vec<_> = takes.iter().map(|size| bits(size).to_string()).collect();
    let (found, expected, set_name) = (bits(&size), expected.join(" or "), set.name());
    let other = set.for_key_size(size);
    let other = other.map_or_else(String::new, |other| format!(", {other} takes {found}"));
    let message =
        format!("an AES key of {found} bits: set {set_name} takes keys of {expected} bits{other}");
    Err(Error::refused(ErrorKind::KeySize, message).with(found, expected))
}

homaes_wire::debug_fields!(WrappedKey, origin);
