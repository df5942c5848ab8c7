//! The ring's kernels in double precision, for processors with fused multiply-add but no 52-bit integer products.
//!
//! Registers hold integers as doubles, exact below 2^53, of either sign. A product by a constant w, |w| ≤ p/2, with
//! the double c nearest to w/p, is
//!
//! ```text
//! h = x·w    l = x·w - h    q = nearest integer to x·c    r = (h - q·p) + l
//! ```
//!
//! For |x| ≤ 2^52 (32 p for p < 2^47, 16 p for p < 2^48): h is x·w rounded, hence an integer, and l is exact, being the
//! error of a product. |x·c| ≤ 2^51, so adding [`MAGIC`] = 1.5 · 2^52 leaves an integer; c is off by at most 2^-54 and
//! so x·c by 1/4. Hence |x·w - q·p| ≤ 3p/4, h - q·p is an integer below 2^48 and exact in one rounding, and |r| ≤ 3p/4.
//! For |x| ≤ 2^51, |r| ≤ 5p/8.
//!
//! A sum of two products x·a + y·b begins at W = MAGIC · p, which is exact, 3p having 50 bits, and is reduced once.
//! With c near a/p and d near b/p:
//!
//! ```text
//! f = x·a + W    g = y·b + f    t = x·c + (y·d + MAGIC)    r = ((g - t·p) + (x·a - (f - W))) + (y·b - (g - f))
//! ```
//!
//! For |x| + |y| ≤ 2^52: |x·a| + |y·b| ≤ 2^51 p, so f and g are in 2^52 p … 2^53 p. Any two numbers there differ by a
//! factor of at most 2, so f - W and g - f are exact. f and g are integers below 2^100, off by at most 2^46,
//! and the last two terms of r are exactly these errors. t is in 2^52 … 2^53, an integer rounded twice; c and d are
//! off by at most 2^-54, and t from MAGIC + (x·a + y·b)/p by 1/2 + 1/2 + 1/4. Hence |r| ≤ 5p/4, g - t·p is an integer
//! below 2^50, exact in one rounding, and so are the sums.
//!
//! Butterflies need no offsets; [`ntt`] has the bounds of a transform. Words in memory are the same on all backends:
//! loads set the bits of 2^52 and subtract it, stores add 2^52 + p to a reduced value and clear these bits, so words
//! are in (0, 2p). Doubles stay as they are between the passes of one row.

#[cfg(target_arch = "x86_64")]
pub(super) mod avx2;
#[cfg(target_arch = "x86_64")]
pub(super) mod avx512;
pub(super) mod compiled;
pub(super) mod ntt;
pub(super) mod products;
pub(super) mod words;

use crate::modulus::Modulus;
use core::ops::{Add, Mul, Sub};

/// Numbers near 1.5 · 2^52 are integers.
const MAGIC: f64 = 6_755_399_441_055_744.0;
pub(super) const TWO_52: f64 = 4_503_599_627_370_496.0;

/// Methods of [`Number`] and [`Doubles`] of one expression each.
macro_rules! methods {
    ($($f:ident($($args:tt)*) $(-> $out:ty)? = $body:expr;)*) => {$(
        #[inline(always)]
        unsafe fn $f($($args)*) $(-> $out)? {
            // SAFETY: as the trait says; a prefetch may go anywhere.
            unsafe { $body }
        }
    )*};
}
pub(super) use methods;

/// The operators of a register, by instructions.
macro_rules! operators {
    ($t:ident: $($op:ident $f:ident $of:ident;)*) => {$(
        impl core::ops::$op for $t {
            type Output = Self;

            #[inline(always)]
            fn $f(self, rhs: Self) -> Self {
                // SAFETY: values of the type are only made in functions compiled for its instructions.
                Self(unsafe { $of(self.0, rhs.0) })
            }
        }
    )*};
}
pub(super) use operators;

/// What the arithmetic of [`Consts`] asks of a register of doubles.
///
/// # Safety
/// The processor must have the instructions.
pub(super) trait Number:
    Copy + Add<Output = Self> + Sub<Output = Self> + Mul<Output = Self>
{
    unsafe fn splat(x: f64) -> Self;
    /// self · b + c
    unsafe fn mul_add(self, b: Self, c: Self) -> Self;
    /// c - self · b
    unsafe fn neg_mul_add(self, b: Self, c: Self) -> Self;
    /// self · b - c
    unsafe fn mul_sub(self, b: Self, c: Self) -> Self;
}

