//! AES as circuits over encrypted bytes and bits, independent of any encryption scheme.
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
//! # From a backend to AES
//!
//! ```text
//!   PackedEval ─────────► Bytewise ──────────► Packed ─┐
//!   ByteEval   ─────────► Bytewise ─┐                  ├─ Rounds ─► cipher()
//!   BitEval    ─┬───────► Bitwise  ─┼ AesByte► Sliced ─┤
//!               └───────────────────└──────► FoldedBits ┘
//!   views                 adapters             layouts
//! ```
//!
//! A scheme implements the views that suit it ([`view`]). An adapter builds the S-box from a view, a layout builds
//! rounds from S-boxes. The evaluators of [`interp`] implement the same views without keys.
//!
//! ```
//! use homaes_aes::clear::RoundKeys;
//! use homaes_aes::interp::clear::ClearBytes;
//! use homaes_aes::{Bytewise, Direction, Packed, cipher};
//!
//! let backend = ClearBytes::new(32); // two blocks of 16 slots
//! let rounds = Packed(Bytewise::new(&backend));
//! let keys = RoundKeys::expand(&[0; 16])?.schedule(Direction::Encrypt);
//! let keys: Vec<_> = keys.as_slice().iter().map(|&k| rounds.public(&[k, k])).collect();
//!
//! let state = rounds.public(&[[0; 16], [1; 16]]);
//! let result = cipher(&rounds, Direction::Encrypt, state, &keys)?;
//! assert_eq!(result[..4], [0x66, 0xe9, 0x4b, 0xd4]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Cost
//!
//! One batch of AES-128 in either direction, counted by [`interp::count`]. `tests/cost.rs` checks the table.
//!
//! | layout | blocks | products | relin. | Frobenius | permutations | depth |
//! |---|---|---|---|---|---|---|
//! | byte-sliced | slots | 640 | 640 | 1760 | 0 | 30 |
//! | packed | slots / 16 | 40 | 40 | 110 | 37 | 30 |
//! | bit-sliced | slots | 5440 | 3040 | 0 | 0 | 40 |
//! | bit-sliced, folded, depth 4 | slots | 5760 | 2880 | 0 | 0 | 40 |
//! | bit-sliced, folded, depth 3 | slots | 6720 | 3520 | 0 | 0 | 30 |
//!
//! # References
//!
//! FIPS-197, *Advanced Encryption Standard*, NIST 2001. SP 800-38A, *Recommendation for Block Cipher Modes of
//! Operation*, NIST 2001. GHS12: Gentry, Halevi, Smart, *Homomorphic Evaluation of the AES Circuit*, CRYPTO 2012
//! (section 4: the layouts and the byte circuit). Boyar, Peralta, *A depth-16 circuit for the AES S-box*, eprint
//! 2011/332 (the bit circuits).

#![forbid(unsafe_code)]

pub mod bitwise;
pub mod bytewise;
pub mod clear;
pub mod error;
pub mod folded;
pub mod gf256;
pub mod interp;
pub mod laws;
pub mod layout;
pub mod mode;
pub mod packed;
pub mod rounds;
pub mod sliced;
pub mod slp;
pub mod state;
pub mod view;

pub use bitwise::Bitwise;
pub use bytewise::Bytewise;
pub use clear::{KeySize, RoundKeys, Schedule};
pub use error::{Depth, Error, EvalError, Result};
pub use folded::{FoldedBits, Folding};
pub use layout::Layout;
pub use mode::{Counter, Mode};
pub use packed::Packed;
pub use rounds::{Rounds, cipher, cipher_observed};
pub use sliced::{AesByte, Sliced};
pub use state::{Block, Direction};
pub use view::{BitEval, ByteEval, PackedEval};
