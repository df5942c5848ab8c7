//! The rows of the folded linear layer; `View` compares its values with AES in the clear.

use homaes_aes::Direction;
use homaes_aes::folded::BitMatrix;
use homaes_aes::slp::tower::DEPTH_4;

/// The weights of the rows decide the additions and the noise of a round.
#[test]
fn rows_are_short() {
    for (dir, weights) in [
        (Direction::Encrypt, [28, 26, 18, 38, 38, 28, 32, 34]),
        (Direction::Decrypt, [32, 32, 34, 40, 34, 28, 38, 36]),
    ] {
        let matrix = BitMatrix::round(&DEPTH_4, dir, true);
        let found: Vec<usize> = matrix.rows().iter().map(Vec::len).collect();
        for row in found.chunks(8) {
            assert_eq!(row, weights);
        }
        let last = BitMatrix::round(&DEPTH_4, dir, false);
        assert!(last.rows().iter().all(|row| (4..=18).contains(&row.len())));
    }
}
