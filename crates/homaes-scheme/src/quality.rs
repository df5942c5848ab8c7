//! How far ciphertexts are from failing.

/// How far ciphertexts are from failing.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Quality {
    /// Level in the chain of moduli: one more than the multiplications left. 1 in schemes without levels.
    pub level: usize,
    /// BGV: log2 of the bound on the noise's largest canonical embedding. TFHE: log2 of the noise's standard deviation,
    /// in units of 2^-64 of the torus.
    pub noise_bits: f64,
    /// Bits between the noise's standard deviation and failure.
    pub capacity_bits: f64,
}

impl Quality {
    /// These figures.
    #[must_use]
    pub const fn new(level: usize, noise_bits: f64, capacity_bits: f64) -> Self {
        Self {
            level,
            noise_bits,
            capacity_bits,
        }
    }

    /// The worse of both in every respect.
    #[must_use]
    pub fn worst(self, other: Self) -> Self {
        Self {
            level: self.level.min(other.level),
            noise_bits: self.noise_bits.max(other.noise_bits),
            capacity_bits: self.capacity_bits.min(other.capacity_bits),
        }
    }

    /// The worse of `new` and the worst so far, if there is one.
    #[must_use]
    pub fn worst_of(seen: Option<Self>, new: Self) -> Self {
        seen.map_or(new, |seen| seen.worst(new))
    }

    /// Multiplications that ciphertexts of this level allow, in a scheme with levels.
    #[must_use]
    pub fn multiplications_left(&self) -> usize {
        self.level.saturating_sub(1)
    }
}
