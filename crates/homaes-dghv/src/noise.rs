//! Noise: the worst case of the paper's lemmas, and the average case that the parameters of Table 1 rely on.
//!
//! Modulo p_j², a type I ciphertext is r + M·(p_j - 1)/2 with M = m + 2r*, and a type II ciphertext is
//! r + m·(p_j² - 1)/2 (CLT14 §3.1, §4). The model tracks the root mean square of r, and the mean and standard deviation
//! of M. Terms of a conversion count as independent and uniform, so M is centred for signed digits.
//!
//! | operation | r | M |
//! |---|---|---|
//! | fresh | 2^ρ/√3 | mean 1 |
//! | public bits: sum of up to ℓ fresh ones | √ℓ·2^ρ/√3 | mean 1 |
//! | sum | sum of the root mean squares | sum of the means, √ of the sum of variances |
//! | product 2c₁c₂, over p | r₁M₂ + r₂M₁, in the mean square | – |
//! | conversion | plus 2^(ρ+ω)·√(nΘ)/3 and 2^(η-η')·√(Θ/24) | deviation 2√(Θ/24) |
//!
//! The conversion adds the noise of n·Θ elements σ times digits of mean square 2^(2ω)/12, doubled, and the rounding of
//! c·z_i where s_i = 1, for half of the z_i. Unsigned digits have a mean: 2^(ρ+ω)·√(nΘ)·2/3, and M of mean Θ/2.

use crate::sets::ParamSet;

/// log2 of p/4 over 2^η, for the smallest p.
pub(crate) const LEAST_QUARTER: f64 = -3.0;

/// Noise r and factor M.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Noise {
    /// log2 of the root mean square of r; of a product, over p
    pub r_log2: f64,
    /// mean of M
    pub mean: f64,
    /// standard deviation of M
    pub deviation: f64,
}

impl Noise {
    /// Root mean square of M.
    pub fn m(self) -> f64 {
        self.mean.hypot(self.deviation)
    }

    /// Sum: r as if both were equal, M as if they were independent.
    pub(crate) fn plus(self, other: Self) -> Self {
        Self {
            r_log2: sum_log2(self.r_log2, other.r_log2),
            mean: self.mean + other.mean,
            deviation: self.deviation.hypot(other.deviation),
        }
    }

    fn of_product(r_log2: f64) -> Self {
        Self {
            r_log2,
            mean: 0.0,
            deviation: 0.0,
        }
    }

    /// Sum of products, which may share factors.
    pub(crate) fn plus_product(self, other: Self) -> Self {
        Self::of_product(sum_log2(self.r_log2, other.r_log2))
    }

    pub(crate) fn times(self, other: Self) -> Self {
        let parts = |m: fn(Self) -> f64| {
            [(self, other), (other, self)].map(|(a, b)| a.r_log2 + m(b).log2())
        };
        let ([a, b], [c, d]) = (parts(|n| n.mean), parts(|n| n.deviation));
        // means add, deviations are independent
        Self::of_product(hypot_log2(sum_log2(a, b), hypot_log2(c, d)))
    }
}

fn sum_log2(a: f64, b: f64) -> f64 {
    let (most, least) = (a.max(b), a.min(b));
    if least == f64::NEG_INFINITY {
        return most;
    }
    most + (least - most).exp2().ln_1p() / core::f64::consts::LN_2
}

fn hypot_log2(a: f64, b: f64) -> f64 {
    0.5 * sum_log2(2.0 * a, 2.0 * b)
}

/// Noise of the operations of a set.
#[derive(Clone, Debug, PartialEq)]
pub struct NoiseModel {
    slots: f64,
    rho: f64,
    eta: f64,
    floor_log2: f64,
    mean: f64,
    deviation: f64,
}

impl NoiseModel {
    pub(crate) fn new(set: &ParamSet) -> Self {
        let digits = set.digits;
        let [rho, eta, theta] = [set.rho, set.eta, set.theta].map(|x| x as f64);
        let terms = digits.count() as f64 * theta;
        let spread = if digits.signed { 1.0f64 } else { 2.0 } / 3.0;
        let elements = rho + digits.word as f64 + 0.5 * terms.log2() + spread.log2();
        let rounding = eta - digits.target as f64 + 0.5 * (theta / 24.0).log2();
        Self {
            slots: set.slots as f64,
            rho,
            eta,
            floor_log2: hypot_log2(elements, rounding),
            // twice the mean Θ/4 of r*
            mean: if digits.signed { 0.0 } else { theta / 2.0 },
            deviation: 2.0 * (theta / 24.0).sqrt(),
        }
    }

    /// A fresh ciphertext: r uniform in [-2^ρ, 2^ρ), M a bit.
    pub fn fresh(&self) -> Noise {
        Noise {
            r_log2: self.rho - 0.5 * 3f64.log2(),
            mean: 1.0,
            deviation: 0.0,
        }
    }

    /// Public bits, sums of up to ℓ fresh ciphertexts: r is √ℓ times that of one.
    pub fn public(&self) -> Noise {
        Noise {
            r_log2: self.fresh().r_log2 + 0.5 * self.slots.log2(),
            ..self.fresh()
        }
    }

    /// A public-key encryption with `elements` encryptions of 0 and factors of `bits` bits: r is √elements·2^bits/√3
    /// times that of a fresh ciphertext, plus that of public bits.
    pub fn encrypted(&self, elements: usize, bits: usize) -> Noise {
        let sum =
            self.fresh().r_log2 + bits as f64 - 0.5 * 3f64.log2() + 0.5 * (elements as f64).log2();
        Noise {
            r_log2: hypot_log2(sum, self.public().r_log2),
            ..self.fresh()
        }
    }

    /// The conversion of a product: adds the conversion's noise to r; M is new.
    pub fn converted(&self, product: Noise) -> Noise {
        self.of_converted(hypot_log2(product.r_log2, self.floor_log2))
    }

    pub(crate) fn of_converted(&self, r_log2: f64) -> Noise {
        Noise {
            r_log2,
            mean: self.mean,
            deviation: self.deviation,
        }
    }

    /// log2 of the root mean square that a conversion adds.
    pub(crate) fn floor_log2(&self) -> f64 {
        self.floor_log2
    }

    pub(crate) fn slots(&self) -> f64 {
        self.slots
    }

    /// Bits between r and p/4, where a bit decrypts wrongly, for the smallest p of η bits.
    pub fn capacity_bits(&self, noise: Noise) -> f64 {
        self.eta + LEAST_QUARTER - noise.r_log2
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Conclusion of CLT14 §3.2, worst case: bits of r after `levels` consecutive multiplications, starting from the
    /// least noise that Lemma 1 takes.
    fn worst_case(set: &ParamSet, levels: usize) -> f64 {
        let [rho, eta, theta] = [set.rho, set.eta, set.theta].map(|x| x as f64);
        let start = rho + (eta * theta).log2() + 5.0;
        start + levels as f64 * (theta.log2() + 9.0)
    }

    /// Which instances fit their primes in the worst case, as docs/papers.md and SECURITY.md say.
    #[test]
    fn the_worst_case_fits_few_instances() {
        let fits = |levels: usize| {
            crate::paper::INSTANCES
                .map(|set| worst_case(set, levels) <= set.eta as f64 + LEAST_QUARTER)
        };
        assert_eq!(fits(40), [true, true, true, true, false]);
        assert_eq!(fits(56), [true, false, false, false, false]);
    }
}
