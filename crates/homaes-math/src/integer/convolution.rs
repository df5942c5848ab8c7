//! Products of lists of digits modulo X^L - 1, by number-theoretic transforms modulo three primes.

use super::convolution_ntt::{BASE, Garner, MAX_ROWS, Pass, Stage, Tables, Twist};
use super::dft::Roots;
use super::word_lanes::LANES;
use crate::aligned::Words;
use crate::modulus::{MASK, Modulus, Shoup};
use crate::prime::{largest_primes, root_of_unity};
use crate::simd::{Backend, integer as simd};
use core::array;
use std::sync::LazyLock;
use zeroize::Zeroize;

/// Every length divides this.
const ORDER: u64 = (1 << 21) * 9 * 5;
/// The primes are so close to 2^47 that one product folds in the 13 bits of a digit above 2^47, to a lazy number.
const CLOSE: u64 = (1 << 34) - (1 << 22);
const PRIMES: usize = 3;
/// Longest row: 128 KiB, which the second-level cache holds with its tables.
const LONGEST_ROW: usize = 1 << 14;
/// Least and most bits of a digit.
const DIGIT_BITS: [usize; 2] = [52, 60];
/// Coefficients recombined at a time.
const LOT: usize = 512;

static MODULI: LazyLock<[Modulus; PRIMES]> = LazyLock::new(|| {
    let primes = largest_primes(1 << 47, ORDER, PRIMES);
    assert!(primes.iter().all(|p| *p > (1 << 47) - CLOSE));
    array::from_fn(|i| Modulus::new(primes[i]))
});

/// The use of a transformed factor: a product takes one plain and one stored factor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// one that is used once, and sums of products
    Plain,
    /// with the factor 2^52 of Montgomery's reduction
    Stored,
}

/// A factor in transformed form: residues modulo three primes.
#[derive(Clone)]
pub struct Spectrum([Words; PRIMES]);

impl Zeroize for Spectrum {
    fn zeroize(&mut self) {
        self.0.iter_mut().for_each(Zeroize::zeroize);
    }
}

impl core::fmt::Debug for Spectrum {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "Spectrum({} points)", self.0[0].len())
    }
}

#[derive(Clone, Debug)]
struct Field {
    m: Modulus,
    forward: Tables,
    inverse: Tables,
    /// 1, and 2^52
    scales: [Shoup; 2],
    /// 1/L
    unscale: Shoup,
}

/// Products modulo X^L - 1 of integers cut into digits.
///
/// A product of `a` and `b` digits has a + b; beyond L, digits k and k + L add up. [`inverse`](Self::inverse) reads
/// the undisturbed ones, given the right first digit.
#[derive(Clone, Debug)]
pub struct Convolution {
    backend: Backend,
    bits: usize,
    len: usize,
    fields: [Field; PRIMES],
    garner: Garner,
}

impl Convolution {
    /// For cyclic products of at least `bits` bits. At most `overlaps` products of digits add up at one place: for
    /// one product, the number of digits of the shorter factor.
    ///
    /// # Panics
    /// Beyond 2^27 bits or 2^30 overlaps, which only a wrong parameter set can cause.
    pub fn new(bits: usize, overlaps: usize, backend: Backend) -> Self {
        let moduli = &*MODULI;
        let capacity: f64 = moduli.iter().map(Modulus::log2).sum();
        let spare = capacity - 0.001 - (overlaps.max(1) as f64).log2();
        let [least, most] = DIGIT_BITS;
        let digit = ((spare / 2.0) as usize).min(most);
        assert!(digit >= least, "too many digits in one sum");
        let (row, rows) = shape(bits.div_ceil(digit));
        let fields = array::from_fn(|i| Field::new(moduli[i], row, &rows));
        let [p0, p1] = [moduli[0].p(), moduli[1].p()];
        let product = u128::from(p0) * u128::from(p1);
        let inverse = |of: u64, m: Modulus| m.shoup(m.inv(of % m.p()));
        Self {
            backend,
            bits: digit,
            len: row * rows.iter().product::<usize>(),
            fields,
            garner: Garner {
                inverses: [
                    inverse(p0, moduli[1]),
                    inverse(p0, moduli[2]),
                    inverse(p1, moduli[2]),
                ],
                product: [product as u64 & MASK, (product >> 52) as u64],
                moduli: array::from_fn(|i| moduli[i]),
            },
        }
    }

