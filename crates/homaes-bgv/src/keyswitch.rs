//! Key switching with digits and special primes (GHS12 §3.1 and its hybrid with digit decomposition).
//!
//! A key from t to s holds, for every digit i of the gadget, a pair (b_i, a_i) modulo the primes of its part ([`KeyPart`]) with
//! b_i + a_i s = 2 e_i + P g_i t, where P is the product of the part's special primes and g_i is 1 modulo the
//! primes of digit i and 0 modulo the others. A polynomial d known modulo Q is split into centred
//! digits d_i = \[d\]_{Q_i}; then Σ d_i·(b_i, a_i) = encryption of P·d·t modulo Q·P, which the modulus
//! switch that follows divides by P. Using only a factor P_l of P saves limbs at low levels: with
//! d·(P/P_l)^{-1} in place of d the sum encrypts P_l·d·t.
//!
//! Everything between the two basis conversions is local to one prime, so the work goes prime by
//! prime, and within a prime over all outputs of a [`Pass`]: a key's limbs are read from memory once for
//! all of them.

mod pass;

pub(crate) use pass::Pass;

use crate::ciphertext::Ciphertext;
use crate::params::{KeyPart, Params, SwitchPlan};
use homaes_leveled::{Axes, Meter, Poly, Stage};
use homaes_math::kernel::{self, Tensor};
use homaes_math::{GaloisMap, Words};

/// By part, pairs (b_i, a_i) for the digits i, canonical limbs over all primes (empty for primes that the part does not
/// hold).
#[derive(Clone)]
pub(crate) struct SwitchKey {
    pub(crate) parts: [Vec<[Poly; 2]>; KeyPart::ALL.len()],
}

impl SwitchKey {
    /// The pairs that `plan` reads.
    fn digits(&self, plan: &SwitchPlan) -> &[[Poly; 2]] {
        &self.parts[plan.part.number()]
    }

    /// Whether the key holds all that `plan` reads.
    pub(crate) fn covers(&self, plan: &SwitchPlan) -> bool {
        let digits = self.digits(plan);
        let held = |i: &usize| digits.iter().flatten().all(|p| !p.limbs[*i].is_empty());
        plan.digits.iter().all(|d| d.number < digits.len()) && plan.extended.iter().all(held)
    }
}

/// What all outputs of one pass have in common: the keys their pieces meet, and how addends enter.
pub(crate) struct Shape<'a> {
    /// per piece d, each (σ, key) of `Σ σ(d)·key`
    pub(crate) uses: Vec<Vec<(&'a GaloisMap, &'a SwitchKey)>>,
    pub(crate) addends: Vec<Addend<'a>>,
}

/// How a polynomial is added without a key: its image under `map` times a constant of Z\[ζ_17\]; nothing modulo special primes,
/// because the constants contain P_l.
#[derive(Clone, Copy)]
pub(crate) struct Addend<'a> {
    pub(crate) map: &'a GaloisMap,
    /// stored constants per row, per prime of the source basis
    pub(crate) by_row: &'a [Vec<u64>],
    /// whether to the second polynomial of the output
    pub(crate) second: bool,
}

/// The polynomials that one output of a pass is summed from, over the plan's source basis: digits of the pieces times keys, and addends times
/// constants.
pub(crate) enum Summands<'a> {
    /// pieces, already multiplied by the plan's `scale`, and addends
    Stored {
        pieces: Vec<&'a Poly>,
        addends: Vec<&'a Poly>,
    },
    /// those of a product, which are computed one prime at a time, twice, rather than written to memory and read back
    Product(Factors<'a>),
}

impl Summands<'_> {
    /// As far as digits go before they meet the keys: those of a product in the kernel where they do.
    fn axes(&self) -> Axes {
        match self {
            Self::Stored { .. } => Axes::All,
            Self::Product(_) => Axes::First,
        }
    }
}

/// Of the product x·σ(y), σ not the identity, whose parts under σ(s) and s·σ(s) are the pieces, and those under 1 and s the addends.
pub(crate) struct Factors<'a> {
    pub(crate) x: &'a Ciphertext,
    pub(crate) y: &'a Ciphertext,
    pub(crate) map: &'a GaloisMap,
}

impl Factors<'_> {
    /// Operands of the parts modulo the `at`-th source prime.
    fn operands(&self, plan: &SwitchPlan, at: usize) -> Tensor<'_> {
        let [x, y] = [self.x, self.y].map(|c| c.parts.each_ref().map(|p| &*p.limbs[at]));
        let (map, scale) = (self.map, plan.scale[at]);
        Tensor { x, y, map, scale }
    }

    /// The parts that are switched, modulo the `at`-th source prime.
    fn tensor_high(
        &self,
        params: &Params,
        meter: &Meter,
        plan: &SwitchPlan,
        at: usize,
        out: &mut [Words; 2],
    ) {
        let (m, t) = (params.modulus(plan.from[at]), self.operands(plan, at));
        let out = out.each_mut().map(|part| &mut **part);
        meter.time(Stage::Tensor, || {
            kernel::tensor_high(params.ring(), m, &t, out);
        });
    }
}

impl Summands<'_> {
    fn pieces(&self) -> usize {
        match self {
            Self::Stored { pieces, .. } => pieces.len(),
            Self::Product(_) => 2,
        }
    }
}
