//! Reads the batches of an `.hct` file in order, from a path, a [`Source`] or any [`Read`].

use crate::error::{At, malformed, other_scheme};
use crate::input::part_meta::MAX_PARTS_BYTES;
use crate::input::source::Source;
use crate::machine::pool::Pool;
use crate::results::meta::{MAX_META_BYTES, Meta, TAG_BATCH, TAG_META, TAG_PARTS, TAG_STEPS};
use crate::{Error, Quality, Result, SchemeError, Set, Step};
use homaes_aes::Layout;
use homaes_scheme::traits::{Input, Shape};
use homaes_scheme::{FieldError, Mismatch};
use homaes_wire::{KeyId, Kind, Reader, WireError};
use std::any::{Any, type_name};
use std::io::{self, Read};
use std::path::Path;
use std::sync::{Arc, OnceLock};

/// FHE ciphertexts of a message, opened: the records before the batches were read and checked.
///
/// The bytes are read once, front to back, and every checksum is verified on the way. The batches follow in order, to
/// decrypt ([`SecretKey::decrypt_from`](crate::SecretKey::decrypt_from)) or to compute with:
///
/// ```
/// # use homaes::{AesKey, Memory, Mode, Output, AesFile, KeySet, Set, Transcipher, WrappedKey, WrapOptions};
/// use homaes::Ciphertexts;
/// # let keys = KeySet::generate(&Set::named("bgv/toy-255")?)?;
/// # let aes_key = AesKey::from_bytes(&[7; 16])?;
/// # let wrapped = WrappedKey::encrypt(&keys.secret, &aes_key, &WrapOptions::default())?;
/// # let part = AesFile::of(Memory::new([9; 20], "c"), Mode::Ctr { iv: [0; 16] })?;
/// # let (output, results) = Output::memory();
/// # Transcipher::new(&keys.eval, &wrapped)?.run(part, output)?;
/// # let bytes = results.take();
/// let ciphertexts = Ciphertexts::of_source(Memory::new(bytes, "results"))?;
/// assert_eq!(ciphertexts.meta().bytes(), 20);
/// for batch in ciphertexts {
///     let state: homaes_bgv::State = batch?.state()?;
///     assert_eq!(state.ciphertexts().len(), 16); // one for each byte of the blocks
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Ciphertexts<'r> {
    reader: Input<'r>,
    path: Arc<Path>,
    set: Set,
    meta: Meta,
}

homaes_wire::debug_fields!(Ciphertexts<'_>, path, set);

impl<'r> Ciphertexts<'r> {
    /// Opens an `.hct` file.
    ///
    /// # Errors
    /// The first fault of the file before its batches.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        let reader = Reader::open(path, Kind::Ciphertext).at(path)?;
        Self::of_any_set(reader.boxed())
    }

    /// As [`open`](Self::open), from `source`.
    pub fn of_source(source: impl Source + 'r) -> Result<Self> {
        let (path, bytes) = (source.name().to_owned(), source.bytes());
        Self::of(SourceReader { source, at: 0 }, Some(bytes), &path)
    }

    /// As [`open`](Self::open), from the rest of `read`, such as a [`Merge`](crate::Merge); `name` names it in errors.
    /// Reads can be as short as the 18 bytes of a record's head: put a [`BufReader`](io::BufReader) around a slow
    /// reader.
    pub fn of_read(read: impl Read + Send + 'r, name: impl AsRef<Path>) -> Result<Self> {
        Self::of(read, None, name.as_ref())
    }

    fn of(read: impl Read + Send + 'r, bytes: Option<u64>, path: &Path) -> Result<Self> {
        let reader = Reader::of_read(read, bytes, Kind::Ciphertext, path).at(path)?;
        Self::of_any_set(reader.boxed())
    }

    fn of_any_set(reader: Input<'r>) -> Result<Self> {
        let set = Set::of_file(reader.path(), reader.header().set())?;
        reader
            .check_set(set.name(), set.digest())
            .at(reader.path())?;
        Self::new(reader, set)
    }

    /// Reads the first record of an `.hct` file and checks it against `set`.
    pub(crate) fn new(reader: Input<'r>, set: Set) -> Result<Self> {
        let file = Self::framed(reader, set, 0)?;
        check_meta(&file)?;
        file.check_cut(file.set.blocks_per_record(file.meta.layout))?;
        Ok(file)
    }

    /// Reads the first record of a file with `others` records beyond those of every file.
    pub(crate) fn framed(mut reader: Input<'r>, set: Set, others: u64) -> Result<Self> {
        let path: Arc<Path> = reader.path().into();
        let records = reader.header().records().saturating_sub(others);
        let version = reader.header().version();
        let parts = version > 1;
        let meta = reader
            .next_record(TAG_META, MAX_META_BYTES)
            .and_then(|body| Meta::decode(&body, records, parts))
            .and_then(|mut meta| {
                if parts {
                    let table = reader.next_record(TAG_PARTS, MAX_PARTS_BYTES)?;
                    meta.decode_parts(&table, version > 2)?;
                }
                Ok(meta)
            });
        let meta = meta.at(&path)?;
        Ok(Self {
            reader,
            path,
            set,
            meta,
        })
    }

    /// Describes the message.
    #[must_use]
    pub fn meta(&self) -> &Meta {
        &self.meta
    }

    /// Their parameter set.
    #[must_use]
    pub fn set(&self) -> &Set {
        &self.set
    }

    /// Identifies the secret key that decrypts them.
    #[must_use]
    pub fn key_id(&self) -> KeyId {
        self.reader.header().key_id()
    }

    /// Length of the whole file, as its header states.
    pub(crate) fn file_bytes(&self) -> u64 {
        self.reader.header().file_bytes()
    }

    /// Their file or other origin, as in errors.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Refuses ciphertexts of another set or secret key.
    pub(crate) fn check(&self, set: &Set, key: KeyId) -> Result<()> {
        set.check_own(&self.reader, key)
    }

    /// Refuses batches of another size.
    pub(crate) fn check_cut(&self, expected: u64) -> Result<()> {
        let found = self.meta.split.blocks_per_batch;
        if found == expected {
            return Ok(());
        }
        let error = FieldError::new("blocks per batch", found, expected);
        Err(Error::content(&self.path, error.into()))
    }

    /// A record beyond those of every file.
    pub(crate) fn record<T>(
        &mut self,
        tag: u16,
        most: u64,
        decode: impl FnOnce(&[u8]) -> Result<T, WireError>,
    ) -> Result<T> {
        let body = self.reader.next_record(tag, most);
        body.and_then(|body| decode(&body)).at(&self.path)
    }
}

