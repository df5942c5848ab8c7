//! The probability that noise exceeds a threshold, far in the tail.

use core::f64::consts::{LN_2, LOG2_E, PI};

/// A normal variable plus products of two normal variables.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Mixture {
    /// Variance of the normal part.
    pub normal: f64,
    /// Variance of all products together.
    pub products: f64,
    /// Number of products.
    pub terms: u32,
}

impl Mixture {
    pub(crate) const fn of_normal(variance: f64) -> Self {
        Self {
            normal: variance,
            products: 0.0,
            terms: 0,
        }
    }

    /// Variance of the sum.
    #[must_use]
    pub fn total(&self) -> f64 {
        self.normal + self.products
    }

    #[must_use]
    pub(super) fn plus(self, normal: f64) -> Self {
        Self {
            normal: self.normal + normal,
            ..self
        }
    }
}

/// log2 of the probability that noise exceeds `threshold` in absolute value.
///
/// Without products it is `erfc(threshold/(√2 σ))`. With `m` products of variance `s²` each, it is the saddle-point
/// approximation from the cumulant generating function `V t²/2 - (m/2) ln(1 - s² t²)`. The relative error is that of
/// the first term of the asymptotic series of erfc: a few percent where the result is below `2^-20`.
#[must_use]
pub fn log2_tail(noise: &Mixture, threshold: f64) -> f64 {
    let Mixture {
        normal,
        products,
        terms,
    } = *noise;
    if terms == 0 || products <= 0.0 {
        return log2_erfc(threshold / (2.0 * noise.total()).sqrt());
    }
    let terms = f64::from(terms);
    let each = products / terms;
    // increases from 0 to infinity between 0 and 1/s
    let derivative = |t: f64| normal * t + products * t / (1.0 - each * t * t);
    let (mut low, mut high) = (0.0, each.sqrt().recip());
    for _ in 0..64 {
        let middle = f64::midpoint(low, high);
        if derivative(middle) < threshold {
            low = middle
        } else {
            high = middle
        }
    }
    let t = low;
    let rest = 1.0 - each * t * t;
    let cumulant = normal * t * t / 2.0 - terms / 2.0 * rest.ln();
    let curvature = normal + products * (1.0 + each * t * t) / (rest * rest);
    let ln = cumulant - t * threshold - (t * (2.0 * PI * curvature).sqrt()).ln() + LN_2;
    (ln * LOG2_E).min(0.0)
}

/// log2 of erfc for `x ≥ 0`, also where erfc underflows. Relative error of erfc below `10^-12`.
///
/// Below 2 by the Taylor series of erf, above by the continued fraction
/// `erfc(x) = exp(-x²)/√π · 1/(x + (1/2)/(x + (2/2)/(x + (3/2)/(x + …))))`.
#[must_use]
pub fn log2_erfc(x: f64) -> f64 {
    if x < 2.0 {
        // erf(x) = 2/√π exp(-x²) Σ 2^i x^(2i+1) / (1·3·…·(2i+1)), all terms positive.
        let (mut term, mut sum) = (x, x);
        for i in 1..60 {
            term *= 2.0 * x * x / f64::from(2 * i + 1);
            sum += term;
        }
        return (1.0 - 2.0 / PI.sqrt() * (-x * x).exp() * sum).log2();
    }
    let fraction = (1..=150)
        .rev()
        .fold(x, |tail, i| x + f64::from(i) / 2.0 / tail);
    -x * x * LOG2_E - (PI.sqrt() * fraction).log2()
}

/// `log2(2^a + 2^b)`.
pub(crate) fn log2_sum(a: f64, b: f64) -> f64 {
    let (low, high) = (a.min(b), a.max(b));
    if high == f64::NEG_INFINITY {
        return high;
    }
    high + (low - high).exp2().ln_1p() * LOG2_E
}
