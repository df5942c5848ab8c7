//! TFHE with circuit bootstrapping, and AES on encrypted bits and nibbles.
#![forbid(unsafe_code)]

mod aes;
mod bits;
mod card;
mod codec;
mod error;
mod keys;
mod meter;
pub mod noise;
mod params;
mod ring;
pub mod sets;
mod state;
mod wrapped;

pub use aes::Aes;
pub use codec::{batch_bytes, decode_batch, encode_batch};
pub use error::{Error, Result};
pub use keys::{EvalKey, SecretKey};
pub use meter::MeterReading;
pub use params::{BitsSet, Gadget, NibbleSet, ParamSet, Params, ParamsError, Variant};
pub use state::{Decrypted, State};
pub use wrapped::{Expansion, WrappedKey, Wrapping};

#[cfg(test)]
mod tests;
