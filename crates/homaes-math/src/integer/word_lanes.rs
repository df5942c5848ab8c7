//! Eight 64-bit words with the 52-bit products of AVX-512 IFMA: a processor as the kernels of large integers see it.

use crate::float_lanes::inlined;
use crate::modulus::{MASK, Modulus, Shoup, WORD_BITS};

/// Words per vector.
pub(crate) const LANES: usize = 8;

/// A vector of eight words.
///
/// `simd` ensures that implementations with vector instructions run only on processors that have them.
pub(crate) trait Lanes: Copy {
    /// A constant modulo a prime, prepared for products by it.
    type Factor: Copy;
    /// A prime, prepared for products modulo it.
    type Prime: Copy;
    type Sum: Copy;

    fn load(from: &[u64; LANES]) -> Self;
    fn store(self, to: &mut [u64; LANES]);
    fn splat(x: u64) -> Self;
    fn plus(self, b: Self) -> Self;
    fn minus(self, b: Self) -> Self;
    /// self - b, or self where that is negative; both are below 2^63.
    fn minus_if_not_less(self, b: Self) -> Self;
    fn and(self, b: Self) -> Self;
    fn or(self, b: Self) -> Self;
    /// Logical shifts by less than 64, lane by lane.
    fn shr(self, count: Self) -> Self;
    fn shl(self, count: Self) -> Self;
    /// c + the low 52 bits of the product of the low 52 bits.
    fn add_low(self, b: Self, c: Self) -> Self;
    /// c + the high 52 bits of it.
    fn add_high(self, b: Self, c: Self) -> Self;
    /// Lane i of the result is lane `index[i]`.
    fn permute(self, index: Self) -> Self;
    /// Element j of vector i becomes element i of vector j.
    fn transpose(x: [Self; LANES]) -> [Self; LANES];
    /// The 64 bytes of `words` from byte `at` on, in little-endian order; zeros beyond the end.
    fn load_bytes(words: &[u64], at: usize) -> Self;

    fn splat_factor(c: Shoup) -> Self::Factor;
    /// From eight constants, one per lane: their w, then their q.
    fn load_factor(from: &[[u64; LANES]; 2]) -> Self::Factor;
    fn prime(m: &Modulus) -> Self::Prime;
    /// self·c mod p, lazy, for any 52-bit number.
    fn times(self, c: Self::Factor, k: &Self::Prime) -> Self;
    /// self·y·2^-52 mod p, lazy, for self < 16p and lazy y.
    fn product(self, y: Self, k: &Self::Prime) -> Self;

    fn no_sum() -> Self::Sum;
    /// sum + self·d; both are below 2^52.
    fn add_product(self, d: Self, sum: Self::Sum) -> Self::Sum;
    /// The low 52 bits of a sum of `terms` products, at most [`MOST_TERMS`], and the rest.
    fn total(sum: Self::Sum, terms: usize) -> [Self; 2];
}

/// Most products of a sum.
pub(crate) const MOST_TERMS: usize = 2048;

/// Products modulo a prime from halves of products, for [`Lanes`] where both halves are cheap.
macro_rules! by_halves {
    () => {
        /// w, and q = ⌊w·2^52/p⌋
        type Factor = [Self; 2];
        type Prime = $crate::integer::word_lanes::Montgomery<Self>;
        type Sum = [Self; 2];

        #[inline(always)]
        fn splat_factor(c: $crate::modulus::Shoup) -> [Self; 2] {
            [Self::splat(c.w), Self::splat(c.q)]
        }

        #[inline(always)]
        fn load_factor([w, q]: &[[u64; LANES]; 2]) -> [Self; 2] {
            [Self::load(w), Self::load(q)]
        }

        #[inline(always)]
        fn prime(m: &$crate::modulus::Modulus) -> Self::Prime {
            $crate::integer::word_lanes::Montgomery::new(m)
        }

        #[inline(always)]
        fn times(self, [w, q]: [Self; 2], k: &Self::Prime) -> Self {
            let quotient = self.add_high(q, k.zero);
            let low = self.add_low(w, k.zero);
            quotient.add_low(k.neg_p, low).and(k.mask)
        }

        #[inline(always)]
        fn product(self, y: Self, k: &Self::Prime) -> Self {
            k.reduce(self.add_low(y, k.zero), self.add_high(y, k.zero))
        }

        #[inline(always)]
        fn no_sum() -> [Self; 2] {
            [Self::splat(0); 2]
        }

        #[inline(always)]
        fn add_product(self, d: Self, [low, high]: [Self; 2]) -> [Self; 2] {
            [self.add_low(d, low), self.add_high(d, high)]
        }

        #[inline(always)]
        fn total([low, high]: [Self; 2], _: usize) -> [Self; 2] {
            let mask = Self::splat($crate::modulus::MASK);
            let shift = Self::splat(u64::from($crate::modulus::WORD_BITS));
            [low.and(mask), high.plus(low.shr(shift))]
        }
    };
}
#[cfg(target_arch = "x86_64")]
pub(crate) use by_halves;

