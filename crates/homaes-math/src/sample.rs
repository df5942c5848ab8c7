//! Samplers of secrets, errors and uniform residues.
//!
//! | sampler | distribution | tail |
//! |---|---|---|
//! | [`uniform`] | uniform modulo p, from a public seed | none (rejection; timing depends on public data) |
//! | [`fixed_weight`] | h coefficients ±1, the rest 0, uniform among those | none |
//! | [`ternary`] | each coefficient uniform in {-1, 0, 1} | bias below 2^-62 |
//! | [`binomial`] | each coefficient the sum of two bits less two others: -2 to 2, σ = 1 | none |
//! | [`gaussian`] | discrete Gaussian, σ = 3.2, from a 63-bit table | cut at ±29 = 9 σ; statistical distance 2^-60.8 |
//!
//! Secret samplers neither branch nor index on secrets: they scan and select with masks, on lots of [`LOT`] words, so
//! that their machine code has no jump but that of its loop. A test of the command checks this.

use crate::modulus::Modulus;
use core::hint::black_box;
use rand_chacha::ChaCha20Rng;
use rand_core::{CryptoRng, Rng, SeedableRng};
use zeroize::{Zeroize, Zeroizing};

/// Words that code on secrets takes at a time.
pub const LOT: usize = 64;

/// Standard deviation of [`gaussian`].
pub const SIGMA: f64 = 3.2;
/// Largest magnitude that [`gaussian`] returns.
pub const TAIL: usize = THRESHOLDS.len();

/// A public 32-byte seed, stored in place of uniform polynomials.
pub type Seed = [u8; 32];

/// Fills `out` with uniform canonical residues from word stream `stream` of `seed`.
///
/// Reproducible on every platform: ChaCha20 with the seed as key and the stream number as nonce, 64-bit little-endian
/// words masked to the bit length of p, rejected unless below p.
pub fn uniform(seed: &Seed, stream: u64, m: &Modulus, out: &mut [u64]) {
    let mut rng = ChaCha20Rng::from_seed(*seed);
    rng.set_stream(stream);
    let mask = u64::MAX >> (64 - m.bits());
    let mut buffer = [0u8; 2048];
    let mut filled = 0;
    while filled < out.len() {
        rng.fill_bytes(&mut buffer);
        let words = buffer.as_chunks().0.iter();
        let words = words.map(|&word| u64::from_le_bytes(word) & mask);
        let rest = &mut out[filled..];
        if rest.len() < buffer.len() / 8 {
            let accepted = words.filter(|&x| x < m.p());
            filled += rest.iter_mut().zip(accepted).map(|(x, y)| *x = y).count();
        } else {
            // Up to half of the words are rejected; the processor would mispredict a branch as often.
            let mut accepted = 0;
            for x in words {
                rest[accepted] = x;
                accepted += usize::from(x < m.p());
            }
            filled += accepted;
        }
    }
}

/// Uniform below `bound`, by rejection: the rejected draws are independent of the accepted one.
fn below(rng: &mut impl CryptoRng, bound: u64) -> u64 {
    let mask = u64::MAX >> bound.leading_zeros();
    loop {
        let x = rng.next_u64() & mask;
        if x < bound {
            return x;
        }
    }
}

/// `weight` coefficients ±1 among `out.len()`, uniform over all such vectors.
///
/// Cost: `weight` scans of the vector. Memory accesses do not depend on the positions chosen.
#[inline(never)]
pub fn fixed_weight(rng: &mut impl CryptoRng, weight: usize, out: &mut [i64]) {
    assert!(weight <= out.len());
    out.fill(0);
    let len = out.len();
    let (lots, rest) = out.as_chunks_mut();
    // the padding of the last lot counts as taken
    let mut last = Zeroizing::new([1; LOT]);
    last[..rest.len()].fill(0);
    for chosen in 0..weight {
        let rank = below(rng, (len - chosen) as u64) as i64;
        let sign = 1 - 2 * (rng.next_u64() & 1) as i64;
        let all = lots.iter_mut().chain([&mut *last]);
        all.fold(0, |free, lot| choose(rank, sign, free, lot));
    }
    rest.copy_from_slice(&last[..rest.len()]);
}

/// Sets the free position number `rank` to `sign` if it is in this lot, with `free` free ones before the lot; returns
/// the number of free ones up to its end.
#[inline(never)]
fn choose(rank: i64, sign: i64, mut free: i64, lot: &mut [i64; LOT]) -> i64 {
    for x in lot {
        let is_free = 1 - (*x & 1);
        // all ones at the free position with `rank` free ones before it; hidden, or the compiler takes a branch
        let hit = black_box(-(is_free & i64::from(free == rank)));
        *x |= sign & hit;
        free += is_free;
    }
    free
}

