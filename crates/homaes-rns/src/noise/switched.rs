//! The bound for operands lowered by modulus switches.
//!
//! A sum of products is `Σ_ij c_ij a_i b_j` over disjoint atoms `a_i = g_i + h_i` and `b_j = g'_j + h'_j`, fresh and
//! carried. Fresh parts are independent of each other and of all carried ones. The norm of order `2m` of the sum is at
//! most the sum of three norms:
//!
//! 1. of `Σ_i g_i Σ_j c_ij b_j`: given the `b_j` it is normal of variance `V = κ Σ_i |Σ_j c_ij b_j|²`. `V` is a sum
//!    over independent blocks of the matrix `c`, the four S-boxes of an output. In a block, Minkowski's inequality adds
//!    the fresh part, a quadratic form in normals with moments `m! h_m` of its eigenvalues, and the carried part, `Σ_i
//!    (Σ_j |c_ij| ‖h'_j‖)²`;
//! 2. of `Σ_j g'_j Σ_i c_ij h_i`, likewise;
//! 3. `Σ_ij |c_ij| ‖h_i‖ ‖h'_j‖` with norms of order `4m`, as these may depend on each other.
//!
//! The blocks of (1) are independent only given what earlier rounds left. The good event `|Z| ≤ B` provides this, and
//! `Z` counts as a constant under it. For a ladder of bounds `B_a` with `P(|Z| > B_a) ≤ e^{-Ya/A}`, `a = 1..A`,
//! Markov's inequality gives `P(|Z'| > B_a)`. A ladder that reproduces itself bounds the probability of running away by
//! `events · e^-Y`, with `events` = rounds × ciphertexts × embeddings (one of each conjugate pair).

use super::{CIPHERTEXTS, Circuit, Descent, INPUTS, Pairs};
use homaes_aes::slp::tower;
use std::collections::BTreeMap;
use std::f64::consts::LN_2;
use std::ops::Range;

const LEVELS: usize = 4;
/// Highest order of a norm of `|Z|²`; the outputs use half of it.
const ORDERS: usize = 64;
/// Rungs of the ladder, passes over it, and the slack added in each.
const RUNGS: usize = 16;
const PASSES: usize = 40;
const SLACK: f64 = 1.02;
/// Carried noise, over ρ, beyond which the recursion counts as running away.
pub(super) const UNSETTLED: f64 = 1000.0;
/// Parameters of a bit-sliced evaluation whose operands are lowered by modulus switches, with S-boxes of depth 4.
#[derive(Clone, Copy, Debug)]
pub struct SwitchedBits {
    /// bits dropped by the switches after the four AND levels
    pub drops: [f64; LEVELS],
    /// rounds evaluated
    pub rounds: u32,
    /// variance of the noise of a round key, over ρ²
    pub round_key: f64,
    /// variances of the key-switching noise left after the switches, over ρ², at every embedding
    pub ks: [f64; LEVELS],
}

/// Bounds on carried noise, over ρ, under the good event of an accepted key.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Carried {
    /// largest noise that a round leaves
    pub largest: f64,
    /// the same at a given embedding with probability at least 1 - e^-4
    pub usual: f64,
}

/// A sum of products as matrices, one block per S-box that contributes.
struct Bilinear {
    place: usize,
    blocks: Vec<Block>,
}

/// `c[i][j]` by the atoms of the left and right factors.
struct Block {
    rows: Vec<usize>,
    columns: Vec<usize>,
    c: Vec<Vec<f64>>,
    /// `h_m` of the eigenvalues of c·cᵀ, by m
    symmetric: Vec<f64>,
}

