//! What a scheme is to this crate: seven traits, all of whose implementations stand in the file of the scheme.
//!
//! | trait | of | |
//! |---|---|---|
//! | [`SchemeEntry`] | a unit type | name, parameter sets, words |
//! | [`Params`] | the scheme's parameters | sizes, layouts, making and reading keys |
//! | [`SecretKey`] | its secret key | wrapping, decrypting, the file of the evaluation key |
//! | [`EvalKey`] | its evaluation key | a circuit together with a wrapped key |
//! | [`WrappedKey`] | its wrapped key | what it holds |
//! | [`Circuit`] | AES under both keys | runs batches |
//! | [`ValueCodec`] | the scheme's parameters, if programs compute with them | files of what they computed |
//!
//! They are implemented for the types of the scheme's crate, and used as trait objects: a key knows its scheme by itself. The names that
//! implementations need are imported here for all of them.
//!
//! The order of calls, and what is checked before each by the rest of this crate:
//!
//! | call | by | before |
//! |---|---|---|
//! | [`Params::generate`], [`SecretKey::eval_file`] | `keygen` | nothing: the file is written record by record |
//! | [`Params::read_secret`], [`read_eval`](Params::read_eval), [`read_wrapped`](Params::read_wrapped), [`open_eval`](Params::open_eval), [`open_wrapped`](Params::open_wrapped) | all that open keys | kind, set and digest, and for wrapped keys the key id |
//! | [`SecretKey::wrap_file`] | `wrap-key` | layouts are offered; levels and expansion are not looked at |
//! | [`EvalKey::circuit`] | `transcipher`, once | set and key id; the wrapped key holds the layout |
//! | [`Circuit::run`] | `transcipher`, for every batch | direction, and at most a full batch |
//! | [`Params::read_batch`] | programs that compute, and `decrypt`, for every batch | set, layout, level at most the top; the length of the record is looked at after `read_batch` |
//! | [`SecretKey::decrypt`] | `decrypt`, after that | set, key id |

#[allow(unused_imports, reason = "not every scheme needs every name")]
mod names {
    pub(in crate::scheme) use crate::scheme::devices::Gpus;
    pub(in crate::scheme) use crate::{ParamsError, Quality, SchemeError, WrapOptions};
    pub(in crate::scheme) use homaes_aes::{Block, Direction, KeySize, Layout, RoundKeys};
    pub(in crate::scheme) use homaes_scheme::{
        Cancel, Decrypted, Expansion, FieldError, Reading, Record, Records, SetCard, SetId,
        SetName, WrappedKeyInfo, mismatch, read,
    };
    pub(in crate::scheme) use homaes_wire::{
        Contents, Decoder, Encoder, Header, KeyId, Kind, WireError,
    };
    pub(in crate::scheme) use rand_chacha::ChaCha20Rng;
    pub(in crate::scheme) use rand_core::Rng;
    pub(in crate::scheme) use rayon::prelude::*;
    pub(in crate::scheme) use std::any::Any;
    pub(in crate::scheme) use std::sync::Arc;
}
pub(super) use names::*;

use crate::Gpu;
use homaes_wire::Reader;
use std::fs::File;
use std::io::Read;

pub(super) type Result<T, E = SchemeError> = core::result::Result<T, E>;

/// A key file, open.
pub(crate) type Input<'r> = Reader<Box<dyn Read + Send + 'r>>;

/// What the noise figures of a scheme are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NoiseTerms {
    /// Name of [`Quality::noise_bits`].
    pub noise: &'static str,
    /// What that and [`Quality::capacity_bits`] are, in sentences.
    pub meaning: &'static str,
}

/// A way in which a scheme evaluates AES, which has a default set of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Variant {
    /// The word on the command line.
    pub name: &'static str,
    /// What it is.
    pub about: &'static str,
    /// The set to take for data that matter.
    pub default_set: &'static str,
}

/// What a scheme's speed is measured by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ReferenceOp {
    /// One transform of the crate `tfhe-ntt`, of 32768 points.
    Transform,
    /// One key switch and bootstrapping of the crate `tfhe`.
    Bootstrap,
    /// One product of two integers of 16 million bits by the crate `malachite-nz`.
    Product,
    /// Nothing.
    None,
}

/// A scheme.
pub(crate) trait SchemeEntry: Sync {
    /// The first part of its sets' names.
    fn name(&self) -> &'static str;

