//! Bound on the noise of users' circuits, for every sequence of operations.
//!
//! [`crate::noise::runaway`] bounds one circuit, AES. A user's circuit is known only as it is evaluated, so every
//! ciphertext carries a [`Bound`], and an operation is refused if its result might decrypt wrongly with a probability
//! above that of its set, [`ParamSet::log2_p_fail`](crate::ParamSet::log2_p_fail), 2^-64 or 2^-128; with `f` its
//! negative logarithm:
//!
//! # What is bounded
//!
//! ν_j is the value of the noise polynomial at embedding j. Its sources are *atoms*: the noises R of fresh encryptions,
//! roundings and key switches. The values of an atom are modelled as circular normal, of variance at most
//!
//! - ρ²·[`KEY_PEAK`] for a rounding, ρ² = n(1+h)/3: key generation refuses keys with a larger max_j (1+|s_j|²)/(1+h);
//! - 4nσ² for a fresh encryption;
//! - the mean key-switching noise times 1 + √(2tΣw²) + t·max w for a key switch, with w the shares of its digits. A
//!   key's errors are drawn once, and the squares of their values at one embedding are exponential variables. By
//!   Laurent and Massart's inequality (*Ann. Statist.* 28, 2000, lemma 1) their weighted sum exceeds this with
//!   probability ≤ e^-t, t = 15.6 + f ln 2: outside an event of 2^-f at key generation the bound holds at all
//!   embeddings of all keys of a set.
//!
//! Outside *truncations* (below) ν_j is a sum of monomials. Each is a number times values of different atoms, or of one
//! atom at different embeddings, times bounded factors. Atoms enter as they are, not as complex conjugates. For q = 1 …
//! [`ORDERS`] and the worst embedding, [`Bound`] has
//!
//! - `clean`: a bound on the norm ‖C‖ = E\[|C|^2q\]^(1/2q) of the sum C of the monomials without bounded factors;
//! - `rest`: a bound on the sum of the norms of the other monomials, their bounded factors at their largest;
//! - `atoms`: every atom that enters, and the Galois elements under which it does: after σ_t the value at j is the one
//!   at jt.
//!
//! # The rules
//!
//! Norms are computed as if values of different atoms, and of one atom at different embeddings, were all independent,
//! with variances raised by the slack of [`atoms::Correlation`]. This is sound: C is a holomorphic polynomial in the
//! atoms, so |C|^2q is plurisubharmonic, and independent circular normal noise added to them can only raise its mean.
//! Where `Correlation` admits embeddings, the raised diagonal is the true covariance plus such noise; elsewhere the
//! operation assumes nothing about the noise (*grounding*).
//!
//! - *Sum*: norms add (Minkowski's inequality), whether or not the terms depend on each other.
//! - *Constant, public polynomial*: norms times its largest embedding, computed; for Z\[ζ_17\] the largest of sixteen
//!   values. A public *summand* is a bounded factor with its largest embedding, computed. For an encrypted message it
//!   is the largest of any 0/1 vector, about n/π, because bytes can be chosen.
//! - *Product xy of disjoint atoms*: C_x·C_y has the product of the norms; likewise the rest (C_x + rest_x)(C_y +
//!   rest_y) - C_x·C_y.
//! - *Switch by X, adding a new atom R*: norms over X, then E|C + R|^2q = Σ_i C(q,i)² (q-i)! v^(q-i) E|C|^2i, since R
//!   is circular and independent of C; the rest is only divided.
//! - *Automorphism σ_t*: the Galois elements of the atoms times t.
//! - *Truncation*: by Markov's inequality at the best q, |ν_j| ≤ B at all embeddings outside an event of probability
//!   2^-(f + 36). Outside it ν is a bounded factor: clean norms 0, rest B, no atoms. The event is counted in
//!   `events`. A product whose atoms are not disjoint truncates one factor. A switch truncates the noise it carries
//!   over once this is small beside the new noise, so later products need not ask for its source.
//!
//! # Which noises are the same
//!
//! Operations are deterministic. A rounding has the same errors when repeated, after the addition of a public
//! polynomial, or for ζ·c1. So atoms are named by what determines them: a rounding by the family of c1
//! ([`form::Form`]), a key switch by the families of its operands. Levels are no part of a name: lowering the modulus
//! in one step or in several leaves the same last rounding, in a division of its own or in that of a key switch, and
//! suitable multiples have the same rounding at different levels.
//!
//! # Decryption
//!
//! A coefficient in the normal basis is Σ_j d_j ν_j with Σ_j |d_j| ≤ Π_r Σ_{a=1}^{r-1} |ζ_r^a - 1|/r (dual basis), 2.3
//! for m = 65535. So no coefficient exceeds Q/4 unless some |ν_j| exceeds Q/4 over that sum. The probability of this is
//! Markov's inequality once more, times n/2 embeddings (the others are conjugates), plus 2^-(f + 36) for each
//! truncation in the history; at most 2^32 truncations are counted, which no evaluation reaches. Half of Q/2 stays in
//! reserve, because `decrypt` treats less than one bit as lost.
//!
//! # What is proved and what is not
//!
//! The rules are proofs for the atoms as described. There are approximations, as in [`crate::noise::runaway`]: noises
//! at one embedding are normal; roundings and digits of different families are independent (they are uncorrelated, and
//! sums of n terms); complex conjugates of an atom at other embeddings are independent of it (their correlations are at
//! most 2^-7 for m = 65535). Public summands, constants, operands and their order are arbitrary but must not depend on
//! the ciphertexts: whoever knows c1 can compute the errors of its rounding, and choose the largest of many.
//!
//! # Outputs of AES
//!
//! An output of AES in a byte layout is Z' + R: the noise that the last round hands on, and the rounding of its last
//! switch. [`crate::noise::runaway`] bounds the norms of Z' for every accepted key ([`handed_on_limit`]; a truncation
//! bounds those of higher orders). Z' is a bounded factor with norms of its own. It is independent between ciphertexts
//! but not between embeddings, so its atom counts as one at all places ([`atoms::WHOLE`]). A state between rounds is
//! bounded by a truncation of R and by [`CARRIED_LIMIT`]. The probability is *given* that AES succeeded, which has its
//! own bound.
//!
//! If AES runs in K, Z' and R are noises of K. A result in the smaller ring combines them at two embeddings
//! ([`crate::leave`]) and adds the rounding of its key switch. Two results of one ciphertext depend on each other, so
//! their norms are taken at twice the order, and no noise in them counts as an independent rounding.

