//! Multiply-accumulate kernels in double precision, on the numbers of [`super`].
//!
//! Lazy words are loaded as x - p, within p. A sum of products x·y is kept in two doubles ([`Sum`]). The first begins
//! at [`WIDE`] = 1.5 · 2^100, so that adding a product in one rounding leaves a multiple of 2^48; the second collects
//! the rounding errors:
//!
//! ```text
//! t = x·y + high    low = low + (x·y - (t - high))    high = t
//! ```
//!
//! For at most [`TERMS`] = 24 products, each below 2^94, or a quarter as many below 2^96: their sum is below 2^98.6, so
//! high stays within 2^100 … 2^101, t - high is exact, and each rounding drops an integer of at most 2^47. These sum to
//! at most 2^51.6. For factors within p, the sum over p is at most 24p < 2^51.6 besides, and the computed even number q
//! nearest to
//! (high - WIDE)/p is off by at most 1.5. So high - WIDE - q·p + low is exact and below 2^51.6 + 1.5 · 2^48 < 2^52.
//!
//! A single product of two numbers, |x| ≤ p and |y| ≤ 3p/4, is reduced as one by a constant, but q is h/p rounded:
//! x·y/p is below 2^48, and q off by at most 1/2 + 2^-4, whence |r| ≤ 5p/8.
//!
//! The factor 1/R of the integer kernels' Montgomery products is in a constant here, or one product per sum.

#![expect(
    clippy::needless_range_loop,
    reason = "iterators would push sums to memory"
)]

use super::{Consts, Doubles, Factor, Number, centred_words};
use crate::float_lanes::array;
use crate::kernel::{self, Combination, MAX_SOURCES, RowTerm, Tensor, Term};
use crate::key_limb::{self, KeyLimb};
use crate::modulus::{Modulus, Shoup};
use crate::ring::{GaloisMap, Ring};
use core::ops::Range;

/// Numbers near it are multiples of 2^48: 1.5 · 2^100.
const WIDE: f64 = 1.5 * (1u128 << 100) as f64;
/// Products that a [`Sum`] holds.
const TERMS: usize = 24;

/// The same modulo one prime.
fn terms(m: &Modulus) -> usize {
    if m.is_wide() { TERMS / 4 } else { TERMS }
}

/// Words between a load and its prefetch in the key inner products.
const AHEAD: usize = 8 * 8;

/// A sum of products, exact.
#[derive(Clone, Copy)]
struct Sum<V> {
    high: V,
    low: V,
}

impl<V: Number> Sum<V> {
    #[inline(always)]
    unsafe fn new() -> Self {
        // SAFETY: as the caller vouches; so in all functions here.
        unsafe {
            Self {
                high: V::splat(WIDE),
                low: V::splat(0.0),
            }
        }
    }

    #[inline(always)]
    unsafe fn add(&mut self, x: V, y: V) {
        // SAFETY: see `new`.
        unsafe {
            let high = x.mul_add(y, self.high);
            self.low = self.low + x.mul_sub(y, high - self.high);
            self.high = high;
        }
    }

    /// The sum mod p, within 2^52.
    #[inline(always)]
    unsafe fn reduce(self, k: &Consts<V>) -> V {
        // SAFETY: see `new`.
        unsafe {
            let high = self.high - V::splat(WIDE);
            let even = k.magic + k.magic;
            let q = high.mul_add(k.inverse, even) - even;
            q.neg_mul_add(k.p, high) + self.low
        }
    }
}

/// x·y mod p, within 5p/8.
#[inline(always)]
unsafe fn mul<V: Number>(k: &Consts<V>, x: V, y: V) -> V {
    // SAFETY: see `Sum::new`.
    unsafe {
        let h = x * y;
        let q = h.mul_add(k.inverse, k.magic) - k.magic;
        q.neg_mul_add(k.p, h) + x.mul_sub(y, h)
    }
}

/// An automorphism as the kernels read it.
#[derive(Clone, Copy)]
struct VectorMap<M, const H: usize> {
    line_shift: usize,
    col_shift: usize,
    lanes: [M; H],
}

