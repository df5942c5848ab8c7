//! Distributions on the torus, in units of 2^-64: x stands for x/2^64.
//!
//! | sampler | distribution | tail |
//! |---|---|---|
//! | [`uniform`] | uniform, from a public seed | none |
//! | [`binary`] | each coefficient 0 or 1 | none |
//! | [`add_gaussian`] | rounded normal, by Box and Muller | at most 9.4 σ; a normal exceeds it with probability 2^-63 |
//!
//! Samplers of secrets neither branch nor index on secrets. Logarithm, sine and cosine are polynomials, reciprocal
//! and square root Newton iterations, and rounding adds and subtracts a large number: additions and multiplications
//! take constant time, which divisions, square roots and the library's rounding need not.

use core::f64::consts::{FRAC_1_SQRT_2, FRAC_PI_2, LN_2, LOG2_E};
use rand_chacha::ChaCha20Rng;
use rand_core::{CryptoRng, Rng, SeedableRng};
use zeroize::Zeroizing;

use crate::sample::{LOT, Seed};

/// Fills `out` with uniform words: word stream `stream` of `seed`, little endian, reproducible everywhere.
pub fn uniform(seed: &Seed, stream: u64, out: &mut [u64]) {
    let mut rng = ChaCha20Rng::from_seed(*seed);
    rng.set_stream(stream);
    let mut buffer = [0u8; 2048];
    for words in out.chunks_mut(buffer.len() / 8) {
        let bytes = &mut buffer[..8 * words.len()];
        rng.fill_bytes(bytes);
        for (word, bytes) in words.iter_mut().zip(bytes.as_chunks().0) {
            *word = u64::from_le_bytes(*bytes);
        }
    }
}

/// Uniform bits, one per word.
pub fn binary(rng: &mut impl CryptoRng, out: &mut [u64]) {
    for words in out.chunks_mut(64) {
        let bits = rng.next_u64();
        for (i, word) in words.iter_mut().enumerate() {
            *word = bits >> i & 1;
        }
    }
}

/// Adds independent normal numbers of standard deviation `sigma` (a fraction of the torus), rounded, to `out`. Exact
/// to about 2^-50 of σ per sample.
#[inline(never)]
pub fn add_gaussian(rng: &mut impl CryptoRng, sigma: f64, out: &mut [u64]) {
    let scale = sigma * 2f64.powi(64);
    let mut words = Zeroizing::new([0; LOT]);
    for part in out.chunks_mut(LOT) {
        // a pair of words gives a pair of samples
        let used = part.len().next_multiple_of(2);
        words[..used].fill_with(|| rng.next_u64());
        normals(scale, &mut words);
        for (x, sample) in part.iter_mut().zip(words.iter()) {
            *x = x.wrapping_add(*sample);
        }
    }
}

/// Uniform words to rounded normal ones of standard deviation `scale`.
#[inline(never)]
fn normals(scale: f64, words: &mut [u64; LOT]) {
    for pair in words.as_chunks_mut().0 {
        let [u, v] = *pair;
        *pair = normal_pair(u, v).map(|sample| rounded(sample * scale));
    }
}

/// The integer nearest to x, ties to even, modulo 2^64; for |x| < 2^82.
#[inline(always)]
fn rounded(x: f64) -> u64 {
    // numbers near this are integers, whose last bits are those of the rounded x
    const MIDDLE: f64 = 1.5 * (1u64 << 52) as f64;
    const UPPER: f64 = (1u64 << 32) as f64;
    let upper = x * (1.0 / UPPER) + MIDDLE;
    let lower = x - (upper - MIDDLE) * UPPER + MIDDLE;
    let integer = |x: f64| x.to_bits().wrapping_sub(MIDDLE.to_bits());
    (integer(upper) << 32).wrapping_add(integer(lower))
}

/// Two independent standard normal numbers from 128 uniform bits.
#[inline(always)]
fn normal_pair(u: u64, v: u64) -> [f64; 2] {
    // for u next to 2^64 rounding may leave a sign
    let radius = square_root((-2.0 * ln_fraction(u | 1)).abs());
    // two bits choose a quarter of the turn, the others the angle within it
    let within = (v << 2) as f64 * 2f64.powi(-64) - 0.5;
    let (sin, cos) = sin_cos(within * FRAC_PI_2);
    let [low, high] = [v >> 62 & 1, v >> 63].map(|bit| bit as f64);
    let (x, y) = (cos - low * (cos + sin), sin + low * (cos - sin));
    let signed = radius * (1.0 - 2.0 * high);
    [signed * x, signed * y]
}

/// log2(u/2^64) for u > 0, without a branch on u.
#[must_use]
#[inline(never)]
pub fn log2_fraction(u: u64) -> f64 {
    ln_fraction(u) * LOG2_E
}

/// ln(u/2^64) for u > 0.
#[inline(always)]
fn ln_fraction(u: u64) -> f64 {
    // u = f 2^exponent with f in [1/2, 1), from the parts of a number in double precision
    let bits = (u as f64).to_bits();
    let exponent = (bits >> 52) as i32 - 1022;
    let f = f64::from_bits(bits & ((1 << 52) - 1) | 1022 << 52);
    // ln f = ln √½ + 2 artanh s, |s| < 0.172
    let s = (f - FRAC_1_SQRT_2) * reciprocal(f + FRAC_1_SQRT_2);
    let square = s * s;
    let series = (0..12)
        .rev()
        .fold(0.0, |sum, k| sum * square + 1.0 / f64::from(2 * k + 1));
    2.0 * s * series + LN_2 * (f64::from(exponent) - 64.5)
}

