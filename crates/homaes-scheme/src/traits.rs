//! The interface of a scheme to the library: its crate implements these traits, and `homaes` uses trait objects.
//!
//! A [`SchemeEntry`] names a scheme, its sets and its noise figures.
//!
//! | trait | of | |
//! |---|---|---|
//! | [`Params`] | the scheme's parameters | sizes, layouts, making and reading keys |
//! | [`SecretKey`] | its secret key | wrapping, decrypting, the file of the evaluation key |
//! | [`EvalKey`] | its evaluation key | a circuit together with a wrapped key |
//! | [`WrappedKey`] | its wrapped key | its contents |
//! | [`Circuit`] | AES under both keys | runs batches |
//! | [`ValueCodec`] | the scheme's parameters, if programs compute with them | files of computed values |
//!
//! The order of calls, and what `homaes` checks before each:
//!
//! | call | by | before |
//! |---|---|---|
//! | [`Params::generate`], [`SecretKey::eval_file`] | `keygen` | an evaluation key can be for these layouts |
//! | `read_…` and `open_…` of [`Params`] | all commands that open keys | kind, set and digest, and for wrapped keys the key id |
//! | [`SecretKey::wrap_file`] | `wrap-key` | layouts are offered; levels and expansion are not checked |
//! | [`EvalKey::circuit`] | `transcipher`, once | set and key id; both keys hold the layout |
//! | [`Circuit::run`] | `transcipher`, for every batch | direction, and at most a full batch |
//! | [`Params::read_batch`] | programs that compute, `decrypt` | set, layout, level; afterwards the length of the record |
//! | [`SecretKey::decrypt`] | `decrypt`, after that | set, key id |

use crate::{
    Cancel, Decrypted, Gpu, Gpus, NoiseTerms, ParamsError, Quality, Reading, Records, ReferenceOp,
    SchemeError, SetCard, Variant, WrapOptions, WrappedKeyInfo,
};
use core::any::Any;
use homaes_aes::{Block, Direction, KeySize, Layout, RoundKeys};
use homaes_wire::{KeyId, Kind, Reader};
use rand_chacha::ChaCha20Rng;
use std::fs::File;
use std::io::Read;
use std::sync::Arc;

/// Result of a scheme's operations.
pub type Result<T, E = SchemeError> = core::result::Result<T, E>;

/// A key file, open.
pub type Input<'r> = Reader<Box<dyn Read + Send + 'r>>;

/// The scheme's own type behind a state or key that the library hands back.
///
/// # Panics
/// If it is of another scheme.
#[must_use]
pub fn own<T: Any>(object: &dyn Any) -> &T {
    object.downcast_ref().expect("an object of this scheme")
}

/// The parameters of a set, if there is one of this name.
pub type ParamsOf = fn(&str) -> Option<Result<Arc<dyn Params>, ParamsError>>;

/// A scheme, as the list of schemes has it.
#[derive(Debug)]
pub struct SchemeEntry {
    /// The first part of its sets' names.
    pub name: &'static str,
    /// The names of its sets, at least one, secure ones first; the first is the one to take for data that matter.
    pub sets: fn() -> Vec<&'static str>,
    /// The parameters of a set, if there is one of this name.
    pub params: ParamsOf,
    /// Its ways of evaluating AES, if there is more than one.
    pub variants: &'static [Variant],
    /// Words for its noise figures.
    pub noise_terms: NoiseTerms,
    /// The operation that its speed is compared with.
    pub reference_op: ReferenceOp,
    /// Whether each multiplication takes a level; otherwise nothing runs out.
    pub has_levels: bool,
    /// Batches to evaluate side by side with so many threads.
    pub batches_in_flight: fn(usize) -> usize,
    /// Blocks that show what it can do in seconds; `None` for a full batch.
    pub blocks_to_show: Option<u64>,
    /// Memory that a key of a kind takes, at least, whose file has so many bytes.
    pub memory_of_key: fn(Kind, u64) -> u64,
}

