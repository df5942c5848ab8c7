//! Integers from residues, to measure noise.

use crate::context::RnsContext;
use crate::poly::Poly;
use homaes_math::Modulus;
use zeroize::Zeroizing;

const MOST_BITS: f64 = 126.0;

/// Centred coefficients of a polynomial whose limbs modulo the primes `basis` are in coefficient form, canonical and
/// plain. Uses only the first primes, up to 126 bits; the coefficients must be below half the product of these.
pub fn centred(rns: &RnsContext, basis: &[usize], poly: &Poly) -> Zeroizing<Vec<f64>> {
    let mut bits = 0.0;
    let used = basis.iter().take_while(|&&i| {
        bits += rns.modulus(i).log2();
        bits < MOST_BITS
    });
    let moduli: Vec<&Modulus> = used.map(|&i| rns.modulus(i)).collect();
    let limbs = &poly.limbs[..moduli.len()];
    let coefficients =
        (0..rns.ring().n()).map(|k| mixed_radix(&moduli, limbs.iter().map(|l| l[k])) as f64);
    Zeroizing::new(coefficients.collect())
}

/// Centred CRT by mixed radix; the product of the moduli must be below 2^126.
fn mixed_radix(moduli: &[&Modulus], residues: impl Iterator<Item = u64>) -> i128 {
    let (mut x, mut product) = (0i128, 1i128);
    for (m, r) in moduli.iter().zip(residues) {
        let p = i128::from(m.p());
        let have = x.rem_euclid(p) as u64;
        let step = m.mul(m.sub(r, have), m.inv(product.rem_euclid(p) as u64));
        x += i128::from(step) * product;
        product *= p;
    }
    if x > product / 2 { x - product } else { x }
}
