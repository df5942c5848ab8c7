//! Fermat's test to base 2 of eight odd numbers at once: whether 2^(1-n) = 1 modulo n.
//!
//! A step squares by Montgomery's method with R = 2^(52·L), and doubles where the exponent has a bit. With
//! n = s·2^k - b and b of k bits, k steps from 2^-s lead to 2^-n. In Montgomery form 2^-s is R·2^-s, a power of 2: no
//! division.

use super::limbs_of_words;
use super::word_lanes::{LANES, Lanes};
use crate::modulus::{MASK, WORD_BITS};
use crate::natural;
use crate::simd::{self, Backend};
use zeroize::{Zeroize, Zeroizing};

/// L, limbs of a number.
const LIMBS: usize = 20;
/// Bits of s - 1: the highest of n.
const TOP: usize = 5;
/// Bits of numbers that [`pass_fermat`] takes: R·2^-s is little above them.
pub const FERMAT_BITS: core::ops::RangeInclusive<usize> = 960..=1024;
/// Words of b.
const WORDS: usize = 16;

/// Whether each of eight odd numbers of `bits` bits passes. Primes do; other random numbers of this size hardly ever.
///
/// # Panics
/// If `bits` is not in [`FERMAT_BITS`].
pub fn pass_fermat(numbers: [&[u64]; LANES], bits: usize, backend: Backend) -> [bool; LANES] {
    assert!(FERMAT_BITS.contains(&bits), "{bits} bits, not 960 to 1024");
    let mut test = Zeroizing::new(Test::default());
    test.k = bits - TOP;
    for (lane, n) in numbers.into_iter().enumerate() {
        let mut limbs = Zeroizing::new([0; LIMBS]);
        limbs_of_words(n, &mut limbs[..]);
        for (to, limb) in test.n.iter_mut().zip(limbs.iter()) {
            to[lane] = *limb;
        }
        test.neg_inv[lane] = natural::inverse_of_word(n[0]).wrapping_neg() & MASK;
        // -n modulo 2^k: the lowest bit stays 1, the others change
        for (i, (to, word)) in test.b.iter_mut().zip(n).enumerate() {
            to[lane] = !word | u64::from(i == 0);
        }
        let mut top = [0];
        natural::bits_from(n, test.k, &mut top);
        // limb L - 1 begins at bit 52·(L - 1)
        test.first[lane] = 1 << (u64::from(WORD_BITS) - 1 - top[0]);
    }
    let mut differs = [0; LANES];
    simd::integer::powers(backend, &test, &mut differs);
    differs.map(|x| x == 0)
}

/// Numbers to be tested.
#[derive(Default, Zeroize)]
pub(crate) struct Test {
    /// by limbs
    n: [[u64; LANES]; LIMBS],
    /// -n^-1 mod 2^52
    neg_inv: [u64; LANES],
    /// by words
    b: [[u64; LANES]; WORDS],
    k: usize,
    /// highest limb of R·2^-s
    first: [u64; LANES],
}

type Number<V> = [V; LIMBS];

/// Constants of all steps.
struct Montgomery<V> {
    n: Number<V>,
    neg_inv: V,
    mask: V,
    shift: V,
    zero: V,
}

impl<V: Lanes> Montgomery<V> {
    /// a·b/R modulo n, shifted left by `double`, 0 or 1: below 2^double·(n + a·b/R).
    #[inline(always)]
    fn product(&self, a: &Number<V>, b: &Number<V>, double: V) -> Number<V> {
        // per step, a sum takes four halves of 52 bits and moves down by a limb: after 20 steps it fits a word
        let mut sums = [self.zero; LIMBS];
        for a in a {
            let low = a.add_low(b[0], sums[0]);
            let m = low.add_low(self.neg_inv, self.zero);
            let mut carry = m.add_low(self.n[0], low).shr(self.shift);
            for j in 1..LIMBS {
                let sum = a.add_low(b[j], sums[j].plus(carry));
                let sum = a.add_high(b[j - 1], sum);
                let sum = m.add_low(self.n[j], sum);
                sums[j - 1] = m.add_high(self.n[j - 1], sum);
                carry = self.zero;
            }
            let last = a.add_high(b[LIMBS - 1], self.zero);
            sums[LIMBS - 1] = m.add_high(self.n[LIMBS - 1], last);
        }
        let mut carry = self.zero;
        let mut out = [self.zero; LIMBS];
        for (out, sum) in out.iter_mut().zip(&sums) {
            let sum = sum.shl(double).plus(carry);
            *out = sum.and(self.mask);
            carry = sum.shr(self.shift);
        }
        out
    }
}

/// `differs` becomes 0 in the lanes where 2^(1-n) = 1 modulo n.
#[inline(always)]
pub(crate) fn powers<V: Lanes>(test: &Test, differs: &mut [u64; LANES]) {
    let (zero, one) = (V::splat(0), V::splat(1));
    let mut n = [zero; LIMBS];
    for (n, limb) in n.iter_mut().zip(&test.n) {
        *n = V::load(limb);
    }
    let by = Montgomery {
        n,
        neg_inv: V::load(&test.neg_inv),
        mask: V::splat(MASK),
        shift: V::splat(u64::from(WORD_BITS)),
        zero,
    };
    let mut power = [zero; LIMBS];
    power[LIMBS - 1] = V::load(&test.first);
    for i in (0..test.k).rev() {
        let bit = V::load(&test.b[i / 64]).shr(V::splat(i as u64 % 64));
        power = by.product(&power, &power, bit.and(one));
    }
    // by 2/R, which leaves Montgomery form; at most n
    let mut two = [zero; LIMBS];
    two[0] = V::splat(2);
    let last = by.product(&power, &two, zero);
    let all = last[1..]
        .iter()
        .fold(last[0].minus(one), |all, limb| all.or(*limb));
    all.store(differs);
}

#[cfg(test)]
mod tests {
    use super::super::convolution::tests::{big, random};
    use super::*;
    use num_bigint::BigUint;
    use rand_chacha::ChaCha20Rng;
    use rand_core::SeedableRng;

    /// Primes, primes plus 2, products of two primes of 500 bits, and the ends of the range, on all backends.
    #[test]
    fn powers_are_those_of_integers() {
        let mut rng = ChaCha20Rng::from_seed([7; 32]);
        let passes = |n: &BigUint| {
            let one = BigUint::from(1u8);
            BigUint::from(2u8).modpow(&(n - &one), n) == one
        };
        for bits in [960, 971, 993, 1023, 1024] {
            let mut numbers: Vec<Vec<u64>> = Vec::new();
            let odd = |mut n: Vec<u64>| {
                natural::truncate(&mut n, bits - 1);
                n[(bits - 1) / 64] |= 1 << ((bits - 1) % 64);
                n[0] |= 1;
                n
            };
            numbers.extend([u64::MAX, 0].map(|word| odd(vec![word; WORDS])));
            let mut n = numbers[0].clone();
            while !passes(&big(&n)) {
                natural::sub_assign(&mut n, &[2]);
            }
            numbers.push(n);
            while numbers.len() < LANES {
                numbers.push(odd(random(&mut rng, WORDS)));
            }
            let expected: Vec<bool> = numbers.iter().map(|n| passes(&big(n))).collect();
            assert!(expected[2] && !expected[LANES - 1]);
            for backend in Backend::available() {
                let input = core::array::from_fn(|lane| &numbers[lane][..]);
                let found = pass_fermat(input, bits, backend);
                assert_eq!(found[..], expected, "{bits} bits");
            }
        }
    }
}
