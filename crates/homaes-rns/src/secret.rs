//! Arithmetic on secrets, one lot of coefficients at a time.
//!
//! The machine code of these functions has no jumps except their loops; `homaes-cli/tests/machine_code.rs` checks it.

use crate::context::RnsContext;
use crate::poly::SecretPoly;
use core::hint::black_box;
use homaes_math::Modulus;
use homaes_math::sample::LOT;
use zeroize::{ZeroizeOnDrop, Zeroizing};

/// Coefficients that a function takes at once.
pub type Lot = [u64; LOT];

/// `values` in lots.
///
/// # Panics
/// If the length is not a multiple of [`LOT`]; the degrees of all sets are.
pub fn lots(values: &[u64]) -> &[Lot] {
    let (lots, rest) = values.as_chunks();
    assert!(rest.is_empty());
    lots
}

/// As [`lots`], mutable.
pub fn lots_mut(values: &mut [u64]) -> &mut [Lot] {
    let (lots, rest) = values.as_chunks_mut();
    assert!(rest.is_empty());
    lots
}

/// `x = x - a·s + extra`, canonical; x and extra lazy, a and s stored.
#[inline(never)]
pub fn mask(m: &Modulus, [a, s, extra]: [&Lot; 3], x: &mut Lot) {
    for (((x, &a), &s), &extra) in x.iter_mut().zip(a).zip(s).zip(extra) {
        let masked = m.sub(m.canonical(*x), m.mul_stored(a, s));
        *x = m.add(masked, m.canonical(extra));
    }
}

/// `x + a·s`, canonical; x lazy, a and s stored.
#[inline(never)]
pub fn add_product(m: &Modulus, [a, s]: [&Lot; 2], x: &mut Lot) {
    for ((x, &a), &s) in x.iter_mut().zip(a).zip(s) {
        *x = m.add(m.canonical(*x), m.mul_stored(a, s));
    }
}

/// Sums over the residues y_i modulo q_i of each coefficient.
#[derive(ZeroizeOnDrop)]
struct Sums {
    /// Σ y_i/q_i modulo 2, in units of 2^-63
    quotient: Lot,
    /// the last bit of Σ y_i
    parity: Lot,
}

/// 1/q in fixed point.
#[derive(Clone, Copy)]
struct Inverse {
    factor: u64,
    shift: u32,
}

impl Inverse {
    fn new(m: &Modulus) -> Self {
        let shift = 64 - m.bits();
        // below 2^64: q is odd, so q·2^shift exceeds 2^63
        let factor = ((1u128 << 127) / (u128::from(m.p()) << shift)) as u64;
        Self { factor, shift }
    }
}

impl Sums {
    const ZERO: Self = Self {
        quotient: [0; LOT],
        parity: [0; LOT],
    };
}

/// Adds canonical residues y modulo q. The quotient comes out at most 2 units too small.
#[inline(never)]
fn add_residues(sums: &mut Sums, inverse: Inverse, residues: &Lot) {
    let Inverse { factor, shift } = inverse;
    for ((q, parity), &y) in sums.quotient.iter_mut().zip(&mut sums.parity).zip(residues) {
        let quotient = (u128::from(y << shift) * u128::from(factor)) >> 64;
        *q = q.wrapping_add(quotient as u64);
        *parity ^= y;
    }
}

/// Parity of Σ y_i + v, where v rounds Σ y_i/q_i. Returns the largest distance to v in 2^-63, at least `greatest`.
#[inline(never)]
fn round(sums: &Sums, greatest: u64, bits: &mut Lot) -> u64 {
    const HALF: u64 = 1 << 62;
    let mut greatest = greatest as i64;
    for ((bit, quotient), parity) in bits.iter_mut().zip(&sums.quotient).zip(&sums.parity) {
        let moved = quotient.wrapping_add(HALF);
        *bit = (parity ^ moved >> 63) & 1;
        let distance = (moved << 1 >> 1) as i64 - HALF as i64;
        let distance = (distance ^ distance >> 63) - (distance >> 63);
        let more = distance - greatest;
        // `black_box` keeps the compiler from recognising a maximum, for which it would branch
        greatest += more & black_box(!(more >> 63));
    }
    greatest as u64
}

