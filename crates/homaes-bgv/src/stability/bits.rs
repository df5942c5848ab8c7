//! Bound on the probability that the noise of a bit-sliced AES evaluation runs away.
//!
//! Bits never meet a Frobenius map, so that every embedding has a recursion of its own, which knows of the key only κ_j. The recursion is
//! read off the circuit: [`Tracer`] is a [`BitEval`] whose items are linear forms in *atoms*, the noises that a switch leaves, and
//! [`FoldedBits`] runs on it as it does on ciphertexts. Units are ρ; every atom has a fresh part, the rounding noise of its switch, a
//! circular normal of variance κ (and that of key switching), and a *carried* part:
//!
//! - a state bit: what the round before left, `Z`, and the noise of a round key;
//! - an operand that was brought down by itself: nothing, as its own noise is divided by at least 2^13 (left out, as the copies of the byte layouts);
//! - a relinearised sum of products `Σ A·B` of forms: that sum, over `D` of its level.
//!
//! A sum of products is `Σ_ij c_ij a_i b_j` over disjoint atoms `a_i = g_i + h_i` and `b_j = g'_j + h'_j`, fresh and carried. Fresh parts are
//! independent of each other and of all carried ones. Its norm of order `2m` is at most the sum of
//!
//! 1. that of `Σ_i g_i Σ_j c_ij b_j`: normal given the `b_j`, of variance `V = κ Σ_i |Σ_j c_ij b_j|²`. `V` is a sum over blocks of the matrix `c` (the four
//!    S-boxes that enter an output), which are independent; in a block, Minkowski's inequality adds the fresh part, a quadratic form in normals whose moments
//!    are `m! h_m` of its eigenvalues, and the carried part, `Σ_i (Σ_j |c_ij| ‖h'_j‖)²`;
//! 2. `Σ_j g'_j Σ_i c_ij h_i`, the same way;
//! 3. `Σ_ij |c_ij| ‖h_i‖ ‖h'_j‖` with norms of order `4m`, as these may depend on each other.
//!
//! The blocks of (1) are independent only given what the rounds before left; that is the condition `|Z| ≤ B` of the good event, under
//! which `Z` counts as a constant. With a ladder of bounds `B_a` as for bytes (`stability`, steps 1 and 2), Markov's inequality
//! gives `P(|Z'| > B_a)`; a ladder that reproduces itself bounds the probability of running away by `events · e^-Y`, `events` = rounds ×
//! ciphertexts × embeddings (one of each conjugate pair). All of it grows with κ: the largest κ_j of the key stands for all.
//!
//! *Output.* Under the good event a coefficient of the result, in the normal basis, is at most `n Π 2/r` times the largest `Z`, plus rounding noise: 2^17 in
//! the secure set, where half the modulus is 2^23.
//!
//! Approximations are those of the byte layouts: rounding noise as normal, roundings independent from switch to switch, key switching as normal noise
//! of given variance.

use super::KeyProfile;
use homaes_aes::folded::BitMatrix;
use homaes_aes::slp::tower;
use homaes_aes::{BitEval, Direction, EvalError, slp};
use std::collections::BTreeMap;
use std::f64::consts::LN_2;
use std::ops::Range;
use std::sync::Mutex;

/// Levels of a round.
pub(super) const LEVELS: usize = 4;
/// Highest order of a norm, of `|Z|²`; the outputs use half of it.
const ORDERS: usize = 64;
/// Rungs of the ladder, passes over it, and the slack given in each.
const RUNGS: usize = 16;
const PASSES: usize = 40;
const SLACK: f64 = 1.02;
/// Carried-in noise, over ρ, beyond which a key counts as not settling.
const UNSETTLED: f64 = 1000.0;
/// State bits that enter one output: eight of each of four bytes.
const INPUTS: f64 = 32.0;
/// Ciphertexts of a state.
const CIPHERTEXTS: f64 = 128.0;

/// Parameters of a bit-sliced evaluation whose failure probability is bounded.
#[derive(Clone, Copy, Debug)]
pub struct BitsModel {
    /// bits dropped by the switches behind the four levels of conjunctions
    pub drops: [f64; LEVELS],
    /// rounds evaluated
    pub rounds: u32,
    /// variance of the noise of a round key, over ρ²
    pub round_key: f64,
    /// variances of the key-switching noise left after the switches, over ρ², whatever the embedding
    pub ks: [f64; LEVELS],
}

/// What the good event of an accepted key allows.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Carried {
    /// largest noise that a round leaves, over ρ
    pub largest: f64,
    /// the same with probability 1 - e^-4 at least, at a given embedding
    pub usual: f64,
}

/// A linear form: level, and the coefficients of atoms.
#[derive(Clone, Debug)]
struct Form {
    level: usize,
    terms: BTreeMap<usize, f64>,
}

/// Sum of products of two forms.
type Sum = Vec<(Form, Form)>;

#[derive(Clone, Debug)]
enum Kind {
    State,
    Lowered,
    Relinearised { level: usize, sum: Sum },
}

