//! Kernels on limbs that are packed in halves, in AVX-512 IFMA.

use super::{Consts, load, set1, store, sub_if_ge};
use crate::modulus::Modulus;
use crate::packed_limbs::Centring;
use core::arch::x86_64::*;

#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
pub(in crate::simd) unsafe fn centred(
    m: &Modulus,
    source: &Modulus,
    halves: &[u64],
    out: &mut [u64],
) {
    let words = halves.len();
    assert!(words.is_multiple_of(8) && out.len() == 2 * words);
    let Centring { half, factor, less } = Centring::new(m, source);
    // SAFETY: v < words/8, and `out` holds twice as many words, which was checked above.
    unsafe {
        let k = Consts::new(m);
        let (w, q, half, less) = (set1(factor.w), set1(factor.q), set1(half), set1(less));
        let mask = set1(u64::from(u32::MAX));
        let (low, high) = (out.as_mut_ptr(), out.as_mut_ptr().add(words));
        for v in 0..words / 8 {
            let h = load(halves.as_ptr().add(8 * v));
            let parts = [_mm512_and_si512(h, mask), _mm512_srli_epi64::<32>(h)];
            for (y, o) in parts.into_iter().zip([low, high]) {
                let x = k.shoup(y, w, q);
                let above = _mm512_cmpgt_epu64_mask(y, half);
                let x = _mm512_mask_add_epi64(x, above, x, less);
                store(o.add(8 * v), sub_if_ge(x, k.p2));
            }
        }
    }
}

#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
pub(in crate::simd) unsafe fn dot_halves(
    m: &Modulus,
    terms: &[[&[u64]; 2]],
    add: bool,
    out: &mut [u64],
) {
    let words = out.len() / 2;
    assert!(words.is_multiple_of(8) && out.len() == 2 * words);
    assert!(
        terms
            .iter()
            .all(|[x, h]| x.len() == out.len() && h.len() == words)
    );
    let keep = if add { u64::MAX } else { 0 };
    // SAFETY: v < words/8; lengths were checked above.
    unsafe {
        let k = Consts::new(m);
        let (zero, keep) = (_mm512_setzero_si512(), set1(keep));
        let mask = set1(u64::from(u32::MAX));
        let (low, high) = (out.as_mut_ptr(), out.as_mut_ptr().add(words));
        for v in 0..words / 8 {
            let mut lo = [k.start(); 2];
            let mut hi = [zero; 2];
            for [x, h] in terms {
                let h = load(h.as_ptr().add(8 * v));
                let parts = [_mm512_and_si512(h, mask), _mm512_srli_epi64::<32>(h)];
                for (i, y) in parts.into_iter().enumerate() {
                    let x = load(x.as_ptr().add(i * words + 8 * v));
                    lo[i] = _mm512_madd52lo_epu64(lo[i], x, y);
                    hi[i] = _mm512_madd52hi_epu64(hi[i], x, y);
                }
            }
            for (i, o) in [low, high].into_iter().enumerate() {
                let sum = k.reduce_sum(lo[i], hi[i]);
                let o = o.add(8 * v);
                let sum = _mm512_add_epi64(sum, _mm512_and_si512(load(o), keep));
                store(o, sub_if_ge(sum, k.p2));
            }
        }
    }
}
