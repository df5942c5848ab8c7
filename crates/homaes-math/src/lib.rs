//! Arithmetic of the schemes: rings Z\[X\]/Φ_m in double-CRT form for BGV and NTRU, the torus with its Fourier
//! transform for TFHE, large integers for DGHV.
//!
//! | object | module | representation | cost at n = 32768 |
//! |---|---|---|---|
//! | residue mod p < 2^48 | [`modulus`] | plain, or stored with factor 2^52 | 3 multiplications |
//! | ring, Galois group | [`ring`] | normal basis labelled by G | automorphism: a permutation |
//! | coefficients <-> values | [`transform`] | one word per coefficient or embedding | 30 butterfly levels |
//! | products, key inner products | [`kernel`] | limbs | two multiplications per product |
//! | key switching of a product | [`product`] | limbs | half a transform per digit, and the products |
//! | limbs of keys | [`key_limb`] | six bytes a word | – |
//! | limbs at rest, two residues per word | [`packed_limbs`] | packed | copies |
//! | residue systems | [`rns`] | one limb per prime | exact centred base conversion |
//! | F_2\[X\]/Φ_m ⊃ GF(2^8)^ℓ | [`slots`] | bits <-> bytes | 2.5 million products by constants of GF(2^8) |
//! | two plaintexts of bytes in one | [`joined`] | coefficients | copies |
//! | canonical embedding | [`embed`] | double precision | key and noise statistics |
//! | secrets, errors, uniform | [`sample`] | seeded ChaCha20 | – |
//! | negacyclic products on the torus | [`fourier`] | double precision | two transforms and a product |
//! | products of large integers | [`integer`] | lists of 64-bit words | three number-theoretic transforms per factor |
//! | integers of any length | [`natural`] | lists of 64-bit words | schoolbook |
//! | torus errors and secrets | [`torus`] | seeded ChaCha20 | – |
//!
//! Unsafe code is confined to the private module `simd` (vector kernels, each with a portable twin and an equality
//! test), [`aligned`] and `memcheck`, a tool of tests.
#![deny(unsafe_code)]

#[expect(unsafe_code, reason = "aligned allocation viewed as words")]
pub mod aligned;
pub mod embed;
mod float_lanes;
pub mod fourier;
pub mod integer;
pub mod joined;
pub mod kernel;
pub mod key_limb;
#[doc(hidden)]
#[cfg_attr(
    target_arch = "x86_64",
    expect(unsafe_code, reason = "valgrind is told by instructions")
)]
pub mod memcheck;
pub mod modulus;
pub mod natural;
pub mod packed_limbs;
pub mod prime;
pub mod product;
pub mod ring;
pub mod rns;
pub mod sample;
#[cfg_attr(
    any(target_arch = "x86_64", target_arch = "aarch64"),
    expect(unsafe_code, reason = "vector intrinsics")
)]
mod simd;
pub mod slots;
pub mod torus;
pub mod transform;

pub use aligned::{Reals, Words};
pub use fourier::Fourier;
pub use key_limb::KeyLimb;
pub use modulus::{Modulus, Shoup};
pub use ring::{GaloisMap, Ring};
pub use simd::{BACKEND_NAMES, BACKEND_VARIABLE, Backend, Vectors};
pub use transform::Transform;

#[cfg(test)]
mod tests;
