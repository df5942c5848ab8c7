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
    include_str!("../kernels/sums.cu"),
    barriers!(),
);

/// Entry points of the source.
pub(crate) const NAMES: &[&str] = &[
    "rows_inverse",
    "rows_product",
    "rows_combine",
    "columns_forward",
    "columns_scale",
    "columns_finish",
    "quotient",
    "product_columns",
    "inner_product",
    "mix_keys",
    "add_keys",
    "scale_limbs",
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
