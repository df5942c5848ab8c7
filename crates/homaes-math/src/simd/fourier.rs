//! Selection of the [`Lanes`](crate::lanes::Lanes) for the Fourier kernels.

use crate::fourier::{Digits, Fourier, kernel};
use crate::lanes::Portable;

/// Vector instructions of the Fourier kernels. Results are the same with all of them, bit for bit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Vectors {
    /// plain Rust; slow where the processor has no fused multiply-add
    Portable,
    /// AVX2 and FMA
    Avx2,
    /// AVX-512 F
    Avx512,
}

impl Vectors {
    /// The best of this processor; the environment variable `HOMAES_BACKEND`, set to `portable` or `avx2`, overrules the
    /// detection.
    pub fn detect() -> Self {
        let most = match std::env::var_os("HOMAES_BACKEND") {
            Some(v) if v == "portable" => 1,
            Some(v) if v == "avx2" => 2,
            _ => 3,
        };
        Self::available()
            .take(most)
            .last()
            .unwrap_or(Self::Portable)
    }

    /// All that this processor has, the best last.
    pub fn available() -> impl Iterator<Item = Self> {
        [Self::Portable, Self::Avx2, Self::Avx512]
            .into_iter()
            .filter(|&v| has(v))
    }

    /// The word in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Portable => "portable",
            Self::Avx2 => "avx2",
            Self::Avx512 => "avx512",
        }
    }
}

#[cfg(target_arch = "x86_64")]
fn has(vectors: Vectors) -> bool {
    match vectors {
        Vectors::Portable => true,
        Vectors::Avx2 => is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma"),
        // the order in `available` wants it to be better than AVX2
        Vectors::Avx512 => has(Vectors::Avx2) && is_x86_feature_detected!("avx512f"),
    }
}

#[cfg(not(target_arch = "x86_64"))]
fn has(vectors: Vectors) -> bool {
    vectors == Vectors::Portable
}

macro_rules! kernels {
    ($($(#[$doc:meta])* $name:ident ( $($arg:ident : $ty:ty),* $(,)? );)*) => {$(
        $(#[$doc])*
        pub(crate) fn $name(f: &Fourier, $($arg: $ty),*) {
            #[cfg(target_arch = "x86_64")]
            {
                use super::lanes::{Avx2, Avx512};

                #[target_feature(enable = "avx2,fma")]
                fn avx2(f: &Fourier, $($arg: $ty),*) {
                    kernel::$name::<Avx2>(f, $($arg),*)
                }

                #[target_feature(enable = "avx512f,avx2,fma")]
                fn avx512(f: &Fourier, $($arg: $ty),*) {
                    kernel::$name::<Avx512>(f, $($arg),*)
                }

                let vectors = f.vectors();
                if vectors != Vectors::Portable {
                    assert!(has(vectors), "vector kernel on a processor without it");
                }
                match vectors {
                    Vectors::Portable => {}
                    // SAFETY: the processor has the features, just checked.
                    Vectors::Avx2 => return unsafe { avx2(f, $($arg),*) },
                    // SAFETY: as above.
                    Vectors::Avx512 => return unsafe { avx512(f, $($arg),*) },
                }
            }
            kernel::$name::<Portable>(f, $($arg),*)
        }
    )*};
}

kernels! {
    /// See [`Fourier::forward`].
    forward(poly: &[u64], out: &mut [f64], at: (usize, usize), work: &mut [f64]);
    /// See [`Fourier::forward_digits`].
    forward_digits(digits: Digits, poly: &[u64], out: &mut [f64], at: (usize, usize), work: &mut [f64]);
    /// See [`Fourier::inverse_add`].
    inverse_add(spectra: &[f64], at: (usize, usize), poly: &mut [u64], work: &mut [f64]);
    /// See [`Fourier::multiply_add`].
    multiply_add(rows: &[f64], matrix: &[f64], columns: usize, out: &mut [f64]);
    /// See [`Fourier::rotation_step`].
    rotation_step(step: &kernel::Step<'_>, out: &mut [f64], work: &mut [f64]);
}
