//! Functions of digits as public polynomials.
//!
//! With v = 2^`digit_bits` values, digit d is encoded as d · u, u = 2^(63 - digit_bits).
//!
//! **Multi-value bootstrapping** (Carpov, Izabachène, Mollimard 2019). The test polynomials of all functions have the
//! common factor TV0 = (u/2) Σ X^i. Blind rotation of TV0 by a digit x leaves, in coefficient j N/v,
//!
//! ```text
//! e_j = +u/2 if x < v - j, else -u/2          j = 0 … v - 1
//! ```
//!
//! Every function is a small combination of these, because (1 - X) TV_f has the differences of f as coefficients:
//!
//! ```text
//! u f(x) = (f(0) + f(v - 1)) u/2 + Σ_{j=1}^{v-1} (f(v - 1 - j) - f(v - j)) e_j
//! ```
//!
//! The constant replaces the coefficient at the wrap (f(0) + f(v - 1) times e_0 in the papers); it is public and adds
//! no noise. The rest multiplies the variance of the rotation by the *norm* Σ (f(j) - f(j - 1))²: at most (v - 1)^3,
//! and about v^3/6 for a random function, 640 for base 16.

use crate::multiples::factors;
use crate::set::NibbleSet;
use homaes_aes::{Direction, clear, gf256};
use homaes_math::fourier::Digits;
use homaes_math::{Fourier, Reals};

/// The digit of x · 2^54 is x.
const AS_IS: Digits = Digits {
    base_log: 10,
    levels: 1,
};

/// log2 of the encoding u of digit 1.
pub(crate) fn unit_log(set: &NibbleSet) -> u32 {
    63 - set.digit_bits
}

pub(crate) type Values = Vec<u8>;

/// The coefficients of e_1 … e_(v-1); see the module.
pub(crate) fn differences(f: &[u8]) -> impl Iterator<Item = i64> {
    f.windows(2)
        .rev()
        .map(|pair| i64::from(pair[0]) - i64::from(pair[1]))
}

/// Σ (f(j) - f(j - 1))²: the factor of the variance in a multi-value bootstrap.
pub(crate) fn norm(f: &[u8]) -> f64 {
    differences(f).map(|d| (d * d) as f64).sum()
}

/// Twice the constant of the combination, in units of u.
pub(crate) fn ends(f: &[u8]) -> u64 {
    u64::from(f[0]) + f.last().map_or(0, |&last| u64::from(last))
}

/// A function of two digits x and y: turns the e_j of x into a test polynomial for y.
pub(crate) struct Table {
    /// spectra for j = 1 … v - 1: block y has N/v times the coefficient of e_j in f(·, y)
    pub(crate) spectra: Reals,
    /// the constants of the combinations, block by block
    pub(crate) constants: Vec<u64>,
}

impl Table {
    /// `functions[y]` is the function of x.
    pub(crate) fn new(set: &NibbleSet, fourier: &Fourier, functions: &[Values]) -> Self {
        let (n, rows) = (set.degree, functions.len() - 1);
        let block = n / functions.len();
        let half = 1 << (unit_log(set) - 1);
        let mut spectra = Reals::zeroed(rows * n);
        let differences: Vec<Vec<i64>> =
            functions.iter().map(|f| differences(f).collect()).collect();
        let mut poly = vec![0; n];
        for j in 0..rows {
            for (out, d) in poly.chunks_exact_mut(block).zip(&differences) {
                out.fill((d[j] << 54) as u64);
            }
            fourier.forward_digits(AS_IS, &poly, &mut spectra, j);
        }
        let constants = functions.iter().flat_map(|f| vec![ends(f) * half; block]);
        Self {
            spectra,
            constants: constants.collect(),
        }
    }
}

/// The test polynomial of a function: block x is u f(x).
pub(crate) fn public_test_polynomial(set: &NibbleSet, f: &[u8]) -> Vec<u64> {
    let block = set.degree / f.len();
    f.iter()
        .flat_map(|&y| vec![u64::from(y) << unit_log(set); block])
        .collect()
}

/// By y, the functions x ↦ f(x, y).
pub(crate) fn of_pairs(v: usize, f: impl Fn(usize, usize) -> u8) -> Vec<Values> {
    (0..v).map(|y| (0..v).map(|x| f(x, y)).collect()).collect()
}

pub(crate) fn exclusive_or() -> Vec<Values> {
    of_pairs(16, |x, y| (x ^ y) as u8)
}

/// Two tables per factor c: low and high digit of c · g(b XOR `mask`), for the byte b = x + 16 y.
pub(crate) fn byte_tables(factors: &[u8], g: impl Fn(u8) -> u8, mask: u8) -> Vec<Vec<Values>> {
    let pairs = factors.iter().flat_map(|&c| [(c, 0), (c, 4)]);
    pairs
        .map(|(c, shift)| {
            of_pairs(16, |x, y| {
                gf256::mul(c, g((x + 16 * y) as u8 ^ mask)) >> shift & 15
            })
        })
        .collect()
}

pub(crate) fn sbox_tables(direction: Direction, last: bool, mask: u8) -> Vec<Vec<Values>> {
    byte_tables(
        &factors(direction, last),
        |x| clear::sbox(direction, x),
        mask,
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The combination in the module documentation, in units of u/2.
    fn combined(f: &[u8], x: usize) -> i64 {
        let v = f.len();
        let e = |j: usize| if x < v - j { 1 } else { -1 };
        let sum: i64 = differences(f).zip(1..).map(|(d, j)| d * e(j)).sum();
        ends(f) as i64 + sum
    }

    #[test]
    fn combinations_are_the_functions() {
        let tables = [
            exclusive_or(),
            sbox_tables(Direction::Encrypt, false, 0x3c).concat(),
            sbox_tables(Direction::Decrypt, false, 0).concat(),
        ];
        for f in tables.iter().flatten() {
            for (x, &y) in f.iter().enumerate() {
                assert_eq!(combined(f, x), 2 * i64::from(y));
            }
        }
        for f in of_pairs(4, |x, y| (x * y) as u8 & 3) {
            assert!((0..4).all(|x| combined(&f, x) == 2 * i64::from(f[x])));
        }
    }

    #[test]
    fn norms_of_the_tables() {
        let largest = |tables: &[Vec<Values>]| {
            let norms = tables.iter().flatten().map(|f| norm(f));
            norms.fold(0.0, f64::max)
        };
        assert_eq!(largest(&[exclusive_or()]), 239.0);
        for direction in Direction::ALL {
            assert!(largest(&sbox_tables(direction, false, 0)) < 1400.0);
        }
    }
}
