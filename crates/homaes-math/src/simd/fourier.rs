//! Selection of the [`Lanes`](crate::float_lanes::Lanes) for the Fourier kernels.

use super::allowed;
use crate::float_lanes::Portable;
use crate::fourier::{Digits, Fourier, fft};

/// Vector instructions of the Fourier kernels. Results are the same with all of them, bit for bit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Vectors {
    /// plain Rust; slow where the processor has no fused multiply-add
    Portable,
    /// NEON
    Neon,
    /// AVX2 and FMA
    Avx2,
    /// AVX-512 F
    Avx512,
}

impl Vectors {
    /// The best of this processor; the environment variable `HOMAES_BACKEND`, set to one of [`BACKEND_NAMES`](crate::BACKEND_NAMES), overrules the
    /// detection.
    pub fn detect() -> Self {
        let mut allowed = Self::ALL.into_iter().take(allowed());
        allowed.rfind(|&v| has(v)).unwrap_or(Self::Portable)
    }

    /// All that this processor has, the best last.
    pub fn available() -> impl Iterator<Item = Self> {
        Self::ALL.into_iter().filter(|&v| has(v))
    }

    const ALL: [Self; 4] = [Self::Portable, Self::Neon, Self::Avx2, Self::Avx512];

    /// The word in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Portable => "portable",
            Self::Neon => "neon",
            Self::Avx2 => "avx2",
            Self::Avx512 => "avx512",
        }
    }
}

#[cfg(target_arch = "x86_64")]
fn has(vectors: Vectors) -> bool {
    match vectors {
        Vectors::Portable => true,
        Vectors::Neon => false,
        Vectors::Avx2 => is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma"),
        // the order in `available` wants it to be better than AVX2
        Vectors::Avx512 => has(Vectors::Avx2) && is_x86_feature_detected!("avx512f"),
    }
}

#[cfg(target_arch = "aarch64")]
fn has(vectors: Vectors) -> bool {
    matches!(vectors, Vectors::Portable | Vectors::Neon)
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
fn has(vectors: Vectors) -> bool {
    vectors == Vectors::Portable
}

macro_rules! kernels {
    ($($(#[$doc:meta])* $name:ident ( $($arg:ident : $ty:ty),* $(,)? );)*) => {$(
        $(#[$doc])*
        pub(crate) fn $name(f: &Fourier, $($arg: $ty),*) {
            #[cfg(target_arch = "x86_64")]
            {
                use super::x86_lanes::{Avx2, Avx512};

                #[target_feature(enable = "avx2,fma")]
                fn avx2(f: &Fourier, $($arg: $ty),*) {
                    fft::$name::<Avx2>(f, $($arg),*)
                }

                #[target_feature(enable = "avx512f,avx2,fma")]
                fn avx512(f: &Fourier, $($arg: $ty),*) {
                    fft::$name::<Avx512>(f, $($arg),*)
                }

                let vectors = f.vectors();
                if vectors != Vectors::Portable {
                    assert!(has(vectors), "vector kernel on a processor without it");
                }
                match vectors {
                    Vectors::Portable | Vectors::Neon => {}
                    // SAFETY: the processor has the features, just checked.
                    Vectors::Avx2 => return unsafe { avx2(f, $($arg),*) },
                    // SAFETY: as above.
                    Vectors::Avx512 => return unsafe { avx512(f, $($arg),*) },
                }
            }
            #[cfg(target_arch = "aarch64")]
            if f.vectors() == Vectors::Neon {
                return fft::$name::<super::neon::lanes::Neon>(f, $($arg),*);
            }
            fft::$name::<Portable>(f, $($arg),*)
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
    rotation_step(step: &fft::Step<'_>, out: &mut [f64], work: &mut [f64]);
}
