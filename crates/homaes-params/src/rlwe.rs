//! Hardness of ring-LWE, read off results of the lattice-estimator ([`RLWE_LIMITS`]).
//!
//! Security as a function of `x = log2 q` falls and is convex (close to `c/x`), so a tangent is a lower bound everywhere,
//! while a chord between two known points lies *above* the curve. Hence:
//!
//! - between two known points: the higher of their two tangents, and never more than the chord;
//! - above the last known point: its tangent, down to 0;
//! - below the first known point (128 bits): its tangent, and never more than [`MAX_EXTRAPOLATED_BITS`];
//! - towards more security a tangent's slope is limited to `bits / log2 q` of its point, because measured slopes carry
//!   an error of some ten percent and too steep a slope would claim too much;
//! - a weight between two known ones: the smaller one; a weight below all of them: no estimate;
//! - another `sigma`: only `q / sigma` matters, within [`SIGMA_RANGE`];
//! - another ring degree: no estimate. Such a set is a toy, or brings its own [`Estimate`].
//!
//! All figures are classical and assume no attack on the ring structure. The estimator's heuristics carry a few bits of
//! error; sets meant to last keep that much margin.

mod table;

pub use table::{RLWE_LIMITS, RlweLimit};

use crate::{Estimate, SecretWeight};
use core::ops::RangeInclusive;

/// No estimate goes beyond this: the table ends at 128 bits and a tangent is trusted for 15 bits more.
pub const MAX_EXTRAPOLATED_BITS: f64 = 143.0;

/// Standard deviations for which `q / sigma` alone decides; the attacks that use a tiny error were not costed.
pub const SIGMA_RANGE: RangeInclusive<f64> = 1.0..=4096.0;

/// A lower bound on the bits of security of ring-LWE samples with modulus `2^log2_qp`.
///
/// `log2_qp` is that of the largest modulus for which *any* key is published. `None`: the table does not cover `n`,
/// the secret or `sigma`.
///
/// ```
/// use homaes_params::{rlwe, SecretWeight};
/// let estimate = rlwe::estimate(32768, SecretWeight::Hamming(192), 810.0, 3.2);
/// assert_eq!(estimate.map(|e| e.bits), Some(128.0));
/// assert_eq!(rlwe::estimate(128, SecretWeight::Ternary, 60.0, 3.2), None);
/// ```
#[must_use]
pub fn estimate(n: u32, secret_weight: SecretWeight, log2_qp: f64, sigma: f64) -> Option<Estimate> {
    if !SIGMA_RANGE.contains(&sigma) || !log2_qp.is_finite() || log2_qp <= 0.0 {
        return None;
    }
    let limits = limits(n, secret_weight)?;
    let x = log2_qp - (sigma / table::SIGMA).log2();
    let (bits, limit) = bits_at(limits, x);
    Some(Estimate {
        bits: bits.clamp(0.0, MAX_EXTRAPOLATED_BITS),
        attack: limit.attack,
        model: table::MODEL,
        tool: table::TOOL,
        date: table::DATE,
    })
}

/// The largest whole `log2 QP` with at least `target_bits` of security at `sigma = 3.2`.
///
/// `None`: the table does not cover `n` or the secret, or the target is above [`MAX_EXTRAPOLATED_BITS`].
#[must_use]
pub fn max_log2_qp(n: u32, secret_weight: SecretWeight, target_bits: u32) -> Option<u32> {
    let reached = |log2_qp: u32| {
        estimate(n, secret_weight, f64::from(log2_qp), table::SIGMA)
            .is_some_and(|estimate| estimate.bits >= f64::from(target_bits))
    };
    // Bits fall with log2 QP, and reach 0 well below the upper end: the tabled slopes are above 0.03 per unit.
    let (mut low, mut high) = (1, 1 << 16);
    if target_bits == 0 || !reached(low) {
        return None;
    }
    while high - low > 1 {
        let middle = low + (high - low) / 2;
        if reached(middle) {
            low = middle
        } else {
            high = middle
        }
    }
    Some(low)
}

/// The rows of the given secret, or of the densest tabled one that is sparser, by falling target.
fn limits(n: u32, secret_weight: SecretWeight) -> Option<&'static [RlweLimit]> {
    let start = RLWE_LIMITS.partition_point(|row| row.n < n);
    let len = RLWE_LIMITS[start..].partition_point(|row| row.n == n);
    let rows = &RLWE_LIMITS[start..start + len];
    let weight = rows
        .iter()
        .map(|row| row.weight)
        .rfind(|&tabled| covers(tabled, secret_weight, n))?;
    let first = rows.iter().position(|row| row.weight == weight)?;
    let len = rows[first..].partition_point(|row| row.weight == weight);
    Some(&rows[first..first + len])
}

/// Whether the row of `tabled` is a lower bound for `secret`.
fn covers(tabled: SecretWeight, secret: SecretWeight, n: u32) -> bool {
    match (tabled, secret) {
        (SecretWeight::Hamming(tabled), SecretWeight::Hamming(h)) => tabled <= h && h <= n,
        (SecretWeight::Ternary, SecretWeight::Ternary) => true,
        _ => false,
    }
}

/// Bits at `x`, and the row whose attack decides there. The rows have rising `log2_q_max`.
fn bits_at(rows: &'static [RlweLimit], x: f64) -> (f64, &'static RlweLimit) {
    let after = rows.partition_point(|row| f64::from(row.log2_q_max) < x);
    let right = rows.get(after);
    let left = after.checked_sub(1).map(|i| &rows[i]);
    match (left, right) {
        (Some(left), Some(right)) => {
            let (a, b) = (tangent(left, x), tangent(right, x));
            let tangents = a.max(b);
            (
                tangents.min(chord(left, right, x)),
                if a > b { left } else { right },
            )
        }
        (Some(row), None) | (None, Some(row)) => (tangent(row, x), row),
        (None, None) => unreachable!("limits() gives at least one row"),
    }
}

fn tangent(row: &RlweLimit, x: f64) -> f64 {
    let (x0, y0) = (f64::from(row.log2_q_max), f64::from(row.target_bits));
    let slope = if x < x0 {
        row.bits_per_log2_q.min(y0 / x0)
    } else {
        row.bits_per_log2_q
    };
    y0 - slope * (x - x0)
}

fn chord(left: &RlweLimit, right: &RlweLimit, x: f64) -> f64 {
    let (x0, y0) = (f64::from(left.log2_q_max), f64::from(left.target_bits));
    let (x1, y1) = (f64::from(right.log2_q_max), f64::from(right.target_bits));
    y0 + (y1 - y0) * (x - x0) / (x1 - x0)
}

#[cfg(test)]
mod tests;
