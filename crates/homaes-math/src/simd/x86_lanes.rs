//! [`Lanes`] of AVX-512 and of AVX2 with FMA.
//!
//! Sound because values of these types are only made inside the `target_feature` functions of [`super::fourier`] and
//! [`super::integer`], which run after the features were detected, and all accesses go through references to arrays.

use crate::float_lanes::{LANES, Lanes, array, inlined};
use core::arch::x86_64::*;
use core::ops::{Add, Mul, Sub};

#[derive(Clone, Copy)]
pub(crate) struct Avx512(__m512d);

macro_rules! op {
    ($t:ident, $op:ident, $f:ident, |$a:ident, $b:ident| $body:expr) => {
        impl $op for $t {
            type Output = Self;
            #[inline(always)]
            fn $f(self, rhs: Self) -> Self {
                let ($a, $b) = (self.0, rhs.0);
                // SAFETY: the features are there, see the module's text.
                Self(unsafe { $body })
            }
        }
    };
}

op!(Avx512, Add, add, |a, b| _mm512_add_pd(a, b));
op!(Avx512, Sub, sub, |a, b| _mm512_sub_pd(a, b));
op!(Avx512, Mul, mul, |a, b| _mm512_mul_pd(a, b));

// SAFETY, for every block of the two implementations: the features are there (see the module's head); loads and
// stores are unaligned, through references to arrays of eight elements.
macro_rules! vector {
    ($body:expr) => {
        // SAFETY: see above.
        unsafe { $body }
    };
}

/// Both halves are a cache line.
#[inline(always)]
fn prefetch_halves(group: &[f64; 2 * LANES]) {
    vector!({
        _mm_prefetch::<_MM_HINT_T1>(group.as_ptr().cast());
        _mm_prefetch::<_MM_HINT_T1>(group[LANES..].as_ptr().cast());
    });
}

impl Lanes for Avx512 {
    type Word = __m512i;

    inlined! {
        prefetch(group: &[f64; 2 * LANES]) = prefetch_halves(group);
        load(from: &[f64; LANES]) -> Self = Self(vector!(_mm512_loadu_pd(from.as_ptr())));
        store(self, to: &mut [f64; LANES]) = vector!(_mm512_storeu_pd(to.as_mut_ptr(), self.0));
        splat(x: f64) -> Self = Self(vector!(_mm512_set1_pd(x)));
        mul_add(self, b: Self, c: Self) -> Self = Self(vector!(_mm512_fmadd_pd(self.0, b.0, c.0)));
        neg_mul_add(self, b: Self, c: Self) -> Self = Self(vector!(_mm512_fnmadd_pd(self.0, b.0, c.0)));
        mul_sub(self, b: Self, c: Self) -> Self = Self(vector!(_mm512_fmsub_pd(self.0, b.0, c.0)));
        load_word(from: &[u64; LANES]) -> __m512i = vector!(_mm512_loadu_si512(from.as_ptr().cast()));
        store_word(x: __m512i, to: &mut [u64; LANES]) = vector!(_mm512_storeu_si512(to.as_mut_ptr().cast(), x));
        splat_word(x: u64) -> __m512i = vector!(_mm512_set1_epi64(x as i64));
        add_word(a: __m512i, b: __m512i) -> __m512i = vector!(_mm512_add_epi64(a, b));
        sub_word(a: __m512i, b: __m512i) -> __m512i = vector!(_mm512_sub_epi64(a, b));
        and_word(a: __m512i, b: __m512i) -> __m512i = vector!(_mm512_and_si512(a, b));
        or_word(a: __m512i, b: __m512i) -> __m512i = vector!(_mm512_or_si512(a, b));
        shr_word(a: __m512i, count: __m512i) -> __m512i = vector!(_mm512_srlv_epi64(a, count));
        shl_word(a: __m512i, count: __m512i) -> __m512i = vector!(_mm512_sllv_epi64(a, count));
        permute_word(a: __m512i, index: __m512i) -> __m512i = vector!(_mm512_permutexvar_epi64(index, a));
        from_bits(a: __m512i) -> Self = Self(vector!(_mm512_castsi512_pd(a)));
        to_bits(self) -> __m512i = vector!(_mm512_castpd_si512(self.0));
    }

    #[inline(always)]
    fn transpose(x: [Self; LANES]) -> [Self; LANES] {
        vector!({
            // pairs of rows interleaved, then 128-bit quarters moved twice
            let lo = array!(4, x[0].0, |i| _mm512_unpacklo_pd(
                x[2 * i].0,
                x[2 * i + 1].0
            ));
            let hi = array!(4, x[0].0, |i| _mm512_unpackhi_pd(
                x[2 * i].0,
                x[2 * i + 1].0
            ));
            // quarter q of `lo[i]` holds column 2q of rows 2i and 2i + 1
            let even = quarters(lo);
            let odd = quarters(hi);
            array!(8, x[0], |j| Self(if j % 2 == 0 {
                even[j / 2]
            } else {
                odd[j / 2]
            }))
        })
    }
}

/// Transposes a 4 × 4 matrix of 128-bit quarters: result j holds quarter j of every input.
#[inline(always)]
fn quarters(x: [__m512d; 4]) -> [__m512d; 4] {
    vector!({
        let a = _mm512_shuffle_f64x2::<0x44>(x[0], x[1]); // 00 01 10 11
        let b = _mm512_shuffle_f64x2::<0xee>(x[0], x[1]); // 02 03 12 13
        let c = _mm512_shuffle_f64x2::<0x44>(x[2], x[3]);
        let d = _mm512_shuffle_f64x2::<0xee>(x[2], x[3]);
        [
            _mm512_shuffle_f64x2::<0x88>(a, c),
            _mm512_shuffle_f64x2::<0xdd>(a, c),
            _mm512_shuffle_f64x2::<0x88>(b, d),
            _mm512_shuffle_f64x2::<0xdd>(b, d),
        ]
    })
}

