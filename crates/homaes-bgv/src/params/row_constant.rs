//! Elements of Z\[ζ_17\] as factors of ciphertexts.
//!
//! A constant that is the same in every slot is a 0/1 combination of powers of ζ_17 ([`homaes_math::slots`]). So it
//! takes sixteen values, one per row of an evaluation-form limb, and multiplies noise by its power at each row.

use crate::params::Params;
use homaes_math::Shoup;

/// |Σ ζ_17^k|² over `exponents` at row `row`.
pub(crate) fn power(exponents: &[u8], row: usize) -> f64 {
    let g = (0..row).fold(1u64, |g, _| g * 3 % 17);
    let (re, im) = exponents.iter().fold((0.0, 0.0), |(re, im), &k| {
        let angle = core::f64::consts::TAU * (u64::from(k) * g % 17) as f64 / 17.0;
        (re + angle.cos(), im + angle.sin())
    });
    re * re + im * im
}

/// Values of `exponents` times `factor` modulo RNS prime `i`, stored, one per row.
pub(crate) fn by_row(params: &Params, i: usize, exponents: &[u8], factor: u64) -> Vec<u64> {
    let m = params.modulus(i);
    scaled_by_row(params, i, exponents, m.shoup(m.to_stored(factor)))
}

/// As [`by_row`], with a stored factor.
pub(crate) fn scaled_by_row(
    params: &Params,
    i: usize,
    exponents: &[u8],
    factor: Shoup,
) -> Vec<u64> {
    let t = params.transform(i);
    let m = t.modulus();
    let mut values = t.row_values(exponents);
    values.iter_mut().for_each(|v| *v = m.scale(*v, factor));
    values
}
