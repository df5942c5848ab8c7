//! Elements of Z\[ζ_17\] as factors of ciphertexts.
//!
//! A constant that is the same in every slot is a 0/1 combination of powers of ζ_17 ([`homaes_math::slots`]). So it
//! takes sixteen values, one per row of an evaluation-form limb, and multiplies noise by its power at each row.

use core::f64::consts::TAU;
use homaes_math::{Shoup, Transform};

/// Σ ζ_17^ek over the exponents e, as real and imaginary part.
pub(crate) fn value(exponents: &[u8], k: u32) -> (f64, f64) {
    exponents.iter().fold((0.0, 0.0), |(re, im), &e| {
        let angle = TAU * f64::from(u32::from(e) * k % 17) / 17.0;
        (re + angle.cos(), im + angle.sin())
    })
}

/// |Σ ζ_17^ek|² over the exponents e.
pub(crate) fn power(exponents: &[u8], k: u32) -> f64 {
    let (re, im) = value(exponents, k);
    re * re + im * im
}

/// |Σ ζ_17^e|² over `exponents`, at each row.
pub(crate) fn row_powers(exponents: &[u8]) -> [f64; 16] {
    let mut k = 1;
    [(); 16].map(|()| {
        let found = power(exponents, k);
        k = 3 * k % 17;
        found
    })
}

/// Values of `exponents` modulo the prime of `t`, stored, one per row.
pub(crate) fn by_row(t: &Transform, exponents: &[u8]) -> Vec<u64> {
    let m = t.modulus();
    scaled_by_row(t, exponents, m.shoup(m.r()))
}

/// As [`by_row`], times a factor.
pub(crate) fn scaled_by_row(t: &Transform, exponents: &[u8], factor: Shoup) -> Vec<u64> {
    let m = t.modulus();
    let mut values = t.row_values(exponents);
    values.iter_mut().for_each(|v| *v = m.scale(*v, factor));
    values
}
