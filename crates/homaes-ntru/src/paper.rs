//! The formulas of DHS14 from which its tables follow: Hermite factors (§3), sizes of public keys (§4), noise in the
//! worst and in the average case (§5).
//!
//! All logarithms are binary. `tests/paper.rs` computes the tables of docs/papers.md with these formulas.

use std::f64::consts::LOG2_E;

/// Bound B on the coefficients of g, s, e and f', as in Figure 1.
pub const BOUND: f64 = 2.0;

/// The Hermite factor δ of a vector of length q/4 in the NTRU lattice: δ^2n = √q/4 (Table 1).
#[must_use]
pub fn hermite_factor(n: f64, log_q: f64) -> f64 {
    ((log_q / 2.0 - 2.0) / (2.0 * n)).exp2()
}

/// log of the seconds that Lindner and Peikert's rule gives for a Hermite factor: 1.8/log δ - 110.
#[must_use]
pub fn log_seconds(delta: f64) -> f64 {
    1.8 / delta.log2() - 110.0
}

/// The largest log q at which the Hermite factor is δ, as Figure 1 computes it: without the 4 of [`hermite_factor`].
#[must_use]
pub fn log_modulus(n: f64, delta: f64) -> f64 {
    4.0 * n * delta.log2()
}

/// Bytes of the evaluation keys of all levels: at each level log q_i polynomials of n coefficients of log q_i bits, log q_i being i·`cut` for i up to `levels`.
#[must_use]
pub fn key_bytes_per_level(n: f64, cut: f64, levels: u32) -> f64 {
    let bits = (1..=levels).map(|i| n * (f64::from(i) * cut).powi(2));
    bits.sum::<f64>() / 8.0
}

/// Bytes of the one key for all levels that the specialisation q_i = p^i leaves: n (log q)² bits.
#[must_use]
pub fn key_bytes(n: f64, log_q: f64) -> f64 {
    n * log_q * log_q / 8.0
}

/// Bits to cut at every level in the worst case (equation 2): log of n²(6B² + 2B) log q + n³(2B + 1)² B².
#[must_use]
pub fn worst_cut(n: f64, log_q: f64) -> f64 {
    let b = BOUND;
    let keys = n * n * (6.0 * b * b + 2.0 * b) * log_q;
    let product = n.powi(3) * (2.0 * b + 1.0).powi(2) * b * b;
    (keys + product).log2()
}

/// The same in the average case (equation 4): log of a n(6B² + 2B)(log q + log a) + α n^1.5 (2B + 1)² B², with a sums at every level and the margin α.
#[must_use]
pub fn average_cut(n: f64, log_q: f64, sums: f64, margin: f64) -> f64 {
    let b = BOUND;
    let keys = sums * n * (6.0 * b * b + 2.0 * b) * (log_q + sums.log2());
    let product = margin * n.powf(1.5) * (2.0 * b + 1.0).powi(2) * b * b;
    (keys + product).log2()
}

/// Multiplications one after the other that log q bits allow, `cut` at each: what is left at the end is one modulus of `cut` bits.
#[must_use]
pub fn levels(log_q: f64, cut: f64) -> f64 {
    (log_q / cut).floor() - 1.0
}

/// log of what relinearisation leaves after `cut` bits were cut, `sums` ciphertexts having been added before and after: a² n(6B² + 2B) log q / 2^cut, the first term of
/// equation 3 with n in place of n², as in the average case.
#[must_use]
pub fn relinearisation_noise(n: f64, log_q: f64, sums: f64, cut: f64) -> f64 {
    let b = BOUND;
    (sums * sums * n * (6.0 * b * b + 2.0 * b) * log_q).log2() - cut
}

/// log of the norm above which noise grows from level to level: where n^1.5 (2B + 1)² B² / 2^cut, the second term, is B.
#[must_use]
pub fn largest_stable_norm(n: f64, cut: f64) -> f64 {
    cut - (n.powf(1.5) * (2.0 * BOUND + 1.0).powi(2)).log2()
}

/// log of the probability that one of n normal coefficients exceeds α deviations (§5, Failure Probability).
#[must_use]
pub fn log_failure(n: f64, alpha: f64) -> f64 {
    // erfc(x) ≈ exp(-x²)/(x √π), x = α/√2
    let x = alpha / 2f64.sqrt();
    n.log2() - x * x * LOG2_E - (x * std::f64::consts::PI.sqrt()).log2()
}
