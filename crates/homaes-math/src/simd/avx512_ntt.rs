//! The transform in AVX-512 IFMA: radix 16 in registers, eight lanes of the axes 3 and 5 per vector.
//!
//! Range discipline for p < 2^47: every product by a constant returns a lazy value (< 2p) whatever
//! 52-bit value it was given, so four butterfly levels on lazy inputs stay below 32 p < 2^52 and
//! need no conditional subtraction; what leaves a radix-16 block is multiplied by a twiddle or a
//! middle constant anyway, or reduced by the constant 1.

use super::Tables;
use crate::modulus::{MASK, Modulus, Shoup};
use core::arch::x86_64::*;

/// Position of output k of a radix-16 block.
const REV: [usize; 16] = [0, 8, 4, 12, 2, 10, 6, 14, 1, 9, 5, 13, 3, 11, 7, 15];

#[derive(Clone, Copy)]
struct Consts {
    neg_p: __m512i,
    mask: __m512i,
    /// 2p, 4p, 8p, 16p: keep the differences of the four levels positive
    offset: [__m512i; 4],
}

impl Consts {
    #[inline(always)]
    unsafe fn new(m: &Modulus) -> Self {
        let p = m.p();
        // SAFETY: inlined into functions compiled for AVX-512; register arithmetic only.
        unsafe {
            Self {
                neg_p: set1((1 << 52) - p),
                mask: set1(MASK),
                offset: [set1(2 * p), set1(4 * p), set1(8 * p), set1(16 * p)],
            }
        }
    }
}

#[inline(always)]
unsafe fn set1(x: u64) -> __m512i {
    // SAFETY: inlined into functions compiled for AVX-512.
    unsafe { _mm512_set1_epi64(x as i64) }
}

/// x·c mod p, lazy, for any 52-bit x.
#[inline(always)]
unsafe fn mul(k: &Consts, x: __m512i, w: __m512i, q: __m512i) -> __m512i {
    // SAFETY: inlined into functions compiled for AVX-512 IFMA; register arithmetic only.
    unsafe {
        let zero = _mm512_setzero_si512();
        let quotient = _mm512_madd52hi_epu64(zero, x, q);
        let low = _mm512_madd52lo_epu64(zero, x, w);
        let r = _mm512_madd52lo_epu64(low, quotient, k.neg_p);
        _mm512_and_si512(r, k.mask)
    }
}

#[inline(always)]
unsafe fn mul_const(k: &Consts, x: __m512i, c: &Shoup) -> __m512i {
    // SAFETY: as in `mul`.
    unsafe { mul(k, x, set1(c.w), set1(c.q)) }
}

/// x mod p, lazy, for any 52-bit x (the product by 1, one multiplication fewer).
#[inline(always)]
unsafe fn reduce(k: &Consts, x: __m512i, one_q: __m512i) -> __m512i {
    // SAFETY: as in `mul`.
    unsafe {
        let quotient = _mm512_madd52hi_epu64(_mm512_setzero_si512(), x, one_q);
        _mm512_and_si512(_mm512_madd52lo_epu64(x, quotient, k.neg_p), k.mask)
    }
}

/// DFT of length 16, decimated in frequency: lazy in, below 32p out, output k at position `REV[k]`.
#[inline(always)]
unsafe fn dft16(k: &Consts, w: &[Shoup; 8], x: &mut [__m512i; 16]) {
    macro_rules! plain {
        ($o:expr, $($a:expr, $b:expr;)*) => {$(
            let (s, t) = (x[$a], x[$b]);
            x[$a] = _mm512_add_epi64(s, t);
            x[$b] = _mm512_sub_epi64(_mm512_add_epi64(s, $o), t);
        )*};
    }
    macro_rules! twisted {
        ($o:expr, $($a:expr, $b:expr, $t:expr;)*) => {$(
            let (s, t) = (x[$a], x[$b]);
            x[$a] = _mm512_add_epi64(s, t);
            let d = _mm512_sub_epi64(_mm512_add_epi64(s, $o), t);
            x[$b] = mul_const(k, d, &w[$t]);
        )*};
    }
    // SAFETY: inlined into functions compiled for AVX-512 IFMA; register arithmetic only.
    unsafe {
        let [o1, o2, o3, o4] = k.offset;
        plain!(o1, 0, 8;);
        twisted!(o1, 1, 9, 1; 2, 10, 2; 3, 11, 3; 4, 12, 4; 5, 13, 5; 6, 14, 6; 7, 15, 7;);
        plain!(o2, 0, 4; 8, 12;);
        twisted!(o2, 1, 5, 2; 2, 6, 4; 3, 7, 6; 9, 13, 2; 10, 14, 4; 11, 15, 6;);
        plain!(o3, 0, 2; 4, 6; 8, 10; 12, 14;);
        twisted!(o3, 1, 3, 4; 5, 7, 4; 9, 11, 4; 13, 15, 4;);
        plain!(o4, 0, 1; 2, 3; 4, 5; 6, 7; 8, 9; 10, 11; 12, 13; 14, 15;);
    }
}

