//! BGV modulo 2 over Z[X]/Φ_m (Gentry, Halevi, Smart 2012, "GHS12") and byte-sliced AES on it.
#![forbid(unsafe_code)]

mod card;
mod ciphertext;
mod codec;
mod encrypt;
mod error;
mod evaluate;
mod keys;
mod keyswitch;
mod linear;
mod meter;
pub mod noise;
mod params;
mod poly;
pub mod quality;
pub mod sets;
mod sliced;
pub mod stability;
mod views;
mod wrapped;

pub use ciphertext::{Ciphertext, Product};
pub use codec::{batch_bytes, decode_batch, encode_batch};
pub use encrypt::Decrypted;
pub use error::{Error, Result};
pub use evaluate::Evaluator;
pub use keys::{EvalKey, PublicKey, SecretKey};
pub use meter::MeterReading;
pub use params::{Chain, ParamSet, Params, ParamsError};
pub use sliced::{SlicedAes, State};
pub use views::BgvBytes;
pub use wrapped::WrappedKey;

#[cfg(test)]
mod tests;