mod atoms;
mod form;

use form::LARGEST_LOG2;
pub(crate) use form::{Form, Scalar};

use crate::noise::prime_factors;
use crate::noise::runaway::{self, CARRIED_LIMIT, handed_on_limit};
use atoms::{Atoms, Correlation, WHOLE};
use homaes_math::Ring;
use homaes_math::sample::SIGMA;
use std::f64::consts::{LN_2, SQRT_2, TAU};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::OnceLock;

/// The largest value of (1 + |s_j|²)/(1 + h), over the embeddings s_j of a secret of weight h, that key generation
/// accepts: the variance of a rounding at embedding j over its mean. Random keys of n = 32768 exceed it with a
/// probability of 3 %.
pub const KEY_PEAK: f64 = 13.0;

/// Square of the factor by which values may grow when they leave K: (2√(2/7))².
pub(crate) const LEAVING: f64 = 8.0 / 7.0;

/// Largest count of truncations, and bits of one's probability beyond those of a failure.
const MOST_EVENTS: f64 = 4_294_967_296.0;
const EVENT_BITS: f64 = 36.0;
/// -ln of the share of a failure's probability that the errors of one key have at one embedding.
const KEY_NATS: f64 = 60.0 - 64.0 * LN_2;
/// Number of norms: orders 2, 4, …, 128.
const ORDERS: usize = 64;
/// log2, over ρ, of the largest carried noise that a switch truncates; eight products in a row lose about a bit of
/// room.
const SMALL_LOG2: f64 = 1.0;

/// log2 of the norms of orders 2, 4, …, 2·[`ORDERS`].
type Norms = [f64; ORDERS];

const NOTHING: f64 = f64::NEG_INFINITY;

/// A hash that identifies a value.
pub(crate) fn hash(what: &impl Hash) -> u64 {
    let mut state = DefaultHasher::new();
    what.hash(&mut state);
    state.finish() & !WHOLE
}