/// Correlations on the axes of 3 and 5 inside each register; returns twice the result, lazy.
///
/// Both kernels K sum to -1. Length 2: `y_f = (a_f - a_{1-f}) K(0) - a_{1-f}`. Length 4 splits into
/// sums and differences of entries two apart; the sums form a length-2 correlation of the same kind
/// with K(0) + K(2), the differences a skew one with K(0) - K(2) and K(1) - K(3).
#[inline(always)]
unsafe fn lanes(k: &Consts, t: &Tables, a: __m512i) -> __m512i {
    // SAFETY: inlined into functions compiled for AVX-512 IFMA; loads from fixed arrays only.
    unsafe {
        let [o1, o2, o3, _] = k.offset;
        let one_q = set1(t.one.q);
        let other = _mm512_shuffle_i64x2::<0b01_00_11_10>(a, a);
        let d = _mm512_sub_epi64(_mm512_add_epi64(a, o1), other);
        let y = mul_const(k, d, &t.three);
        let y = _mm512_sub_epi64(_mm512_add_epi64(y, o1), other); // < 4p
        let opposite = _mm512_permutex_epi64::<0b01_00_11_10>(y);
        let u = _mm512_add_epi64(y, opposite); // < 8p
        let v = _mm512_sub_epi64(_mm512_add_epi64(y, o2), opposite); // < 8p
        let u_next = _mm512_shuffle_epi32::<0b01_00_11_10>(u);
        let v_next = _mm512_shuffle_epi32::<0b01_00_11_10>(v);
        let d = _mm512_sub_epi64(_mm512_add_epi64(u, o3), u_next);
        let even = mul_const(k, d, &t.five_even);
        let even = _mm512_sub_epi64(_mm512_add_epi64(even, o3), u_next); // < 10p
        let w = _mm512_loadu_si512(t.five_odd[0].as_ptr().cast());
        let q = _mm512_loadu_si512(t.five_odd[1].as_ptr().cast());
        let odd = _mm512_add_epi64(mul(k, v, w, q), mul_const(k, v_next, &t.five_swap));
        reduce(k, _mm512_add_epi64(even, odd), one_q)
    }
}

/// The first half of the transform of `16 × 256`, `16 × 1` or `1 × 256` vectors: the axis of 257, of some rows.
///
/// # Safety
/// The processor must have AVX-512 F, DQ and IFMA.
#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
pub(super) unsafe fn rows(m: &Modulus, t: &Tables, rows: &mut [u64]) {
    assert!(rows.len().is_multiple_of(t.cols * 8));
    if t.cols == 256 {
        // SAFETY: the processor has the features.
        let k = unsafe { Consts::new(m) };
        for row in rows.chunks_exact_mut(256 * 8) {
            // SAFETY: `row` has 256 vectors, the tables 256 entries.
            unsafe { axis257(&k, t, row) }
        }
    }
}

/// The second half: the axis of 17 and the lanes.
///
/// # Safety
/// The processor must have AVX-512 F, DQ and IFMA.
#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
pub(super) unsafe fn columns(m: &Modulus, t: &Tables, a: &mut [u64]) {
    assert_eq!(a.len(), t.rows * t.cols * 8);
    let base = a.as_mut_ptr();
    // SAFETY: the processor has the features, and `a` has rows × cols vectors.
    unsafe { axis17_and_lanes(&Consts::new(m), t, t.cols, (base, t.cols), (base, t.cols)) }
}

