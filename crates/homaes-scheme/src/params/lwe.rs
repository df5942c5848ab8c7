//! Hardness of LWE and GLWE with binary secrets modulo `2^64`.
//!
//! GLWE counts as LWE of dimension `k N`. Noise is given as log2 of the standard deviation of the error as a fraction
//! of the torus.
//!
//! [`estimate`] reads `data/lwe.csv`, which `tools/estimate` writes for everything the sets publish. More dimensions,
//! more noise and a smaller ring are never weaker, so an instance has at least the bits of every weaker line.
//!
//! [`estimate_in_blocks`] reads `data/lwe_blocks.csv`, for secrets in blocks of bits of which one at most is 1. Its
//! figures are by formulas of this project, `tools/measure/block_binary.py`, simpler than those of the other table:
//! `bits` is a lower bound of an attack that meets in the middle with certainty. No other program counts the structure
//! of such secrets; that nothing else breaks them is an assumption of its own (Lee, Min, Seo, Song 2023).
//!
//! [`curve`] is for the search of new sets: an interpolation of older results of the lattice-estimator. Known
//! are limits (the least noise `s(n)` with 128 bits) and a few stronger instances, both in `lwe/table.rs`. The rest
//! follows so that it does not exceed what the estimator would say:
//!
//! - **The limit between two tabled dimensions.** The limit falls by 0.0251 to 0.0266 per dimension everywhere in the
//!   table. Going from the left neighbour with a fall of 0.0250, and back from the right one with 0.0267, gives two
//!   limits that are both too high; the lower of them is taken. Above the last limit the left neighbour alone counts.
//! - **Bits beside the limit.** What lattice reduction has to achieve depends on `(c - log2 σ) / n`, where `c` = 2.792
//!   is the estimator's fit of the limits, `s(n) = c - 0.02591 n`; the cost is close to the inverse of that. Hence at
//!   one dimension `bits ≈ 128 (c - s(n)) / (c - log2 σ)`. Evaluated instances have a product `bits · (c - log2 σ)`
//!   that grows slowly with the bits, so this is a lower bound above 128 bits (188.4 for 191.2). The tabled
//!   slopes of bits in log2 σ at the limit are 0.995 to 1.155 times that of this curve; below 128 bits the ratio is
//!   therefore raised to the power 1.16.
//! - **Monotonicity.** More dimensions or more noise are never weaker, so an instance has at least the bits of every
//!   stronger instance below it.
//! - Nothing is said below dimension 600, below 80 bits, or about noise outside 2^-62 to 1; the curve is not followed
//!   beyond 143 bits.
//!
//! The tests hold all this against every instance costed one by one: between 0.5 bits below and 0.1 above. The limits
//! themselves carry an error below 0.1 in log2 σ, and the estimator's heuristics a few bits; sets meant to last
//! need that margin. All figures are classical.

mod table;

/// log2 of the standard deviation of packing keys (crate `homaes-tfhe`), on the torus: that of a bridge key at a prime of
/// 47 bits.
pub const PACKING_LOG2_SIGMA: f64 = -45.322;

use super::table::{Row, WORDS};
use super::{Estimate, Published};
use core::ops::{Range, RangeInclusive};
use std::sync::LazyLock;
use table::{LIMITS, POINTS, TARGET_BITS};

/// Lines by dimension and noise; their third key is the degree of the ring.
static TABLE: LazyLock<Vec<Row<3>>> =
    LazyLock::new(|| Row::table(include_str!("../../data/lwe.csv"), WORDS));

/// Lines of secrets in blocks; their fourth key is the bits of a block.
static BLOCKS: LazyLock<Vec<Row<4>>> =
    LazyLock::new(|| Row::table(include_str!("../../data/lwe_blocks.csv"), BLOCKS_WORDS));
/// How the table of blocks was computed, by what, and the day.
const BLOCKS_WORDS: [&str; 3] = [
    "MATZOV, GSA, classical; lower bound for blocks with one 1 at most",
    "tools/measure/block_binary.py, formulas of this project",
    "2026-11-26",
];
/// The cheapest attack on the key of `tfhe/p64-blocks` by the formulas of the lattice-estimator, which do not see its
/// blocks: `tools/estimate`, `--selfcheck`.
const BLOCKS_UNSEEN_BITS: u32 = 150;

