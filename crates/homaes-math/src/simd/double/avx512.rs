//! The kernels in double precision for AVX-512 F, where there are no 52-bit integer products.

use super::{Doubles, Number, methods, operators};
use core::arch::x86_64::*;

#[derive(Clone, Copy)]
struct Avx512(__m512d);

operators! { Avx512: Add add _mm512_add_pd; Sub sub _mm512_sub_pd; Mul mul _mm512_mul_pd; }

/// On integers: the instructions of doubles need AVX-512 DQ.
macro_rules! bitwise {
    ($f:ident, $a:expr, $b:expr) => {
        Self(_mm512_castsi512_pd($f(
            _mm512_castpd_si512($a),
            _mm512_castpd_si512($b),
        )))
    };
}

impl Number for Avx512 {
    methods! {
        splat(x: f64) -> Self = Self(_mm512_set1_pd(x));
        mul_add(self, b: Self, c: Self) -> Self = Self(_mm512_fmadd_pd(self.0, b.0, c.0));
        neg_mul_add(self, b: Self, c: Self) -> Self = Self(_mm512_fnmadd_pd(self.0, b.0, c.0));
        mul_sub(self, b: Self, c: Self) -> Self = Self(_mm512_fmsub_pd(self.0, b.0, c.0));
    }
}

impl Doubles<1> for Avx512 {
    /// the place of each lane
    type Map = __m512i;

    methods! {
        load_mapped(from: *const f64, map: __m512i) -> Self = Self(_mm512_permutexvar_pd(map, _mm512_loadu_pd(from)));
        prefetch(at: *const u64) = _mm_prefetch::<_MM_HINT_T0>(at.cast());
        load(from: *const f64) -> Self = Self(_mm512_loadu_pd(from));
        store(self, to: *mut f64) = _mm512_storeu_pd(to, self.0);
        or(self, b: Self) -> Self = bitwise!(_mm512_or_si512, self.0, b.0);
        xor(self, b: Self) -> Self = bitwise!(_mm512_xor_si512, self.0, b.0);
        floor(self) -> Self = Self(_mm512_roundscale_pd::<{ _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC }>(self.0));
        next(self) -> Self = Self(_mm512_permute_pd::<0b0101_0101>(self.0));
    }

    #[inline(always)]
    unsafe fn map(source: &[u64; 8], _: usize) -> __m512i {
        // SAFETY: as the trait says; an array of 64 bytes is read.
        unsafe { _mm512_loadu_si512(source.as_ptr().cast()) }
    }

    #[inline(always)]
    unsafe fn load_key(from: *const u8) -> Self {
        // SAFETY: as the trait says; 64 bytes are read, sixteen of them behind the words.
        unsafe {
            let x = _mm512_loadu_si512(from.cast());
            // the halves that a word begins and ends in
            let halves = _mm512_setr_epi32(0, 1, 1, 2, 3, 4, 4, 5, 6, 7, 7, 8, 9, 10, 10, 11);
            let x = _mm512_permutexvar_epi32(halves, x);
            let x = _mm512_srlv_epi64(x, _mm512_setr_epi64(0, 16, 0, 16, 0, 16, 0, 16));
            let x = _mm512_and_si512(x, _mm512_set1_epi64((1 << 48) - 1));
            Self(_mm512_castsi512_pd(x))
        }
    }

    #[inline(always)]
    unsafe fn halves(self) -> [Self; 2] {
        // SAFETY: as the trait says.
        unsafe {
            let x = _mm512_castpd_si512(self.0);
            let low = _mm512_and_si512(x, _mm512_set1_epi64(i64::from(u32::MAX)));
            [low, _mm512_srli_epi64::<32>(x)].map(|x| Self(_mm512_castsi512_pd(x)))
        }
    }

    #[inline(always)]
    unsafe fn add_if_negative(self, b: Self) -> Self {
        // SAFETY: as the trait says.
        unsafe {
            let negative = _mm512_cmp_pd_mask::<_CMP_LT_OQ>(self.0, _mm512_setzero_pd());
            Self(_mm512_mask_add_pd(self.0, negative, self.0, b.0))
        }
    }

    #[inline(always)]
    unsafe fn three([x]: [Self; 1]) -> [Self; 1] {
        // SAFETY: as the trait says.
        unsafe {
            let other = _mm512_shuffle_f64x2::<0b01_00_11_10>(x.0, x.0);
            let sum = _mm512_add_pd(other, x.0);
            [Self(_mm512_mask_sub_pd(sum, 0xf0, other, x.0))]
        }
    }

    #[inline(always)]
    unsafe fn five([x]: [Self; 1]) -> [Self; 1] {
        // SAFETY: as the trait says.
        unsafe {
            let signs = Self(_mm512_setr4_pd(1.0, 1.0, -1.0, -1.0));
            let opposite = Self(_mm512_permutex_pd::<0b01_00_11_10>(x.0));
            [x.mul_add(signs, opposite)]
        }
    }
}

super::compiled::kernels!(Avx512, 1, "avx512f");
