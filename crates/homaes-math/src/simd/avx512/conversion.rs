//! Conversions between bases in AVX-512 IFMA: sums of words times constants, and their quotients.

use super::{Consts, load, set1, store};
use crate::float_lanes::array;
use crate::kernel::{self, Combination, LIMB_BITS, LIMB_MASK};
use core::arch::x86_64::*;

#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
pub(in crate::simd) unsafe fn limb_sums(
    y: &[&[u64]],
    constants: &[Vec<u64>],
    out: &mut [&mut [u64]],
) {
    /// Limbs whose sums are in registers.
    const AT_ONCE: usize = 8;
    let (len, limbs) = (out[0].len(), constants.first().map_or(0, Vec::len));
    assert!(len.is_multiple_of(8) && out.iter().all(|o| o.len() == len));
    assert!(y.iter().all(|y| y.len() == len) && y.len() == constants.len());
    assert!(constants.iter().all(|c| c.len() == limbs) && limbs <= out.len());
    // SAFETY: at < len, and k below the number of limbs of constants or of outputs, which were checked above.
    unsafe {
        let (zero, mask) = (_mm512_setzero_si512(), set1(LIMB_MASK));
        for at in (0..len).step_by(8) {
            let mut carried = zero;
            for first in (0..out.len()).step_by(AT_ONCE) {
                let (mut lo, mut hi) = ([zero; AT_ONCE], [zero; AT_ONCE]);
                let own = limbs.saturating_sub(first).min(AT_ONCE);
                if own == AT_ONCE {
                    for (y, c) in y.iter().zip(constants) {
                        let y = load(y.as_ptr().add(at));
                        for k in 0..AT_ONCE {
                            let c = set1(*c.get_unchecked(first + k));
                            lo[k] = _mm512_madd52lo_epu64(lo[k], y, c);
                            hi[k] = _mm512_madd52hi_epu64(hi[k], y, c);
                        }
                    }
                } else {
                    for (y, c) in y.iter().zip(constants) {
                        let y = load(y.as_ptr().add(at));
                        for k in 0..own {
                            let c = set1(*c.get_unchecked(first + k));
                            lo[k] = _mm512_madd52lo_epu64(lo[k], y, c);
                            hi[k] = _mm512_madd52hi_epu64(hi[k], y, c);
                        }
                    }
                }
                for (k, out) in out[first..].iter_mut().take(AT_ONCE).enumerate() {
                    // below 2^60: 64 words of 52 bits, and what is carried, 64 of 40 bits times 2^6
                    let sum = _mm512_add_epi64(lo[k], carried);
                    store(out.as_mut_ptr().add(at), _mm512_and_si512(sum, mask));
                    carried = _mm512_add_epi64(
                        _mm512_srli_epi64::<LIMB_BITS>(sum),
                        _mm512_slli_epi64::<{ 52 - LIMB_BITS }>(hi[k]),
                    );
                }
            }
        }
    }
}

/// Combinations whose sums are in registers.
const TARGETS: usize = 4;

#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
pub(in crate::simd) unsafe fn combine(
    combinations: &[Combination<'_>],
    sources: &[&[u64]],
    out: &mut [&mut [u64]],
) {
    let len = kernel::check_combine(combinations, sources, out);
    assert!(len.is_multiple_of(8));
    let all = combinations.chunks(TARGETS).zip(out.chunks_mut(TARGETS));
    for (combinations, out) in all {
        // SAFETY: the processor has the features, and lengths were checked above; a chunk has one to four entries.
        unsafe {
            match combinations.len() {
                1 => combine_of::<1, 4>(combinations, sources, out),
                2 => combine_of::<2, 2>(combinations, sources, out),
                3 => combine_of::<3, 2>(combinations, sources, out),
                _ => combine_of::<TARGETS, 2>(combinations, sources, out),
            }
        }
    }
}

/// [`combine`] of G combinations, W vectors at a time: all sums of these stay in registers.
///
/// # Safety
/// The processor must have AVX-512 F, DQ and IFMA. There must be G combinations and outputs, with a constant per
/// source, and all slices must have one length, a multiple of 8.
#[inline]
#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
unsafe fn combine_of<const G: usize, const W: usize>(
    combinations: &[Combination<'_>],
    sources: &[&[u64]],
    out: &mut [&mut [u64]],
) {
    // SAFETY: `v + i` stays below a length that the caller vouches for, and so for the constants.
    unsafe {
        let k: [Consts; G] = array!(G, Consts::new(combinations[0].modulus), |g| Consts::new(
            combinations[g].modulus
        ));
        let out: [*mut u64; G] = array!(G, out[0].as_mut_ptr(), |g| out[g].as_mut_ptr());
        let zero = _mm512_setzero_si512();
        let vectors = sources.first().map_or(0, |s| s.len()) / 8;
        let tiles = vectors / W * W;
        for v in (0..tiles).step_by(W) {
            let (mut lo, mut hi) = ([[k[0].start(); W]; G], [[zero; W]; G]);
            for (at, s) in sources.iter().enumerate() {
                let x = array!(W, zero, |i| load(s.as_ptr().add(8 * (v + i))));
                for g in 0..G {
                    let c = set1(*combinations.get_unchecked(g).constants.get_unchecked(at));
                    for i in 0..W {
                        lo[g][i] = _mm512_madd52lo_epu64(lo[g][i], x[i], c);
                        hi[g][i] = _mm512_madd52hi_epu64(hi[g][i], x[i], c);
                    }
                }
            }
            for g in 0..G {
                for i in 0..W {
                    store(out[g].add(8 * (v + i)), k[g].reduce(lo[g][i], hi[g][i]));
                }
            }
        }
        for v in tiles..vectors {
            for g in 0..G {
                let (mut lo, mut hi) = (k[g].start(), zero);
                for (s, &c) in sources.iter().zip(combinations[g].constants) {
                    let x = load(s.as_ptr().add(8 * v));
                    lo = _mm512_madd52lo_epu64(lo, x, set1(c));
                    hi = _mm512_madd52hi_epu64(hi, x, set1(c));
                }
                store(out[g].add(8 * v), k[g].reduce(lo, hi));
            }
        }
    }
}

#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
pub(in crate::simd) unsafe fn quotient(sources: &[&[u64]], inverses: &[f64], out: &mut [u64]) {
    let n = out.len();
    assert!(n.is_multiple_of(8) && sources.len() == inverses.len());
    assert!(sources.iter().all(|s| s.len() == n));
    // SAFETY: v < n/8; lengths were checked above.
    unsafe {
        for v in 0..n / 8 {
            let mut sum = _mm512_set1_pd(0.5);
            for (s, &inv) in sources.iter().zip(inverses) {
                let x = _mm512_cvtepu64_pd(load(s.as_ptr().add(8 * v)));
                // product and sum rounded apart, as the portable twin does
                sum = _mm512_add_pd(sum, _mm512_mul_pd(x, _mm512_set1_pd(inv)));
            }
            store(out.as_mut_ptr().add(8 * v), _mm512_cvttpd_epu64(sum));
        }
    }
}