/// One row: the axis of 257, in three passes through the first-level cache.
#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
unsafe fn axis257(k: &Consts, t: &Tables, row: &mut [u64]) {
    assert!(row.len() == 2048 && t.twiddle.len() == 256 && t.middle257.len() == 256);
    let base = row.as_mut_ptr();
    let w = &t.root16[0];
    // SAFETY: vector index 16 i + j with i, j < 16 is below 256 = the row's vectors; table indices
    // likewise. One exclusive borrow underlies all accesses.
    unsafe {
        let at = |v: usize| base.add(8 * v).cast::<__m512i>();
        let mut x = [_mm512_setzero_si512(); 16];
        for j in 0..16 {
            for (i, x) in x.iter_mut().enumerate() {
                *x = _mm512_loadu_si512(at(16 * i + j));
            }
            dft16(k, w, &mut x);
            let tw = t.twiddle.as_ptr().add(16 * j);
            for i in 0..16 {
                _mm512_storeu_si512(at(16 * i + j), mul_const(k, x[REV[i]], &*tw.add(i)));
            }
        }
        for i in 0..16 {
            for (j, x) in x.iter_mut().enumerate() {
                *x = _mm512_loadu_si512(at(16 * i + j));
            }
            dft16(k, w, &mut x);
            let mid = t.middle257.as_ptr().add(16 * i);
            let mut y = x;
            for j in 0..16 {
                y[j] = mul_const(k, x[REV[j]], &*mid.add(j));
            }
            dft16(k, w, &mut y);
            let tw = t.twiddle.as_ptr().add(16 * i);
            for j in 0..16 {
                _mm512_storeu_si512(at(16 * i + j), mul_const(k, y[REV[j]], &*tw.add(j)));
            }
        }
        let one_q = set1(t.one.q);
        for j in 0..16 {
            for (i, x) in x.iter_mut().enumerate() {
                *x = _mm512_loadu_si512(at(16 * i + j));
            }
            dft16(k, w, &mut x);
            for i in 0..16 {
                _mm512_storeu_si512(at(16 * i + j), reduce(k, x[REV[i]], one_q));
            }
        }
    }
}

/// The second half for the columns from `start` on of the limb `a`, as many as `out` holds, where they are a narrower limb.
///
/// # Safety
/// The processor must have AVX-512 F, DQ and IFMA.
#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
pub(super) unsafe fn some_columns(
    m: &Modulus,
    t: &Tables,
    a: &[u64],
    start: usize,
    out: &mut [u64],
) {
    let width = out.len() / (8 * t.rows);
    assert!(a.len() == t.rows * t.cols * 8 && out.len() == t.rows * width * 8);
    assert!(start + width <= t.cols);
    let (from, to) = (a.as_ptr(), out.as_mut_ptr());
    // SAFETY: the processor has the features; columns start to start + width are within the limb, and those from 0 to width within `out`.
    unsafe {
        let from = (from.add(8 * start), t.cols);
        axis17_and_lanes(&Consts::new(m), t, width, from, (to, width));
    }
}

/// The axis of 17 and the lanes of `count` columns, in registers, from one limb to another or to the same one: each by its first column, and by the number of vectors from
/// row to row.
///
/// # Safety
/// The processor must have AVX-512 F, DQ and IFMA; both must have these columns in all rows, of which those of `to` may be written.
#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
unsafe fn axis17_and_lanes(
    k: &Consts,
    t: &Tables,
    count: usize,
    (from, from_step): (*const u64, usize),
    (to, to_step): (*mut u64, usize),
) {
    // SAFETY: the caller vouches for vector i·step + c with i < rows and c < count.
    unsafe {
        let load = |v: usize| _mm512_loadu_si512(from.add(8 * v).cast());
        let store = |v: usize, x| _mm512_storeu_si512(to.add(8 * v).cast(), x);
        let one_q = set1(t.one.q);
        if t.rows == 1 {
            for c in 0..count {
                store(c, lanes(k, t, load(c)));
            }
            return;
        }
        let mut x = [_mm512_setzero_si512(); 16];
        for c in 0..count {
            for (i, x) in x.iter_mut().enumerate() {
                *x = load(i * from_step + c);
            }
            dft16(k, &t.root16[1], &mut x);
            let mut y = x;
            for j in 0..16 {
                y[j] = mul_const(k, x[REV[j]], &t.middle17[j]);
            }
            dft16(k, &t.root16[1], &mut y);
            for i in 0..16 {
                let z = lanes(k, t, reduce(k, y[REV[i]], one_q));
                store(i * to_step + c, z);
            }
        }
    }
}
