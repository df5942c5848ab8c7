//! The transform in AVX-512 IFMA: radix 16 in registers, eight lanes of the axes 3 and 5 per vector.
//!
//! Values that leave a radix-16 block ([`dft`]) are multiplied by a constant, or reduced by the constant 1.
//!
//! Words are right modulo 2^52 only: multiplications read no more of them, and sums and differences keep that. Only
//! the last step clears the rest, so results are below 2p as they stand.
//!
//! The last level of the first DFT of an axis, the product in the middle and the first level of the second DFT are
//! one 2 × 2 matrix, whose sums of two products take five multiplications instead of six ([`pairs`]). On the axis of
//! 17 the product is joined with the correlation on the axis of 5 of the lanes, as a 4 × 4 matrix ([`five`]).

mod dft;

use super::{TensorPart, set1, stream, sub_if_ge};
use crate::float_lanes::array;
use crate::kernel::Tensor;
use crate::modulus::{MASK, Modulus, Shoup};
use crate::simd::Tables as Plain;
use crate::transform::{Halves, Kernels, Source};
use core::arch::x86_64::*;
use dft::{Arithmetic, BIAS, Multiples, REV, dft16, pairs};

/// Lanes of the second half on the axis of 3.
const UPPER: __mmask8 = 0xf0;

/// One direction of the transform.
#[derive(Clone, Debug)]
pub(crate) struct Tables {
    plain: Plain,
    /// the matrices of [`pairs`] in rows, at 8 k1 + j for outputs j and j + 8 of row k1
    pairs: Vec<[Shoup; 4]>,
    /// per row, the diagonals of the matrix of [`five`]: constants and quotients
    five: Vec<[[[u64; 8]; 2]; 4]>,
}

impl Tables {
    pub(in crate::simd) fn new(m: &Modulus, plain: Plain, k: &Kernels) -> Self {
        let middle = plain.middle257.as_chunks::<16>().0.iter();
        let pairs = middle.flat_map(|middle| {
            (0..8).map(|j| {
                let (x, y) = (middle[j].w, middle[j + 8].w);
                let (sum, difference, w) = (m.add(x, y), m.sub(x, y), plain.root16[0][j].w);
                [sum, difference, m.mul(w, difference), m.mul(w, sum)].map(|c| m.shoup(c))
            })
        });
        let (three, five) = (&k.direct[2], &k.direct[3]);
        let three = [m.add(three[0], three[1]), m.sub(three[0], three[1])];
        let rows = (0..plain.rows).map(|row| {
            let middle = if plain.rows > 1 {
                plain.middle17[row].w
            } else {
                1
            };
            core::array::from_fn(|g| {
                let diagonal: [Shoup; 8] = core::array::from_fn(|lane| {
                    let e = (lane ^ g) % 4 + lane % 4;
                    m.shoup(m.mul(m.mul(middle, three[lane / 4]), five[e % 4]))
                });
                [diagonal.map(|c| c.w), diagonal.map(|c| c.q)]
            })
        });
        let (pairs, five) = (pairs.collect(), rows.collect());
        Self { plain, pairs, five }
    }
}

struct Consts<const WIDE: bool> {
    neg_p: __m512i,
    mask: __m512i,
    one_q: __m512i,
    multiples: Multiples<__m512i>,
}

impl<const WIDE: bool> Consts<WIDE> {
    #[inline(always)]
    unsafe fn new(m: &Modulus) -> Self {
        let p = m.p();
        // SAFETY: inlined into functions compiled for AVX-512; register arithmetic only.
        unsafe {
            Self {
                neg_p: set1((1 << 52) - p),
                mask: set1(MASK),
                one_q: set1(m.shoup(1).q),
                multiples: Multiples {
                    p2: set1(2 * p),
                    p4: set1(4 * p),
                    p8: set1(8 * p),
                    p10: set1(10 * p),
                    p16: set1(16 * p),
                },
            }
        }
    }

    /// Σ x·w mod p over words with constants and their quotients, plus `bias`.
    #[inline(always)]
    unsafe fn sum<const N: usize>(&self, bias: __m512i, terms: [[__m512i; 3]; N]) -> __m512i {
        // SAFETY: inlined into functions compiled for AVX-512 IFMA; register arithmetic only.
        unsafe {
            let (mut quotient, mut low) = (_mm512_setzero_si512(), bias);
            for [x, w, q] in terms {
                quotient = _mm512_madd52hi_epu64(quotient, x, q);
                low = _mm512_madd52lo_epu64(low, x, w);
            }
            _mm512_madd52lo_epu64(low, quotient, self.neg_p)
        }
    }
}