#[derive(Clone, Debug)]
struct Atom {
    kind: Kind,
    /// the S-box that it belongs to
    family: usize,
}

/// The view of bits that writes down atoms, as `bits.rs` switches. Levels count downwards from 4.
#[derive(Default)]
struct Tracer(Mutex<Vec<Atom>>);

impl Tracer {
    fn atom(&self, level: usize, family: usize, kind: Kind) -> Form {
        let mut atoms = self.0.lock().expect("no panic while it is held");
        atoms.push(Atom { kind, family });
        let terms = BTreeMap::from([(atoms.len() - 1, 1.0)]);
        Form { level, terms }
    }

    /// The S-box that a form belongs to.
    fn family(&self, form: &Form) -> usize {
        let atoms = self.0.lock().expect("no panic while it is held");
        let mut families = form.terms.keys().map(|&atom| atoms[atom].family);
        let first = families.next().expect("a form has a term");
        assert!(families.all(|family| family == first));
        first
    }

    /// Both at the lower of their levels.
    fn meet(&self, a: &Form, b: &Form) -> (Form, Form) {
        let level = a.level.min(b.level);
        let down = |c: &Form| match c.level == level {
            true => c.clone(),
            false => self.atom(level, self.family(c), Kind::Lowered),
        };
        (down(a), down(b))
    }
}

impl BitEval for Tracer {
    type Error = EvalError;
    type Bit = Form;
    type Product = Sum;

    fn slots(&self) -> usize {
        1
    }

    fn public(&self, _: &[bool]) -> Form {
        Form {
            level: LEVELS,
            terms: BTreeMap::new(),
        }
    }

    fn xor(&self, a: &Form, b: &Form) -> Form {
        let (mut a, b) = self.meet(a, b);
        for (atom, c) in b.terms {
            *a.terms.entry(atom).or_insert(0.0) += c;
        }
        a
    }

    fn and(&self, a: &Form, b: &Form) -> Result<Sum, EvalError> {
        let (x, y) = self.meet(a, b);
        // what was brought down by itself stands on the left, where the norms are sharper
        Ok(vec![if b.level > a.level { (y, x) } else { (x, y) }])
    }

    fn xor_product(&self, mut a: Sum, b: &Sum) -> Sum {
        a.extend_from_slice(b);
        a
    }

    fn relinearize(&self, sum: Sum) -> Result<Form, EvalError> {
        let level = sum[0].0.level;
        let family = self.family(&sum[0].0);
        Ok(self.atom(level - 1, family, Kind::Relinearised { level, sum }))
    }
}

/// A sum of products as matrices, one block for each S-box that it has products of.
struct Bilinear {
    level: usize,
    blocks: Vec<Block>,
}

/// `c[i][j]` by the atoms of both sides.
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
        // the Gram matrix is symmetric
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
    fn new(atoms: &[Atom], level: usize, sum: &Sum) -> Self {
        let mut entries: BTreeMap<usize, BTreeMap<(usize, usize), f64>> = BTreeMap::new();
        for (a, b) in sum {
            for (&i, x) in &a.terms {
                for (&j, y) in &b.terms {
                    let family = atoms[i].family;
                    assert_eq!(family, atoms[j].family, "S-boxes do not mix");
                    let own = entries.entry(family).or_default();
                    *own.entry((i, j)).or_insert(0.0) += x * y;
                }
            }
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
            level,
            blocks: entries.into_values().map(block).collect(),
        }
    }
}

/// ln m!
fn ln_factorial(m: usize) -> f64 {
    (1..=m).map(|k| (k as f64).ln()).sum()
}

/// The circuit of one round of both directions, as bilinear forms.
struct RoundForms {
    /// per atom, the form that it carries; nothing for state bits and what was brought down
    atoms: Vec<Option<Bilinear>>,
    state: Vec<bool>,
    /// the outputs
    outputs: Vec<Bilinear>,
    /// ln m!, from 0
    factorials: Vec<f64>,
}

impl RoundForms {
    /// With the rows of the outputs that are wanted: the four bytes of a column are the same up to renaming.
    fn new(rows: Range<usize>) -> Self {
        let tracer = Tracer::default();
        let state = (0..32).map(|i| tracer.atom(LEVELS, i / 8, Kind::State));
        let state: Vec<Form> = state.collect();
        let core = &tower::DEPTH_4;
        let inputs = state
            .as_chunks::<8>()
            .0
            .iter()
            .map(|s| s.each_ref())
            .collect();
        let begun = slp::begin(&tracer, &core.program, inputs, &|_| ()).expect("nothing fails");
        let products: Vec<Sum> = begun
            .into_iter()
            .flat_map(|copy| copy.finish().expect("nothing fails"))
            .collect();
        let products: Vec<&Sum> = products.iter().collect();
        let outputs = Direction::ALL.into_iter().flat_map(|dir| {
            let matrix = BitMatrix::round(core, dir, true);
            tracer.sums(&products, &matrix.rows()[rows.clone()])
        });
        let outputs: Vec<Sum> = outputs.collect();
        let atoms = tracer.0.into_inner().expect("no panic while it was held");
        let form = |level: usize, sum: &Sum| Bilinear::new(&atoms, level, sum);
        Self {
            outputs: outputs
                .iter()
                .map(|sum| form(sum[0].0.level, sum))
                .collect(),
            state: atoms
                .iter()
                .map(|atom| matches!(atom.kind, Kind::State))
                .collect(),
            atoms: atoms
                .iter()
                .map(|atom| match &atom.kind {
                    Kind::Relinearised { level, sum } => Some(form(*level, sum)),
                    _ => None,
                })
                .collect(),
            factorials: (0..=ORDERS).map(ln_factorial).collect(),
        }
    }
}

