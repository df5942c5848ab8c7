//! The text of the kernels.

use crate::arithmetic::Arithmetic;
use homaes_bgv::Params;

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
    ("words.cu", include_str!("../kernels/words.cu")),
    ("blocks.cu", include_str!("../kernels/blocks.cu")),
    ("readings.cu", include_str!("../kernels/readings.cu")),
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

/// What the shape of a launch depends on.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Size {
    pub(crate) multiprocessors: usize,
    /// bytes of shared memory of each
    pub(crate) shared: usize,
    /// the most of these that a block may have
    pub(crate) block_shared: usize,
}

impl Size {
    #[cfg(any(test, feature = "emulator"))]
    pub(crate) const H100: Self = Self {
        multiprocessors: 132,
        shared: 228 << 10,
        block_shared: 227 << 10,
    };
}

/// The ring and the primes that kernels are compiled for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Kind {
    /// length of the axis of 257, or 1
    pub(crate) cols: usize,
    /// polynomials of R per polynomial of the ring
    pub(crate) halves: usize,
    /// bits of the longest primes, 47 or 48
    pub(crate) prime_bits: u32,
}

impl Kind {
    #[cfg(test)]
    pub(crate) const TOY: Self = Self {
        cols: 1,
        halves: 1,
        prime_bits: 47,
    };

    pub(crate) fn of(params: &Params) -> Self {
        let (rns, ring) = (params.rns(), params.ring());
        let bits = (0..rns.count()).map(|i| rns.modulus(i).bits());
        Self {
            cols: ring.cols() / ring.halves(),
            halves: ring.halves(),
            prime_bits: bits.fold(47, u32::max),
        }
    }

    /// Options of the compiler.
    pub(crate) fn definitions(self) -> [String; 4] {
        [
            format!("-DCOLS={}", self.cols),
            format!("-DHALVES={}", self.halves),
            format!("-DPRIME_BITS={}", self.prime_bits),
            format!("-DMOST_PRIMES={MOST_PRIMES}"),
        ]
    }
}

/// Options besides the GPU's architecture. Products and sums are rounded separately, as on the processor.
pub(crate) const OPTIONS: &[&str] = &["--std=c++17", "--fmad=false"];

/// Names and texts of the kernels.
pub(crate) fn kernels() -> impl Iterator<Item = (&'static str, &'static str)> {
    let begin = "extern \"C\" __global__ void ";
    let all = FILES
        .iter()
        .flat_map(move |(_, text)| text.split(begin).skip(1));
    all.map(|kernel| {
        let bounds = kernel.strip_prefix("__launch_bounds__(");
        let head = bounds.and_then(|bounds| bounds.split_once(") "));
        let head = head.map_or(kernel, |(_, head)| head);
        (head.split('(').next().unwrap_or(head), kernel)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(feature = "trace")]
    #[test]
    fn files_of_a_folder_replace_those_built_in() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("rows.cu"), "// other rows\n").unwrap();
        let found = with_files_of(folder.path(), Arithmetic::Integers);
        let rows = FILES.iter().find(|(name, _)| *name == "rows.cu").unwrap().1;
        let built_in = source(Arithmetic::Integers);
        assert_eq!(found, built_in.replace(rows, "// other rows\n"));
    }

    /// Without the wait a kernel could read what the last one has not written yet.
    #[test]
    fn every_kernel_waits_for_those_before_it() {
        let files = FILES.iter().filter(|(name, _)| name.ends_with(".cu"));
        let count = files.map(|(_, text)| text.matches("__global__").count());
        assert_eq!(kernels().count(), count.sum::<usize>());
        for (name, kernel) in kernels() {
            let allowed = |c: char| c.is_ascii_alphanumeric() || c == '_';
            assert!(!name.is_empty() && name.chars().all(allowed), "{name}");
            assert!(kernel.contains("AFTER_THE_LAST();"), "{name}");
        }
    }
}