    /// Bits of a digit.
    pub fn digit_bits(&self) -> usize {
        self.bits
    }

    /// L.
    pub fn digits(&self) -> usize {
        self.len
    }

    /// The transform of a number of at most L digits.
    ///
    /// # Panics
    /// If it is longer.
    pub fn forward(&self, words: &[u64], form: Form) -> Spectrum {
        let digits = (64 * words.len()).div_ceil(self.bits);
        assert!(
            digits <= self.len || 64 * words.len() < self.bits * self.len + 64,
            "{digits} digits, expected at most {}",
            self.len
        );
        Spectrum(array::from_fn(|i| {
            let field = &self.fields[i];
            let scale = field.scales[usize::from(form == Form::Stored)];
            let mut out = Words::scratch(self.len);
            let words = (words, self.bits);
            simd::forward(
                self.backend,
                &field.m,
                &field.forward,
                scale,
                words,
                &mut out,
            );
            out
        }))
    }

    /// The product of a plain and a stored factor.
    pub fn multiply(&self, plain: &Spectrum, stored: &Spectrum) -> Spectrum {
        Spectrum(array::from_fn(|i| {
            let mut out = Words::scratch(self.len);
            let (m, [a, b]) = (&self.fields[i].m, [plain, stored].map(|s| &s.0[i]));
            simd::multiply(self.backend, m, a, b, &mut out);
            out
        }))
    }

    /// The product, in place of the plain factor.
    pub fn multiply_assign(&self, plain: &mut Spectrum, stored: &Spectrum) {
        let pairs = plain.0.iter_mut().zip(&stored.0);
        for (field, (a, b)) in self.fields.iter().zip(pairs) {
            simd::multiply_assign(self.backend, &field.m, a, b);
        }
    }

    /// Adds a product of a plain and a stored factor to a sum.
    pub fn multiply_add(&self, plain: &Spectrum, stored: &Spectrum, sum: &mut Spectrum) {
        let triples = sum.0.iter_mut().zip(&plain.0).zip(&stored.0);
        for (field, ((sum, a), b)) in self.fields.iter().zip(triples) {
            simd::multiply_add(self.backend, &field.m, a, b, sum);
        }
    }

    /// ⌊sum/2^(first·bits)⌋ modulo 2^(64·`out.len()`), from digit `first` of a sum of products on. It may be too
    /// small by one, because the carry from below is that of four digits.
    pub fn inverse(&self, mut sum: Spectrum, first: usize, out: &mut [u64]) {
        for (field, a) in self.fields.iter().zip(&mut sum.0) {
            simd::inverse(self.backend, &field.m, &field.inverse, field.unscale, a);
        }
        self.put_together(&sum, first, out);
        // what was transformed may be secret
        sum.zeroize();
    }

    fn put_together(&self, residues: &Spectrum, first: usize, out: &mut [u64]) {
        let mask = (1 << self.bits) - 1;
        let mut pack = Packer::new(out, self.bits);
        let mut parts = [[0; LOT]; 3];
        let start = first.saturating_sub(4) / LANES * LANES;
        let (mut carry, mut before) = (0, [0; 3]);
        for at in (start..self.len).step_by(LOT) {
            let count = LOT.min(self.len - at);
            let [d0, d1, d2] = &mut parts;
            simd::combine(
                self.backend,
                &self.garner,
                self.bits,
                array::from_fn(|i| &residues.0[i][at..at + count]),
                [&mut d0[..count], &mut d1[..count], &mut d2[..count]],
            );
            for (k, ((&low, &middle), &upper)) in d0[..count].iter().zip(&*d1).zip(&*d2).enumerate()
            {
                // digit k of the lower parts, k - 1 of the middle ones, k - 2 of the upper ones
                let [last_middle, last_upper, older_upper] = before;
                let sum = low + last_middle + older_upper + carry;
                before = [middle, upper, last_upper];
                carry = sum >> self.bits;
                if at + k >= first && !pack.push(sum & mask) {
                    return;
                }
            }
        }
        let [middle, upper, oldest] = before;
        for sum in [middle + oldest + carry, upper] {
            if !pack.push(sum & mask) {
                return;
            }
        }
        pack.finish();
    }
}