/// `h_0 … h_ORDERS` of the eigenvalues of c·cᵀ, from the traces of its powers.
fn symmetric(c: &[Vec<f64>]) -> Vec<f64> {
    let n = c.len();
    let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(x, y)| x * y).sum::<f64>();
    let gram: Vec<Vec<f64>> = (0..n)
        .map(|i| (0..n).map(|j| dot(&c[i], &c[j])).collect())
        .collect();
    let mut power = gram.clone();
    let mut traces = Vec::with_capacity(ORDERS);
    for _ in 0..ORDERS {
        traces.push((0..n).map(|i| power[i][i]).sum::<f64>());
        let next = power
            .iter()
            .map(|row| gram.iter().map(|g| dot(row, g)).collect());
        power = next.collect();
    }
    let mut h = vec![1.0; ORDERS + 1];
    for m in 1..=ORDERS {
        let terms = (1..=m).map(|k| traces[k - 1] * h[m - k]);
        h[m] = terms.sum::<f64>() / m as f64;
    }
    h
}

impl Bilinear {
    fn new(circuit: &Circuit, pairs: &Pairs) -> Self {
        let mut entries: BTreeMap<usize, BTreeMap<(usize, usize), f64>> = BTreeMap::new();
        for (&(i, j), &c) in &pairs.coefficients {
            let family = circuit.atoms[i].family;
            assert_eq!(family, circuit.atoms[j].family, "S-boxes do not mix");
            entries.entry(family).or_default().insert((i, j), c);
        }
        let block = |entries: BTreeMap<(usize, usize), f64>| {
            let sorted = |mut side: Vec<usize>| {
                side.sort_unstable();
                side.dedup();
                side
            };
            let rows = sorted(entries.keys().map(|at| at.0).collect());
            let columns = sorted(entries.keys().map(|at| at.1).collect());
            assert!(
                rows.iter().all(|i| !columns.contains(i)),
                "the two sides of a product share no atom"
            );
            let at = |i: &usize, j: &usize| entries.get(&(*i, *j)).copied().unwrap_or(0.0);
            let row = |i: &usize| columns.iter().map(|j| at(i, j)).collect();
            let c: Vec<Vec<f64>> = rows.iter().map(row).collect();
            Block {
                symmetric: symmetric(&c),
                rows,
                columns,
                c,
            }
        };
        Self {
            place: pairs.place,
            blocks: entries.into_values().map(block).collect(),
        }
    }
}

fn ln_factorial(m: usize) -> f64 {
    (1..=m).map(|k| (k as f64).ln()).sum()
}

pub(super) struct RoundForms {
    pub(super) circuit: Circuit,
    /// per atom, the form that it carries; `None` for state bits and lowered operands
    atoms: Vec<Option<Bilinear>>,
    outputs: Vec<Bilinear>,
    /// ln m!, from 0
    factorials: Vec<f64>,
}

impl RoundForms {
    fn new(rows: Range<usize>) -> Self {
        let circuit = Circuit::new(&tower::DEPTH_4, Descent::Switch, rows);
        let form = |pairs: &Pairs| Bilinear::new(&circuit, pairs);
        let atoms = 0..circuit.atoms.len();
        Self {
            outputs: circuit.outputs.iter().map(form).collect(),
            atoms: atoms.map(|atom| circuit.carried(atom).map(form)).collect(),
            factorials: (0..=ORDERS).map(ln_factorial).collect(),
            circuit,
        }
    }
}

impl SwitchedBits {
    /// Bounds on the carried noise, if a batch runs away with probability at most `2^-bits`; otherwise `None`. `kappa`
    /// is the square of the key at its largest embedding over the mean square, `unit` is ρ, and `embeddings` counts one
    /// of each conjugate pair.
    #[must_use]
    pub fn settle(&self, kappa: f64, unit: f64, embeddings: f64, bits: f64) -> Option<Carried> {
        let events = f64::from(self.rounds) * CIPHERTEXTS as f64 * embeddings;
        let nats = bits * LN_2 + events.ln();
        self.recursion(kappa, unit, 0..8).settle(nats)
    }

    pub(super) fn recursion(&self, kappa: f64, unit: f64, rows: Range<usize>) -> Recursion {
        Recursion {
            forms: RoundForms::new(rows),
            kappa,
            round_key: self.round_key,
            ks: self.ks,
            ratios: self.drops.map(|d| d.exp2() / unit),
        }
    }
}

/// The recursion at one embedding.
pub(super) struct Recursion {
    pub(super) forms: RoundForms,
    kappa: f64,
    round_key: f64,
    ks: [f64; LEVELS],
    /// D of the switches after the four levels
    pub(super) ratios: [f64; LEVELS],
}

