//! Look-up tables as public polynomials.
//!
//! A look-up of byte x gives 32 bits at once. With E = N/32, polynomial p holds the entries x = E p, E p + 1, …: bit o
//! of entry x is coefficient 32 (x mod E) + o, encoded as 0 or 1/2.

use crate::multiples::{factors, places};
use homaes_aes::{Direction, clear, gf256};

/// Result bits of one look-up.
pub(crate) const OUTPUTS: usize = 32;

/// 1/2 of the torus.
pub(crate) const HALF: u64 = 1 << 63;

/// The four bytes of an entry, least significant first: multiples of S(x).
pub(crate) type Entry = u32;

/// First bit of the result byte for each factor of the linear layer.
pub(crate) fn offsets(direction: Direction) -> [usize; 4] {
    places(direction).map(|place| 8 * place)
}

pub(crate) fn entries(direction: Direction, last: bool) -> Vec<Entry> {
    let factors = factors(direction, last);
    let entry = |x: u8| {
        let y = clear::sbox(direction, x);
        let multiples = factors.iter().rev().map(|&c| gf256::mul(c, y));
        multiples.fold(0, |entry, byte| entry << 8 | Entry::from(byte))
    };
    (0..=255).map(entry).collect()
}

/// The concatenated polynomials of a table indexed by the byte XOR `mask`.
pub(crate) fn polynomials(entries: &[Entry], mask: u8) -> Vec<u64> {
    let mut out = vec![0; entries.len() * OUTPUTS];
    for (x, out) in out.chunks_exact_mut(OUTPUTS).enumerate() {
        let bits = entries[x ^ usize::from(mask)];
        for (o, word) in out.iter_mut().enumerate() {
            *word = u64::from(bits >> o & 1) << 63;
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use homaes_aes::state::{mix_columns, mix_source};

    #[test]
    fn factors_make_the_linear_layer() {
        for direction in [Direction::Encrypt, Direction::Decrypt] {
            let entries = entries(direction, false);
            let block: [u8; 16] = core::array::from_fn(|i| (i * 37 + 5) as u8);
            let offsets = offsets(direction);
            let mixed: [u8; 16] = core::array::from_fn(|i| {
                (0..4).fold(0, |sum, j| {
                    let entry = entries[usize::from(block[mix_source(i, j)])];
                    sum ^ (entry >> offsets[j]) as u8
                })
            });
            let want = mix_columns(direction, &block.map(|x| clear::sbox(direction, x)));
            assert_eq!(mixed, want);
        }
    }
}
