//! Noise in the canonical embedding, as a mean square.
//!
//! The noise of a ciphertext c is the polynomial f·c modulo q, centred: an even error plus the message; that of a
//! product is f²·c. Its size is the root mean square over the n embeddings. At n = 32768, the standard deviation of its
//! coefficients in the normal basis is 2^6 times smaller. f', g, s, e are centred binomial of variance 1, bounded by
//! B = 2.
//!
//! | operation | mean square |
//! |---|---|
//! | fresh: 2gs + 2ef + fm | n(4n) + (4n + 1)(4n + n/4), then a modulus switch by a special prime |
//! | public: fm, half of the coefficients of m being ±1 | (4n + 1) n/2 |
//! | sum | sum |
//! | product | product |
//! | relinearisation: Σ d_j (2g s_j + 2e_j f)/P | plus n(4n² + 4n(4n + 1))/12 · Σ (D_j/P)² |
//! | modulus switch by X | times X^-2, plus ρ² = (n/3)(4n + 1) |
//!
//! The last line is DHS14 §5 with the parity polynomial p, uniform in (-1, 1), times f.
//!
//! Sums and products treat noises as independent, and of one size at all embeddings. Noises share the factor f, so the
//! mean square of a product is twice that of the table; after a switch the rounding noise hides this.

use homaes_math::Ring;
use homaes_rns::log2;

/// Largest mean square of public bits over ρ²: all coefficients of m are ±1, (4n + 1) n.
pub(crate) const MOST_PUBLIC: f64 = 3.0;

/// Size of a noise over the embeddings.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Noise {
    /// log2 of the root mean square
    pub rms_log2: f64,
}

impl Noise {
    /// Sum of independent noises.
    pub(crate) fn plus(self, other: Self) -> Self {
        Self {
            rms_log2: log2::hypot(self.rms_log2, other.rms_log2),
        }
    }

    pub(crate) fn times(self, other: Self) -> Self {
        Self {
            rms_log2: self.rms_log2 + other.rms_log2,
        }
    }

    /// After a modulus switch by `drop` bits.
    pub(crate) fn switched(self, drop: f64, model: &NoiseModel) -> Self {
        Self {
            rms_log2: log2::hypot(self.rms_log2 - drop, model.rho_log2),
        }
    }
}

/// The prime factors of m.
pub(crate) fn factors(ring: &Ring) -> impl Iterator<Item = u64> {
    let all = [3, 5, 17, 257].into_iter();
    all.filter(|&r| ring.m().is_multiple_of(r))
}

/// Noise of the operations in a ring.
#[derive(Clone, Debug, PartialEq)]
pub struct NoiseModel {
    n: f64,
    /// log2 ρ, the rounding noise of a modulus switch
    pub rho_log2: f64,
    /// log2 of the root mean square of coefficients over that of embeddings
    coefficient_log2: f64,
}

impl NoiseModel {
    pub(crate) fn new(ring: &Ring) -> Self {
        let n = ring.n() as f64;
        // the dual of the normal basis of Z[ζ_r] has mean square 2/r per embedding
        let primes = factors(ring).count();
        Self {
            n,
            rho_log2: 0.5 * (n / 3.0 * (4.0 * n + 1.0)).log2(),
            coefficient_log2: 0.5 * (primes as f64 - (ring.m() as f64).log2()),
        }
    }

    fn of_square(square: f64) -> Noise {
        Noise {
            rms_log2: 0.5 * square.log2(),
        }
    }

    fn f_square(&self) -> f64 {
        4.0 * self.n + 1.0
    }

    /// A fresh encryption, switched down by `drop` bits
    /// ([`Arithmetic::encryption_drop`](crate::Arithmetic::encryption_drop)), or not at all if that is 0.
    pub fn fresh(&self, drop: f64) -> Noise {
        let n = self.n;
        let masked = Self::of_square(4.0 * n * n + self.f_square() * (4.0 * n + n / 4.0));
        match drop > 0.0 {
            true => masked.switched(drop, self),
            false => masked,
        }
    }

    /// Public bits as a ciphertext.
    pub fn public(&self) -> Noise {
        Self::of_square(self.f_square() * self.n / 2.0)
    }

    /// Noise that relinearisation adds before the modulus switch, for a
    /// [`digit_power`](crate::Arithmetic::digit_power).
    pub fn relinearisation(&self, digit_power: f64) -> Noise {
        let n = self.n;
        let part = 4.0 * n * n + 4.0 * n * self.f_square();
        Self::of_square(n * part / 12.0 * digit_power)
    }

    /// log2 of the standard deviation of coefficients in the normal basis.
    pub fn coefficients_log2(&self, noise: Noise) -> f64 {
        noise.rms_log2 + self.coefficient_log2
    }

    /// Bits between the standard deviation of a coefficient and half the modulus.
    pub fn capacity_bits(&self, noise: Noise, log2_modulus: f64) -> f64 {
        log2_modulus - 1.0 - self.coefficients_log2(noise)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn constants_of_the_full_ring() {
        let model = NoiseModel::new(&Ring::new(65535).unwrap());
        assert!((model.rho_log2 - 15.21).abs() < 0.01);
        let fresh = model.fresh(0.0);
        assert!((fresh.rms_log2 - 17.2).abs() < 0.1);
        let coefficients = model.coefficients_log2(fresh);
        assert!((coefficients - 11.2).abs() < 0.1, "{coefficients}");
        assert!((model.fresh(30.0).rms_log2 - model.rho_log2).abs() < 0.01);
        let product = fresh.times(fresh);
        let switched = product.switched(22.0, &model);
        assert!(switched.rms_log2 > model.rho_log2);
    }
}