impl<M: Copy, const H: usize> VectorMap<M, H> {
    #[inline(always)]
    unsafe fn new<V: Doubles<H, Map = M>>(map: &GaloisMap) -> Self {
        // SAFETY: see `Sum::new`.
        unsafe {
            let lanes = array!(H, V::map(&map.lane_source, 0), |h| V::map(
                &map.lane_source,
                h
            ));
            Self {
                line_shift: map.line_shift,
                col_shift: map.col_shift,
                lanes,
            }
        }
    }

    /// First word of the source of eight lanes; `lines` and `cols` are powers of two.
    #[inline(always)]
    fn source(&self, line: usize, col: usize, lines: usize, cols: usize) -> usize {
        let line = (line + self.line_shift) & (lines - 1);
        (line * cols + ((col + self.col_shift) & (cols - 1))) * 8
    }
}

/// A limb of a key as the kernels read it.
trait Key: Copy {
    /// Words less p from the `at`-th on.
    ///
    /// # Safety
    /// As of [`Doubles`].
    unsafe fn centred<V: Doubles<H>, const H: usize>(self, k: &Consts<V>, at: usize) -> V;

    /// Where the `at`-th word is, or would be.
    fn place(self, at: usize) -> *const u64;
}

impl Key for *const u64 {
    #[inline(always)]
    unsafe fn centred<V: Doubles<H>, const H: usize>(self, k: &Consts<V>, at: usize) -> V {
        // SAFETY: as the trait says.
        unsafe { centred_words(k, self.add(at)) }
    }

    #[inline(always)]
    fn place(self, at: usize) -> *const u64 {
        self.wrapping_add(at)
    }
}

impl Key for *const u8 {
    #[inline(always)]
    unsafe fn centred<V: Doubles<H>, const H: usize>(self, k: &Consts<V>, at: usize) -> V {
        // SAFETY: as the trait says.
        unsafe { V::load_key(self.add(key_limb::BYTES * at)).or(k.two_52) - k.lift }
    }

    #[inline(always)]
    fn place(self, at: usize) -> *const u64 {
        self.wrapping_add(key_limb::BYTES * at).cast()
    }
}

/// A term with the pointers of one group of `J` outputs.
struct Pointers<M, K, const J: usize, const H: usize> {
    map: VectorMap<M, H>,
    sources: [*const u64; J],
    key: [K; 2],
}

struct RowPointers<'a, M, const J: usize, const H: usize> {
    map: VectorMap<M, H>,
    sources: [*const u64; J],
    by_row: &'a [u64],
    /// the constant of the current row
    constant: f64,
    second: bool,
}

#[inline(always)]
pub(in crate::simd) unsafe fn inner_product<V: Doubles<H>, const H: usize>(
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
            first += if outputs - first == 1 {
                inner_product_group::<V, 1, H>(ring, m, terms, rows, out, first)
            } else {
                inner_product_group::<V, 2, H>(ring, m, terms, rows, out, first)
            };
        }
    }
}