/// The curve through a limit is followed up to here; more comes only from [`POINTS`].
const MAX_EXTRAPOLATED_BITS: f64 = 143.0;

/// The least estimate; below it nothing is known.
const MIN_BITS: f64 = 80.0;

/// log2 of the noise for which there are estimates. The attacks on tiny errors were not costed.
const LOG2_SIGMA_RANGE: Range<f64> = -62.0..0.0;

/// log2 of the modulus of everything estimated here.
const MODULUS_BITS: f64 = 64.0;

/// Bounds of the fall of the limit per dimension.
const LIMIT_FALL: RangeInclusive<f64> = 0.0250..=0.0267;
/// The noise, as log2, at which the fit of the limits has dimension 0.
const FIT_OFFSET: f64 = 2.792;
/// Exponent of the curve below the limit.
const POWER_BELOW: f64 = 1.16;

/// A lower bound on the bits of security of LWE with a binary secret of this dimension and noise, in a ring of this
/// degree.
///
/// For GLWE the dimension is `k N`. `None`: no line of the table is below it, which is so for all toy sizes.
///
/// ```
/// use homaes_scheme::lwe;
/// let estimate = lwe::estimate(2048, -49.52, 1024).unwrap();
/// assert!(estimate.with_rotations > 128.0 && estimate.bits >= estimate.with_rotations);
/// assert_eq!(lwe::estimate(512, -12.0, 1024), None);
/// ```
#[must_use]
pub fn estimate(dimension: u32, log2_sigma: f64, ring_degree: u32) -> Option<Estimate> {
    best(&TABLE, dimension, log2_sigma, ring_degree, &[])
}

/// The same for a binary secret in blocks of `block` bits, one of which or none is 1, all cases equally likely.
///
/// ```
/// use homaes_scheme::lwe;
/// let estimate = lwe::estimate_in_blocks(735, 3, -12.75, 128).unwrap();
/// assert!(estimate.with_rotations >= 130.0 && estimate.tool.contains("block_binary.py"));
/// assert_eq!(lwe::estimate_in_blocks(735, 4, -12.75, 128), None);
/// ```
#[must_use]
pub fn estimate_in_blocks(
    dimension: u32,
    block: u32,
    log2_sigma: f64,
    ring_degree: u32,
) -> Option<Estimate> {
    let block = &[f64::from(block)];
    best(&BLOCKS, dimension, log2_sigma, ring_degree, block)
}

/// The most bits of the lines that are no harder to break than the instance.
fn best<const K: usize>(
    table: &[Row<K>],
    dimension: u32,
    log2_sigma: f64,
    ring_degree: u32,
    block: &[f64],
) -> Option<Estimate> {
    let below = |row: &&Row<K>| {
        row.key[0] <= f64::from(dimension)
            && row.key[1] <= log2_sigma
            && row.key[2] >= f64::from(ring_degree)
            && row.key[3..] == *block
    };
    let estimates = table.iter().filter(below).map(Row::estimate);
    estimates.reduce(|a, b| if b.bits > a.bits { b } else { a })
}

/// The assumptions of `tfhe/p64-blocks` beyond those of other sets; `estimate` is that of its key.
#[must_use]
pub fn assumption_of_blocks(block: u32, estimate: &Estimate) -> String {
    let bits = estimate.with_rotations;
    format!(
        "LWE with a key in blocks of {block} bits, at most one of them 1, is hard, which is a younger assumption than \
         that of tfhe/p64: the cheapest known attack takes {BLOCKS_UNSEEN_BITS} bits by the formulas of the \
         lattice-estimator, which do not see the blocks, and an idealised one that does {bits:.1} bits"
    )
}

