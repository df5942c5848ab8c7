//! One round of the recursion: from bounds on the carried-in noise to moments of the next one.

use super::gains::{BYTES, Power};
use super::moments::{
    Law, Norms, ORDERS, normal_norms, normal_of_variance, raise, sum_of_independent, weighted_sum,
};
use super::profile::STEPS;
use super::{KeyProfile, RunawayModel, TAPS};
use std::array::from_fn;

/// Bound on the covariance, over its diagonal, of four embeddings' rounding noises that differ only along the axis
/// of 5.
const ROW_COVARIANCE: f64 = 5.0 / 4.0;
/// Factors on the variances of rounding noises: for independent embeddings, and for those of [`ROW_COVARIANCE`].
const ENLARGED: [f64; 2] = [1.0, ROW_COVARIANCE];
/// By slope: the index in [`ENLARGED`], and for `l = 1, 2, 3` the exponents `c` of `κ` that may go with `ρ^l`. First
/// `t = ±1, ±2, ±3`, which move every byte of a column differently along the axis of 257, then `t = 0`.
const SLOPES: [(usize, [&[usize]; BYTES - 1]); 2] = [
    (0, [&[1, 2, 3, 5, 6, 7], &[2, 4, 6], &[1, 2, 3, 5, 6, 7]]),
    (1, [&[0], &[0], &[0]]),
];
/// Factor for non-circular noise, if embeddings of one column are conjugate.
const PROPER: f64 = 2.0;

/// Norms by index in [`ENLARGED`] and by position.
pub(super) type Shares = Vec<Vec<Norms>>;
/// Norms by input byte of an output.
type Column = [Norms; BYTES];

pub(super) struct Recursion<'a> {
    model: &'a RunawayModel,
    key: &'a KeyProfile,
    /// `D_1` and `D_2`.
    ratios: [f64; 2],
    /// The factor of the last switch, `w = ρ/2^dl`.
    pub(super) last: f64,
    /// Variance of the first round's input noise, over `ρ²`.
    fresh: f64,
    expanded: f64,
}

/// The orbits that exchange noise, in sequence.
pub(super) struct Component {
    /// Variances of the rounding noise, over `ρ²`; key switching adds to them ([`RunawayModel::ks_switched`]).
    pub(super) kappa: Vec<f64>,
    pub(super) class: Vec<u32>,
    /// Positions of `ρ^l κ^c` times each position, by `l - 1`; empty without a packed layout.
    pub(super) links: Vec<[[usize; STEPS]; BYTES - 1]>,
    /// Whether bytes of one column may lie at one orbit.
    pub(super) coincident: bool,
}

impl<'a> Recursion<'a> {
    pub(super) fn new(model: &'a RunawayModel, key: &'a KeyProfile) -> Self {
        let unit = key.unit();
        Self {
            model,
            key,
            ratios: [model.d1, model.d2].map(|d| d.exp2() / unit),
            last: unit / model.dl.exp2(),
            fresh: (model.fresh_bits.exp2() / unit).powi(2),
            expanded: model.expanded[usize::from(model.circuit.packed)],
        }
    }

    pub(super) fn component(&self, index: usize) -> Component {
        let (key, len) = (self.key, self.key.orbit_len);
        let orbits = &key.components[index];
        let positions = || orbits.iter().flat_map(|o| o * len..(o + 1) * len);
        let relative = |at: usize| key.kappa[at] / key.typical();
        let local = |orbit: usize| orbits.iter().position(|&o| o == orbit).unwrap_or(0);
        let mut coincident = false;
        let mut links = Vec::new();
        for &orbit in orbits {
            let Some(starts) = key.links(orbit) else {
                continue;
            };
            coincident |= starts.iter().flatten().any(|at| at.0 == orbit);
            let starts = starts.map(|row| row.map(|(o, i)| (local(o), i)));
            links.extend((0..len).map(|i| starts.map(|r| r.map(|(o, k)| o * len + (k + i) % len))));
        }
        Component {
            kappa: positions().map(relative).collect(),
            class: positions().map(|at| key.class[at]).collect(),
            links,
            coincident,
        }
    }

    /// Norms of every position's share of the conditional variance, by index in [`ENLARGED`].
    pub(super) fn shares(&self, component: &Component, carried: &[f64]) -> Shares {
        let n = self.key.orbit_len;
        let enlarged = |by: &f64| {
            let orbits = component.kappa.chunks_exact(n).zip(carried.chunks_exact(n));
            orbits
                .flat_map(|(k, z)| self.orbit_shares(k, z, *by, self.model.ks_switched))
                .collect()
        };
        let factors = if self.model.circuit.packed { 2 } else { 1 };
        ENLARGED[..factors].iter().map(enlarged).collect()
    }

    fn orbit_shares(&self, kappa: &[f64], carried: &[f64], by: f64, ks: [f64; 2]) -> Vec<Norms> {
        let n = kappa.len();
        let [d1, d2] = self.ratios;
        let laws = |f: &dyn Fn(usize) -> Law| (0..n).map(f).collect::<Vec<Law>>();
        let variance = |kappa: f64| kappa.max(self.fresh) + self.expanded;
        let state = laws(&|i| Law::offset_normal(carried[i], by * variance(kappa[i])));
        let [first, second] = ks.map(|ks| {
            let with = |k: &f64| by * (k + ks);
            kappa.iter().map(with).collect::<Vec<f64>>()
        });
        let cube = laws(&|i| state[i].product_plus_normal(&state[(i + 1) % n], d1, first[i]));
        let fifteen = laws(&|i| cube[i].product_plus_normal(&cube[(i + 2) % n], d2, second[i]));
        (0..n)
            .map(|i| cube[(i + 1) % n].share(&fifteen[(i + 3) % n], d2, second[i]))
            .collect()
    }

