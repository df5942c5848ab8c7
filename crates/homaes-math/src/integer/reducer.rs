//! Remainders modulo a fixed large number, by Barrett's method with cached transforms.

use super::{Convolution, Form, SCHOOLBOOK_WORDS, Spectrum, product};
use crate::natural::{
    add_assign, bit_length, bits_from, sub_assign, subtract_if_not_less, truncate, words_of,
};
use crate::simd::Backend;
use zeroize::Zeroize;

/// Bits that an input may have beyond twice those of the modulus.
const SLACK: usize = 64;
/// Upper parts of at most so many words take the schoolbook method, however long the modulus.
const FEW_WORDS: usize = 8;
/// Most by which a quotient is too small: three for truncation, one for the convolution, one for the reciprocal.
const SHORT: usize = 5;

/// Remainders modulo a fixed number m of n bits.
#[derive(Clone, Debug)]
pub struct Reducer {
    backend: Backend,
    modulus: Vec<u64>,
    bits: usize,
    /// for inputs a few words longer than m, or all if m is short
    few: Few,
    long: Option<Box<Long>>,
}

/// Quotients by the schoolbook method.
#[derive(Clone, Debug)]
struct Few {
    /// ⌊2^(64·cut + shift)/m⌋
    inverse: Vec<u64>,
    /// most bits of the upper part of an input
    shift: usize,
}

#[derive(Clone, Debug)]
struct Long {
    convolution: Convolution,
    /// ⌊2^(64·cut + digits of `first`)/m⌋
    inverse: Spectrum,
    modulus: Spectrum,
    first: usize,
}

impl Zeroize for Reducer {
    fn zeroize(&mut self) {
        self.modulus.zeroize();
        self.few.inverse.zeroize();
        if let Some(long) = &mut self.long {
            long.inverse.zeroize();
            long.modulus.zeroize();
        }
    }
}

impl Reducer {
    /// For the modulus m, which is not 0. The time depends on m only through its bit length.
    pub fn new(modulus: &[u64], backend: Backend) -> Self {
        let bits = bit_length(modulus);
        let modulus = modulus[..words_of(bits)].to_vec();
        // bits of a quotient, and of the upper part of an input
        let quotient = bits + SLACK + 65;
        let short = modulus.len() < SCHOOLBOOK_WORDS;
        let shift = 64 * if short { words_of(quotient) } else { FEW_WORDS };
        let few = Few {
            inverse: reciprocal(&modulus, bits, 64 * cut(bits) + shift, backend),
            shift,
        };
        let long = (!short).then(|| {
            let total = 2 * quotient + 128;
            let convolution = Convolution::new(total, quotient / 52 + 2, backend);
            let first = quotient.div_ceil(convolution.digit_bits());
            let exponent = 64 * cut(bits) + first * convolution.digit_bits();
            let mut inverse = reciprocal(&modulus, bits, exponent, backend);
            let long = Long {
                inverse: convolution.forward(&inverse, Form::Stored),
                modulus: convolution.forward(&modulus, Form::Stored),
                first,
                convolution,
            };
            inverse.zeroize();
            Box::new(long)
        });
        Self {
            backend,
            modulus,
            bits,
            few,
            long,
        }
    }

    /// m.
    pub fn modulus(&self) -> &[u64] {
        &self.modulus
    }

    /// n.
    pub fn bits(&self) -> usize {
        self.bits
    }

    /// The kernels it uses.
    pub fn backend(&self) -> Backend {
        self.backend
    }

    /// a mod m, in the words of m. Inputs beyond 2n + 64 bits are taken in pieces of n bits, at four products of n
    /// bits each. Inputs a few words longer than m take the schoolbook method.
    pub fn reduce(&self, a: &[u64]) -> Vec<u64> {
        let words = self.modulus.len();
        let most = words_of(2 * self.bits + SLACK) - 1;
        if a.len() <= most {
            return self.step(a);
        }
        // the upper words first, so that whole pieces are left
        let piece = most - words;
        let top = (a.len() - most) % piece;
        let start = a.len() - most - top;
        let start = if top == 0 { start } else { start + top };
        let mut rest = self.step(&a[start..]);
        let mut at = start;
        while at > 0 {
            let take = piece.min(at);
            // full length from the start: a growing vector leaves its words behind
            let mut next = vec![0; take + rest.len()];
            next[..take].copy_from_slice(&a[at - take..at]);
            next[take..].copy_from_slice(&rest);
            rest.zeroize();
            rest = self.step(&next);
            next.zeroize();
            at -= take;
        }
        rest
    }

