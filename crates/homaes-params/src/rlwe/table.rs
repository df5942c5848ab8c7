//! The estimator's results as a table; `data/rlwe_limits.json` is the same data as the estimator wrote it.
//!
//! A row says: at ring degree `n`, this secret and `SIGMA`, every published key whose modulus has at most `log2_q_max`
//! bits costs the cheapest known attack at least `2^target_bits` operations.

use crate::SecretWeight::{self, Hamming, Ternary};

/// The estimator and its commit.
pub(super) const TOOL: &str = "malb/lattice-estimator 27a581b";
/// Cost model of one lattice reduction, shape of the reduced basis, and the kind of attacker.
pub(super) const MODEL: &str = "MATZOV, GSA, classical";
/// Day the table was computed.
pub(super) const DATE: &str = "2026-11-21";
/// Standard deviation of the error for which the table was computed.
pub(super) const SIGMA: f64 = 3.2;

const HYBRID: &str = "bdd_mitm_hybrid";
const BDD: &str = "bdd";
const USVP: &str = "usvp";

/// One limit found by the estimator.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RlweLimit {
    /// Ring degree φ(m).
    pub n: u32,
    /// Distribution of the secret.
    pub weight: SecretWeight,
    /// Bits of security at the limit.
    pub target_bits: u32,
    /// log2 of the largest modulus that keeps the target.
    pub log2_q_max: u32,
    /// Bits of security lost per unit of log2 q at the limit, as measured (positive).
    pub bits_per_log2_q: f64,
    /// The attack that sets the limit.
    pub attack: &'static str,
}

const fn row(
    n: u32,
    weight: SecretWeight,
    target_bits: u32,
    log2_q_max: u32,
    bits_per_log2_q: f64,
    attack: &'static str,
) -> RlweLimit {
    RlweLimit {
        n,
        weight,
        target_bits,
        log2_q_max,
        bits_per_log2_q,
        attack,
    }
}

/// Sorted by ring degree, then by secret (sparse first, ternary last), then by falling target.
pub const RLWE_LIMITS: &[RlweLimit] = &[
    row(32768, Hamming(64), 128, 558, 0.115, HYBRID),
    row(32768, Hamming(64), 100, 881, 0.0661, HYBRID),
    row(32768, Hamming(64), 80, 1269, 0.0394, HYBRID),
    row(32768, Hamming(128), 128, 755, 0.13, HYBRID),
    row(32768, Hamming(128), 100, 1039, 0.075, HYBRID),
    row(32768, Hamming(128), 80, 1377, 0.0494, HYBRID),
    row(32768, Hamming(192), 128, 810, 0.14, HYBRID),
    row(32768, Hamming(192), 100, 1078, 0.09, HYBRID),
    row(32768, Hamming(192), 80, 1397, 0.0443, HYBRID),
    row(32768, Hamming(256), 128, 833, 0.175, HYBRID),
    row(32768, Hamming(256), 100, 1094, 0.09, HYBRID),
    row(32768, Hamming(256), 80, 1401, 0.065, USVP),
    row(32768, Hamming(512), 128, 863, 0.1556, HYBRID),
    row(32768, Hamming(512), 100, 1104, 0.086, BDD),
    row(32768, Hamming(512), 80, 1401, 0.065, USVP),
    row(32768, Ternary, 128, 868, 0.155, BDD),
    row(32768, Ternary, 100, 1106, 0.11, BDD),
    row(32768, Ternary, 80, 1404, 0.0546, USVP),
    row(43008, Ternary, 128, 1141, 0.1181, BDD),
    row(46080, Hamming(64), 128, 801, 0.0833, HYBRID),
    row(46080, Hamming(128), 128, 1071, 0.095, HYBRID),
    row(46080, Hamming(192), 128, 1144, 0.1039, HYBRID),
    row(46080, Hamming(256), 128, 1176, 0.0967, HYBRID),
    row(46080, Hamming(512), 128, 1215, 0.1056, HYBRID),
    row(46080, Ternary, 128, 1224, 0.1171, USVP),
    row(49152, Hamming(64), 128, 858, 0.07, HYBRID),
    row(49152, Hamming(128), 128, 1144, 0.09, HYBRID),
    row(49152, Hamming(192), 128, 1222, 0.0958, HYBRID),
    row(49152, Hamming(256), 128, 1255, 0.095, HYBRID),
    row(49152, Hamming(512), 128, 1298, 0.085, HYBRID),
    row(49152, Ternary, 128, 1306, 0.0967, BDD),
    row(65536, Hamming(64), 128, 1161, 0.0503, HYBRID),
    row(65536, Hamming(128), 128, 1537, 0.0747, HYBRID),
    row(65536, Hamming(192), 128, 1638, 0.07, HYBRID),
    row(65536, Hamming(256), 128, 1680, 0.0725, HYBRID),
    row(65536, Hamming(512), 128, 1731, 0.076, HYBRID),
    row(65536, Ternary, 128, 1746, 0.079, BDD),
    row(92160, Hamming(64), 128, 1667, 0.0386, HYBRID),
    row(92160, Hamming(128), 128, 2182, 0.0443, HYBRID),
    row(92160, Hamming(192), 128, 2318, 0.0456, HYBRID),
    row(92160, Hamming(256), 128, 2374, 0.0425, HYBRID),
    row(92160, Hamming(512), 128, 2441, 0.078, HYBRID),
    row(92160, Ternary, 128, 2468, 0.0491, USVP),
];