/// Fills `out` by `kernel`, which turns a lot of uniform words into samples in two's complement.
fn fill(rng: &mut impl CryptoRng, kernel: fn(&mut [u64; LOT]), out: &mut [i64]) {
    let mut words = [0; LOT];
    for part in out.chunks_mut(LOT) {
        words[..part.len()].fill_with(|| rng.next_u64());
        kernel(&mut words);
        for (x, &word) in part.iter_mut().zip(&words) {
            *x = word as i64;
        }
    }
    words.zeroize();
}

/// Coefficients uniform in {-1, 0, 1}.
pub fn ternary(rng: &mut impl CryptoRng, out: &mut [i64]) {
    fill(rng, thirds, out);
}

/// Uniform words to -1, 0 and 1.
#[inline(never)]
fn thirds(words: &mut [u64; LOT]) {
    for x in words {
        *x = (((u128::from(*x) * 3) >> 64) as u64).wrapping_sub(1);
    }
}

/// Centred binomial coefficients: integers from -2 to 2 of variance 1, with probabilities 1, 4, 6, 4 and 1 of 16.
#[inline(never)]
pub fn binomial(rng: &mut impl CryptoRng, out: &mut [i64]) {
    fill(rng, differences, out);
}

/// Uniform words to sums of two bits less sums of two others.
#[inline(never)]
fn differences(words: &mut [u64; LOT]) {
    for x in words {
        let (a, b) = (*x & 1, *x >> 1 & 1);
        let (c, d) = (*x >> 2 & 1, *x >> 3 & 1);
        *x = (a + b).wrapping_sub(c + d);
    }
}

/// 2^63 P(|X| <= k) of the discrete Gaussian on all integers, rounded to nearest; from k = 29 on it would be 2^63.
///
/// Computed with 80 digits, so samples do not depend on a platform's `exp`. Rounding and cut together are a
/// statistical distance of 2^-60.8 per coefficient.
const THRESHOLDS: [u64; 29] = [
    1_149_872_835_429_266_008,
    3_340_023_666_152_832_878,
    5_231_742_854_224_525_755,
    6_713_673_034_491_318_534,
    7_766_573_326_200_196_559,
    8_445_050_402_542_556_634,
    8_841_576_285_654_612_683,
    9_051_758_678_878_186_096,
    9_152_802_451_769_415_979,
    9_196_859_074_767_746_705,
    9_214_281_206_174_004_120,
    9_220_529_764_022_708_441,
    9_222_562_339_745_873_206,
    9_223_161_995_634_596_964,
    9_223_322_447_917_711_088,
    9_223_361_386_320_111_733,
    9_223_369_956_674_611_012,
    9_223_371_667_508_612_691,
    9_223_371_977_254_386_295,
    9_223_372_028_116_140_532,
    9_223_372_035_690_845_298,
    9_223_372_036_713_969_870,
    9_223_372_036_839_307_001,
    9_223_372_036_853_232_778,
    9_223_372_036_854_636_068,
    9_223_372_036_854_764_320,
    9_223_372_036_854_774_951,
    9_223_372_036_854_775_750,
    9_223_372_036_854_775_804,
];

/// Discrete Gaussian coefficients with standard deviation [`SIGMA`], cut at ±[`TAIL`].
#[inline(never)]
pub fn gaussian(rng: &mut impl CryptoRng, out: &mut [i64]) {
    fill(rng, inversion, out);
}

