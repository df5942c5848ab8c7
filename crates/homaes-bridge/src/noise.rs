//! Noise of what is read, and how often it is read wrongly.
//!
//! A reading is S = Σ_j D_j μ_j over the embeddings, D the functional's dual embedding ([`weights`](crate::weights)) and μ_j the noise there. With S = 2 Re Z,
//! Z the sum over one embedding of every conjugate pair, and values at different embeddings taken as circular and independent,
//!
//! ```text
//! Σ_q E|Z|^2q x^q / q!² = Π_j Σ_q |D_j|^2q E|μ_j|^2q x^q / q!²        E S^2q = C(2q, q) E|Z|^2q
//! ```
//!
//! because only products with the same phases on both sides have a mean. With c_q the coefficients of the logarithm of Σ_q E|μ|^2q x^q/q!², the logarithm of
//! the product is Σ_q c_q P_q x^q, where P_q = Σ_j |D_j|^2q are power sums: the moments of a reading cost a few numbers per functional. By Markov's inequality
//! |S| exceeds y with a probability of at most E S^2q / y^2q, at the best q. μ is taken as large everywhere as at the worst embedding of the worst key
//! that is accepted.
//!
//! In units of the noise for t = 2, modulo the prime q of the ring switch, μ is the lifted noise times q/Q, plus
//!
//! | what | variance at one embedding |
//! |---|---|
//! | rounding of the descent | ρ²κ |
//! | errors of the bridge key | 4·LEVELS·n²σ²·2^(2·BASE)/12 |
//! | dropped bits of c1 | 4·n·2^(2·LOW)/12·\|s_j\|² |

use crate::key::{BASE, LEVELS, LOW};
use homaes_bgv::{KEY_PEAK, LiftNoise, Params, worst_key_switch_spread};
use homaes_math::sample::SIGMA;

/// log2 of the probability that a plane was handed more noise than was assumed.
const EVENT_LOG2: f64 = -100.0;

/// Power sums Σ|D_j|^2q over one embedding of every pair, from |D_j|² of all.
pub(crate) fn power_sums(squares: &[f64], orders: usize) -> Vec<f64> {
    let power = |q: usize| 0.5 * squares.iter().map(|x| x.powi(q as i32)).sum::<f64>();
    (0..=orders).map(power).collect()
}

/// Noise that the ring switch adds at one embedding, log2 of its root mean square in units of t = 2; the mean, or for the worst embedding and key.
pub(crate) fn switch_log2(params: &Params, worst: bool) -> f64 {
    let n = params.ring().n() as f64;
    let levels = LEVELS as f64;
    let (spread, kappa) = match worst {
        true => (worst_key_switch_spread(&[1.0; LEVELS]), KEY_PEAK),
        false => (1.0, 1.0),
    };
    let digit = f64::from(2 * BASE).exp2() / 12.0;
    let low = f64::from(2 * LOW).exp2() / 12.0;
    let errors = levels * n * n * SIGMA * SIGMA * digit * spread;
    let dropped = n * low * params.set().weight as f64 * kappa;
    let rounding = n / 3.0 * (1.0 + params.set().weight as f64) * kappa;
    0.5 * (4.0 * (errors + dropped) + rounding).log2()
}

/// log2 of a bound on the probability that a reading's noise exceeds 2^`limit_log2` in units of `noise`.
pub(crate) fn exceeds_log2(noise: &LiftNoise, powers: &[f64], limit_log2: f64) -> f64 {
    let moments = noise.moments();
    let orders = moments.len().min(powers.len());
    // in units of the root mean square at one embedding
    let unit = moments[1];
    let mut factorial = 1.0;
    let series: Vec<f64> = (0..orders)
        .map(|q| {
            factorial *= q.max(1) as f64;
            (moments[q] - q as f64 * unit).exp2() / (factorial * factorial)
        })
        .collect();
    let log: Vec<f64> = logarithm(&series)
        .iter()
        .zip(powers)
        .map(|(c, p)| c * p)
        .collect();
    let sums = exponential(&log);
    let limit = limit_log2 - 0.5 * unit;
    let mut best = 0.0f64;
    let mut factorial = 1.0f64;
    for (q, z) in sums.iter().enumerate().skip(1) {
        // C(2q, q) q!² = (2q)!
        factorial *= ((2 * q - 1) * 2 * q) as f64;
        best = best.min((z * factorial).log2() - 2.0 * q as f64 * limit);
    }
    best
}

/// log2 of the sum of `count` such probabilities, with what the planes were handed.
pub(crate) fn batch_log2(each_log2: f64, count: usize, planes: usize) -> f64 {
    let readings = each_log2 + (count.max(1) as f64).log2();
    let planes = EVENT_LOG2 + (planes.max(1) as f64).log2();
    homaes_leveled::log2::sum(readings, planes)
}

/// Coefficients of the logarithm of a power series that begins with 1.
fn logarithm(a: &[f64]) -> Vec<f64> {
    let mut out = vec![0.0; a.len()];
    for q in 1..a.len() {
        let known: f64 = (1..q).map(|i| i as f64 * out[i] * a[q - i]).sum();
        out[q] = a[q] - known / q as f64;
    }
    out
}

/// Coefficients of the exponential of a power series that begins with 0.
fn exponential(a: &[f64]) -> Vec<f64> {
    let mut out = vec![0.0; a.len()];
    out[0] = 1.0;
    for q in 1..a.len() {
        let sum: f64 = (1..=q).map(|i| i as f64 * a[i] * out[q - i]).sum();
        out[q] = sum / q as f64;
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn series_are_inverse() {
        let a = [1.0, 0.5, 2.0, -0.25, 3.0];
        let back = exponential(&logarithm(&a));
        assert!(a.iter().zip(&back).all(|(a, b)| (a - b).abs() < 1e-12));
        // log(1 + x) = x - x²/2 + …
        assert_eq!(logarithm(&[1.0, 1.0, 0.0, 0.0])[1..3], [1.0, -0.5]);
    }

    /// Of one normal variable, E S^2q = (2q)!/q!·(variance/2)^q …, of which the bound is Markov's.
    #[test]
    fn a_normal_variable_has_its_moments() {
        let noise = LiftNoise::normal(3.0, 8);
        // one pair, D = 1: S = 2 Re μ has the variance 2·2^6
        let powers = vec![1.0; 9];
        let sigma = 2f64.powi(7).sqrt();
        let got = exceeds_log2(&noise, &powers, (8.0 * sigma).log2());
        // E S^16 = 15!!·σ^16
        let moment = |q: i32| (1..=q).map(|i| f64::from(2 * i - 1).log2()).sum::<f64>();
        let want = (1..=8).map(|q| moment(q) - 2.0 * f64::from(q) * 3.0);
        let want = want.fold(0.0, f64::min);
        assert!((got - want).abs() < 1e-6, "{got} {want}");
    }
}
