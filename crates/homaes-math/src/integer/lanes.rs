//! Eight 64-bit words at once with the 52-bit products of AVX-512 IFMA, as the kernels of large integers see a processor.

use crate::modulus::{MASK, Modulus, Shoup, WORD_BITS};

/// Words per vector.
pub(crate) const LANES: usize = 8;

/// A vector of eight words.
///
/// The implementation for vector instructions may only be used in code that was selected after the processor was found to have them; `simd` takes care of
/// that.
pub(crate) trait Lanes: Copy {
    fn load(from: &[u64; LANES]) -> Self;
    fn store(self, to: &mut [u64; LANES]);
    fn splat(x: u64) -> Self;
    fn plus(self, b: Self) -> Self;
    fn minus(self, b: Self) -> Self;
    fn least(self, b: Self) -> Self;
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
}

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
    #[inline(always)]
    fn load(from: &[u64; LANES]) -> Self {
        Self(*from)
    }

    #[inline(always)]
    fn store(self, to: &mut [u64; LANES]) {
        *to = self.0;
    }

    #[inline(always)]
    fn splat(x: u64) -> Self {
        Self([x; LANES])
    }

    #[inline(always)]
    fn plus(self, b: Self) -> Self {
        each(|i| self.0[i].wrapping_add(b.0[i]))
    }

    #[inline(always)]
    fn minus(self, b: Self) -> Self {
        each(|i| self.0[i].wrapping_sub(b.0[i]))
    }

    #[inline(always)]
    fn least(self, b: Self) -> Self {
        each(|i| self.0[i].min(b.0[i]))
    }

    #[inline(always)]
    fn and(self, b: Self) -> Self {
        each(|i| self.0[i] & b.0[i])
    }

    #[inline(always)]
    fn or(self, b: Self) -> Self {
        each(|i| self.0[i] | b.0[i])
    }

    #[inline(always)]
    fn shr(self, count: Self) -> Self {
        each(|i| self.0[i] >> (count.0[i] & 63))
    }

    #[inline(always)]
    fn shl(self, count: Self) -> Self {
        each(|i| self.0[i] << (count.0[i] & 63))
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
    fn permute(self, index: Self) -> Self {
        each(|i| self.0[index.0[i] as usize & 7])
    }

    #[inline(always)]
    fn transpose(x: [Self; LANES]) -> [Self; LANES] {
        core::array::from_fn(|j| each(|i| x[i].0[j]))
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
}

/// Reduction constants of one modulus.
#[derive(Clone, Copy)]
pub(crate) struct Consts<V> {
    pub(crate) p: V,
    pub(crate) p2: V,
    neg_p: V,
    neg_inv: V,
    mask: V,
    shift: V,
    zero: V,
}

/// A constant and its quotient in all lanes.
#[derive(Clone, Copy)]
pub(crate) struct Factor<V> {
    pub(crate) w: V,
    pub(crate) q: V,
}

impl<V: Lanes> Factor<V> {
    #[inline(always)]
    pub(crate) fn splat(c: Shoup) -> Self {
        Self {
            w: V::splat(c.w),
            q: V::splat(c.q),
        }
    }

    /// Of eight constants, one per lane: their w, then their q.
    #[inline(always)]
    pub(crate) fn load(from: &[[u64; LANES]; 2]) -> Self {
        Self {
            w: V::load(&from[0]),
            q: V::load(&from[1]),
        }
    }
}

impl<V: Lanes> Consts<V> {
    #[inline(always)]
    pub(crate) fn new(m: &Modulus) -> Self {
        let p = m.p();
        Self {
            p: V::splat(p),
            p2: V::splat(2 * p),
            neg_p: V::splat((1 << WORD_BITS) - p),
            neg_inv: V::splat(m.neg_inv()),
            mask: V::splat(MASK),
            shift: V::splat(u64::from(WORD_BITS)),
            zero: V::splat(0),
        }
    }

    /// x·c mod p, lazy, for any 52-bit x.
    #[inline(always)]
    pub(crate) fn times(&self, x: V, c: Factor<V>) -> V {
        let quotient = x.add_high(c.q, self.zero);
        let low = x.add_low(c.w, self.zero);
        quotient.add_low(self.neg_p, low).and(self.mask)
    }

    /// Montgomery reduction of `hi·2^52 + lo`: lazy if hi < p.
    #[inline(always)]
    pub(crate) fn reduce(&self, lo: V, hi: V) -> V {
        let m = lo.add_low(self.neg_inv, self.zero);
        let lo = m.add_low(self.p, lo);
        let hi = m.add_high(self.p, hi);
        hi.plus(lo.shr(self.shift))
    }

    /// x·y·2^-52 mod p, lazy, for x < 32p and lazy y.
    #[inline(always)]
    pub(crate) fn product(&self, x: V, y: V) -> V {
        self.reduce(x.add_low(y, self.zero), x.add_high(y, self.zero))
    }

    /// Lazy to canonical.
    #[inline(always)]
    pub(crate) fn canonical(&self, x: V) -> V {
        x.least(x.minus(self.p))
    }
}
