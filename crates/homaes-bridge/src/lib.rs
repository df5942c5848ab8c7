//! From BGV slots to LWE ciphertexts of TFHE, or RLWE ciphertexts for CKKS, without bootstrapping.
//!
//! A BGV ciphertext decrypts as c0 + c1·s = ν modulo Q. Every integer linear functional λ on polynomials satisfies
//! λ(c0) + λ(c1·s) = λ(ν), and the slots of ν are such functionals modulo t. So reading a slot needs no homomorphic
//! change of basis: it yields an LWE ciphertext under the coefficients of s, or, after a switch to a subring, under an
//! LWE key of a sixteenth of the dimension.
//!
//! ```text
//! BGV: bytes in slots
//!  │  Evaluator::bit_planes        bits modulo 2
//!  │  Evaluator::bit_pairs         or b_0 + 2·b_1 modulo 32, by four squarings
//!  │  Lifting::lift                or the byte modulo 2^8 or 2^11
//!  ▼
//! lifted ciphertexts, t = 2, 32, 2^8 or 2^11
//!  │  SlotsToLwe::switched         to one prime of 47 bits and to the subring, whose key is the LWE key
//!  ▼
//! under the LWE key
//!  │  SlotsToLwe::read             weights of the slot times the ciphertext, sixteen rows summed, one small transform
//!  ▼
//! LWE ciphertexts of the number over t on the torus
//!  │  SlotsToLwe::rlwe             of bytes: packed by automorphisms, a coefficient each
//!  ▼
//! RLWE ciphertexts in degree n/16
//! ```
//!
//! Bits over 2 are states of the TFHE sets on bits. Pairs over 32 are blocks of the crate `tfhe`: two message bits, two
//! carry bits, one padding bit. With the feature `tfhe-rs` they form `tfhe::FheUint8` values. Bytes are for CKKS: its
//! libraries bootstrap such ciphertexts into slots, under a key that their user makes from the *link key*.
//!
//! # Noise
//!
//! At full size the noise of a block has standard deviation 2^-16.9 of the torus (see `noise.rs`). A bootstrap of
//! `tfhe` leaves 2^-14.9. Bytes modulo 2^11 have 2^-18.8, 0.0045 of a unit.
//!
//! # Security
//!
//! The bridge key is a set of ring-LWE samples in degree n/16 = 2048, with a binary secret, a modulus q near 2^47 and
//! errors of standard deviation 3.2. It encrypts the BGV secret s under the LWE key z, and z also underlies the
//! target's own keys. This is a chain s → z → …, circular only where z encrypts itself, as in every bootstrapping key.
//! The bits of z serve in two rings, Z\[ζ_3855\] here and Z\[X\]/(X^N + 1) there: no reduction covers this, and we know
//! of no attack that uses it.
#![forbid(unsafe_code)]

mod codec;
mod error;
#[cfg(feature = "tfhe-rs")]
mod fheuint8;
mod fit;
mod fitness;
mod key;
mod noise;
mod numbers;
mod slots_to_lwe;
mod state;
mod target;
mod weights;

pub use codec::MOST_OTHER_BYTES;
pub use error::{Error, Result};
pub use fitness::Fitness;
pub use key::{BridgeKey, check_link};
pub use numbers::{Numbers, bytes_level};
pub use slots_to_lwe::{ReadingNoise, SlotsToLwe};
pub use state::{Crossed, decode_lwes, place, record_bytes, rlwe_bytes};
pub use target::{Other, Target};

#[cfg(test)]
mod tests;
