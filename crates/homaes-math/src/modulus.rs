//! Arithmetic modulo a prime below 2^48, in the 52-bit form that AVX-512 IFMA multiplies.
//!
//! Products are by a known constant (Shoup's precomputed quotient, [`Shoup`]) or of two variables (Montgomery
//! reduction with R = 2^52). Residues stored in evaluation form carry the factor R, so a Montgomery product of two
//! stored values is a stored value again.
//!
//! *Canonical* means `[0, p)`, *lazy* means `[0, 2p)`. Five spare bits above p < 2^47 let four butterfly levels run
//! without a conditional subtraction (`32 p < 2^52`); *wide* primes, of 48 bits, take a few.

use crate::natural::inverse_of_word;
use core::iter::successors;

/// Bits of the multiplier word: IFMA multiplies 52-bit operands.
pub const WORD_BITS: u32 = 52;
pub(crate) const MASK: u64 = (1 << WORD_BITS) - 1;
/// Primes are below `2^MAX_MODULUS_BITS`.
pub const MAX_MODULUS_BITS: u32 = 48;

/// An odd prime p with `2^16 < p < 2^48` and its reduction constants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Modulus {
    p: u64,
    /// -p^{-1} mod 2^52
    neg_inv: u64,
    /// 2^52 mod p: the factor R of stored values
    r: u64,
    /// 2^104 mod p
    r2: u64,
}

/// A constant w < p with its quotient floor(w 2^52 / p): x·w mod p takes three multiplications for any x < 2^52.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct Shoup {
    /// the constant
    pub w: u64,
    /// floor(w 2^52 / p)
    pub q: u64,
}

impl Modulus {
    /// Constants of the prime `p`.
    ///
    /// # Panics
    /// If `p` is even or outside `(2^16, 2^48)`, which only a wrong parameter set can cause. Sets check primality.
    pub fn new(p: u64) -> Self {
        assert!(
            p % 2 == 1 && p > 1 << 16 && p < 1 << MAX_MODULUS_BITS,
            "modulus {p} out of range"
        );
        let r = (1u64 << WORD_BITS) % p;
        Self {
            p,
            neg_inv: inverse_of_word(p).wrapping_neg() & MASK,
            r,
            r2: (u128::from(r) * u128::from(r) % u128::from(p)) as u64,
        }
    }

    /// The prime.
    #[inline]
    pub fn p(&self) -> u64 {
        self.p
    }

    /// log2 p.
    pub fn log2(&self) -> f64 {
        (self.p as f64).log2()
    }

    /// Whether only four spare bits are above p, so that a block of four butterfly levels reduces some values midway.
    pub(crate) fn is_wide(&self) -> bool {
        self.p >> 47 != 0
    }

    /// Bits of the largest residue.
    pub fn bits(&self) -> u32 {
        64 - self.p.leading_zeros()
    }

    #[inline]
    pub(crate) fn neg_inv(&self) -> u64 {
        self.neg_inv
    }

    /// R = 2^52 mod p.
    #[inline]
    pub fn r(&self) -> u64 {
        self.r
    }

    /// a·b mod p, canonical, for canonical operands: two Montgomery products, in constant time.
    #[inline]
    pub fn mul(&self, a: u64, b: u64) -> u64 {
        self.mul_stored(self.mul_stored(a, b), self.r2)
    }

    /// a + b mod p, canonical, for canonical operands.
    #[inline]
    pub fn add(&self, a: u64, b: u64) -> u64 {
        self.canonical(a + b)
    }

    /// a - b mod p, canonical, for canonical operands.
    #[inline]
    pub fn sub(&self, a: u64, b: u64) -> u64 {
        self.add(a, self.p - b)
    }

    /// a^e mod p.
    pub fn pow(&self, a: u64, mut e: u64) -> u64 {
        let (mut base, mut out) = (a % self.p, 1);
        while e > 0 {
            if e & 1 == 1 {
                out = self.mul(out, base);
            }
            base = self.mul(base, base);
            e >>= 1;
        }
        out
    }

    /// 1, a, a², … modulo p, without end.
    pub(crate) fn powers(&self, a: u64) -> impl Iterator<Item = u64> {
        successors(Some(1), move |&power| Some(self.mul(power, a)))
    }

    /// a^{-1} mod p; zero for zero.
    pub fn inv(&self, a: u64) -> u64 {
        self.pow(a, self.p - 2)
    }

    /// The residue of a signed integer.
    #[inline]
    pub fn from_signed(&self, a: i64) -> u64 {
        a.rem_euclid(self.p as i64) as u64
    }

    /// a·R mod p: into stored form.
    #[inline]
    pub fn to_stored(&self, a: u64) -> u64 {
        self.mul_stored(a, self.r2)
    }

