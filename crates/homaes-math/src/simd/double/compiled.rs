//! The kernels in double precision, compiled for the registers of a processor.

/// All kernels on registers `$vector`, `$h` of which hold eight lanes, for processors with `$features`.
macro_rules! kernels {
    ($vector:ident, $h:literal, $features:literal) => {
        use crate::simd::double::ntt::Tables;
        use crate::simd::double::{ntt, products, words};
        use crate::kernel::{Combination, RowTerm, Tensor, Term};
        use crate::modulus::{Modulus, Shoup};
        use crate::ring::{GaloisMap, Ring};

        crate::simd::double::compiled::generic! {
            $vector, $h, $features;
            ntt::rows(m: &Modulus, t: &Tables, rows: &mut [u64]);
            ntt::columns(m: &Modulus, t: &Tables, a: &mut [u64]);
            products::inner_product(ring: &Ring, m: &Modulus, terms: &[Term<'_>], rows: &[RowTerm<'_>], out: &mut [[&mut [u64]; 2]]);
            products::row_sums(ring: &Ring, m: &Modulus, x: &[u64], keys: [&[u64]; 2], maps: &[&GaloisMap], out: &mut [[&mut [u64]; 2]]);
            products::tensor(ring: &Ring, m: &Modulus, t: &Tensor<'_>, out: [&mut [u64]; 4]);
            products::tensor_part(ring: &Ring, m: &Modulus, t: &Tensor<'_>, part: usize, out: &mut [u64]);
            products::product(m: &Modulus, factors: [[&[u64]; 2]; 2], c: Shoup, out: [&mut [u64]; 3]);
            products::dot(m: &Modulus, terms: &[[&[u64]; 2]], add: bool, out: &mut [u64]);
            products::dots(m: &Modulus, x: &[&[&[u64]]], y: [&[&[u64]]; 2], add: bool, out: &mut [&mut [u64]]);
            words::centred(m: &Modulus, source: &Modulus, halves: &[u64], out: &mut [u64]);
            products::dot_halves(m: &Modulus, terms: &[[&[u64]; 2]], add: bool, out: &mut [u64]);
            products::combine(combinations: &[Combination<'_>], sources: &[&[u64]], out: &mut [&mut [u64]]);
            words::quotient(sources: &[&[u64]], inverses: &[f64], out: &mut [u64]);
            words::scale_canonical(m: &Modulus, c: Shoup, a: &mut [u64]);
            words::scale_add(m: &Modulus, a: &[u64], c: Shoup, out: &mut [u64]);
            words::mix_column(ring: &Ring, m: &Modulus, two_by_row: &[Shoup], s: [&mut [u64]; 4]);
        }

        crate::simd::double::compiled::compiled! {
            $features;
            to_torus = crate::kernel::to_torus_words(m: &Modulus, x: &[u64], constants: [u64; 2], out: &mut [u64]);
            limb_sums = crate::kernel::limb_sums_words(y: &[&[u64]], constants: &[Vec<u64>], out: &mut [&mut [u64]]);
        }
        crate::simd::double::compiled::twins!($features);
    };
}
pub(in crate::simd) use kernels;

/// Kernels that the compiler makes of their portable twins, for all processors.
macro_rules! twins {
    ($features:literal) => {
        crate::simd::double::compiled::compiled! {
            $features;
            pack = crate::packed_limbs::pack_words(m: &Modulus, words: &[u64], out: &mut [u64]);
            unpack = crate::packed_limbs::unpack_words(packed: &[u64], out: &mut [u64]);
            add_halves = crate::packed_limbs::add_words(m: &Modulus, a: &[u64], b: &[u64], out: &mut [u64]);
            sums_of_halves = crate::packed_limbs::sums_of_rows(m: &Modulus, sources: &[&[u64]], rows: &[Vec<u16>], out: &mut [&mut [u64]]);
            sums = crate::kernel::sums_of_rows(m: &Modulus, sources: &[&[u64]], rows: &[Vec<u16>], out: &mut [&mut [u64]]);
            add = crate::kernel::add_words(m: &Modulus, a: &[u64], b: &[u64], out: &mut [u64]);
        }
    };
}
pub(in crate::simd) use twins;

macro_rules! generic {
    ($vector:ident, $h:literal, $features:literal; $($path:ident :: $name:ident ( $($arg:ident : $ty:ty),* $(,)? );)*) => {$(
        #[target_feature(enable = $features)]
        pub(in crate::simd) unsafe fn $name($($arg: $ty),*) {
            // SAFETY: as the caller vouches; the kernels check all lengths before they touch memory.
            unsafe { $path::$name::<$vector, $h>($($arg),*) }
        }
    )*};
}
pub(in crate::simd) use generic;

macro_rules! compiled {
    ($features:literal; $($name:ident = $($of:ident)::+ ( $($arg:ident : $ty:ty),* $(,)? );)*) => {$(
        /// The portable twin, compiled for this processor.
        #[target_feature(enable = $features)]
        pub(in crate::simd) unsafe fn $name($($arg: $ty),*) {
            $($of)::+($($arg),*);
        }
    )*};
}
pub(in crate::simd) use compiled;
