//! Noise in the canonical embedding: what every ciphertext carries, and how it grows.
//!
//! The noise of (c0, c1) is the polynomial ν = c0 + c1·s mod Q, an even error plus the message. Its size
//! is that of its values ν_j at the n embeddings. A ciphertext carries two numbers: the root mean
//! square over the embeddings, and a tail factor by which the largest value may exceed it.
//!
//! | operation | mean square |
//! |---|---|
//! | fresh, symmetric | n(4σ² + 1/4) |
//! | sum | sum |
//! | product | product (values at different embeddings are independent) |
//! | sum of powers of ζ_17 of power w | times w |
//! | key switching, d digits up to D, special modulus P | plus d·n²σ²/3·(D/P)² |
//! | modulus switch by X | times X^{-2}, plus ρ² |
//!
//! ρ² = n(1 + h)/3 is the rounding noise: both parts are rounded to even multiples, uniform in (-1, 1),
//! and the second is multiplied by the secret of weight h. At embedding j the secret's own size
//! counts: ρ_j² = n(1 + |s_j|²)/3, and max_j |s_j|² is about 10 h.
//!
//! **Why a worst-case bound is not carried.** Writing D = 2^(drop)/ρ for a level, a product of noises u·ρ and
//! v·ρ becomes u·v/D after the switch. A bound that assumes all embeddings at their maximum at once
//! never contracts unless D exceeds those maxima several times over, which costs modulus at every level.
//! What can really go wrong is that one orbit of embeddings runs away by squaring itself, and that needs
//! many of its embeddings to be extreme at once. The probability of it is what [`crate::stability`] bounds,
//! for each secret key at generation, and what a set's failure probability states. The bound carried here is the mean square times
//! 2^(5·degree) with degree the number of noises multiplied since the last switch; tests hold measured
//! noise against it after every operation and every AES round.

use homaes_math::Ring;
use homaes_math::sample::SIGMA;

/// log2 of the tail factor of one Gaussian-like noise: covers an embedding with |s_j|² = 16 h at eight
/// standard deviations.
const TAIL_BITS: f64 = 5.0;

/// Size of a ciphertext's noise in the canonical embedding.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Noise {
    /// log2 of the root mean square over embeddings
    pub rms_log2: f64,
    /// log2 of the factor up to the largest embedding
    pub tail_log2: f64,
}

impl Noise {
    /// Of the trivial encryption of a plaintext: 0/1 coefficients, no error.
    pub(crate) fn plaintext(model: &NoiseModel) -> Self {
        Self {
            rms_log2: 0.5 * (model.n / 4.0).log2(),
            tail_log2: TAIL_BITS,
        }
    }

    /// log2 of the bound on the largest embedding.
    pub fn bound_log2(&self) -> f64 {
        self.rms_log2 + self.tail_log2
    }

    /// Of a sum of two.
    pub(crate) fn plus(self, other: Self) -> Self {
        Self {
            rms_log2: log2_hypot(self.rms_log2, other.rms_log2),
            tail_log2: self.tail_log2.max(other.tail_log2),
        }
    }

    /// Of a product of two.
    pub(crate) fn times(self, other: Self) -> Self {
        Self {
            rms_log2: self.rms_log2 + other.rms_log2,
            tail_log2: self.tail_log2 + other.tail_log2,
        }
    }

    /// After multiplication by something of mean square `power`.
    pub(crate) fn scaled(self, power: f64) -> Self {
        Self {
            rms_log2: self.rms_log2 + 0.5 * power.max(1e-9).log2(),
            ..self
        }
    }

    /// With an independent Gaussian-like noise added.
    pub(crate) fn with(self, rms_log2: f64) -> Self {
        Self {
            rms_log2: log2_hypot(self.rms_log2, rms_log2),
            ..self
        }
    }

    /// After a modulus switch by `drop` bits.
    pub(crate) fn switched(self, drop: f64, model: &NoiseModel) -> Self {
        let carried = self.rms_log2 - drop;
        // a product that the rounding noise outweighs no longer shapes the tail (see above)
        let tail_log2 = if carried < model.rho_log2 {
            TAIL_BITS
        } else {
            self.tail_log2
        };
        Self {
            rms_log2: log2_hypot(carried, model.rho_log2),
            tail_log2,
        }
    }
}

