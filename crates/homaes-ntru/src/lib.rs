//! NTRU after López-Alt, Tromer and Vaikuntanathan, and bit-sliced AES on it. **No parameter set of this crate is
//! secure.**
//!
//! Follows Doröz, Hu, Sunar, *Homomorphic AES Evaluation using NTRU* (eprint 2014/039; "DHS14").
//! Lattice reduction finds the secret keys of its parameters in polynomial time ([`homaes_scheme::ntru`]); the crate is
//! for reading beside the paper and for measuring.
//!
//! # From the paper to the code
//!
//! | DHS14 | here |
//! |---|---|
//! | R = Z_q\[X\]/Φ_m, batching, §4 | [`homaes_math::Ring`], [`homaes_math::slots`]: m = 65535, n = 32768, 2048 slots |
//! | KeyGen: f = 2f' + 1, h = 2g/f, §2 | [`SecretKey::generate`] |
//! | ζ_τ = h s_τ + 2e_τ + 2^τ f, §2 | [`EvalKeyFile`]; other gadgets in `rns` |
//! | Encrypt: h s + 2e + b | [`PublicKey::encrypt`], [`SecretKey::encrypt`] |
//! | Decrypt: c f mod 2 | [`SecretKey::decrypt`], of products [`SecretKey::decrypt_product`] under f² |
//! | Eval, Relinearize, §2 | [`Bits`], merged with the modulus switch: `rns::relinearize`, and `prime_power` for the paper's form, on one page `tests/reference.rs` |
//! | one key for all levels, as q_{i+1} divides q_i, §4 | `prime_power`; `rns::chain` |
//! | noise, §5 | [`noise`] for these variants, `tests/paper.rs` for the paper's equations and tables |
//! | AES, §6 | [`Aes`], [`homaes_scheme::bits`] |
//!
//! | variant | moduli | relinearisation | set |
//! |---|---|---|---|
//! | paper | q = p^41, p of 31 bits, coefficients of many words | digits of one bit or of 16 | `ntru/paper`, `ntru/paper16` |
//! | residues | 41 primes of 31 bits on average, one dropped a level | a digit for every prime, one special prime | `ntru/rns` |
//! | hybrid | two primes a round and a tail | three digits, special modulus of 308 bits | `ntru/hybrid` |
//!
//! # Departures
//!
//! - Small polynomials are sampled and rounded in the normal basis, ζ times the powerful basis of Z\[X\]/Φ_m, not in
//!   powers of X: products of small polynomials are sixteen times smaller there for m = 65535.
//! - Digits of the residue sets are residues, centred. One special prime keeps their noise down: without it, 31 bits a
//!   level leave so little that noise runs away in the third round.
//! - Linear layers act on products before they are relinearised, so that an S-box takes 18 relinearisations wherever
//!   its outputs go.
//! - Small polynomials are centred binomial of variance 1, bounded by B = 2 as in the paper's Figure 1.
//!
//! # Example
//!
//! ```
//! use homaes_aes::BitEval;
//! use homaes_rns::Meter;
//! use homaes_ntru::{Bits, EvalKey, Params, Rns, SecretKey, sets};
//! use rand_core::SeedableRng;
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! // a fixed seed for the example; a real program seeds from the operating system
//! let mut rng = rand_chacha::ChaCha20Rng::from_seed([1; 32]);
//! let params = Params::<Rns>::new(&sets::TOY_255)?; // no security
//! let secret = SecretKey::generate(&params, &mut rng)?;
//! let eval = EvalKey::generate(&secret, &mut rng)?;
//! let x = secret.encrypt(&[true, true, false], &mut rng)?;
//! let y = secret.public().encrypt(&[true, false, true], &mut rng)?;
//!
//! // the server
//! let meter = Meter::default();
//! let bits = Bits::new(&eval, &meter);
//! let product = bits.relinearize(bits.and(&x, &y)?)?;
//!
//! let (found, _) = secret.decrypt(&product)?;
//! assert_eq!(found[..3], [1, 0, 0]);
//! # Ok(())
//! # }
//! ```

#![forbid(unsafe_code)]

mod arithmetic;
mod bits;
pub mod bound;
mod card;
mod ciphertext;
mod codec;
mod error;
mod keys;
pub mod noise;
mod params;
mod prime_power;
mod rns;
mod scheme;
pub mod sets;

pub use arithmetic::{Arithmetic, Secret};
pub use bits::Bits;
pub use ciphertext::{Ciphertext, Encrypted, Product};
pub use error::{Error, ParamsError, Result};
pub use keys::{EvalKey, EvalKeyFile, PublicKey, SecretKey};
pub use params::Params;
pub use prime_power::PrimePower;
pub use rns::Rns;
pub use scheme::SCHEME;

/// AES under one wrapped key.
pub type Aes<'k, A> = homaes_scheme::bits::Aes<'k, Params<A>>;
/// The state of a batch of blocks.
pub type State<A> = homaes_scheme::bits::State<Params<A>>;
/// Encrypted round keys.
pub type WrappedKey<A> = homaes_scheme::bits::WrappedKey<Params<A>>;
/// The file of encrypted round keys.
pub type WrappedKeyFile<'s, A> = homaes_scheme::bits::WrappedKeyFile<'s, Params<A>>;

#[cfg(test)]
mod tests;