#[derive(Clone, Copy)]
pub(crate) struct Avx2([__m256d; 2]);

macro_rules! pair {
    ($f:ident, $($x:expr),*) => {
        [vector!($f($($x[0]),*)), vector!($f($($x[1]),*))]
    };
}

op!(Avx2, Add, add, |a, b| [
    _mm256_add_pd(a[0], b[0]),
    _mm256_add_pd(a[1], b[1])
]);
op!(Avx2, Sub, sub, |a, b| [
    _mm256_sub_pd(a[0], b[0]),
    _mm256_sub_pd(a[1], b[1])
]);
op!(Avx2, Mul, mul, |a, b| [
    _mm256_mul_pd(a[0], b[0]),
    _mm256_mul_pd(a[1], b[1])
]);

impl Lanes for Avx2 {
    type Word = [__m256i; 2];

    inlined! {
        prefetch(group: &[f64; 2 * LANES]) = prefetch_halves(group);
        mul_add(self, b: Self, c: Self) -> Self = Self(pair!(_mm256_fmadd_pd, self.0, b.0, c.0));
        neg_mul_add(self, b: Self, c: Self) -> Self = Self(pair!(_mm256_fnmadd_pd, self.0, b.0, c.0));
        mul_sub(self, b: Self, c: Self) -> Self = Self(pair!(_mm256_fmsub_pd, self.0, b.0, c.0));
        add_word(a: Self::Word, b: Self::Word) -> Self::Word = pair!(_mm256_add_epi64, a, b);
        sub_word(a: Self::Word, b: Self::Word) -> Self::Word = pair!(_mm256_sub_epi64, a, b);
        and_word(a: Self::Word, b: Self::Word) -> Self::Word = pair!(_mm256_and_si256, a, b);
        or_word(a: Self::Word, b: Self::Word) -> Self::Word = pair!(_mm256_or_si256, a, b);
        shr_word(a: Self::Word, count: Self::Word) -> Self::Word = pair!(_mm256_srlv_epi64, a, count);
        shl_word(a: Self::Word, count: Self::Word) -> Self::Word = pair!(_mm256_sllv_epi64, a, count);
        from_bits(a: Self::Word) -> Self = Self(pair!(_mm256_castsi256_pd, a));
        to_bits(self) -> Self::Word = pair!(_mm256_castpd_si256, self.0);
    }

    #[inline(always)]
    fn load(from: &[f64; LANES]) -> Self {
        let (low, high) = from.split_at(4);
        Self(vector!([
            _mm256_loadu_pd(low.as_ptr()),
            _mm256_loadu_pd(high.as_ptr())
        ]))
    }

    #[inline(always)]
    fn store(self, to: &mut [f64; LANES]) {
        let (low, high) = to.split_at_mut(4);
        vector!({
            _mm256_storeu_pd(low.as_mut_ptr(), self.0[0]);
            _mm256_storeu_pd(high.as_mut_ptr(), self.0[1]);
        });
    }

    #[inline(always)]
    fn splat(x: f64) -> Self {
        Self([vector!(_mm256_set1_pd(x)); 2])
    }

    #[inline(always)]
    fn transpose(x: [Self; LANES]) -> [Self; LANES] {
        // four blocks of 4 × 4
        let a = four(array!(4, x[0].0[0], |i| x[i].0[0]));
        let b = four(array!(4, x[0].0[0], |i| x[4 + i].0[0]));
        let c = four(array!(4, x[0].0[0], |i| x[i].0[1]));
        let d = four(array!(4, x[0].0[0], |i| x[4 + i].0[1]));
        array!(8, x[0], |j| Self(if j < 4 {
            [a[j], b[j]]
        } else {
            [c[j - 4], d[j - 4]]
        }))
    }

    #[inline(always)]
    fn load_word(from: &[u64; LANES]) -> Self::Word {
        let (low, high) = from.split_at(4);
        vector!([
            _mm256_loadu_si256(low.as_ptr().cast()),
            _mm256_loadu_si256(high.as_ptr().cast())
        ])
    }

    #[inline(always)]
    fn store_word(x: Self::Word, to: &mut [u64; LANES]) {
        let (low, high) = to.split_at_mut(4);
        vector!({
            _mm256_storeu_si256(low.as_mut_ptr().cast(), x[0]);
            _mm256_storeu_si256(high.as_mut_ptr().cast(), x[1]);
        });
    }

    #[inline(always)]
    fn splat_word(x: u64) -> Self::Word {
        [vector!(_mm256_set1_epi64x(x as i64)); 2]
    }
}

/// Transposes a 4 × 4 matrix.
#[inline(always)]
fn four(x: [__m256d; 4]) -> [__m256d; 4] {
    vector!({
        let a = _mm256_unpacklo_pd(x[0], x[1]); // 00 10 02 12
        let b = _mm256_unpackhi_pd(x[0], x[1]); // 01 11 03 13
        let c = _mm256_unpacklo_pd(x[2], x[3]);
        let d = _mm256_unpackhi_pd(x[2], x[3]);
        [
            _mm256_permute2f128_pd::<0x20>(a, c),
            _mm256_permute2f128_pd::<0x20>(b, d),
            _mm256_permute2f128_pd::<0x31>(a, c),
            _mm256_permute2f128_pd::<0x31>(b, d),
        ]
    })
}