impl BitsModel {
    /// Whether the probability that one batch runs away is at most `2^-bits` under this key, and what its good event allows.
    #[must_use]
    pub fn assess(&self, key: &KeyProfile, bits: f64) -> Option<Carried> {
        let embeddings = key.kappa().len() as f64;
        self.settle(key.peak(), key.unit(), embeddings, bits)
    }

    /// [`BitsModel::assess`] for a largest κ and ρ, and a number of embeddings up to conjugation.
    #[must_use]
    pub fn settle(&self, kappa: f64, unit: f64, embeddings: f64, bits: f64) -> Option<Carried> {
        let events = f64::from(self.rounds) * CIPHERTEXTS * embeddings;
        let nats = bits * LN_2 + events.ln();
        let recursion = Recursion {
            circuit: RoundForms::new(0..8),
            kappa,
            round_key: self.round_key,
            ks: self.ks,
            ratios: self.drops.map(|d| d.exp2() / unit),
        };
        recursion.settle(nats)
    }

    /// Whether a key may be used: the probability that a batch is wrong is at most `2^-bits`, the output being decrypted modulo
    /// `2^modulus_bits`.
    #[must_use]
    pub fn accepts(&self, key: &KeyProfile, bits: f64, modulus_bits: f64) -> bool {
        // half of the probability is left for the rounding noise of the output
        self.assess(key, bits + 1.0).is_some_and(|carried| {
            let n = key.dimension() as f64;
            let kappa = key.peak() * (1.0 + self.ks[LEVELS - 1]) + self.round_key;
            // a coefficient of rounding noise: normal, its deviation at most that of as many independent embeddings
            let tail = (2.0 * (bits + 2.0) * LN_2 + 2.0 * (CIPHERTEXTS * n).ln()).sqrt();
            let rounding = (n * kappa * key.covariance / 2.0).sqrt() * tail;
            let largest = key.dual * key.unit() * (n * carried.largest + rounding);
            // circuits take what is handed on for no more than that
            carried.largest <= super::CARRIED_LIMIT && largest.log2() < modulus_bits - 2.0
        })
    }
}

/// The recursion at one embedding.
struct Recursion {
    circuit: RoundForms,
    kappa: f64,
    round_key: f64,
    ks: [f64; LEVELS],
    /// D of the switches behind the four levels
    ratios: [f64; LEVELS],
}

impl Recursion {
    /// Variance of the fresh part of an atom.
    fn fresh(&self, atom: usize) -> f64 {
        let circuit = &self.circuit;
        match &circuit.atoms[atom] {
            Some(form) => self.kappa + self.ks[LEVELS - form.level],
            None if circuit.state[atom] => self.kappa + self.round_key + self.ks[LEVELS - 1],
            None => self.kappa,
        }
    }

    /// Norms of order `2m` of what an output of a round carries, for all `|Z| ≤ z`; by m from 1, the largest of any output.
    fn outputs(&self, z: f64) -> Vec<f64> {
        let circuit = &self.circuit;
        let mut carried: Vec<Vec<f64>> = Vec::with_capacity(circuit.atoms.len());
        for (atom, form) in circuit.atoms.iter().enumerate() {
            carried.push(match form {
                Some(form) => self.norms(form, &carried),
                None if circuit.state[atom] => vec![z; ORDERS],
                None => vec![0.0; ORDERS],
            });
        }
        let mut out = vec![0.0; ORDERS / 2];
        for form in &circuit.outputs {
            for (o, norm) in out.iter_mut().zip(self.norms(form, &carried)) {
                // what is not a number stands for an order that cannot be used
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
        let ln = &self.circuit.factorials;
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
                            // what is constant has the same norm in every order
                            None if self.circuit.state[atom] => carried[atom][0],
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
        let ratio = self.ratios[LEVELS - form.level];
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

    /// A ladder of bounds on the carried-in noise that reproduces itself, if there is one.
    fn settle(&self, nats: f64) -> Option<Carried> {
        let rung = |a: usize| nats * a as f64 / RUNGS as f64;
        let spent = |c: usize| match c {
            0 => 0.0,
            _ => (rung(c) - INPUTS.ln()).max(0.0),
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

/// Logarithms of the moments of a sum of independent variables of given norms, by order from 1.
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
mod tests;
