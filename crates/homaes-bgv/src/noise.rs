//! Noise in the canonical embedding: what every ciphertext carries, and how it grows.
//!
//! The noise of (c0, c1) is the polynomial ν = c0 + c1·s mod Q, an even error plus the message. Its size is that of its
//! values ν_j at the n embeddings. A ciphertext carries three numbers: the root mean square over the embeddings; the
//! tail, a factor by which the largest value may exceed it; and the skew, a factor by which the mean square may be too
//! low because operands were not independent.
//!
//! | operation | mean square | largest value |
//! |---|---|---|
//! | fresh, symmetric | n(4σ² + 1/4) | 2^5 times the root |
//! | sum | sum | sum |
//! | product | product (values at different embeddings are independent) | product |
//! | constant of Z\[ζ_17\] | times the mean power of its sixteen values | times the largest |
//! | key switching, d digits up to D, special modulus P | plus d·n²σ²/3·(D/P)² | plus 2^5 times the root |
//! | modulus switch by X | times X^{-2}, plus ρ² | see below |
//!
//! In K = R\[w\] a basis element has mean square f = 3/2 instead of 1, so f·n and f·h replace n and h.
//!
//! ρ² = n(1 + h)/3 is the rounding noise: both parts are rounded to even multiples, uniform in (-1, 1), and the second
//! is multiplied by the secret of weight h. At embedding j the secret's own size counts: ρ_j² = n(1 + |s_j|²)/3, and
//! max_j |s_j|² is about 10 h.
//!
//! **Why AES does not carry a worst-case bound.** With D = 2^(drop)/ρ for a level, a product of noises u·ρ and v·ρ
//! becomes u·v/D after the switch. A bound that assumes all embeddings at their maximum at once never contracts unless
//! D exceeds those maxima several times over, which costs modulus at every level. The real danger is one orbit of
//! embeddings that runs away by squaring itself, for which many of its embeddings must be extreme at once.
//! `noise::runaway` bounds the probability of this event for each secret key at generation, and a set's
//! failure probability states it.
//!
//! For users' circuits the order of operations is unknown, and operands may depend on each other. Their ciphertexts
//! carry a separate bound (`bound.rs`), which decides what they may do.
//!
//! The bound of this module forgets a product only where the rounding noise outweighs it: after a switch, a carried
//! bound of at most 2^(5 + 2.5)·ρ merges with a rounding noise and its tail of 2^5. A product of two noises ρ is that
//! small at D ≥ 2^2.5, which is enough for AES. To reach 2^5 times the joint root mean square, several normal variables
//! would have to exceed three standard deviations each at an embedding with |s_j|² = 16 h. Tests compare measured noise
//! with this bound after every AES round.

pub(crate) mod bound;
pub(crate) mod runaway;

use bound::BoundModel;
use homaes_aes::Layout;
use homaes_math::Ring;
use homaes_math::sample::SIGMA;
use homaes_rns::{SwitchPlan, log2};

/// log2 of the tail factor of one Gaussian-like noise: eight standard deviations at an embedding with |s_j|² = 16 h.
const TAIL_BITS: f64 = 5.0;

/// log2 of how far a carried bound may exceed that of the rounding noise and still merge with it at a switch.
const FORGOTTEN_BITS: f64 = 2.5;

/// Size of a ciphertext's noise in the canonical embedding.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Noise {
    /// log2 of the root mean square over embeddings, operands taken as independent
    pub rms_log2: f64,
    /// log2 of the factor up to the largest embedding
    pub tail_log2: f64,
    /// log2 of the factor by which the root mean square may be too low, because of correlated sums, and of constants
    /// that are largest at the same rows. Part of the tail; not in files
    pub skew_log2: f64,
}

impl Noise {
    pub(crate) fn gaussian(rms_log2: f64) -> Self {
        Self::carried(rms_log2, TAIL_BITS)
    }

    /// A noise as read from a file.
    pub(crate) fn carried(rms_log2: f64, tail_log2: f64) -> Self {
        Self {
            rms_log2,
            tail_log2,
            skew_log2: 0.0,
        }
    }

    /// From the logarithms of the estimated rms, of the largest row's rms and of the largest embedding.
    fn of(rms_log2: f64, largest_row: f64, bound: f64) -> Self {
        Self {
            rms_log2,
            tail_log2: bound - rms_log2,
            skew_log2: largest_row - rms_log2,
        }
    }

    /// The trivial encryption of a plaintext: 0/1 coefficients, no error.
    pub(crate) fn plaintext(model: &NoiseModel) -> Self {
        Self::gaussian(0.5 * (model.power / 4.0).log2())
    }

    /// log2 of the bound on the largest embedding.
    pub fn bound_log2(&self) -> f64 {
        self.rms_log2 + self.tail_log2
    }

