//! The result of a decryption.

use core::fmt;
use homaes_aes::Block;
use zeroize::Zeroizing;

/// Decrypted blocks and how far the decryption was from failing. Overwritten when dropped; `Debug` shows no byte of
/// them.
pub struct Decrypted {
    /// As many as a batch has places; in TFHE, as many as the state has.
    pub blocks: Zeroizing<Vec<Block>>,
    /// log2 of the distance at which a coefficient or digit decrypts wrongly over the largest noise that was found:
    /// below 1, treat the blocks as lost. In BGV it is computed in fixed point, so it saturates at about 57 however
    /// small the noise.
    pub margin_bits: f64,
}

impl Decrypted {
    /// Assembles `slots` blocks from their 128 bits, each with its values in all blocks and its margin: bit 8i + j is
    /// bit j of byte i.
    pub fn of_bits<'b>(slots: usize, bits: impl IntoIterator<Item = (&'b [u8], f64)>) -> Self {
        let mut all = Self {
            blocks: Zeroizing::new(vec![[0; 16]; slots]),
            margin_bits: f64::INFINITY,
        };
        for (k, (bits, margin)) in bits.into_iter().enumerate() {
            all.margin_bits = all.margin_bits.min(margin);
            for (block, bit) in all.blocks.iter_mut().zip(bits) {
                block[k / 8] |= bit << (k % 8);
            }
        }
        all
    }
}

// The content is secret, and the margin tells of the key (SECURITY.md).
impl fmt::Debug for Decrypted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Decrypted({} blocks)", self.blocks.len())
    }
}