/// log2(2^a + 2^b).
fn plus(a: f64, b: f64) -> f64 {
    let (hi, lo) = if a > b { (a, b) } else { (b, a) };
    if lo == NOTHING {
        return hi;
    }
    hi + (lo - hi).exp2().ln_1p() / LN_2
}

fn sum(a: &Norms, b: &Norms) -> Norms {
    core::array::from_fn(|q| plus(a[q], b[q]))
}

/// The constants of a ring and a secret's weight.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct BoundModel {
    n: f64,
    m: u32,
    rho_log2: f64,
    log2_p_fail: f64,
    /// log2 of the largest embedding of a polynomial with coefficients 0 and 1
    pub(crate) message_log2: f64,
    /// log2 of the sum of the magnitudes of the dual basis's embeddings
    dual_log2: f64,
    /// log2 ρ of K, if AES runs there
    cipher_rho_log2: Option<f64>,
    within: Correlation,
}

impl BoundModel {
    pub(crate) fn new(ring: &Ring, rho_log2: f64, log2_p_fail: f64) -> Self {
        let (m, primes) = (ring.m() as u32, prime_factors(ring));
        let dual = primes.iter().map(|&r| {
            let chord = |a| 2.0 * (TAU / 2.0 * f64::from(a) / f64::from(r)).sin();
            (1..r).map(chord).sum::<f64>() / f64::from(r)
        });
        Self {
            n: ring.n() as f64,
            m,
            rho_log2,
            log2_p_fail,
            // in K, a + w·b for two such sums
            message_log2: (largest_subset_sum(ring) * (1.0 + SQRT_2 * (ring.halves() - 1) as f64))
                .log2(),
            cipher_rho_log2: None,
            dual_log2: dual.product::<f64>().log2(),
            within: Correlation::new(m, primes),
        }
    }

    /// The model of circuits on results of AES in K, with this log2 ρ there.
    pub(crate) fn after(self, cipher_rho_log2: f64) -> Self {
        let cipher_rho_log2 = Some(cipher_rho_log2);
        Self {
            cipher_rho_log2,
            ..self
        }
    }

    /// log2 of the largest embedding of a sum of this many public blocks. Results from K hold sums of two polynomials.
    fn blocks_log2(&self, summands: u32) -> f64 {
        let halves = if self.cipher_rho_log2.is_some() {
            2.0
        } else {
            1.0
        };
        (halves * f64::from(summands)).log2() + self.message_log2
    }

    /// log2 of the norm of order 2m of the noise that AES hands on, without the last rounding in R.
    fn handed_on_log2(&self, m: usize) -> f64 {
        let handed_on = handed_on_limit(m as u32).log2();
        let Some(rho) = self.cipher_rho_log2 else {
            return handed_on + self.rho_log2;
        };
        // includes the last rounding in K
        let rounding = normal_norm(KEY_PEAK.log2(), m);
        0.5 * LEAVING.log2() + rho + plus(handed_on, rounding)
    }

    /// Norms of a normal variable with this log2 of the variance, raised by the slack.
    fn normal(&self, variance_log2: f64) -> Norms {
        with_normal(&[NOTHING; ORDERS], variance_log2 + self.raise())
    }

    /// -log2 of the probability of a truncation.
    pub(crate) fn event_bits(&self) -> f64 {
        EVENT_BITS - self.log2_p_fail
    }

    fn raise(&self) -> f64 {
        (1.0 + self.within.slack).log2()
    }

    /// log2 of the variance of a rounding at the worst embedding.
    fn rounding_log2(&self) -> f64 {
        2.0 * self.rho_log2 + KEY_PEAK.log2()
    }

    /// A number that some embedding exceeds with a probability of at most 2^-`bits`.
    fn quantile(&self, norms: impl Fn(usize) -> f64, bits: f64) -> f64 {
        let bits = bits + (self.n / 2.0).log2();
        (0..ORDERS)
            .map(|i| norms(i) + bits / (2 * (i + 1)) as f64)
            .fold(f64::INFINITY, f64::min)
    }
}

