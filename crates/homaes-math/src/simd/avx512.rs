//! Element-wise and multiply-accumulate kernels in AVX-512 IFMA.
//!
//! Unsafe functions, here and in the modules below, require a processor with the features that they enable.

pub(super) mod conversion;
pub(super) mod ntt;
pub(super) mod packed_limbs;
pub(super) mod product_sums;
pub(super) mod readings;

use crate::kernel::{self, RowTerm, Tensor, Term};
use crate::key_limb::{self, KeyLimb};
use crate::modulus::{MASK, Modulus, Shoup};
use crate::ring::{GaloisMap, Ring};
use core::arch::x86_64::*;

#[inline(always)]
pub(super) unsafe fn set1(x: u64) -> __m512i {
    // SAFETY: inlined into functions compiled for AVX-512.
    unsafe { _mm512_set1_epi64(x as i64) }
}

#[inline(always)]
pub(super) unsafe fn load(p: *const u64) -> __m512i {
    // SAFETY: the caller passes a pointer to eight readable words.
    unsafe { _mm512_loadu_si512(p.cast()) }
}

/// Loads a vector of a stream, and prefetches the one `AHEAD` words later.
#[inline(always)]
pub(super) unsafe fn stream<const AHEAD: usize>(p: *const u64) -> __m512i {
    // SAFETY: the caller passes a pointer to eight readable words; a prefetch may go anywhere.
    unsafe {
        _mm_prefetch::<_MM_HINT_T0>(p.wrapping_add(AHEAD).cast());
        load(p)
    }
}

/// Loads the eight words of a key from the `at`-th on, and prefetches those `AHEAD` words later.
#[inline(always)]
pub(super) unsafe fn stream_key<const AHEAD: usize>(p: *const u8, at: usize) -> __m512i {
    // six bytes per word; the two others are zeros
    const LINE: [u8; 64] = {
        let mut line = [0; 64];
        let mut i = 0;
        while i < 64 {
            line[i] = (i / 8 * key_limb::BYTES + i % 8) as u8;
            i += 1;
        }
        line
    };
    // SAFETY: inlined into functions compiled for AVX-512 VBMI. The caller passes the bytes of a limb with eight
    // words from the `at`-th on: a register of bytes can be read there (`KeyLimb::as_ptr`). A prefetch may go
    // anywhere.
    unsafe {
        let p = p.add(key_limb::BYTES * at);
        _mm_prefetch::<_MM_HINT_T0>(p.wrapping_add(key_limb::BYTES * AHEAD).cast());
        let bytes = _mm512_loadu_si512(p.cast());
        let places = _mm512_loadu_si512(LINE.as_ptr().cast());
        _mm512_maskz_permutexvar_epi8(0x3f3f_3f3f_3f3f_3f3f, places, bytes)
    }
}

#[inline(always)]
pub(super) unsafe fn store(p: *mut u64, x: __m512i) {
    // SAFETY: the caller passes a pointer to eight writable words.
    unsafe { _mm512_storeu_si512(p.cast(), x) }
}

/// Reduction constants of one modulus in registers.
#[derive(Clone, Copy)]
pub(super) struct Consts {
    p: __m512i,
    pub(super) p2: __m512i,
    p4: __m512i,
    neg_p: __m512i,
    neg_inv: __m512i,
    mask: __m512i,
}

impl Consts {
    #[inline(always)]
    pub(super) unsafe fn new(m: &Modulus) -> Self {
        let p = m.p();
        // SAFETY: inlined into functions compiled for AVX-512.
        unsafe {
            Self {
                p: set1(p),
                p2: set1(2 * p),
                p4: set1(4 * p),
                neg_p: set1((1 << 52) - p),
                neg_inv: set1(m.neg_inv()),
                mask: set1(MASK),
            }
        }
    }

    /// x·c mod p, lazy, for any 52-bit x.
    #[inline(always)]
    pub(super) unsafe fn shoup(&self, x: __m512i, w: __m512i, q: __m512i) -> __m512i {
        // SAFETY: inlined into functions compiled for AVX-512 IFMA; register arithmetic only.
        unsafe {
            let zero = _mm512_setzero_si512();
            let quotient = _mm512_madd52hi_epu64(zero, x, q);
            let low = _mm512_madd52lo_epu64(zero, x, w);
            _mm512_and_si512(_mm512_madd52lo_epu64(low, quotient, self.neg_p), self.mask)
        }
    }

