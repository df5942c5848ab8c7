//! Cost of breaking NTRU with the moduli that AES takes.
//!
//! They are *overstretched*: the vectors f·x, g·x of the secret span a sublattice of the NTRU lattice so dense, for its
//! dimension, that lattice reduction finds it long before it would find f itself (Albrecht, Bai, Ducas 2016; Kirchner,
//! Fouque 2017; Ducas, van Woerden 2021). With n = 32768 and log2 q = 1271 the reduction needs a root Hermite factor of
//! e^0.27 where LLL, which takes polynomial time, reaches e^0.022. So there is no security: the figure is an order of
//! magnitude. It is what LLL costs in dimension 2n by the estimator's formula, d^3, and an upper bound, because
//! subfields make it cheaper.

use super::Estimate;

/// The degree for which the attack was costed.
pub const DEGREE: u32 = 32768;

/// log2 of the smallest modulus for which this gives a figure. What the reduction needs, ln δ, grows with the square of
/// log2 q: 0.27 at 1271, 0.007 at 195 (80 bits) and 0.005 at 153 (128 bits). At 600 it is 0.06, nearly three times what
/// LLL reaches. The published moduli are larger.
pub const OVERSTRETCHED: f64 = 600.0;

/// The cost of breaking a public key modulo `2^log2_q`. `None`: another ring, or a smaller modulus.
///
/// ```
/// use homaes_scheme::ntru;
/// assert_eq!(ntru::estimate(32768, 1271.0).unwrap().bits, 48.0);
/// assert_eq!(ntru::estimate(128, 1271.0), None);
/// ```
#[must_use]
pub fn estimate(n: u32, log2_q: f64) -> Option<Estimate> {
    // d³ in dimension d = 2n
    let lll = 3.0 * (2.0 * f64::from(n)).log2();
    let words = [
        "dense sublattice, by LLL",
        "LLL in dimension 2n: d^3; no block size is left to count sieves of",
        "lattice-estimator 27a581b, NTRU.primal_dsd for large n",
        "2026-11-21",
    ];
    (n == DEGREE && log2_q.is_finite() && log2_q >= OVERSTRETCHED).then_some(Estimate {
        order_of_magnitude: true,
        ..Estimate::new([lll; 7], words)
    })
}
