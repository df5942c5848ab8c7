//! AES keys under FHE.

use super::{
    AesKey, EvalKey, MEMORY, SecretKey, WRAPPED_KEY, debug, fixed, in_memory, last_checksum, open,
    read_key, write, write_watched,
};
use crate::keys::random;
use crate::machine::memory;
use crate::{Error, ErrorKind, Output, Result, SchemeError, Set, WrapOptions, WrappedKeyInfo};
use core::fmt;
use homaes_aes::{Direction, KeySize, Layout};
use homaes_scheme::{Expansion, Mismatch, SetId, mismatch, traits};
use homaes_wire::{CHECKSUM_BYTES, Header, KeyId, Kind, Reader};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// What is wanted of `set` for an AES key of `size`: its layouts by name, each once.
fn checked(wrapping: &WrapOptions, set: &Set, size: KeySize) -> Result<WrapOptions> {
    let layouts = layouts(wrapping, set);
    check_layouts(set, &layouts)?;
    check_size(set, size)?;
    Ok(WrapOptions {
        layouts,
        ..*wrapping
    })
}

/// The layouts under `set`, each once.
fn layouts(wrapping: &WrapOptions, set: &Set) -> Vec<Layout> {
    let mut layouts = wrapping.layouts.clone();
    if layouts.is_empty() {
        let bytes = |&layout: &Layout| layout != Layout::Bits;
        layouts.extend(set.layouts().iter().copied().filter(bytes));
    }
    if layouts.is_empty() {
        layouts.extend_from_slice(set.layouts());
    }
    let mut seen = Vec::new();
    layouts.retain(|&layout| {
        !seen.contains(&layout) && {
            seen.push(layout);
            true
        }
    });
    layouts
}

/// An AES key under FHE: its round keys, or what the server makes them from.
pub struct WrappedKey {
    pub(crate) key: Box<dyn traits::WrappedKey>,
    header: Header,
    /// The last one of its file.
    checksum: [u8; CHECKSUM_BYTES],
    set: Set,
    /// Where it was read from; of one that was made, nothing.
    path: PathBuf,
}

impl WrappedKey {
    /// Checks that it is of this set, and of this secret key.
    pub(crate) fn check_of(&self, set: SetId<'_>, key: KeyId) -> Result<()> {
        mismatch::check(WRAPPED_KEY, (self.set().id(), self.key_id()), (set, key))
            .map_err(|error| Error::Keys(error.into()))
    }

    /// Encrypts `aes_key`, in memory only.
    ///
    /// # Errors
    /// `ErrorKind::KeySize`; [`Error::Keys`] if the set does not offer a layout, has too few levels, or cannot expand
    /// the key as asked for; [`Error::Random`], [`Error::Memory`].
    pub fn encrypt(secret: &SecretKey, aes_key: &AesKey, wrapping: &WrapOptions) -> Result<Self> {
        let wrapping = checked(wrapping, &secret.set, aes_key.size())?;
        let mut rng = random::generator()?;
        let round_keys = aes_key.round_keys();
        let file = secret.key.wrap_file(round_keys, &wrapping, &mut rng);
        let file = file.map_err(Error::Keys)?;
        let header = file.header().map_err(|source| Error::Keys(source.into()))?;
        memory::check_read(&secret.set, &header)?;
        // also where a key that is opened stays in its file
        memory::check(header.file_bytes())?;
        let file = in_memory(&*file).map_err(Error::Keys)?;
        Self::of_slice(&file, secret.set.clone(), secret.id())
    }

    /// Encrypts `aes_key` into a file, without all of it in memory; `tick` is called with the records written and all
    /// records.
    ///
    /// # Errors
    /// As [`encrypt`](Self::encrypt); [`Error::AlreadyExists`] or [`Error::Io`].
    pub fn write(
        secret: &SecretKey,
        aes_key: &AesKey,
        wrapping: &WrapOptions,
        output: Output,
        tick: &mut dyn FnMut(u64, u64),
    ) -> Result<WrappedKeyInfo> {
        let wrapping = checked(wrapping, &secret.set, aes_key.size())?;
        let mut rng = random::generator()?;
        let file = secret
            .key
            .wrap_file(aes_key.round_keys(), &wrapping, &mut rng)
            .map_err(Error::Keys)?;
        write_watched(output, &*file, tick)?.commit()?;
        Ok(file.describe())
    }

