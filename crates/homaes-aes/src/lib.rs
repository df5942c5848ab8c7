//! AES in the clear, and as a circuit over encrypted bits, independent of any encryption scheme.
//!
//! # AES on one page
//!
//! A block is a 4 × 4 matrix of bytes, byte i in row i mod 4 and column i div 4; bytes are elements of
//! GF(2^8) ([`gf256`]). With round keys k_0, …, k_Nr (Nr = 10, 12, 14 for keys of 16, 24, 32 bytes):
//!
//! ```text
//!   s ← block + k_0
//!   for r = 1 … Nr:   SubBytes     every byte   x ← A(x^254) + 0x63      non-linear: all the depth
//!                     ShiftRows    row i rotates by i                    moves bytes
//!                     MixColumns   column ← circulant(2 3 1 1) · column  linear; not in round Nr
//!                     AddRoundKey  s ← s + k_r
//! ```
//!
//! Decryption is the same loop with the inverse S-box, shift and circulant (14 11 13 9), on the round keys of the
//! equivalent inverse cipher (FIPS-197 section 5.3.5). So [`cipher`] is AES in both directions and for all key sizes.
//!
//! # From a scheme to AES
//!
//! A scheme on bits implements the view [`BitEval`], and [`FoldedBits`] builds rounds from it. A scheme on bytes
//! implements [`Rounds`] itself, as BGV does. [`interp`] implements the view without keys.
//!
//! ```
//! use homaes_aes::clear::{RoundKeys, encrypt_block};
//! use homaes_aes::interp::ClearBits;
//! use homaes_aes::slp::tower::DEPTH_4;
//! use homaes_aes::{BitEval, Direction, FoldedBits, cipher};
//!
//! let (eval, key) = (ClearBits::new(1), RoundKeys::expand(&[0; 16])?); // one block
//! let rounds = FoldedBits::new(&eval, &DEPTH_4);
//! let bits = |block: [u8; 16]| -> Vec<_> {
//!     (0..128).map(|i| eval.public(&[block[i / 8] >> (i % 8) & 1 == 1])).collect()
//! };
//! let folding = rounds.folding();
//! let keys = folding.keys(&key.schedule(Direction::Encrypt));
//! let keys: Vec<_> = keys.iter().map(|&k| bits(k)).collect();
//!
//! let state = bits([1; 16].map(|x| folding.input(Direction::Encrypt, x)));
//! let result = cipher(&rounds, Direction::Encrypt, state, &keys)?;
//! assert_eq!(result, bits(encrypt_block([1; 16], &key)));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Cost
//!
//! One batch of AES-128 in either direction. `tests/cost.rs` checks the table.
//!
//! | [`FoldedBits`] over | products | relinearisations | depth |
//! |---|---|---|---|
//! | [`DEPTH_4`](slp::tower::DEPTH_4) | 5760 | 2880 | 40 |
//! | [`DEPTH_3`](slp::tower::DEPTH_3) | 6720 | 3520 | 30 |
//!
//! # References
//!
//! FIPS-197, *Advanced Encryption Standard*, NIST 2001. SP 800-38A, *Recommendation for Block Cipher Modes of
//! Operation*, NIST 2001. GHS12: Gentry, Halevi, Smart, *Homomorphic Evaluation of the AES Circuit*, CRYPTO 2012
//! (section 4: the layouts).

#![forbid(unsafe_code)]

pub mod clear;
pub mod error;
pub mod folded;
pub mod gf256;
pub mod interp;
pub mod laws;
pub mod layout;
pub mod mode;
pub mod rounds;
pub mod slp;
pub mod state;
pub mod view;

pub use clear::{KeySize, RoundKeys, Schedule};
pub use error::{Depth, Error, EvalError, Result};
pub use folded::{FoldedBits, Folding};
pub use layout::Layout;
pub use mode::{Counter, Mode};
pub use rounds::{Rounds, cipher, cipher_from, cipher_observed};
pub use state::{Block, Direction};
pub use view::BitEval;
