//! Ciphertexts, and products that are not ciphertexts yet.

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

    /// log2 of half the modulus over the noise's estimated standard deviation in coefficients.
    ///
    /// For AES, whose noise is close to normal, 4 bits (sixteen standard deviations) decrypt with
    /// certainty for all purposes. The estimate is of the mean over embeddings: after products of a
    /// ciphertext with itself, or repeated constants, single embeddings carry more, and a user's circuit
    /// should keep a few bits in hand for each.
    pub fn capacity_bits(&self, params: &Params) -> f64 {
        let sd = params.noise().coefficients_log2(self.noise.rms_log2);
        params.log2_modulus(self.level) - 1.0 - sd
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
