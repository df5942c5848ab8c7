//! NTRU after López-Alt, Tromer and Vaikuntanathan, and bit-sliced AES on it. **No parameter set of this crate is secure.**
//!
//! Follows Doröz, Hu, Sunar, *Homomorphic AES Evaluation Using NTRU* (eprint 2014/039; "DHS14").

#![forbid(unsafe_code)]

mod aes;
mod arithmetic;
mod bits;
mod card;
mod ciphertext;
mod codec;
mod error;
mod keys;
pub mod noise;
mod params;
mod rns;
pub mod sets;
mod wrapped;

pub use aes::{Aes, State};
pub use arithmetic::{Arithmetic, Power};
pub use bits::Bits;
pub use ciphertext::{Ciphertext, Product};
pub use codec::{batch_bytes, decode_batch, encode_batch};
pub use error::{Error, Result};
pub use keys::{EvalKey, EvalKeyFile, SecretKey};
pub use params::{Params, ParamsError};
pub use rns::Rns;
pub use wrapped::{WrappedKey, WrappedKeyFile};

#[cfg(test)]
mod tests;