    /// Logarithms of the moments of `|Z'/w|²` at every position, for every slope.
    pub(super) fn outputs(&self, component: &Component, shares: &Shares) -> Vec<Norms> {
        let bytes: Vec<_> = shares.iter().map(|s| self.bytes(component, s)).collect();
        let at = |j: usize| {
            let power = self.power(component, j);
            let noise = self.model.ks_unswitched * power.iter().flatten().sum::<f64>();
            let variance = if self.model.circuit.packed {
                packed_variance(component, &bytes, noise, j)
            } else {
                sum_of_independent(&with_noise(bytes[0][j], noise))
            };
            normal_of_variance(&variance)
        };
        (0..component.kappa.len()).map(at).collect()
    }

    /// Norms of `|Z'|` after the last round, the largest of any position, if the carried-in noise is at most `carried`.
    /// Outputs of different bytes are independent here, because each comes from one byte, under every key whose errors
    /// are not larger than [`RunawayModel::ks_worst`].
    pub(super) fn handed_on(&self, component: &Component, carried: &[f64]) -> Norms {
        let n = self.key.orbit_len;
        let (switched, unswitched) = self.model.ks_worst;
        let mut out = [0.0; ORDERS];
        for (orbit, kappa) in component.kappa.chunks_exact(n).enumerate() {
            let at = orbit * n..(orbit + 1) * n;
            let shares = self.orbit_shares(kappa, &carried[at.clone()], 1.0, switched);
            for (i, class) in component.class[at].iter().enumerate() {
                let gains = self.model.gains.alone(self.model.circuit.decrypt, *class);
                // tap k reads position i+k+1, as between rounds
                let taps = (1..=TAPS).map(|step| &shares[(i + step % TAPS) % n]);
                let noise = unswitched * gains.iter().sum::<f64>();
                let variance = weighted_sum(gains.into_iter().zip(taps)).map(|v| v + noise);
                raise(&mut out, &normal_norms(&variance).map(|z| self.last * z));
            }
        }
        out
    }

    fn power(&self, component: &Component, j: usize) -> &'a Power {
        let decrypt = self.model.circuit.decrypt;
        self.model.gains.at(decrypt, component.class[j])
    }

    /// By position and byte of the column, the norms of an input byte's contribution to an output's variance.
    fn bytes(&self, component: &Component, shares: &[Norms]) -> Vec<Column> {
        let n = self.key.orbit_len;
        let at = |j: usize| {
            let (start, i) = (j / n * n, j % n);
            // tap k reads position j+k+1; the last reads j, as 2^8 is the identity on bytes
            let taps: [&Norms; TAPS] = from_fn(|k| match k + 1 {
                TAPS => &shares[j],
                step => &shares[start + (i + step) % n],
            });
            let power = self.power(component, j);
            from_fn(|b| weighted_sum(power[b].iter().copied().zip(taps)))
        };
        (0..shares.len()).map(at).collect()
    }

    /// Norms of a component's contribution to the variance of a coefficient of the result, over the largest squared
    /// coefficient of the dual basis.
    pub(super) fn last_round(&self, component: &Component, shares: &[Norms]) -> Norms {
        let weight = |class: &u32| {
            let gain = self.model.gains.last(self.model.circuit.decrypt, *class);
            2.0 * self.key.covariance * gain
        };
        let noise: f64 = component.class.iter().map(weight).sum();
        let weights = component.class.iter().map(weight);
        weighted_sum(weights.zip(shares)).map(|n| n + noise * self.model.ks_last)
    }
}

/// Logarithms of the moments of the variance of a packed output, for every slope.
fn packed_variance(component: &Component, bytes: &[Vec<Column>], noise: f64, j: usize) -> Norms {
    let slope = |(enlarged, steps): &(usize, [&[usize]; BYTES - 1])| {
        let bytes = &bytes[*enlarged];
        let mut shares = bytes[j];
        for (l, (positions, steps)) in component.links[j].iter().zip(steps).enumerate() {
            shares[l + 1] = bytes[positions[steps[0]]][l + 1];
            for &c in &steps[1..] {
                raise(&mut shares[l + 1], &bytes[positions[c]][l + 1]);
            }
        }
        let shares = with_noise(shares, noise);
        if component.coincident {
            sum_of_dependent(&shares)
        } else {
            sum_of_independent(&shares)
        }
    };
    let mut out = slope(&SLOPES[0]);
    SLOPES[1..].iter().for_each(|s| raise(&mut out, &slope(s)));
    out
}

fn with_noise(mut shares: Column, noise: f64) -> Column {
    shares[0].iter_mut().for_each(|s| *s += noise);
    shares
}

/// Logarithms of the moments of a sum of possibly dependent variances of possibly non-circular noise.
fn sum_of_dependent(shares: &[Norms]) -> Norms {
    sum_of_independent(&[weighted_sum(shares.iter().map(|s| (PROPER, s)))])
}
