//! AES on encrypted base-16 digits, by tree-based functional bootstrapping: the method of Trama, Clet, Boudguiga and
//! Sirdey (2023), after Guimarães, Borin and Aranha (TCHES 2021) and Carpov, Izabachène and Mollimard (CT-RSA 2019).
//!
//! A byte is two digits; a digit d is an LWE ciphertext of d/32 under the flattened GLWE key. The sixteen values take
//! half of the torus because blind rotation is negacyclic. A function f of two digits x, y takes two steps:
//!
//! ```text
//! x ─ key switch ─ blind rotation ─► all functions of x ─ packing ─► test polynomial whose block y is f(x, y)
//!                  one for all f                                       │
//! y ─ key switch ─────────────────────────────────── blind rotation ◄──┘ ─► f(x, y)
//! ```
//!
//! All functions of x share the first rotation: a *multi-value bootstrap*. A byte look-up with K tables takes 1 + 2 K
//! rotations, with K = 3 encrypting (S, 2S, 3S) and K = 4 decrypting. XOR of two digits takes 2.
//!
//! | the paper (a poster) | here |
//! |---|---|
//! | a table for each factor of the linear layer | the same; all share one multi-value bootstrap |
//! | XOR with a round key: 2 rotations | 1: test polynomials of the key's digits are made once per key |
//! | AddRoundKey 0: XOR | none: the public block permutes the tables of round 1 |
//! | packing by the functional key switch, for every table | ring packing by automorphisms, once for all tables |
//! | torus of 32 bits, switching keys for every multiple of a digit | 64 bits, digits times keys |
//!
//! A block of AES-128 takes 2944 rotations encrypting and 3376 decrypting; without sharing it would take 3488 and 3776.

pub(crate) mod aes;
pub(crate) mod engine;
pub(crate) mod expand;
pub(crate) mod linear;
pub(crate) mod noise;
pub(crate) mod params;
pub(crate) mod table;
