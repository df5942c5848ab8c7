//! Selection of the [`Lanes`](crate::float_lanes::Lanes) for the Fourier kernels.

use super::{Backend, allowed};
use crate::float_lanes::Portable;
use crate::fourier::{Digits, Fourier, fft};

/// Vector instructions of the Fourier kernels. All give the same bits.
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
    /// The best of this processor that the environment variable `HOMAES_BACKEND` allows.
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

fn has(vectors: Vectors) -> bool {
    match vectors {
        Vectors::Portable => true,
        Vectors::Neon => Backend::Neon.is_available(),
        Vectors::Avx2 => Backend::Avx2.is_available(),
        // `available` orders it after AVX2, so it must include it
        Vectors::Avx512 => has(Vectors::Avx2) && Backend::Avx512.is_available(),
    }
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
                    assert!(has(vectors), "the processor lacks these instructions");
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
    forward(poly: &[u64], out: &mut [f64], at: (usize, usize), work: &mut [f64]);
    forward_digits(digits: Digits, poly: &[u64], out: &mut [f64], at: (usize, usize), work: &mut [f64]);
    inverse_add(spectra: &[f64], at: (usize, usize), poly: &mut [u64], work: &mut [f64]);
    multiply_add(rows: &[f64], matrix: &[f64], columns: usize, out: &mut [f64]);
    rotation_step(step: &fft::Step<'_>, out: &mut [f64], work: &mut [f64]);
}