    /// log2 of a root mean square that also holds for dependent operands: includes the skew, and log2(k!) for a
    /// possible k-th power of one noise, whose squares |ν_j|² spread exponentially like |s_j|².
    pub fn safe_rms_log2(&self) -> f64 {
        let degree = (self.tail_log2 - self.skew_log2) / TAIL_BITS;
        self.rms_log2 + (self.skew_log2 + log2_factorial(degree)).min(self.tail_log2)
    }

    /// An estimate: log2 of half the modulus, of `modulus_bits`, over the standard deviation of a coefficient.
    pub(crate) fn capacity_bits(&self, model: &NoiseModel, modulus_bits: f64) -> f64 {
        modulus_bits - 1.0 - model.coefficients_log2(self.safe_rms_log2())
    }

    /// A sum of two independent noises, as in AES.
    pub(crate) fn plus(self, other: Self) -> Self {
        Self {
            rms_log2: log2::hypot(self.rms_log2, other.rms_log2),
            tail_log2: self.tail_log2.max(other.tail_log2),
            skew_log2: self.skew_log2.max(other.skew_log2),
        }
    }

    /// A sum with public bytes. Bounds add, because the same bytes may have been added before.
    pub(crate) fn plus_public(self, other: Self) -> Self {
        let sum = self.plus(other);
        let bound = log2::sum(self.bound_log2(), other.bound_log2());
        Self {
            tail_log2: bound - sum.rms_log2,
            ..sum
        }
    }

    /// A sum of two possibly dependent noises.
    pub(crate) fn plus_dependent(self, other: Self) -> Self {
        Self::of(
            log2::hypot(self.rms_log2, other.rms_log2),
            log2::sum(self.row_log2(), other.row_log2()),
            log2::sum(self.bound_log2(), other.bound_log2()),
        )
    }

    /// A product of two.
    pub(crate) fn times(self, other: Self) -> Self {
        Self {
            rms_log2: self.rms_log2 + other.rms_log2,
            tail_log2: self.tail_log2 + other.tail_log2,
            skew_log2: self.skew_log2 + other.skew_log2,
        }
    }

    /// A product with a factor of mean square `power`, about the same at every embedding.
    pub(crate) fn scaled(self, power: f64) -> Self {
        Self {
            rms_log2: self.rms_log2 + 0.5 * power.max(1e-9).log2(),
            ..self
        }
    }

    /// A product with a constant whose squared magnitude has the given mean and maximum over embeddings.
    pub(crate) fn times_constant(self, mean: f64, largest: f64) -> Self {
        let ratio = 0.5 * (largest.max(1e-9) / mean.max(1e-9)).log2();
        let out = self.scaled(mean);
        Self {
            tail_log2: out.tail_log2 + ratio,
            skew_log2: out.skew_log2 + ratio,
            ..out
        }
    }

    /// Σ c_i ν_i for independent ν_i, from |c_i|² at each of the sixteen rows.
    pub(crate) fn combination(terms: &[(Self, [f64; 16])]) -> Self {
        let sum = |f: fn(&Self) -> f64, row: usize| -> f64 {
            let squares = terms
                .iter()
                .map(|(noise, power)| (2.0 * f(noise)).exp2() * power[row]);
            squares.sum::<f64>().max(1e-9)
        };
        let largest = |f| 0.5 * (0..16).map(|row| sum(f, row)).fold(0.0, f64::max).log2();
        let mean = (0..16).map(|row| sum(|n| n.rms_log2, row)).sum::<f64>() / 16.0;
        Self::of(
            0.5 * mean.log2(),
            largest(Self::row_log2),
            largest(Self::bound_log2),
        )
    }

    /// Adds an independent Gaussian-like noise.
    pub(crate) fn with(self, rms_log2: f64) -> Self {
        Self::of(
            log2::hypot(self.rms_log2, rms_log2),
            log2::hypot(self.row_log2(), rms_log2),
            log2::sum(self.bound_log2(), rms_log2 + TAIL_BITS),
        )
    }

    /// After a modulus switch by `drop` bits.
    pub(crate) fn switched(self, drop: f64, model: &NoiseModel) -> Self {
        let rho = model.rho_log2;
        let rms = log2::hypot(self.rms_log2 - drop, rho);
        let row = log2::hypot(self.row_log2() - drop, rho);
        let bound = self.bound_log2() - drop;
        // the tail forgets what the rounding noise outweighs (see the module's text)
        let bound = if bound <= rho + TAIL_BITS + FORGOTTEN_BITS {
            rms + TAIL_BITS
        } else {
            log2::sum(bound, rho + TAIL_BITS)
        };
        Self::of(rms, row, bound)
    }

    /// log2 of the root mean square of the largest row.
    fn row_log2(&self) -> f64 {
        self.rms_log2 + self.skew_log2
    }
}