    /// Encrypts `aes_key` into the file `path`; `force` allows to replace an existing one.
    ///
    /// # Errors
    /// As [`encrypt`](Self::encrypt); [`Error::AlreadyExists`] or [`Error::Io`].
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
        Self::open_with(path, secret.set.clone(), secret.id())
    }

    /// Writes it to a file.
    ///
    /// # Errors
    /// [`Error::AlreadyExists`] or [`Error::Io`].
    pub fn save(&self, output: Output) -> Result<()> {
        write(output, &*self.key)?.commit()
    }

    /// Reads a `.hwk` file to be used with `eval`.
    ///
    /// # Errors
    /// The first thing that is wrong with the file, another set or another secret key included.
    pub fn open(path: impl AsRef<Path>, eval: &EvalKey) -> Result<Self> {
        Self::open_with(path.as_ref(), eval.set.clone(), eval.key_id())
    }

    pub(super) fn open_with(path: &Path, set: Set, id: KeyId) -> Result<Self> {
        let reader = open(path, Kind::WrappedKey)?;
        let checksum = reader.last_checksum();
        let checksum = checksum.map_err(|source| Error::file(path, source))?;
        Self::read(reader, path, checksum, (set, id), |params, file| {
            params.open_wrapped(file)
        })
    }

    /// The key in `bytes`, the content of its file.
    pub(super) fn of_slice(bytes: &[u8], set: Set, id: KeyId) -> Result<Self> {
        let path = Path::new(MEMORY);
        let reader = Reader::from_slice(bytes, Kind::WrappedKey);
        let reader = reader.map_err(|source| Error::file(path, source))?;
        let checksum = last_checksum(bytes);
        Self::read(reader, path, checksum, (set, id), |params, file| {
            params.read_wrapped(file.boxed())
        })
    }

    /// Reads it by `read`, whose file ends with `checksum`.
    fn read<R: Read + Send>(
        reader: Reader<R>,
        path: &Path,
        checksum: [u8; CHECKSUM_BYTES],
        (set, id): (Set, KeyId),
        read: impl FnOnce(
            Arc<dyn traits::Params>,
            Reader<R>,
        ) -> Result<Box<dyn traits::WrappedKey>, SchemeError>
        + Send,
    ) -> Result<Self> {
        reader
            .check_set(set.name(), set.digest())
            .and_then(|()| reader.check_key(id))
            .map_err(|source| Error::file(path, source))?;
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

    /// Size of the AES key.
    #[must_use]
    pub fn key_size(&self) -> KeySize {
        self.key.describe().key_size
    }

    /// Direction of the cipher.
    #[must_use]
    pub fn direction(&self) -> Direction {
        self.key.describe().direction
    }

    /// Who expands the AES key.
    #[must_use]
    pub fn expansion(&self) -> Expansion {
        self.key.describe().expansion
    }

    /// The layouts there are round keys for.
    #[must_use]
    pub fn layouts(&self) -> Vec<Layout> {
        self.key.describe().layouts()
    }

    /// Level of the output of AES in `layout`, if there are round keys for it: one more than the multiplications left,
    /// if the scheme has levels.
    #[must_use]
    pub fn output_level(&self, layout: Layout) -> Option<usize> {
        self.key.describe().output_level(layout)
    }

    /// Names the secret key it was made with.
    #[must_use]
    pub fn key_id(&self) -> KeyId {
        self.header.key_id()
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
}

/// Checks that the set offers what is asked for, before anything is encrypted.
fn check_layouts(set: &Set, layouts: &[Layout]) -> Result<()> {
    let offered = set.layouts();
    match layouts.iter().find(|layout| !offered.contains(layout)) {
        None => Ok(()),
        Some(&layout) => {
            let set = set.name();
            let mismatch = Mismatch::NoLayout {
                layout,
                set,
                offered,
            };
            Err(Error::Keys(mismatch.into()))
        }
    }
}

/// Checks that the set carries AES with a key of this size.
fn check_size(set: &Set, size: KeySize) -> Result<()> {
    let (bits, takes) = (|size: &KeySize| 8 * size.key_bytes(), set.key_sizes());
    if takes.contains(&size) {
        return Ok(());
    }
    let expected: Vec<_> = takes.iter().map(|size| bits(size).to_string()).collect();
    let (found, expected, set_name) = (bits(&size), expected.join(" or "), set.name());
    let other = Set::for_key_size(set.scheme(), size);
    let other = other.map_or_else(String::new, |other| format!(", {other} takes {found}"));
    let message =
        format!("an AES key of {found} bits: set {set_name} takes keys of {expected} bits{other}");
    Err(Error::refused(ErrorKind::KeySize, message).with(found, expected))
}

impl fmt::Debug for WrappedKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        debug("WrappedKey", &self.set, self.key_id(), f)
    }
}