/// The outputs `first .. first + J`; returns J.
#[inline(always)]
unsafe fn inner_product_group<V: Doubles<H>, const J: usize, const H: usize>(
    ring: &Ring,
    m: &Modulus,
    terms: &[Term<'_>],
    rows: &[RowTerm<'_>],
    out: &mut [[&mut [u64]; 2]],
    first: usize,
) -> usize {
    let mut outs = [[core::ptr::null_mut(); 2]; J];
    for (pointers, out) in outs.iter_mut().zip(&mut out[first..]) {
        *pointers = out.each_mut().map(|o| o.as_mut_ptr());
    }
    let sources = |all: &[&[u64]]| array!(J, all[first].as_ptr(), |j| all[first + j].as_ptr());
    // SAFETY: see `Sum::new`; the caller checked that all limbs have n words.
    unsafe {
        let mut pointers: Vec<Pointers<V::Map, *const u8, J, H>> = Vec::with_capacity(terms.len());
        for t in terms {
            pointers.push(Pointers {
                map: VectorMap::new::<V>(t.map),
                sources: sources(t.sources),
                key: t.key.map(KeyLimb::as_ptr),
            });
        }
        let mut row_pointers: Vec<RowPointers<'_, V::Map, J, H>> = Vec::with_capacity(rows.len());
        for t in rows {
            row_pointers.push(RowPointers {
                map: VectorMap::new::<V>(t.map),
                sources: sources(t.sources),
                by_row: t.by_row,
                constant: 0.0,
                second: t.second,
            });
        }
        sums_of_terms::<V, _, J, H>(ring, m, &pointers, &mut row_pointers, outs);
    }
    J
}

/// The terms and row terms of each sum.
fn parts(terms: usize, rows: usize, most: usize) -> Vec<[Range<usize>; 2]> {
    let total = terms + rows;
    (0..total)
        .step_by(most)
        .map(|start| {
            let end = total.min(start + most);
            let rows = start.max(terms) - terms..end.max(terms) - terms;
            [start.min(terms)..end.min(terms), rows]
        })
        .collect()
}

/// The sums of one group of outputs; they stay in registers over the terms.
///
/// # Safety
/// As of [`Doubles`], with pointers to n words each, and exclusive outputs.
#[inline(always)]
unsafe fn sums_of_terms<V: Doubles<H>, K: Key, const J: usize, const H: usize>(
    ring: &Ring,
    m: &Modulus,
    terms: &[Pointers<V::Map, K, J, H>],
    rows: &mut [RowPointers<'_, V::Map, J, H>],
    outs: [[*mut u64; 2]; J],
) {
    let (lines, cols) = (ring.lines(), ring.line_cols());
    let parts = parts(terms.len(), rows.len(), self::terms(m));
    // SAFETY: see `Sum::new`; line < lines and col < cols, so every access lies within the n words that the caller
    // vouches for.
    unsafe {
        let k = Consts::<V>::new(m);
        let unstore = Factor::new(m, m.from_stored(1));
        for line in 0..lines {
            for t in &mut *rows {
                t.constant = Factor::new(m, t.by_row[line / ring.halves()]).w;
            }
            for place in 0..cols * H {
                let (col, h) = (place / H, place % H);
                let here = (line * cols + col) * 8 + h * (8 / H);
                let zero = V::splat(0.0);
                let mut totals = [[zero; J]; 2];
                for [part, row_part] in &parts {
                    let mut sums = [[Sum::<V>::new(); J]; 2];
                    for t in terms.get_unchecked(part.clone()) {
                        let at = t.map.source(line, col, lines, cols);
                        let y0 = t.key[0].centred(&k, here);
                        let y1 = t.key[1].centred(&k, here);
                        for key in t.key {
                            V::prefetch(key.place(here + AHEAD));
                        }
                        for j in 0..J {
                            V::prefetch(t.sources[j].wrapping_add(at + AHEAD));
                            let x = V::load_mapped(t.sources[j].add(at).cast(), t.map.lanes[h]);
                            let x = x.or(k.two_52) - k.lift;
                            sums[0][j].add(x, y0);
                            sums[1][j].add(x, y1);
                        }
                    }
                    for t in rows.get_unchecked(row_part.clone()) {
                        let at = t.map.source(line, col, lines, cols);
                        let y = V::splat(t.constant);
                        for j in 0..J {
                            let x = V::load_mapped(t.sources[j].add(at).cast(), t.map.lanes[h]);
                            let x = x.or(k.two_52) - k.lift;
                            // spelled out: an index by `second` would push the sums to memory
                            if t.second {
                                sums[1][j].add(x, y);
                            } else {
                                sums[0][j].add(x, y);
                            }
                        }
                    }
                    for c in 0..2 {
                        for j in 0..J {
                            let sum = k.mul_const(sums[c][j].reduce(&k), &unstore);
                            totals[c][j] = totals[c][j] + sum;
                        }
                    }
                }
                for c in 0..2 {
                    for j in 0..J {
                        k.store(k.reduce(totals[c][j]), outs[j][c].add(here));
                    }
                }
            }
        }
    }
}

#[inline(always)]
pub(in crate::simd) unsafe fn row_sums<V: Doubles<H>, const H: usize>(
    ring: &Ring,
    m: &Modulus,
    x: &[u64],
    keys: [&[u64]; 2],
    maps: &[&GaloisMap],
    out: &mut [[&mut [u64]; 2]],
) {
    let n = ring.n();
    assert!(ring.lanes() == 8 && ring.rows() == 1 && x.len().is_multiple_of(n));
    assert!(keys.iter().all(|k| k.len() == x.len()) && maps.len() == out.len());
    assert!(out.iter().flatten().all(|o| o.len() == n));
    for (map, out) in maps.iter().zip(out) {
        let outs = [out.each_mut().map(|o| o.as_mut_ptr())];
        // SAFETY: as the caller vouches; lengths were checked above.
        unsafe {
            let mut terms: Vec<Pointers<V::Map, *const u64, 1, H>> = Vec::new();
            for row in 0..x.len() / n {
                terms.push(Pointers {
                    map: VectorMap::new::<V>(map),
                    sources: [x[row * n..].as_ptr()],
                    key: keys.map(|key| key[row * n..].as_ptr()),
                });
            }
            sums_of_terms::<V, _, 1, H>(ring, m, &terms, &mut [], outs);
        }
        for x in out.iter_mut().flat_map(|o| o.iter_mut()) {
            *x = m.canonical(*x);
        }
    }
}

#[inline(always)]
pub(in crate::simd) unsafe fn tensor<V: Doubles<H>, const H: usize>(
    ring: &Ring,
    m: &Modulus,
    t: &Tensor<'_>,
    [o0, o1, o2, o3]: [&mut [u64]; 4],
) {
    let one = m.shoup(1);
    // SAFETY: as the caller vouches.
    unsafe {
        times_image::<V, 2, H>(ring, m, t.x, (t.y[0], t.map, one), [o0, o1]);
        times_image::<V, 2, H>(ring, m, t.x, (t.y[1], t.map, t.scale), [o2, o3]);
    }
}

#[inline(always)]
pub(in crate::simd) unsafe fn tensor_part<V: Doubles<H>, const H: usize>(
    ring: &Ring,
    m: &Modulus,
    t: &Tensor<'_>,
    part: usize,
    out: &mut [u64],
) {
    let image = (t.y[1], t.map, t.scale);
    // SAFETY: as the caller vouches.
    unsafe { times_image::<V, 1, H>(ring, m, [t.x[part]], image, [out]) }
}

/// `x_i σ(y) c` for each x_i.
#[inline(always)]
unsafe fn times_image<V: Doubles<H>, const N: usize, const H: usize>(
    ring: &Ring,
    m: &Modulus,
    x: [&[u64]; N],
    (y, map, c): (&[u64], &GaloisMap, Shoup),
    mut out: [&mut [u64]; N],
) {
    let n = ring.n();
    assert!(x.iter().all(|x| x.len() == n) && y.len() == n && out.iter().all(|o| o.len() == n));
    assert!(ring.lanes() == 8);
    let (lines, cols) = (ring.lines(), ring.line_cols());
    let out = out.each_mut().map(|o| o.as_mut_ptr());
    // SAFETY: see `Sum::new`; line < lines and col < cols keep every access within the n words checked above.
    unsafe {
        let k = Consts::<V>::new(m);
        let map = VectorMap::new::<V>(map);
        let c = Factor::new(m, m.from_stored(c.w));
        for line in 0..lines {
            for col in 0..cols {
                let at = map.source(line, col, lines, cols);
                for h in 0..H {
                    let here = (line * cols + col) * 8 + h * (8 / H);
                    let y = V::load_mapped(y.as_ptr().add(at).cast(), map.lanes[h]);
                    let y = k.mul_const(y.or(k.two_52) - k.lift, &c);
                    for (x, out) in x.iter().zip(out) {
                        let x = centred_words(&k, x.as_ptr().add(here));
                        k.store(mul(&k, x, y), out.add(here));
                    }
                }
            }
        }
    }
}

#[inline(always)]
pub(in crate::simd) unsafe fn product<V: Doubles<H>, const H: usize>(
    m: &Modulus,
    [x, y]: [[&[u64]; 2]; 2],
    c: Shoup,
    out: [&mut [u64]; 3],
) {
    let n = x[0].len();
    assert!(n.is_multiple_of(8) && x.iter().chain(&y).all(|s| s.len() == n));
    assert!(out.iter().all(|o| o.len() == n));
    let out = out.map(|o| o.as_mut_ptr());
    // SAFETY: see `Sum::new`; positions stay below n, and lengths were checked above.
    unsafe {
        let k = Consts::<V>::new(m);
        let unstore = Factor::new(m, m.from_stored(1));
        let scale = Factor::new(m, c.w);
        for at in (0..n).step_by(8 / H) {
            let load = |s: &[u64]| centred_words(&k, s.as_ptr().add(at));
            let (x0, x1) = (load(x[0]), load(x[1]));
            let y0 = k.mul_const(load(y[0]), &unstore);
            let y1 = k.mul_const(load(y[1]), &unstore);
            k.store(mul(&k, x0, y0), out[0].add(at));
            let cross = mul(&k, x0, y1) + mul(&k, x1, y0);
            k.store(k.reduce(cross), out[1].add(at));
            k.store(mul(&k, x1, k.mul_const(y1, &scale)), out[2].add(at));
        }
    }
}

#[inline(always)]
pub(in crate::simd) unsafe fn dot<V: Doubles<H>, const H: usize>(
    m: &Modulus,
    terms: &[[&[u64]; 2]],
    add: bool,
    out: &mut [u64],
) {
    assert!(out.len().is_multiple_of(8) && terms.iter().flatten().all(|s| s.len() == out.len()));
    let [x, y] = [0, 1].map(|i| terms.iter().map(|t| t[i]).collect::<Vec<&[u64]>>());
    // SAFETY: as the caller vouches; lengths were checked above.
    unsafe { dots_of::<V, 1, H, H>(m, &[&x], [&y, &[]], add, &mut [out]) }
}

#[inline(always)]
pub(in crate::simd) unsafe fn dots<V: Doubles<H>, const H: usize>(
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
    // SAFETY: as the caller vouches; lengths were checked above.
    unsafe {
        let (x, more_x) = x.as_chunks::<4>();
        let (out, more_out) = out.as_chunks_mut::<4>();
        for (x, out) in x.iter().zip(out) {
            dots_of::<V, 4, 1, H>(m, x, [y, next], add, out);
        }
        let (x, more_x) = more_x.as_chunks::<2>();
        let (out, more_out) = more_out.as_chunks_mut::<2>();
        for (x, out) in x.iter().zip(out) {
            dots_of::<V, 2, 2, H>(m, x, [y, next], add, out);
        }
        let (x, _) = more_x.as_chunks::<1>();
        let (out, _) = more_out.as_chunks_mut::<1>();
        for (x, out) in x.iter().zip(out) {
            dots_of::<V, 1, 4, H>(m, x, [y, next], add, out);
        }
    }
}

/// [`dots`] of E elements, W registers of each at a time.
///
/// # Safety
/// All slices must have one length, a multiple of W registers, and every `x[e]` the length of `y`.
#[inline(always)]
unsafe fn dots_of<V: Doubles<H>, const E: usize, const W: usize, const H: usize>(
    m: &Modulus,
    x: &[&[&[u64]]; E],
    [y, next]: [&[&[u64]]; 2],
    add: bool,
    out: &mut [&mut [u64]; E],
) {
    let (step, most) = (8 / H, terms(m));
    // SAFETY: see `Sum::new`; positions are below the length of all slices, which the caller vouches for.
    unsafe {
        let k = Consts::<V>::new(m);
        let unstore = Factor::new(m, m.from_stored(1));
        for at in (0..out[0].len()).step_by(step * W) {
            let mut totals = [[V::splat(0.0); W]; E];
            for start in (0..y.len()).step_by(most) {
                let mut sums = [[Sum::<V>::new(); W]; E];
                for t in start..y.len().min(start + most) {
                    let next = next.get(t);
                    for w in 0..W {
                        let at = at + step * w;
                        if let Some(next) = next {
                            V::prefetch(next.as_ptr().add(at));
                        }
                        let y = centred_words(&k, y.get_unchecked(t).as_ptr().add(at));
                        for e in 0..E {
                            let x = centred_words(&k, x[e].get_unchecked(t).as_ptr().add(at));
                            sums[e][w].add(x, y);
                        }
                    }
                }
                for e in 0..E {
                    for w in 0..W {
                        let sum = k.mul_const(sums[e][w].reduce(&k), &unstore);
                        totals[e][w] = totals[e][w] + sum;
                    }
                }
            }
            for e in 0..E {
                for w in 0..W {
                    let o = out[e].as_mut_ptr().add(at + step * w);
                    let mut sum = totals[e][w];
                    if add {
                        sum = sum + centred_words(&k, o);
                    }
                    k.store(k.reduce(sum), o);
                }
            }
        }
    }
}

/// Combinations whose sums are in registers.
const TARGETS: usize = 4;

#[inline(always)]
pub(in crate::simd) unsafe fn combine<V: Doubles<H>, const H: usize>(
    combinations: &[Combination<'_>],
    sources: &[&[u64]],
    out: &mut [&mut [u64]],
) {
    let len = kernel::check_combine(combinations, sources, out);
    assert!(len.is_multiple_of(8));
    let all = combinations.chunks(TARGETS).zip(out.chunks_mut(TARGETS));
    for (combinations, out) in all {
        // SAFETY: as the caller vouches; lengths were checked above, and a chunk has one to four entries.
        unsafe {
            match combinations.len() {
                1 => combine_of::<V, 1, H>(combinations, sources, out),
                2 => combine_of::<V, 2, H>(combinations, sources, out),
                3 => combine_of::<V, 3, H>(combinations, sources, out),
                _ => combine_of::<V, TARGETS, H>(combinations, sources, out),
            }
        }
    }
}

/// [`combine`] of G combinations, whose sums stay in registers.
///
/// Sources are below 2^48, and constants, which take the factor 1/R here, within p/2. So the sum over p is within
/// 2^51, and the sum at most p·2^51 < 2^99.
///
/// # Safety
/// There must be G combinations and outputs, with a constant per source, at most [`MAX_SOURCES`] sources, and all
/// slices must have one length, a multiple of 8.
#[inline(always)]
unsafe fn combine_of<V: Doubles<H>, const G: usize, const H: usize>(
    combinations: &[Combination<'_>],
    sources: &[&[u64]],
    out: &mut [&mut [u64]],
) {
    let mut constants = [[0.0; MAX_SOURCES]; G];
    for (to, from) in constants.iter_mut().zip(combinations) {
        let m = from.modulus;
        for (to, &c) in to.iter_mut().zip(from.constants) {
            *to = Factor::new(m, m.from_stored(c)).w;
        }
    }
    // SAFETY: see `Sum::new`; positions stay below a length that the caller vouches for.
    unsafe {
        let k: [Consts<V>; G] = array!(G, Consts::new(combinations[0].modulus), |g| Consts::new(
            combinations[g].modulus
        ));
        let out: [*mut u64; G] = array!(G, out[0].as_mut_ptr(), |g| out[g].as_mut_ptr());
        let len = sources.first().map_or(0, |s| s.len());
        for at in (0..len).step_by(8 / H) {
            let mut sums = [Sum::<V>::new(); G];
            for (i, s) in sources.iter().enumerate() {
                let x = k[0].load(s.as_ptr().add(at));
                for g in 0..G {
                    sums[g].add(x, V::splat(*constants[g].get_unchecked(i)));
                }
            }
            for g in 0..G {
                k[g].store(k[g].reduce(sums[g].reduce(&k[g])), out[g].add(at));
            }
        }
    }
}

/// See [`crate::packed_limbs::dot`].
#[inline(always)]
pub(in crate::simd) unsafe fn dot_halves<V: Doubles<H>, const H: usize>(
    m: &Modulus,
    terms: &[[&[u64]; 2]],
    add: bool,
    out: &mut [u64],
) {
    let words = out.len() / 2;
    assert!(words.is_multiple_of(8) && out.len() == 2 * words && terms.len() <= TERMS);
    assert!(
        terms
            .iter()
            .all(|[x, h]| x.len() == out.len() && h.len() == words)
    );
    // SAFETY: see `Sum::new`; positions stay below `words`, and words have twice as many, which was checked above.
    unsafe {
        let k = Consts::<V>::new(m);
        let unstore = Factor::new(m, m.from_stored(1));
        for at in (0..words).step_by(8 / H) {
            let mut sums = [Sum::<V>::new(); 2];
            for [x, halves] in terms {
                let y = V::load(halves.as_ptr().add(at).cast()).halves();
                for i in 0..2 {
                    let x = centred_words(&k, x.as_ptr().add(i * words + at));
                    sums[i].add(x, y[i].or(k.two_52) - k.two_52);
                }
            }
            for i in 0..2 {
                let o = out.as_mut_ptr().add(i * words + at);
                let mut sum = k.mul_const(sums[i].reduce(&k), &unstore);
                if add {
                    sum = sum + centred_words(&k, o);
                }
                k.store(k.reduce(sum), o);
            }
        }
    }
}
