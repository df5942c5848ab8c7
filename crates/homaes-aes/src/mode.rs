//! Modes of operation: which public blocks enter the cipher, in which direction it runs, and which
//! public blocks are added to its result.
//!
//! To recover a message from its ciphertext blocks C_0, C_1, …, with E the cipher and D its inverse:
//!
//! | mode | recovers P_i as | enters the cipher | added to the result | reference |
//! |---|---|---|---|---|
//! | ECB | D(C_i) | C_i | nothing | SP 800-38A section 6.1 |
//! | CBC | D(C_i) + C_{i-1}, C_{-1} = IV | C_i | IV, C_0, C_1, … | SP 800-38A section 6.2 |
//! | CTR | E(IV + i) + C_i | IV + i | C_i | SP 800-38A section 6.5 |
//! | GCM | E(inc32^{i+1}(J_0)) + C_i | inc32^{i+1}(J_0) | C_i | SP 800-38D sections 6.5, 7.2 |
//!
//! Both inputs are public in every mode, so a server with the encrypted key alone can do its part.
//! The initial counter block of CTR is all 128 bits, read as one big-endian number that wraps around:
//! the convention of OpenSSL. GCM counts in the last 32 bits only, and its tag is no part of this
//! module: to check it takes the AES key (SP 800-38D section 7.2, steps 3 to 6).
//!
//! GCM here has nonces of 96 bits. From a longer or shorter one, J_0 is computed with GHASH under
//! E(0) (SP 800-38D section 7.1, step 2), which whoever lacks the key cannot compute.

use crate::state::{Block, Direction};
use std::borrow::Cow;

/// Most bytes of a GCM message: 2^36 - 32 (SP 800-38D section 5.2.1.1), after which its counter would
/// return to J_0.
pub const MAX_GCM_BYTES: u64 = (1 << 36) - 32;

/// A mode of operation with its public parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Mode {
    /// Electronic codebook.
    Ecb,
    /// Cipher block chaining.
    Cbc {
        /// the initialisation vector
        iv: Block,
    },
    /// Counter mode.
    Ctr {
        /// the initial counter block
        iv: Block,
    },
    /// Galois/counter mode.
    Gcm {
        /// the nonce (in SP 800-38D: IV)
        nonce: [u8; 12],
    },
}

impl Mode {
    /// The name in options and files: `ecb`, `cbc`, `ctr` or `gcm`.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Ecb => "ecb",
            Self::Cbc { .. } => "cbc",
            Self::Ctr { .. } => "ctr",
            Self::Gcm { .. } => "gcm",
        }
    }

    /// The direction in which the cipher runs to recover a message.
    pub const fn direction(&self) -> Direction {
        match self {
            Self::Ecb | Self::Cbc { .. } => Direction::Decrypt,
            Self::Ctr { .. } | Self::Gcm { .. } => Direction::Encrypt,
        }
    }

    /// The initialisation vector, initial counter block or nonce; empty for ECB.
    pub fn iv(&self) -> &[u8] {
        match self {
            Self::Ecb => &[],
            Self::Cbc { iv } | Self::Ctr { iv } => iv,
            Self::Gcm { nonce } => nonce,
        }
    }

    /// Whether messages consist of whole blocks, the last of which is usually padded.
    pub const fn whole_blocks(&self) -> bool {
        matches!(self, Self::Ecb | Self::Cbc { .. })
    }

    /// The public blocks that enter the cipher for the ciphertext blocks number `first`, `first` + 1, … of a
    /// message, which are `text`.
    pub fn input<'t>(&self, first: u64, text: &'t [Block]) -> Cow<'t, [Block]> {
        let numbers = (0..text.len() as u64).map(|i| first.wrapping_add(i));
        match *self {
            Self::Ecb | Self::Cbc { .. } => text.into(),
            Self::Ctr { iv } => numbers.map(|i| counter_block(iv, i.into())).collect(),
            Self::Gcm { nonce } => numbers.map(|i| gcm_block(nonce, i)).collect(),
        }
    }

    /// The public blocks to add to the result of the cipher for the ciphertext blocks `text`; `before` is the
    /// ciphertext block before the first of them, none at the start of the message. Empty if there is nothing to
    /// add.
    pub fn mask<'t>(&self, before: Option<Block>, text: &'t [Block]) -> Cow<'t, [Block]> {
        match *self {
            Self::Ecb => Cow::default(),
            Self::Cbc { iv } => {
                let chain = core::iter::once(before.unwrap_or(iv)).chain(text.iter().copied());
                chain.take(text.len()).collect()
            }
            Self::Ctr { .. } | Self::Gcm { .. } => text.into(),
        }
    }
}

/// Counter block number `index` of CTR: `iv` + `index` modulo 2^128, big-endian.
pub const fn counter_block(iv: Block, index: u128) -> Block {
    u128::from_be_bytes(iv).wrapping_add(index).to_be_bytes()
}

