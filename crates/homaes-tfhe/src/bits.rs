//! AES on encrypted bits, by circuit bootstrapping.
//!
//! A bit is an LWE ciphertext of bit/2 under the flattened GLWE key, so XOR is addition. SubBytes of a byte:
//!
//! ```text
//! 8 LWE bits ─ key switch ─ blind rotation ─ trace ─ scheme switch ─► 8 GGSW bits ─ CMux tree ─► GLWE of the result
//!              LWE key n     2^many values    one ciphertext           of the byte    over the     24 or 32 bits
//!                            from one         per value                               tables S, 2S, 3S
//! ```
//!
//! The linear layer is a sum of rotated GLWE ciphertexts and costs almost nothing.

pub(crate) mod aes;
pub(crate) mod engine;
pub(crate) mod expand;
pub(crate) mod table;
