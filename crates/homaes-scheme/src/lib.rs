//! Common parts of the FHE schemes, besides AES itself and the container of files.
//!
//! | module | content |
//! |---|---|
//! | [`mod@file`] | a key as a list of records, each generated on its own |
//! | [`read`] | reading records back, with common errors |
//! | [`expansion`] | whether client or server runs the AES key schedule |
//! | [`KeyRecords`] | records of a key that are unpacked when they are used |
//! | [`cancel`] | ending a run from outside |
//! | [`Decrypted`] | the result of a decryption |
//! | [`WrappedKeyInfo`] | the contents of a wrapped key |
//! | [`meter`] | counts and times of an evaluation |
//! | [`failure`] | kinds of errors |
//! | [`Owner`] | the set and the key that ciphertexts belong to |
//! | [`mismatch`] | keys, ciphertexts and choices that do not go together |
//! | [`signs`] | random signs, which keep public plaintexts small |
//! | [`params`] | how a set describes itself: name, purpose, security, sizes |
//! | [`bits`] | the frame of schemes on bits |
//! | [`traits`] | the interface of a scheme to the library; [`SchemeError`] has its errors |
//!
//! `homaes-bgv`, `homaes-dghv`, `homaes-ntru` and `homaes-tfhe` are the users; `homaes` joins them into one pipeline.
#![forbid(unsafe_code)]

pub mod bits;
pub mod cancel;
mod decrypted;
mod error;
pub mod expansion;
pub mod failure;
pub mod file;
mod gpu;
mod key_records;
pub mod meter;
pub mod mismatch;
mod owner;
pub mod params;
mod quality;
pub mod read;
mod run_options;
pub mod signs;
mod terms;
pub mod traits;
mod wrap_options;
mod wrapped_key_info;

pub use cancel::{Cancel, Cancelled};
pub use decrypted::Decrypted;
pub use error::{ParamsError, SchemeError};
pub use expansion::Expansion;
pub use failure::{Detail, ErrorKind, Failure};
pub use file::{Record, Records, SetId};
pub use gpu::{BATCHES_ON_A_GPU, Gpu, Gpus, OnGpus, Started, Warn};
pub use key_records::{Check, KeyRecords, Load};
pub use meter::Reading;
pub use mismatch::Mismatch;
pub use owner::Owner;
pub use params::{
    DigestBuilder, Estimate, MAX_LOG2_P_FAIL, Published, Purpose, Ring, SecretWeight, SetCard,
    SetName, agcd, log2_p_any, lwe, ntru, rlwe,
};
pub use quality::Quality;
pub use read::FieldError;
pub use run_options::{Observe, RunOptions};
pub use terms::{NoiseTerms, ReferenceOp, Variant};
pub use wrap_options::WrapOptions;
pub use wrapped_key_info::{MAX_KEY_NAME_BYTES, WrappedKeyInfo};