    /// The set to take for data that matter.
    fn default_set(&self) -> &'static str {
        self.sets()[0]
    }

    /// Its ways of evaluating AES, if there is more than one.
    fn variants(&self) -> &'static [Variant] {
        &[]
    }

    /// The names of its sets, at least one, secure ones first.
    fn sets(&self) -> Vec<&'static str>;

    /// The parameters of a set, if there is one of this name.
    fn params(&self, name: &str) -> Option<Result<Arc<dyn Params>, ParamsError>>;

    /// What its noise figures are.
    fn noise_terms(&self) -> NoiseTerms {
        NoiseTerms {
            noise: "noise",
            meaning: "noise: log2 of its size; noise left: log2 of how much larger it may be.",
        }
    }

    /// What its speed is measured by.
    fn reference_op(&self) -> ReferenceOp {
        ReferenceOp::None
    }

    /// Multiplications that ciphertexts of `level` allow; `None` if nothing runs out.
    fn multiplications_left(&self, _level: usize) -> Option<usize> {
        None
    }

    /// Batches to evaluate side by side with `threads` workers.
    fn batches_in_flight(&self, _threads: usize) -> usize {
        1
    }

    /// Blocks that show what it can do in seconds; `None` for a full batch.
    fn blocks_to_show(&self) -> Option<u64> {
        None
    }

    /// Memory that a key takes, at least, whose file has `file_bytes`.
    fn memory_of_key(&self, _: Kind, file_bytes: u64) -> u64 {
        file_bytes
    }
}

/// What must be known of a batch to read its record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Shape {
    pub(crate) layout: Layout,
    pub(crate) level: usize,
    /// AES blocks of the message in it, at most a full batch.
    pub(crate) blocks: usize,
}

/// Checked parameters.
pub(crate) trait Params: Any + Send + Sync {
    fn card(&self) -> SetCard;
    fn digest(&self) -> &[u8; 32];

