//! Results of the lattice-estimator, commit 27a581b, model MATZOV, as tables; `data/lwe_limits.json` is the same data
//! as the estimator wrote it.
//!
//! Secrets are uniform over {0, 1}, the modulus is `2^64`, the number of samples is unlimited, and noise is the
//! standard deviation of the error as a fraction of the torus. The dimension is n of LWE, k N of GLWE.

/// Bits of security of every one of the [`LIMITS`].
pub(super) const TARGET_BITS: f64 = 128.0;

/// Dimension, and log2 of the least noise at which the cheapest attack costs [`TARGET_BITS`]. Sorted by dimension.
pub(super) const LIMITS: [(u32, f64); 15] = [
    (600, -12.807),
    (650, -14.084),
    (700, -15.37),
    (750, -16.647),
    (768, -17.126),
    (800, -17.946),
    (850, -19.202),
    (900, -20.498),
    (950, -21.806),
    (1000, -23.112),
    (1024, -23.727),
    (1050, -24.389),
    (1100, -25.646),
    (1536, -36.967),
    (2048, -50.337),
];

const TWO_POW_62: f64 = (1_u64 << 62) as f64;

/// Dimension, noise and bits of instances well above [`TARGET_BITS`]. The last two were costed at half the noise given
/// here, which leaves room (2.7 and 3.9 bits by the tabled slopes) for the dual attack, should it not have been among
/// those costed there.
pub(super) const POINTS: [(u32, f64, f64); 3] = [
    (2048, 9.6e-11, 191.2),
    (3072, 1.0 / TWO_POW_62, 157.0),
    (4096, 1.0 / TWO_POW_62, 214.64),
];
