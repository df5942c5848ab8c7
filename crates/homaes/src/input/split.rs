/// The batches of a message.
///
/// ```
/// let split = homaes::Split { bytes: 1000, blocks_per_batch: 16 };
/// assert_eq!((split.blocks(), split.batches()), (63, 4));
/// assert_eq!(split.batch_bytes(3), 1000 - 3 * 256);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Split {
    /// Bytes of the message.
    pub bytes: u64,
    /// AES blocks of one batch, not 0.
    pub blocks_per_batch: u64,
}

impl Split {
    /// AES blocks; the last one may be partial.
    #[must_use]
    pub const fn blocks(&self) -> u64 {
        self.bytes.div_ceil(16)
    }

    /// Batches; the last one may be partial.
    #[must_use]
    pub const fn batches(&self) -> u64 {
        self.blocks().div_ceil(self.blocks_per_batch)
    }

    /// Number of the first block of batch `index`.
    #[must_use]
    pub const fn first_block(&self, index: u64) -> u64 {
        index.saturating_mul(self.blocks_per_batch)
    }

    /// Bytes of the message in batch `index`: 0 beyond the last one.
    #[must_use]
    pub const fn batch_bytes(&self, index: u64) -> u64 {
        let full = self.blocks_per_batch.saturating_mul(16);
        let left = self.bytes.saturating_sub(index.saturating_mul(full));
        if left < full { left } else { full }
    }

    /// AES blocks in batch `index`: fewer in the last one, 0 beyond it.
    #[must_use]
    pub const fn batch_blocks(&self, index: u64) -> u64 {
        self.batch_bytes(index).div_ceil(16)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn absurd_lengths_do_not_overflow() {
        let split = Split {
            bytes: u64::MAX,
            blocks_per_batch: 2048,
        };
        assert_eq!(split.batch_bytes(split.batches() - 1), 32767);
        assert_eq!(split.batch_bytes(u64::MAX), 0);
        assert_eq!(split.batch_blocks(split.batches() - 1), 2048);
    }
}
