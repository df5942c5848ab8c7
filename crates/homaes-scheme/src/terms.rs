//! Words about a scheme.

/// Words for the noise figures of a scheme.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NoiseTerms {
    /// Name of [`Quality::noise_bits`](crate::Quality::noise_bits).
    pub noise: &'static str,
    /// The meaning of that and of [`Quality::capacity_bits`](crate::Quality::capacity_bits), in sentences.
    pub meaning: &'static str,
}

/// A way in which a scheme evaluates AES, which has a default set of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Variant {
    /// The word on the command line.
    pub name: &'static str,
    /// Its description.
    pub about: &'static str,
    /// The set to take for data that matter.
    pub default_set: &'static str,
}

/// The operation that a scheme's speed is compared with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ReferenceOp {
    /// One transform of the crate `tfhe-ntt`, of 32768 points.
    Transform,
    /// One key switch and bootstrapping of the crate `tfhe`.
    Bootstrap,
    /// One product of two integers of 16 million bits by the crate `malachite-nz`.
    Product,
    /// Nothing.
    None,
}