impl<'r> IntoIterator for Ciphertexts<'r> {
    type Item = Result<Batch>;
    type IntoIter = Batches<'r>;

    fn into_iter(self) -> Batches<'r> {
        Batches {
            reader: Some(self.reader),
            path: self.path,
            set: self.set,
            meta: self.meta,
            next: 0,
            steps: None,
            pool: Arc::default(),
        }
    }
}

/// The batches of [`Ciphertexts`] in order. After the last one the rest of the file is read: an iterator that ends
/// without an error has verified the whole file.
pub struct Batches<'r> {
    /// `None` at the end, and after an error.
    reader: Option<Input<'r>>,
    /// Shared by all batches; started by the first one that needs it.
    pool: Arc<OnceLock<Pool>>,
    path: Arc<Path>,
    set: Set,
    meta: Meta,
    next: u64,
    steps: Option<Vec<Step>>,
}

homaes_wire::debug_fields!(Batches<'_>, path, next);

impl Batches<'_> {
    /// Describes the message.
    #[must_use]
    pub fn meta(&self) -> &Meta {
        &self.meta
    }

    /// The steps of AES, once the whole file was verified: seconds averaged over the batches, the worst quality of any.
    /// Empty for an empty message.
    #[must_use]
    pub fn steps(&self) -> Option<&[Step]> {
        self.steps.as_deref()
    }

    pub(crate) fn next_batch(&mut self) -> Result<Option<Batch>> {
        self.next_of(|set, shape| {
            let lengths = set.params().batch_lengths(shape);
            lengths.into_iter().fold(0, u64::max)
        })
    }

    /// The next batch, of at most `bytes(set, shape)`; `None` at the end.
    pub(crate) fn next_of(
        &mut self,
        bytes: impl FnOnce(&Set, Shape) -> u64,
    ) -> Result<Option<Batch>> {
        // put back unless something is wrong
        let Some(mut reader) = self.reader.take() else {
            return Ok(None);
        };
        let index = self.next;
        if index == self.meta.split.batches() {
            let steps = reader
                .next_record(TAG_STEPS, self.meta.steps_bytes())
                .and_then(|body| self.meta.decode_steps(&body))
                .and_then(|steps| reader.finish().map(|()| steps));
            self.steps = Some(steps.at(&self.path)?);
            return Ok(None);
        }
        let shape = self.meta.shape(index);
        let read = reader.next_indexed(TAG_BATCH, bytes(&self.set, shape));
        let body = read.and_then(|(found, body)| match found == index {
            true => Ok(body),
            false => Err(malformed("batch number", "batches in order")),
        });
        let batch = Batch {
            body: body.at(&self.path)?,
            index,
            shape,
            key_id: reader.header().key_id(),
            set: self.set.clone(),
            path: self.path.clone(),
            pool: self.pool.clone(),
        };
        self.next += 1;
        self.reader = Some(reader);
        Ok(Some(batch))
    }

    /// For callers at the end of the file.
    pub(crate) fn into_parts(self) -> (Meta, Vec<Step>) {
        (self.meta, self.steps.unwrap_or_default())
    }
}

