//! Two plaintexts of bytes in one, as a + ζ_257·b.
//!
//! Bytes are plaintexts that the conjugation of ζ_257 fixes ([`crate::slots`]), so both come back from the sum.

use crate::ring::Ring;
use zeroize::Zeroizing;

/// Columns of the axis of 257, and its generator.
const COLS: usize = 256;
const GENERATOR: usize = 3;

/// The column of ζ^i on the axis of 257, for i from 1 to 256.
fn columns() -> [usize; COLS + 1] {
    let mut out = [0; COLS + 1];
    let mut i = 1;
    for col in 0..COLS {
        out[i] = col;
        i = i * GENERATOR % (COLS + 1);
    }
    out
}

/// Adds ζ_257·other to `sum`, both n coefficients from 0 to q - 1.
///
/// # Panics
/// If 257 does not divide m.
pub fn add_turned(ring: &Ring, q: u64, sum: &mut [u64], other: &[u64]) {
    assert_eq!(ring.cols(), COLS, "a ring without the axis of 257");
    let (columns, lanes) = (columns(), ring.lanes());
    let rows = sum.chunks_exact_mut(COLS * lanes);
    for (sum, other) in rows.zip(other.chunks_exact(COLS * lanes)) {
        for lane in 0..lanes {
            let at = |i: usize| columns[i] * lanes + lane;
            // ζ^257 = 1 = -ζ - … - ζ^256
            let last = q - other[at(COLS)];
            for i in 1..=COLS {
                let previous = if i > 1 { other[at(i - 1)] } else { 0 };
                sum[at(i)] = (sum[at(i)] + previous + last) % q;
            }
        }
    }
}

/// The plaintexts a and b of bytes in a + ζ_257·b: n coefficients 0 or 1 each.
///
/// With a_i and b_i the coefficients of ζ^i, equal to those of ζ^-i, and b_0 = 0: p_i = a_i + b_(i-1) + b_256, hence
/// p_i + p_(257-i) = b_(i-1) + b_(i+1), which gives b_2, b_4, …, b_128 = b_129, b_127, …, b_1. Sums alone, on all rows
/// and lanes at once: nothing depends on the bits.
///
/// # Panics
/// If 257 does not divide m.
pub fn split(ring: &Ring, joined: &[u64]) -> [Zeroizing<Vec<u64>>; 2] {
    type Lines = Zeroizing<[u128; COLS + 2]>;
    let (columns, lanes) = (columns(), ring.lanes());
    let lines = ring.rows() * lanes;
    let place = |line: usize, i: usize| (line / lanes * COLS + columns[i]) * lanes + line % lanes;
    let (mut p, mut b) = (Lines::new([0; COLS + 2]), Lines::new([0; COLS + 2]));
    for i in 1..=COLS {
        p[i] = (0..lines).fold(0, |word, line| {
            word | u128::from(joined[place(line, i)]) << line
        });
    }
    let half = COLS / 2;
    let both = |i: usize| p[i] ^ p[COLS + 1 - i];
    for i in (1..half).step_by(2) {
        b[i + 1] = both(i) ^ b[i - 1];
    }
    b[half + 1] = b[half];
    for i in (2..=half).rev().step_by(2) {
        b[i - 1] = both(i) ^ b[i + 1];
    }
    let [mut first, mut second] = [(); 2].map(|()| Zeroizing::new(vec![0; ring.n()]));
    for i in 1..=half {
        let a = p[i] ^ b[i - 1] ^ b[1];
        for line in 0..lines {
            for at in [i, COLS + 1 - i].map(|i| place(line, i)) {
                first[at] = (a >> line & 1) as u64;
                second[at] = (b[i] >> line & 1) as u64;
            }
        }
    }
    [first, second]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::slots::Slots;

    #[test]
    fn two_bytes_of_a_slot_come_back() {
        let ring = Ring::new(4369).unwrap();
        let (slots, q) = (Slots::new(&ring, 1).unwrap(), 97);
        let bytes = [17, 40].map(|factor| {
            let byte = |i: usize| ((i * factor) ^ (i >> 3)) as u8;
            (0..slots.count()).map(byte).collect::<Vec<u8>>()
        });
        let [a, b] = bytes.each_ref().map(|bytes| {
            let mut bits = vec![0; ring.n()];
            slots.encode(bytes, &mut bits);
            bits
        });
        let mut sum = a.clone();
        add_turned(&ring, q, &mut sum, &b);
        let bit = |x: &u64| if *x > q / 2 { (q - x) & 1 } else { x & 1 };
        let parities: Vec<u64> = sum.iter().map(bit).collect();
        let [found_a, found_b] = split(&ring, &parities);
        assert_eq!([&*found_a, &*found_b], [&a, &b]);
        assert!(slots.decode(&parities).is_err());
    }
}
