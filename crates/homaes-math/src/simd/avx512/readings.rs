//! Readings of slots: sums over rows, and residues on the torus.

use super::{Consts, VectorMap, load, set1, store, sub_if_ge};
use crate::modulus::Modulus;
use crate::ring::{GaloisMap, Ring};
use core::arch::x86_64::*;

/// Columns whose key words stay in the first cache while all maps use them: sixteen rows of both keys are 32 KiB.
const COLUMNS: usize = 16;
/// Columns at once, so that their sums do not wait for each other.
const PAIR: usize = 2;

#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
pub(in crate::simd) unsafe fn row_sums(
    ring: &Ring,
    m: &Modulus,
    x: &[u64],
    keys: [&[u64]; 2],
    maps: &[&GaloisMap],
    out: &mut [[&mut [u64]; 2]],
) {
    let (n, cols) = (ring.n(), ring.cols());
    assert!(ring.lanes() == 8 && ring.rows() == 1 && n == 8 * cols);
    assert!(x.len().is_multiple_of(n) && keys.iter().all(|k| k.len() == x.len()));
    assert!(maps.len() == out.len() && out.iter().flatten().all(|o| o.len() == n));
    let (rows, keys) = (x.len() / n, keys.map(<[u64]>::as_ptr));
    // SAFETY: row < rows and columns are below cols, so every access lies within the slices whose lengths have been
    // checked; the outputs are exclusive borrows.
    unsafe {
        let k = Consts::new(m);
        let p = set1(m.p());
        let maps: Vec<VectorMap> = maps.iter().map(|map| VectorMap::new(map)).collect();
        for first in (0..cols).step_by(COLUMNS) {
            for (map, out) in maps.iter().zip(&mut *out) {
                let out = out.each_mut().map(|o| o.as_mut_ptr());
                for col in (first..cols.min(first + COLUMNS)).step_by(PAIR) {
                    // a single last column is done twice
                    let here: [usize; PAIR] = core::array::from_fn(|i| (col + i).min(cols - 1));
                    let from = here.map(|col| map.column(col, cols));
                    let zero = _mm512_setzero_si512();
                    let (mut lo, mut hi) = ([[k.start(); PAIR]; 2], [[zero; PAIR]; 2]);
                    for row in 0..rows {
                        for i in 0..PAIR {
                            let x = map.load(x.as_ptr().add(row * n + from[i]));
                            for c in 0..2 {
                                let y = load(keys[c].add(row * n + 8 * here[i]));
                                lo[c][i] = _mm512_madd52lo_epu64(lo[c][i], x, y);
                                hi[c][i] = _mm512_madd52hi_epu64(hi[c][i], x, y);
                            }
                        }
                    }
                    for c in 0..2 {
                        for i in 0..PAIR {
                            let r = k.reduce_sum(lo[c][i], hi[c][i]);
                            store(out[c].add(8 * here[i]), sub_if_ge(r, p));
                        }
                    }
                }
            }
        }
    }
}

#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
pub(in crate::simd) unsafe fn to_torus(
    m: &Modulus,
    x: &[u64],
    [shift, factor]: [u64; 2],
    out: &mut [u64],
) {
    assert!(x.len() == out.len() && x.len().is_multiple_of(8));
    // SAFETY: every access lies within the slices, whose lengths have been checked.
    unsafe {
        let (p, p2) = (set1(m.p()), set1(2 * m.p()));
        let (shift, factor) = (set1(shift), set1(factor));
        let (half, zero) = (set1(1 << 12), _mm512_setzero_si512());
        for at in (0..x.len()).step_by(8) {
            let x = sub_if_ge(sub_if_ge(load(x.as_ptr().add(at)), p2), p);
            let high = _mm512_madd52hi_epu64(zero, _mm512_sllv_epi64(x, shift), factor);
            let torus = _mm512_or_si512(_mm512_slli_epi64::<13>(high), half);
            store(out.as_mut_ptr().add(at), torus);
        }
    }
}