    /// The layouts it offers, the fastest for full batches first.
    fn layouts(&self) -> &'static [Layout] {
        &[Layout::Sliced]
    }

    /// Most AES blocks evaluated together.
    fn blocks_per_batch(&self, layout: Layout) -> u64;

    /// Most multiplications that AES can leave on its output; `None` if the set carries no such AES.
    fn levels_left(&self, layout: Layout, _: KeySize) -> Option<usize> {
        self.layouts().contains(&layout).then_some(0)
    }

    /// Highest level of a ciphertext.
    fn top_level(&self) -> usize {
        1
    }

    /// Length of the record of a batch.
    fn batch_bytes(&self, shape: Shape) -> u64;

    /// The state in a batch's record, whose length is [`batch_bytes`](Self::batch_bytes), under the secret key called `key`.
    fn read_batch(&self, key: KeyId, shape: Shape, body: &[u8]) -> Result<Box<dyn Any>>;

    /// How far a batch is from failing, by its record.
    fn batch_quality(&self, shape: Shape, body: &[u8]) -> Result<Quality>;

    /// How files have what programs compute, if there is a form for it.
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

    fn read_secret(self: Arc<Self>, file: Input<'_>) -> Result<Box<dyn SecretKey>>;
    fn read_eval(self: Arc<Self>, file: Input<'_>) -> Result<Box<dyn EvalKey>>;
    fn read_wrapped(self: Arc<Self>, file: Input<'_>) -> Result<Box<dyn WrappedKey>>;

    /// The evaluation key in a file. By default all of it is read now; a scheme whose keys are larger than memory reads it through once
    /// and leaves the records in the file until they are used ([`homaes_wire::Stored`]).
    fn open_eval(self: Arc<Self>, file: Reader<File>) -> Result<Box<dyn EvalKey>> {
        self.read_eval(file.boxed())
    }

    /// The wrapped key in a file, likewise.
    fn open_wrapped(self: Arc<Self>, file: Reader<File>) -> Result<Box<dyn WrappedKey>> {
        self.read_wrapped(file.boxed())
    }

    /// What a wrapped key holds: of a large one by its first record and its length.
    fn describe_wrapped(self: Arc<Self>, file: Input<'_>) -> Result<WrappedKeyInfo> {
        Ok(self.read_wrapped(file)?.describe())
    }
}

/// What programs compute under a set, as files have it: each ciphertext holds bytes.
pub(crate) trait ValueCodec: Sync {
    /// The name of the form.
    fn form(&self) -> &'static str;

    /// Longest record of a ciphertext.
    fn most_bytes(&self) -> u64;

    /// The record of a ciphertext under the secret key called `key`; `None` if it is of another type than programs compute with.
    fn encode(&self, key: KeyId, ciphertext: &dyn Any) -> Option<Result<Vec<u8>>>;

    /// Checks a record; the number of bytes that its ciphertext holds, at least one.
    fn held(&self, body: &[u8]) -> Result<usize>;

    /// These bytes, from a record that was checked, and the bits between noise and failure.
    ///
    /// # Panics
    /// If the key is of another scheme.
    fn decrypt(&self, key: &dyn SecretKey, body: &[u8]) -> Result<(Vec<u8>, f64)>;
}

/// The three functions of [`Params`] that read keys, from functions of the parameters and the file.
macro_rules! readers {
    ($secret:expr, $eval:expr, $wrapped:expr) => {
        fn read_secret(self: Arc<Self>, file: Input<'_>) -> Result<Box<dyn SecretKey>> {
            Ok(Box::new($secret(&self, file)?))
        }

        fn read_eval(self: Arc<Self>, file: Input<'_>) -> Result<Box<dyn EvalKey>> {
            Ok(Box::new($eval(&self, file)?))
        }

        fn read_wrapped(self: Arc<Self>, file: Input<'_>) -> Result<Box<dyn WrappedKey>> {
            Ok(Box::new($wrapped(&self, file)?))
        }
    };
}
pub(super) use readers;

/// The client's key.
pub(crate) trait SecretKey: Records + Any + Send + Sync {
    /// Decrypts a state: one that was read, or that [`Circuit::run`] shows.
    ///
    /// # Panics
    /// If it is of another scheme.
    fn decrypt(&self, state: &dyn Any) -> Result<Decrypted>;

    /// The noise measured in a state that [`Circuit::run`] shows, as log2 of what [`Quality::noise_bits`] estimates: of the worst ciphertext or of all of
    /// them together. For figures; it takes longer than decrypting.
    ///
    /// # Panics
    /// If it is of another scheme.
    fn measure_noise(&self, state: &dyn Any) -> Result<f64>;

    /// The file of the evaluation key that `seed` and this key determine. Its first record is `seed` itself, 32 bytes: key generation that goes
    /// on reads it there.
    fn eval_file(&self, seed: [u8; 32]) -> Result<Box<dyn Records + '_>>;

    /// The file of an AES key under this one; the layouts of `wrapping` are those of the set that are wanted, each once.
    ///
    /// # Errors
    /// If the set cannot leave `wrapping.levels_left` ([`SchemeError::NoLevels`] where it has none), or `wrapping.expansion` is not there
    /// ([`SchemeError::ClientExpands`]): nothing that was asked for is left out silently.
    fn wrap_file(
        &self,
        keys: &RoundKeys,
        wrapping: &WrapOptions,
        rng: &mut ChaCha20Rng,
    ) -> Result<Box<dyn WrappedFile + '_>>;
}

/// The server's key.
pub(crate) trait EvalKey: Any + Send + Sync {
    /// AES under both keys, with the current thread pool and these GPUs; `None` if the wrapped key is of another
    /// scheme, an error if it is of another set or secret key ([`mismatch::check`]).
    fn circuit<'k>(
        &'k self,
        wrapped: &'k dyn WrappedKey,
        layout: Layout,
        gpus: Gpus<'k>,
        cancel: &Cancel,
    ) -> Option<Result<Box<dyn Circuit + 'k>>>;
}

/// The file of a wrapped key.
pub(crate) trait WrappedFile: Records {
    fn describe(&self) -> WrappedKeyInfo;
}

/// An AES key under FHE.
pub(crate) trait WrappedKey: WrappedFile + Any + Send + Sync {}

impl WrapOptions {
    /// Refuses levels, which the output of a set without levels does not have.
    pub(super) fn without_levels(&self, set: &'static str) -> Result<()> {
        match self.levels_left {
            None | Some(0) => Ok(()),
            Some(wanted) => Err(SchemeError::NoLevels { wanted, set }),
        }
    }

    /// Refuses key expansion by the server, which a set without a circuit for the key schedule does not have.
    pub(super) fn client_expands(&self, set: &'static str) -> Result<()> {
        match self.expansion {
            None | Some(Expansion::Client) => Ok(()),
            Some(Expansion::Server) => Err(SchemeError::ClientExpands { set }),
        }
    }
}

/// The bodies of a batch's records in order, made when they are asked for, with the thread pool of who asks.
pub(crate) type BatchRecords<'c> = Box<dyn Iterator<Item = Result<Vec<u8>>> + Send + 'c>;

/// The result of a batch.
pub(crate) struct Finished<'c> {
    pub(crate) records: BatchRecords<'c>,
    pub(crate) quality: Quality,
    /// What made it, unless the processor did.
    pub(crate) gpu: Option<Arc<Gpu>>,
}

impl Finished<'_> {
    /// One record.
    pub(crate) fn one(record: Vec<u8>, quality: Quality) -> Self {
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
pub(crate) trait Circuit: Send + Sync {
    /// AES of public blocks, at most a full batch, in the direction of the wrapped key, plus `mask`, which is empty or as
    /// long; `step` is called after each round, 0 for the key addition, with the scheme's own form of the state. Where
    /// a GPU fails and the processor takes over, rounds begin again.
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

    /// What its kernels have counted so far.
    fn meter(&self) -> Reading {
        Reading::default()
    }
}
