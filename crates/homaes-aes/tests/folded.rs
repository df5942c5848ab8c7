//! The folded linear layer against AES in the clear.

use homaes_aes::folded::BitMatrix;
use homaes_aes::slp::tower::{Core, DEPTH_3, DEPTH_4};
use homaes_aes::{Direction, Folding, gf256, state};
use proptest::prelude::*;

/// The values of the products that one S-box ends in, on coordinates `x`.
fn products<const P: usize>(core: &Core<P>, x: u8) -> Vec<bool> {
    let mut value: Vec<bool> = (0..8).map(|k| x >> k & 1 == 1).collect();
    for gate in core.program.gates() {
        let [a, b] = gate.operands().map(|w| value[usize::from(w)]);
        value.push(match gate {
            homaes_aes::slp::Gate::And(..) => a & b,
            _ => a ^ b,
        });
    }
    let outputs = core.program.outputs();
    outputs.iter().map(|&w| value[usize::from(w)]).collect()
}

/// Compares the matrix with FIPS-197 on a column of the state, given after ShiftRows and before the inversion.
fn check<const P: usize>(core: &Core<P>, dir: Direction, column: [u8; 4]) {
    let folding = Folding::new(core);
    let inverses = column.map(gf256::inv);
    // all four columns of the block are equal
    let block = core::array::from_fn(|i| match dir {
        Direction::Encrypt => gf256::affine(inverses[i % 4]),
        Direction::Decrypt => inverses[i % 4],
    });
    let ends = column.map(|x| products(core, coordinates(core, x)));
    let ends: Vec<bool> = ends.into_iter().flatten().collect();
    for mix in [true, false] {
        let matrix = BitMatrix::round(core, dir, mix);
        assert_eq!(matrix.rows().len(), 32);
        let bit = |row: &Vec<u16>| row.iter().fold(false, |sum, &p| sum ^ ends[usize::from(p)]);
        let bits: Vec<bool> = matrix.rows().iter().map(bit).collect();
        // a round key of zeros still contains the constant
        let constant = folding.key(dir, (if mix { 1 } else { 2 }, 2), 0);
        let byte = |bits: &[bool]| (0..8).fold(constant, |out, k| out ^ (u8::from(bits[k]) << k));
        let found: Vec<u8> = bits.chunks(8).map(byte).collect();
        let expected = match mix {
            true => state::mix_columns(dir, &block).map(|s| folding.state(dir, s)),
            false => block,
        };
        let expected = &expected[..4];
        assert_eq!(found, expected, "{dir:?} {mix}");
    }
}

fn coordinates<const P: usize>(core: &Core<P>, x: u8) -> u8 {
    let masks = core.coordinates();
    let odd = |k: usize| (masks[k] & x).count_ones() as u8 & 1;
    (0..8).fold(0, |out, k| out | odd(k) << k)
}

#[test]
fn coordinates_are_those_of_the_basis() {
    let basis = DEPTH_4.basis;
    for x in 0..=255 {
        let c = coordinates(&DEPTH_4, x);
        let own = (0..8).filter(|k| c >> k & 1 == 1);
        let sum = own.fold(0, |sum, k| sum ^ basis[k]);
        assert_eq!(sum, x);
        assert_eq!(Folding::new(&DEPTH_4).input(Direction::Encrypt, x), c);
    }
}

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

proptest! {
    #[test]
    fn the_matrix_is_the_linear_layer(column: [u8; 4]) {
        for dir in Direction::ALL {
            check(&DEPTH_4, dir, column);
            check(&DEPTH_3, dir, column);
        }
    }
}
