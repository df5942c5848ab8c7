//! Selection of the [`Lanes`](crate::integer::word_lanes::Lanes) for the kernels of large integers, and those of
//! AVX-512 IFMA. Other vector instructions use those in double precision.
//!
//! Sound because values of [`Ifma`] are only made inside the `target_feature` functions below, which run after the
//! features were detected. All accesses go through references to arrays, except `load_bytes`, which compares lengths.

use super::Backend;
use crate::integer::convolution_ntt::{Garner, Tables};
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
use crate::integer::doubles::ByDoubles;
use crate::integer::fermat::Test;
use crate::integer::word_lanes::{LANES, Portable};
use crate::integer::{convolution_ntt, fermat, rows};
use crate::modulus::{Modulus, Shoup};

#[cfg(target_arch = "x86_64")]
#[derive(Clone, Copy)]
pub(crate) struct Ifma(core::arch::x86_64::__m512i);

#[cfg(target_arch = "x86_64")]
mod ifma {
    use super::Ifma;
    use crate::float_lanes::inlined;
    use crate::integer::word_lanes::{LANES, Lanes, by_halves};
    use core::arch::x86_64::*;

    // SAFETY, for every block of the implementation: the features are there (see the module's head); loads and stores
    // are unaligned, through references to arrays of eight words.
    macro_rules! vector {
        ($body:expr) => {
            // SAFETY: see above.
            Ifma(unsafe { $body })
        };
    }

    impl Lanes for Ifma {
        inlined! {
            load(from: &[u64; LANES]) -> Self = vector!(_mm512_loadu_si512(from.as_ptr().cast()));
            splat(x: u64) -> Self = vector!(_mm512_set1_epi64(x as i64));
            plus(self, b: Self) -> Self = vector!(_mm512_add_epi64(self.0, b.0));
            minus(self, b: Self) -> Self = vector!(_mm512_sub_epi64(self.0, b.0));
            and(self, b: Self) -> Self = vector!(_mm512_and_si512(self.0, b.0));
            or(self, b: Self) -> Self = vector!(_mm512_or_si512(self.0, b.0));
            shr(self, count: Self) -> Self = vector!(_mm512_srlv_epi64(self.0, count.0));
            shl(self, count: Self) -> Self = vector!(_mm512_sllv_epi64(self.0, count.0));
            add_low(self, b: Self, c: Self) -> Self = vector!(_mm512_madd52lo_epu64(c.0, self.0, b.0));
            add_high(self, b: Self, c: Self) -> Self = vector!(_mm512_madd52hi_epu64(c.0, self.0, b.0));
            permute(self, index: Self) -> Self = vector!(_mm512_permutexvar_epi64(index.0, self.0));
        }

        #[inline(always)]
        fn store(self, to: &mut [u64; LANES]) {
            // SAFETY: as above.
            unsafe { _mm512_storeu_si512(to.as_mut_ptr().cast(), self.0) };
        }

        #[inline(always)]
        fn minus_if_not_less(self, b: Self) -> Self {
            vector!(_mm512_min_epu64(self.0, _mm512_sub_epi64(self.0, b.0)))
        }

        #[inline(always)]
        fn transpose(x: [Self; LANES]) -> [Self; LANES] {
            use crate::float_lanes::Lanes as _;
            use crate::simd::x86_lanes::Avx512;
            let reals =
                crate::float_lanes::array!(8, Avx512::from_bits(x[0].0), |i| Avx512::from_bits(
                    x[i].0
                ));
            let reals = Avx512::transpose(reals);
            crate::float_lanes::array!(8, x[0], |i| Self(reals[i].to_bits()))
        }

        #[inline(always)]
        fn load_bytes(words: &[u64], at: usize) -> Self {
            if at + 64 <= 8 * words.len() {
                // SAFETY: 64 bytes are there, just compared.
                vector!(_mm512_loadu_si512(
                    words.as_ptr().cast::<u8>().add(at).cast()
                ))
            } else {
                let mut end = [0; 2 * LANES];
                let from = words.get(at / 8..).unwrap_or_default();
                end[..from.len().min(LANES + 1)]
                    .copy_from_slice(&from[..from.len().min(LANES + 1)]);
                // SAFETY: at % 8 + 64 bytes are at most 128.
                vector!(_mm512_loadu_si512(
                    end.as_ptr().cast::<u8>().add(at % 8).cast()
                ))
            }
        }

        by_halves!();
    }
}

/// A kernel compiled for processors with `$features`.
#[cfg(target_arch = "x86_64")]
macro_rules! with_features {
    ($backend:ident, $features:literal, $lanes:ty, $module:ident :: $name:ident ( $($arg:ident : $ty:ty),* )) => {{
        #[target_feature(enable = $features)]
        fn compiled($($arg: $ty),*) {
            $module::$name::<$lanes>($($arg),*)
        }
        assert!($backend.is_available(), "the processor lacks these instructions");
        // SAFETY: the processor has the features, just checked.
        unsafe { compiled($($arg),*) }
    }};
}

macro_rules! kernels {
    ($($(#[$doc:meta])* $module:ident :: $name:ident ( $($arg:ident : $ty:ty),* $(,)? );)*) => {$(
        $(#[$doc])*
        pub(crate) fn $name(backend: Backend, $($arg: $ty),*) {
            match backend {
                Backend::Portable => $module::$name::<Portable>($($arg),*),
                #[cfg(target_arch = "aarch64")]
                Backend::Neon => $module::$name::<ByDoubles<super::neon::lanes::Neon>>($($arg),*),
                #[cfg(target_arch = "x86_64")]
                Backend::Avx2 => with_features!(backend, "avx2,fma", ByDoubles<super::x86_lanes::Avx2>, $module::$name($($arg: $ty),*)),
                #[cfg(target_arch = "x86_64")]
                Backend::Avx512 => with_features!(backend, "avx512f", ByDoubles<super::x86_lanes::Avx512>, $module::$name($($arg: $ty),*)),
                #[cfg(target_arch = "x86_64")]
                Backend::Avx512Ifma => with_features!(backend, "avx512f,avx512dq,avx512ifma", Ifma, $module::$name($($arg: $ty),*)),
                _ => unreachable!("vector backends are never selected on this architecture"),
            }
        }
    )*};
}

kernels! {
    convolution_ntt::forward(m: &Modulus, t: &Tables, scale: Shoup, words: (&[u64], usize), out: &mut [u64]);
    convolution_ntt::inverse(m: &Modulus, t: &Tables, scale: Shoup, a: &mut [u64]);
    convolution_ntt::multiply(m: &Modulus, a: &[u64], b: &[u64], out: &mut [u64]);
    convolution_ntt::multiply_assign(m: &Modulus, a: &mut [u64], b: &[u64]);
    convolution_ntt::multiply_add(m: &Modulus, a: &[u64], b: &[u64], out: &mut [u64]);
    convolution_ntt::combine(g: &Garner, bits: usize, residues: [&[u64]; 3], out: [&mut [u64]; 3]);
    rows::accumulate(vectors: &[[u64; LANES]], digits: &[u64], shape: (usize, usize), out: &mut [u64], spacing: usize);
    fermat::powers(test: &Test, differs: &mut [u64; LANES]);
}
