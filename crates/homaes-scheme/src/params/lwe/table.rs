//! Results of the lattice-estimator, commit 27a581b, model MATZOV, as tables; `data/lwe_limits.json` is the same data
//! as the estimator wrote it.
//!
//! Secrets are uniform over {0, 1}, the modulus is `2^64`, the number of samples is unlimited, and noise is the
//! standard deviation of the error as a fraction of the torus.

/// One limit found by the estimator: the least noise at which the cheapest attack costs [`TARGET_BITS`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LweLimit {
    /// Dimension of the secret: n of LWE, k N of GLWE.
    pub dimension: u32,
    /// log2 of the noise.
    pub log2_sigma_min: f64,
}

/// One other instance that the estimator costed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LwePoint {
    /// Dimension of the secret.
    pub dimension: u32,
    /// The noise, not its logarithm.
    pub sigma: f64,
    /// Bits of security.
    pub bits: f64,
}

/// Bits of security of every [`LweLimit`].
pub const TARGET_BITS: f64 = 128.0;

const fn limit(dimension: u32, log2_sigma_min: f64) -> LweLimit {
    LweLimit {
        dimension,
        log2_sigma_min,
    }
}

/// Sorted by dimension.
pub const LWE_LIMITS: &[LweLimit] = &[
    limit(600, -12.807),
    limit(650, -14.084),
    limit(700, -15.37),
    limit(750, -16.647),
    limit(768, -17.126),
    limit(800, -17.946),
    limit(850, -19.202),
    limit(900, -20.498),
    limit(950, -21.806),
    limit(1000, -23.112),
    limit(1024, -23.727),
    limit(1050, -24.389),
    limit(1100, -25.646),
    limit(1536, -36.967),
    limit(2048, -50.337),
];

const TWO_POW_62: f64 = (1_u64 << 62) as f64;

/// Instances well above [`TARGET_BITS`]. The last two were costed at half the noise given here, which leaves room (2.7
/// and 3.9 bits by the tabled slopes) for the dual attack, should it not have been among those costed there.
pub const LWE_POINTS: &[LwePoint] = &[
    LwePoint {
        dimension: 2048,
        sigma: 9.6e-11,
        bits: 191.2,
    },
    LwePoint {
        dimension: 3072,
        sigma: 1.0 / TWO_POW_62,
        bits: 157.0,
    },
    LwePoint {
        dimension: 4096,
        sigma: 1.0 / TWO_POW_62,
        bits: 214.64,
    },
];