/// The block J_0 of GCM, whose encryption masks the tag: `nonce` ‖ 0^31 ‖ 1.
pub const fn gcm_first_block(nonce: [u8; 12]) -> Block {
    gcm_counter(nonce, 1)
}

/// Counter block of GCM for ciphertext block `index`: inc32^{index+1}(J_0), so the first has counter 2.
pub const fn gcm_block(nonce: [u8; 12], index: u64) -> Block {
    gcm_counter(nonce, (index as u32).wrapping_add(2))
}

const fn gcm_counter(nonce: [u8; 12], counter: u32) -> Block {
    let mut block = [0; 16];
    let (head, tail) = block.split_at_mut(12);
    head.copy_from_slice(&nonce);
    tail.copy_from_slice(&counter.to_be_bytes());
    block
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clear::{RoundKeys, decrypt_block, encrypt_block};
    use crate::state::xor;
    use proptest::prelude::*;

    /// Every mode, with `iv` or its front.
    fn modes(iv: Block) -> [Mode; 4] {
        let nonce = core::array::from_fn(|i| iv[i]);
        [
            Mode::Ecb,
            Mode::Cbc { iv },
            Mode::Ctr { iv },
            Mode::Gcm { nonce },
        ]
    }

    #[test]
    fn counter_carries_through_every_byte_and_wraps() {
        let mut iv = [0xff; 16];
        assert_eq!(counter_block(iv, 1), [0; 16]);
        assert_eq!(counter_block(iv, 2)[15], 1);
        iv[0] = 0;
        let mut carried = [0; 16];
        carried[0] = 1;
        assert_eq!(counter_block(iv, 1), carried);
    }

    #[test]
    fn gcm_counts_in_the_last_32_bits() {
        let nonce = [0xab; 12];
        let counter = |block: Block| {
            assert_eq!(block[..12], nonce);
            u32::from_be_bytes(core::array::from_fn(|i| block[12 + i]))
        };
        assert_eq!(counter(gcm_first_block(nonce)), 1);
        assert_eq!(counter(gcm_block(nonce, 0)), 2);
        let last = MAX_GCM_BYTES / 16 - 1;
        assert_eq!(counter(gcm_block(nonce, last)), u32::MAX);
        // Beyond the longest message, and wrapping without touching the nonce.
        assert_eq!(counter(gcm_block(nonce, last + 2)), 1);
        assert_eq!(counter(gcm_block(nonce, u64::MAX)), 1);
    }

    #[test]
    fn directions_and_names() {
        let [ecb, cbc, ctr, gcm] = modes([1; 16]);
        assert_eq!([ecb, cbc].map(|m| m.direction()), [Direction::Decrypt; 2]);
        assert_eq!([ctr, gcm].map(|m| m.direction()), [Direction::Encrypt; 2]);
        let names = [ecb, cbc, ctr, gcm].map(|mode| mode.name());
        assert_eq!(names, ["ecb", "cbc", "ctr", "gcm"]);
        let ivs = [ecb, cbc, ctr, gcm].map(|mode| mode.iv().len());
        assert_eq!(ivs, [0, 16, 16, 12]);
        assert!(ecb.whole_blocks() && cbc.whole_blocks());
        assert!(!ctr.whole_blocks() && !gcm.whole_blocks());
    }

    proptest! {
        #[test]
        fn input_and_mask_recover_the_message(iv: Block, message: Vec<Block>, cut in 0..20usize) {
            let keys = RoundKeys::expand(&[5; 16]).unwrap();
            let encrypt = |block| encrypt_block(block, &keys);
            for mode in modes(iv) {
                let mut before = iv;
                let text: Vec<Block> = message.iter().enumerate().map(|(i, p)| {
                    before = match mode {
                        Mode::Ecb => encrypt(*p),
                        Mode::Cbc { .. } => encrypt(xor(p, &before)),
                        Mode::Ctr { iv } => xor(p, &encrypt(counter_block(iv, i as u128))),
                        Mode::Gcm { nonce } => xor(p, &encrypt(gcm_block(nonce, i as u64))),
                    };
                    before
                }).collect();
                let (head, tail) = text.split_at(cut.min(text.len()));
                let mut found = Vec::new();
                for (first, before, part) in [(0, None, head), (head.len(), head.last(), tail)] {
                    let input = mode.input(first as u64, part);
                    let mask = mode.mask(before.copied(), part);
                    prop_assert_eq!(input.len(), part.len());
                    for (i, block) in input.iter().enumerate() {
                        let result = match mode.direction() {
                            Direction::Encrypt => encrypt(*block),
                            Direction::Decrypt => decrypt_block(*block, &keys),
                        };
                        found.push(xor(&result, mask.get(i).unwrap_or(&[0; 16])));
                    }
                }
                prop_assert_eq!(&found, &message);
            }
        }
    }
}
