//! The linear layer of AES as a sum of multiples of look-up results: tables have all multiples of S(x) that it needs.

use homaes_aes::Direction;
use homaes_aes::state::circulant;

/// The distinct factors of the round's linear layer, or 1 in the last round.
pub(crate) fn factors(direction: Direction, last: bool) -> Vec<u8> {
    match (direction, last) {
        (_, true) => vec![1],
        (Direction::Encrypt, false) => vec![1, 2, 3],
        (Direction::Decrypt, false) => circulant(Direction::Decrypt).to_vec(),
    }
}

/// Index among the [`factors`] of each of the four terms of a byte.
pub(crate) fn places(direction: Direction) -> [usize; 4] {
    let factors = factors(direction, false);
    circulant(direction).map(|c| factors.iter().position(|&f| f == c).unwrap_or(0))
}