/// A lower bound on the bits of the cheapest attack, for the search of sets that [`estimate`] does not know yet.
///
/// ```
/// use homaes_scheme::lwe;
/// assert_eq!(lwe::curve(700, -15.37), Some(128.0));
/// assert_eq!(lwe::curve(512, -12.0), None);
/// ```
#[must_use]
pub fn curve(dimension: u32, log2_sigma: f64) -> Option<f64> {
    if !LOG2_SIGMA_RANGE.contains(&log2_sigma) {
        return None;
    }
    let beside_limit = bits_beside(limit(dimension)?, log2_sigma).min(MAX_EXTRAPOLATED_BITS);
    let bits = POINTS
        .iter()
        .filter(|&&(n, sigma, _)| n <= dimension && sigma.log2() <= log2_sigma)
        .fold(beside_limit, |most, &(.., bits)| most.max(bits));
    (bits >= MIN_BITS).then_some(bits)
}

/// log2 of the least noise for which [`curve`] gives at least `bits` at this dimension.
///
/// `None`: no noise does, or nothing is known.
#[must_use]
pub fn min_log2_sigma(dimension: u32, bits: f64) -> Option<f64> {
    let reached = |log2_sigma: f64| curve(dimension, log2_sigma).is_some_and(|found| found >= bits);
    let (mut low, mut high) = (LOG2_SIGMA_RANGE.start, -f64::EPSILON);
    if reached(low) {
        return Some(low);
    }
    if !reached(high) {
        return None;
    }
    // Bits do not fall as noise grows. 60 halvings of 62 go below the spacing of f64.
    for _ in 0..60 {
        let middle = f64::midpoint(low, high);
        if reached(middle) {
            high = middle
        } else {
            low = middle
        }
    }
    Some(high)
}

/// The line of a card for something published under such a secret, or one in blocks of `block` bits
/// ([`estimate_in_blocks`]): it names dimension and noise, and has the estimate.
///
/// ```
/// use homaes_scheme::lwe;
/// let line = lwe::published("wrapped AES key", 2048, None, -49.52, 1024);
/// assert_eq!(line.what, "wrapped AES key, LWE dimension 2048, noise 2^-49.52");
/// assert!(line.estimate.is_some_and(|e| e.bits > 128.0));
/// let line = lwe::published("key switching key", 735, Some(3), -12.75, 128);
/// assert_eq!(line.what, "key switching key, LWE dimension 735 in blocks of 3, noise 2^-12.75");
/// ```
#[must_use]
pub fn published(
    what: &str,
    dimension: u32,
    block: Option<u32>,
    log2_sigma: f64,
    ring_degree: u32,
) -> Published {
    let (blocks, estimate) = match block {
        None => (String::new(), estimate(dimension, log2_sigma, ring_degree)),
        Some(block) => (
            format!(" in blocks of {block}"),
            estimate_in_blocks(dimension, block, log2_sigma, ring_degree),
        ),
    };
    Published {
        what: format!("{what}, LWE dimension {dimension}{blocks}, noise 2^{log2_sigma:.2}").into(),
        dimension,
        log2_sigma,
        ring_degree,
        weight: None,
        modulus_bits: MODULUS_BITS,
        estimate,
    }
}

/// An upper bound on the least log2 noise with [`TARGET_BITS`] at this dimension.
fn limit(dimension: u32) -> Option<f64> {
    let after = LIMITS.partition_point(|&(n, _)| n < dimension);
    let right = LIMITS.get(after);
    let from_right = right.map(|&(n, limit)| limit + LIMIT_FALL.end() * f64::from(n - dimension));
    if right.is_some_and(|&(n, _)| n == dimension) {
        return from_right;
    }
    let (n, limit) = LIMITS[after.checked_sub(1)?];
    let from_left = limit - LIMIT_FALL.start() * f64::from(dimension - n);
    Some(from_right.map_or(from_left, |right| from_left.min(right)))
}

/// Bits where the limit at the same dimension is `limit`.
fn bits_beside(limit: f64, log2_sigma: f64) -> f64 {
    let ratio = (FIT_OFFSET - limit) / (FIT_OFFSET - log2_sigma);
    let power = if ratio < 1.0 { POWER_BELOW } else { 1.0 };
    TARGET_BITS * ratio.powf(power)
}

#[cfg(test)]
mod tests;