/// log2(k!) by Stirling's formula, also between integers; not negative.
fn log2_factorial(k: f64) -> f64 {
    let k = k.max(1.0);
    let stirling = k * (k.ln() - 1.0) + 0.5 * (core::f64::consts::TAU * k).ln() + 1.0 / (12.0 * k);
    (stirling / core::f64::consts::LN_2).max(0.0)
}

/// The primes that divide the conductor.
fn prime_factors(ring: &Ring) -> Vec<u32> {
    let all = [3, 5, 17, 257].into_iter();
    all.filter(|&r| ring.m().is_multiple_of(r.into())).collect()
}

/// The constants of a ring and a secret's weight.
#[derive(Clone, Debug, PartialEq)]
pub struct NoiseModel {
    /// mean square at an embedding of a polynomial whose coefficients have mean square 1
    power: f64,
    /// log2 ρ, the rounding noise of a modulus switch
    pub rho_log2: f64,
    /// log2 of the mean square ratio of coefficients to embeddings, halved
    coefficient_log2: f64,
    /// mean square of the sixteen constants of a packed round key together ([`NoiseModel::expanded`])
    mask_power: f64,
    /// mean square of the secret at an embedding
    weight: f64,
    bounds: BoundModel,
}

impl NoiseModel {
    pub(crate) fn new(ring: &Ring, weight: usize, log2_p_fail: f64) -> Self {
        let power = ring.power() * ring.n() as f64;
        let weight = ring.power() * weight as f64;
        // the dual of the normal basis of Z[ζ_r] has mean square 2/r per embedding, and that of 1 and w has 4/7 and 2/7
        let primes = prime_factors(ring).len() as u32;
        let halves = if ring.halves() == 1 { 1.0 } else { 4.0 / 7.0 };
        let dual = halves * f64::from(2u32.pow(primes)) / ring.m() as f64;
        let rho_log2 = 0.5 * (power / 3.0 * (1.0 + weight)).log2();
        Self {
            power,
            rho_log2,
            bounds: BoundModel::new(ring, rho_log2, log2_p_fail),
            coefficient_log2: 0.5 * dual.log2(),
            mask_power: 16.0 / 4.0 * ring.base().n() as f64 / ring.lens()[2] as f64,
            weight,
        }
    }

    /// The model of circuits on results of AES that ran in the ring of `cipher`.
    pub(crate) fn after(mut self, cipher: &Self) -> Self {
        self.bounds = self.bounds.after(cipher.rho_log2);
        self
    }

    /// The model behind the bounds of users' circuits.
    pub(crate) fn bounds(&self) -> &BoundModel {
        &self.bounds
    }

    /// A fresh symmetric encryption.
    pub fn fresh(&self) -> Noise {
        Noise::gaussian(0.5 * (self.power * (4.0 * SIGMA * SIGMA + 0.25)).log2())
    }

    /// A fresh public-key encryption, before its first modulus switch: 2(e·u + e_0 + e_1·s).
    pub fn fresh_public(&self) -> Noise {
        let terms = 2.0 / 3.0 * self.power + 1.0 + self.weight;
        let rms = 0.5 * (self.power * 4.0 * SIGMA * SIGMA * terms).log2();
        Noise::carried(rms, 2.0 * TAIL_BITS)
    }

    /// An expanded round key of a byte layout, whose expansion switches by `plan`, before it is lowered: the sum of the
    /// sixteen rotations of its trace, each times a constant ([`crate::aes::expand`]).
    ///
    /// A trace sums sixteen images of a fresh ciphertext and takes fifteen key switches. The rotation by k steps takes k
    /// more, 7.5 in the mean. Each switch adds its own noise and a rounding by the special primes. The constants of the
    /// sliced layout are periods, Σ_i |η_i|² = 241 everywhere. Those of the packed one have coefficients 0 and 1, which
    /// count as ±1/2, in the subring without the axis of 3, along which masks are constant; the mean of sixteen
    /// exponential variables is at most four times theirs.
    pub(crate) fn expanded(&self, plan: &SwitchPlan, layout: Layout) -> Noise {
        let square = |bits: f64| (2.0 * bits).exp2();
        let switch = square(self.key_switch_log2(1, plan)) + square(self.rho_log2);
        let mean = 16.0 * square(self.fresh().rms_log2) + (15.0 + 7.5) * switch;
        let noise = Noise::gaussian(0.5 * mean.log2());
        match layout {
            Layout::Packed => noise.times_constant(self.mask_power, 4.0 * self.mask_power),
            Layout::Sliced | Layout::Bits => noise.scaled(241.0),
        }
    }

