//! Key switching of a product in AVX-512 IFMA: a few columns of all digits go through their last axes to the
//! second-level cache, and from there into the sums, row by row.

use super::ntt::{self, Tables};
use super::{AHEAD, Consts, VectorMap, load, set1, store, stream, stream_key};
use crate::aligned::Words;
use crate::float_lanes::array;
use crate::kernel::Tensor;
use crate::modulus::{Modulus, Shoup};
use crate::product::{Factor, OUTPUTS_AT_ONCE, ProductSums};
use crate::ring::Ring;
use core::arch::x86_64::*;

/// Columns at a time. One row of them has 2 KiB of every limb, which the processor prefetches; those of two products
/// of six digits each are 400 kB.
const COLUMNS: usize = 32;

/// Both halves of two sums of products.
#[derive(Clone, Copy)]
struct Sums {
    lo: [__m512i; 2],
    hi: [__m512i; 2],
}

impl Sums {
    #[inline(always)]
    unsafe fn new(k: &Consts) -> Self {
        Self {
            lo: [k.start(); 2],
            // SAFETY: inlined into functions compiled for AVX-512.
            hi: [unsafe { _mm512_setzero_si512() }; 2],
        }
    }

    #[inline(always)]
    unsafe fn add(&mut self, c: usize, x: __m512i, y: __m512i) {
        // SAFETY: inlined into functions compiled for AVX-512 IFMA; register arithmetic only.
        unsafe {
            self.lo[c] = _mm512_madd52lo_epu64(self.lo[c], x, y);
            self.hi[c] = _mm512_madd52hi_epu64(self.hi[c], x, y);
        }
    }
}

#[target_feature(enable = "avx512f,avx512dq,avx512ifma,avx512vbmi")]
pub(in crate::simd) unsafe fn product_sums(
    ring: &Ring,
    m: &Modulus,
    t: &Tables,
    sums: &ProductSums<'_>,
    digits: &mut [Vec<&mut [u64]>],
    out: &mut [[&mut [u64]; 2]],
) {
    let (mut digits, mut out, mut tensors) = (digits, out, sums.tensors);
    assert!(digits.len() == out.len());
    while !out.is_empty() {
        let count = out.len().min(OUTPUTS_AT_ONCE);
        let (some_digits, more_digits) = digits.split_at_mut(count);
        let (some_out, more_out) = out.split_at_mut(count);
        let (some_tensors, more_tensors) = tensors.split_at(count.min(tensors.len()));
        let sums = ProductSums {
            tensors: some_tensors,
            ..*sums
        };
        // SAFETY: the processor has the features.
        unsafe {
            match count {
                1 => product_sums_of::<1>(ring, m, t, &sums, some_digits, some_out),
                _ => product_sums_of::<OUTPUTS_AT_ONCE>(ring, m, t, &sums, some_digits, some_out),
            }
        }
        (digits, out, tensors) = (more_digits, more_out, more_tensors);
    }
}

/// [`product_sums`] of J outputs, whose sums are in registers.
#[target_feature(enable = "avx512f,avx512dq,avx512ifma,avx512vbmi")]
unsafe fn product_sums_of<const J: usize>(
    ring: &Ring,
    m: &Modulus,
    t: &Tables,
    sums: &ProductSums<'_>,
    digits: &mut [Vec<&mut [u64]>],
    out: &mut [[&mut [u64]; 2]],
) {
    let (rows, cols) = (ring.rows(), ring.cols());
    let (lines, line_cols) = (ring.lines(), ring.line_cols());
    let n = rows * cols * 8;
    let fit = |limb: &[u64]| limb.len() == n;
    let count = digits.first().map_or(0, Vec::len);
    assert!(ring.lanes() == 8 && digits.len() == J && out.len() == J);
    assert!(out.iter().flatten().all(|o| fit(o)));
    for digits in &*digits {
        assert!(digits.len() == count && digits.iter().all(|d| fit(d)));
    }
    assert!(
        sums.terms
            .iter()
            .all(|(_, key)| key.iter().all(|k| k.len() == n))
    );
    for t in sums.tensors {
        assert!(t.x.iter().chain(&t.y).all(|s| fit(s)) && sums.by_row.len() == rows);
    }
    assert!(sums.tensors.is_empty() || sums.tensors.len() == J);
    // plain constants: the sum's reduction removes a factor R, so x·y needs no reduction of its own
    let by_row = sums.by_row.iter().map(|&c| m.shoup(m.from_stored(c)));
    let by_row: Vec<Shoup> = by_row.collect();
    let width = COLUMNS.min(line_cols);
    assert!(line_cols.is_multiple_of(width));
    let len = rows * width * 8;
    let mut moved = Words::scratch(J * count * len);
    let out: [[*mut u64; 2]; J] =
        core::array::from_fn(|j| out[j].each_mut().map(|o| o.as_mut_ptr()));
    // SAFETY: column < cols and row < rows keep every access within the n words of a limb, as checked; `moved` has
    // len words per digit of an output, and `from` asserts that digits exist. The outputs are exclusive borrows.
    unsafe {
        let k = Consts::new(m);
        let tensors = sums.tensors.iter().map(|t| (t, VectorMap::new(t.map)));
        let tensors: Vec<(&Tensor<'_>, VectorMap)> = tensors.collect();
        for start in (0..cols).step_by(width) {
            for (digit, moved) in digits.iter().flatten().zip(moved.chunks_exact_mut(len)) {
                ntt::some_columns(m, t, digit, start, moved);
            }
            for row in 0..rows {
                let from = |output: usize, number: usize| {
                    assert!(number < count);
                    let digit = output * count + number;
                    moved.as_ptr().add(digit * len + row * width * 8)
                };
                let line = (row * cols + start) * 8;
                let (half, first) = (start / line_cols, start % line_cols);
                let source = row * ring.halves() + half;
                let by_row = by_row.get(row).copied().unwrap_or_default();
                for column in 0..width {
                    let here = line + 8 * column;
                    let mut sum = array!(J, Sums::new(&k), |_j| Sums::new(&k));
                    let mut parts = [[_mm512_setzero_si512(); 2]; J];
                    for (j, (t, map)) in tensors.iter().enumerate().take(J) {
                        let at = map.line(source, lines, line_cols)
                            + map.column(first + column, line_cols);
                        let x = t.x.map(|x| stream::<AHEAD>(x.as_ptr().add(here)));
                        let y =
                            t.y.map(|y| map.permuted(stream::<AHEAD>(y.as_ptr().add(at))));
                        let y0 = k.shoup(y[0], set1(by_row.w), set1(by_row.q));
                        sum[j].add(0, x[0], y0);
                        sum[j].add(1, x[1], y0);
                        let y1 = k.shoup(y[1], set1(t.scale.w), set1(t.scale.q));
                        parts[j] = x.map(|x| k.mul(x, y1));
                    }
                    for &(factor, key) in sums.terms {
                        let key = key.map(|key| stream_key::<AHEAD>(key.as_ptr(), here));
                        for j in 0..J {
                            let x = match factor {
                                Factor::Digit(number) => load(from(j, number).add(8 * column)),
                                Factor::Third => parts[j][0],
                                Factor::Fourth => parts[j][1],
                            };
                            sum[j].add(0, x, key[0]);
                            sum[j].add(1, x, key[1]);
                        }
                    }
                    for (sum, out) in sum.iter().zip(out) {
                        for (c, out) in out.into_iter().enumerate() {
                            let r = k.reduce_sum(sum.lo[c], sum.hi[c]);
                            store(out.add(here), r);
                        }
                    }
                }
            }
        }
    }
}
