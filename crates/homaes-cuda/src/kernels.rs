//! The text of the kernels.

/// Kernels of tests of their own.
#[cfg(test)]
macro_rules! barriers {
    () => {
        include_str!("tests/barriers.cu")
    };
}
#[cfg(not(test))]
macro_rules! barriers {
    () => {
        ""
    };
}

/// All of it, in the order in which it is compiled.
pub(crate) const SOURCE: &str = concat!(
    include_str!("../kernels/arithmetic_double.h"),
    include_str!("../kernels/transform.h"),
    include_str!("../kernels/rows.cu"),
    include_str!("../kernels/columns.cu"),
    include_str!("../kernels/products.cu"),
    include_str!("../kernels/sums.cu"),
    barriers!(),
);

/// Primes whose roots there is room for.
pub(crate) const MOST_PRIMES: usize = 64;

/// Words of the roots of a prime.
pub(crate) const ROOTS: usize = 64;

/// What the text is compiled with, for a ring of so many columns.
pub(crate) fn definitions(cols: usize) -> [String; 2] {
    [
        format!("-DCOLS={cols}"),
        format!("-DMOST_PRIMES={MOST_PRIMES}"),
    ]
}

/// How it is compiled, beside the GPU's architecture.
#[cfg(not(feature = "emulator"))]
pub(crate) const OPTIONS: &[&str] = &["--std=c++17", "--fmad=false"];

/// Entry points of the source.
pub(crate) const NAMES: &[&str] = &[
    "rows_convert",
    "columns_inverse",
    "columns_forward",
    "columns_finish",
    "parts_columns",
    "key_columns",
    "inner_product",
    "sum_limbs",
    #[cfg(test)]
    "test_block",
    #[cfg(test)]
    "test_warp",
    #[cfg(test)]
    "test_words",
    #[cfg(test)]
    "test_without_barrier",
    #[cfg(test)]
    "test_beyond_memory",
    #[cfg(test)]
    "test_mixed_barriers",
];
