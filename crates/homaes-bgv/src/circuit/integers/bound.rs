//! Bound on the noise of integers, at the worst embedding and in the worst coefficient.
//!
//! [`crate::noise::bound`] knows which noises are independent. Integers need less, because few products follow a lift:
//! norms of orders 2, 4, …, 2·[`ORDERS`] of the noise μ (in units of t = 2), as if all noises depended on each other.
//!
//! | operation | rule |
//! |---|---|
//! | sum, new rounding or key switch | norms add (Minkowski's inequality) |
//! | integer factor | norms times its magnitude |
//! | modulus switch | norms over the drop, then a new rounding |
//! | product | one factor becomes its quantile at 2^-100, an event that is counted |
//!
//! # Coefficients
//!
//! A coefficient in the normal basis is Σ_j d_j μ_j, and |d_j| is Π_r 2|sin(π a_r/r)|/r, where a = u·j modulo m for
//! coefficient u: the same numbers for every coefficient. Embeddings that agree modulo 17 and 257 form groups. As for a
//! bridge (docs/noise.md), with variances raised by Π r/(r - 1) over 17 and 257 groups are independent, and norms add
//! within a group: ‖Z_g‖_2q ≤ D_g ‖μ‖_2q with D_g the sum of |d_j|. The coefficient is S = 2 Re Z, Z the sum over one
//! group of each conjugate pair, so
//!
//! ```text
//! Σ_q E|Z|^2q x^q / q!² = Π_g Σ_q D_g^2q E|μ|^2q x^q / q!²        E S^2q = C(2q, q) E|Z|^2q
//! ```
//!
//! All groups have one series, so the logarithm of the product has the power sums Σ_g D_g^2q as factors. This holds for
//! a lift and for a rounding. After a rotation or a product groups may depend on each other; then coefficients follow
//! from norms that add: Σ_j |d_j| ‖μ‖, or the rules above applied to the coefficients themselves.

use crate::circuit::bounds::key_switch_variance_log2;
use crate::circuit::lift::noise::{LiftNoise, ORDERS};
use crate::noise::bound::KEY_PEAK;
use crate::params::Params;
use core::array;
use homaes_rns::series::{exponential, logarithm};
use homaes_rns::{SwitchPlan, log2};
use std::f64::consts::PI;

/// log2 of the norms of orders 2, 4, …
type Norms = [f64; ORDERS];

/// The primes whose embeddings are apart enough to count as independent.
const BETWEEN: [u64; 2] = [17, 257];

/// The bound of the module's text.
#[derive(Clone, Debug)]
pub(crate) struct IntegerBound {
    embedding: Norms,
    coefficient: Norms,
    /// events left out, each of probability 2^-100, or 2^-164 for sets with 2^-128
    events: f64,
}

/// log2 of the factor by which correlations between groups raise variances.
pub(crate) fn raise_log2(params: &Params) -> f64 {
    let some = BETWEEN
        .into_iter()
        .filter(|r| params.ring().m().is_multiple_of(*r));
    some.map(|r| (r as f64 / (r - 1) as f64).log2()).sum()
}

/// -log2 of the probability of an event that a bound leaves out.
fn event_bits(params: &Params) -> f64 {
    params.noise().bounds().event_bits()
}

fn added(a: &Norms, b: &Norms) -> Norms {
    array::from_fn(|q| match a[q].max(b[q]) {
        f64::NEG_INFINITY => f64::NEG_INFINITY,
        _ => log2::sum(a[q], b[q]),
    })
}

/// 2|sin(πa/r)|/r for a = 1 … r - 1.
fn dual(r: u64) -> Vec<f64> {
    let r = r as f64;
    (1..r as u64)
        .map(|a| 2.0 * (PI * a as f64 / r).sin() / r)
        .collect()
}

/// Σ_g D_g^q over all groups.
fn groups(params: &Params, q: i32) -> f64 {
    let primes = [3, 5, 17, 257]
        .into_iter()
        .filter(|r| params.ring().m().is_multiple_of(*r));
    let sums = primes.map(|r| match BETWEEN.contains(&r) {
        true => dual(r).iter().map(|d| d.powi(q)).sum::<f64>(),
        false => dual(r).iter().sum::<f64>().powi(q),
    });
    sums.product()
}

/// Norms of a coefficient, of a noise whose groups are independent.
fn coefficient(params: &Params, norms: &Norms) -> Norms {
    let unit = norms[0];
    let (mut factorial, mut series) = (1.0, [1.0; ORDERS + 1]);
    for (q, norm) in (1..).zip(norms) {
        factorial *= f64::from(q);
        series[q as usize] = (2.0 * f64::from(q) * (norm - unit)).exp2() / (factorial * factorial);
    }
    let mut log = logarithm(&series);
    for (q, x) in log.iter_mut().enumerate().skip(1) {
        *x *= 0.5 * groups(params, 2 * q as i32);
    }
    let sums = exponential(&log);
    let mut factorial = 0.0;
    array::from_fn(|at| {
        let q = at + 1;
        // C(2q, q) q!² = (2q)!
        factorial += ((2 * q - 1) as f64 * (2 * q) as f64).log2();
        unit + (sums[q].log2() + factorial) / (2 * q) as f64
    })
}

/// A number that a noise with these norms exceeds with a probability of at most 2^-`bits`, its log2.
fn quantile(norms: &Norms, bits: f64) -> f64 {
    let all = (1..)
        .zip(norms)
        .map(|(q, norm)| norm + bits / f64::from(2 * q));
    all.fold(f64::INFINITY, f64::min)
}

