//! The kernels in double precision for AVX2 with FMA.

use super::double::Doubles;
use super::double_ntt::{self, Tables};
use super::{double_products, double_words};
use crate::halves;
use crate::kernel::{self, Combination, RowTerm, Tensor, Term};
use crate::modulus::{Modulus, Shoup};
use crate::ring::{GaloisMap, Ring};
use core::arch::x86_64::*;
use core::ops::{Add, Mul, Sub};

/// Four numbers.
#[derive(Clone, Copy)]
struct Avx2(__m256d);

macro_rules! op {
    ($op:ident, $f:ident, $of:ident) => {
        impl $op for Avx2 {
            type Output = Self;
            #[inline(always)]
            fn $f(self, rhs: Self) -> Self {
                // SAFETY: values of the type are made in functions compiled for AVX2 alone.
                Self(unsafe { $of(self.0, rhs.0) })
            }
        }
    };
}

op!(Add, add, _mm256_add_pd);
op!(Sub, sub, _mm256_sub_pd);
op!(Mul, mul, _mm256_mul_pd);

// SAFETY, for every block: as the trait says.
macro_rules! vector {
    ($body:expr) => {
        // SAFETY: see above.
        Self(unsafe { $body })
    };
}

/// Four lanes that begin at `first` and are permuted.
#[derive(Clone, Copy)]
struct Map {
    first: usize,
    /// by halves of words
    lanes: __m256i,
}

impl Doubles<2> for Avx2 {
    type Map = Map;

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
    unsafe fn prefetch(at: *const u64) {
        // SAFETY: a prefetch of any address is harmless.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(at.cast()) }
    }

    #[inline(always)]
    unsafe fn splat(x: f64) -> Self {
        vector!(_mm256_set1_pd(x))
    }

    #[inline(always)]
    unsafe fn load(from: *const f64) -> Self {
        vector!(_mm256_loadu_pd(from))
    }

    #[inline(always)]
    unsafe fn store(self, to: *mut f64) {
        // SAFETY: as the trait says.
        unsafe { _mm256_storeu_pd(to, self.0) }
    }

    #[inline(always)]
    unsafe fn mul_add(self, b: Self, c: Self) -> Self {
        vector!(_mm256_fmadd_pd(self.0, b.0, c.0))
    }

    #[inline(always)]
    unsafe fn neg_mul_add(self, b: Self, c: Self) -> Self {
        vector!(_mm256_fnmadd_pd(self.0, b.0, c.0))
    }

    #[inline(always)]
    unsafe fn mul_sub(self, b: Self, c: Self) -> Self {
        vector!(_mm256_fmsub_pd(self.0, b.0, c.0))
    }

    #[inline(always)]
    unsafe fn or(self, b: Self) -> Self {
        vector!(_mm256_or_pd(self.0, b.0))
    }

    #[inline(always)]
    unsafe fn xor(self, b: Self) -> Self {
        vector!(_mm256_xor_pd(self.0, b.0))
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
    unsafe fn floor(self) -> Self {
        vector!(_mm256_floor_pd(self.0))
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
    unsafe fn other([a, b]: [Self; 2]) -> [Self; 2] {
        [b, a]
    }

    #[inline(always)]
    unsafe fn opposite(self) -> Self {
        vector!(_mm256_permute2f128_pd::<1>(self.0, self.0))
    }

    #[inline(always)]
    unsafe fn next(self) -> Self {
        vector!(_mm256_permute_pd::<0b0101>(self.0))
    }
}

macro_rules! kernels {
    ($($path:ident :: $name:ident ( $($arg:ident : $ty:ty),* $(,)? );)*) => {$(
        /// # Safety
        /// The processor must have AVX2 and FMA.
        #[target_feature(enable = "avx2,fma")]
        pub(super) unsafe fn $name($($arg: $ty),*) {
            // SAFETY: as the caller vouches; the kernels check all lengths before they touch memory.
            unsafe { $path::$name::<Avx2, 2>($($arg),*) }
        }
    )*};
}

kernels! {
    double_ntt::rows(m: &Modulus, t: &Tables, rows: &mut [u64]);
    double_ntt::columns(m: &Modulus, t: &Tables, a: &mut [u64]);
    double_products::inner_product(ring: &Ring, m: &Modulus, terms: &[Term<'_>], rows: &[RowTerm<'_>], out: &mut [[&mut [u64]; 2]]);
    double_products::row_sums(ring: &Ring, m: &Modulus, x: &[u64], keys: [&[u64]; 2], maps: &[&GaloisMap], out: &mut [[&mut [u64]; 2]]);
    double_products::tensor(ring: &Ring, m: &Modulus, t: &Tensor<'_>, out: [&mut [u64]; 4]);
    double_products::tensor_high(ring: &Ring, m: &Modulus, t: &Tensor<'_>, out: [&mut [u64]; 2]);
    double_products::product(m: &Modulus, factors: [[&[u64]; 2]; 2], c: Shoup, out: [&mut [u64]; 3]);
    double_products::dot(m: &Modulus, terms: &[[&[u64]; 2]], add: bool, out: &mut [u64]);
    double_products::dots(m: &Modulus, x: &[&[&[u64]]], y: [&[&[u64]]; 2], add: bool, out: &mut [&mut [u64]]);
    double_words::centred(m: &Modulus, source: &Modulus, halves: &[u64], out: &mut [u64]);
    double_products::dot_halves(m: &Modulus, terms: &[[&[u64]; 2]], add: bool, out: &mut [u64]);
    double_products::combine(combinations: &[Combination<'_>], sources: &[&[u64]], out: &mut [&mut [u64]]);
    double_words::quotient(sources: &[&[u64]], inverses: &[f64], out: &mut [u64]);
    double_words::scale_canonical(m: &Modulus, c: Shoup, a: &mut [u64]);
    double_words::scale_add(m: &Modulus, a: &[u64], c: Shoup, out: &mut [u64]);
    double_words::mix_column(ring: &Ring, m: &Modulus, two_by_row: &[Shoup], s: [&mut [u64]; 4]);
}

macro_rules! compiled {
    ($($name:ident = $path:ident :: $of:ident ( $($arg:ident : $ty:ty),* $(,)? );)*) => {$(
        /// The portable twin, compiled for this processor.
        ///
        /// # Safety
        /// The processor must have AVX2 and FMA.
        #[target_feature(enable = "avx2,fma")]
        pub(super) unsafe fn $name($($arg: $ty),*) {
            $path::$of($($arg),*);
        }
    )*};
}

compiled! {
    to_torus = kernel::to_torus_words(m: &Modulus, x: &[u64], constants: [u64; 2], out: &mut [u64]);
    limb_sums = kernel::limb_sums_words(y: &[&[u64]], constants: &[Vec<u64>], out: &mut [&mut [u64]]);
    pack = halves::pack_words(m: &Modulus, words: &[u64], out: &mut [u64]);
    unpack = halves::unpack_words(packed: &[u64], out: &mut [u64]);
    add_halves = halves::add_words(m: &Modulus, a: &[u64], b: &[u64], out: &mut [u64]);
    sums_of_halves = halves::sums_of_rows(m: &Modulus, sources: &[&[u64]], rows: &[Vec<u16>], out: &mut [&mut [u64]]);
    sums = kernel::sums_of_rows(m: &Modulus, sources: &[&[u64]], rows: &[Vec<u16>], out: &mut [&mut [u64]]);
    add = kernel::add_words(m: &Modulus, a: &[u64], b: &[u64], out: &mut [u64]);
}
