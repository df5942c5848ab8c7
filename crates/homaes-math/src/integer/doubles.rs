//! [`Lanes`] in double precision, for processors that have no 52-bit integer products.
//!
//! A word x < 2^52 becomes a number by setting the exponent of 2^52 in it and subtracting 2^52. A product a·b < 2^104
//! is cut in two by adding 2^104 in one rounding, which leaves a multiple of 2^52:
//!
//! ```text
//! t = a·b + 2^104      low = a·b + (2^104 - t)      a·b = (t - 2^104) + low,   |low| ≤ 2^51
//! ```
//!
//! All steps but the first are exact. The mantissa of t is the high half, one too large if low is negative.
//!
//! For x·w modulo p, with q = ⌊w·2^52/p⌋, the same first step with q + 1/2 in place of w gives the rounded quotient
//! Q = x·(q + 1/2)/2^52. It differs from x·w/p by less than 1/2 for the constant and 1/2 for the rounding, so
//! x·w - Q·p is between -p and p, and lazy after adding p.

use super::word_lanes::{LANES, Lanes, MOST_TERMS};
use crate::float_lanes::{Lanes as Reals, inlined};
use crate::modulus::{MASK, Modulus, Shoup};

/// Eight words, with products in numbers of the type `R`.
#[derive(Clone, Copy)]
pub(crate) struct ByDoubles<R: Reals>(R::Word);

const TWO_52: f64 = (1u64 << 52) as f64;
const TWO_104: f64 = (1u128 << 104) as f64;
/// Numbers within 2^51 of 1.5 · 2^52 are integers of 53 bits.
const MIDDLE: f64 = 1.5 * TWO_52;

/// Constants of a prime.
#[derive(Clone, Copy)]
pub(crate) struct Prime<R> {
    /// p, and p·2^-52
    p: [R; 2],
    /// 2^52 + p
    lift: R,
    inverse: R,
    /// 2^-52 mod p
    unstored: [R; 2],
}

/// The words x of 2^52 + x.
#[inline(always)]
fn words<R: Reals>(x: R) -> ByDoubles<R> {
    ByDoubles(R::and_word(x.to_bits(), R::splat_word(MASK)))
}

impl<R: Reals> ByDoubles<R> {
    /// 2^52 + x for words x below 2^52.
    #[inline(always)]
    fn lifted(self) -> R {
        let exponent = R::splat_word(TWO_52.to_bits());
        R::from_bits(R::or_word(self.0, exponent))
    }

    /// Words below 2^52 as numbers.
    #[inline(always)]
    fn real(self) -> R {
        self.lifted() - R::splat(TWO_52)
    }

    /// The low 52 bits of words.
    #[inline(always)]
    fn lowest(self) -> R {
        self.and(Self::splat(MASK)).real()
    }

    /// x·w mod p, between -p and p.
    #[inline(always)]
    fn residue(self, [w, q]: [R; 2], k: &Prime<R>) -> R {
        let x = self.real();
        let h = x * w;
        let quotient = x.mul_add(q, R::splat(TWO_104)) - R::splat(TWO_104);
        quotient.neg_mul_add(k.p[1], h) + x.mul_sub(w, h)
    }
}

/// The two parts of a product: the high one plus 2^104, and the low one, which may be negative.
#[inline(always)]
fn cut<R: Reals>(a: R, b: R) -> [R; 2] {
    let t = a.mul_add(b, R::splat(TWO_104));
    [t, a.mul_add(b, R::splat(TWO_104) - t)]
}

impl<R: Reals> Lanes for ByDoubles<R> {
    /// w, and q + 1/2
    type Factor = [R; 2];
    type Prime = Prime<R>;
    /// sums of the low parts plus [`MIDDLE`] and of the high parts plus 2^104, as words that are the bits of numbers
    type Sum = [R::Word; 2];

    inlined! {
        load(from: &[u64; LANES]) -> Self = Self(R::load_word(from));
        store(self, to: &mut [u64; LANES]) = R::store_word(self.0, to);
        splat(x: u64) -> Self = Self(R::splat_word(x));
        plus(self, b: Self) -> Self = Self(R::add_word(self.0, b.0));
        minus(self, b: Self) -> Self = Self(R::sub_word(self.0, b.0));
        and(self, b: Self) -> Self = Self(R::and_word(self.0, b.0));
        or(self, b: Self) -> Self = Self(R::or_word(self.0, b.0));
        shr(self, count: Self) -> Self = Self(R::shr_word(self.0, count.0));
        shl(self, count: Self) -> Self = Self(R::shl_word(self.0, count.0));
        permute(self, index: Self) -> Self = Self(R::permute_word(self.0, index.0));
        splat_factor(c: Shoup) -> [R; 2] = [R::splat(c.w as f64), R::splat(c.q as f64 + 0.5)];
        times(self, c: [R; 2], k: &Prime<R>) -> Self = words(self.residue(c, k) + k.lift);
    }

    #[inline(always)]
    fn minus_if_not_less(self, b: Self) -> Self {
        let less = self.minus(b);
        let negative = Self::splat(0).minus(less.shr(Self::splat(63)));
        less.plus(b.and(negative))
    }