/// Plain Rust.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Portable([u64; LANES]);

#[inline(always)]
fn each(f: impl FnMut(usize) -> u64) -> Portable {
    Portable(core::array::from_fn(f))
}

#[inline(always)]
fn product(a: u64, b: u64) -> u128 {
    u128::from(a & MASK) * u128::from(b & MASK)
}

impl Lanes for Portable {
    inlined! {
        load(from: &[u64; LANES]) -> Self = Self(*from);
        store(self, to: &mut [u64; LANES]) = *to = self.0;
        plus(self, b: Self) -> Self = each(|i| self.0[i].wrapping_add(b.0[i]));
        minus(self, b: Self) -> Self = each(|i| self.0[i].wrapping_sub(b.0[i]));
        minus_if_not_less(self, b: Self) -> Self = each(|i| self.0[i].min(self.0[i].wrapping_sub(b.0[i])));
        and(self, b: Self) -> Self = each(|i| self.0[i] & b.0[i]);
        or(self, b: Self) -> Self = each(|i| self.0[i] | b.0[i]);
        shr(self, count: Self) -> Self = each(|i| self.0[i] >> (count.0[i] & 63));
        shl(self, count: Self) -> Self = each(|i| self.0[i] << (count.0[i] & 63));
        permute(self, index: Self) -> Self = each(|i| self.0[index.0[i] as usize & 7]);
        transpose(x: [Self; LANES]) -> [Self; LANES] = core::array::from_fn(|j| each(|i| x[i].0[j]));
    }

    #[inline(always)]
    fn splat(x: u64) -> Self {
        Self([x; LANES])
    }

    #[inline(always)]
    fn add_low(self, b: Self, c: Self) -> Self {
        each(|i| c.0[i].wrapping_add(product(self.0[i], b.0[i]) as u64 & MASK))
    }

    #[inline(always)]
    fn add_high(self, b: Self, c: Self) -> Self {
        each(|i| c.0[i].wrapping_add((product(self.0[i], b.0[i]) >> WORD_BITS) as u64))
    }

    #[inline(always)]
    fn load_bytes(words: &[u64], at: usize) -> Self {
        let (first, shift) = (at / 8, 8 * (at % 8) as u32);
        let word = |i: usize| words.get(first + i).copied().unwrap_or(0);
        each(|i| match shift {
            0 => word(i),
            shift => word(i) >> shift | word(i + 1) << (64 - shift),
        })
    }

    by_halves!();
}

/// Constants of Montgomery's reduction.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Montgomery<V> {
    p: V,
    pub(crate) neg_p: V,
    neg_inv: V,
    pub(crate) mask: V,
    shift: V,
    pub(crate) zero: V,
}

impl<V: Lanes> Montgomery<V> {
    #[inline(always)]
    pub(crate) fn new(m: &Modulus) -> Self {
        let p = m.p();
        Self {
            p: V::splat(p),
            neg_p: V::splat((1 << WORD_BITS) - p),
            neg_inv: V::splat(m.neg_inv()),
            mask: V::splat(MASK),
            shift: V::splat(u64::from(WORD_BITS)),
            zero: V::splat(0),
        }
    }

    /// Of `hi·2^52 + lo`: lazy if hi < p.
    #[inline(always)]
    pub(crate) fn reduce(&self, lo: V, hi: V) -> V {
        let m = lo.add_low(self.neg_inv, self.zero);
        let lo = m.add_low(self.p, lo);
        let hi = m.add_high(self.p, hi);
        hi.plus(lo.shr(self.shift))
    }
}

/// Reduction constants of one modulus.
#[derive(Clone, Copy)]
pub(crate) struct Consts<V: Lanes> {
    pub(crate) p: V,
    pub(crate) p2: V,
    prime: V::Prime,
}

impl<V: Lanes> Consts<V> {
    #[inline(always)]
    pub(crate) fn new(m: &Modulus) -> Self {
        let p = m.p();
        Self {
            p: V::splat(p),
            p2: V::splat(2 * p),
            prime: V::prime(m),
        }
    }

    /// x·c mod p, lazy, for any 52-bit x.
    #[inline(always)]
    pub(crate) fn times(&self, x: V, c: V::Factor) -> V {
        x.times(c, &self.prime)
    }

    /// x·y·2^-52 mod p, lazy, for x < 16p and lazy y.
    #[inline(always)]
    pub(crate) fn product(&self, x: V, y: V) -> V {
        x.product(y, &self.prime)
    }

    /// Lazy to canonical.
    #[inline(always)]
    pub(crate) fn canonical(&self, x: V) -> V {
        x.minus_if_not_less(self.p)
    }
}