/// log2 of the norm of order 2m of a circular normal variable with this log2 of the variance: m!^(1/2m) deviations.
fn normal_norm(variance_log2: f64, m: usize) -> f64 {
    let factorial: f64 = (1..=m).map(|k| (k as f64).log2()).sum();
    0.5 * (variance_log2 + factorial / m as f64)
}

/// The largest |Σ_{k ∈ S} ζ^k| over sets S of units; half planes attain it.
fn largest_subset_sum(ring: &Ring) -> f64 {
    let m = ring.m() as f64;
    let units = ring.units();
    let points: Vec<(f64, f64)> = units
        .iter()
        .map(|&k| (TAU * k as f64 / m).sin_cos())
        .collect();
    // slides a window of half a turn around the circle
    let (mut end, mut sum, mut largest) = (0, (0.0, 0.0), 0.0f64);
    for start in 0..units.len() {
        let inside = |end: usize| {
            let turn = ring.m() * (end / units.len()) as u64;
            2 * (units[end % units.len()] + turn - units[start]) < ring.m()
        };
        while end < start + units.len() && inside(end) {
            let (y, x) = points[end % units.len()];
            sum = (sum.0 + y, sum.1 + x);
            largest = largest.max(f64::hypot(sum.0, sum.1));
            end += 1;
        }
        let (y, x) = points[start];
        sum = (sum.0 - y, sum.1 - x);
        largest = largest.max(f64::hypot(sum.0, sum.1));
    }
    largest
}

/// log2 of C(q,i)²·(q-i)!.
fn weights() -> &'static [[f64; ORDERS + 1]; ORDERS + 1] {
    static TABLE: OnceLock<Box<[[f64; ORDERS + 1]; ORDERS + 1]>> = OnceLock::new();
    TABLE.get_or_init(|| {
        let mut factorial = [0.0; ORDERS + 1];
        for k in 1..=ORDERS {
            factorial[k] = factorial[k - 1] + (k as f64).log2();
        }
        let mut out = Box::new([[NOTHING; ORDERS + 1]; ORDERS + 1]);
        for (q, row) in out.iter_mut().enumerate() {
            for (i, w) in row[..=q].iter_mut().enumerate() {
                *w = 2.0 * (factorial[q] - factorial[i]) - factorial[q - i];
            }
        }
        out
    })
}

/// Norms of C + R, R circular normal and independent of C.
fn with_normal(norms: &Norms, variance_log2: f64) -> Norms {
    let weights = weights();
    core::array::from_fn(|at| {
        let q = at + 1;
        let mut terms = [NOTHING; ORDERS + 1];
        for (i, term) in terms[..=q].iter_mut().enumerate() {
            let power = match i {
                0 => 0.0,
                _ => (2 * i) as f64 * norms[i - 1],
            };
            *term = weights[q][i] + (q - i) as f64 * variance_log2 + power;
        }
        let lead = terms.iter().copied().fold(NOTHING, f64::max);
        if !lead.is_finite() {
            return lead;
        }
        // smaller terms are lost in rounding
        let terms = terms.iter().map(|t| t - lead).filter(|t| *t > -70.0);
        (lead + terms.map(f64::exp2).sum::<f64>().log2()) / (2 * q) as f64
    })
}

/// The noise that a key switch or a rounding adds.
pub(crate) struct Fresh {
    /// log2 of the variance of key switching at the worst embedding, after the division; -∞ without keys
    pub(crate) key_switch_log2: f64,
    /// names of the digits, each with its Galois element
    pub(crate) digits: Vec<(Option<u64>, u64)>,
    /// name of the rounding
    pub(crate) rounding: Option<u64>,
}

/// The bound of the module's text, in base-2 logarithms.
#[derive(Clone, Debug)]
pub(crate) struct Bound {
    clean: Norms,
    rest: Norms,
    atoms: Atoms,
    /// truncations in the history
    events: f64,
    pub(crate) form: Form,
    /// log2 of a bound on the sum of the magnitudes of the form's coefficients
    pub(crate) size: f64,
}

impl Bound {
    /// A trivial encryption, whose noise has no embedding above 2^`largest_log2`.
    pub(crate) fn public(largest_log2: f64) -> Self {
        Self {
            clean: [NOTHING; ORDERS],
            rest: [largest_log2; ORDERS],
            atoms: Atoms::default(),
            events: 0.0,
            form: Form::TRIVIAL,
            size: 0.0,
        }
    }

