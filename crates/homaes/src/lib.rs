//! The library behind the command `homaes` turns AES ciphertexts into FHE ciphertexts.
//!
//! A client encrypts data with AES, small and fast, and sends its AES key once, under FHE. A server that holds the
//! AES ciphertext, the wrapped key and an evaluation key evaluates AES under encryption. The results are FHE
//! ciphertexts of the data; the server sees neither key nor data.
//!
//! ```
//! use homaes::{AesKey, AesFile, KeySet, Mode, Output, Set, Transcipher, WrappedKey, WrapOptions};
//! # let folder = tempfile::tempdir()?;
//! # let at = |name: &str| folder.path().join(name);
//! # std::fs::write(at("c"), [0x3a, 0x81, 0xd0])?;
//! // Client, once. This set is a toy without security: for data that matter take "bgv/aes128".
//! let set = Set::named("bgv/toy-255")?;
//! let keys = KeySet::create(&set, at("keys"))?; // secret.hsk, eval.hek
//! let aes_key = AesKey::from_bytes(&[7; 16])?;
//! let wrapping = WrapOptions::default(); // for CTR and GCM; ECB and CBC need the other direction
//! let wrapped = WrappedKey::create(&keys.secret, &aes_key, &wrapping, at("key.hwk"), false)?;
//!
//! // Server: "c" is a file encrypted with AES-128-CTR.
//! let part = AesFile::open(at("c"), Mode::Ctr { iv: [0; 16] })?;
//! let report = Transcipher::new(&keys.eval, &wrapped)?.run(part, Output::create(at("o.hct"), false)?)?;
//! assert_eq!((report.bytes, report.blocks), (3, 1));
//!
//! // Client.
//! keys.secret.decrypt(at("o.hct"), Output::private(at("plain"), false)?)?;
//! assert_eq!(std::fs::read(at("plain"))?.len(), 3);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! | folder | content |
//! |---|---|
//! | `run` | runs: the pipeline (start reading at `run/evaluate.rs`), plans, shards, resumed runs |
//! | `programs` | programs on results and the files of their values: totals of columns, the search for public patterns |
//! | `decrypt` | from results to bytes, with the checks of GCM tag, expectations and replay log |
//! | `bridge` | from BGV to TFHE: the bridge key, files of LWE ciphertexts, values of the crate `tfhe` |
//! | `keys` | key files, folders of keys, passphrases and the AES key; the operating system's randomness |
//! | `results` | files of results and their readers; the measurements of a run |
//! | `input` | validated input, from files or memory, one part or many, cut into batches |
//! | `machine` | threads, memory and disk space |
//! | `scheme` | the schemes and their parameter sets; processor and GPUs |
//! | `output` | files that appear whole or not at all |
//! | `error` | errors and their kinds |
//!
//! Each folder imports only from folders below it in this table; `inspect` imports from all.
//!
//! A failed run leaves no files unless it is resumable. A program that is about to exit on a signal calls [`interrupt`]
//! first.

#![forbid(unsafe_code)]

#[cfg(doctest)]
mod book;
mod bridge;
mod decrypt;
mod error;
mod input;
mod inspect;
mod keys;
mod machine;
mod output;
mod programs;
mod results;
mod run;
mod scheme;

pub use bridge::{BridgeKey, Lattigo, LinkKey, Packed, export_lattigo, export_npz, is_secret_key};
#[cfg(feature = "tfhe-rs")]
pub use bridge::{Exported, export_fheuint8, read_client_key, read_fheuint8};
pub use decrypt::{DecryptOptions, DecryptReport, Expect, Tag, describe};
pub use error::{
    Detail, Error, ErrorKind, Foreign, ParamsError, Refusal, Result, SchemeError, printable,
};
pub use homaes_aes::{Block, Counter, Direction, KeySize, Layout, Mode};
pub use homaes_bridge::Fitness;
pub use homaes_scheme::{
    Cancel, Estimate, Expansion, Gpu, NoiseTerms, Published, Purpose, Quality, ReferenceOp,
    SecretWeight, SetCard, Variant, WrapOptions, WrappedKeyInfo, log2_p_any,
};
pub use homaes_wire::{KeyId, Kind, hex, unhex};
pub use input::{
    AesFile, AesInput, FileSource, MAX_AAD_BYTES, Memory, PartKey, PartMeta, Reopened, Source,
    Split,
};
pub use inspect::{End, Inspection, Messages, inspect};
pub use keys::{
    AesKey, AesKeyList, BRIDGE_KEY_FILE, EVAL_KEY_FILE, EvalKey, Fits, FolderInspection, KdfCost,
    KeyFile, KeyFolder, KeySet, KeyStep, KeyTick, LINK_KEY_FILE, MAX_AES_KEY_FILE_BYTES,
    MAX_PASSPHRASE_BYTES, Pair, Passphrase, SECRET_KEY_FILE, SecretKey, WrappedKey, inspect_folder,
    is_exposed,
};
pub use machine::{Pool, check_disk, check_memory, overwrite_stack};
pub use output::{Buffer, Output, interrupt, is_unfinished_name, refuse_own_input};
pub use programs::{Column, Computed, Condition, Numbers, Scan, Test, Total, Totals, ValueMeta};
pub use results::{
    Batch, Batches, Ciphertexts, Measured, Meta, Progress, Report, Share, Stages, Step,
};
pub use run::{
    Fetch, Kept, Merge, Plan, Resume, RunId, Shard, ShardName, Transcipher, done_path,
    journal_path, part_path, unfinished,
};
pub use scheme::{DEVICE_VARIABLE, Devices, Scheme, Set, gpus};
#[cfg(feature = "tfhe-rs")]
pub use tfhe::ClientKey;