impl SchemeEntry {
    /// A scheme without levels, which has one batch in flight and keys as large as their files.
    #[must_use]
    pub const fn new(
        name: &'static str,
        sets: fn() -> Vec<&'static str>,
        params: ParamsOf,
    ) -> Self {
        Self {
            name,
            sets,
            params,
            variants: &[],
            noise_terms: NoiseTerms {
                noise: "noise",
                meaning: "noise: log2 of its size; noise left: log2 of how much larger it may be.",
            },
            reference_op: ReferenceOp::None,
            has_levels: false,
            batches_in_flight: |_| 1,
            blocks_to_show: None,
            memory_of_key: |_, file_bytes| file_bytes,
        }
    }
}

/// The facts about a batch that reading its record needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shape {
    /// Layout of the state.
    pub layout: Layout,
    /// Level of its ciphertexts.
    pub level: usize,
    /// AES blocks of the message in it, at most a full batch.
    pub blocks: usize,
}

/// Checked parameters.
pub trait Params: Any + Send + Sync {
    /// The card of the set.
    fn card(&self) -> SetCard;

    /// Digest of the numbers that define the set.
    fn digest(&self) -> &[u8; 32];

    /// The layouts it offers, the fastest for full batches first.
    fn layouts(&self) -> &'static [Layout] {
        &[Layout::Sliced]
    }

    /// The evaluation keys that can be made: the layouts of each, in the order of [`layouts`](Self::layouts), and the
    /// length of its file. That for all layouts comes first.
    fn eval_keys(&self) -> Vec<(Vec<Layout>, u64)> {
        vec![(self.layouts().to_vec(), self.card().eval_key_bytes)]
    }

    /// The evaluation keys that files of `version` hold: the same, or others in older ones.
    fn eval_keys_of(&self, _version: u16) -> Vec<(Vec<Layout>, u64)> {
        self.eval_keys()
    }

    /// Most AES blocks evaluated together.
    fn blocks_per_batch(&self, layout: Layout) -> u64;

    /// AES blocks of one record of results. A batch may give several records.
    fn blocks_per_record(&self, layout: Layout) -> u64 {
        self.blocks_per_batch(layout)
    }

    /// Most multiplications that AES can leave on its output; `None` if the set carries no such AES.
    fn levels_left(&self, layout: Layout, _: KeySize) -> Option<usize> {
        self.layouts().contains(&layout).then_some(0)
    }

    /// Highest level of a ciphertext.
    fn top_level(&self) -> usize {
        1
    }

    /// Length of the record of a batch in new files.
    fn batch_bytes(&self, shape: Shape) -> u64;

    /// All lengths of such records, also in older files and of results from elsewhere.
    fn batch_lengths(&self, shape: Shape) -> Vec<u64> {
        vec![self.batch_bytes(shape)]
    }

    /// The state in a batch's record under the secret key called `key`, and how far it is from failing. The record has
    /// one of [`batch_lengths`](Self::batch_lengths).
    fn read_batch(&self, key: KeyId, shape: Shape, body: &[u8]) -> Result<(Box<dyn Any>, Quality)>;

    /// The record of the same batch at level 1, for decryption alone; `None` if the scheme's records cannot shrink.
    fn finish_batch(&self, _: KeyId, _: Shape, _: &[u8]) -> Option<Result<Vec<u8>>> {
        None
    }

    /// The file format of values that programs compute, if there is one.
    fn values(&self) -> Option<&dyn ValueCodec> {
        None
    }

    /// Memory of an evaluation beside the keys, at least.
    fn memory_of_run(&self, _: Layout) -> u64 {
        0
    }

    /// Memory of a GPU that an evaluation takes, some batches at once; `None` if it is not done on GPUs.
    fn gpu_memory(&self, _: Layout) -> Option<u64> {
        None
    }

    /// A new secret key. Where that takes long, `tick` is called with what is done and with all of it.
    fn generate(
        self: Arc<Self>,
        rng: &mut ChaCha20Rng,
        tick: &mut (dyn FnMut(u64, u64) + Send),
    ) -> Result<Box<dyn SecretKey>>;

    /// The secret key in a file.
    fn read_secret(self: Arc<Self>, file: Input<'_>) -> Result<Box<dyn SecretKey>>;

    /// The evaluation key in a file.
    fn read_eval(self: Arc<Self>, file: Input<'_>) -> Result<Box<dyn EvalKey>>;

    /// The wrapped key in a file.
    fn read_wrapped(self: Arc<Self>, file: Input<'_>) -> Result<Box<dyn WrappedKey>>;

    /// The evaluation key in a file. By default all of it is read now; a scheme whose keys are larger than memory reads
    /// it through once and leaves the records in the file until they are used ([`homaes_wire::Stored`]).
    fn open_eval(self: Arc<Self>, file: Reader<File>) -> Result<Box<dyn EvalKey>> {
        self.read_eval(file.boxed())
    }

    /// The wrapped key in a file, likewise.
    fn open_wrapped(self: Arc<Self>, file: Reader<File>) -> Result<Box<dyn WrappedKey>> {
        self.read_wrapped(file.boxed())
    }

    /// The contents of a wrapped key; a scheme with large keys reads only the first record and the length.
    fn describe_wrapped(self: Arc<Self>, file: Input<'_>) -> Result<WrappedKeyInfo> {
        Ok(self.read_wrapped(file)?.describe())
    }
}

/// The file format of values that programs compute: each ciphertext holds bytes.
pub trait ValueCodec: Sync {
    /// The name of the form.
    fn form(&self) -> &'static str;

    /// Longest record of a ciphertext.
    fn most_bytes(&self) -> u64;

    /// The record of a ciphertext under the secret key called `key`; `None` if it is of another type than programs
    /// compute with.
    fn encode(&self, key: KeyId, ciphertext: &dyn Any) -> Option<Result<Vec<u8>>>;

    /// Checks a record; the number of bytes that its ciphertext holds, at least one.
    fn held(&self, body: &[u8]) -> Result<usize>;

    /// These bytes, from a record that was checked, and the bits between noise and failure.
    ///
    /// # Panics
    /// If the key is of another scheme.
    fn decrypt(&self, key: &dyn SecretKey, body: &[u8]) -> Result<(Vec<u8>, f64)>;
}

/// The client's key.
pub trait SecretKey: Records + Any + Send + Sync {
    /// Decrypts a state: one that was read, or that [`Circuit::run`] shows.
    ///
    /// # Panics
    /// If it is of another scheme.
    fn decrypt(&self, state: &dyn Any) -> Result<Decrypted>;

    /// The noise measured in a state that [`Circuit::run`] shows, as log2 of what [`Quality::noise_bits`] estimates: of
    /// the worst ciphertext or of all of them together. For figures; it takes longer than decrypting.
    ///
    /// # Panics
    /// If it is of another scheme.
    fn measure_noise(&self, state: &dyn Any) -> Result<f64>;

    /// The file of the evaluation key that `seed` and this key determine, for the layouts of one of
    /// [`Params::eval_keys`]. Its first record is `seed` itself, 32 bytes: key generation that goes on reads it there.
    fn eval_file(&self, seed: [u8; 32], layouts: &[Layout]) -> Result<Box<dyn Records + '_>>;

    /// The file of an AES key under this one; the layouts of `wrapping` are those of the set that are wanted, each
    /// once.
    ///
    /// # Errors
    /// If the set cannot leave `wrapping.levels_left` ([`SchemeError::NoLevels`] where it has none), or
    /// `wrapping.expansion` is not there ([`SchemeError::ClientExpands`]): nothing that was asked for is left out
    /// silently.
    fn wrap_file(
        &self,
        keys: &RoundKeys,
        wrapping: &WrapOptions,
        rng: &mut ChaCha20Rng,
    ) -> Result<Box<dyn WrappedFile + '_>>;

    /// The file of many AES keys with different names: block b of a batch is encrypted under key b modulo their number.
    /// For the layout sliced and the direction that encrypts. The names are not secret.
    ///
    /// # Errors
    /// [`SchemeError::OneKey`] if the scheme has no such files; if there are more keys than a batch has blocks, a key is
    /// not of 128 bits, or the set has too few levels.
    fn wrap_many(
        &self,
        _keys: &[(String, &RoundKeys)],
        _levels_left: Option<usize>,
        _rng: &mut ChaCha20Rng,
    ) -> Result<Box<dyn WrappedFile + '_>> {
        Err(SchemeError::OneKey)
    }
}

/// The server's key.
pub trait EvalKey: Any + Send + Sync {
    /// Checks that it has the keys for a layout that its set offers.
    ///
    /// # Errors
    /// [`Mismatch::NotInEvalKey`](crate::Mismatch::NotInEvalKey).
    fn check_layout(&self, _layout: Layout) -> Result<()> {
        Ok(())
    }

    /// AES under both keys, with the current thread pool and these GPUs; `None` if the wrapped key is of another
    /// scheme, an error if it is of another set or secret key ([`mismatch::check`](crate::mismatch::check)).
    fn circuit<'k>(
        &'k self,
        wrapped: &'k dyn WrappedKey,
        layout: Layout,
        gpus: Gpus<'k>,
        cancel: &Cancel,
    ) -> Option<Result<Box<dyn Circuit + 'k>>>;
}