    /// A fresh encryption under the secret key, identified by `id`.
    pub(crate) fn encrypted(model: &BoundModel, id: u64) -> Self {
        Self {
            clean: model.normal((model.n * 4.0 * SIGMA * SIGMA).log2()),
            rest: [model.message_log2; ORDERS],
            atoms: Atoms::new(vec![(id, 1)]),
            events: 0.0,
            form: Form::root(id),
            size: 0.0,
        }
    }

    /// A rounding noise, identified by `id`, plus a carried noise with no embedding above 2^`carried_log2`.
    pub(crate) fn rounded(model: &BoundModel, id: u64, carried_log2: f64) -> Self {
        Self {
            clean: model.normal(model.rounding_log2()),
            rest: [carried_log2; ORDERS],
            ..Self::encrypted(model, id)
        }
    }

    /// A ciphertext of AES with `summands` public blocks added; `output` if it is an output of a byte layout.
    pub(crate) fn of_aes(model: &BoundModel, id: u64, output: bool, summands: u32) -> Self {
        let public = model.blocks_log2(summands);
        if !output {
            let carried = plus(CARRIED_LIMIT.log2() + model.rho_log2, public);
            let state = Self::rounded(model, id, carried);
            // its rounding noise enters what the cipher hands on
            return state.truncated(model);
        }
        let known = |m: usize| model.handed_on_log2(m);
        // truncation with probability 2^-EVENT_BITS bounds higher norms
        let bits = model.event_bits() + (model.n / 2.0).log2();
        let largest = (1..=runaway::ORDERS)
            .map(|m| known(m) + bits / (2 * m) as f64)
            .fold(f64::INFINITY, f64::min);
        // pairs of results from K depend on the same noise, so norms are taken at twice the order: by Cauchy and
        // Schwarz a product of two results has at most the product of these
        let leaves = model.cipher_rho_log2.is_some();
        let carried = core::array::from_fn(|at| {
            let m = if leaves { 2 * (at + 1) } else { at + 1 };
            let most = runaway::ORDERS.min(m);
            let norm = (known(most) * most as f64 + largest * (m - most) as f64) / m as f64;
            match leaves {
                // the rounding of both halves is in a + b
                true => plus(
                    plus(norm, normal_norm(model.rounding_log2() + 1.0, m)),
                    public,
                ),
                false => plus(norm, public),
            }
        });
        let rounded = Self::rounded(model, id | WHOLE, NOTHING);
        Self {
            clean: if leaves {
                [NOTHING; ORDERS]
            } else {
                rounded.clean
            },
            rest: carried,
            events: 1.0,
            // finishing a state does not change c1
            form: Form::root(id),
            ..rounded
        }
    }

    /// An otherwise unknown noise with no embedding above 2^`largest_log2` outside a truncation, plus public blocks.
    pub(crate) fn unknown(model: &BoundModel, id: u64, largest_log2: f64, summands: u32) -> Self {
        Self {
            events: 1.0,
            form: Form::root(id),
            ..Self::public(plus(largest_log2, model.blocks_log2(summands)))
        }
    }

    /// Drops a form that is too large to identify noises.
    pub(crate) fn named(self) -> Self {
        match self.size > LARGEST_LOG2 {
            true => Self {
                form: Form::Unknown,
                ..self
            },
            false => self,
        }
    }

    fn norm(&self, at: usize) -> f64 {
        plus(self.clean[at], self.rest[at])
    }

    /// log2 of a bound on all embeddings, outside an event of probability 2^-100, or 2^-164 for sets with 2^-128.
    pub(crate) fn largest_log2(&self, model: &BoundModel) -> f64 {
        if self.atoms.is_empty() {
            return self.norm(0);
        }
        model.quantile(|at| self.norm(at), model.event_bits())
    }

    /// log2 of a bound on the largest coefficient.
    pub(crate) fn coefficient_log2(&self, model: &BoundModel) -> f64 {
        self.largest_log2(model) + model.dual_log2
    }