/// log2 sqrt(2^2a + 2^2b).
fn log2_hypot(a: f64, b: f64) -> f64 {
    let (hi, lo) = if a > b { (a, b) } else { (b, a) };
    hi + 0.5 * (1.0 + (2.0 * (lo - hi)).exp2()).log2()
}

/// The constants of a ring and a secret's weight.
#[derive(Clone, Debug, PartialEq)]
pub struct NoiseModel {
    n: f64,
    /// log2 ρ, the rounding noise of a modulus switch
    pub rho_log2: f64,
    /// log2 of the mean square ratio of coefficients to embeddings, halved
    coefficient_log2: f64,
    weight: f64,
}

impl NoiseModel {
    pub(crate) fn new(ring: &Ring, weight: usize) -> Self {
        let n = ring.n() as f64;
        // the dual of the normal basis of Z[ζ_r] has mean square 2/r per embedding
        let primes: u32 = [3, 5, 17, 257]
            .iter()
            .filter(|&&r| ring.m().is_multiple_of(r))
            .count() as u32;
        let dual = f64::from(2u32.pow(primes)) / ring.m() as f64;
        Self {
            n,
            rho_log2: 0.5 * (n / 3.0 * (1.0 + weight as f64)).log2(),
            coefficient_log2: 0.5 * dual.log2(),
            weight: weight as f64,
        }
    }

    /// Of a fresh symmetric encryption.
    pub fn fresh(&self) -> Noise {
        Noise {
            rms_log2: 0.5 * (self.n * (4.0 * SIGMA * SIGMA + 0.25)).log2(),
            tail_log2: TAIL_BITS,
        }
    }

    /// Of a fresh public-key encryption, before its first modulus switch: 2(e·u + e_0 + e_1·s).
    pub fn fresh_public(&self) -> Noise {
        let terms = 2.0 / 3.0 * self.n + 1.0 + self.weight;
        Noise {
            rms_log2: 0.5 * (self.n * 4.0 * SIGMA * SIGMA * terms).log2(),
            tail_log2: 2.0 * TAIL_BITS,
        }
    }

    /// log2 of the noise that key switching `polys` polynomials adds, each in `digits` digits,
    /// before and relative to the division by the special modulus.
    pub(crate) fn key_switch_log2(
        &self,
        polys: usize,
        digits: usize,
        log2_digit_excess: f64,
    ) -> f64 {
        let terms = (polys * digits) as f64;
        0.5 * (terms * self.n * self.n * SIGMA * SIGMA / 3.0).log2() + log2_digit_excess
    }

    /// log2 of the standard deviation of coefficients in the normal basis, for canonical noise of
    /// `rms_log2`.
    pub fn coefficients_log2(&self, rms_log2: f64) -> f64 {
        rms_log2 + self.coefficient_log2
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn constants_of_the_full_ring() {
        let model = NoiseModel::new(&Ring::new(65535).unwrap(), 256);
        assert!((model.rho_log2 - 10.71).abs() < 0.01);
        assert!((model.fresh().rms_log2 - 10.18).abs() < 0.01);
        assert!((model.coefficients_log2(0.0) + 6.0).abs() < 0.01);
    }

    #[test]
    fn growth_rules() {
        let model = NoiseModel::new(&Ring::new(65535).unwrap(), 256);
        let a = model.fresh();
        assert!((a.plus(a).rms_log2 - a.rms_log2 - 0.5).abs() < 1e-9);
        assert!((a.times(a).bound_log2() - 2.0 * a.bound_log2()).abs() < 1e-9);
        assert!((a.scaled(4.0).rms_log2 - a.rms_log2 - 1.0).abs() < 1e-9);
        let s = a.times(a).switched(14.3, &model);
        assert!(s.rms_log2 > model.rho_log2 && s.rms_log2 < model.rho_log2 + 0.1);
    }
}
