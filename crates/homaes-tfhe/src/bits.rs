//! AES on encrypted bits, by circuit bootstrapping.
//!
//! A bit is an LWE ciphertext of bit/2 under the flattened GLWE key, so exclusive or is addition. A byte goes through
//! SubBytes as
//!
//! ```text
//! 8 LWE bits ─ key switch ─ blind rotation ─ trace ─ scheme switch ─► 8 GGSW bits ─ CMux tree ─► GLWE of 24 or 32 result bits
//!              LWE key n     2^many values    one ciphertext           of the byte    over the tables S, 2S, 3S
//!                            from one         for each value
//! ```
//!
//! and the linear layer, a sum of rotated GLWE ciphertexts, costs nothing.

pub(crate) mod aes;
pub(crate) mod engine;
pub(crate) mod expand;
pub(crate) mod table;