struct Packer<'o> {
    out: core::slice::IterMut<'o, u64>,
    bits: usize,
    held: u128,
    count: usize,
}

impl<'o> Packer<'o> {
    fn new(out: &'o mut [u64], bits: usize) -> Self {
        Self {
            out: out.iter_mut(),
            bits,
            held: 0,
            count: 0,
        }
    }

    /// Whether there is room for more.
    #[inline(always)]
    fn push(&mut self, digit: u64) -> bool {
        self.held |= u128::from(digit) << self.count;
        self.count += self.bits;
        if self.count >= 64 {
            let Some(out) = self.out.next() else {
                return false;
            };
            *out = self.held as u64;
            self.held >>= 64;
            self.count -= 64;
        }
        true
    }

    fn finish(mut self) {
        for out in self.out {
            *out = self.held as u64;
            self.held >>= 64;
        }
    }
}

/// Row length and column radices of the shortest transform of at least `digits` digits (ties: the longest rows).
fn shape(digits: usize) -> (usize, Vec<usize>) {
    let rows = |a: u32, b: u32, c: u32| 2usize.pow(a) * 3usize.pow(b) * 5usize.pow(c);
    let mut best: Option<(usize, usize, usize)> = None;
    for row in (6..=14).filter(|&s| s != 7).map(|s| 1 << s) {
        for (a, b, c) in
            (0..=7).flat_map(|a| (0..=2).flat_map(move |b| (0..=1).map(move |c| (a, b, c))))
        {
            let count = rows(a, b, c);
            let len = row * count;
            let better = best.is_none_or(|(found, found_row, _)| {
                (len, LONGEST_ROW - row) < (found, LONGEST_ROW - found_row)
            });
            if count <= MAX_ROWS && len >= digits && better {
                best = Some((len, row, count));
            }
        }
    }
    let (_, row, count) = best.expect("sizes of parameter sets are within 160 rows of 2^14");
    (row, radices(count))
}

fn radices(mut count: usize) -> Vec<usize> {
    let mut out = Vec::new();
    for radix in [8, 5, 3, 4, 2] {
        while count.is_multiple_of(radix) {
            // 16 is 4·4, not 8·2
            if radix == 8 && count.is_power_of_two() && count == 16 {
                break;
            }
            out.push(radix);
            count /= radix;
        }
    }
    out
}

fn vector(m: &Modulus, of: impl Fn(usize) -> u64) -> [[u64; LANES]; 2] {
    let c: [Shoup; LANES] = array::from_fn(|i| m.shoup(of(i)));
    [c.map(|c| c.w), c.map(|c| c.q)]
}

impl Field {
    fn new(m: Modulus, row: usize, radices: &[usize]) -> Self {
        let len = (row * radices.iter().product::<usize>()) as u64;
        let root = root_of_unity(&m, ORDER, &[2, 3, 5]);
        Self {
            forward: tables(&m, row, radices, root),
            inverse: tables(&m, row, radices, m.inv(root)),
            scales: [m.shoup(1), m.shoup(m.r())],
            unscale: m.shoup(m.inv(len)),
            m,
        }
    }
}

fn powers(m: &Modulus, w: u64, n: usize) -> Vec<u64> {
    let w = m.shoup(w);
    let next = |x: &u64| Some(m.scale(*x, w));
    core::iter::successors(Some(1), next).take(n).collect()
}

