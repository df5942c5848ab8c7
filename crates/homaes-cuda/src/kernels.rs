//! The text of the kernels.

use crate::arithmetic::Arithmetic;

/// Its files in the order of compilation. Those that end in `_double.h` or `_u64.h` belong to one arithmetic.
const FILES: &[(&str, &str)] = &[
    (
        "arithmetic_double.h",
        include_str!("../kernels/arithmetic_double.h"),
    ),
    (
        "arithmetic_u64.h",
        include_str!("../kernels/arithmetic_u64.h"),
    ),
    ("platform.h", include_str!("../kernels/platform.h")),
    ("transform.h", include_str!("../kernels/transform.h")),
    ("sums_double.h", include_str!("../kernels/sums_double.h")),
    ("sums_u64.h", include_str!("../kernels/sums_u64.h")),
    ("rows.cu", include_str!("../kernels/rows.cu")),
    ("columns.cu", include_str!("../kernels/columns.cu")),
    ("products.cu", include_str!("../kernels/products.cu")),
    ("sums.cu", include_str!("../kernels/sums.cu")),
    ("blocks.cu", include_str!("../kernels/blocks.cu")),
    #[cfg(test)]
    ("barriers.cu", include_str!("tests/barriers.cu")),
    #[cfg(test)]
    ("numbers.cu", include_str!("tests/numbers.cu")),
    #[cfg(all(test, feature = "trace"))]
    ("ceilings.cu", include_str!("tests/ceilings.cu")),
];

fn files(arithmetic: Arithmetic) -> impl Iterator<Item = &'static (&'static str, &'static str)> {
    let other = match arithmetic {
        Arithmetic::Doubles => "_u64.h",
        Arithmetic::Integers => "_double.h",
    };
    FILES.iter().filter(move |(name, _)| !name.ends_with(other))
}

/// The whole text. With feature `trace`, files in the folder `HOMAES_CUDA_KERNELS` replace those built in.
pub(crate) fn source(arithmetic: Arithmetic) -> String {
    #[cfg(feature = "trace")]
    if let Some(folder) = std::env::var_os("HOMAES_CUDA_KERNELS") {
        return with_files_of(folder.as_ref(), arithmetic);
    }
    files(arithmetic).map(|(_, text)| *text).collect()
}

#[cfg(feature = "trace")]
fn with_files_of(folder: &std::path::Path, arithmetic: Arithmetic) -> String {
    let file = |&(name, text): &(&str, &str)| match std::fs::read_to_string(folder.join(name)) {
        Ok(other) => {
            eprintln!("{name} of {}", folder.display());
            other
        }
        Err(_) => text.into(),
    };
    files(arithmetic).map(file).collect()
}

/// Largest number of primes: kernels have room for the roots of so many.
pub(crate) const MOST_PRIMES: usize = 64;

/// Words of the roots of a prime.
pub(crate) const ROOTS: usize = 64;

/// Definitions for a ring of `cols` columns.
pub(crate) fn definitions(cols: usize) -> [String; 2] {
    [
        format!("-DCOLS={cols}"),
        format!("-DMOST_PRIMES={MOST_PRIMES}"),
    ]
}

/// Options besides the GPU's architecture. Products and sums are rounded separately, as on the processor.
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
    "mix_columns",
    "sum_limbs",
    "block_values",
    "block_coefficients",
    "block_rows",
    "pack_limbs",
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
    #[cfg(test)]
    "test_numbers",
    #[cfg(test)]
    "test_nearest",
    #[cfg(all(test, feature = "trace"))]
    "ceiling_copy",
    #[cfg(all(test, feature = "trace"))]
    "ceiling_arithmetic",
    #[cfg(all(test, feature = "trace"))]
    "ceiling_shuffle",
    #[cfg(all(test, feature = "trace"))]
    "ceiling_shared",
    #[cfg(all(test, feature = "trace"))]
    "ceiling_nothing",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(feature = "trace")]
    #[test]
    fn files_of_a_folder_replace_those_built_in() {
        let folder = std::env::temp_dir().join(format!("homaes-kernels-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join("rows.cu"), "// other rows\n").unwrap();
        let found = with_files_of(&folder, Arithmetic::Integers);
        std::fs::remove_dir_all(&folder).unwrap();
        let rows = FILES.iter().find(|(name, _)| *name == "rows.cu").unwrap().1;
        let built_in = files(Arithmetic::Integers).map(|(_, text)| *text);
        let built_in: String = built_in.collect();
        assert_eq!(found, built_in.replace(rows, "// other rows\n"));
    }

    /// Without the wait a kernel could read what the last one has not written yet.
    #[test]
    fn every_kernel_waits_for_those_before_it() {
        let files = FILES.iter().filter(|(name, _)| name.ends_with(".cu"));
        let kernels = files.flat_map(|(_, text)| text.split("extern \"C\" __global__").skip(1));
        let kernels: Vec<&str> = kernels.collect();
        assert_eq!(kernels.len(), NAMES.len());
        for kernel in kernels {
            assert!(kernel.contains("AFTER_THE_LAST();"), "{kernel}");
        }
    }
}
