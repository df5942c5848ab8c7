//! The transform in double precision on the numbers of [`super`]: the passes of the one in AVX-512 IFMA, two levels
//! of butterflies at a time.
//!
//! Bounds are in p. Words are loaded less p, so within 1. Four levels without a product make 16 of 1. A product by a
//! constant takes at most 32 and gives at most 3/4. So passes of the axis of 257 stay within 16.
//!
//! On the axis of 17, the product in the middle is joined with the correlations on the axes of 3 and 5 ([`lanes`]),
//! which butterflies on these axes turn into sums of two products. The first DFT begins with a butterfly of 3, within
//! 2, and leaves at most 8, because five entries are reduced midway. A butterfly of 5 then leaves 16, and a sum may
//! have two of these. Sums are within 5/4, and within 5 after both butterflies. The second DFT reduces one entry and
//! leaves at most 61: below 2^53, so exact and ready for a reduction.
//!
//! Modulo wide primes, of 48 bits, a product takes at most 16 and a reduction at most 32. So both DFTs of the axis of
//! 17 reduce more entries, and the sums between them are reduced as well.

use super::{Consts, Doubles, Factor, Number, centred_words};
use crate::float_lanes::array;
use crate::modulus::{Modulus, Shoup};
use crate::transform::Kernels;
use core::ops::{Add, Sub};

/// One direction of the transform.
#[derive(Clone, Debug)]
pub(crate) struct Tables {
    rows: usize,
    /// columns of a row, of both halves in K
    cols: usize,
    /// the root, and the factor of the inverse
    halves: Option<(Factor, Option<Factor>)>,
    root16: [[Factor; 8]; 2],
    twiddle: Vec<Factor>,
    middle257: Vec<Factor>,
    /// per row, the factors of [`lanes`]: w and w/p by lane, of either term
    lanes: Vec<[[[f64; 8]; 2]; 2]>,
}

impl Tables {
    pub(in crate::simd) fn new(m: &Modulus, t: &crate::simd::Tables, k: &Kernels) -> Self {
        let factor = |s: &Shoup| Factor::new(m, s.w);
        let lanes = |row: usize| {
            let terms =
                crate::simd::joined(m, t, k, row).map(|term| term.map(|w| Factor::new(m, w)));
            terms.map(|term| [term.map(|f| f.w), term.map(|f| f.q)])
        };
        Self {
            rows: t.rows,
            cols: t.cols,
            halves: t
                .halves
                .map(|h| (factor(&h.root), h.scale.as_ref().map(factor))),
            root16: t.root16.each_ref().map(|r| r.each_ref().map(factor)),
            twiddle: t.twiddle.iter().map(factor).collect(),
            middle257: t.middle257.iter().map(factor).collect(),
            lanes: (0..t.rows).map(lanes).collect(),
        }
    }
}

/// The operations of butterflies: on vectors, or in tests on bounds of their numbers.
trait Arithmetic {
    type Word: Copy + Add<Output = Self::Word> + Sub<Output = Self::Word>;

    /// x·c mod p
    unsafe fn product(&self, x: Self::Word, c: &Factor) -> Self::Word;

    /// x mod p
    unsafe fn reduce(&self, x: Self::Word) -> Self::Word;
}

impl<V: Number> Arithmetic for Consts<V> {
    type Word = V;

    #[inline(always)]
    unsafe fn product(&self, x: V, c: &Factor) -> V {
        // SAFETY: see `Consts::new`.
        unsafe { self.mul_const(x, c) }
    }

    #[inline(always)]
    unsafe fn reduce(&self, x: V) -> V {
        // SAFETY: see `Consts::new`.
        unsafe { Self::reduce(self, x) }
    }
}