impl Recursion {
    pub(super) fn fresh(&self, atom: usize) -> f64 {
        let forms = &self.forms;
        match &forms.atoms[atom] {
            Some(form) => self.kappa + self.ks[form.place],
            None if forms.circuit.is_state(atom) => {
                self.kappa + self.round_key + self.ks[LEVELS - 1]
            }
            None => self.kappa,
        }
    }

    /// Norms of order `2m`, for m from 1, of the carried part of an output given `|Z| ≤ z`: the largest of all outputs.
    fn outputs(&self, z: f64) -> Vec<f64> {
        let forms = &self.forms;
        let mut carried: Vec<Vec<f64>> = Vec::with_capacity(forms.atoms.len());
        for (atom, form) in forms.atoms.iter().enumerate() {
            carried.push(match form {
                Some(form) => self.norms(form, &carried),
                None if forms.circuit.is_state(atom) => vec![z; ORDERS],
                None => vec![0.0; ORDERS],
            });
        }
        let mut out = vec![0.0; ORDERS / 2];
        for form in &forms.outputs {
            for (o, norm) in out.iter_mut().zip(self.norms(form, &carried)) {
                // NaN marks an order that cannot be used
                *o = if norm.is_nan() {
                    f64::INFINITY
                } else {
                    o.max(norm)
                };
            }
        }
        out
    }

    /// Norms of a sum of products over D.
    fn norms(&self, form: &Bilinear, carried: &[Vec<f64>]) -> Vec<f64> {
        let ln = &self.forms.factorials;
        // ‖V_s‖_m of every block
        let mut blocks: Vec<Vec<f64>> = Vec::with_capacity(form.blocks.len());
        let mut rest = vec![0.0; ORDERS];
        for block in &form.blocks {
            let g = self.largest_fresh(&block.rows);
            let h = self.largest_fresh(&block.columns);
            let norm = |atom: usize, m: usize| carried[atom][m - 1];
            let mut shares = Vec::with_capacity(ORDERS);
            for m in 1..=ORDERS {
                let order = m as f64;
                // fresh · fresh and fresh · carried
                let fresh = ((ln[m] + block.symmetric[m].ln()) / order).exp() * h;
                let of_columns = block.c.iter().map(|row| {
                    let terms = row.iter().zip(&block.columns);
                    terms
                        .map(|(c, &j)| c.abs() * norm(j, m))
                        .sum::<f64>()
                        .powi(2)
                });
                let share = fresh.sqrt() + of_columns.sum::<f64>().sqrt();
                shares.push(g * share * share);
                // carried · fresh
                let of_rows = block.columns.iter().enumerate().map(|(j, _)| {
                    let terms = block.c.iter().zip(&block.rows);
                    terms
                        .map(|(row, &i)| row[j].abs() * norm(i, m))
                        .sum::<f64>()
                        .powi(2)
                });
                let normal = (ln[m] / (2.0 * order)).exp();
                rest[m - 1] += normal * (h * of_rows.sum::<f64>()).sqrt();
                // carried · carried
                let both = block.c.iter().zip(&block.rows).flat_map(|(row, &i)| {
                    let terms = row.iter().zip(&block.columns);
                    terms.map(move |(c, &j)| (c.abs(), i, j))
                });
                rest[m - 1] += both
                    .map(|(c, i, j)| {
                        let twice = |atom: usize| match carried[atom].get(2 * m - 1) {
                            Some(norm) => *norm,
                            // constants have the same norm in every order
                            None if self.forms.circuit.is_state(atom) => carried[atom][0],
                            None if carried[atom][0] == 0.0 => 0.0,
                            None => f64::INFINITY,
                        };
                        let (x, y) = (twice(i), twice(j));
                        if c == 0.0 || x == 0.0 || y == 0.0 {
                            0.0
                        } else {
                            c * x * y
                        }
                    })
                    .sum::<f64>();
            }
            blocks.push(shares);
        }
        let variance = sum_of_independent(&blocks, ln);
        let ratio = self.ratios[form.place];
        (1..=ORDERS)
            .map(|m| {
                let normal = ((ln[m] + variance[m - 1]) / (2.0 * m as f64)).exp();
                (normal + rest[m - 1]) / ratio
            })
            .collect()
    }

