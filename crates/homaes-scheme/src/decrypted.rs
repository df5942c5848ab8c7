//! What a decryption found.

use core::fmt;
use homaes_aes::Block;
use zeroize::Zeroizing;

/// Decrypted blocks and how far the decryption was from failing. Overwritten when dropped; `Debug` shows no byte of them.
pub struct Decrypted {
    /// BGV: as many as the layout has in a batch. TFHE: as many as the state has.
    pub blocks: Zeroizing<Vec<Block>>,
    /// log2 of the distance at which a coefficient or digit decrypts wrongly over the largest noise that was found: below 1, treat the
    /// blocks as lost. In BGV it is computed in fixed point, so it saturates at about 57 however small the noise.
    pub margin_bits: f64,
}

// The content is secret, and the margin tells of the key (SECURITY.md).
impl fmt::Debug for Decrypted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Decrypted({} blocks)", self.blocks.len())
    }
}