/// The file of a wrapped key.
pub trait WrappedFile: Records {
    /// Its contents.
    fn describe(&self) -> WrappedKeyInfo;

    /// The key for one direction, if the file holds both.
    fn of_direction(&self, _: Direction) -> Option<&dyn WrappedKey> {
        None
    }
}

/// An AES key under FHE.
pub trait WrappedKey: WrappedFile + Any + Send + Sync {}

impl<K: WrappedFile + Any + Send + Sync> WrappedKey for K {}

/// The bodies of a batch's records in order, computed on demand with the caller's thread pool.
pub type BatchRecords<'c> = Box<dyn Iterator<Item = Result<Vec<u8>>> + Send + 'c>;

/// The result of a batch.
pub struct Finished<'c> {
    /// Its records.
    pub records: BatchRecords<'c>,
    /// How far it is from failing.
    pub quality: Quality,
    /// The GPU that computed it; `None` for the processor.
    pub gpu: Option<Arc<Gpu>>,
}

impl Finished<'_> {
    /// One record.
    pub fn one(record: Vec<u8>, quality: Quality) -> Self {
        let records = Box::new(std::iter::once(Ok(record)));
        let gpu = None;
        Self {
            records,
            quality,
            gpu,
        }
    }
}

/// AES under one wrapped key, in one layout.
pub trait Circuit: Send + Sync {
    /// AES of public blocks, at most a full batch, in the direction of the wrapped key, plus `mask`, which is empty or
    /// as long; `step` is called after each round, 0 for the key addition, with the scheme's own form of the state.
    /// If a GPU fails and the processor takes over, rounds begin again.
    fn run(
        &self,
        input: &[Block],
        mask: &[Block],
        cancel: &Cancel,
        step: &mut dyn FnMut(usize, Quality, &dyn Any),
    ) -> Result<Finished<'_>>;

    /// Batches to evaluate side by side on GPUs, as long as they do not fail; 0 if there are none.
    fn batches_on_gpus(&self) -> usize {
        0
    }

    /// The round keys in use as a wrapped key that needs no expansion, if the scheme has files of that form for it.
    fn round_keys(&self) -> Option<Box<dyn WrappedKey>> {
        None
    }

    /// The counts of its kernels so far.
    fn meter(&self) -> Reading {
        Reading::default()
    }
}