    /// log2 of the bound on the probability that a coefficient comes within a bit of half the modulus, or that the
    /// noise bound fails.
    pub(crate) fn failure_log2(&self, model: &BoundModel, modulus_log2: f64) -> f64 {
        let limit = modulus_log2 - 2.0 - model.dual_log2;
        let largest = (0..ORDERS)
            .map(|at| (2 * (at + 1)) as f64 * (self.norm(at) - limit))
            .fold(0.0, f64::min);
        let embeddings = (model.n / 2.0).log2();
        // without atoms the noise is bounded, and below the limit it cannot fail
        let largest = match self.atoms.is_empty() && largest < 0.0 {
            true => NOTHING,
            false => largest + embeddings,
        };
        plus(largest, self.events.log2() - model.event_bits()).min(0.0)
    }

    /// The truncation of the module's text, unless the noise is already bounded.
    fn grounded(&self, model: &BoundModel) -> Self {
        if self.atoms.is_empty() {
            return self.clone();
        }
        self.truncated(model)
    }

    #[cfg(test)]
    pub(crate) fn family(&self) -> Option<u64> {
        self.form.family()
    }

    #[cfg(test)]
    pub(crate) fn events(&self) -> f64 {
        self.events
    }

    fn events_of(&self, other: &Self) -> f64 {
        (self.events + other.events).min(MOST_EVENTS)
    }

    pub(crate) fn plus(&self, other: &Self, model: &BoundModel) -> Self {
        let sum = Self {
            clean: sum(&self.clean, &other.clean),
            rest: sum(&self.rest, &other.rest),
            events: self.events_of(other),
            form: self.form.plus(other.form),
            size: plus(self.size, other.size),
            atoms: self.atoms.clone(),
        }
        .named();
        match self.atoms.union(&other.atoms, false, &model.within) {
            Some(atoms) => Self { atoms, ..sum },
            None => sum.truncated(model),
        }
    }

    fn truncated(&self, model: &BoundModel) -> Self {
        Self {
            events: (self.events + 1.0).min(MOST_EVENTS),
            form: self.form,
            size: self.size,
            ..Self::public(self.largest_log2(model))
        }
    }

    /// The bound of Σ c_i x_i, from |c_i|² at each of the sixteen rows.
    pub(crate) fn combination(terms: &[(&Self, [f64; 16], Scalar)], model: &BoundModel) -> Self {
        let Some((&(first, ..), _)) = terms.split_first() else {
            return Self::public(NOTHING);
        };
        // in logarithms: the range of norms exceeds that of `f64`
        let factors = terms.iter().map(|t| t.1.map(|c| c.log2() / 2.0));
        let factors: Vec<[f64; 16]> = factors.collect();
        let row_sum = |norm: &dyn Fn(&Self) -> f64| {
            let row = |row: usize| {
                let terms = terms.iter().zip(&factors);
                let terms = terms.filter(|(_, factor)| factor[row] > NOTHING);
                terms.fold(NOTHING, |sum, (t, factor)| {
                    plus(sum, factor[row] + norm(t.0))
                })
            };
            let rows = (0..16).map(row);
            rows.fold(NOTHING, |most, row| match row.is_nan() {
                true => f64::INFINITY,
                false => most.max(row),
            })
        };
        let mut out = Self {
            clean: core::array::from_fn(|q| row_sum(&|b| b.clean[q])),
            rest: core::array::from_fn(|q| row_sum(&|b| b.rest[q])),
            atoms: first.atoms.clone(),
            events: 0.0,
            form: Form::TRIVIAL,
            size: NOTHING,
        };
        let mut known = true;
        for (term, _, constant) in terms {
            out.events = out.events_of(term);
            out.form = out.form.plus(term.form.times(*constant));
            out.size = plus(out.size, term.size + constant.1);
            match out.atoms.union(&term.atoms, false, &model.within) {
                Some(atoms) if known => out.atoms = atoms,
                _ => known = false,
            }
        }
        let out = out.named();
        if known { out } else { out.truncated(model) }
    }

    /// After multiplication by a factor with no embedding above 2^`largest_log2`.
    pub(crate) fn scaled(&self, largest_log2: f64, by: Scalar) -> Self {
        Self {
            clean: self.clean.map(|x| x + largest_log2),
            rest: self.rest.map(|x| x + largest_log2),
            form: self.form.times(by),
            size: self.size + by.1,
            ..self.clone()
        }
        .named()
    }