    /// Montgomery reduction of `hi·2^52 + lo`, for `lo` plus [`start`](Self::start).
    ///
    /// The low word of `lo + m·p` is zero and carries `lo`/2^52 rounded up: 2^52 - 1 more in `lo` saves a product.
    #[inline(always)]
    pub(super) unsafe fn reduce(&self, lo: __m512i, hi: __m512i) -> __m512i {
        // SAFETY: as in `shoup`.
        unsafe {
            // lo is short of its value modulo 2^52 by 1
            let m = _mm512_madd52lo_epu64(self.neg_inv, lo, self.neg_inv);
            let hi = _mm512_madd52hi_epu64(hi, m, self.p);
            _mm512_add_epi64(hi, _mm512_srli_epi64::<52>(lo))
        }
    }

    /// [`reduce`](Self::reduce) of a sum of at most 48 products, lazy.
    #[inline(always)]
    pub(super) unsafe fn reduce_sum(&self, lo: __m512i, hi: __m512i) -> __m512i {
        // SAFETY: as in `shoup`.
        unsafe { sub_if_ge(sub_if_ge(self.reduce(lo, hi), self.p4), self.p2) }
    }

    /// Start of sums of low words that [`reduce`](Self::reduce) ends: 2^52 - 1.
    #[inline(always)]
    pub(super) fn start(&self) -> __m512i {
        self.mask
    }

    /// x·y·2^-52 mod p, lazy, for lazy x and y.
    #[inline(always)]
    pub(super) unsafe fn mul(&self, x: __m512i, y: __m512i) -> __m512i {
        // SAFETY: as in `shoup`.
        unsafe {
            self.reduce(
                _mm512_madd52lo_epu64(self.start(), x, y),
                _mm512_madd52hi_epu64(_mm512_setzero_si512(), x, y),
            )
        }
    }
}

/// x - bound if that is not negative.
#[inline(always)]
pub(super) unsafe fn sub_if_ge(x: __m512i, bound: __m512i) -> __m512i {
    // SAFETY: inlined into functions compiled for AVX-512.
    unsafe { _mm512_min_epu64(x, _mm512_sub_epi64(x, bound)) }
}

/// An automorphism as the vector kernels read it.
#[derive(Clone, Copy)]
pub(super) struct VectorMap {
    line_shift: usize,
    col_shift: usize,
    lanes: __m512i,
}

impl VectorMap {
    #[inline(always)]
    pub(super) unsafe fn new(map: &GaloisMap) -> Self {
        Self {
            line_shift: map.line_shift,
            col_shift: map.col_shift,
            // SAFETY: eight words are read from an array of eight.
            lanes: unsafe { load(map.lane_source.as_ptr()) },
        }
    }

    /// First word of the source line of `line`; `lines` and `cols` are powers of two.
    #[inline(always)]
    pub(super) fn line(&self, line: usize, lines: usize, cols: usize) -> usize {
        ((line + self.line_shift) & (lines - 1)) * cols * 8
    }

    /// First word within the source line for column `col`.
    #[inline(always)]
    pub(super) fn column(&self, col: usize, cols: usize) -> usize {
        ((col + self.col_shift) & (cols - 1)) * 8
    }

    /// The source vector at `p` with its lanes permuted.
    #[inline(always)]
    pub(super) unsafe fn load(&self, p: *const u64) -> __m512i {
        // SAFETY: the caller passes a pointer to eight readable words.
        unsafe { self.permuted(load(p)) }
    }

    #[inline(always)]
    pub(super) unsafe fn permuted(&self, x: __m512i) -> __m512i {
        // SAFETY: inlined into functions compiled for AVX-512.
        unsafe { _mm512_permutexvar_epi64(self.lanes, x) }
    }
}

crate::simd::double::compiled::twins!("avx512f,avx512dq,avx512ifma");

/// Prefetch distance in words, for limbs read from one end to the other.
pub(super) const AHEAD: usize = 8 * 8;

/// A term with the pointers of one group of `J` outputs.
struct Pointers<const J: usize> {
    map: VectorMap,
    sources: [*const u64; J],
    key: [*const u8; 2],
}