/// DFT of length 16, two levels at a time to save registers. `pair` gives the sum and difference of inputs i and
/// i + 8, `put` takes output k. Between the two pairs of levels, the entries in the set `REDUCED` are reduced.
#[inline(always)]
unsafe fn dft16<A: Arithmetic, const REDUCED: u16>(
    k: &A,
    w: &[Factor; 8],
    pair: impl Fn(usize) -> [A::Word; 2],
    mut put: impl FnMut(usize, A::Word),
) {
    // SAFETY: that of the arithmetic.
    unsafe {
        let mut x = [pair(0)[0]; 16];
        macro_rules! first {
            ($($i:literal)*) => {$(
                let ([s, mut u], [t, v]) = (pair($i), pair($i + 4));
                if $i > 0 {
                    u = k.product(u, &w[$i]);
                }
                let v = k.product(v, &w[$i + 4]);
                x[$i] = s + t;
                x[$i + 8] = u + v;
                let (mut y, mut z) = (s - t, u - v);
                if $i > 0 {
                    y = k.product(y, &w[2 * $i]);
                    z = k.product(z, &w[2 * $i]);
                }
                x[$i + 4] = y;
                x[$i + 12] = z;
            )*};
        }
        first!(0 1 2 3);
        macro_rules! reduced {
            ($($i:literal)*) => {$(
                if REDUCED >> $i & 1 == 1 {
                    x[$i] = k.reduce(x[$i]);
                }
            )*};
        }
        reduced!(0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15);
        macro_rules! second {
            ($($i:literal, $out:literal;)*) => {$(
                let (a, b, c, d) = (x[$i], x[$i + 1], x[$i + 2], x[$i + 3]);
                let (s, t) = (a + c, b + d);
                let (u, v) = (a - c, k.product(b - d, &w[4]));
                put($out, s + t);
                put($out + 8, s - t);
                put($out + 4, u + v);
                put($out + 12, u - v);
            )*};
        }
        second!(0, 0; 4, 2; 8, 1; 12, 3;);
    }
}

/// Correlations on the axes of 3 and 5, times constants, of what [`Doubles::three`] gave.
///
/// Input within 8p, or 4p modulo a wide prime, output within 5p, or 5p/2.
#[inline(always)]
unsafe fn lanes<V: Doubles<H>, const H: usize, const WIDE: bool>(
    k: &Consts<V>,
    factors: &[[[f64; 8]; 2]; 2],
    x: [V; H],
) -> [V; H] {
    // SAFETY: see `Consts::new`; constants are read from arrays of eight.
    unsafe {
        let [own, other] = factors;
        let z = V::five(x);
        let sums = array!(H, x[0], |h| {
            let at = h * (8 / H);
            let [own, other] =
                [own, other].map(|f| f.each_ref().map(|f| V::load(f.as_ptr().add(at))));
            let sum = k.sum([(z[h], own), (z[h].next(), other)]);
            if WIDE { k.reduce(sum) } else { sum }
        });
        V::three(V::five(sums))
    }
}

#[inline(always)]
pub(in crate::simd) unsafe fn rows<V: Doubles<H>, const H: usize>(
    m: &Modulus,
    t: &Tables,
    rows: &mut [u64],
) {
    assert!(rows.len().is_multiple_of(t.cols * 8));
    // SAFETY: see `Consts::new`; a row or half of a row has 256 vectors of eight, the tables 256 entries.
    unsafe {
        let k = Consts::<V>::new(m);
        for row in rows.chunks_exact_mut(t.cols * 8) {
            if let Some(halves) = &t.halves {
                between_halves(&k, halves, row);
            }
            if t.cols >= 256 {
                for half in row.chunks_exact_mut(256 * 8) {
                    for h in 0..H {
                        axis257(&k, t, half, h * (8 / H));
                    }
                }
            }
        }
    }
}