impl<const WIDE: bool> Arithmetic for Consts<WIDE> {
    type Word = __m512i;

    const WIDE: bool = WIDE;

    #[inline(always)]
    unsafe fn below8(&self, x: __m512i) -> __m512i {
        // SAFETY: as in `zero`.
        unsafe { sub_if_ge(_mm512_and_si512(x, self.mask), self.multiples.p8) }
    }

    #[inline(always)]
    fn multiples(&self) -> &Multiples<__m512i> {
        &self.multiples
    }

    #[inline(always)]
    unsafe fn zero(&self) -> __m512i {
        // SAFETY: inlined into functions compiled for AVX-512.
        unsafe { _mm512_setzero_si512() }
    }

    #[inline(always)]
    unsafe fn add(&self, x: __m512i, y: __m512i) -> __m512i {
        // SAFETY: as in `zero`.
        unsafe { _mm512_add_epi64(x, y) }
    }

    #[inline(always)]
    unsafe fn sub(&self, x: __m512i, y: __m512i) -> __m512i {
        // SAFETY: as in `zero`.
        unsafe { _mm512_sub_epi64(x, y) }
    }

    #[inline(always)]
    unsafe fn products<const N: usize>(
        &self,
        bias: __m512i,
        terms: [(__m512i, &Shoup); N],
    ) -> __m512i {
        // SAFETY: as in `sum`.
        unsafe {
            let zero = self.zero();
            self.sum(
                bias,
                array!(N, [zero; 3], |i| [
                    terms[i].0,
                    set1(terms[i].1.w),
                    set1(terms[i].1.q)
                ]),
            )
        }
    }
}

/// x mod p, below 2p, for any 52-bit x (the product by 1, one multiplication fewer).
#[inline(always)]
unsafe fn reduce<const WIDE: bool>(k: &Consts<WIDE>, x: __m512i) -> __m512i {
    // SAFETY: as in `Consts::sum`.
    unsafe {
        let quotient = _mm512_madd52hi_epu64(k.zero(), x, k.one_q);
        _mm512_and_si512(_mm512_madd52lo_epu64(x, quotient, k.neg_p), k.mask)
    }
}

/// `[e(0), …, e(15)]`, unrolled: a loop would keep its vectors in memory.
macro_rules! sixteen {
    (|$i:ident| $e:expr) => {
        sixteen!(|$i| $e; 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15)
    };
    (|$i:ident| $e:expr; $($n:literal)*) => {
        [$({ let $i: usize = $n; $e }),*]
    };
}

/// The butterflies on the axis of 3: halves to sum and difference, plus `offset`. Applied twice, they double.
#[inline(always)]
unsafe fn halves(offset: __m512i, a: __m512i) -> __m512i {
    // SAFETY: inlined into functions compiled for AVX-512.
    unsafe {
        let other = _mm512_shuffle_i64x2::<0b01_00_11_10>(a, a);
        _mm512_add_epi64(_mm512_mask_sub_epi64(a, UPPER, offset, a), other)
    }
}

/// The correlation on the axis of 5 of both halves, times constants: any 52-bit values in, below 8p out.
#[inline(always)]
unsafe fn five<const WIDE: bool>(
    k: &Consts<WIDE>,
    matrix: &[[[u64; 8]; 2]; 4],
    a: __m512i,
) -> __m512i {
    // SAFETY: as in `Consts::sum`; loads from arrays of eight only.
    unsafe {
        let moved = [
            a,
            _mm512_shuffle_epi32::<0b01_00_11_10>(a),
            _mm512_permutex_epi64::<0b01_00_11_10>(a),
            _mm512_permutex_epi64::<0b00_01_10_11>(a),
        ];
        let mut terms = [[k.zero(); 3]; 4];
        for ((term, x), diagonal) in terms.iter_mut().zip(moved).zip(matrix) {
            let [w, q] = diagonal
                .each_ref()
                .map(|c| _mm512_loadu_si512(c.as_ptr().cast()));
            *term = [x, w, q];
        }
        k.sum(k.zero(), terms)
    }
}

/// Runs `body` with the constants of a modulus, as code for its size.
macro_rules! with_consts {
    ($m:ident, $k:ident, $body:expr) => {
        if $m.is_wide() {
            let $k = Consts::<true>::new($m);
            $body
        } else {
            let $k = Consts::<false>::new($m);
            $body
        }
    };
}

