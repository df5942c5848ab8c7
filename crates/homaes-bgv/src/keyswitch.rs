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

mod key;
mod pass;

pub use key::{KeyPoly, SwitchKey};
pub use pass::Pass;

use homaes_math::GaloisMap;
use homaes_math::kernel::Tensor;
use homaes_rns::{Axes, Fault, Poly, SwitchPlan};

/// What all outputs of one pass have in common: the keys their pieces meet, and how addends enter.
pub struct Shape<'a> {
    /// Per piece d, each (σ, key) of `Σ σ(d)·key`.
    pub uses: Vec<Vec<(&'a GaloisMap, &'a SwitchKey)>>,
    /// How each addend enters.
    pub addends: Vec<Addend<'a>>,
    /// Whether pieces are still to be multiplied by the plan's `scale`.
    pub unscaled: bool,
}

/// How a polynomial is added without a key: its image under `map` times a constant of Z\[ζ_17\]; nothing modulo special primes,
/// because the constants contain P_l.
#[derive(Clone, Copy)]
pub struct Addend<'a> {
    /// The automorphism.
    pub map: &'a GaloisMap,
    /// Stored constants per row, per prime of the source basis.
    pub by_row: &'a [Vec<u64>],
    /// Whether to the second polynomial of the output.
    pub second: bool,
}

/// The polynomials that one output of a pass is summed from, over the plan's source basis: digits of the pieces times keys, and addends times
/// constants.
pub enum Summands<'a> {
    /// Polynomials.
    Stored {
        /// multiplied by the plan's `scale`, unless the shape says that they are not
        pieces: Vec<&'a Poly>,
        /// added as they are
        addends: Vec<&'a Poly>,
    },
    /// Those of a product, which are computed one prime at a time, twice, rather than written to memory and read back.
    Product(Factors<'a>),
}

impl Summands<'_> {
    /// Brings them to memory.
    pub(crate) fn fetch(&self) -> Result<(), Fault> {
        let (first, second): (&[&Poly], &[&Poly]) = match self {
            Self::Stored { pieces, addends } => (pieces, addends),
            Self::Product(f) => (&f.x.each_ref(), &f.y.each_ref()),
        };
        first.iter().chain(second).try_for_each(|p| p.limbs.fetch())
    }

    /// As far as digits go before they meet the keys: those of a product in the kernel where they do.
    fn axes(&self) -> Axes {
        match self {
            Self::Stored { .. } => Axes::All,
            Self::Product(_) => Axes::First,
        }
    }
}

/// Of the product x·σ(y), σ not the identity, whose parts under σ(s) and s·σ(s) are the pieces, and those under 1 and s the addends.
pub struct Factors<'a> {
    /// Decrypts under (1, s).
    pub x: &'a [Poly; 2],
    /// Likewise, before the automorphism.
    pub y: &'a [Poly; 2],
    /// σ.
    pub map: &'a GaloisMap,
}

impl Factors<'_> {
    /// Operands of the parts modulo the `at`-th source prime.
    fn operands(&self, plan: &SwitchPlan, at: usize) -> Tensor<'_> {
        let [x, y] = [self.x, self.y].map(|parts| parts.each_ref().map(|p| &*p.limbs[at]));
        let (map, scale) = (self.map, plan.scale[at]);
        Tensor { x, y, map, scale }
    }
}

/// What is done to the sums of a pass before its division.
#[derive(Clone, Copy)]
pub enum Post<'a> {
    /// Nothing.
    None,
    /// P_l times a ciphertext of the source level is added to each output.
    Keys(&'a [&'a [Poly; 2]]),
    /// Each four outputs go through MixColumns, with these exponents of ζ_17 that sum to "2"; then as `Keys`.
    MixKeys(&'a [u8], &'a [&'a [Poly; 2]]),
}

impl Summands<'_> {
    fn pieces(&self) -> usize {
        match self {
            Self::Stored { pieces, .. } => pieces.len(),
            Self::Product(_) => 2,
        }
    }
}