/// The butterflies between the halves of a row: words within 1 in and out, differences within 2.
#[inline(always)]
unsafe fn between_halves<V: Doubles<H>, const H: usize>(
    k: &Consts<V>,
    (root, scale): &(Factor, Option<Factor>),
    row: &mut [u64],
) {
    let (first, second) = row.split_at_mut(row.len() / 2);
    assert!(first.len() == second.len() && first.len().is_multiple_of(8));
    // SAFETY: see `Consts::new`; positions stay below the length of both halves.
    unsafe {
        for at in (0..first.len()).step_by(8 / H) {
            let (first, second) = (first.as_mut_ptr().add(at), second.as_mut_ptr().add(at));
            let (x, y) = (centred_words(k, first), centred_words(k, second));
            let (x, y) = match scale {
                None => {
                    let product = k.mul_const(y, root);
                    (x + product, x + y - product)
                }
                Some(scale) => {
                    let y = k.mul_const(x - y, scale);
                    (x - k.mul_const(y, root), y)
                }
            };
            k.store(k.reduce(x), first);
            k.store(k.reduce(y), second);
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
    // SAFETY: see `Consts::new`; vector index 16 i + j with i, j < 16 is below 256, and so are those of the tables.
    // One exclusive borrow underlies all accesses.
    unsafe {
        let base = row.as_mut_ptr().add(lane);
        let at = |v: usize| base.add(8 * v);
        let values = |v: usize| at(v).cast::<f64>();
        let pair = |v: usize, w: usize| {
            let (a, b) = (V::load(values(v)), V::load(values(w)));
            [a + b, a - b]
        };
        for j in 0..16 {
            let tw = t.twiddle.as_ptr().add(16 * j);
            dft16::<_, 0>(
                k,
                w,
                |i| {
                    let [a, b] = [i, i + 8].map(|i| centred_words(k, at(16 * i + j)));
                    [a + b, a - b]
                },
                |i, x| k.product(x, &*tw.add(i)).store(values(16 * i + j)),
            );
        }
        for i in 0..16 {
            let mid = t.middle257.as_ptr().add(16 * i);
            dft16::<_, 0>(
                k,
                w,
                |j| pair(16 * i + j, 16 * i + j + 8),
                |j, x| k.product(x, &*mid.add(j)).store(values(16 * i + j)),
            );
            let tw = t.twiddle.as_ptr().add(16 * i);
            dft16::<_, 0>(
                k,
                w,
                |j| pair(16 * i + j, 16 * i + j + 8),
                |j, x| k.product(x, &*tw.add(j)).store(values(16 * i + j)),
            );
        }
        for j in 0..16 {
            dft16::<_, 0>(
                k,
                w,
                |i| pair(16 * i + j, 16 * i + j + 128),
                |i, x| k.store(k.reduce(x), at(16 * i + j)),
            );
        }
    }
}

/// Entries reduced in the DFTs of the axis of 17, before [`lanes`] and after.
const BEFORE_LANES: u16 = 0b1_1111;
const AFTER_LANES: u16 = 0b10;
/// The same modulo wide primes.
const BEFORE_LANES_WIDE: u16 = 0b1_1111_0001_1111;
const AFTER_LANES_WIDE: u16 = 0b1010;

/// Columns at once; one alone would wait between its levels.
const WIDTH: usize = 4;

/// Some columns side by side: in a limb, the sixteen lines of a column share one first-level cache set of eight.
#[repr(align(64))]
struct Columns([[[f64; 8]; WIDTH]; 16]);

#[inline(always)]
pub(in crate::simd) unsafe fn columns<V: Doubles<H>, const H: usize>(
    m: &Modulus,
    t: &Tables,
    a: &mut [u64],
) {
    // SAFETY: as the caller vouches.
    unsafe {
        if m.is_wide() {
            columns_of::<V, H, true, BEFORE_LANES_WIDE, AFTER_LANES_WIDE>(m, t, a);
        } else {
            columns_of::<V, H, false, BEFORE_LANES, AFTER_LANES>(m, t, a);
        }
    }
}

#[inline(always)]
unsafe fn columns_of<
    V: Doubles<H>,
    const H: usize,
    const WIDE: bool,
    const BEFORE: u16,
    const AFTER: u16,
>(
    m: &Modulus,
    t: &Tables,
    a: &mut [u64],
) {
    assert!(a.len() == t.rows * t.cols * 8 && t.lanes.len() == t.rows);
    let base = a.as_mut_ptr();
    // SAFETY: see `Consts::new`; vector index i·cols + c with i < rows and c < cols is below rows·cols = a.len()/8,
    // and 16 · WIDTH vectors are in `Columns`. One exclusive borrow underlies all accesses.
    unsafe {
        let k = Consts::<V>::new(m);
        let step = 8 / H;
        let words = |v: usize| {
            let at = base.add(8 * v);
            V::three(array!(H, k.p, |h| centred_words(&k, at.add(h * step))))
        };
        let [single] = &t.lanes[..] else {
            let (matrices, _) = t.lanes.as_chunks::<16>();
            assert_eq!(matrices.len(), 1);
            let w = &t.root16[1];
            let mut columns = Columns([[[0.0; 8]; WIDTH]; 16]);
            let columns = columns.0.as_mut_ptr().cast::<f64>();
            let width = WIDTH.min(t.cols);
            assert!(t.cols.is_multiple_of(width));
            for first in (0..t.cols).step_by(width) {
                let at = |i: usize, part: usize| columns.add(8 * WIDTH * i + part * step);
                let pair = |i: usize, part: usize| {
                    let (a, b) = (V::load(at(i, part)), V::load(at(i + 8, part)));
                    [a + b, a - b]
                };
                for i in 0..16 {
                    for c in 0..width {
                        let x = words(i * t.cols + first + c);
                        for (h, x) in x.into_iter().enumerate() {
                            x.store(at(i, c * H + h));
                        }
                    }
                }
                for part in 0..H * width {
                    dft16::<_, BEFORE>(&k, w, |i| pair(i, part), |i, x| x.store(at(i, part)));
                }
                for (i, matrix) in matrices[0].iter().enumerate() {
                    for c in 0..width {
                        let x = array!(H, k.p, |h| V::load(at(i, c * H + h)));
                        let y = lanes::<V, H, WIDE>(&k, matrix, x);
                        for (h, y) in y.into_iter().enumerate() {
                            y.store(at(i, c * H + h));
                        }
                    }
                }
                for part in 0..H * width {
                    dft16::<_, AFTER>(&k, w, |i| pair(i, part), |i, x| x.store(at(i, part)));
                }
                for i in 0..16 {
                    for part in 0..H * width {
                        let to = base.add((i * t.cols + first) * 8 + part * step);
                        k.store(k.reduce(V::load(at(i, part))), to);
                    }
                }
            }
            return;
        };
        for c in 0..t.cols {
            let y = lanes::<V, H, WIDE>(&k, single, words(c));
            for (h, y) in y.into_iter().enumerate() {
                k.store(k.reduce(y), base.add(8 * c + h * step));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A bound of a number, in p.
    #[derive(Clone, Copy, Debug)]
    struct Bound(f64);

    impl Add for Bound {
        type Output = Self;

        fn add(self, other: Self) -> Self {
            Self(self.0 + other.0)
        }
    }

    impl Sub for Bound {
        type Output = Self;

        fn sub(self, other: Self) -> Self {
            self.add(other)
        }
    }

    /// For primes of 47 or 48 bits.
    struct Bounds {
        wide: bool,
    }

    impl Arithmetic for Bounds {
        type Word = Bound;

        /// The quotient is off by 1/2 and, as 128 p < 2^54, by x/128.
        unsafe fn product(&self, x: Bound, _: &Factor) -> Bound {
            let most = if self.wide { 16.0 } else { 32.0 };
            assert!(x.0 <= most, "{x:?} is not within 2^52");
            Bound(0.5 + x.0 / (4.0 * most))
        }

        unsafe fn reduce(&self, x: Bound) -> Bound {
            let most = if self.wide { 32.0 } else { 64.0 };
            assert!(x.0 <= most, "{x:?} is not within 2^53");
            Bound(0.625)
        }
    }

    /// The largest output of a DFT of numbers within `input`.
    fn dft<const REDUCED: u16>(wide: bool, input: f64) -> f64 {
        let mut largest: f64 = 0.0;
        // SAFETY: bounds are not vectors, and need no features.
        unsafe {
            dft16::<_, REDUCED>(
                &Bounds { wide },
                &[Factor::default(); 8],
                |_| [Bound(2.0 * input); 2],
                |_, x| largest = largest.max(x.0),
            );
        }
        largest
    }

    #[test]
    fn numbers_stay_within_their_bounds() {
        for wide in [false, true] {
            // the axis of 257: from words, then from products
            assert!(dft::<0>(wide, 1.0) <= 16.0 && dft::<0>(wide, 0.75) <= 16.0);
        }
        // a butterfly of 5, and two in a sum, whose quotient is off by 1 and 32/128
        let before = [
            dft::<BEFORE_LANES>(false, 2.0),
            dft::<BEFORE_LANES_WIDE>(true, 2.0),
        ];
        assert!(
            4.0 * before[0] <= 32.0 && 4.0 * before[1] <= 16.0,
            "{before:?}"
        );
        // on GPUs, which reduce the same entries in both DFTs; in K the first follows sums within 5/4
        assert!(4.0 * dft::<BEFORE_LANES_WIDE>(true, 2.5) <= 16.0);
        let (last, last_wide) = (
            dft::<AFTER_LANES>(false, 5.0),
            dft::<AFTER_LANES_WIDE>(true, 2.5),
        );
        assert!(last <= 64.0 && last_wide <= 32.0, "{last} {last_wide}");
    }
}