    /// With a public summand with no embedding above 2^`largest_log2`.
    pub(crate) fn with_public(&self, largest_log2: f64) -> Self {
        Self {
            rest: sum(&self.rest, &[largest_log2; ORDERS]),
            ..self.clone()
        }
    }

    /// The noise of a product; the caller sets its form.
    pub(crate) fn times(&self, other: &Self, model: &BoundModel) -> Self {
        let Some(atoms) = self.atoms.union(&other.atoms, true, &model.within) else {
            let smaller = self.largest_log2(model) < other.largest_log2(model);
            let (cut, kept) = if smaller {
                (self, other)
            } else {
                (other, self)
            };
            return cut.grounded(model).times(kept, model);
        };
        let clean: Norms = core::array::from_fn(|q| self.clean[q] + other.clean[q]);
        let rest = |q: usize| {
            let mixed = plus(self.clean[q] + other.rest[q], self.rest[q] + other.clean[q]);
            plus(mixed, self.rest[q] + other.rest[q])
        };
        Self {
            clean,
            rest: core::array::from_fn(rest),
            atoms,
            events: self.events_of(other),
            form: self.form,
            size: self.size + other.size,
        }
    }

    /// After the automorphism ζ -> ζ^`galois`; the form stays.
    pub(crate) fn moved(&self, galois: u64, model: &BoundModel) -> Self {
        Self {
            atoms: self.atoms.moved(galois, model.m),
            ..self.clone()
        }
    }

    /// After a division by 2^`drop`.
    pub(crate) fn divided(&self, drop: f64, fresh: &Fresh, model: &BoundModel) -> Self {
        let divided = |norms: &Norms| norms.map(|x| x - drop);
        let carried = Self {
            clean: divided(&self.clean),
            rest: divided(&self.rest),
            ..self.clone()
        };
        let variance = plus(fresh.key_switch_log2, model.rounding_log2());
        let digits = fresh
            .digits
            .iter()
            .map(|&(id, t)| Some((id?, (t % u64::from(model.m)) as u32)));
        let all = digits.chain([fresh.rounding.map(|id| (id, 1))]);
        let new: Option<Vec<(u64, u32)>> = all.collect();
        let Some(new) = new else {
            // unnamed new noise must be bounded
            let noise = model.normal(variance);
            let largest = model.quantile(|at| noise[at], model.event_bits());
            // the plaintext determines the rounding of a trivial encryption
            let out = carried.with_public(largest.max(model.message_log2 + 1.0));
            return Self {
                events: (out.events + 1.0).min(MOST_EVENTS),
                ..out
            };
        };
        let new = Atoms::new(new);
        let small = carried.largest_log2(model) <= model.rho_log2 + SMALL_LOG2;
        let carried = if small {
            carried.grounded(model)
        } else {
            carried
        };
        let (carried, atoms) = match carried.atoms.union(&new, true, &model.within) {
            Some(atoms) => (carried, atoms),
            None => (carried.grounded(model), new),
        };
        Self {
            clean: with_normal(&carried.clean, variance + model.raise()),
            atoms,
            ..carried
        }
    }
}

/// A bound on the variance of a key switch at the worst embedding over its mean, from its digits' shares in the mean.
///
/// At one embedding, the squared error of each digit's key is an exponential variable. Their weighted sum exceeds this
/// bound with a probability of at most e^-15.6 2^`log2_p_fail` (Laurent and Massart, *Ann. Statist.* 28, 2000, lemma 1),
/// so over n/2 = 2^14 embeddings and the keys of a set with at most 2^`log2_p_fail`.
pub fn worst_key_switch_spread(shares: &[f64], log2_p_fail: f64) -> f64 {
    let nats = KEY_NATS - log2_p_fail * LN_2;
    let total: f64 = shares.iter().sum();
    let weights = || shares.iter().map(|w| w / total);
    let squares: f64 = weights().map(|w| w * w).sum();
    let largest = weights().fold(0.0, f64::max);
    1.0 + (2.0 * nats * squares).sqrt() + nats * largest
}

#[cfg(test)]
mod tests;