/// Parities of the coefficients centred modulo the product Q of the odd primes `basis`, and the largest coefficient
/// over Q (at most 1/2) in units of 2^-63. `limbs` are in coefficient form, canonical and plain, and are overwritten.
///
/// As Q is odd, `[x]_Q = Σ y_i Q/q_i - v Q` has the parity of Σ y_i + v.
pub fn parities(
    rns: &RnsContext,
    basis: &[usize],
    poly: &mut SecretPoly,
) -> (Zeroizing<Vec<u64>>, u64) {
    for (limb, &i) in poly.limbs.iter_mut().zip(basis) {
        let m = rns.modulus(i);
        let others = basis.iter().copied().filter(|&j| j != i);
        let c = m.shoup(m.inv(rns.product(m, others)));
        limb.iter_mut().for_each(|x| *x = m.scale(*x, c));
    }
    let inverses = basis.iter().map(|&i| Inverse::new(rns.modulus(i)));
    let inverses: Vec<Inverse> = inverses.collect();
    let mut bits = Zeroizing::new(vec![0; rns.ring().n()]);
    let mut largest = 0;
    for (at, bits) in lots_mut(&mut bits).iter_mut().enumerate() {
        let mut sums = Sums::ZERO;
        for (limb, &inverse) in poly.limbs.iter().zip(&inverses) {
            add_residues(&mut sums, inverse, &lots(limb)[at]);
        }
        largest = round(&sums, largest, bits);
    }
    (bits, largest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounding_is_that_of_integers() {
        let primes = [16_776_961u64, 335_539_201, 140_737_437_991_681];
        for count in 1..=3 {
            let moduli: Vec<Modulus> = primes[..count].iter().map(|&p| Modulus::new(p)).collect();
            let product: u128 = moduli.iter().map(|m| u128::from(m.p())).product();
            let mut sums = Sums::ZERO;
            // x/product = Σ y_i/q_i modulo 1
            let values: [u128; LOT] = core::array::from_fn(|k| {
                // fixed point cannot resolve values within about 2^-58 of a half
                let near = product >> 50;
                let half = product / 2;
                let edges = [0, 1, half - near, half + near + 1, product - 1];
                let mixed = (k as u128).pow(19) * 0x9e37_79b9_7f4a % product;
                edges.get(k).copied().unwrap_or(mixed)
            });
            let mut whole = [0u128; LOT];
            let mut parities = [0; LOT];
            for m in &moduli {
                let others = product / u128::from(m.p());
                let inverse = m.inv((others % u128::from(m.p())) as u64);
                let lot = values.map(|x| m.mul((x % u128::from(m.p())) as u64, inverse));
                add_residues(&mut sums, Inverse::new(m), &lot);
                for ((w, parity), y) in whole.iter_mut().zip(&mut parities).zip(lot) {
                    *w += u128::from(y) * others;
                    *parity ^= y;
                }
            }
            let mut bits = [0; LOT];
            let greatest = round(&sums, 5, &mut bits);
            let mut worst = 0.0f64;
            for (k, bit) in bits.iter().enumerate() {
                let v = (whole[k] + product / 2) / product;
                assert_eq!(*bit, (parities[k] ^ v as u64) & 1, "{count} {k}");
                let distance = whole[k].abs_diff(v * product);
                worst = worst.max(distance as f64 / product as f64);
            }
            assert!((greatest as f64 * 2f64.powi(-63) - worst).abs() < 1e-15);
            assert_eq!(round(&sums, 1 << 62, &mut bits), 1 << 62);
        }
    }
}