/// 1/x for x in [1.2, 1.8]: Newton's iteration from a line that is off by at most 1/50.
#[inline(always)]
fn reciprocal(x: f64) -> f64 {
    (0..4).fold(1.36 - 0.454 * x, |y, _| y * (2.0 - x * y))
}

/// √x for x ≥ 0: x times the inverse root, by Newton's iteration from half the exponent.
#[inline(always)]
fn square_root(x: f64) -> f64 {
    // 1.5 · 1023 · 2^52 less a constant that balances the error
    let first = f64::from_bits(0x5fe6_eb50_c7b5_37a9_u64.wrapping_sub(x.to_bits() >> 1));
    let half = 0.5 * x;
    // the factor x comes before y, so that nothing overflows at 0
    let inverse = (0..4).fold(first, |y, _| y * (1.5 - half * y * y));
    let root = x * inverse;
    // once more for the root itself, whose last bits the product has lost
    root + 0.5 * inverse * (x - root * root)
}

/// For |x| ≤ π/4.
#[inline(always)]
fn sin_cos(x: f64) -> (f64, f64) {
    let square = -x * x;
    // 1 + y/(2·3) (1 + y/(4·5) (1 + …)), and the like
    let nest = |first: u32| {
        (0..9).rev().fold(1.0, |sum, k| {
            let n = first + 2 * k;
            1.0 + sum * (square * (1.0 / f64::from(n * (n + 1))))
        })
    };
    (x * nest(2), nest(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_are_those_of_the_library() {
        let mut rng = ChaCha20Rng::from_seed([1; 32]);
        for i in 0..100_000 {
            let u = rng.next_u64() >> (i % 64) | 1;
            let want = (u as f64).ln() - 64.0 * LN_2;
            assert!((ln_fraction(u) - want).abs() <= 1e-14 * (1.0 - want), "{u}");
            let x = (rng.next_u64() as f64 * 2f64.powi(-64) - 0.5) * FRAC_PI_2;
            let (s, c) = sin_cos(x);
            assert!((s - x.sin()).abs().max((c - x.cos()).abs()) < 1e-15, "{x}");
        }
        for i in 0..100_000 {
            let x = (1 + rng.next_u64() % 90) as f64 * (-f64::from(i % 60)).exp2();
            assert!((square_root(x) / x.sqrt() - 1.0).abs() < 4e-16, "{x}");
            let y = 1.2 + 0.6 * rng.next_u64() as f64 * 2f64.powi(-64);
            assert!((reciprocal(y) * y - 1.0).abs() < 4e-16, "{y}");
        }
        assert_eq!(square_root(0.0), 0.0);
        assert_eq!(log2_fraction(1 << 62), -2.0);
        assert!(ln_fraction(u64::MAX).abs() < 1e-15);
        assert!((ln_fraction(1) + 64.0 * LN_2).abs() < 1e-13);
    }

    #[test]
    fn rounding_is_to_the_nearest_even_integer() {
        let mut rng = ChaCha20Rng::from_seed([2; 32]);
        let ties = [0.0, 0.5, 1.5, 2.5, -0.5, -1.5, -2.5, 2f64.powi(51) + 0.5];
        let random = (0..100_000).map(|i| {
            let x = rng.next_u64() as i64 as f64;
            // quarters to multiples of 2^10
            x * 2f64.powi(i % 66 - 65)
        });
        for x in ties.into_iter().chain(random) {
            assert_eq!(rounded(x), x.round_ties_even() as i64 as u64, "{x}");
        }
        // beyond 2^63 the torus goes round
        assert_eq!(rounded(2f64.powi(64) + 4096.0), 4096);
    }

    #[test]
    fn normal_frequencies() {
        let count = 1usize << 18;
        let mut words = vec![0u64; count];
        // units of 2^-8 σ
        let rng = &mut ChaCha20Rng::from_seed([5; 32]);
        add_gaussian(rng, 2f64.powi(-40), &mut words);
        let x = words.iter().map(|&w| w as i64 as f64 * 2f64.powi(-24));
        let x: Vec<f64> = x.collect();
        let moment = |k: i32| x.iter().map(|x| x.powi(k)).sum::<f64>() / count as f64;
        let [first, second, third, fourth] = [1, 2, 3, 4].map(moment);
        assert!(first.abs() < 0.01 && third.abs() < 0.04, "{first} {third}");
        assert!((second - 1.0).abs() < 0.012 && (fourth - 3.0).abs() < 0.1);
        // P(|x| < t) for t = ½, 1, 2, 3
        let within = [0.382_925, 0.682_689, 0.954_500, 0.997_300];
        for (t, p) in [0.5, 1.0, 2.0, 3.0].into_iter().zip(within) {
            let found = x.iter().filter(|x| x.abs() < t).count() as f64 / count as f64;
            let spread = (p * (1.0 - p) / count as f64).sqrt();
            assert!((found - p).abs() < 5.0 * spread, "{t}: {found}");
        }
        // neighbours are two coordinates of one point
        let product = x.chunks(2).map(|p| p[0] * p[1]).sum::<f64>() / (count / 2) as f64;
        assert!(product.abs() < 0.015, "{product}");
    }

    #[test]
    fn bits_are_balanced_and_seeds_reproducible() {
        let mut bits = vec![7u64; 100_001];
        binary(&mut ChaCha20Rng::from_seed([6; 32]), &mut bits);
        let ones = bits.iter().sum::<u64>();
        assert!(bits.iter().all(|&b| b < 2) && ones.abs_diff(50_000) < 1000);
        let (mut a, mut b) = (vec![0; 777], vec![0; 300]);
        uniform(&[9; 32], 4, &mut a);
        uniform(&[9; 32], 4, &mut b);
        assert_eq!(a[..300], b);
        uniform(&[9; 32], 5, &mut b);
        assert_ne!(a[..300], b);
    }
}
