//! Hardness of ring-LWE in the ring R of conductor 65535 and in its quadratic extension K, read off `data/rlwe.csv` and
//! `data/rlwe_k.csv`, which `tools/estimate` writes.
//!
//! Costs fall as `x = log2 q` grows, and they are convex, close to `c/x`; the table has each column made convex from
//! below, which only lowers it. A line through two points of a convex curve lies below it outside of them. Hence:
//!
//! - between tabled points: the line through the next two of them, which differs from a chord by a few hundredths of a
//!   bit;
//! - before the last point: its value, and after it no estimate;
//! - below the first point: its value;
//! - a weight between two known ones: the smaller one; a weight below all of them: no estimate;
//! - another `sigma`: only `q / sigma` matters, within [`SIGMA_RANGE`];
//! - another ring: no estimate. Such a set is a toy.
//!
//! The heuristics behind the figures carry a few bits of error; sets meant to last keep that much margin.

use super::table::{Row, WORDS};
use super::{Estimate, SecretWeight};
use core::ops::RangeInclusive;
use std::sync::LazyLock;

/// The degree of R, 2 · 4 · 16 · 256; that of K is twice as large.
pub const DEGREE: u32 = 32768;

/// Standard deviations for which `q / sigma` alone decides; the attacks that use a tiny error were not costed.
pub const SIGMA_RANGE: RangeInclusive<f64> = 1.0..=4096.0;

/// Standard deviation of the error for which the table was computed.
const SIGMA: f64 = 3.2;

/// Lines by rising weight, then by rising log2 q.
static TABLES: LazyLock<[Vec<Row<2>>; 2]> = LazyLock::new(|| {
    [
        Row::table(include_str!("../../data/rlwe.csv"), WORDS),
        Row::table(include_str!("../../data/rlwe_k.csv"), WORDS),
    ]
});

/// A lower bound on the bits of security of ring-LWE samples with modulus `2^log2_qp`.
///
/// `log2_qp` is that of the largest modulus for which *any* key is published. `None`: the table does not cover `n`,
/// the secret, the modulus or `sigma`.
///
/// ```
/// use homaes_scheme::{rlwe, SecretWeight};
/// let estimate = rlwe::estimate(32768, SecretWeight::Hamming(256), 750.0, 3.2).unwrap();
/// assert!(estimate.bits > 140.0 && estimate.with_rotations > 134.0);
/// assert_eq!(rlwe::estimate(128, SecretWeight::Ternary, 60.0, 3.2), None);
/// ```
#[must_use]
pub fn estimate(n: u32, secret_weight: SecretWeight, log2_qp: f64, sigma: f64) -> Option<Estimate> {
    let table = match n {
        DEGREE => &TABLES[0],
        _ if n == 2 * DEGREE => &TABLES[1],
        _ => return None,
    };
    if !SIGMA_RANGE.contains(&sigma) || !log2_qp.is_finite() || log2_qp <= 0.0 {
        return None;
    }
    let h = match secret_weight {
        SecretWeight::Hamming(h) if h <= n => h,
        SecretWeight::Hamming(_) => return None,
        // its expected weight
        SecretWeight::Ternary => n / 3 * 2,
        SecretWeight::Blocks(_) => return None,
    };
    let end = table.partition_point(|row| row.key[0] <= f64::from(h));
    let weight = table[..end].last()?.key[0];
    let start = table.partition_point(|row| row.key[0] < weight);
    let rows = &table[start..end];
    let x = log2_qp - (sigma / SIGMA).log2();
    let after = rows.partition_point(|row| row.key[1] < x);
    let row = rows.get(after)?;
    let ahead = row.key[1] - x;
    Some(match rows.get(after + 1) {
        Some(next) if after > 0 && ahead > 0.0 => row.before(ahead, next, next.key[1] - row.key[1]),
        _ => row.estimate(),
    })
}

#[cfg(test)]
mod tests;