    /// log2 of the noise of key switching `polys` polynomials by `plan`, before and relative to the division by the
    /// special modulus.
    pub(crate) fn key_switch_log2(&self, polys: usize, plan: &SwitchPlan) -> f64 {
        let terms = (polys * plan.digits.len()) as f64;
        let digit = plan.log2_digit_excess();
        0.5 * (terms * self.power * self.power * SIGMA * SIGMA / 3.0).log2() + digit
    }

    /// log2 of the standard deviation of coefficients in the normal basis, for canonical noise of `rms_log2`.
    pub fn coefficients_log2(&self, rms_log2: f64) -> f64 {
        rms_log2 + self.coefficient_log2
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use homaes_math::embed::squared_magnitudes;
    use rand_chacha::ChaCha20Rng;
    use rand_core::{Rng, SeedableRng};

    #[test]
    fn constants_of_the_full_ring() {
        let model = NoiseModel::new(&Ring::new(65535).unwrap(), 256, -64.0);
        assert!((model.rho_log2 - 10.71).abs() < 0.01);
        assert!((model.fresh().rms_log2 - 10.18).abs() < 0.01);
        assert!((model.coefficients_log2(0.0) + 6.0).abs() < 0.01);
    }

    #[test]
    fn constants_of_the_extension() {
        let ring = Ring::new(65535).unwrap().extended();
        let model = NoiseModel::new(&ring, 130, -64.0);
        assert!((model.rho_log2 - 11.31).abs() < 0.01);
        assert!((model.fresh().rms_log2 - 10.97).abs() < 0.01);
        assert!((model.coefficients_log2(0.0) + 6.4).abs() < 0.01);
    }

    #[test]
    fn roundings_at_both_roots_of_the_extension_correlate() {
        let ring = Ring::new(65535).unwrap().extended();
        let mut rng = ChaCha20Rng::from_seed([1; 32]);
        let errors = (0..ring.n()).map(|_| f64::from(rng.next_u32()) / 2f64.powi(31) - 1.0);
        let squares = squared_magnitudes(&ring, &errors.collect::<Vec<_>>());
        let mean = squares.iter().sum::<f64>() / ring.n() as f64;
        assert!((mean / (1.5 * ring.n() as f64 / 3.0) - 1.0).abs() < 0.02);
        let n = ring.base().n();
        let pairs = (0..n).map(|i| squares[ring.place(0, i)] * squares[ring.place(1, i)]);
        // of circular normal values with a correlation of √2/3
        let found = pairs.sum::<f64>() / n as f64 / (mean * mean);
        assert!((found - (1.0 + 2.0 / 9.0)).abs() < 0.05, "{found}");
    }

    #[test]
    fn growth_rules() {
        let model = NoiseModel::new(&Ring::new(65535).unwrap(), 256, -64.0);
        let a = model.fresh();
        assert!((a.plus(a).rms_log2 - a.rms_log2 - 0.5).abs() < 1e-9);
        assert!((a.times(a).bound_log2() - 2.0 * a.bound_log2()).abs() < 1e-9);
        assert!((a.scaled(4.0).rms_log2 - a.rms_log2 - 1.0).abs() < 1e-9);
        let s = a.times(a).switched(14.3, &model);
        assert!(s.rms_log2 > model.rho_log2 && s.rms_log2 < model.rho_log2 + 0.1);
        assert!((s.tail_log2 - TAIL_BITS).abs() < 1e-9);
    }

    #[test]
    fn what_is_not_forgotten_stays_in_the_bound() {
        let model = NoiseModel::new(&Ring::new(65535).unwrap(), 256, -64.0);
        let rho = Noise::gaussian(model.rho_log2);
        let product = rho.times(rho).switched(13.5, &model);
        assert!((product.tail_log2 - TAIL_BITS).abs() < 1e-9, "as AES needs");
        // a constant of uneven powers, twice: the bound counts its largest row each time
        let uneven = rho.times_constant(4.0, 16.0).times_constant(4.0, 16.0);
        assert!((uneven.rms_log2 - rho.rms_log2 - 2.0).abs() < 1e-9);
        assert!((uneven.bound_log2() - rho.bound_log2() - 4.0).abs() < 1e-9);
        assert!((uneven.safe_rms_log2() - rho.rms_log2 - 4.0).abs() < 0.1);
        let square = uneven.times(uneven);
        let after = square.switched(13.5, &model);
        assert!(after.bound_log2() >= square.bound_log2() - 13.5);
        // twice the same noise is twice as large, not √2 times
        assert!((rho.plus_dependent(rho).bound_log2() - rho.bound_log2() - 1.0).abs() < 1e-9);
        for (k, factorial) in [(1.0, 1.0), (2.0, 2.0), (4.0, 24.0), (8.0, 40320.0f64)] {
            assert!((log2_factorial(k) - factorial.log2()).abs() < 0.01);
        }
    }
}
