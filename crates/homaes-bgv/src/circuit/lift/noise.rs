//! Moments of the noise of lifted bits, at one embedding and in a coefficient.

use super::plan::Plan;
use super::{LIFT_LEVEL, MOST};
use crate::circuit::bounds::key_switch_variance_log2;
use crate::noise::bound::KEY_PEAK;
use crate::params::Params;
use homaes_rns::{SwitchPlan, log2};
use rayon::prelude::*;

/// Highest moment of the squared noise of pairs and of integers.
pub(crate) const ORDERS: usize = 16;
/// Steps of the mean over embeddings, per unit of κ.
const STEPS: usize = 32;

/// log2 E|X|^2q, q = 0 … : moments of a circular variable.
type Moments = Vec<f64>;

/// Moments of |μ| at one embedding; μ is the noise of lifted ciphertexts in units of t = 2.
#[derive(Clone, Debug, PartialEq)]
pub struct LiftNoise {
    moments: Moments,
}

/// Assumed size of roundings and key switches at an embedding with this κ.
#[derive(Clone, Copy)]
enum Case {
    /// mean key-switching noise over keys
    Mean(f64),
    /// key-switching errors of the worst embedding, and all variances raised by a factor
    Bound { kappa: f64, raise_log2: f64 },
}

impl LiftNoise {
    /// Bound for [`Evaluator::bit_planes`](crate::Evaluator::bit_planes) at an embedding with this κ. `carried_log2` is
    /// [`Lifted::carried_log2`](crate::Lifted::carried_log2); the variances of roundings and key switches are raised by
    /// 2^`raise_log2`.
    pub fn planes(params: &Params, carried_log2: f64, kappa: f64, raise_log2: f64) -> Self {
        let case = Case::Bound { kappa, raise_log2 };
        Self {
            moments: rounded(params, carried_log2, ORDERS, case),
        }
    }

    /// As [`planes`](Self::planes), for [`Evaluator::bit_pairs`](crate::Evaluator::bit_pairs).
    pub fn pairs(params: &Params, carried_log2: f64, kappa: f64, raise_log2: f64) -> Self {
        let case = Case::Bound { kappa, raise_log2 };
        Self {
            moments: pairs(params, carried_log2, ORDERS, case),
        }
    }

    /// log2 of the probability of the event outside which [`Lifted::carried_log2`](crate::Lifted::carried_log2) holds.
    pub fn event_log2(params: &Params) -> f64 {
        -params.noise().bounds().event_bits()
    }

    /// log2 of the rms noise of pairs over all embeddings of a usual key.
    pub fn pairs_rms_log2(params: &Params, carried_log2: f64) -> f64 {
        mean(|kappa| pairs(params, carried_log2, 1, Case::Mean(kappa))[1])
    }

    /// log2 of the rms noise of planes over all embeddings of a usual key.
    pub fn planes_rms_log2(params: &Params, carried_log2: f64) -> f64 {
        mean(|kappa| rounded(params, carried_log2, 1, Case::Mean(kappa))[1])
    }

    /// Bound for integers lifted by `plan` from `bits` planes ([`crate::Lifting`]), as [`planes`](Self::planes).
    pub(crate) fn integers(
        params: &Params,
        plan: &Plan<'_>,
        (bits, handed_log2): (u32, f64),
        [kappa, raise_log2]: [f64; 2],
    ) -> Self {
        let case = Case::Bound { kappa, raise_log2 };
        Self {
            moments: integers(params, plan, bits, handed_log2, ORDERS, case),
        }
    }

    /// log2 of the rms noise of such integers over all embeddings of a usual key.
    pub(crate) fn integers_rms_log2(
        params: &Params,
        plan: &Plan<'_>,
        (bits, handed_log2): (u32, f64),
    ) -> f64 {
        mean(|kappa| integers(params, plan, bits, handed_log2, 1, Case::Mean(kappa))[1])
    }

    /// A circular normal noise of this rms, with moments up to `orders`.
    pub fn normal(rms_log2: f64, orders: usize) -> Self {
        Self {
            moments: normal(2.0 * rms_log2, orders),
        }
    }

    /// log2 E|μ|^2q for q = 0, 1, …
    pub fn moments(&self) -> &[f64] {
        &self.moments
    }

    /// Adds an independent circular normal noise of this rms.
    pub fn with_normal(&self, rms_log2: f64) -> Self {
        Self {
            moments: with_normal(&self.moments, 2.0 * rms_log2),
        }
    }

    /// Times 2^`log2`.
    pub fn scaled(&self, log2: f64) -> Self {
        let moments = self.moments.iter().enumerate();
        Self {
            moments: moments.map(|(q, m)| m + 2.0 * q as f64 * log2).collect(),
        }
    }
}