    #[inline(always)]
    fn add_low(self, b: Self, c: Self) -> Self {
        let [_, low] = cut(self.lowest(), b.lowest());
        // its mantissa plus 2^51 is low modulo 2^52
        let bits = Self((low + R::splat(MIDDLE)).to_bits()).plus(Self::splat(1 << 51));
        c.plus(bits.and(Self::splat(MASK)))
    }

    #[inline(always)]
    fn add_high(self, b: Self, c: Self) -> Self {
        let [high, low] = cut(self.lowest(), b.lowest());
        let high = Self(high.to_bits()).minus(Self::splat(TWO_104.to_bits()));
        let negative = Self(low.to_bits()).shr(Self::splat(63));
        c.plus(high.minus(negative))
    }

    #[inline(always)]
    fn transpose(x: [Self; LANES]) -> [Self; LANES] {
        let zero = R::splat(0.0);
        let reals = crate::float_lanes::array!(LANES, zero, |i| R::from_bits(x[i].0));
        let reals = R::transpose(reals);
        crate::float_lanes::array!(LANES, x[0], |i| Self(reals[i].to_bits()))
    }

    #[inline(always)]
    fn load_bytes(words: &[u64], at: usize) -> Self {
        let (first, shift) = (at / 8, 8 * (at % 8) as u64);
        let from = words.get(first..).unwrap_or_default();
        let mut end = [0; LANES + 1];
        let from = match from.first_chunk() {
            Some(from) => from,
            None => {
                end[..from.len()].copy_from_slice(from);
                &end
            }
        };
        let [mut low, mut high] = [Self::splat(0); 2];
        if let (Some(a), Some(b)) = (from.first_chunk(), from.last_chunk()) {
            (low, high) = (Self::load(a), Self::load(b));
        }
        // two steps, as no shift is by 64
        let high = high.shl(Self::splat(63 - shift)).shl(Self::splat(1));
        low.shr(Self::splat(shift)).or(high)
    }

    #[inline(always)]
    fn load_factor([w, q]: &[[u64; LANES]; 2]) -> [R; 2] {
        [
            Self::load(w).real(),
            Self::load(q).lifted() - R::splat(TWO_52 - 0.5),
        ]
    }

    #[inline(always)]
    fn prime(m: &Modulus) -> Prime<R> {
        let p = m.p() as f64;
        Prime {
            p: [R::splat(p), R::splat(p / TWO_52)],
            lift: R::splat(TWO_52 + p),
            inverse: R::splat(1.0 / p),
            unstored: Self::splat_factor(m.shoup(m.from_stored(1))),
        }
    }

    /// With x·2^-52 and y - p between -p and p, the quotient is below 2^47 and its rounding off by little more than
    /// 1/2.
    #[inline(always)]
    fn product(self, y: Self, k: &Prime<R>) -> Self {
        let (x, y) = (self.residue(k.unstored, k), y.lifted() - k.lift);
        let h = x * y;
        let quotient = h.mul_add(k.inverse, R::splat(MIDDLE)) - R::splat(MIDDLE);
        let rest = quotient.neg_mul_add(k.p[0], h) + x.mul_sub(y, h);
        words(rest + k.lift)
    }

    #[inline(always)]
    fn no_sum() -> [R::Word; 2] {
        [R::splat_word(0); 2]
    }

    #[inline(always)]
    fn add_product(self, d: Self, [low, high]: [R::Word; 2]) -> [R::Word; 2] {
        let [t, rest] = cut(self.real(), d.real());
        let rest = rest + R::splat(MIDDLE);
        [
            R::add_word(low, rest.to_bits()),
            R::add_word(high, t.to_bits()),
        ]
    }

