//! Moments of squared amplitudes, up to a fixed order.

use std::array::from_fn;

/// Highest order of moments.
pub(crate) const ORDERS: usize = 32;

/// Coefficients of `t^0 … t^ORDERS`.
pub(super) type Series = [f64; ORDERS + 1];

/// Least value of a normalised moment.
const TINY: f64 = 1e-150;

/// The norms `‖V‖_m = E[V^m]^{1/m}` of a variance, `m = 1 … ORDERS`.
pub(super) type Norms = [f64; ORDERS];

/// `1/m!`.
const INVERSE_FACTORIAL: Series = {
    let mut out = [1.0; ORDERS + 1];
    let mut m = 1;
    while m <= ORDERS {
        out[m] = out[m - 1] / m as f64;
        m += 1;
    }
    out
};

fn product(a: &Series, b: &Series) -> Series {
    let mut out = [0.0; ORDERS + 1];
    for (i, &x) in a.iter().enumerate() {
        for (o, &y) in out[i..].iter_mut().zip(b) {
            *o += x * y;
        }
    }
    out
}

/// `e^{xt}`.
fn exponential(x: f64) -> Series {
    let mut out = INVERSE_FACTORIAL;
    let mut power = 1.0;
    for o in &mut out {
        *o *= power;
        power *= x;
    }
    out
}

/// Moments of the amplitude of a circular complex variable: `E|A|^{2m}/m!²`.
pub(super) struct Law(Series);

impl Law {
    /// `|a + R|` with `R` circular normal of variance `variance`:
    /// `E|A + R|^{2m} = Σ_i C(m,i)² (m-i)! variance^{m-i} E|A|^{2i}`.
    pub(super) fn offset_normal(a: f64, variance: f64) -> Self {
        let mut point = exponential(a * a);
        for (p, f) in point.iter_mut().zip(&INVERSE_FACTORIAL) {
            *p *= f;
        }
        Self(product(&point, &exponential(variance)))
    }

    /// `|A·B/d + R|`, `A` and `B` independent.
    pub(super) fn product_plus_normal(&self, other: &Self, d: f64, variance: f64) -> Self {
        let mut scale = 1.0;
        let scaled = from_fn(|m| {
            let value = self.0[m] * other.0[m] * scale;
            scale *= ((m + 1) as f64 / d).powi(2);
            value
        });
        Self(product(&scaled, &exponential(variance)))
    }

    /// Norms of `κ(1 + |A|²/d²)|B|²`, `A` and `B` independent.
    pub(super) fn share(&self, other: &Self, d: f64, kappa: f64) -> Norms {
        let mut scale = 1.0;
        let squares: Series = from_fn(|m| {
            let value = self.0[m] * scale;
            scale *= (m + 1) as f64 / (d * d);
            value
        });
        let widened = product(&squares, &INVERSE_FACTORIAL);
        from_fn(|i| {
            let m = i + 1;
            let log = (widened[m] * other.0[m]).ln() - 3.0 * INVERSE_FACTORIAL[m].ln();
            kappa * (log / m as f64).exp()
        })
    }
}

/// Logarithms of the moments of a sum of independent variables of given norms.
pub(super) fn sum_of_independent(shares: &[Norms]) -> Norms {
    let lead = shares.iter().map(|s| s[ORDERS - 1]).fold(0.0, f64::max);
    let series = |s: &Norms| -> Series {
        let mut out = INVERSE_FACTORIAL;
        for (m, (o, norm)) in (1..).zip(out[1..].iter_mut().zip(s)) {
            let power = (norm / lead).powi(m);
            // rounds underflow up
            *o *= if power < TINY { TINY } else { power };
        }
        out
    };
    let sum = shares[1..]
        .iter()
        .fold(series(&shares[0]), |sum, s| product(&sum, &series(s)));
    from_fn(|i| {
        let m = i + 1;
        (sum[m] / INVERSE_FACTORIAL[m]).ln() + m as f64 * lead.ln()
    })
}

/// Logarithms of the moments of `|Z|²`, from those of the variance of `Z`, given which `Z` is circular normal.
pub(super) fn normal_of_variance(log_moments: &Norms) -> Norms {
    from_fn(|i| log_moments[i] - INVERSE_FACTORIAL[i + 1].ln())
}

/// Norms of `|Z|`, from those of the variance of `Z`, given which `Z` is circular normal.
pub(super) fn normal_norms(variance: &Norms) -> Norms {
    from_fn(|i| {
        let m = (i + 1) as f64;
        (variance[i] / INVERSE_FACTORIAL[i + 1].powf(1.0 / m)).sqrt()
    })
}

/// The number that a variable exceeds with probability at most `exp(-nats)`, from the logarithms of its moments.
pub(super) fn quantile(log_moments: &Norms, nats: f64) -> f64 {
    log_moments
        .iter()
        .zip(1..)
        .map(|(log, m)| (log + nats) / f64::from(m))
        .fold(f64::INFINITY, f64::min)
        .exp()
}

/// Norms of `Σ weight·V` for dependent variances.
pub(super) fn weighted_sum<'a>(terms: impl Iterator<Item = (f64, &'a Norms)>) -> Norms {
    let mut out = [0.0; ORDERS];
    for (weight, norms) in terms {
        for (o, n) in out.iter_mut().zip(norms) {
            *o += weight * n;
        }
    }
    out
}

/// The larger of two sequences, order by order.
pub(super) fn raise(out: &mut Norms, by: &Norms) {
    for (o, b) in out.iter_mut().zip(by) {
        // NaN stays, and marks an unusable order
        *o = if *b > *o || b.is_nan() { *b } else { *o };
    }
}
