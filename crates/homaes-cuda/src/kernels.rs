//! The text of the kernels.

/// All of it, in the order in which it is compiled.
pub(crate) const SOURCE: &str = concat!(
    include_str!("../kernels/arithmetic_double.h"),
    include_str!("../kernels/transform.h"),
    include_str!("../kernels/rows.cu"),
    include_str!("../kernels/columns.cu"),
    include_str!("../kernels/sums.cu"),
);

/// Entry points of the source.
pub(crate) const NAMES: [&str; 13] = [
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
];