impl IntegerBound {
    /// A noise whose groups are independent, with these moments at the worst embedding (log2 E|μ|^2q, q = 0 …).
    pub(crate) fn new(params: &Params, moments: &[f64], events: f64) -> Self {
        let embedding = array::from_fn(|at| moments[at + 1] / (2 * (at + 1)) as f64);
        Self {
            embedding,
            coefficient: coefficient(params, &embedding),
            events,
        }
    }

    /// A rounding, with the noise of a key switch of `pieces` polynomials by `plan`.
    fn rounding(params: &Params, plan: Option<(&SwitchPlan, usize)>) -> Self {
        let rho = 2.0 * params.noise().rho_log2 + KEY_PEAK.log2();
        let switch = plan.map(|(plan, pieces)| key_switch_variance_log2(params, plan, pieces));
        let variance = switch.map_or(rho, |switch| log2::sum(switch, rho));
        let rms = 0.5 * (variance + raise_log2(params));
        Self::new(params, LiftNoise::normal(rms, ORDERS).moments(), 0.0)
    }

    pub(crate) fn plus(&self, other: &Self) -> Self {
        Self {
            embedding: added(&self.embedding, &other.embedding),
            coefficient: added(&self.coefficient, &other.coefficient),
            events: self.events + other.events,
        }
    }

    /// Times 2^`log2`.
    pub(crate) fn scaled(&self, log2: f64) -> Self {
        Self {
            embedding: self.embedding.map(|x| x + log2),
            coefficient: self.coefficient.map(|x| x + log2),
            events: self.events,
        }
    }

    /// After a modulus switch by `drop` bits.
    pub(crate) fn lowered(&self, params: &Params, drop: f64) -> Self {
        self.scaled(-drop).plus(&Self::rounding(params, None))
    }

    /// After a key switch of one polynomial by `plan`.
    pub(crate) fn switched(&self, params: &Params, plan: &SwitchPlan) -> Self {
        let fresh = Self::rounding(params, Some((plan, 1)));
        self.scaled(-plan.log2_drop()).plus(&fresh)
    }

    /// The noise of a product of polynomials.
    pub(crate) fn times(&self, other: &Self, params: &Params) -> Self {
        let most = |x: &Self| {
            quantile(
                &x.embedding,
                event_bits(params) + (params.ring().n() as f64 / 2.0).log2(),
            )
        };
        let [a, b] = [most(self), most(other)];
        let (cut, kept) = if a < b { (a, other) } else { (b, self) };
        let embedding = kept.embedding.map(|x| x + cut);
        let dual = groups(params, 1).log2();
        Self {
            embedding,
            coefficient: embedding.map(|x| x + dual),
            events: self.events + other.events + 1.0,
        }
    }

    /// log2 of a bound on the largest coefficient, outside an event of probability 2^-100.
    pub(crate) fn largest_log2(&self, params: &Params) -> f64 {
        quantile(
            &self.coefficient,
            event_bits(params) + (params.ring().n() as f64).log2(),
        )
    }

    /// log2 of a bound on the probability that a coefficient exceeds 2^`limit`, or that an event left out happens.
    pub(crate) fn failure_log2(&self, params: &Params, limit: f64) -> f64 {
        let all = (1..).zip(&self.coefficient);
        let one = all
            .map(|(q, norm)| f64::from(2 * q) * (norm - limit))
            .fold(0.0, f64::min);
        log2::sum(
            one + (params.ring().n() as f64).log2(),
            self.events.log2() - event_bits(params),
        )
        .min(0.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sets;

    /// Single embeddings form the groups of this ring, so a normal noise has the coefficients of the noise model.
    #[test]
    fn coefficients_of_a_normal_noise_are_normal() {
        let params = Params::new(&sets::TOY_4369).unwrap();
        let normal = LiftNoise::normal(3.0, ORDERS);
        let found = IntegerBound::new(&params, normal.moments(), 0.0).coefficient;
        let rms = params.noise().coefficients_log2(3.0);
        let mut moment = 0.0;
        for (q, norm) in (1..).zip(found) {
            // E S^2q = (2q - 1)!! v^q
            moment += f64::from(2 * q - 1).log2();
            let want = rms + moment / f64::from(2 * q);
            assert!((norm - want).abs() < 1e-6, "{q}: {norm} {want}");
        }
    }

    /// Heavier tails reach coefficients, but never beyond the sum of all embeddings at their worst.
    #[test]
    fn coefficients_stay_below_the_sum_of_embeddings() {
        let params = Params::new(&sets::TOY_255).unwrap();
        let normal = LiftNoise::normal(3.0, 2 * ORDERS);
        // the square of a normal noise
        let squares: Vec<f64> = normal.moments().iter().step_by(2).copied().collect();
        let [normal, squares] =
            [normal.moments(), &squares].map(|x| IntegerBound::new(&params, x, 0.0));
        let product = normal.times(&normal, &params);
        for q in 0..ORDERS {
            let most = squares.embedding[q] + groups(&params, 1).log2();
            assert!(squares.coefficient[q] < most);
            assert!(squares.embedding[q] < product.embedding[q]);
            assert!(squares.coefficient[q] < product.coefficient[q]);
        }
        let rise = |x: &IntegerBound| x.coefficient[ORDERS - 1] - x.coefficient[0];
        assert!(rise(&squares) > rise(&normal));
    }
}
