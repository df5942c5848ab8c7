//! The bound for operands lowered by reduction.
//!
//! An atom a = g + h (fresh and carried) enters products at every level, so both factors of a product may depend on the
//! same fresh noise. The fresh parts of all atoms of a batch are independent. Drops above 2^12 ρ allow a plain bound:
//!
//! 1. *Fresh parts.* `P(|g|² > v t) = e^-t` for a circular normal of variance `v`.
//! 2. *Products of fresh parts.* A sum of products is `Σ_{i≤j} c_ij a_i a_j`. Its fresh part `Q = Σ c_ij g_i g_j` is a
//!    holomorphic polynomial of degree 2 in independent circular normals, with mean square
//!    `Σ_{i<j} c_ij² v_i v_j + 2 Σ_i c_ii² v_i²`. By hypercontractivity its norm of order `p ≥ 2` is at most `p/2`
//!    times that of order 2, so Markov's inequality at `p = t` gives `P(|Q| > e t/2 ‖Q‖₂) ≤ e^-t`.
//! 3. *Carried parts* count at their worst: `Σ |c_ij| (|g_i||h_j| + |h_i||g_j| + |h_i||h_j|)` with the bounds of (1).
//!
//! A bound on the carried part of all state bits yields one for every atom, and finally for the outputs. A bound that
//! reproduces itself (the least one, up to steps of 2 %) holds in all rounds unless an event of (1) or (2) fails, two
//! per atom. The failure probability is at most `events · e^-t`, with `events` = 2 × rounds × atoms of a round ×
//! embeddings (one of each conjugate pair).
//!
//! Source of (2): Janson, *On hypercontractivity for multipliers on orthogonal polynomials* (1983), holomorphic case.

use super::switched::UNSETTLED;
use super::{Circuit, Descent, Pairs};
use std::collections::BTreeMap;
use std::f64::consts::{E, LN_2};
use std::ops::Range;

/// Iterations of the bound, and the slack added in each.
const PASSES: usize = 200;
const SLACK: f64 = 1.02;

/// Parameters of a bit-sliced evaluation whose operands are lowered by reduction.
#[derive(Clone, Debug)]
pub struct ReducedBits {
    /// bits dropped by the switches after the AND levels: four, or three for S-boxes of depth 3
    pub drops: Vec<f64>,
    /// rounds evaluated
    pub rounds: u32,
    /// variance of the noise of a round key, over ρ²
    pub round_key: f64,
    /// variances of the key-switching noise left after the switches, over ρ², at every embedding
    pub ks: Vec<f64>,
}

/// The recursion at one embedding.
pub(super) struct Recursion<'a> {
    model: &'a ReducedBits,
    pub(super) circuit: Circuit,
    kappa: f64,
    pub(super) ratios: Vec<f64>,
}

impl ReducedBits {
    /// Bound on the carried part of a state bit, over ρ, that each batch exceeds with probability at most `2^-bits`;
    /// `None` if no bound reproduces itself. `kappa` is the square of the key at its largest embedding over the mean
    /// square, and `unit` is ρ.
    ///
    /// # Panics
    /// If there are not three or four drops.
    #[must_use]
    pub fn settle(&self, kappa: f64, unit: f64, embeddings: f64, bits: f64) -> Option<f64> {
        let recursion = self.recursion(kappa, unit, 0..8);
        // the circuit is one column, and its outputs are state atoms of the next round
        let atoms = 4 * recursion.circuit.atoms.len();
        let events = 2.0 * f64::from(self.rounds) * atoms as f64 * embeddings;
        let nats = bits * LN_2 + events.ln();
        let mut z = 0.0;
        for _ in 0..PASSES {
            let next = recursion.outputs(z, nats);
            if next <= z {
                return Some(z);
            }
            z = next * SLACK;
            if z.is_nan() || z > UNSETTLED {
                return None;
            }
        }
        None
    }

    pub(super) fn recursion(&self, kappa: f64, unit: f64, rows: Range<usize>) -> Recursion<'_> {
        assert_eq!(self.drops.len(), self.ks.len(), "one for each drop");
        Recursion {
            model: self,
            circuit: Circuit::of_depth(self.drops.len(), Descent::Reduction, rows),
            kappa,
            ratios: self.drops.iter().map(|d| d.exp2() / unit).collect(),
        }
    }
}

impl Recursion<'_> {
    pub(super) fn fresh(&self, atom: usize) -> f64 {
        let ks = &self.model.ks;
        match self.circuit.carried(atom) {
            Some(pairs) => self.kappa + ks[pairs.place],
            None => self.kappa + ks[ks.len() - 1] + self.model.round_key,
        }
    }

    /// Bound on the carried part of an output if those of all state bits are at most `z`.
    fn outputs(&self, z: f64, nats: f64) -> f64 {
        let mut carried = Vec::with_capacity(self.circuit.atoms.len());
        for atom in 0..self.circuit.atoms.len() {
            carried.push(match self.circuit.carried(atom) {
                Some(pairs) => self.largest(pairs, &carried, nats),
                None => z,
            });
        }
        let outputs = self.circuit.outputs.iter();
        let outputs = outputs.map(|pairs| self.largest(pairs, &carried, nats));
        // `f64::max` would ignore NaN
        outputs.fold(0.0, |a: f64, b| {
            if a.is_nan() || b.is_nan() {
                f64::NAN
            } else {
                a.max(b)
            }
        })
    }

    /// The bound on a sum of products over D.
    pub(super) fn largest(&self, pairs: &Pairs, carried: &[f64], nats: f64) -> f64 {
        let mut merged: BTreeMap<(usize, usize), f64> = BTreeMap::new();
        for (&(i, j), c) in &pairs.coefficients {
            *merged.entry((i.min(j), i.max(j))).or_insert(0.0) += c;
        }
        let (mut square, mut rest) = (0.0, 0.0);
        for (&(i, j), c) in &merged {
            let [v, w] = [i, j].map(|atom| self.fresh(atom));
            let same = if i == j { 2.0 } else { 1.0 };
            square += same * c * c * v * w;
            let [g, k] = [v, w].map(|v| (v * nats).sqrt());
            let (h, l) = (carried[i], carried[j]);
            rest += c.abs() * (g * l + h * k + h * l);
        }
        (E * nats / 2.0 * square.sqrt() + rest) / self.ratios[pairs.place]
    }
}
