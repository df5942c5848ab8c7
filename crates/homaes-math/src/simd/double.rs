//! The ring's kernels in double precision, for processors with fused multiply-add and without 52-bit integer products.
//!
//! Registers hold integers as doubles, exact below 2^53, of either sign. A product by a constant w, |w| ≤ p/2, with the double c nearest to w/p is
//!
//! ```text
//! h = x·w    l = x·w - h    q = nearest integer to x·c    r = (h - q·p) + l
//! ```
//!
//! For |x| ≤ 2^52 (so for 32 p, p < 2^47): h is an integer, being x·w rounded, and l is exact, being the error of a product. |x·c| ≤ 2^51, so that adding [`MAGIC`] =
//! 1.5 · 2^52 leaves an integer; c is off by at most 2^-54 and so x·c by 1/4. Hence |x·w - q·p| ≤ 3p/4, h - q·p is an integer below 2^47 and exact in one
//! rounding, and |r| ≤ 3p/4. For |x| ≤ 2^51 it is |r| ≤ 5p/8.
//!
//! Four butterfly levels on words below 2p stay within 32p, and so do those on products by constants, within 12p. They need no
//! offsets. Words in memory are those of all backends: loads set the bits of 2^52 and subtract it, stores add 2^52 + p to a reduced value and take these bits off, so
//! that words are in (0, 2p). Between the passes of one row doubles stay as they are.

use crate::lanes::array;
use crate::modulus::{Modulus, Shoup};
use core::ops::{Add, Mul, Sub};

/// Numbers of 1.5 · 2^52 and somewhat above or below are integers.
const MAGIC: f64 = 6_755_399_441_055_744.0;
pub(super) const TWO_52: f64 = 4_503_599_627_370_496.0;

/// A register of doubles, H of them for eight lanes.
///
/// # Safety
/// The methods may only be called where the processor has the instructions, with pointers to as many words as a register holds.
pub(super) trait Doubles<const H: usize>:
    Copy + Add<Output = Self> + Sub<Output = Self> + Mul<Output = Self>
{
    /// Lanes of one register out of eight.
    type Map: Copy;
    /// Those that lanes `source` go to in register `h`: translations on the axes of 3 and 5.
    unsafe fn map(source: &[u64; 8], h: usize) -> Self::Map;
    /// Lanes of the eight words at `from`.
    unsafe fn load_mapped(from: *const f64, map: Self::Map) -> Self;
    /// Fetches a line of the cache; any address will do.
    unsafe fn prefetch(at: *const u64);
    unsafe fn splat(x: f64) -> Self;
    unsafe fn load(from: *const f64) -> Self;
    unsafe fn store(self, to: *mut f64);
    /// self · b + c
    unsafe fn mul_add(self, b: Self, c: Self) -> Self;
    /// c - self · b
    unsafe fn neg_mul_add(self, b: Self, c: Self) -> Self;
    /// self · b - c
    unsafe fn mul_sub(self, b: Self, c: Self) -> Self;
    unsafe fn or(self, b: Self) -> Self;
    unsafe fn xor(self, b: Self) -> Self;
    /// The low and the high 32 bits of each word.
    unsafe fn halves(self) -> [Self; 2];
    unsafe fn floor(self) -> Self;
    /// self + b where self is negative
    unsafe fn add_if_negative(self, b: Self) -> Self;
    /// Of eight lanes e3·4 + e5, those of the other e3.
    unsafe fn other(x: [Self; H]) -> [Self; H];
    /// Lanes of e5 + 2.
    unsafe fn opposite(self) -> Self;
    /// Lanes of e5 ± 1, of vectors with equal lanes at e5 and e5 + 2 but for the sign.
    unsafe fn next(self) -> Self;
}

/// A constant w as its representative of least size, and w/p.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub(super) struct Factor {
    pub(super) w: f64,
    q: f64,
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

/// One direction of the transform.
#[derive(Clone, Debug)]
pub(crate) struct Tables {
    rows: usize,
    cols: usize,
    root16: [[Factor; 8]; 2],
    twiddle: Vec<Factor>,
    middle257: Vec<Factor>,
    middle17: [Factor; 16],
    three: Factor,
    five_even: Factor,
    five_odd: [[f64; 8]; 2],
    five_swap: Factor,
}