/// A register of doubles; H of them hold eight lanes.
///
/// # Safety
/// The processor must have the instructions, and pointers must be to as many words as a register holds.
pub(super) trait Doubles<const H: usize>: Number {
    /// The source lanes of one register out of eight.
    type Map: Copy;
    /// The map to register `h` for the translation of the axes of 3 and 5 with source lanes `source`.
    unsafe fn map(source: &[u64; 8], h: usize) -> Self::Map;
    /// Loads the lanes `map` of the eight words at `from`.
    unsafe fn load_mapped(from: *const f64, map: Self::Map) -> Self;
    /// Prefetches a cache line; any address will do.
    unsafe fn prefetch(at: *const u64);
    unsafe fn load(from: *const f64) -> Self;
    /// Loads words of six bytes from `from` on; sixteen bytes behind them must be readable.
    unsafe fn load_key(from: *const u8) -> Self;
    unsafe fn store(self, to: *mut f64);
    unsafe fn or(self, b: Self) -> Self;
    unsafe fn xor(self, b: Self) -> Self;
    /// The low and the high 32 bits of each word.
    unsafe fn halves(self) -> [Self; 2];
    unsafe fn floor(self) -> Self;
    /// self + b where self is negative
    unsafe fn add_if_negative(self, b: Self) -> Self;
    /// Over eight lanes e3·4 + e5: the sums over e3, then the differences.
    unsafe fn three(x: [Self; H]) -> [Self; H];
    /// In either half: the sums of lanes e5 and e5 + 2, then the differences.
    unsafe fn five(x: [Self; H]) -> [Self; H];
    /// Exchanges neighbours, lanes 2i and 2i + 1.
    unsafe fn next(self) -> Self;
}

/// A constant w, as its representative of least size, and w/p.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub(super) struct Factor {
    pub(super) w: f64,
    pub(super) q: f64,
}

impl Factor {
    pub(super) fn new(m: &Modulus, w: u64) -> Self {
        let p = m.p();
        let w = if w > p / 2 {
            -((p - w) as f64)
        } else {
            w as f64
        };
        Self { w, q: w / p as f64 }
    }
}

#[derive(Clone, Copy)]
pub(super) struct Consts<V> {
    pub(super) p: V,
    pub(super) magic: V,
    pub(super) two_52: V,
    /// 2^52 + p
    pub(super) lift: V,
    pub(super) inverse: V,
    /// MAGIC · p
    wide: V,
}

impl<V: Number> Consts<V> {
    #[inline(always)]
    pub(super) unsafe fn new(m: &Modulus) -> Self {
        let p = m.p() as f64;
        // SAFETY: as the caller vouches; so in all functions here.
        unsafe {
            Self {
                p: V::splat(p),
                // hidden, or the compiler would load it anew for every product
                magic: V::splat(core::hint::black_box(MAGIC)),
                two_52: V::splat(TWO_52),
                lift: V::splat(TWO_52 + p),
                inverse: V::splat(1.0 / p),
                wide: V::splat(MAGIC * p),
            }
        }
    }

    /// x·w mod p for |x| ≤ 2^52.
    #[inline(always)]
    pub(super) unsafe fn mul(&self, x: V, w: V, q: V) -> V {
        // SAFETY: see `new`.
        unsafe {
            let h = x * w;
            let q = x.mul_add(q, self.magic) - self.magic;
            let l = x.mul_sub(w, h);
            q.neg_mul_add(self.p, h) + l
        }
    }

    #[inline(always)]
    pub(super) unsafe fn mul_const(&self, x: V, c: &Factor) -> V {
        // SAFETY: see `new`.
        unsafe { self.mul(x, V::splat(c.w), V::splat(c.q)) }
    }

    /// Σ x·w mod p over two pairs, of constants with their quotients, for Σ |x| ≤ 2^52: within 5p/4.
    #[inline(always)]
    pub(super) unsafe fn sum(&self, terms: [(V, [V; 2]); 2]) -> V {
        // SAFETY: see `new`.
        unsafe {
            let [(x, [a, a_q]), (y, [b, b_q])] = terms;
            let first = x.mul_add(a, self.wide);
            let both = y.mul_add(b, first);
            let q = x.mul_add(a_q, y.mul_add(b_q, self.magic));
            let low = x.mul_sub(a, first - self.wide);
            (q.neg_mul_add(self.p, both) + low) + y.mul_sub(b, both - first)
        }
    }

