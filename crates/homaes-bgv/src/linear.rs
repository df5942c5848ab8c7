//! The constants of AES's linear layer as elements of Z\[ζ_17\].
//!
//! With b = y^127, the inverse of y is σ(b). Encrypting, SubBytes and MixColumns are
//!
//! ```text
//! out_r = Σ_j c_j S(b_{r+j}),      S(b) = Σ_k γ_k σ^(k+1)(b),      c = (2, 3, 1, 1)
//! ```
//!
//! plus 0x63, where Σ_k γ_k x^(2^k) is the linear part A of the affine map. Decrypting, the state between rounds is the
//! argument of the next inversion, so A⁻¹ comes after InvMixColumns:
//!
//! ```text
//! out_r = Σ_k λ_k σ^(k+1)(Σ_j c'_j b_{r+j}),      c'_j² = (14, 11, 13, 9)_j
//! ```
//!
//! where Σ_k λ_k x^(2^k) = A⁻¹. The constants of InvMixColumns move before σ, where they become square roots. Either
//! way, one set of seven key switches per byte serves all four rows.
//!
//! Encrypting, 2S is "2"·S and 3S is 2S + S, so MixColumns needs no second set of inner products. This costs 0.4 bits
//! of noise against separate sums.

use crate::row_constant::row_powers;
use homaes_aes::state::circulant;
use homaes_aes::{Direction, gf256};
use homaes_math::slots::Slots;

/// The linear layer's constants for one slot structure and direction, as exponents of ζ_17.
#[derive(Clone, Debug)]
pub(crate) struct LinearLayer {
    pub(crate) direction: Direction,
    /// γ_k or λ_k, used with σ^(k+1)
    pub(crate) gamma: [Vec<u8>; 8],
    pub(crate) mix: [Vec<u8>; 4],
    powers: [f64; 3],
}

impl LinearLayer {
    pub(crate) fn new(slots: &Slots, direction: Direction) -> Self {
        let (gamma, mix) = match direction {
            Direction::Encrypt => {
                let two = slots.constant(2);
                let three = [&two[..], &[0]].concat();
                let gamma = gf256::linearised(gf256::affine_linear);
                (gamma, [two, three, vec![0], vec![0]])
            }
            Direction::Decrypt => {
                let gamma = gf256::linearised(gf256::affine_linear_inv);
                // the square root is the seventh square
                let root = |c| slots.constant(gf256::frobenius(c, 7));
                (gamma, circulant(direction).map(root))
            }
        };
        let gamma = gamma.map(|c| slots.constant(c));
        Self {
            direction,
            powers: mean_powers(direction, &gamma, &mix),
            gamma,
            mix,
        }
    }

    /// Noise power of the sums over k alone, over j alone, and of both; the mean over rows.
    pub(crate) fn mean_powers(&self) -> [f64; 3] {
        self.powers
    }
}

fn mean_powers(direction: Direction, gamma: &[Vec<u8>], mix: &[Vec<u8>]) -> [f64; 3] {
    let powers = |e: &[Vec<u8>]| e.iter().map(|e| row_powers(e)).collect::<Vec<_>>();
    let (gamma, mix) = (powers(gamma), powers(mix));
    let mut out = [0.0; 3];
    for row in 0..16 {
        let [gamma, mix] = [&gamma, &mix].map(|all| all.iter().map(|p| p[row]).sum::<f64>());
        for (o, x) in out.iter_mut().zip([gamma, mix, gamma * mix]) {
            *o += x / 16.0;
        }
    }
    if direction == Direction::Decrypt {
        // σ^(k+1) moves the mixing constants to other rows
        out[2] = out[0] * out[1];
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::params::SECOND_CLASS;
    use homaes_math::Ring;

    #[test]
    fn second_class_is_the_best() {
        let ring = Ring::new(255).unwrap();
        let power = |second_class: usize| {
            let slots = Slots::new(&ring, second_class).unwrap();
            LinearLayer::new(&slots, Direction::Encrypt).mean_powers()[2]
        };
        let best = (1..16).step_by(2).map(power).fold(f64::INFINITY, f64::min);
        assert!(power(SECOND_CLASS) <= best + 1e-9);
    }
}
