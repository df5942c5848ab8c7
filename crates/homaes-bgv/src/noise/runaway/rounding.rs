//! The deviation of a final result from its message, in units of the modulus: AES's and that of rounding.
//!
//! With k bits of a coefficient of c1 and k' of c0, errors are uniform within half a unit: `E = δ0 + δ1·s`. Uniform
//! variables have the tails of a normal one of their variance, and so have sums. A coefficient of `δ1·s` has variance
//! `4^-k/12` times the squared norm of its row of the multiplication by `s`. With `d_i` the dual basis and `s_j` the
//! embeddings of `s`, a row is `Vᵀ(d_ij s_j)_j`, where `V` maps coefficients to embeddings and `V V*` has eigenvalues of
//! at most `m`. So its squared norm is at most `m Σ_j |d_ij|² |s_j|²`, with `|d_ij|² = Π_r (2 - 2 cos(2π i j/r))/r²`.

use crate::noise::prime_factors;
use core::f64::consts::TAU;
use homaes_math::Ring;
use homaes_math::embed::correlated;

/// Bits of a coefficient of c1 and of c0.
pub(crate) const MASK_BITS: u32 = 12;
pub(crate) const BODY_BITS: u32 = 6;

/// Errors of rounding under one secret, or a typical one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rounding {
    /// bound on the squared norm of a row of the multiplication by the secret
    row: f64,
}

impl Rounding {
    /// The bound on average over secrets of a weight.
    pub(crate) fn typical(ring: &Ring, weight: usize) -> Self {
        Self::of_weight(prime_factors(ring).len(), weight)
    }

    pub(super) fn of_weight(axes: usize, weight: usize) -> Self {
        let row = (1u64 << axes) as f64 * weight as f64;
        Self { row }
    }

    /// From the squared embeddings `|s_j|²`.
    pub(super) fn of_secret(ring: &Ring, squares: &[f64]) -> Self {
        let weight = |r: u64, k: u64| {
            let r = r as f64;
            (2.0 - 2.0 * (TAU * k as f64 / r).cos()) / r
        };
        let rows = correlated(ring, squares, weight);
        let row = rows.iter().copied().fold(0.0, f64::max);
        Self { row }
    }

    /// Variance of a coefficient's deviation.
    pub(crate) fn variance(self) -> f64 {
        let unit = |bits: u32| 0.25f64.powi(bits as i32) / 12.0;
        self.row * unit(MASK_BITS) + unit(BODY_BITS)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use homaes_math::embed::squared_magnitudes;
    use homaes_math::sample::fixed_weight;
    use rand_chacha::ChaCha20Rng;
    use rand_core::SeedableRng;

    /// The rows of a small ring's secret, one by one: coefficients of ζ^k·s by the dual basis.
    #[test]
    fn rows_are_within_the_bound() {
        let ring = Ring::new(255).unwrap();
        let (n, m) = (ring.n(), ring.m());
        let mut s = vec![0; n];
        fixed_weight(&mut ChaCha20Rng::from_seed([3; 32]), 64, &mut s);
        let real: Vec<f64> = s.iter().map(|&x| x as f64).collect();
        let found = Rounding::of_secret(&ring, &squared_magnitudes(&ring, &real));
        // coefficients of ζ^e in the normal basis: -1 for every power of a prime's root where that root is absent
        let axes = [3u64, 5, 17];
        let product = |k: u64| -> Vec<i64> {
            let mut out = vec![0; n];
            for (i, &s) in s.iter().enumerate().filter(|(_, s)| **s != 0) {
                let e = (ring.exponent(i) + k) % m;
                for (at, out) in out.iter_mut().enumerate() {
                    let other = ring.exponent(at);
                    let factor = axes.iter().map(|r| match (e % r, other % r) {
                        (0, _) => -1,
                        (a, b) => i64::from(a == b),
                    });
                    *out += s * factor.product::<i64>();
                }
            }
            out
        };
        let mut rows = vec![0.0; n];
        for k in 0..n {
            let image = product(ring.exponent(k));
            for (row, x) in rows.iter_mut().zip(image) {
                *row += (x * x) as f64;
            }
        }
        let largest = rows.iter().copied().fold(0.0, f64::max);
        assert!(largest <= found.row, "{largest} {}", found.row);
        assert!(found.row < 3.0 * largest, "{largest} {}", found.row);
    }
}
