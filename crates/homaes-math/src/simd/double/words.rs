//! Element-wise kernels in double precision, on the numbers of [`super`].

use super::{Consts, Doubles, Factor, TWO_52, centred_words};
use crate::float_lanes::array;
use crate::modulus::{Modulus, Shoup};
use crate::packed_limbs::HALF_BITS;
use crate::ring::Ring;

#[inline(always)]
pub(in crate::simd) unsafe fn quotient<V: Doubles<H>, const H: usize>(
    sources: &[&[u64]],
    inverses: &[f64],
    out: &mut [u64],
) {
    let n = out.len();
    assert!(n.is_multiple_of(8) && sources.len() == inverses.len());
    assert!(sources.iter().all(|s| s.len() == n));
    // SAFETY: see `Consts::new`; positions stay below n, and lengths were checked above.
    unsafe {
        let two_52 = V::splat(TWO_52);
        for at in (0..n).step_by(8 / H) {
            let mut sum = V::splat(0.5);
            for (s, &inverse) in sources.iter().zip(inverses) {
                let x = V::load(s.as_ptr().add(at).cast()).or(two_52) - two_52;
                // product and sum rounded apart, as the portable twin does
                sum = sum + x * V::splat(inverse);
            }
            let word = (sum.floor() + two_52).xor(two_52);
            word.store(out.as_mut_ptr().add(at).cast());
        }
    }
}

#[inline(always)]
pub(in crate::simd) unsafe fn scale_canonical<V: Doubles<H>, const H: usize>(
    m: &Modulus,
    c: Shoup,
    a: &mut [u64],
) {
    assert!(a.len().is_multiple_of(8));
    // SAFETY: see `Consts::new`; positions stay below the length.
    unsafe {
        let k = Consts::<V>::new(m);
        let c = Factor::new(m, c.w);
        for at in (0..a.len()).step_by(8 / H) {
            let a = a.as_mut_ptr().add(at);
            let x = k.mul_const(k.load(a), &c).add_if_negative(k.p);
            (x + k.two_52).xor(k.two_52).store(a.cast());
        }
    }
}

#[inline(always)]
pub(in crate::simd) unsafe fn scale_add<V: Doubles<H>, const H: usize>(
    m: &Modulus,
    a: &[u64],
    c: Shoup,
    out: &mut [u64],
) {
    assert!(a.len() == out.len() && a.len().is_multiple_of(8));
    // SAFETY: see `Consts::new`; positions stay below the length of both.
    unsafe {
        let k = Consts::<V>::new(m);
        let c = Factor::new(m, c.w);
        for at in (0..a.len()).step_by(8 / H) {
            let o = out.as_mut_ptr().add(at);
            let x = k.mul_const(k.load(a.as_ptr().add(at)), &c);
            k.store(k.reduce(x + centred_words(&k, o)), o);
        }
    }
}

#[inline(always)]
pub(in crate::simd) unsafe fn mix_column<V: Doubles<H>, const H: usize>(
    ring: &Ring,
    m: &Modulus,
    two_by_row: &[Shoup],
    s: [&mut [u64]; 4],
) {
    let (n, len) = (ring.n(), ring.row_len());
    assert!(s.iter().all(|s| s.len() == n) && two_by_row.len() == ring.rows());
    assert!(ring.lanes() == 8);
    let s = s.map(|s| s.as_mut_ptr());
    // SAFETY: see `Consts::new`; positions stay below rows · len = n; the slices are exclusive borrows.
    unsafe {
        let k = Consts::<V>::new(m);
        for (row, two) in two_by_row.iter().enumerate() {
            let two = Factor::new(m, two.w);
            for at in (row * len..(row + 1) * len).step_by(8 / H) {
                let x = array!(4, k.p, |i| centred_words(&k, s[i].add(at)));
                let d = array!(4, k.p, |i| k.mul_const(x[i], &two));
                let sum = (x[0] + x[1]) + (x[2] + x[3]);
                for i in 0..4 {
                    let y = (sum - x[i]) + (d[i] + d[(i + 1) % 4]);
                    k.store(k.reduce(y), s[i].add(at));
                }
            }
        }
    }
}

#[inline(always)]
pub(in crate::simd) unsafe fn centred<V: Doubles<H>, const H: usize>(
    m: &Modulus,
    source: &Modulus,
    halves: &[u64],
    out: &mut [u64],
) {
    let words = halves.len();
    assert!(words.is_multiple_of(8) && out.len() == 2 * words && source.bits() <= HALF_BITS);
    // SAFETY: see `Consts::new`; positions stay below `words`, and `out` holds twice as many.
    unsafe {
        let (k, source) = (Consts::<V>::new(m), Consts::<V>::new(source));
        let r = Factor::new(m, m.r());
        for at in (0..words).step_by(8 / H) {
            let parts = V::load(halves.as_ptr().add(at).cast()).halves();
            for (i, y) in parts.into_iter().enumerate() {
                // least representative: y/source is at least 2^-33 away from a half, and computed to 2^-52
                let y = source.reduce(y.or(k.two_52) - k.two_52);
                k.store(k.mul_const(y, &r), out.as_mut_ptr().add(i * words + at));
            }
        }
    }
}