/// The tables for a root of unity of order [`ORDER`].
fn tables(m: &Modulus, row: usize, radices: &[usize], root: u64) -> Tables {
    let rows: usize = radices.iter().product();
    let of = |order: usize| m.pow(root, ORDER / order as u64);
    let mut stages = Vec::new();
    let mut block = rows;
    for &radix in radices {
        let apart = block / radix;
        let powers = powers(m, of(block), block);
        let twiddles = (0..block).map(|x| m.shoup(powers[x / radix * (x % radix)]));
        stages.push(Stage {
            radix,
            apart,
            twiddles: twiddles.collect(),
        });
        block = apart;
    }
    let w = of(row * rows);
    let twists = (0..rows).map(|place| {
        let g = m.pow(w, frequency(place, radices) as u64);
        Twist {
            first: array::from_fn(|i| m.to_stored(m.pow(g, i as u64))),
            step: m.shoup(m.pow(g, LANES as u64)),
        }
    });
    let mut passes = Vec::new();
    let mut block = row;
    while block > BASE {
        let radix = match block / BASE {
            2 | 4 | 8 => block / BASE,
            16 => 4,
            _ => 8,
        };
        let apart = block / radix;
        let powers = powers(m, of(block), block);
        let twiddles = (0..block / LANES).map(|x| {
            let (i, j) = (x / radix, x % radix);
            vector(m, |lane| powers[(LANES * i + lane) * j])
        });
        passes.push(Pass {
            radix,
            apart,
            twiddles: twiddles.collect(),
        });
        block = apart;
    }
    let powers = powers(m, of(BASE), BASE);
    Tables {
        roots: Roots::new(m, [of(8), of(3), of(5)]),
        stages,
        twists: twists.collect(),
        passes,
        base: array::from_fn(|j| vector(m, |lane| powers[lane * j])),
    }
}

/// The frequency that the column transforms leave in row `place`.
fn frequency(place: usize, radices: &[usize]) -> usize {
    let (mut block, mut weight, mut place, mut out) =
        (radices.iter().product::<usize>(), 1, place, 0);
    for &radix in radices {
        block /= radix;
        out += weight * (place / block);
        place %= block;
        weight *= radix;
    }
    out
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use num_bigint::BigUint;
    use rand_chacha::ChaCha20Rng;
    use rand_core::{Rng, SeedableRng};

    pub(in crate::integer) fn random(rng: &mut ChaCha20Rng, words: usize) -> Vec<u64> {
        (0..words).map(|_| rng.next_u64()).collect()
    }

    pub(in crate::integer) fn big(words: &[u64]) -> BigUint {
        let halves = words.iter().flat_map(|&w| [w as u32, (w >> 32) as u32]);
        BigUint::new(halves.collect())
    }

    #[test]
    fn shapes() {
        let small = [(1, 64), (65, 128), (18_400, 18_432), (73_400, 73_728)];
        let large = [(1_060_000, 72 << 14), (2_450_000, 2_621_440)];
        for (digits, len) in small.into_iter().chain(large) {
            let (row, radices) = shape(digits);
            assert_eq!(row * radices.iter().product::<usize>(), len, "{digits}");
        }
    }

    /// Sums of whole products, and windows of cyclic ones, on all backends, for every radix.
    #[test]
    fn products_are_those_of_a_library() {
        let mut rng = ChaCha20Rng::from_seed([7; 32]);
        for words in [3, 30, 100, 150, 250, 300, 400, 500, 900, 1300, 2000, 5000] {
            let (a, mut b) = (random(&mut rng, words), random(&mut rng, words / 2 + 1));
            if words == 100 {
                b.fill(u64::MAX);
            }
            let expected = big(&a) * big(&b);
            let total = a.len() + b.len();
            let mut found = Vec::new();
            for backend in Backend::available() {
                let c = Convolution::new(64 * (total + 1), 2 * (b.len() + 2), backend);
                let [x, y] = [(&a, Form::Plain), (&b, Form::Stored)].map(|(x, f)| c.forward(x, f));
                let mut sum = c.multiply(&x, &y);
                c.multiply_add(&x, &y, &mut sum);
                let mut out = vec![0; total + 1];
                c.inverse(sum, 0, &mut out);
                assert_eq!(big(&out), &expected * 2u8, "{words} words, {backend:?}");
                // the middle, where the length is that of `a`
                let c = Convolution::new(64 * a.len(), b.len() + 2, backend);
                let mut spectrum = c.forward(&a, Form::Plain);
                c.multiply_assign(&mut spectrum, &c.forward(&b, Form::Stored));
                let first = (64 * b.len()).div_ceil(c.digit_bits()) + 1;
                let bits = c.digit_bits() * (c.digits() - first - 2);
                let mut out = vec![0; bits / 64];
                c.inverse(spectrum, first, &mut out);
                let window = &expected >> (first * c.digit_bits());
                let modulus = BigUint::from(1u8) << (64 * out.len());
                assert_eq!(big(&out), window % modulus, "{words} words, {backend:?}");
                found.push(out);
            }
            assert!(found.windows(2).all(|pair| pair[0] == pair[1]));
        }
    }
}
