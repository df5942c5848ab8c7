//! Scale-invariant DGHV over the integers, and bit-sliced AES on it. **No parameter set of this crate is secure.**

#![forbid(unsafe_code)]

mod aes;
mod bits;
pub mod bound;
mod card;
mod ciphertext;
mod codec;
mod convert;
mod crt;
mod element;
mod error;
mod eval;
mod eval_key;
mod keys;
mod meter;
pub mod noise;
mod params;
mod prime;
mod public_key;
pub mod sets;
mod state;
mod stored;
mod wrapped;

pub use aes::Aes;
pub use bits::Bits;
pub use ciphertext::{Ciphertext, Decrypted, Product};
pub use codec::{batch_bytes, decode_batch, encode_batch};
pub use error::{Error, ParamsError, Result};
pub use eval::EvalKey;
pub use eval_key::EvalKeyFile;
pub use keys::SecretKey;
pub use meter::Meter;
pub use params::Params;
pub use public_key::PublicKey;
pub use state::State;
pub use wrapped::{WrappedKey, WrappedKeyFile};

#[cfg(test)]
mod tests;
