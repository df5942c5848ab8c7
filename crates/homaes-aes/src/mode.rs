//! Modes of operation: which blocks enter the cipher, and in which direction it runs.
//!
//! CTR (SP 800-38A section 6.5): the cipher encrypts counter blocks, which are public, and the result
//! is added to the text. Counter block i is the initial one plus i, all 128 bits read as one
//! big-endian number that wraps around: the convention of OpenSSL.

use crate::state::{Block, Direction};

/// A mode of operation with its public parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Mode {
    /// Counter mode.
    Ctr {
        /// the initial counter block
        iv: Block,
    },
}

impl Mode {
    /// The direction in which the cipher runs to recover a message.
    pub const fn direction(&self) -> Direction {
        match self {
            Self::Ctr { .. } => Direction::Encrypt,
        }
    }
}

/// Counter block number `index`: `iv` + `index` modulo 2^128, big-endian.
pub const fn counter_block(iv: Block, index: u128) -> Block {
    u128::from_be_bytes(iv).wrapping_add(index).to_be_bytes()
}

/// Fills `out` with the counter blocks number `first`, `first` + 1, …
pub fn fill_counter_blocks(iv: Block, first: u128, out: &mut [Block]) {
    for (block, counter) in out.iter_mut().zip(counter_blocks(iv, first)) {
        *block = counter;
    }
}

/// The counter blocks from number `first` on, without end.
pub fn counter_blocks(iv: Block, first: u128) -> impl Iterator<Item = Block> {
    (0u128..).map(move |i| counter_block(iv, first.wrapping_add(i)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

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
    fn ctr_runs_the_cipher_forwards() {
        assert_eq!(Mode::Ctr { iv: [0; 16] }.direction(), Direction::Encrypt);
    }

    proptest! {
        #[test]
        fn filler_and_iterator_agree_with_the_formula(iv: Block, first: u128, n in 0..40usize) {
            let mut out = vec![[0; 16]; n];
            fill_counter_blocks(iv, first, &mut out);
            let listed: Vec<_> = counter_blocks(iv, first).take(n).collect();
            prop_assert_eq!(&out, &listed);
            for (i, block) in out.into_iter().enumerate() {
                prop_assert_eq!(block, counter_block(iv, first.wrapping_add(i as u128)));
            }
        }
    }
}