    fn largest_fresh(&self, atoms: &[usize]) -> f64 {
        atoms.iter().map(|&a| self.fresh(a)).fold(0.0, f64::max)
    }

    /// A ladder of bounds on the carried noise that reproduces itself, if there is one.
    fn settle(&self, nats: f64) -> Option<Carried> {
        let rung = |a: usize| nats * a as f64 / RUNGS as f64;
        let spent = |c: usize| match c {
            0 => 0.0,
            _ => (rung(c) - (INPUTS as f64).ln()).max(0.0),
        };
        let mut ladder = [0.0; RUNGS];
        let mut changed = [true; RUNGS];
        for _ in 0..PASSES {
            for c in 0..RUNGS {
                if !core::mem::take(&mut changed[c]) {
                    continue;
                }
                let norms = self.outputs(ladder[c]);
                for a in 0..RUNGS {
                    let target = rung(a + 1) - spent(c) + (RUNGS as f64).ln();
                    if target <= 0.0 {
                        continue;
                    }
                    let by_order = norms.iter().zip(1..);
                    let by_order = by_order.map(|(n, m)| n * (target / (2.0 * f64::from(m))).exp());
                    let z = by_order.fold(f64::INFINITY, f64::min);
                    if z > ladder[a] {
                        (ladder[a], changed[a]) = (z * SLACK, true);
                    }
                }
                if ladder.iter().any(|z| *z > UNSETTLED || z.is_nan()) {
                    return None;
                }
            }
            if changed == [false; RUNGS] {
                return Some(Carried {
                    largest: ladder.into_iter().fold(0.0, f64::max),
                    usual: ladder[0],
                });
            }
        }
        None
    }
}

/// Logarithms of the moments of a sum of independent variables with the given norms, by order from 1.
fn sum_of_independent(shares: &[Vec<f64>], ln: &[f64]) -> Vec<f64> {
    // norms beyond the orders of the outputs may be infinite
    let norms = shares.iter().map(|s| s[ORDERS / 2 - 1]);
    let lead = norms.fold(0.0, f64::max);
    let series = |s: &Vec<f64>| -> Vec<f64> {
        let terms = (1..).zip(s).map(|(m, norm)| {
            let log = f64::from(m) * (norm / lead).ln() - ln[m as usize];
            log.exp()
        });
        core::iter::once(1.0).chain(terms).collect()
    };
    let mut sum = series(&shares[0]);
    for share in &shares[1..] {
        let other = series(share);
        let coefficient = |m: usize| (0..=m).map(|k| sum[k] * other[m - k]).sum();
        sum = (0..=ORDERS).map(coefficient).collect();
    }
    (1..=ORDERS)
        .map(|m| sum[m].ln() + ln[m] + m as f64 * lead.ln())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_output_has_blocks_of_four_s_boxes() {
        let forms = RoundForms::new(0..INPUTS);
        // each S-box contributes ANDs with four bits of N⁻¹
        for form in &forms.outputs {
            assert_eq!(form.blocks.len(), 4);
            let sides = |side: fn(&Block) -> &Vec<usize>| -> usize {
                form.blocks.iter().map(|b| side(b).len()).sum()
            };
            let (rows, columns) = (sides(|b| &b.rows), sides(|b| &b.columns));
            assert!((18..=40).contains(&rows.max(columns)) && rows.min(columns) <= 16);
        }
    }

    #[test]
    fn symmetric_functions_come_from_traces() {
        // eigenvalues 1 and 4
        let h = symmetric(&[vec![1.0, 0.0], vec![0.0, 2.0]]);
        assert_eq!(h[..4], [1.0, 5.0, 21.0, 85.0]);
        // rank one
        let h = symmetric(&[vec![1.0, 1.0], vec![1.0, 1.0]]);
        assert_eq!(h[..4], [1.0, 4.0, 16.0, 64.0]);
    }
}