/// The first half of the transform of `16 × 256`, `16 × 1` or `1 × 256` vectors, or of twice as many in K: the axis of
/// 257, of some rows, behind the butterflies of K.
#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
pub(in crate::simd) unsafe fn rows(m: &Modulus, t: &Tables, rows: &mut [u64]) {
    let source = rows.as_ptr();
    // SAFETY: the processor has the features, and a vector is read before it is written.
    unsafe {
        rows_of(m, t, rows, |v| _mm512_loadu_si512(source.add(8 * v).cast()));
    }
}

#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
unsafe fn rows_from(m: &Modulus, t: &Tables, source: &[u64], out: &mut [u64]) {
    assert_eq!(source.len(), out.len());
    // SAFETY: the processor has the features, and `source` as many vectors as `out`.
    unsafe {
        rows_of(m, t, out, |v| stream::<ROW>(source.as_ptr().add(8 * v)));
    }
}

#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
unsafe fn rows_of_product(
    m: &Modulus,
    t: &Tables,
    (product, part): (&Tensor<'_>, usize),
    out: &mut [u64],
) {
    let halves = t.plain.halves.map_or(1, |_| 2);
    let (lines, cols) = (halves * t.plain.rows, t.plain.cols / halves);
    assert_eq!(out.len(), lines * cols * 8);
    // SAFETY: the processor has the features, and v < lines · cols, as `out` has that many vectors.
    unsafe {
        let part = TensorPart::new(m, product, part, (lines, cols));
        rows_of(m, t, out, |v| part.vector::<ROW>(v));
    }
}

/// Words of a long row: prefetch distance of its first pass, since the processor does not foresee every sixteenth
/// vector.
const ROW: usize = 8 * 256;

/// The first half, on the vectors that `load` gives by number, each once.
///
/// # Safety
/// That of `load`, and AVX-512 F, DQ and IFMA.
#[inline(always)]
unsafe fn rows_of(m: &Modulus, t: &Tables, out: &mut [u64], load: impl Fn(usize) -> __m512i) {
    // SAFETY: as the caller vouches.
    unsafe {
        if m.is_wide() {
            rows_by::<true>(m, t, out, load);
        } else {
            rows_by::<false>(m, t, out, load);
        }
    }
}

/// [`rows_of`] in the arithmetic of the prime.
///
/// # Safety
/// That of [`rows_of`].
#[inline(always)]
unsafe fn rows_by<const WIDE: bool>(
    m: &Modulus,
    t: &Tables,
    out: &mut [u64],
    load: impl Fn(usize) -> __m512i,
) {
    let width = t.plain.cols;
    assert!(out.len().is_multiple_of(width * 8));
    // SAFETY: a row or half of a row has 256 vectors, or all of `out` is written vector by vector.
    unsafe {
        let k = Consts::<WIDE>::new(m);
        if let Some(halves) = &t.plain.halves {
            for (number, row) in out.chunks_exact_mut(width * 8).enumerate() {
                between_halves(&k, halves, row, |v| load(width * number + v));
                if width == 512 {
                    for half in row.chunks_exact_mut(256 * 8) {
                        let base = half.as_ptr();
                        axis257(m, &k, t, half, |v| {
                            _mm512_loadu_si512(base.add(8 * v).cast())
                        });
                    }
                }
            }
        } else if width == 256 {
            for (number, row) in out.chunks_exact_mut(256 * 8).enumerate() {
                axis257(m, &k, t, row, |v| load(256 * number + v));
            }
        } else {
            for (v, out) in out.chunks_exact_mut(8).enumerate() {
                _mm512_storeu_si512(out.as_mut_ptr().cast(), load(v));
            }
        }
    }
}

/// The butterflies between the halves of a row, on the vectors that `load` gives by number.
///
/// # Safety
/// That of `load`, and AVX-512 F and IFMA.
#[inline(always)]
unsafe fn between_halves<const WIDE: bool>(
    k: &Consts<WIDE>,
    halves: &Halves,
    row: &mut [u64],
    load: impl Fn(usize) -> __m512i,
) {
    let count = row.len() / 16;
    let base = row.as_mut_ptr();
    // SAFETY: v < count, and the row has twice as many vectors.
    unsafe {
        let p2 = k.multiples.p2;
        let product = |x, c: &Shoup| {
            let product = k.sum(k.zero(), [[x, set1(c.w), set1(c.q)]]);
            _mm512_and_si512(product, k.mask)
        };
        // of words below 2p
        let less = |x, y| sub_if_ge(k.sub(k.add(x, p2), y), p2);
        for v in 0..count {
            let (x, y) = (load(v), load(count + v));
            let (x, y) = match &halves.scale {
                None => {
                    let product = product(y, &halves.root);
                    let sum = sub_if_ge(k.add(x, y), p2);
                    (sub_if_ge(k.add(x, product), p2), less(sum, product))
                }
                Some(scale) => {
                    let y = product(less(x, y), scale);
                    (less(x, product(y, &halves.root)), y)
                }
            };
            _mm512_storeu_si512(base.add(8 * v).cast(), x);
            _mm512_storeu_si512(base.add(8 * (count + v)).cast(), y);
        }
    }
}

/// The second half: the axis of 17 and the lanes.
#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
pub(in crate::simd) unsafe fn columns(m: &Modulus, t: &Tables, a: &mut [u64]) {
    // SAFETY: the processor has the features.
    unsafe {
        with_consts!(m, k, whole_columns(&k, t, a, |_, x| reduce(&k, x)));
    }
}

/// The second half, plus `c·source`.
#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
pub(in crate::simd) unsafe fn columns_plus(
    m: &Modulus,
    t: &Tables,
    source: &[u64],
    c: Shoup,
    a: &mut [u64],
) {
    assert_eq!(source.len(), a.len());
    // SAFETY: the processor has the features, and `source` as many vectors as `a`.
    unsafe {
        let (w, q) = (set1(c.w), set1(c.q));
        with_consts!(m, k, {
            whole_columns(&k, t, a, |v, x| {
                let y = _mm512_loadu_si512(source.as_ptr().add(8 * v).cast());
                let quotient = _mm512_madd52hi_epu64(_mm512_setzero_si512(), x, k.one_q);
                let quotient = _mm512_madd52hi_epu64(quotient, y, q);
                let low = _mm512_madd52lo_epu64(x, y, w);
                let sum = _mm512_madd52lo_epu64(low, quotient, k.neg_p);
                sub_if_ge(_mm512_and_si512(sum, k.mask), k.multiples.p2)
            });
        });
    }
}

#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
unsafe fn columns_scaled(m: &Modulus, t: &Tables, c: Shoup, a: &mut [u64]) {
    // SAFETY: the processor has the features.
    unsafe {
        let (p, w, q) = (set1(m.p()), set1(c.w), set1(c.q));
        with_consts!(m, k, {
            whole_columns(&k, t, a, |_, x| {
                let product = k.sum(k.zero(), [[x, w, q]]);
                sub_if_ge(_mm512_and_si512(product, k.mask), p)
            });
        });
    }
}

/// Both halves, of `source`, times c, canonical.
#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
pub(in crate::simd) unsafe fn transform_scaled(
    m: &Modulus,
    t: &Tables,
    source: Source<'_>,
    c: Shoup,
    out: &mut [u64],
) {
    // SAFETY: the processor has the features.
    unsafe {
        match source {
            Source::InPlace => rows(m, t, out),
            Source::Limb(source) => rows_from(m, t, source, out),
            Source::Product(product, part) => rows_of_product(m, t, (product, part), out),
        }
        columns_scaled(m, t, c, out);
    }
}

/// [`axis17_and_lanes`] of a whole limb, in place.
///
/// # Safety
/// That of `end` for every vector of the limb, and AVX-512 F, DQ and IFMA.
#[inline(always)]
unsafe fn whole_columns<const WIDE: bool>(
    k: &Consts<WIDE>,
    t: &Tables,
    a: &mut [u64],
    end: impl Fn(usize, __m512i) -> __m512i,
) {
    let (rows, cols) = (t.plain.rows, t.plain.cols);
    assert_eq!(a.len(), rows * cols * 8);
    let base = a.as_mut_ptr();
    // SAFETY: `a` has rows × cols vectors.
    unsafe { axis17_and_lanes(k, t, cols, (base, cols), (base, cols), end) }
}

/// One row: the axis of 257 in three passes through the first-level cache, from the vectors that `source` gives.
///
/// # Safety
/// That of `source`, and AVX-512 F, DQ and IFMA.
#[inline(always)]
unsafe fn axis257<const WIDE: bool>(
    m: &Modulus,
    k: &Consts<WIDE>,
    t: &Tables,
    row: &mut [u64],
    source: impl Fn(usize) -> __m512i,
) {
    let Tables {
        plain,
        pairs: matrices,
        ..
    } = t;
    assert!(row.len() == 2048 && plain.twiddle.len() == 256);
    let (matrices, _) = matrices.as_chunks::<8>();
    let (twiddles, _) = plain.twiddle.as_chunks::<16>();
    assert!(matrices.len() == 16 && twiddles.len() == 16);
    let base = row.as_mut_ptr();
    let w = &plain.root16[0];
    // SAFETY: vector index 16 i + j with i, j < 16 is below 256, the row's length. All accesses are in one exclusive
    // borrow.
    unsafe {
        let load = |v: usize| _mm512_loadu_si512(base.add(8 * v).cast());
        let store = |v: usize, x| _mm512_storeu_si512(base.add(8 * v).cast(), x);
        for (j, twiddles) in twiddles.iter().enumerate() {
            let mut x = sixteen!(|i| source(16 * i + j));
            dft16(k, w, &mut x);
            let bias = if WIDE { 0 } else { BIAS[j] };
            let bias = set1(bias * m.p());
            sixteen!(|i| store(16 * i + j, k.products(bias, [(x[REV[i]], &twiddles[i])])));
        }
        for (i, (twiddles, matrices)) in twiddles.iter().zip(matrices).enumerate() {
            let mut x = sixteen!(|j| load(16 * i + j));
            pairs(k, w, matrices, &mut x);
            sixteen!(|j| store(
                16 * i + j,
                k.products(k.zero(), [(x[REV[j]], &twiddles[j])])
            ));
        }
        for j in 0..16 {
            let mut x = sixteen!(|i| load(16 * i + j));
            dft16(k, w, &mut x);
            sixteen!(|i| store(16 * i + j, reduce(k, x[REV[i]])));
        }
    }
}

/// The second half for the columns from `start` on of the limb `a`, as many as the narrower limb `out` holds.
#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
pub(in crate::simd) unsafe fn some_columns(
    m: &Modulus,
    t: &Tables,
    a: &[u64],
    start: usize,
    out: &mut [u64],
) {
    let width = out.len() / (8 * t.plain.rows);
    assert!(a.len() == t.plain.rows * t.plain.cols * 8 && out.len() == t.plain.rows * width * 8);
    assert!(start + width <= t.plain.cols);
    let (from, to) = (a.as_ptr(), out.as_mut_ptr());
    // SAFETY: the processor has the features; columns start to start + width are in `a`, 0 to width in `out`.
    unsafe {
        let from = (from.add(8 * start), t.plain.cols);
        let to = (to, width);
        with_consts!(
            m,
            k,
            axis17_and_lanes(&k, t, width, from, to, |_, x| reduce(&k, x))
        );
    }
}

/// The axis of 17 and the lanes of `count` columns, in registers, from one limb to another or in place. Either limb
/// is given by its first column and the number of vectors from row to row. Stores `end(v, x)` for vector number v,
/// where x is any 52-bit words.
///
/// # Safety
/// The processor must have AVX-512 F, DQ and IFMA. Both limbs must have the columns in all rows, `to` writable.
#[inline(always)]
unsafe fn axis17_and_lanes<const WIDE: bool>(
    k: &Consts<WIDE>,
    t: &Tables,
    count: usize,
    (from, from_step): (*const u64, usize),
    (to, to_step): (*mut u64, usize),
    end: impl Fn(usize, __m512i) -> __m512i,
) {
    assert_eq!(t.five.len(), t.plain.rows);
    // SAFETY: the caller vouches for vector i·step + c with i < rows and c < count.
    unsafe {
        let load = |v: usize| _mm512_loadu_si512(from.add(8 * v).cast());
        let store = |v: usize, x| _mm512_storeu_si512(to.add(8 * v).cast(), end(v, x));
        // below 8p to below 16p
        let joined = |x| halves(k.multiples.p8, x);
        let [single] = &t.five[..] else {
            let (matrices, _) = t.five.as_chunks::<16>();
            assert_eq!(matrices.len(), 1);
            let (w, matrices) = (&t.plain.root16[1], &matrices[0]);
            for c in 0..count {
                let mut x =
                    sixteen!(|i| reduce(k, halves(k.multiples.p2, load(i * from_step + c))));
                dft16(k, w, &mut x);
                let mut y = sixteen!(|j| reduce(k, joined(five(k, &matrices[j], x[REV[j]]))));
                dft16(k, w, &mut y);
                sixteen!(|i| store(i * to_step + c, y[REV[i]]));
            }
            return;
        };
        for c in 0..count {
            store(c, joined(five(k, single, halves(k.multiples.p2, load(c)))));
        }
    }
}