/// Half of log2 of the mean of 2^f(κ), for κ exponentially distributed up to [`KEY_PEAK`].
fn mean(f: impl Fn(f64) -> f64) -> f64 {
    let step = 1.0 / STEPS as f64;
    let all = (0..STEPS * KEY_PEAK as usize).map(|i| (i as f64 + 0.5) * step);
    let (sum, weight) = all.fold((0.0, 0.0), |(sum, weight), kappa| {
        let w = (-kappa).exp();
        (sum + w * f(kappa).exp2(), weight + w)
    });
    0.5 * (sum / weight).log2()
}

/// log2 of the variance of a rounding.
fn rounding(params: &Params, case: Case) -> f64 {
    let (kappa, raise_log2) = match case {
        Case::Mean(kappa) => (kappa, 0.0),
        Case::Bound { kappa, raise_log2 } => (kappa, raise_log2),
    };
    2.0 * params.noise().rho_log2 + kappa.log2() + raise_log2
}

/// log2 of the variance that a division by `plan` adds.
fn fresh(params: &Params, plan: &SwitchPlan, case: Case) -> f64 {
    let noise = params.noise();
    let switch = match case {
        Case::Mean(_) => 2.0 * (noise.key_switch_log2(1, plan) - plan.log2_drop()),
        Case::Bound { raise_log2, .. } => key_switch_variance_log2(params, plan, 1) + raise_log2,
    };
    log2::sum(switch, rounding(params, case))
}

/// Moments of B + R_0 up to order `orders`.
fn rounded(params: &Params, carried_log2: f64, orders: usize, case: Case) -> Moments {
    let carried: Moments = (0..=orders)
        .map(|q| match q {
            0 => 0.0,
            q => 2.0 * q as f64 * carried_log2,
        })
        .collect();
    with_normal(&carried, rounding(params, case))
}

/// Moments of the squares of numbers modulo 2^`log2_t`, by `plan`.
fn squared(params: &Params, x: &Moments, log2_t: u32, plan: &SwitchPlan, case: Case) -> Moments {
    let factor = f64::from(log2_t) - 2.0 - plan.log2_drop();
    let squares = x.iter().step_by(2).enumerate();
    let squares: Moments = squares.map(|(q, m)| m + 2.0 * q as f64 * factor).collect();
    with_normal(&squares, fresh(params, plan, case))
}

/// Moments of b_0 + 2·b_1.
fn pairs(params: &Params, carried_log2: f64, orders: usize, case: Case) -> Moments {
    let most = MOST - 1;
    let mut x = rounded(params, carried_log2, orders << most, case);
    let mut level = LIFT_LEVEL - 1;
    for log2_t in 1..most {
        x = squared(params, &x, log2_t, params.switching(level), case);
        level -= 1;
    }
    let even = squared(params, &x, most, params.staying(level), case);
    plus(&even, &x)
}

/// Moments of y·w·2^(to - 1), which lifts numbers modulo 2^`log2_t` to modulo 2^`to`, before the division of its key
/// switch. y = x² comes down by `plan`, w = 3 - 2x by the same levels.
///
/// With y = a·x² + R and w = b·x + R', the roundings are independent of x and of each other, so E\|yw|^2q is
/// Σ_i Σ_j C(q,i)² (q-i)! v^(q-i) C(q,j)² (q-j)! v'^(q-j) a^2i b^2j E\|x|^(4i + 2j).
fn doubled(
    params: &Params,
    x: &[f64],
    [log2_t, to]: [u32; 2],
    plan: &SwitchPlan,
    case: Case,
) -> Moments {
    let [k, to] = [log2_t, to].map(f64::from);
    let square = (
        2.0 * k - 1.0 - to - plan.log2_drop(),
        fresh(params, plan, case),
    );
    let line = (k + 1.0 - to - plan.log2_drop(), rounding(params, case));
    let factorials = factorials(x.len());
    let moment = |q: usize| {
        let terms = |(factor, variance): (f64, f64)| -> Vec<f64> {
            let term = |i| {
                binomial(&factorials, q, i) + (q - i) as f64 * variance + 2.0 * i as f64 * factor
            };
            (0..=q).map(term).collect()
        };
        let (y, w) = (terms(square), terms(line));
        let all = y.iter().enumerate().flat_map(|(i, y)| {
            let x = &x[2 * i..];
            w.iter().zip(x).map(move |(w, x)| y + w + x)
        });
        sum(all.collect()) + 2.0 * q as f64 * (to - 1.0)
    };
    (0..=(x.len() - 1) / 3)
        .into_par_iter()
        .map(moment)
        .collect()
}

/// Moments after a division by 2^`drop` that adds a normal noise.
fn divided(x: &[f64], drop: f64, variance_log2: f64) -> Moments {
    let all = x.iter().enumerate();
    let all: Moments = all.map(|(q, m)| m - 2.0 * q as f64 * drop).collect();
    with_normal(&all, variance_log2)
}

