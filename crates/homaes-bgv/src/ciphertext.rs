//! Ciphertexts, and products that are not ciphertexts yet.

use crate::error::{Error, Result};
use crate::noise::Noise;
use crate::params::Params;
use crate::poly::Poly;

/// (c0, c1) modulo the primes of a level, decrypting as c0 + c1·s.
#[derive(Clone)]
pub struct Ciphertext {
    pub(crate) level: usize,
    pub(crate) parts: [Poly; 2],
    pub(crate) noise: Noise,
}

impl Ciphertext {
    /// Position in the chain of moduli; multiplications left, counting one without a switch at 1.
    pub fn level(&self) -> usize {
        self.level
    }

    /// The noise carried along.
    pub fn noise(&self) -> Noise {
        self.noise
    }

    /// log2 of the bound on the largest canonical embedding of the noise.
    pub fn noise_bits(&self) -> f64 {
        self.noise.bound_log2()
    }

    /// log2 of half the modulus over the noise's standard deviation in coefficients, estimated from above
    /// ([`Noise::safe_rms_log2`]).
    ///
    /// A coefficient is a sum over all embeddings and close to normal: 4 bits (sixteen standard deviations) decrypt with
    /// certainty for all purposes.
    pub fn capacity_bits(&self, params: &Params) -> f64 {
        capacity(params, self.level, self.noise)
    }

    /// Level, multiplications left, noise bound and capacity, for people.
    pub fn summary(&self, params: &Params) -> Summary {
        Summary {
            level: self.level,
            noise_bits: self.noise_bits(),
            capacity_bits: self.capacity_bits(params),
        }
    }

    /// Whether this has the level and the size that `params` give a ciphertext.
    pub(crate) fn check_shape(&self, params: &Params) -> Result<()> {
        let (n, top) = (params.ring().n(), params.top_level());
        let same = |what, found, expected| {
            if found == expected {
                return Ok(());
            }
            Err(Error::OtherShape {
                what,
                found,
                expected,
            })
        };
        same("levels", self.level, self.level.clamp(1, top))?;
        let limbs = params.basis(self.level).len();
        for part in &self.parts {
            same("primes", part.limbs.len(), limbs)?;
            for limb in &part.limbs {
                same("coefficients", limb.len(), n)?;
            }
        }
        Ok(())
    }
}

/// What a ciphertext of noise `noise` at `level` has as [`Ciphertext::capacity_bits`].
pub(crate) fn capacity(params: &Params, level: usize, noise: Noise) -> f64 {
    let sd = params.noise().coefficients_log2(noise.safe_rms_log2());
    params.log2_modulus(level) - 1.0 - sd
}

/// What is left of a ciphertext. Displays as one line.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Summary {
    /// level in the chain of moduli
    pub level: usize,
    /// log2 of the bound on the noise
    pub noise_bits: f64,
    /// as [`Ciphertext::capacity_bits`]
    pub capacity_bits: f64,
}

impl core::fmt::Display for Summary {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        let Self {
            level,
            noise_bits,
            capacity_bits,
        } = self;
        let left = level.saturating_sub(1);
        write!(
            f,
            "level {level} (multiplications left: {left}), noise below 2^{noise_bits:.1}, capacity {capacity_bits:.1} bits"
        )
    }
}

impl core::fmt::Debug for Ciphertext {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Ciphertext")
            .field("level", &self.level)
            .field("noise", &self.noise)
            .finish_non_exhaustive()
    }
}

/// A product before relinearisation: parts under 1, s, σ(s) and s·σ(s) for one σ = σ_{2^k}.
///
/// Sums of products with the same k are products; a ciphertext cannot be added, because it would
/// be lost work to relinearise before all terms are summed.
#[derive(Clone)]
pub struct Product {
    pub(crate) level: usize,
    /// k of the automorphism σ_{2^k} on the second factor
    pub(crate) frobenius: usize,
    pub(crate) parts: [Poly; 4],
    pub(crate) noise: Noise,
}

impl Product {
    /// Level of the factors.
    pub fn level(&self) -> usize {
        self.level
    }

    /// The noise carried along.
    pub fn noise(&self) -> Noise {
        self.noise
    }
}
