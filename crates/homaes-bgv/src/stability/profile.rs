//! The rounding variances of one secret key.

use super::TAPS;
use homaes_math::Ring;
use homaes_math::embed::squared_magnitudes;
use zeroize::{Zeroize, Zeroizing};

/// Order of the roots of unity in the constants of the linear layer.
const GAINS_MODULUS: u32 = 17;

/// The rounding variances `κ_j = 1 + |s_j|²` of one secret key, orbit by orbit. Overwritten when
/// dropped: they tell the key.
#[derive(Clone, Debug)]
pub struct KeyProfile {
    /// Bound on the coefficients of the basis dual to the normal one.
    pub(super) dual: f64,
    dimension: usize,
    pub(super) weight: usize,
    orbit_len: usize,
    /// One orbit of every conjugate pair, `orbit_len` values each, Frobenius order.
    kappa: Vec<f64>,
    /// The embedding `j` modulo the gains' modulus, same layout.
    class: Vec<u32>,
}

impl KeyProfile {
    /// Profile of the secret with the given coefficients in the normal basis of `ring`.
    ///
    /// `None` unless there is one coefficient per basis element, 17 divides `m` (the constants of
    /// the linear layer live over `ζ_17`; it follows that 2 has order at least 8) and −1 is not a
    /// power of 2 modulo `m` (the orbits pair up).
    #[must_use]
    pub fn from_secret(ring: &Ring, coefficients: &[i64]) -> Option<Self> {
        if ring.rows() + 1 != GAINS_MODULUS as usize || coefficients.len() != ring.n() {
            return None;
        }
        let orbit_len = ring.order_of_two();
        let weight = coefficients
            .iter()
            .map(|c| c.checked_mul(*c))
            .try_fold(0i64, |sum, square| sum.checked_add(square?))?;
        let real = Zeroizing::new(coefficients.iter().map(|&c| c as f64).collect::<Vec<_>>());
        let squares = Zeroizing::new(squared_magnitudes(ring, &real));
        let (double, conjugate) = (ring.frobenius(1), ring.galois(ring.m() - 1)?);
        let mut seen = vec![false; ring.n()];
        // exactly what is needed: growing would leave copies behind
        let half = ring.n() / 2;
        let mut kappa = Zeroizing::new(Vec::with_capacity(half));
        let mut class = Vec::with_capacity(half);
        for start in 0..ring.n() {
            if seen[start] {
                continue;
            }
            let (mut at, mut j) = (start, ring.exponent(start));
            for _ in 0..orbit_len {
                if conjugate.source(at) == start {
                    return None;
                }
                seen[at] = true;
                seen[conjugate.source(at)] = true;
                kappa.push(1.0 + squares[at]);
                class.push((j % u64::from(GAINS_MODULUS)) as u32);
                (at, j) = (double.source(at), 2 * j % ring.m());
            }
        }
        let axes: Vec<u32> = [3, 5, 17, 257]
            .into_iter()
            .filter(|&r| ring.m().is_multiple_of(u64::from(r)))
            .collect();
        Self::from_kappa(
            &axes,
            usize::try_from(weight).ok()?,
            orbit_len,
            core::mem::take(&mut *kappa),
            class,
        )
    }

    /// Profile with given variances, `m` the product of the primes `axes`.
    ///
    /// `kappa[i]` and `class[i]` (the embedding modulo the gains' modulus) come `orbit_len` to an
    /// orbit in the order `j, 2j, 4j, …`, one orbit of each conjugate pair; `None` if the lengths
    /// do not fit or are below 8.
    #[must_use]
    pub fn from_kappa(
        axes: &[u32],
        weight: usize,
        orbit_len: usize,
        kappa: Vec<f64>,
        class: Vec<u32>,
    ) -> Option<Self> {
        let fits = orbit_len >= TAPS
            && !kappa.is_empty()
            && kappa.len().is_multiple_of(orbit_len)
            && kappa.len() == class.len();
        let dual = axes.iter().map(|&a| 2.0 / f64::from(a)).product();
        fits.then(|| Self {
            dual,
            dimension: 2 * kappa.len(),
            weight,
            orbit_len,
            kappa,
            class,
        })
    }

    /// Number of embeddings, `n = φ(m)`.
    #[must_use]
    pub fn dimension(&self) -> usize {
        self.dimension
    }

    /// Length of a Frobenius orbit.
    #[must_use]
    pub fn orbit_len(&self) -> usize {
        self.orbit_len
    }

    /// The variances, one orbit of each conjugate pair.
    #[must_use]
    pub fn kappa(&self) -> &[f64] {
        &self.kappa
    }

    /// The embeddings modulo the gains' modulus, in the order of [`Self::kappa`].
    #[must_use]
    pub fn class(&self) -> &[u32] {
        &self.class
    }

    /// The largest `κ_j` over its typical value `1 + h`.
    #[must_use]
    pub fn peak(&self) -> f64 {
        self.kappa.iter().copied().fold(0.0, f64::max) / (1.0 + self.weight as f64)
    }

    /// Canonical rms of the rounding noise of a typical embedding, `ρ = √(n(1+h)/3)`.
    #[must_use]
    pub fn unit(&self) -> f64 {
        (self.dimension as f64 * (1.0 + self.weight as f64) / 3.0).sqrt()
    }
}

impl Drop for KeyProfile {
    fn drop(&mut self) {
        self.kappa.zeroize();
    }
}