/// Uniform words to Gaussian coefficients: a sign, and how many thresholds the rest reaches.
#[inline(never)]
fn inversion(words: &mut [u64; LOT]) {
    for x in words {
        let (u, sign) = (*x >> 1, *x & 1);
        let magnitude = THRESHOLDS.iter().map(|&t| u64::from(u >= t)).sum::<u64>();
        *x = (magnitude ^ sign.wrapping_neg()).wrapping_add(sign);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rng() -> ChaCha20Rng {
        ChaCha20Rng::from_seed([7; 32])
    }

    #[test]
    fn uniform_words_are_those_of_the_stream_below_the_modulus() {
        // from hardly any word rejected to nearly half of them
        for p in [140_737_437_991_681, 335_539_201, 77_521] {
            let m = Modulus::new(p);
            for len in [0, 1, 128, 255, 256, 257, 1000, 5000] {
                let mut rng = ChaCha20Rng::from_seed([3; 32]);
                rng.set_stream(9);
                let words = core::iter::repeat_with(|| rng.next_u64() % (1 << m.bits()));
                let want: Vec<u64> = words.filter(|&x| x < p).take(len).collect();
                let mut got = vec![p; len];
                uniform(&[3; 32], 9, &m, &mut got);
                assert_eq!(got, want, "{len} below {p}");
            }
        }
    }

    #[test]
    fn fixed_weight_is_exact_and_spread() {
        let mut seen = vec![0i64; 128];
        let mut sum = 0;
        let mut rng = rng();
        for _ in 0..2000 {
            let mut s = vec![0i64; 128];
            fixed_weight(&mut rng, 16, &mut s);
            assert_eq!(s.iter().map(|x| x.abs()).sum::<i64>(), 16);
            assert!(s.iter().all(|x| x.abs() <= 1));
            seen.iter_mut().zip(&s).for_each(|(a, x)| *a += x.abs());
            sum += s.iter().sum::<i64>();
        }
        // each position is hit 250 times, standard deviation below 15
        assert!(seen.iter().all(|&c| (c - 250).abs() < 90), "{seen:?}");
        assert!(sum.abs() < 1000, "signs are balanced: {sum}");
        let mut full = vec![0; 7];
        fixed_weight(&mut rng, 7, &mut full);
        assert!(full.iter().all(|x| x.abs() == 1));
    }

    fn weight(k: usize) -> f64 {
        (-((k * k) as f64) / (2.0 * SIGMA * SIGMA)).exp()
    }

    #[test]
    fn thresholds_are_those_of_the_gaussian() {
        let beyond = |k: usize| 2.0 * (k..=60).rev().map(weight).sum::<f64>();
        let total = 1.0 + beyond(1);
        for (k, &t) in THRESHOLDS.iter().enumerate() {
            // the complement keeps its relative precision where it is small
            let (got, want) = ((1u64 << 63) - t, beyond(k + 1) / total * 2f64.powi(63));
            let tolerance = 1.0 + want * 2f64.powi(-47);
            assert!((got as f64 - want).abs() <= tolerance, "{k}: {got} {want}");
        }
        let next = beyond(TAIL + 1) / total * 2f64.powi(63);
        assert!(next < 0.5, "one more threshold would be distinct: {next}");
    }

    #[test]
    fn gaussian_frequencies() {
        let count = 1usize << 17;
        let mut x = vec![0i64; count];
        gaussian(&mut rng(), &mut x);
        let total: f64 = 1.0 + 2.0 * (1..=60).map(weight).sum::<f64>();
        // every value by itself up to ±12, where 29 are expected; the rest in one class per sign
        let edge = 12i64;
        let mut seen = [0f64; 27];
        for &v in &x {
            seen[(v.clamp(-edge - 1, edge + 1) + edge + 1) as usize] += 1.0;
        }
        let rest = (13..=60).map(weight).sum::<f64>();
        let want = |v: i64| match v.abs() > edge {
            true => rest,
            false => weight(v.unsigned_abs() as usize),
        };
        let wanted = (-edge - 1..).map(|v| count as f64 * want(v) / total);
        let deviations = seen.into_iter().zip(wanted);
        let chi2: f64 = deviations
            .map(|(seen, want)| (seen - want).powi(2) / want)
            .sum();
        assert!(chi2 < 60.0, "chi^2 with 26 degrees of freedom: {chi2}");
    }

    #[test]
    fn gaussian_and_ternary_moments() {
        let mut x = vec![0i64; 1 << 17];
        let check = |x: &[i64], variance: f64, slack: [f64; 2]| {
            let n = x.len() as f64;
            let mean = x.iter().sum::<i64>() as f64 / n;
            let square = x.iter().map(|&v| (v * v) as f64).sum::<f64>() / n;
            assert!(mean.abs() < slack[0], "{mean}");
            assert!((square - variance).abs() < slack[1], "{square}");
        };
        gaussian(&mut rng(), &mut x);
        check(&x, SIGMA * SIGMA, [0.05, 0.2]);
        assert!(x.iter().all(|v| v.unsigned_abs() as usize <= TAIL));
        binomial(&mut rng(), &mut x);
        check(&x, 1.0, [0.02; 2]);
        let share = |v: i64| x.iter().filter(|&&c| c == v).count() as f64 / x.len() as f64;
        for (v, want) in (-2..).zip([1.0, 4.0, 6.0, 4.0, 1.0]) {
            assert!((share(v) - want / 16.0).abs() < 0.01, "{v}: {}", share(v));
        }
        ternary(&mut rng(), &mut x);
        check(&x, 2.0 / 3.0, [0.02, 0.01]);
    }
}