impl Tables {
    pub(super) fn new(m: &Modulus, t: &super::Tables) -> Self {
        let factor = |s: &Shoup| Factor::new(m, s.w);
        let odd = t.five_odd[0].map(|w| Factor::new(m, w));
        Self {
            rows: t.rows,
            cols: t.cols,
            root16: t.root16.each_ref().map(|r| r.each_ref().map(factor)),
            twiddle: t.twiddle.iter().map(factor).collect(),
            middle257: t.middle257.iter().map(factor).collect(),
            middle17: t.middle17.each_ref().map(factor),
            three: factor(&t.three),
            five_even: factor(&t.five_even),
            five_odd: [odd.map(|f| f.w), odd.map(|f| f.q)],
            five_swap: factor(&t.five_swap),
        }
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
}

impl<V> Consts<V> {
    #[inline(always)]
    pub(super) unsafe fn new<const H: usize>(m: &Modulus) -> Self
    where
        V: Doubles<H>,
    {
        let p = m.p() as f64;
        // SAFETY: as the caller vouches; so in all functions here.
        unsafe {
            Self {
                p: V::splat(p),
                magic: V::splat(MAGIC),
                two_52: V::splat(TWO_52),
                lift: V::splat(TWO_52 + p),
                inverse: V::splat(1.0 / p),
            }
        }
    }

    /// x·w mod p for |x| ≤ 2^52.
    #[inline(always)]
    unsafe fn mul<const H: usize>(&self, x: V, w: V, q: V) -> V
    where
        V: Doubles<H>,
    {
        // SAFETY: see `new`.
        unsafe {
            let h = x * w;
            let q = x.mul_add(q, self.magic) - self.magic;
            let l = x.mul_sub(w, h);
            q.neg_mul_add(self.p, h) + l
        }
    }

    #[inline(always)]
    pub(super) unsafe fn mul_const<const H: usize>(&self, x: V, c: &Factor) -> V
    where
        V: Doubles<H>,
    {
        // SAFETY: see `new`.
        unsafe { self.mul(x, V::splat(c.w), V::splat(c.q)) }
    }