impl Iterator for Batches<'_> {
    type Item = Result<Batch>;

    fn next(&mut self) -> Option<Result<Batch>> {
        self.next_batch().transpose()
    }
}

impl std::iter::FusedIterator for Batches<'_> {}

/// The ciphertexts of a batch.
pub struct Batch {
    index: u64,
    shape: Shape,
    body: Vec<u8>,
    key_id: KeyId,
    set: Set,
    path: Arc<Path>,
    pool: Arc<OnceLock<Pool>>,
}

homaes_wire::debug_fields!(Batch, index, shape);

impl Batch {
    /// Its number, from 0.
    #[must_use]
    pub fn index(&self) -> u64 {
        self.index
    }

    /// Its parameter set.
    #[must_use]
    pub fn set(&self) -> &Set {
        &self.set
    }

    /// Identifies the secret key that decrypts it.
    #[must_use]
    pub fn key_id(&self) -> KeyId {
        self.key_id
    }

    /// The layout of bytes in the ciphertexts.
    #[must_use]
    pub fn layout(&self) -> Layout {
        self.shape.layout
    }

    /// Level of the ciphertexts, at least 1: one more than the multiplications left, if the scheme has levels.
    #[must_use]
    pub fn level(&self) -> usize {
        self.shape.level
    }

    /// AES blocks of the message in it.
    #[must_use]
    pub fn blocks(&self) -> usize {
        self.shape.blocks
    }

    /// Its record, in the scheme's encoding (`docs/FORMAT.md`).
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.body
    }

    /// The ciphertexts in the type of their scheme's crate, to compute with: a `homaes_bgv::State`, a
    /// `homaes_tfhe::State`, a `homaes_ntru::State<_>`, a `homaes_dghv::State`. They belong to the key in the file's
    /// header, whatever they state.
    ///
    /// # Errors
    /// `ErrorKind::Argument` if they are of another scheme; [`Error::Content`] if the record cannot be read.
    pub fn state<S: Any>(&self) -> Result<S> {
        let state = self.read().map_err(|source| self.wrong(source))?;
        match state.downcast() {
            Ok(state) => Ok(*state),
            Err(_) => Err(other_scheme(self.set.name(), type_name::<S>()).at(&*self.path)),
        }
    }

    pub(crate) fn read(&self) -> Result<Box<dyn Any>, SchemeError> {
        let params = self.set.params();
        let (state, _) = params.read_batch(self.key_id, self.shape, &self.body)?;
        // for schemes that do not check the length, which give better errors
        let (found, expected) = (self.body.len() as u64, params.batch_bytes(self.shape));
        match params.batch_lengths(self.shape).contains(&found) {
            true => Ok(state),
            false => Err(FieldError::new("bytes of a batch", found, expected).into()),
        }
    }

    /// How far its ciphertexts are from failure, by their own statement. Needs no secret.
    ///
    /// # Errors
    /// The fault of the ciphertexts.
    pub fn quality(&self) -> Result<Quality> {
        let params = self.set.params();
        let read = || Ok(params.read_batch(self.key_id, self.shape, &self.body)?.1);
        self.pool()
            .install(read)
            .map_err(|source| self.wrong(source))
    }

    pub(crate) fn pool(&self) -> &Pool {
        self.pool.get_or_init(|| Pool::new(0))
    }

    pub(crate) fn shape(&self) -> Shape {
        self.shape
    }

    pub(crate) fn wrong(&self, source: SchemeError) -> Error {
        let part = format!("batch {}", self.index);
        Error::part_of(Some(&self.path), Some(part), source)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }
}

/// Checks the first record against the set, because later records are read by it.
fn check_meta(file: &Ciphertexts<'_>) -> Result<()> {
    let (set, layout, level) = (&file.set, file.meta.layout, file.meta.level);
    let (offered, top) = (set.layouts(), set.params().top_level());
    let error: SchemeError = match offered.contains(&layout) {
        false => {
            let set = set.name();
            let mismatch = Mismatch::NoLayout {
                layout,
                set,
                offered,
            };
            mismatch.into()
        }
        true if level > top => FieldError::new("level", level as u64, top as u64).into(),
        true => return Ok(()),
    };
    Err(error).at(&file.path)
}

struct SourceReader<S> {
    source: S,
    at: u64,
}

impl<S: Source> Read for SourceReader<S> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let left = self.source.bytes().saturating_sub(self.at);
        let len = left.min(into.len() as u64);
        self.source.read_at(self.at, &mut into[..len as usize])?;
        self.at += len;
        Ok(len as usize)
    }
}
