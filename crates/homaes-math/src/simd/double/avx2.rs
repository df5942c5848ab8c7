//! The kernels in double precision for AVX2 with FMA.

use super::{Doubles, Number, methods, operators};
use core::arch::x86_64::*;

#[derive(Clone, Copy)]
struct Avx2(__m256d);

operators! { Avx2: Add add _mm256_add_pd; Sub sub _mm256_sub_pd; Mul mul _mm256_mul_pd; }

/// Four lanes that begin at `first` and are permuted.
#[derive(Clone, Copy)]
struct Map {
    first: usize,
    /// by halves of words
    lanes: __m256i,
}

impl Number for Avx2 {
    methods! {
        splat(x: f64) -> Self = Self(_mm256_set1_pd(x));
        mul_add(self, b: Self, c: Self) -> Self = Self(_mm256_fmadd_pd(self.0, b.0, c.0));
        neg_mul_add(self, b: Self, c: Self) -> Self = Self(_mm256_fnmadd_pd(self.0, b.0, c.0));
        mul_sub(self, b: Self, c: Self) -> Self = Self(_mm256_fmsub_pd(self.0, b.0, c.0));
    }
}

impl Doubles<2> for Avx2 {
    type Map = Map;

    methods! {
        prefetch(at: *const u64) = _mm_prefetch::<_MM_HINT_T0>(at.cast());
        load(from: *const f64) -> Self = Self(_mm256_loadu_pd(from));
        store(self, to: *mut f64) = _mm256_storeu_pd(to, self.0);
        or(self, b: Self) -> Self = Self(_mm256_or_pd(self.0, b.0));
        xor(self, b: Self) -> Self = Self(_mm256_xor_pd(self.0, b.0));
        floor(self) -> Self = Self(_mm256_floor_pd(self.0));
        next(self) -> Self = Self(_mm256_permute_pd::<0b0101>(self.0));
    }

    #[inline(always)]
    unsafe fn map(source: &[u64; 8], h: usize) -> Map {
        // the axis of 5 has four lanes, all of one half
        let half = |i: usize| 2 * (source[4 * h + i / 2] % 4) as i32 + (i % 2) as i32;
        let lanes = [
            half(0),
            half(1),
            half(2),
            half(3),
            half(4),
            half(5),
            half(6),
            half(7),
        ];
        Map {
            first: source[4 * h] as usize / 4 * 4,
            // SAFETY: as the trait says; an array of 32 bytes is read.
            lanes: unsafe { _mm256_loadu_si256(lanes.as_ptr().cast()) },
        }
    }

    #[inline(always)]
    unsafe fn load_mapped(from: *const f64, map: Map) -> Self {
        // SAFETY: as the trait says.
        unsafe {
            let x = _mm256_loadu_si256(from.add(map.first).cast());
            Self(_mm256_castsi256_pd(_mm256_permutevar8x32_epi32(
                x, map.lanes,
            )))
        }
    }

    #[inline(always)]
    unsafe fn load_key(from: *const u8) -> Self {
        // SAFETY: as the trait says; 32 bytes are read, eight of them behind the words.
        unsafe {
            let x = _mm256_loadu_si256(from.cast());
            // the halves that a word begins and ends in
            let x = _mm256_permutevar8x32_epi32(x, _mm256_setr_epi32(0, 1, 1, 2, 3, 4, 4, 5));
            let x = _mm256_srlv_epi64(x, _mm256_setr_epi64x(0, 16, 0, 16));
            let x = _mm256_and_si256(x, _mm256_set1_epi64x((1 << 48) - 1));
            Self(_mm256_castsi256_pd(x))
        }
    }

    #[inline(always)]
    unsafe fn halves(self) -> [Self; 2] {
        // SAFETY: as the trait says.
        unsafe {
            let x = _mm256_castpd_si256(self.0);
            let low = _mm256_and_si256(x, _mm256_set1_epi64x(i64::from(u32::MAX)));
            [low, _mm256_srli_epi64::<32>(x)].map(|x| Self(_mm256_castsi256_pd(x)))
        }
    }

    #[inline(always)]
    unsafe fn add_if_negative(self, b: Self) -> Self {
        // SAFETY: as the trait says.
        unsafe {
            let negative = _mm256_cmp_pd::<_CMP_LT_OQ>(self.0, _mm256_setzero_pd());
            self + Self(_mm256_and_pd(b.0, negative))
        }
    }

    #[inline(always)]
    unsafe fn three([a, b]: [Self; 2]) -> [Self; 2] {
        [a + b, a - b]
    }

    #[inline(always)]
    unsafe fn five(x: [Self; 2]) -> [Self; 2] {
        // SAFETY: as the trait says.
        unsafe {
            let signs = Self(_mm256_setr_pd(1.0, 1.0, -1.0, -1.0));
            x.map(|x| x.mul_add(signs, Self(_mm256_permute2f128_pd::<1>(x.0, x.0))))
        }
    }
}

super::compiled::kernels!(Avx2, 2, "avx2,fma");
