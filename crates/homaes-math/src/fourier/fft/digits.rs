//! Torus words to numbers for the transform (fractions and digits), and back (rounding).

use super::super::Digits;
use crate::float_lanes::{LANES, Lanes};

/// Adding and subtracting it rounds numbers below 2^51 to integers.
const ROUNDER: f64 = 1.5 * (1u64 << 52) as f64;

/// Its bits ORed with an integer below 2^52 are those of 2^52 plus the integer.
const TWO_52: f64 = (1u64 << 52) as f64;

/// Where the first pass takes numbers from.
pub(super) trait Source<V: Lanes>: Copy {
    /// Eight numbers as they are in memory.
    type Stored;

    /// Real parts, then imaginary ones.
    fn stored(&self) -> &[Self::Stored];

    fn vector(self, x: &Self::Stored) -> V;
}

/// Torus elements as fractions in [-1/2, 1/2), rounded to double precision.
#[derive(Clone, Copy)]
pub(super) struct Torus<'a> {
    pub(super) words: &'a [[u64; LANES]],
}

impl<V: Lanes> Source<V> for Torus<'_> {
    type Stored = [u64; LANES];

    #[inline(always)]
    fn stored(&self) -> &[[u64; LANES]] {
        self.words
    }

    #[inline(always)]
    fn vector(self, x: &[u64; LANES]) -> V {
        // the upper half, moved to be positive, and the lower one: both exact, one rounding
        let x = V::add_word(V::load_word(x), V::splat_word(1 << 63));
        let magic = V::splat_word(TWO_52.to_bits());
        let high = V::or_word(V::shr_word(x, V::splat_word(32)), magic);
        let low = V::or_word(V::and_word(x, V::splat_word(0xffff_ffff)), magic);
        let high = V::from_bits(high) - V::splat(TWO_52 + (1u64 << 31) as f64);
        let low = V::from_bits(low) - V::splat(TWO_52);
        high.mul_add(V::splat(2f64.powi(-32)), low * V::splat(2f64.powi(-64)))
    }
}

/// One digit of every word, in [-B/2, B/2).
#[derive(Clone, Copy)]
pub(super) struct RoughDigit<'a, V: Lanes> {
    words: &'a [[u64; LANES]],
    offset: V::Word,
    shift: V::Word,
    mask: V::Word,
    middle: V,
}

impl<'a, V: Lanes> RoughDigit<'a, V> {
    #[inline(always)]
    pub(super) fn new(digits: Digits, level: usize, words: &'a [[u64; LANES]]) -> Self {
        let b = digits.base_log;
        Self {
            words,
            offset: V::splat_word(digits.offset()),
            shift: V::splat_word(u64::from(64 - (level as u32 + 1) * b)),
            mask: V::splat_word((1 << b) - 1),
            middle: V::splat(TWO_52 + (1u64 << (b - 1)) as f64),
        }
    }
}

impl<V: Lanes> Source<V> for RoughDigit<'_, V> {
    type Stored = [u64; LANES];

    #[inline(always)]
    fn stored(&self) -> &[[u64; LANES]] {
        self.words
    }

    #[inline(always)]
    fn vector(self, x: &[u64; LANES]) -> V {
        let x = V::add_word(V::load_word(x), self.offset);
        let digit = V::and_word(V::shr_word(x, self.shift), self.mask);
        let magic = V::splat_word(TWO_52.to_bits());
        V::from_bits(V::or_word(digit, magic)) - self.middle
    }
}

/// Numbers as they are.
#[derive(Clone, Copy)]
pub(super) struct Plain<'a> {
    pub(super) numbers: &'a [[f64; LANES]],
}

impl<V: Lanes> Source<V> for Plain<'_> {
    type Stored = [f64; LANES];

    #[inline(always)]
    fn stored(&self) -> &[[f64; LANES]] {
        self.numbers
    }

    #[inline(always)]
    fn vector(self, x: &[f64; LANES]) -> V {
        V::load(x)
    }
}

/// All digits of every word; ±B/2 takes its sign from the next digit. Digit `level` of vector j goes to vector
/// `level · poly.len() + j` of `out`.
#[inline(always)]
pub(super) fn fine_digits<V: Lanes>(
    digits: Digits,
    poly: &[[u64; LANES]],
    out: &mut [[f64; LANES]],
) {
    let (b, levels) = (digits.base_log, digits.levels);
    let dropped = 64 - levels as u32 * b;
    let word = V::splat_word;
    let (one, mask) = (word(1), word((1 << b) - 1));
    let (by_base, by_sign) = (word(u64::from(b)), word(u64::from(b) - 1));
    // no digit is above the top one: a bit of the part rounded off gives its sign
    let sign_at = levels as u32 * b + b - 1;
    let sign = |x| V::and_word(V::shr_word(x, word(u64::from(dropped) - 1)), one);
    for (j, x) in poly.iter().enumerate() {
        // rounded to the digits kept; a carry out of the top is a multiple of 1
        let half = word(1 << (dropped - 1));
        let x = V::load_word(x);
        let mut rest = V::shr_word(V::add_word(x, half), word(u64::from(dropped)));
        if sign_at < 64 {
            rest = V::or_word(rest, V::shl_word(sign(x), word(u64::from(sign_at))));
        }
        for level in (0..levels).rev() {
            let digit = V::and_word(rest, mask);
            rest = V::shr_word(rest, by_base);
            let carry = V::or_word(V::sub_word(digit, one), rest);
            let carry = V::and_word(V::shr_word(V::and_word(carry, digit), by_sign), one);
            rest = V::add_word(rest, carry);
            // digit - carry·B, made positive
            let moved = V::add_word(digit, word(1 << b));
            let moved = V::sub_word(moved, V::shl_word(carry, by_base));
            let number = V::from_bits(V::or_word(moved, word(TWO_52.to_bits())));
            let number = number - V::splat(TWO_52 + (1u64 << b) as f64);
            number.store(&mut out[level * poly.len() + j]);
        }
    }
}

/// Adds x · scale modulo 1, rounded to 2^-51, to the words; `scale` is a power of two.
#[inline(always)]
pub(super) fn add_torus<V: Lanes>(x: V, scale: V, words: &mut [u64; LANES]) {
    let integer = x.mul_add(scale, V::splat(ROUNDER));
    // the fraction plus 3, rounded once: numbers from 2 to 4 have units of 2^-51, and the shift drops exponent and 3
    let integer_less_3 = integer - V::splat(ROUNDER + 3.0);
    let fraction = x.mul_sub(scale, integer_less_3);
    let word = V::shl_word(fraction.to_bits(), V::splat_word(13));
    V::store_word(V::add_word(V::load_word(words), word), words);
}
