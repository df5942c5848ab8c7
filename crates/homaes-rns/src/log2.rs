//! Arithmetic on binary logarithms.

/// log2(2^a + 2^b).
pub fn sum(a: f64, b: f64) -> f64 {
    let (hi, lo) = if a > b { (a, b) } else { (b, a) };
    hi + (1.0 + (lo - hi).exp2()).log2()
}

/// log2 sqrt(2^2a + 2^2b).
pub fn hypot(a: f64, b: f64) -> f64 {
    let (hi, lo) = if a > b { (a, b) } else { (b, a) };
    hi + 0.5 * (1.0 + (2.0 * (lo - hi)).exp2()).log2()
}