struct RowPointers<'a, const J: usize> {
    map: VectorMap,
    sources: [*const u64; J],
    by_row: &'a [u64],
    second: bool,
}

#[target_feature(enable = "avx512f,avx512dq,avx512ifma,avx512vbmi")]
pub(super) unsafe fn inner_product(
    ring: &Ring,
    m: &Modulus,
    terms: &[Term<'_>],
    rows: &[RowTerm<'_>],
    out: &mut [[&mut [u64]; 2]],
) {
    kernel::check_inner_product(ring, terms, rows, out);
    assert!(ring.lanes() == 8);
    let outputs = out.len();
    let mut first = 0;
    // SAFETY: all lengths were checked above; every group lies within the outputs.
    unsafe {
        while first < outputs {
            first += match kernel::sharing(outputs - first) {
                1 => inner_product_group::<1>(ring, m, terms, rows, out, first),
                2 => inner_product_group::<2>(ring, m, terms, rows, out, first),
                _ => inner_product_group::<4>(ring, m, terms, rows, out, first),
            };
        }
    }
}

/// The outputs `first .. first + J`; returns J. All 4 J accumulators stay in registers over the terms.
#[target_feature(enable = "avx512f,avx512dq,avx512ifma,avx512vbmi")]
unsafe fn inner_product_group<const J: usize>(
    ring: &Ring,
    m: &Modulus,
    terms: &[Term<'_>],
    rows: &[RowTerm<'_>],
    out: &mut [[&mut [u64]; 2]],
    first: usize,
) -> usize {
    let (lines, cols) = (ring.lines(), ring.line_cols());
    let outs: [[*mut u64; 2]; J] =
        core::array::from_fn(|j| out[first + j].each_mut().map(|o| o.as_mut_ptr()));
    // SAFETY: line < lines and col < cols, so every access lies within the n words whose presence
    // the caller checked; the outputs are exclusive borrows.
    unsafe {
        let terms: Vec<Pointers<J>> = terms
            .iter()
            .map(|t| Pointers {
                map: VectorMap::new(t.map),
                sources: core::array::from_fn(|j| t.sources[first + j].as_ptr()),
                key: t.key.map(KeyLimb::as_ptr),
            })
            .collect();
        let row_terms: Vec<RowPointers<'_, J>> = rows
            .iter()
            .map(|t| RowPointers {
                map: VectorMap::new(t.map),
                sources: core::array::from_fn(|j| t.sources[first + j].as_ptr()),
                by_row: t.by_row,
                second: t.second,
            })
            .collect();
        let k = Consts::new(m);
        let zero = _mm512_setzero_si512();
        for line in 0..lines {
            let row = line / ring.halves();
            for col in 0..cols {
                let here = (line * cols + col) * 8;
                let mut lo = [[k.start(); J]; 2];
                let mut hi = [[zero; J]; 2];
                for t in &terms {
                    let at = t.map.line(line, lines, cols) + t.map.column(col, cols);
                    // prefetched: more streams than the hardware follows
                    let [y0, y1] = t.key.map(|key| stream_key::<AHEAD>(key, here));
                    for j in 0..J {
                        let x = t.map.permuted(stream::<AHEAD>(t.sources[j].add(at)));
                        lo[0][j] = _mm512_madd52lo_epu64(lo[0][j], x, y0);
                        hi[0][j] = _mm512_madd52hi_epu64(hi[0][j], x, y0);
                        lo[1][j] = _mm512_madd52lo_epu64(lo[1][j], x, y1);
                        hi[1][j] = _mm512_madd52hi_epu64(hi[1][j], x, y1);
                    }
                }
                for t in &row_terms {
                    let at = t.map.line(line, lines, cols) + t.map.column(col, cols);
                    let y = set1(*t.by_row.get_unchecked(row));
                    for j in 0..J {
                        let x = t.map.load(t.sources[j].add(at));
                        // spelled out: an index by `second` would push the accumulators to memory
                        if t.second {
                            lo[1][j] = _mm512_madd52lo_epu64(lo[1][j], x, y);
                            hi[1][j] = _mm512_madd52hi_epu64(hi[1][j], x, y);
                        } else {
                            lo[0][j] = _mm512_madd52lo_epu64(lo[0][j], x, y);
                            hi[0][j] = _mm512_madd52hi_epu64(hi[0][j], x, y);
                        }
                    }
                }
                for (j, out) in outs.iter().enumerate() {
                    for c in 0..2 {
                        let r = k.reduce_sum(lo[c][j], hi[c][j]);
                        store(out[c].add(here), r);
                    }
                }
            }
        }
    }
    J
}

#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
pub(super) unsafe fn tensor(ring: &Ring, m: &Modulus, t: &Tensor<'_>, mut out: [&mut [u64]; 4]) {
    let n = ring.n();
    assert!(t.x.iter().chain(&t.y).all(|s| s.len() == n) && out.iter().all(|o| o.len() == n));
    assert!(ring.lanes() == 8);
    let (lines, cols) = (ring.lines(), ring.line_cols());
    let out = out.each_mut().map(|o| o.as_mut_ptr());
    // SAFETY: line < lines and col < cols keep every access within the n words checked above.
    unsafe {
        let k = Consts::new(m);
        let map = VectorMap::new(t.map);
        let (w, q) = (set1(t.scale.w), set1(t.scale.q));
        for line in 0..lines {
            for col in 0..cols {
                let here = (line * cols + col) * 8;
                let at = map.line(line, lines, cols) + map.column(col, cols);
                let x = t.x.map(|x| load(x.as_ptr().add(here)));
                let y = t.y.map(|y| map.load(y.as_ptr().add(at)));
                let y1 = k.shoup(y[1], w, q);
                for (i, y) in [y[0], y1].into_iter().enumerate() {
                    store(out[2 * i].add(here), k.mul(x[0], y));
                    store(out[2 * i + 1].add(here), k.mul(x[1], y));
                }
            }
        }
    }
}

/// The component of a product under s_part·σ(s), for (1, s)_part, vector by vector.
pub(super) struct TensorPart<'a> {
    x: &'a [u64],
    y: &'a [u64],
    map: VectorMap,
    scale: [__m512i; 2],
    k: Consts,
    lines: usize,
    cols: usize,
}

impl<'a> TensorPart<'a> {
    /// The factors' limbs have `lines` times `cols` vectors.
    ///
    /// # Safety
    /// To be inlined into functions compiled for AVX-512 IFMA.
    #[inline(always)]
    pub(super) unsafe fn new(
        m: &Modulus,
        t: &Tensor<'a>,
        part: usize,
        (lines, cols): (usize, usize),
    ) -> Self {
        let (x, y) = (t.x[part], t.y[1]);
        assert!(x.len() == 8 * lines * cols && y.len() == x.len());
        // SAFETY: as the caller vouches.
        unsafe {
            Self {
                x,
                y,
                map: VectorMap::new(t.map),
                scale: [set1(t.scale.w), set1(t.scale.q)],
                k: Consts::new(m),
                lines,
                cols,
            }
        }
    }

    /// Vector v, lazy; both factors are fetched `AHEAD` words ahead.
    ///
    /// # Safety
    /// As of [`new`](Self::new), and v must be below lines × cols.
    #[inline(always)]
    pub(super) unsafe fn vector<const AHEAD: usize>(&self, v: usize) -> __m512i {
        let (lines, cols) = (self.lines, self.cols);
        let at = self.map.line(v / cols, lines, cols) + self.map.column(v % cols, cols);
        // SAFETY: as the caller vouches; both limbs have that many vectors.
        unsafe {
            let y = self.map.permuted(stream::<AHEAD>(self.y.as_ptr().add(at)));
            let y = self.k.shoup(y, self.scale[0], self.scale[1]);
            self.k.mul(stream::<AHEAD>(self.x.as_ptr().add(8 * v)), y)
        }
    }
}

#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
pub(super) unsafe fn tensor_part(
    ring: &Ring,
    m: &Modulus,
    t: &Tensor<'_>,
    part: usize,
    out: &mut [u64],
) {
    let (lines, cols) = (ring.lines(), ring.line_cols());
    assert!(ring.lanes() == 8 && out.len() == 8 * lines * cols);
    // SAFETY: the processor has the features, and v < lines · cols.
    unsafe {
        let part = TensorPart::new(m, t, part, (lines, cols));
        for v in 0..lines * cols {
            store(out.as_mut_ptr().add(8 * v), part.vector::<AHEAD>(v));
        }
    }
}

#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
pub(super) unsafe fn product(
    m: &Modulus,
    [x, y]: [[&[u64]; 2]; 2],
    c: Shoup,
    out: [&mut [u64]; 3],
) {
    let n = x[0].len();
    assert!(n.is_multiple_of(8) && x.iter().chain(&y).all(|s| s.len() == n));
    assert!(out.iter().all(|o| o.len() == n));
    let out = out.map(|o| o.as_mut_ptr());
    // SAFETY: v stays below n/8; lengths were checked above.
    unsafe {
        let k = Consts::new(m);
        let zero = _mm512_setzero_si512();
        let (w, q) = (set1(c.w), set1(c.q));
        for v in 0..n / 8 {
            let [[x0, x1], [y0, y1]] = [x, y].map(|f| f.map(|s| load(s.as_ptr().add(8 * v))));
            store(out[0].add(8 * v), k.mul(x0, y0));
            let (lo, hi) = (
                _mm512_madd52lo_epu64(k.start(), x0, y1),
                _mm512_madd52hi_epu64(zero, x0, y1),
            );
            let (lo, hi) = (
                _mm512_madd52lo_epu64(lo, x1, y0),
                _mm512_madd52hi_epu64(hi, x1, y0),
            );
            store(out[1].add(8 * v), k.reduce(lo, hi));
            store(out[2].add(8 * v), k.mul(x1, k.shoup(y1, w, q)));
        }
    }
}

#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
pub(super) unsafe fn dot(m: &Modulus, terms: &[[&[u64]; 2]], add: bool, out: &mut [u64]) {
    let n = out.len();
    assert!(n.is_multiple_of(8) && terms.iter().flatten().all(|s| s.len() == n));
    let keep = if add { u64::MAX } else { 0 };
    // SAFETY: v < n/8; lengths were checked above.
    unsafe {
        let k = Consts::new(m);
        let (zero, keep) = (_mm512_setzero_si512(), set1(keep));
        for v in 0..n / 8 {
            let (mut lo, mut hi) = (k.start(), zero);
            for t in terms {
                let [x, y] = t.map(|s| load(s.as_ptr().add(8 * v)));
                lo = _mm512_madd52lo_epu64(lo, x, y);
                hi = _mm512_madd52hi_epu64(hi, x, y);
            }
            let sum = k.reduce_sum(lo, hi);
            let o = out.as_mut_ptr().add(8 * v);
            let sum = _mm512_add_epi64(sum, _mm512_and_si512(load(o), keep));
            store(o, sub_if_ge(sum, k.p2));
        }
    }
}

#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
pub(super) unsafe fn dots(
    m: &Modulus,
    x: &[&[&[u64]]],
    [y, next]: [&[&[u64]]; 2],
    add: bool,
    out: &mut [&mut [u64]],
) {
    let len = out.first().map_or(0, |o| o.len());
    assert!(len.is_multiple_of(32) && out.iter().all(|o| o.len() == len));
    assert!(y.iter().all(|y| y.len() == len) && x.len() == out.len());
    assert!(
        x.iter()
            .all(|x| x.len() == y.len() && x.iter().all(|x| x.len() == len))
    );
    // SAFETY: the processor has the features, and lengths were checked above.
    unsafe {
        let (x, more_x) = x.as_chunks::<4>();
        let (out, more_out) = out.as_chunks_mut::<4>();
        for (x, out) in x.iter().zip(out) {
            dots_of::<4, 1>(m, x, [y, next], add, out);
        }
        let (x, more_x) = more_x.as_chunks::<2>();
        let (out, more_out) = more_out.as_chunks_mut::<2>();
        for (x, out) in x.iter().zip(out) {
            dots_of::<2, 2>(m, x, [y, next], add, out);
        }
        let (x, _) = more_x.as_chunks::<1>();
        let (out, _) = more_out.as_chunks_mut::<1>();
        for (x, out) in x.iter().zip(out) {
            dots_of::<1, 4>(m, x, [y, next], add, out);
        }
    }
}

/// [`dots`] of E elements, V vectors of each at a time: enough independent sums to hide the latency of a product.
///
/// # Safety
/// The processor must have AVX-512 F, DQ and IFMA. All slices must have one length, a multiple of 8V, and every
/// `x[e]` the length of `y`.
#[inline]
#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
unsafe fn dots_of<const E: usize, const V: usize>(
    m: &Modulus,
    x: &[&[&[u64]]; E],
    [y, next]: [&[&[u64]]; 2],
    add: bool,
    out: &mut [&mut [u64]; E],
) {
    let keep = if add { u64::MAX } else { 0 };
    // SAFETY: positions are below the length of all slices, which the caller vouches for.
    unsafe {
        let k = Consts::new(m);
        let (zero, keep) = (_mm512_setzero_si512(), set1(keep));
        for at in (0..out[0].len()).step_by(8 * V) {
            let (mut lo, mut hi) = ([[k.start(); V]; E], [[zero; V]; E]);
            for (t, (y, next)) in y.iter().zip(next).enumerate() {
                for v in 0..V {
                    _mm_prefetch::<_MM_HINT_T0>(next.as_ptr().add(at + 8 * v).cast());
                    let y = load(y.as_ptr().add(at + 8 * v));
                    for e in 0..E {
                        let x = load(x[e].get_unchecked(t).as_ptr().add(at + 8 * v));
                        lo[e][v] = _mm512_madd52lo_epu64(lo[e][v], x, y);
                        hi[e][v] = _mm512_madd52hi_epu64(hi[e][v], x, y);
                    }
                }
            }
            for e in 0..E {
                for v in 0..V {
                    let sum = k.reduce_sum(lo[e][v], hi[e][v]);
                    let o = out[e].as_mut_ptr().add(at + 8 * v);
                    let sum = _mm512_add_epi64(sum, _mm512_and_si512(load(o), keep));
                    store(o, sub_if_ge(sum, k.p2));
                }
            }
        }
    }
}

#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
pub(super) unsafe fn scale_canonical(m: &Modulus, c: Shoup, a: &mut [u64]) {
    let n = a.len();
    assert!(n.is_multiple_of(8));
    // SAFETY: v < n/8 in an exclusive borrow of n words.
    unsafe {
        let k = Consts::new(m);
        let (w, q) = (set1(c.w), set1(c.q));
        for v in 0..n / 8 {
            let p = a.as_mut_ptr().add(8 * v);
            store(p, sub_if_ge(k.shoup(load(p), w, q), k.p));
        }
    }
}

#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
pub(super) unsafe fn scale_add(m: &Modulus, a: &[u64], c: Shoup, out: &mut [u64]) {
    let n = out.len();
    assert!(n.is_multiple_of(8) && a.len() == n);
    // SAFETY: v < n/8; lengths were checked above.
    unsafe {
        let k = Consts::new(m);
        let (w, q) = (set1(c.w), set1(c.q));
        for v in 0..n / 8 {
            let o = out.as_mut_ptr().add(8 * v);
            let x = k.shoup(load(a.as_ptr().add(8 * v)), w, q);
            store(o, sub_if_ge(_mm512_add_epi64(x, load(o)), k.p2));
        }
    }
}

#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
pub(super) unsafe fn mix_column(
    ring: &Ring,
    m: &Modulus,
    two_by_row: &[Shoup],
    s: [&mut [u64]; 4],
) {
    let n = ring.n();
    assert!(s.iter().all(|s| s.len() == n) && two_by_row.len() == ring.rows());
    assert!(ring.lanes() == 8);
    let vectors = ring.cols();
    let s = s.map(|s| s.as_mut_ptr());
    // SAFETY: row·cols + col < n/8; lengths were checked above; the slices are exclusive borrows.
    unsafe {
        let k = Consts::new(m);
        let one = m.shoup(1);
        let (w1, q1) = (set1(one.w), set1(one.q));
        for (row, two) in two_by_row.iter().enumerate() {
            let (w, q) = (set1(two.w), set1(two.q));
            for col in 0..vectors {
                let here = (row * vectors + col) * 8;
                let x = s.map(|s| load(s.add(here)));
                let d = x.map(|x| k.shoup(x, w, q));
                let sum =
                    _mm512_add_epi64(_mm512_add_epi64(x[0], x[1]), _mm512_add_epi64(x[2], x[3]));
                for i in 0..4 {
                    let rest = _mm512_sub_epi64(sum, x[i]);
                    let y = _mm512_add_epi64(rest, _mm512_add_epi64(d[i], d[(i + 1) % 4]));
                    store(s[i].add(here), k.shoup(y, w1, q1));
                }
            }
        }
    }
}
