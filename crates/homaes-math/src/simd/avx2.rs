//! The kernels of [`super::double`] for AVX2 with FMA.

use super::double::{self, Doubles, Tables};
use crate::modulus::Modulus;
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

impl Doubles<2> for Avx2 {
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
    ($($name:ident ( $($arg:ident : $ty:ty),* $(,)? );)*) => {$(
        /// # Safety
        /// The processor must have AVX2 and FMA.
        #[target_feature(enable = "avx2,fma")]
        pub(super) unsafe fn $name($($arg: $ty),*) {
            // SAFETY: as the caller vouches; the kernels check all lengths before they touch memory.
            unsafe { double::$name::<Avx2, 2>($($arg),*) }
        }
    )*};
}

kernels! {
    rows(m: &Modulus, t: &Tables, rows: &mut [u64]);
    columns(m: &Modulus, t: &Tables, a: &mut [u64]);
}