    /// The low parts sum to at most 2^62 in size.
    #[inline(always)]
    fn total([low, high]: [R::Word; 2], terms: usize) -> [Self; 2] {
        const { assert!(MOST_TERMS <= 1 << 11) };
        let more = |one: f64| Self::splat(one.to_bits().wrapping_mul(terms as u64));
        let low = Self(low).minus(more(MIDDLE));
        let high = Self(high).minus(more(TWO_104));
        // rounded down: 2^63 makes low positive, and is subtracted again
        let carry = low.plus(Self::splat(1 << 63)).shr(Self::splat(52));
        let high = high.plus(carry).minus(Self::splat(1 << 11));
        [low.and(Self::splat(MASK)), high]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::float_lanes;
    use crate::integer::word_lanes::{Consts, Portable};
    use crate::prime::largest_primes;

    type Plain = ByDoubles<float_lanes::Portable>;

    fn stored<V: Lanes>(x: V) -> [u64; LANES] {
        let mut out = [0; LANES];
        x.store(&mut out);
        out
    }

    fn numbers(most: u64) -> Vec<u64> {
        let mixed = |i: u64| (i.wrapping_mul(0x5851_f42d_4c95_7f2d) >> 12) % (most + 1);
        let edges = [0, 1, 2, most, most - 1, most / 2, most / 2 + 1, 1 << 26];
        edges.into_iter().chain((1..57).map(mixed)).collect()
    }

    fn pairs(a: &[u64], b: &[u64]) -> Vec<[[u64; LANES]; 2]> {
        let all = a.iter().flat_map(|&x| b.iter().map(move |&y| (x, y)));
        let all: Vec<(u64, u64)> = all.collect();
        let eights = all.as_chunks::<LANES>().0.iter();
        let split = |e: &[_; LANES]| [e.map(|pair: (u64, u64)| pair.0), e.map(|pair| pair.1)];
        eights.map(split).collect()
    }

    /// Halves of products, which read 52 bits of a word, equal those of integers, also for longer words.
    #[test]
    fn halves_of_products_are_those_of_integers() {
        fn all<V: Lanes>(a: &[u64; LANES], b: &[u64; LANES]) -> Vec<[u64; LANES]> {
            let c = V::splat(0xfff0_0000_0000_0003);
            let [x, y] = [V::load(a), V::load(b)];
            let [below_a, below_b] = [x, y].map(|x| x.shr(V::splat(1)));
            let (index, shift) = (y.and(V::splat(7)), y.and(V::splat(63)));
            let compared = below_a.minus_if_not_less(below_b);
            let shifted = x.shl(shift).or(y.shr(shift));
            let [low, high] = [x.add_low(y, c), x.add_high(y, c)];
            let out = [low, high, compared, x.permute(index), shifted];
            let rows = [x; LANES].map(|x| x.plus(y));
            let all = out.into_iter().chain(V::transpose(rows));
            all.map(stored).collect()
        }
        let low = numbers(MASK);
        let high: Vec<u64> = low.iter().map(|x| x | 0xabc << 52).collect();
        for b in [&low, &high] {
            for [a, b] in pairs(&low, b) {
                let found = all::<Plain>(&a, &b);
                assert!(found == all::<Portable>(&a, &b), "{a:?} {b:?}");
                let product = u128::from(a[3] & MASK) * u128::from(b[3] & MASK);
                let sum = |x: u128| 0xfff0_0000_0000_0003u64.wrapping_add(x as u64);
                assert_eq!(found[0][3], sum(product & u128::from(MASK)));
                assert_eq!(found[1][3], sum(product >> 52));
            }
        }
        for at in 0..100 {
            let all = &numbers(u64::MAX - 1)[..11];
            let found = stored(Plain::load_bytes(all, at));
            assert_eq!(found, stored(Portable::load_bytes(all, at)), "{at}");
        }
    }

    /// Products by constants and of factors are lazy and correct for all admissible numbers.
    #[test]
    fn residues_are_right_at_the_edges() {
        fn all<V: Lanes>(m: &Modulus, x: &[u64; LANES], y: &[u64; LANES]) -> [[u64; LANES]; 3] {
            let k = Consts::<V>::new(m);
            let factors = y.map(|y| m.shoup(m.canonical(y)));
            let loaded = V::load_factor(&[factors.map(|f| f.w), factors.map(|f| f.q)]);
            let splat = V::splat_factor(factors[0]);
            let x = V::load(x);
            let [loaded, splat] = [loaded, splat].map(|factor| k.times(x, factor));
            [loaded, splat, k.product(x, V::load(y))].map(stored)
        }
        let primes = largest_primes(1 << 47, 1 << 21, 2);
        for p in [primes[0], primes[1], 65_537] {
            let m = &Modulus::new(p);
            // times takes any number of 52 bits
            for (results, x, y) in [(3, 16 * p - 1, 2 * p - 1), (2, MASK, p - 1)] {
                for [x, y] in pairs(&numbers(x), &numbers(y)) {
                    let [found, want] = [all::<Plain>(m, &x, &y), all::<Portable>(m, &x, &y)];
                    let [found, want] = [&found, &want].map(|all| all[..results].as_flattened());
                    for (&found, &want) in found.iter().zip(want) {
                        assert!(found < 2 * p, "{found}");
                        assert_eq!(m.canonical(found), m.canonical(want), "{p}: {x:?} {y:?}");
                    }
                }
            }
        }
    }

    /// The most products of a sum, all largest, with low parts of the largest size of either sign.
    #[test]
    fn sums_are_those_of_integers() {
        for terms in [0, 1, 7, MOST_TERMS] {
            const HALF: u64 = 1 << 51;
            let large = [(MASK, MASK), (HALF, 3), (HALF, 1), (MASK, HALF)];
            for (a, b) in large.into_iter().chain([(0, MASK), (HALF + 1, 1)]) {
                fn all<V: Lanes>(a: u64, b: u64, terms: usize) -> [[u64; LANES]; 2] {
                    let mut sum = V::no_sum();
                    for _ in 0..terms {
                        sum = V::splat(a).add_product(V::splat(b), sum);
                    }
                    V::total(sum, terms).map(stored)
                }
                let [low, high] = all::<Plain>(a, b, terms);
                assert_eq!(
                    [low, high],
                    all::<Portable>(a, b, terms),
                    "{terms}: {a} {b}"
                );
                let sum = u128::from(a) * u128::from(b) * terms as u128;
                assert_eq!(u128::from(low[5]) + (u128::from(high[5]) << 52), sum);
            }
        }
    }
}