/// Moments of Σ 2^i b_i modulo 2^k over the first `bits` bits, in the units of k, up to `orders`.
fn integers(
    params: &Params,
    plan: &Plan<'_>,
    bits: u32,
    handed_log2: f64,
    orders: usize,
    case: Case,
) -> Moments {
    let mut x = rounded(params, handed_log2, orders * plan.degree(), case);
    let (mut level, mut log2_t) = (plan.level - 1, 1);
    for _ in 0..plan.squarings {
        x = squared(params, &x, log2_t, params.switching(level), case);
        (level, log2_t) = (level - 1, log2_t + 1);
    }
    for &to in plan.between {
        let product = doubled(params, &x, [log2_t, to], params.switching(level), case);
        let last = params.switching(level - 1);
        x = divided(&product, last.log2_drop(), fresh(params, last, case));
        (level, log2_t) = (level - 2, to);
    }
    let down = params.switching(level);
    let bit = |i: u32| {
        let to = plan.log2_t - i;
        if plan.is_doubled(i) {
            return doubled(params, &x, [log2_t, to], down, case);
        }
        let low = divided(&x[..=orders], down.log2_drop(), rounding(params, case));
        let factor = f64::from(log2_t) - f64::from(to);
        low.iter()
            .enumerate()
            .map(|(q, m)| m + 2.0 * q as f64 * factor)
            .collect()
    };
    let none = normal(f64::NEG_INFINITY, orders);
    let all = (0..bits).map(bit).fold(none, |all, bit| plus(&all, &bit));
    with_normal(&all, fresh(params, params.staying(level - 1), case))
}

/// Moments of a sum. The mean squares of independent noises add, and norms add (Minkowski's inequality).
fn plus(a: &[f64], b: &[f64]) -> Moments {
    let root = |m: f64, q: usize| m / (2 * q).max(1) as f64;
    let sums = a.iter().zip(b).enumerate();
    sums.map(|(q, (&a, &b))| match q {
        0 => 0.0,
        1 => sum(vec![a, b]),
        q => 2.0 * q as f64 * sum(vec![root(a, q), root(b, q)]),
    })
    .collect()
}

/// Moments of a circular normal variable.
fn normal(variance_log2: f64, orders: usize) -> Moments {
    let nothing = (0..=orders).map(|q| if q == 0 { 0.0 } else { f64::NEG_INFINITY });
    with_normal(&nothing.collect::<Moments>(), variance_log2)
}

/// log2 q! up to q = `most`.
fn factorials(most: usize) -> Vec<f64> {
    let mut out = vec![0.0; most + 1];
    for q in 1..=most {
        out[q] = out[q - 1] + (q as f64).log2();
    }
    out
}

/// log2 of C(q,i)² (q-i)!.
fn binomial(factorials: &[f64], q: usize, i: usize) -> f64 {
    2.0 * (factorials[q] - factorials[i]) - factorials[q - i]
}

/// log2 of a sum, given the logarithms of its terms.
fn sum(terms: Vec<f64>) -> f64 {
    let lead = terms.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    if !lead.is_finite() {
        return lead;
    }
    lead + terms.iter().map(|t| (t - lead).exp2()).sum::<f64>().log2()
}

/// Moments of X + R for a circular normal R independent of X: E|X + R|^2q = Σ_i C(q,i)² (q-i)! v^(q-i) E|X|^2i.
fn with_normal(x: &[f64], variance_log2: f64) -> Moments {
    let factorials = factorials(x.len());
    let moment = |q: usize| {
        let term = |i: usize| {
            let normal = match q - i {
                0 => 0.0,
                some => some as f64 * variance_log2,
            };
            binomial(&factorials, q, i) + normal + x[i]
        };
        sum((0..=q).map(term).collect())
    };
    (0..x.len()).into_par_iter().map(moment).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sets;

    /// E|R|^2q = q! v^q, and for a square of R: E = (2q)! v^2q.
    #[test]
    fn moments_of_a_normal_variable() {
        let nothing = [0.0, f64::NEG_INFINITY, f64::NEG_INFINITY];
        let got = with_normal(&nothing, 3.0);
        for (got, want) in got.iter().zip([0.0, 3.0, 7.0]) {
            assert!((got - want).abs() < 1e-9, "{got} {want}");
        }
        // a constant
        let got = with_normal(&[0.0, 2.0, 4.0], f64::NEG_INFINITY);
        assert_eq!(got, [0.0, 2.0, 4.0]);
        // |1 + R|² has the mean 1 + v and the mean square 1 + 4v + 2v²
        let got = with_normal(&[0.0, 0.0, 0.0], 0.0);
        assert!((got[2] - 7f64.log2()).abs() < 1e-9);
    }

    /// The last squaring decides, and its argument is nearly a rounding noise: 4X² has the mean square 16·E|X|⁴, which
    /// is 16·4ρ⁴ for a rounding noise over all embeddings.
    #[test]
    fn the_last_squaring_decides() {
        let params = Params::new(&sets::AES192).unwrap();
        let rho = params.noise().rho_log2;
        let found = LiftNoise::pairs_rms_log2(&params, rho - 4.0);
        let least = 2.0 * rho + 2.0 + 1.0;
        assert!((least..least + 1.0).contains(&found), "{found} {least}");
    }
}
