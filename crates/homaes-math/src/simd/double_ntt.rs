//! The transform in double precision, on the numbers of [`super::double`]: the passes of the one in AVX-512 IFMA, two levels of butterflies at a time.

use super::double::{Consts, Doubles, Factor};
use crate::lanes::array;
use crate::modulus::{Modulus, Shoup};

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
        let opposite = V::opposite(y);
        array!(H, a[0], |i| {
            let (u, v) = (y[i] + opposite[i], y[i] - opposite[i]);
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
