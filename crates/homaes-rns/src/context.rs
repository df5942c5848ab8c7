//! A ring and its primes.

use homaes_math::{Modulus, Ring, Transform};

/// A ring and the primes of a parameter set, with their transforms. Primes are named by their index here.
pub struct RnsContext {
    ring: Ring,
    primes: Vec<Transform>,
}

impl RnsContext {
    /// Builds the transforms of `primes` in some milliseconds each; returns the first prime without one as the error.
    pub fn new(ring: Ring, primes: &[u64]) -> Result<Self, u64> {
        let transforms = primes.iter().map(|&p| Transform::new(&ring, p).ok_or(p));
        let primes = transforms.collect::<Result<_, _>>()?;
        Ok(Self { ring, primes })
    }

    /// The ring.
    #[inline]
    pub fn ring(&self) -> &Ring {
        &self.ring
    }

    /// Number of primes.
    pub fn count(&self) -> usize {
        self.primes.len()
    }

    /// The transform modulo prime `i`.
    #[inline]
    pub fn transform(&self, i: usize) -> &Transform {
        &self.primes[i]
    }

    /// Prime `i`.
    #[inline]
    pub fn modulus(&self, i: usize) -> &Modulus {
        self.primes[i].modulus()
    }

    /// The product of primes modulo `m`.
    pub fn product(&self, m: &Modulus, primes: impl Iterator<Item = usize>) -> u64 {
        primes.fold(1, |acc, i| m.mul(acc, self.modulus(i).p() % m.p()))
    }

    /// log2 of the product of primes.
    pub fn log2(&self, primes: impl Iterator<Item = usize>) -> f64 {
        primes.map(|i| self.modulus(i).log2()).sum()
    }
}