    /// x mod p for |x| ≤ 2^53: within 5p/8, as x/p is off by little.
    #[inline(always)]
    pub(super) unsafe fn reduce(&self, x: V) -> V {
        // SAFETY: see `new`.
        unsafe { (x.mul_add(self.inverse, self.magic) - self.magic).neg_mul_add(self.p, x) }
    }

    /// Words below 2^52.
    #[inline(always)]
    pub(super) unsafe fn load<const H: usize>(&self, from: *const u64) -> V
    where
        V: Doubles<H>,
    {
        // SAFETY: see `new`.
        unsafe { V::load(from.cast()).or(self.two_52) - self.two_52 }
    }

    /// A reduced value as lazy words.
    #[inline(always)]
    pub(super) unsafe fn store<const H: usize>(&self, x: V, to: *mut u64)
    where
        V: Doubles<H>,
    {
        // SAFETY: see `new`.
        unsafe { (x + self.lift).xor(self.two_52).store(to.cast()) }
    }
}

/// Lazy words less p.
#[inline(always)]
pub(super) unsafe fn centred_words<V: Doubles<H>, const H: usize>(
    k: &Consts<V>,
    from: *const u64,
) -> V {
    // SAFETY: see `Consts::new`.
    unsafe { V::load(from.cast()).or(k.two_52) - k.lift }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::WIDE;

    /// A register of one number, for the arithmetic alone.
    #[derive(Clone, Copy)]
    struct One(f64);

    macro_rules! op {
        ($($op:ident $f:ident;)*) => {$(
            impl $op for One {
                type Output = Self;

                fn $f(self, other: Self) -> Self {
                    Self(self.0.$f(other.0))
                }
            }
        )*};
    }

    op! { Add add; Sub sub; Mul mul; }

    impl Number for One {
        unsafe fn splat(x: f64) -> Self {
            Self(x)
        }

        unsafe fn mul_add(self, b: Self, c: Self) -> Self {
            Self(self.0.mul_add(b.0, c.0))
        }

        unsafe fn neg_mul_add(self, b: Self, c: Self) -> Self {
            Self((-self.0).mul_add(b.0, c.0))
        }

        unsafe fn mul_sub(self, b: Self, c: Self) -> Self {
            Self(self.0.mul_add(b.0, -c.0))
        }
    }

    /// Numbers up to `most` in size, including the edges.
    fn numbers(most: i64) -> impl Iterator<Item = i64> {
        let mixed = move |i: i64| (i.wrapping_mul(0x5851_f42d_4c95_7f2d) >> 9) % most;
        let edges = [0, 1, -1, most, -most, most / 2, most - 1, 1 - most];
        edges.into_iter().chain((1..40).map(mixed))
    }

    /// Products, sums of two and reductions are correct and within their bounds for all admissible numbers.
    #[test]
    fn numbers_are_right_at_the_edges() {
        let small = [65_537, 77_521, 16_776_961];
        for p in small
            .into_iter()
            .chain([131_311_739_216_641, 140_737_437_991_681, WIDE])
        {
            let m = &Modulus::new(p);
            // SAFETY: one number needs no features.
            let k = unsafe { Consts::<One>::new(m) };
            let residue = |x: i128| x.rem_euclid(i128::from(p));
            let right = |found: One, want: i128, most: f64| {
                assert!(found.0.abs() <= most * p as f64, "{} of {p}", found.0);
                assert_eq!(found.0, found.0.trunc());
                assert_eq!(residue(found.0 as i128), residue(want), "{p}");
            };
            let factors = [1, 2, p / 2, p / 2 + 1, p - 1, p / 3].map(|w| Factor::new(m, w));
            for x in numbers(1 << 53) {
                // SAFETY: as above.
                right(unsafe { k.reduce(One(x as f64)) }, x.into(), 0.625);
            }
            for a in &factors {
                let product = |x: i64| i128::from(x) * a.w as i128;
                for x in numbers(1 << 52) {
                    // SAFETY: as above.
                    right(unsafe { k.mul_const(One(x as f64), a) }, product(x), 0.75);
                    let left = (1 << 52) - x.abs();
                    let others = factors
                        .iter()
                        .flat_map(|b| numbers(left.max(1)).map(move |y| (b, y)));
                    for (b, y) in others {
                        let y = if left == 0 { 0 } else { y };
                        let term = |x: i64, f: &Factor| (One(x as f64), [One(f.w), One(f.q)]);
                        let want = product(x) + i128::from(y) * b.w as i128;
                        // SAFETY: as above.
                        right(unsafe { k.sum([term(x, a), term(y, b)]) }, want, 1.25);
                    }
                }
            }
        }
    }
}
