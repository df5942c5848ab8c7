//! The rounding variances of one secret key.

use super::TAPS;
use super::gains::{BYTES, MODULUS};
use super::rounding::Rounding;
use crate::noise::prime_factors;
use homaes_math::GaloisMap;
use homaes_math::Ring;
use homaes_math::embed::squared_magnitudes;
use std::array::from_fn;
use zeroize::{Zeroize, Zeroizing};

/// Steps of the column translation `κ` until it is the identity.
pub(super) const STEPS: usize = 8;
/// Embeddings `ρ^l κ^c` times the first one of an orbit, as orbit and place, by `l - 1` and `c`; up to conjugation.
pub(super) type Links = [[(usize, usize); STEPS]; BYTES - 1];

/// The rounding variances `κ_j = 1 + |s_j|²` of one key, by orbit. They reveal the key and are overwritten when
/// dropped.
#[derive(Clone)]
pub(crate) struct KeyProfile {
    /// Bound on the coefficients of the basis dual to the normal one.
    pub(super) dual: f64,
    /// Number of embeddings, the degree of the ring.
    pub(super) dimension: usize,
    pub(super) weight: usize,
    /// Mean square of a basis element.
    pub(super) power: f64,
    /// Length of a Frobenius orbit.
    pub(super) orbit_len: usize,
    /// One orbit of every conjugate pair, `orbit_len` values each, Frobenius order. In K these are the orbits of the
    /// first half, because the conjugate of an embedding lies in the second.
    pub(super) kappa: Vec<f64>,
    /// The embedding `j` modulo the gains' modulus, same layout.
    pub(super) class: Vec<u32>,
    /// By orbit; empty where the ring offers no packed layout.
    links: Vec<Links>,
    /// Groups of orbits that exchange noise in the packed layout; without that layout, every orbit is its own group.
    pub(super) components: Vec<Vec<usize>>,
    /// Errors of rounded results.
    pub(super) rounding: Rounding,
    /// `Π r/(r-1)`: bound on the covariance of the rounding noises of all embeddings over its diagonal.
    pub(super) covariance: f64,
}

// the variances reveal the key
homaes_wire::debug_fields!(KeyProfile, dimension, weight);

impl KeyProfile {
    /// Profile of the secret with the given coefficients in the normal basis of `ring`.
    ///
    /// `None` unless there is one coefficient per basis element, 17 divides `m` (the constants of the linear layer live
    /// over `ζ_17`; it follows that 2 has order at least 8) and −1 is not a power of 2 modulo `m` (the orbits pair up).
    pub(crate) fn from_secret(ring: &Ring, coefficients: &[i64]) -> Option<Self> {
        if ring.rows() + 1 != MODULUS as usize || coefficients.len() != ring.n() {
            return None;
        }
        let orbit_len = ring.order_of_two();
        let weight = coefficients
            .iter()
            .map(|c| c.checked_mul(*c))
            .try_fold(0i64, |sum, square| sum.checked_add(square?))?;
        let real = Zeroizing::new(coefficients.iter().map(|&c| c as f64).collect::<Vec<_>>());
        let squares = Zeroizing::new(squared_magnitudes(ring, &real));
        // orbits are those of R; in K, of the first half
        let (base, whole) = (&ring.base(), ring);
        let ring = base;
        let double = ring.frobenius(1);
        let paired = ring.galois(ring.m() - 1)?;
        let mut seen = vec![false; ring.n()];
        // exact capacity: growing would leave copies behind
        let half = whole.n() / 2;
        let mut kappa = Zeroizing::new(Vec::with_capacity(half));
        let mut class = Vec::with_capacity(half);
        let mut place = vec![(0, 0); ring.n()];
        let mut starts = Vec::new();
        for start in 0..ring.n() {
            if seen[start] {
                continue;
            }
            let (mut at, mut j) = (start, ring.exponent(start));
            starts.push(start);
            for i in 0..orbit_len {
                let conjugate = paired.source(at);
                if conjugate == start {
                    return None;
                }
                let known = if whole.halves() == 1 { conjugate } else { at };
                for at in [at, known] {
                    seen[at] = true;
                    place[at] = (starts.len() - 1, i);
                }
                kappa.push(1.0 + squares[whole.place(0, at)]);
                class.push((j % u64::from(MODULUS)) as u32);
                (at, j) = (double.source(at), 2 * j % ring.m());
            }
        }
        let axes = prime_factors(ring);
        let weight = usize::try_from(weight).ok()?;
        let kappa = core::mem::take(&mut *kappa);
        let mut profile = Self::from_kappa(&axes, weight, orbit_len, kappa, class)?;
        profile.power = whole.power();
        if whole.halves() == 1 {
            profile.rounding = Rounding::of_secret(ring, &squares);
        }
        Some(match translations(ring) {
            None => profile,
            Some(maps) => {
                let at = |start: &usize, l: usize, c: usize| {
                    let row = (0..=l).fold(*start, |at, _| maps[0].source(at));
                    place[(0..c).fold(row, |at, _| maps[1].source(at))]
                };
                let links = |start| from_fn(|l| from_fn(|c| at(start, l, c)));
                profile.linked(starts.iter().map(links).collect())
            }
        })
    }

