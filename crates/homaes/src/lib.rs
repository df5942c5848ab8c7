//! AES ciphertexts in, FHE ciphertexts out: the library behind the command `homaes`.
//!
//! A client encrypts data with AES, which is small and fast, and its AES key once under FHE. A server that holds the AES
//! ciphertext, the wrapped key and an evaluation key turns them into FHE ciphertexts of the data without seeing key or
//! data: it runs AES under encryption.
//!
//! ```
//! use homaes::{AesKey, Part, KeySet, Mode, Output, Set, Transcipher, WrappedKey, Wrapping};
//! # let folder = tempfile::tempdir()?;
//! # let at = |name: &str| folder.path().join(name);
//! # std::fs::write(at("c"), [0x3a, 0x81, 0xd0])?;
//! // Client, once. This set is a toy without security: for data that matter take "bgv/aes128".
//! let set = Set::named("bgv/toy-255")?;
//! let keys = KeySet::create(&set, at("keys"), false)?; // secret.hsk, eval.hek
//! let aes_key = AesKey::from_bytes(&[7; 16])?;
//! let wrapping = Wrapping::default(); // for CTR and GCM; ECB and CBC need the other direction
//! let wrapped = WrappedKey::create(&keys.secret, &aes_key, &wrapping, at("key.hwk"), false)?;
//!
//! // Server: "c" is a file encrypted with AES-128-CTR.
//! let part = Part::open(at("c"), Mode::Ctr { iv: [0; 16] })?;
//! let report = Transcipher::new(&keys.eval, &wrapped)?.run(part, Output::create(at("o.hct"), false)?)?;
//! assert_eq!((report.bytes, report.blocks), (3, 1));
//!
//! // Client.
//! keys.secret.decrypt(at("o.hct"), Output::private(at("plain"), false)?)?;
//! assert_eq!(std::fs::read(at("plain"))?.len(), 3);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! | module | content |
//! |---|---|
//! | `evaluate` | the pipeline: the place to start reading |
//! | `source`, `message`, `split`, `batch` | validated input, of files or memory, one part or many, cut into batches |
//! | `scheme`, `scheme_error` | the schemes, a file each, and their parameter sets; what they refuse or find wrong |
//! | `keys`, `wrapping`, `random` | key files, what an AES key is wrapped for, passphrases and the AES key; the operating system's randomness |
//! | `transcipher`, `decrypt`, `inspect` | the verbs on files |
//! | `ciphertexts` | results, batch by batch, from wherever they come: what decryption, inspection and programs read |
//! | `computed` | files of what programs computed on results |
//! | `scan` | searching for public patterns |
//! | `devices` | the processor or GPUs |
//! | `plan`, `results`, `resume`, `shard` | what a run writes, known before it starts; runs that go on after a stop; batches evaluated apart |
//! | `bridge`, `values`, `export` | results that leave BGV for TFHE: the key, files of LWE ciphertexts, values of the crate `tfhe` |
//! | `gcm`, `expect`, `seen` | what is checked at decryption: the tag of a GCM message, what is expected of it, the replay log |
//! | `meta` | the records of an `.hct` file beside the ciphertexts |
//! | `output` | files that appear whole or not at all |
//! | `pool`, `memory` | as many threads as there can be; jobs that fit into memory |
//! | `quality`, `report`, `error` | how far ciphertexts are from failing; what a run measured; what went wrong, where, and the remedy |
//!
//! Nothing is left behind by a run that fails. A program that is about to exit on a signal calls [`interrupt`] first. What
//! a killed run leaves, [`remove_leftovers`] and [`KeyFolder::open`] find.

#![forbid(unsafe_code)]

mod batch;
#[cfg(doctest)]
mod book;
mod bridge;
mod ciphertexts;
mod computed;
mod counters;
mod decrypt;
mod devices;
mod disk;
mod error;
mod evaluate;
mod expect;
#[cfg(feature = "tfhe-rs")]
mod export;
mod foreign;
mod gcm;
mod inspect;
mod keys;
mod memory;
mod message;
mod meta;
mod output;
mod plan;
mod pool;
mod quality;
mod random;
mod report;
mod results;
mod resume;
mod scan;
mod scheme;
mod scheme_error;
mod seen;
mod shard;
mod source;
mod split;
mod transcipher;
mod values;
mod wrapping;

pub use bridge::{BridgeKey, is_secret_key};
pub use ciphertexts::{Batch, Batches, Ciphertexts};
pub use computed::{Computed, Numbers, ValueMeta};
pub use decrypt::{DecryptOptions, DecryptReport, Tag, describe};
pub use devices::{DEVICE_VARIABLE, Devices, Gpu, gpus};
pub use error::{Error, Result, printable};
pub use expect::Expect;
#[cfg(feature = "tfhe-rs")]
pub use export::{Exported, export_fheuint8, read_client_key, read_fheuint8};
pub use foreign::Foreign;
pub use homaes_aes::{Block, Counter, Direction, KeySize, Layout, Mode};
pub use homaes_bridge::Fitness;
pub use homaes_scheme::{
    Cancel, Estimate, Expansion, Published, Purpose, SecretWeight, SetCard, Wrapped, log2_p_any,
};
pub use homaes_wire::{KeyId, Kind, Temporary, claim, hex, unhex};
pub use inspect::{End, Inspection, Messages, inspect};
pub use keys::{
    AesKey, BRIDGE_KEY_FILE, EVAL_KEY_FILE, EvalKey, Fits, FolderInspection, KdfCost, KeyFile,
    KeyFolder, KeySet, KeyStep, KeyTick, MAX_AES_KEY_FILE_BYTES, MAX_PASSPHRASE_BYTES, Pair,
    Passphrase, Repair, SECRET_KEY_FILE, SecretKey, WrappedKey, inspect_folder, is_exposed,
};
pub use memory::{check_keys as check_memory, overwrite_stack};
pub use message::{Message, Part};
pub use meta::{MAX_AAD_BYTES, Meta, PartMeta};
pub use output::{
    Buffer, Output, REPLACED_KEY_FILE, interrupt, interrupt_without_memory, is_unfinished_name,
    refuse_own_input, remove_leftovers,
};
pub use plan::{Plan, RunId};
pub use pool::Pool;
pub use quality::Quality;
pub use report::{Measured, Progress, Report, Share, Stages, Step};
pub use resume::{Kept, Resume, done_path, journal_path, part_path, unfinished};
pub use scan::Scan;
pub use scheme::{NoiseTerms, Scheme, Set, Variant, Yardstick};
pub use scheme_error::{ParamsError, SchemeError};
pub use shard::{Fetch, Merge, Shard, ShardName};
pub use source::{FileSource, Memory, Reopened, Source};
pub use split::Split;
#[cfg(feature = "tfhe-rs")]
pub use tfhe::ClientKey;
pub use transcipher::Transcipher;
pub use wrapping::Wrapping;