    /// ⌊2^exponent/m⌋.
    pub fn power_over(&self, exponent: usize) -> Vec<u64> {
        let words = self.modulus.len();
        let pieces = (exponent / 64 + 1).div_ceil(words);
        let mut out = vec![0; pieces * words];
        // the first piece of 2^exponent, then zeros; every piece of the dividend gives one of the quotient
        let mut rest = vec![0; words];
        for piece in (0..pieces).rev() {
            let mut dividend = vec![0; 2 * words];
            dividend[words..].copy_from_slice(&rest);
            if (piece..piece + 1).contains(&(exponent / 64 / words)) {
                dividend[exponent / 64 % words] = 1 << (exponent % 64);
            }
            let (mut quotient, next) = self.divide(&dividend);
            out[piece * words..][..words].copy_from_slice(&quotient[..words]);
            quotient.zeroize();
            dividend.zeroize();
            rest.zeroize();
            rest = next;
        }
        rest.zeroize();
        out.truncate(exponent / 64 + 1);
        out
    }

    /// a mod m, for at most 2n + 64 bits.
    fn step(&self, a: &[u64]) -> Vec<u64> {
        let (mut quotient, rest) = self.divide(a);
        quotient.zeroize();
        rest
    }

    /// Quotient, one word longer than m, and remainder.
    fn divide(&self, a: &[u64]) -> (Vec<u64>, Vec<u64>) {
        let words = self.modulus.len();
        let mut quotient = vec![0; words + 2];
        let upper = a.get(cut(self.bits)..).unwrap_or_default();
        let mut out = vec![0; words + 1];
        copy(&mut out, a);
        if !upper.is_empty() {
            let mut back = match &self.long {
                Some(long) if 64 * upper.len() > self.few.shift => {
                    long.multiple(upper, &mut quotient, words + 1)
                }
                _ => {
                    let mut all = product(upper, &self.few.inverse, self.backend);
                    let found = all.get(self.few.shift / 64..).unwrap_or_default();
                    copy(&mut quotient, found);
                    all.zeroize();
                    let used = quotient.len().min(upper.len() + 1);
                    product(&quotient[..used], &self.modulus, self.backend)
                }
            };
            back.resize(words + 1, 0);
            sub_assign(&mut out, &back);
            back.zeroize();
        }
        for _ in 0..SHORT {
            let borrow = subtract_if_not_less(&mut out, &self.modulus);
            add_assign(&mut quotient, &[1 - borrow]);
        }
        out.truncate(words);
        (quotient, out)
    }
}

fn copy(to: &mut [u64], from: &[u64]) {
    let words = to.len().min(from.len());
    to[..words].copy_from_slice(&from[..words]);
}

/// Low words of an input that do not affect the quotient.
fn cut(bits: usize) -> usize {
    (bits - 1) / 64
}

impl Long {
    /// A quotient of `upper`·2^(64·cut) that is not too large, and the low words of its product with the modulus.
    fn multiple(&self, upper: &[u64], quotient: &mut [u64], words: usize) -> Vec<u64> {
        let c = &self.convolution;
        let mut spectrum = c.forward(upper, Form::Plain);
        c.multiply_assign(&mut spectrum, &self.inverse);
        c.inverse(spectrum, self.first, quotient);
        let mut spectrum = c.forward(quotient, Form::Plain);
        c.multiply_assign(&mut spectrum, &self.modulus);
        let mut out = vec![0; words];
        c.inverse(spectrum, 0, &mut out);
        out
    }
}

/// ⌊2^exponent/m⌋ or one less, for m of `bits` bits.
///
/// Newton's method for 1/d with d = m/2^bits, on numbers y that stay slightly too small: 1 - d·y is never negative.
fn reciprocal(m: &[u64], bits: usize, exponent: usize, backend: Backend) -> Vec<u64> {
    let wanted = exponent - bits + 8;
    let mut precision = 60;
    let mut y = first_reciprocal(m, bits, precision);
    while precision < wanted {
        let next = (2 * precision - 8).min(wanted);
        // d rounded up
        let kept = next + 8;
        let mut d = top_bits(m, bits, kept);
        add_assign(&mut d, &[1]);
        // 1 - d·y, where 1 is 2^one
        let one = kept + precision;
        let mut e = product(&d, &y, backend);
        let mut unit = vec![0; e.len().max(one / 64 + 1)];
        unit[one / 64] = 1 << (one % 64);
        sub_assign(&mut unit, &e);
        let mut step = product(&y, &unit, backend);
        let mut new = vec![0; words_of(next + 2)];
        crate::natural::set_bits(&mut new, &y, next - precision);
        let mut part = vec![0; words_of(next + 2)];
        bits_from(&step, precision + one - next, &mut part);
        add_assign(&mut new, &part);
        sub_assign(&mut new, &[2]);
        for used in [&mut d, &mut e, &mut unit, &mut step, &mut part, &mut y] {
            used.zeroize();
        }
        (y, precision) = (new, next);
    }
    let mut out = vec![0; words_of(exponent - bits + 2)];
    bits_from(&y, precision - (exponent - bits), &mut out);
    y.zeroize();
    out
}