    /// a·R^{-1} mod p, canonical, for any a < 2^52: out of stored form.
    #[inline]
    pub fn from_stored(&self, a: u64) -> u64 {
        self.canonical(self.reduce(a & MASK, 0))
    }

    /// a·R^2 mod p: a constant that turns plain values into stored ones under a Montgomery product.
    #[inline]
    pub fn to_stored_twice(&self, a: u64) -> u64 {
        self.mul(a, self.r2)
    }

    /// `w` with its Shoup quotient.
    pub fn shoup(&self, w: u64) -> Shoup {
        let w = w % self.p;
        Shoup {
            w,
            q: ((u128::from(w) << WORD_BITS) / u128::from(self.p)) as u64,
        }
    }

    /// Product of two stored values (one of them may be lazy), stored and canonical.
    #[inline]
    pub fn mul_stored(&self, x: u64, y: u64) -> u64 {
        let t = u128::from(x) * u128::from(y);
        self.canonical(self.reduce(t as u64 & MASK, (t >> WORD_BITS) as u64))
    }

    /// x·w mod p, canonical, for any x < 2^52.
    #[inline]
    pub fn scale(&self, x: u64, c: Shoup) -> u64 {
        self.canonical(self.mul_shoup(x, c))
    }

    /// x·w mod p, lazy, for any x < 2^52.
    #[inline(always)]
    pub(crate) fn mul_shoup(&self, x: u64, c: Shoup) -> u64 {
        // (x·q) >> 52 as the high word of x·(q << 12); the difference is below 2p, so no mask
        let q = ((u128::from(x) * u128::from(c.q << (64 - WORD_BITS))) >> 64) as u64;
        x.wrapping_mul(c.w).wrapping_sub(q.wrapping_mul(self.p))
    }

    /// Montgomery reduction of `hi·2^52 + lo`: congruent to that times 2^-52, below hi + p + lo/2^52 + 1.
    #[inline(always)]
    pub(crate) fn reduce(&self, lo: u64, hi: u64) -> u64 {
        let m = (lo & MASK).wrapping_mul(self.neg_inv) & MASK;
        let mp = u128::from(m) * u128::from(self.p);
        let carry = (lo + (mp as u64 & MASK)) >> WORD_BITS;
        hi + (mp >> WORD_BITS) as u64 + carry
    }

    /// Lazy, from below 8p.
    #[inline(always)]
    pub(crate) fn lazy(&self, x: u64) -> u64 {
        Self::sub_if_ge(Self::sub_if_ge(x, 4 * self.p), 2 * self.p)
    }

    /// x - bound if that is not negative, else x.
    #[inline(always)]
    pub(crate) fn sub_if_ge(x: u64, bound: u64) -> u64 {
        x.min(x.wrapping_sub(bound))
    }

    /// Lazy to canonical.
    #[inline(always)]
    pub fn canonical(&self, x: u64) -> u64 {
        Self::sub_if_ge(x, self.p)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::WIDE;
    use proptest::prelude::*;

    const PRIMES: [u64; 5] = [
        16_776_961,
        335_539_201,
        131_311_739_216_641,
        140_737_437_991_681,
        WIDE,
    ];

    fn exact(m: &Modulus, a: u64, b: u64) -> u64 {
        (u128::from(a) * u128::from(b) % u128::from(m.p())) as u64
    }

    proptest! {
        #[test]
        fn products_agree(a in 0u64..1 << 52, b in any::<u64>(), i in 0usize..5) {
            let m = Modulus::new(PRIMES[i]);
            let (a_can, b) = (a % m.p(), b % m.p());
            let want = exact(&m, a_can, b);
            prop_assert_eq!(m.mul(a_can, b), want);
            let lazy = m.mul_shoup(a, m.shoup(b));
            prop_assert!(lazy < 2 * m.p());
            prop_assert_eq!(m.canonical(lazy), want);
            let t = u128::from(a_can) * u128::from(m.to_stored(b));
            let red = m.reduce(t as u64 & MASK, (t >> WORD_BITS) as u64);
            prop_assert_eq!(m.canonical(red), want);
            prop_assert_eq!(m.from_stored(m.to_stored(b)), b);
            prop_assert_eq!(m.add(m.sub(a_can, b), b), a_can);
        }
    }

    #[test]
    fn inverse_and_signed() {
        for p in PRIMES {
            let m = Modulus::new(p);
            assert_eq!(m.mul(m.inv(12345), 12345), 1);
            for (a, b) in [(p - 1, p - 1), (p - 1, 1), (0, p - 1), (m.r(), p - 2)] {
                assert_eq!(m.mul(a, b), exact(&m, a, b));
                assert_eq!(m.to_stored(a), exact(&m, a, m.r()));
            }
            assert_eq!(m.from_signed(-1), p - 1);
            assert_eq!(m.shoup(p - 1).w, p - 1);
        }
    }
}
