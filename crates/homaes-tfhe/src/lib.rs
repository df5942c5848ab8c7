//! TFHE with circuit bootstrapping, and AES on encrypted bits and base-16 digits.
//!
//! The parameter set selects one of two methods:
//!
//! - **bits** (`tfhe/p64`, `tfhe/p128`, `tfhe/p64-blocks`): 128 LWE ciphertexts per block. XOR is addition. SubBytes
//!   of a block takes 128 circuit bootstraps, one per bit, and CMux trees over public tables. A block takes seconds.
//! - **nibble** (`tfhe/nibble…`): Trama, Clet, Boudguiga, Sirdey, *A Homomorphic AES Evaluation in Less than 30 Seconds
//!   by Means of TFHE* (2023; "TCBS23"). Two base-16 digits per byte, tree-based functional bootstrapping.
//!
//! Both run AES-128/192/256 in either direction. They take all round keys, or the AES key alone, which the server then
//! expands under encryption. Results have the noise of a few operations after a bootstrap, so programs can compute on
//! them without limit.
//!
//! # Encodings
//!
//! q = 2^64; a word x is the torus element x/2^64. Secrets are bits: an LWE key of n bits for blind rotation
//! ([`LweKey`]), and a GLWE key of k polynomials of N bits. Flattened, it is the LWE key of states. A bit is
//! encoded as bit · 2^63, a base-16 digit as digit · 2^59. [`State`] documents the order of ciphertexts.
//!
//! # SubBytes of one bit (bits)
//!
//! ```text
//!  state: LWE, k N ──► key switch ──► LWE, n ──► blind rotation ──► GLWE: bit·g_1 … bit·g_l in l coefficients
//!    ▲                 ring of degree d          two key bits a step            │
//!    │                                                                          ▼  packed trace
//!    │  linear layer: sum of 4      CMux tree         scheme switch ◄── l GLWE ciphertexts of bit·g_j
//!    └── + round key ◄── GLWE of 32 bits ◄── GGSW of the bit ◄─┘
//! ```
//!
//! | step | module | literature |
//! |---|---|---|
//! | LWE and GLWE ciphertexts, sample extraction | `ciphertext` | CGGI20 §3, §4 |
//! | polynomials, automorphisms; key parts and rows | `ring`, `parts`, `rows` | CGGI20 |
//! | keys of a set and steps that both methods share | `bootstrap`, `multiples` | |
//! | key switch in a ring | `switching` | GLWE key switch, masks embedded as polynomials |
//! | blind rotation, one or two key bits or a block per step | `rotation`, on one page `tests/reference.rs`, [`homaes_math::Fourier`] | see below |
//! | several values from one rotation | `bits::engine` | Chillotti, Ligier, Orfila, Tap 2021, PBSmanyLUT |
//! | mean compensation | `rotation`, `switching` (`centre`) | de Ruijter, D'Anvers, Verbauwhede 2025 |
//! | packing and trace by automorphisms | `bootstrap`, `packing`, `bits::engine` (`trace`) | Chen, Dai, Kim, Song 2021 |
//! | circuit bootstrap by trace and scheme switch | `bits::engine` (`ggsw`) | CGGI20 §6; Wang et al. 2024 |
//! | CMux tree, vertical packing | `bits::engine` (`descend`) | CGGI20 §5 |
//! | AES rounds, work shared by blocks and threads | `bits::aes`, `distinct`, `flow` | |
//! | AES key schedule | `bits::expand` | FIPS-197 §5.2 |
//! | noise, failure probability | [`noise`] | |
//!
//! CGGI20: Chillotti, Gama, Georgieva, Izabachène 2020. Wang et al.: Wang, Wen, Li, Lu, Wei, Liu, Wang 2024. Blind
//! rotation by two bits: Zhou et al. 2018, Bourse et al. 2018; by a block: Lee, Min, Seo, Song 2023.
//!
//! # Example
//!
//! ```
//! use homaes_aes::RoundKeys;
//! use homaes_tfhe::{Aes, EvalKey, Params, SecretKey, WrappedKey, WrapOptions, sets};
//! use rand_core::SeedableRng;
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! // a fixed seed for the example; a real program seeds from the operating system
//! let mut rng = rand_chacha::ChaCha20Rng::from_seed([1; 32]);
//! let params = Params::new(&sets::TOY)?; // no security
//! let secret = SecretKey::generate(&params, &mut rng)?;
//! let eval = EvalKey::generate(&secret, &mut rng);
//! let keys = RoundKeys::expand(&[7; 16])?;
//! let wrapped = WrappedKey::encrypt(&secret, &keys, WrapOptions::default(), &mut rng)?;
//!
//! // the server: expands the key under encryption, then evaluates AES on public blocks
//! let aes = Aes::new(&eval, &wrapped)?;
//! let state = aes.evaluate(&[[0; 16]])?;
//!
//! let out = secret.decrypt_blocks(&state)?;
//! assert_eq!(out.blocks[0], homaes_aes::clear::encrypt_block([0; 16], &keys));
//! # Ok(())
//! # }
//! ```
#![forbid(unsafe_code)]

mod aes;
mod bits;
mod bootstrap;
mod card;
mod ciphertext;
mod codec;
mod distinct;
mod error;
mod flow;
#[cfg(feature = "tfhe-rs")]
pub mod interop;
mod keys;
mod meter;
mod multiples;
pub mod nibble;
pub mod noise;
mod packing;
mod params;
mod parts;
mod programs;
mod ring;
mod rotation;
mod rows;
#[cfg(test)]
mod sampling;
mod scheme;
mod secret;
mod set;
pub mod sets;
mod state;
mod switching;
mod wrapped;

pub use aes::Aes;
pub use codec::{batch_bytes, decode_batch, encode_batch};
pub use error::{Error, Result};
pub use homaes_scheme::Decrypted;
pub use homaes_scheme::Reading;
pub use homaes_scheme::{Expansion, Records};
pub use keys::{EvalKey, EvalKeyFile, SecretKey};
pub use packing::PackingKey;
pub use params::Params;
pub use scheme::SCHEME;
pub use set::{BitsSet, Gadget, LweKey, NibbleSet, ParamSet, ParamsError, Variant};
pub use state::State;
pub use wrapped::{WrapOptions, WrappedKey};

#[cfg(test)]
mod tests;