    /// x mod p for |x| ≤ 2^52: within 5p/8, as the product by 1.
    #[inline(always)]
    pub(super) unsafe fn reduce<const H: usize>(&self, x: V) -> V
    where
        V: Doubles<H>,
    {
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

/// DFT of length 16, two levels at a time, so that few registers are in use: input i by `get`, output k given to `put`.
#[inline(always)]
unsafe fn dft16<V: Doubles<H>, const H: usize>(
    k: &Consts<V>,
    w: &[Factor; 8],
    get: impl Fn(usize) -> V,
    put: impl Fn(usize, V),
) {
    // SAFETY: see `Consts::new`.
    unsafe {
        let mut x = [k.p; 16];
        macro_rules! first {
            ($($i:literal)*) => {$(
                let (a, b, c, d) = (get($i), get($i + 4), get($i + 8), get($i + 12));
                let (s, t) = (a + c, b + d);
                let mut u = a - c;
                if $i > 0 {
                    u = k.mul_const(u, &w[$i]);
                }
                let v = k.mul_const(b - d, &w[$i + 4]);
                x[$i] = s + t;
                x[$i + 8] = u + v;
                let (mut y, mut z) = (s - t, u - v);
                if $i > 0 {
                    y = k.mul_const(y, &w[2 * $i]);
                    z = k.mul_const(z, &w[2 * $i]);
                }
                x[$i + 4] = y;
                x[$i + 12] = z;
            )*};
        }
        first!(0 1 2 3);
        macro_rules! second {
            ($($i:literal, $out:literal;)*) => {$(
                let (a, b, c, d) = (x[$i], x[$i + 1], x[$i + 2], x[$i + 3]);
                let (s, t) = (a + c, b + d);
                let (u, v) = (a - c, k.mul_const(b - d, &w[4]));
                put($out, s + t);
                put($out + 8, s - t);
                put($out + 4, u + v);
                put($out + 12, u - v);
            )*};
        }
        second!(0, 0; 4, 2; 8, 1; 12, 3;);
    }
}

/// Correlations on the axes of 3 and 5; returns twice the result, reduced. As the kernel in AVX-512 IFMA, without offsets.
///
/// Input within 5p/8; sums of it stay within 2^50.
#[inline(always)]
unsafe fn lanes<V: Doubles<H>, const H: usize>(k: &Consts<V>, t: &Tables, a: [V; H]) -> [V; H] {
    // SAFETY: see `Consts::new`; constants are read from arrays of eight.
    unsafe {
        let other = V::other(a);
        let y = array!(H, a[0], |i| k.mul_const(a[i] - other[i], &t.three)
            - other[i]);
        array!(H, a[0], |i| {
            let opposite = y[i].opposite();
            let (u, v) = (y[i] + opposite, y[i] - opposite);
            let (u_next, v_next) = (u.next(), v.next());
            let even = k.mul_const(u - u_next, &t.five_even) - u_next;
            let at = i * (8 / H);
            let w = V::load(t.five_odd[0].as_ptr().add(at));
            let q = V::load(t.five_odd[1].as_ptr().add(at));
            let odd = k.mul(v, w, q) + k.mul_const(v_next, &t.five_swap);
            k.reduce(even + odd)
        })
    }
}

/// See [`crate::simd::rows`].
#[inline(always)]
pub(super) unsafe fn rows<V: Doubles<H>, const H: usize>(
    m: &Modulus,
    t: &Tables,
    rows: &mut [u64],
) {
    assert!(rows.len().is_multiple_of(t.cols * 8));
    if t.cols == 256 {
        // SAFETY: see `Consts::new`; a row has 256 vectors of eight, the tables 256 entries.
        unsafe {
            let k = Consts::<V>::new(m);
            for row in rows.chunks_exact_mut(256 * 8) {
                for h in 0..H {
                    axis257(&k, t, row, h * (8 / H));
                }
            }
        }
    }
}

/// The axis of 257 of some lanes of one row.
#[inline(always)]
unsafe fn axis257<V: Doubles<H>, const H: usize>(
    k: &Consts<V>,
    t: &Tables,
    row: &mut [u64],
    lane: usize,
) {
    assert!(row.len() == 2048 && t.twiddle.len() == 256 && t.middle257.len() == 256 && lane < 8);
    let w = &t.root16[0];
    // SAFETY: see `Consts::new`; vector index 16 i + j with i, j < 16 is below 256, and so are those of the tables. One exclusive borrow underlies all
    // accesses.
    unsafe {
        let base = row.as_mut_ptr().add(lane);
        let at = |v: usize| base.add(8 * v);
        let values = |v: usize| at(v).cast::<f64>();
        for j in 0..16 {
            let tw = t.twiddle.as_ptr().add(16 * j);
            dft16(
                k,
                w,
                |i| k.load(at(16 * i + j)),
                |i, x| k.mul_const(x, &*tw.add(i)).store(values(16 * i + j)),
            );
        }
        for i in 0..16 {
            let mid = t.middle257.as_ptr().add(16 * i);
            dft16(
                k,
                w,
                |j| V::load(values(16 * i + j)),
                |j, x| k.mul_const(x, &*mid.add(j)).store(values(16 * i + j)),
            );
            let tw = t.twiddle.as_ptr().add(16 * i);
            dft16(
                k,
                w,
                |j| V::load(values(16 * i + j)),
                |j, x| k.mul_const(x, &*tw.add(j)).store(values(16 * i + j)),
            );
        }
        for j in 0..16 {
            dft16(
                k,
                w,
                |i| V::load(values(16 * i + j)),
                |i, x| k.store(k.reduce(x), at(16 * i + j)),
            );
        }
    }
}

/// See [`crate::simd::columns`].
#[inline(always)]
pub(super) unsafe fn columns<V: Doubles<H>, const H: usize>(
    m: &Modulus,
    t: &Tables,
    a: &mut [u64],
) {
    assert_eq!(a.len(), t.rows * t.cols * 8);
    let base = a.as_mut_ptr();
    // SAFETY: see `Consts::new`; vector index i·cols + c with i < rows and c < cols is below rows·cols = a.len()/8. One exclusive borrow underlies all accesses.
    unsafe {
        let k = Consts::<V>::new(m);
        let step = 8 / H;
        if t.rows == 1 {
            for c in 0..t.cols {
                let at = base.add(8 * c);
                let x = array!(H, k.p, |h| k.reduce(k.load(at.add(h * step))));
                let y = lanes(&k, t, x);
                for (h, y) in y.into_iter().enumerate() {
                    k.store(y, at.add(h * step));
                }
            }
            return;
        }
        let w = &t.root16[1];
        for c in 0..t.cols {
            for h in 0..H {
                let at = |i: usize| base.add((i * t.cols + c) * 8 + h * step);
                let values = |i: usize| at(i).cast::<f64>();
                dft16(
                    &k,
                    w,
                    |i| k.load(at(i)),
                    |i, x| k.mul_const(x, &t.middle17[i]).store(values(i)),
                );
                dft16(
                    &k,
                    w,
                    |i| V::load(values(i)),
                    |i, x| k.reduce(x).store(values(i)),
                );
            }
            for i in 0..16 {
                let at = base.add((i * t.cols + c) * 8);
                let x = array!(H, k.p, |h| V::load(at.add(h * step).cast()));
                let y = lanes(&k, t, x);
                for (h, y) in y.into_iter().enumerate() {
                    k.store(y, at.add(h * step));
                }
            }
        }
    }
}
