//! BGV modulo 2 over Z\[X\]/Φ_m, and AES on it: packed, byte-sliced and bit-sliced.
//!
//! Follows Gentry, Halevi, Smart, *Homomorphic Evaluation of the AES Circuit* (CRYPTO 2012, eprint 2012/099; "GHS12"),
//! with the ring, the chain of moduli and the fused round described in [`sets`], [`Aes`] and the modules below.
//!
//! # From the paper to the code
//!
//! | GHS12 | here |
//! |---|---|
//! | A = Z\[X\]/Φ_m, §2 | [`homaes_math::Ring`], m a product of Fermat primes |
//! | double-CRT, §2.3 | `Poly`: one evaluation-form limb per prime |
//! | slots, plaintext algebra, §2.4 | [`homaes_math::slots`] |
//! | levels q_0 < … < q_{L-1}, §2.1 | [`Params`]: three moduli per AES round (bits: four) |
//! | SwitchKey with special modulus, §3.1 | `keyswitch`, with digits; on one page `tests/reference.rs` |
//! | Scale in evaluation form, §3.2 | `homaes_rns::ModSwitch`, which may also add primes |
//! | noise estimate ν, §2.2, §3.3 | [`noise::Noise`] in every ciphertext; [`Evaluator`] switches by a bound that holds for any circuit |
//! | randomised ±1 lifts, §3.4 | [`Lift::Signs`]; not the default: 0/1 coefficients of the normal basis are smaller |
//! | three-way products, appendix A | [`Evaluator::three_way`] |
//! | packed AES, §4.1 | [`Aes`] with `aes::packed`, placed by `aes::placement` |
//! | byte-sliced, bit-sliced AES, §4.2 | [`Aes`] with `aes::sliced`, `aes::bits` |
//! | SubBytes as x^254, four products at depth 3, §4 | `Evaluator::power_127`, x·σ(y) unrelinearised |
//! | affine map as linearised polynomial, §4 | `linear::LinearLayer`, folded into the keys |
//!
//! | symbol | identifier |
//! |---|---|
//! | m, n = φ(m) | [`ParamSet::m`], `ring.n()` |
//! | s, h | [`SecretKey`], [`ParamSet::weight`] |
//! | Q_ℓ, P | [`Params::log2_modulus`], `Chain::special` |
//! | σ, σ^k: X -> X^(2^k) | `frobenius(k)` |
//! | ρ, D | [`noise::NoiseModel::rho_log2`], see [`noise`] |
//!
//! # Departures
//!
//! - The secret has fixed weight 256, 384 or 640, not 64; errors are sampled in the normal basis.
//! - Modulus switches exchange primes: a level's tail is replaced, not only shortened, so most of the modulus consists
//!   of primes of the size at which the transform is fastest.
//! - Products are taken against a Frobenius image before any key switching.
//! - Noise is budgeted in the mean square, and the resulting failure probability is bounded for each key
//!   (`noise::runaway`, [`quality`]) instead of assuming every embedding at its maximum.
//!
//! # Example
//!
//! ```
//! use homaes_aes::{Layout, RoundKeys};
//! use homaes_bgv::{Aes, EvalKey, Params, SecretKey, WrappedKey, WrapOptions, sets};
//! use rand_core::SeedableRng;
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! // a fixed seed for the example; a real program seeds from the operating system
//! let mut rng = rand_chacha::ChaCha20Rng::from_seed([1; 32]);
//! let params = Params::new(&sets::TOY_255)?; // no security
//! let secret = SecretKey::generate(&params, &mut rng)?;
//! let eval = EvalKey::generate(&secret, &mut rng);
//! let keys = RoundKeys::expand(&[7; 16])?;
//! let wrapped = WrappedKey::encrypt(&secret, &keys, WrapOptions::default(), &mut rng)?;
//!
//! // the server: public blocks in, encrypted AES of them out
//! let aes = Aes::new(&eval, &wrapped, Layout::Sliced)?;
//! let state = aes.evaluate(&[[0; 16]])?;
//!
//! let out = secret.decrypt_blocks(&state)?;
//! assert_eq!(out.blocks[0], homaes_aes::clear::encrypt_block([0; 16], &keys));
//! # Ok(())
//! # }
//! ```
#![forbid(unsafe_code)]

mod aes;
mod card;
mod chain;
mod ciphertext;
mod circuit;
mod codec;
pub mod device;
mod encrypt;
mod error;
mod keys;
mod keyswitch;
mod leave;
mod linear;
pub mod noise;
mod params;
pub mod quality;
mod row_constant;
pub mod scan;
mod scheme;
pub mod sets;
mod subring;

pub use aes::state::State;
pub use aes::wrapped::{WrapOptions, WrappedKey, WrappedKeyFile};
pub use aes::{Aes, OnGpu};
pub use ciphertext::{Ciphertext, Product, Summary};
pub use circuit::{
    Axis, ByteLift, ByteOrder, Descent, Evaluator, Integers, LIFT_LEVEL, Lift, LiftNoise, Lifted,
    Lifting, Wide,
};
pub use codec::{Addend, Pair, batch_bytes, decode_batch, encode_batch, encode_value};
pub use error::{Error, Result};
pub use homaes_scheme::Decrypted;
pub use homaes_scheme::Reading;
pub use homaes_scheme::Records;
pub use keys::{EvalKey, EvalKeyFile, PublicKey, SecretKey};
pub use noise::bound::{KEY_PEAK, worst_key_switch_spread};
pub use params::{Chain, Cipher, OneDigit, ParamSet, Params, ParamsError, Steps};
pub use scheme::SCHEME;

#[cfg(test)]
mod tests;
