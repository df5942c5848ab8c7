//! The AES state: byte order, ShiftRows and MixColumns.
//!
//! Byte i of a block is row i mod 4, column i div 4 of the state (FIPS-197 section 3.4). Directions differ in
//! constants only, because decryption runs as the equivalent inverse cipher (FIPS-197 section 5.3.5):
//!
//! ```text
//!   ShiftRows    out[i]   = in[source(dir, i)]
//!   MixColumns   out[r,c] = Σ_j circulant(dir)[j] · in[(r + j) mod 4, c]
//! ```

use crate::gf256;

/// One AES block, in the order of the bytes on the wire.
pub type Block = [u8; 16];

/// Encryption or decryption: selects S-box, shift and circulant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Direction {
    /// SubBytes, ShiftRows, MixColumns
    Encrypt,
    /// InvSubBytes, InvShiftRows, InvMixColumns
    Decrypt,
}

impl Direction {
    /// Both directions.
    pub const ALL: [Self; 2] = [Self::Encrypt, Self::Decrypt];
}

/// Index of the byte in row `row` and column `column`, both below 4.
pub const fn byte_index(row: usize, column: usize) -> usize {
    row + 4 * column
}

/// The index that ShiftRows (encrypting) or InvShiftRows (decrypting) reads to fill index `i` < 16.
pub const fn shift_source(dir: Direction, i: usize) -> usize {
    let (row, column) = (i % 4, i / 4);
    match dir {
        Direction::Encrypt => byte_index(row, (column + row) % 4),
        Direction::Decrypt => byte_index(row, (column + 4 - row) % 4),
    }
}

/// The index that MixColumns reads for term `j` < 4 of index `i` < 16: `j` rows down in the same column.
pub const fn mix_source(i: usize, j: usize) -> usize {
    byte_index((i % 4 + j) % 4, i / 4)
}

/// First row of the circulant matrix of MixColumns (FIPS-197 section 5.1.3) or InvMixColumns (5.3.3).
pub const fn circulant(dir: Direction) -> [u8; 4] {
    match dir {
        Direction::Encrypt => [2, 3, 1, 1],
        Direction::Decrypt => [14, 11, 13, 9],
    }
}

/// ShiftRows or InvShiftRows, in the clear.
pub fn shift_rows(dir: Direction, s: &Block) -> Block {
    core::array::from_fn(|i| s[shift_source(dir, i)])
}

/// MixColumns or InvMixColumns, in the clear.
pub fn mix_columns(dir: Direction, s: &Block) -> Block {
    let c = circulant(dir);
    core::array::from_fn(|i| (0..4).fold(0, |sum, j| sum ^ gf256::mul(c[j], s[mix_source(i, j)])))
}

/// Byte-wise XOR.
pub fn xor(a: &Block, b: &Block) -> Block {
    core::array::from_fn(|i| a[i] ^ b[i])
}

/// The blocks of a byte string; zeros pad the last one.
pub fn to_blocks(bytes: &[u8]) -> Vec<Block> {
    bytes
        .chunks(16)
        .map(|chunk| core::array::from_fn(|i| chunk.get(i).copied().unwrap_or(0)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn last_block_is_padded_with_zeros(bytes: Vec<u8>) {
            let blocks = to_blocks(&bytes);
            prop_assert_eq!(blocks.len(), bytes.len().div_ceil(16));
            let flat = blocks.as_flattened();
            prop_assert_eq!(&flat[..bytes.len()], &bytes[..]);
            prop_assert!(flat[bytes.len()..].iter().all(|&b| b == 0));
        }
    }
}
