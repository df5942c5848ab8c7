//! The odd factors that modulus switches put on numbers.
//!
//! A switch from Q to Q' multiplies a message modulo 2^k by Q'/Q. All primes are 1 modulo 2^8, so this shows from 2^9
//! on. Factors are kept modulo 2^64.

use crate::params::Params;

/// The inverse of an odd number modulo 2^64.
pub(super) fn inverse(a: u64) -> u64 {
    // a is its own inverse modulo 8, and every step doubles the bits
    (0..5).fold(a, |x, _| {
        x.wrapping_mul(2u64.wrapping_sub(a.wrapping_mul(x)))
    })
}

fn modulus(params: &Params, level: usize) -> u64 {
    let primes = params.basis(level).iter().map(|&i| params.modulus(i).p());
    primes.fold(1, u64::wrapping_mul)
}

/// Q^-1 modulo 2^64.
pub(crate) fn inverse_modulus(params: &Params, level: usize) -> u64 {
    inverse(modulus(params, level))
}

/// The factor of a switch from one level to another.
pub(crate) fn switch_factor(params: &Params, from: usize, to: usize) -> u64 {
    modulus(params, to).wrapping_mul(inverse_modulus(params, from))
}

/// The factor of x², if x has `factor` and the switch after the product multiplies by `down`.
pub(crate) fn squared_factor(factor: u64, down: u64) -> u64 {
    factor.wrapping_mul(factor).wrapping_mul(down)
}

/// The factor of x²·(3f - 2x), if x has f = `factor`: a switch multiplies x² and 3f - 2x by `down` each, another their
/// product by `last`.
pub(super) fn doubled_factor(factor: u64, [down, last]: [u64; 2]) -> u64 {
    let cube = [factor, factor, down, down, last];
    cube.into_iter().fold(factor, u64::wrapping_mul)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inverses_are_odd_inverses() {
        for a in [1, 3, 255, 0x1234_5679, u64::MAX] {
            assert_eq!(inverse(a).wrapping_mul(a), 1);
        }
    }
}
