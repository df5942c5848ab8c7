//! The formulas behind the tables of DHS14: Hermite factors (§3), sizes of public keys (§4), worst-case and
//! average-case noise (§5). All logarithms are binary. `tests/paper.rs` computes the tables of docs/papers.md with
//! them.

use std::f64::consts::LOG2_E;

/// Bound B on the coefficients of g, s, e and f', as in Figure 1.
pub const BOUND: f64 = 2.0;

/// The Hermite factor δ of a vector of length q/4 in the NTRU lattice: δ^2n = √q/4 (Table 1).
#[must_use]
pub fn hermite_factor(n: f64, log_q: f64) -> f64 {
    ((log_q / 2.0 - 2.0) / (2.0 * n)).exp2()
}

/// log of the attack's seconds by Lindner and Peikert's rule: 1.8/log δ - 110.
#[must_use]
pub fn log_seconds(delta: f64) -> f64 {
    1.8 / delta.log2() - 110.0
}

/// The largest log q for Hermite factor δ, as in Figure 1: without the 4 of [`hermite_factor`].
#[must_use]
pub fn log_modulus(n: f64, delta: f64) -> f64 {
    4.0 * n * delta.log2()
}

/// Bytes of one evaluation key per level: log q_i polynomials of n coefficients of log q_i = i·`cut` bits, i = 1 to
/// `levels`.
#[must_use]
pub fn key_bytes_per_level(n: f64, cut: f64, levels: u32) -> f64 {
    let bits = (1..=levels).map(|i| n * (f64::from(i) * cut).powi(2));
    bits.sum::<f64>() / 8.0
}

/// Bytes of the single key for all levels, if q_i = p^i: n (log q)² bits.
#[must_use]
pub fn key_bytes(n: f64, log_q: f64) -> f64 {
    n * log_q * log_q / 8.0
}

/// Bits to cut per level in the worst case (equation 2): log of n²(6B² + 2B) log q + n³(2B + 1)² B².
#[must_use]
pub fn worst_cut(n: f64, log_q: f64) -> f64 {
    let b = BOUND;
    let keys = n * n * (6.0 * b * b + 2.0 * b) * log_q;
    let product = n.powi(3) * (2.0 * b + 1.0).powi(2) * b * b;
    (keys + product).log2()
}

/// Bits to cut per level in the average case (equation 4): log of a n(6B² + 2B)(log q + log a) + α n^1.5 (2B + 1)² B²,
/// with a = `sums` per level and α = `margin`.
#[must_use]
pub fn average_cut(n: f64, log_q: f64, sums: f64, margin: f64) -> f64 {
    let b = BOUND;
    let keys = sums * n * (6.0 * b * b + 2.0 * b) * (log_q + sums.log2());
    let product = margin * n.powf(1.5) * (2.0 * b + 1.0).powi(2) * b * b;
    (keys + product).log2()
}

/// Consecutive multiplications for log q bits, `cut` bits each; one modulus of `cut` bits remains.
#[must_use]
pub fn levels(log_q: f64, cut: f64) -> f64 {
    (log_q / cut).floor() - 1.0
}

/// log of the noise of relinearisation after `cut` bits are cut, with `sums` ciphertexts added before and after:
/// a² n(6B² + 2B) log q / 2^cut, the first term of equation 3 with n for n², as in the average case.
#[must_use]
pub fn relinearisation_noise(n: f64, log_q: f64, sums: f64, cut: f64) -> f64 {
    let b = BOUND;
    (sums * sums * n * (6.0 * b * b + 2.0 * b) * log_q).log2() - cut
}

/// log of the norm above which noise grows from level to level: there the second term, n^1.5 (2B + 1)² B² / 2^cut, is
/// B.
#[must_use]
pub fn largest_stable_norm(n: f64, cut: f64) -> f64 {
    cut - (n.powf(1.5) * (2.0 * BOUND + 1.0).powi(2)).log2()
}

/// log of the probability that one of n normal coefficients exceeds α standard deviations (§5, Failure Probability).
#[must_use]
pub fn log_failure(n: f64, alpha: f64) -> f64 {
    // erfc(x) ≈ exp(-x²)/(x √π), x = α/√2
    let x = alpha / 2f64.sqrt();
    n.log2() - x * x * LOG2_E - (x * std::f64::consts::PI.sqrt()).log2()
}