    /// Adds the links of the packed layout.
    fn linked(mut self, links: Vec<Links>) -> Self {
        let mut group: Vec<Option<usize>> = vec![None; links.len()];
        self.components.clear();
        for start in 0..links.len() {
            if group[start].is_some() {
                continue;
            }
            let mut members = vec![start];
            let mut next = 0;
            while let Some(&orbit) = members.get(next) {
                group[orbit] = Some(self.components.len());
                let reached = links[orbit].iter().flatten().map(|at| at.0);
                let new: Vec<_> = reached.filter(|o| !members.contains(o)).collect();
                for orbit in new {
                    if !members.contains(&orbit) {
                        members.push(orbit);
                    }
                }
                next += 1;
            }
            self.components.push(members);
        }
        self.links = links;
        self
    }

    /// Profile with given variances, `m` the product of the primes `axes`.
    ///
    /// `kappa[i]` and `class[i]` (the embedding modulo the gains' modulus) come `orbit_len` to an orbit in the order
    /// `j, 2j, 4j, …`, one orbit of each conjugate pair; `None` if the lengths do not fit or are below 8.
    pub(crate) fn from_kappa(
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
            power: 1.0,
            orbit_len,
            links: Vec::new(),
            components: (0..kappa.len() / orbit_len).map(|o| vec![o]).collect(),
            rounding: Rounding::of_weight(axes.len(), weight),
            covariance: axes
                .iter()
                .map(|&r| f64::from(r) / f64::from(r - 1))
                .product(),
            kappa,
            class,
        })
    }

    /// Whether the ring offers the packed layout.
    pub(crate) fn packs(&self) -> bool {
        !self.links.is_empty()
    }

    pub(super) fn links(&self, orbit: usize) -> Option<&Links> {
        self.links.get(orbit)
    }

    /// The largest `κ_j` over its typical value.
    pub(crate) fn peak(&self) -> f64 {
        self.kappa.iter().copied().fold(0.0, f64::max) / self.typical()
    }

    /// The mean of `κ_j` over secrets, `1 + h`, in K `1 + 3h/2`.
    pub(super) fn typical(&self) -> f64 {
        1.0 + self.power * self.weight as f64
    }

    /// Canonical rms of the rounding noise of a typical embedding, `ρ = √(n(1+h)/3)`.
    pub(crate) fn unit(&self) -> f64 {
        (self.dimension as f64 * self.power * self.typical() / 3.0).sqrt()
    }
}

impl Drop for KeyProfile {
    fn drop(&mut self) {
        self.kappa.zeroize();
    }
}

/// `ρ` and `κ`: one step along the axis of 5, an eighth of the axis of 257.
fn translations(ring: &Ring) -> Option<[GaloisMap; 2]> {
    let m = ring.m();
    // 2 generates the units modulo 5, 3 those modulo 257
    let [rho, kappa] = [(5, 2), (257, (0..32).fold(1, |x, _| 3 * x % 257))].map(|(r, target)| {
        let others = m.is_multiple_of(r).then_some(m / r)?;
        let t = (0..r).map(|i| 1 + i * others).find(|t| t % r == target)?;
        ring.galois(t)
    });
    Some([rho?, kappa?])
}
