//! Scale-invariant DGHV over the integers, and bit-sliced AES on it. **No parameter set of this crate is secure.**
//!
//! Follows Coron, Lepoint, Tibouchi, *Scale-Invariant Fully Homomorphic Encryption over the Integers* (PKC 2014;
//! "CLT14"). The sets are the instances of its Table 1, which lattice reduction breaks at 2^36 to 2^73 processor cycles
//! ([`homaes_scheme::agcd`]); the crate is for reading beside the paper and for measuring.
//!
//! # From the paper to the code
//!
//! | CLT14 | here |
//! |---|---|
//! | batch scheme, x0 = q0·Π p_j², §4 | [`SecretKey`]; the single-bit scheme of §3 is ℓ = 1, [`sets::SINGLE`] |
//! | type I and type II ciphertexts, §3.1 | [`Ciphertext`], [`Product`] |
//! | Encrypt, §3.3, subset sum of β-bit integers, §5 | [`PublicKey::encrypt`]; with the secret key [`SecretKey::encrypt`] |
//! | Decrypt | [`SecretKey::decrypt`] |
//! | Add, and 2c₁c₂ | [`Bits`] |
//! | Convert, §3.2; z_i and σ_i of special form, §5, §5.1 | `convert`, on one page `tests/reference.rs`; the key in `eval_key` |
//! | public-key compression, §5 | `element` |
//! | Lemma 1, and average noise | [`noise`]; through AES [`bound`] |
//! | Table 1 | [`paper`] |
//! | AES, §5.2 | [`Aes`], [`homaes_scheme::bits`] |
//!
//! Letters that the code adds: π = Π p_j²; D = δη, bits from one z_i to the next; η' and ω of [`sets::Digits`]. A
//! product of ciphertexts is of type II: it can be added to others, and is converted to type I before it is multiplied
//! or decrypted.
//!
//! # Departures
//!
//! - Conversion computes modulo 2^η' with η' < η and digits of hundreds of bits, with signs. The key and its
//!   distribution stay those of the paper for n = ⌈η'/ω⌉ digits. A conversion leaves more noise, 2^(ρ+ω), but each
//!   round adds fewer bits: Toy has 532, then 26 a round; with the paper's digits 137, then 46 a round. The key is six
//!   (Toy) to eight times (Medium) smaller. The sets `dghv/…-paper` have the paper's digits, ω = 64 without signs and
//!   η' = η.
//! - σ is x0·τ for a random real τ in [0, 1) with Θ·D + γ bits. So ⌊σ·2^(iD)⌋ modulo x0 is x0 times the fraction of
//!   τ·2^(iD), and the result of a conversion comes out modulo x0.
//! - Products are reduced modulo x0 before they are converted, and z has κ = γ + η' bits and a few limbs after the
//!   point, not 2γ + 2.
//! - q0 has prime factors of 1024 bits, not λ² (Definition 3).
//! - The order of indices: z_0 … z_(ℓ-1) are solved for, and exponents of σ begin at 0.
//! - Corrections have 2ηℓ + 128 bits. §5.1 says ηℓ, but residues modulo p_j² need 2η bits each; the rest hides π.
//! - A public key has enough encryptions of 0 for factors of [`Params::factor_bits`] bits. With the table's τ = Θ, the
//!   factors would have more bits than a prime.
//! - Linear layers act on type II ciphertexts, so that an S-box takes 18 conversions wherever its outputs go.
//!
//! # Example
//!
//! ```
//! use homaes_aes::BitEval;
//! use homaes_dghv::{Bits, EvalKey, Meter, Params, SecretKey, sets};
//! use rand_core::SeedableRng;
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! // a fixed seed for the example; a real program seeds from the operating system
//! let mut rng = rand_chacha::ChaCha20Rng::from_seed([1; 32]);
//! let params = Params::new(&sets::MICRO)?; // no security
//! let secret = SecretKey::generate(&params, &mut rng)?;
//! let eval = EvalKey::generate(&secret, &mut rng)?;
//! let x = secret.encrypt(&[true, true, false], &mut rng)?;
//! let y = secret.encrypt(&[true, false, true], &mut rng)?;
//!
//! // the server
//! let meter = Meter::default();
//! let bits = Bits::new(&eval, &meter);
//! let product = bits.relinearize(bits.and(&x, &y)?)?;
//!
//! assert_eq!(secret.decrypt(&product)?.bits[..], [1, 0, 0]);
//! # Ok(())
//! # }
//! ```

#![forbid(unsafe_code)]

mod bits;
pub mod bound;
mod card;
mod ciphertext;
mod codec;
mod convert;
mod crt;
mod draw;
mod element;
mod error;
mod eval;
mod eval_key;
mod keys;
mod meter;
pub mod noise;
pub mod paper;
mod params;
mod prime;
mod public_key;
mod rows;
mod scheme;
pub mod sets;

pub use bits::Bits;
pub use ciphertext::{Ciphertext, Decrypted, Product};
pub use error::{Error, ParamsError, Result};
pub use eval::EvalKey;
pub use eval_key::EvalKeyFile;
pub use keys::SecretKey;
pub use meter::Meter;
pub use params::Params;
pub use public_key::PublicKey;
pub use scheme::SCHEME;

/// AES under one wrapped key.
pub type Aes<'k> = homaes_scheme::bits::Aes<'k, Params>;
/// The state of a batch of blocks.
pub type State = homaes_scheme::bits::State<Params>;
/// Encrypted round keys.
pub type WrappedKey = homaes_scheme::bits::WrappedKey<Params>;
/// The file of encrypted round keys.
pub type WrappedKeyFile<'s> = homaes_scheme::bits::WrappedKeyFile<'s, Params>;

#[cfg(test)]
mod tests;