/// The upper `count` bits of m, with zeros below if it has fewer; one word more than that.
fn top_bits(m: &[u64], bits: usize, count: usize) -> Vec<u64> {
    let mut out = vec![0; words_of(count) + 1];
    match bits.checked_sub(count) {
        Some(below) => bits_from(m, below, &mut out),
        None => crate::natural::set_bits(&mut out, m, count - bits),
    }
    truncate(&mut out, count);
    out
}

/// A little less than 2^precision·2^bits/m, bit by bit.
fn first_reciprocal(m: &[u64], bits: usize, precision: usize) -> Vec<u64> {
    let mut d = top_bits(m, bits, 62);
    let divisor = u128::from(d[0]) + 1;
    d.zeroize();
    let (mut rest, mut y) = (1u128 << 62, 0u64);
    for _ in 0..=precision {
        let less = rest.wrapping_sub(divisor);
        // all ones if the divisor is larger
        let larger = ((less as i128) >> 127) as u128;
        rest = (less & !larger) | (rest & larger);
        y = y << 1 | (!larger as u64 & 1);
        rest <<= 1;
    }
    vec![y - 2, 0]
}

#[cfg(test)]
mod tests {
    use super::super::convolution::tests::{big, random};
    use super::*;
    use num_bigint::BigUint;
    use rand_chacha::ChaCha20Rng;
    use rand_core::{Rng, SeedableRng};

    #[test]
    fn reciprocals_are_right_but_for_one() {
        let mut rng = ChaCha20Rng::from_seed([1; 32]);
        for words in [1, 2, 5, 40, 150, 400] {
            for shape in 0..4 {
                let mut m = match shape {
                    0 => vec![u64::MAX; words],
                    1 => vec![0; words],
                    _ => random(&mut rng, words),
                };
                match shape {
                    0 => {}
                    1 => m[words - 1] = 1 << 63,
                    2 => m[words - 1] |= 1,
                    _ => m[words - 1] = 1 + (rng.next_u64() >> (1 + rng.next_u64() % 63)),
                }
                let bits = bit_length(&m);
                for exponent in [bits + 30, bits + 70, 2 * bits + 200] {
                    let found = big(&reciprocal(&m, bits, exponent, Backend::detect()));
                    let right = (BigUint::from(1u8) << exponent) / big(&m);
                    let off = [0u8, 1].map(|less| &right - less);
                    assert!(
                        off.contains(&found),
                        "{words} {shape} {exponent}: {found} {right}"
                    );
                }
            }
        }
    }

    #[test]
    fn remainders_are_those_of_a_library() {
        let mut rng = ChaCha20Rng::from_seed([2; 32]);
        for words in [1, 3, 33, 130, 300] {
            let mut m = random(&mut rng, words);
            m[words - 1] >>= 7 * (words % 3);
            for backend in Backend::available() {
                let reducer = Reducer::new(&m, backend);
                let short = [0, 1, words, words + 1, words + 7, words + 8];
                let long = [2 * words, 2 * words + 1, 3 * words, 7 * words + 5];
                for length in short.into_iter().chain(long) {
                    for a in [random(&mut rng, length), vec![u64::MAX; length]] {
                        let found = big(&reducer.reduce(&a));
                        assert_eq!(found, big(&a) % big(&m), "{words} {length} {backend:?}");
                    }
                }
                let zero = reducer.reduce(&m);
                assert_eq!(big(&zero), BigUint::from(0u8));
                for exponent in [0, 63, 64, 64 * words + 7, 64 * 5 * words] {
                    let right = (BigUint::from(1u8) << exponent) / big(&m);
                    assert_eq!(
                        big(&reducer.power_over(exponent)),
                        right,
                        "{words} {exponent}"
                    );
                }
            }
        }
    }
}
