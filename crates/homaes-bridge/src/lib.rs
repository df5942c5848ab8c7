//! From BGV slots to LWE ciphertexts of TFHE, without bootstrapping.
//!
//! A BGV ciphertext decrypts as c0 + c1·s = ν modulo Q. For any integer linear functional λ on polynomials, λ(c0) + λ(c1·s) = λ(ν), and the slots of ν are such
//! functionals modulo t. So a slot is read without a homomorphic change of basis: what is read is an LWE ciphertext under the coefficients of s, or, after a switch
//! to a subring, under an LWE key of a sixteenth of the dimension.
//!
//! ```text
//! BGV: bytes in slots
//!  │  Evaluator::bit_planes        bits modulo 2              Evaluator::bit_pairs      b_0 + 2·b_1 modulo 32, by four squarings
//!  ▼
//! lifted ciphertexts, t = 2 or 32
//!  │  SlotsToLwe::switched         to one prime of 47 bits, and to the subring of degree n/16 whose key is the LWE key of the other side
//!  ▼
//! under the LWE key
//!  │  SlotsToLwe::read             weights of the slot times the ciphertext, sixteen rows summed, one transform of degree n/16
//!  ▼
//! LWE ciphertexts of the number over t on the torus
//! ```
//!
//! Bits over 2 are states of the sets `tfhe/p64` and `tfhe/p128`. Pairs over 32 are blocks of two bits as the crate `tfhe` has them, with two bits of carry and one
//! of padding: `tfhe::FheUint8` are made of them with the feature `tfhe-rs`.
//!
//! # Noise
//!
//! `noise.rs` derives what a reading has. At full size a block comes with a standard deviation of 2^-16.9 of the torus; a bootstrap of `tfhe` leaves 2^-14.9.
//!
//! # Security
//!
//! The bridge key is ring-LWE in degree n/16 = 2048 with a binary secret, modulus q = 2^47 and errors of standard deviation 3.2. It encrypts the BGV
//! secret s under the LWE key z, whose bits are also those of the other side's own keys: s → z → … is a chain, and a circle only where z is encrypted under itself, as in
//! every bootstrapping key. The same bits serve in two rings, Z\[ζ_3855\] here and Z\[X\]/(X^N + 1) there, which no reduction covers, nor any attack known to us uses.
#![forbid(unsafe_code)]

mod codec;
mod error;
#[cfg(feature = "tfhe-rs")]
mod fheuint8;
mod fit;
mod fitness;
mod key;
mod noise;
mod slots_to_lwe;
mod state;
mod target;
mod weights;

pub use codec::MOST_OTHER_BYTES;
pub use error::{Error, Result};
pub use fitness::Fitness;
pub use key::BridgeKey;
pub use slots_to_lwe::{Numbers, ReadingNoise, SlotsToLwe};
pub use state::{Crossed, decode_lwes, record_bytes};
pub use target::{Other, Target};

#[cfg(test)]
mod tests;
