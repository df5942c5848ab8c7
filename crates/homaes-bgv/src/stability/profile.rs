//! The rounding variances of one secret key.

use super::TAPS;
use std::f64::consts::PI;

/// The rounding variances `κ_j = 1 + |s_j|²` of one secret key, orbit by orbit.
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
    /// Profile of `s = Σ c·ζ_m^k` over the `(k, c)` of `terms`, `m` the product of the distinct
    /// odd primes `axes`, `k` prime to `m`; `class_modulus` is one of the primes.
    ///
    /// `None` if the axes are not distinct odd primes, an exponent is not prime to `m`, −1 is a
    /// power of 2 modulo `m` (the orbits would then not pair up) or 2 has order below 8.
    #[must_use]
    pub fn from_secret(axes: &[u32], class_modulus: u32, terms: &[(u32, i8)]) -> Option<Self> {
        let distinct = axes.iter().enumerate().all(|(i, a)| !axes[..i].contains(a));
        let prime = |p: u32| {
            p > 2
                && (2..p)
                    .take_while(|d| d * d <= p)
                    .all(|d| !p.is_multiple_of(d))
        };
        if !distinct || !axes.iter().all(|&a| prime(a)) || !axes.contains(&class_modulus) {
            return None;
        }
        let m = axes.iter().try_fold(1u32, |acc, &a| acc.checked_mul(a))?;
        let values = embeddings(axes, m, terms)?;
        let mut seen = vec![false; m as usize];
        let (mut kappa, mut class, mut orbit_len) = (Vec::new(), Vec::new(), 0);
        for start in 1..m {
            if seen[start as usize] || axes.iter().any(|&a| start.is_multiple_of(a)) {
                continue;
            }
            let (mut j, mut len) = (start, 0);
            while !seen[j as usize] {
                if seen[(m - j) as usize] {
                    return None;
                }
                seen[j as usize] = true;
                kappa.push(1.0 + values[index_of(axes, j)]);
                class.push(j % class_modulus);
                len += 1;
                j = (u64::from(j) * 2 % u64::from(m)) as u32;
            }
            (0..len).for_each(|_| {
                seen[(m - j) as usize] = true;
                j = (u64::from(j) * 2 % u64::from(m)) as u32;
            });
            orbit_len = len;
        }
        if orbit_len < TAPS {
            return None;
        }
        let weight = terms.iter().map(|t| usize::from(t.1.unsigned_abs())).sum();
        let dual = axes.iter().map(|&a| 2.0 / f64::from(a)).product();
        Some(Self {
            dual,
            dimension: 2 * kappa.len(),
            weight,
            orbit_len,
            kappa,
            class,
        })
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

/// `|s_j|²` at every tensor index (residues minus one, last axis fastest).
fn embeddings(axes: &[u32], m: u32, terms: &[(u32, i8)]) -> Option<Vec<f64>> {
    let n: usize = axes.iter().map(|&a| a as usize - 1).product();
    let mut data = vec![(0.0, 0.0); n];
    for &(k, c) in terms {
        if axes.iter().any(|&a| k.is_multiple_of(a)) {
            return None;
        }
        data[index_of(axes, k)].0 += f64::from(c);
    }
    let mut stride = n;
    for &r in axes {
        let len = r as usize - 1;
        stride /= len;
        // 1/m = Σ c_r/r modulo 1, with c_r the inverse of m/r modulo r
        let c = (1..r).find(|c| u64::from(m / r % r) * u64::from(*c) % u64::from(r) == 1)?;
        let roots: Vec<(f64, f64)> = (0..r)
            .map(|e| {
                let t = 2.0 * PI * f64::from(e * c % r) / f64::from(r);
                (t.cos(), t.sin())
            })
            .collect();
        transform_axis(&mut data, len, stride, &roots);
    }
    Some(
        data.iter()
            .map(|&(re, im): &(f64, f64)| re * re + im * im)
            .collect(),
    )
}

/// Sums along one axis of the tensor, out of its residues into its embeddings.
fn transform_axis(data: &mut [(f64, f64)], len: usize, stride: usize, roots: &[(f64, f64)]) {
    let mut line = vec![(0.0, 0.0); len];
    for block in data.chunks_mut(len * stride) {
        for lane in 0..stride {
            for (j, out) in line.iter_mut().enumerate() {
                let mut acc = (0.0, 0.0);
                for k in 0..len {
                    let (re, im) = block[k * stride + lane];
                    if re != 0.0 || im != 0.0 {
                        let (wr, wi) = roots[(j + 1) * (k + 1) % (len + 1)];
                        acc.0 += re * wr - im * wi;
                        acc.1 += re * wi + im * wr;
                    }
                }
                *out = acc;
            }
            for (j, &v) in line.iter().enumerate() {
                block[j * stride + lane] = v;
            }
        }
    }
}

/// Tensor index of `k`.
fn index_of(axes: &[u32], k: u32) -> usize {
    axes.iter()
        .fold(0, |acc, &r| acc * (r as usize - 1) + (k % r) as usize - 1)
}
