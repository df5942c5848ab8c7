//! Bounds on the probability that the noise of a bit-sliced AES evaluation runs away.
//!
//! A product squares noise, and the modulus switch after it divides it by D: noise well below D dies out, noise well
//! above D squares itself round after round. AES on bits uses no Frobenius map, so each embedding has its own
//! recursion, which depends on the key only by κ_j, the size of the key at that embedding. `Circuit` extracts the
//! recursion by running the folded round on a [`BitEval`] of linear forms in *atoms*, the noises that a switch leaves.
//! The unit is ρ, the root mean square of rounding noise over all embeddings. Every atom has a *fresh* part, a circular
//! normal of variance κ plus key switching, and a *carried* part:
//!
//! - a state bit carries `Z`, left by the previous round, and the noise of a round key;
//! - an operand lowered by a modulus switch carries nothing: its noise is divided by at least 2^13 and neglected;
//! - a relinearised sum of products `Σ A·B` of forms carries that sum over `D` of its level.
//!
//! An operand lowered by reduction modulo a divisor of its modulus keeps its noise, and so its atoms.
//!
//! | operands lowered by | bound |
//! |---|---|
//! | modulus switches | [`SwitchedBits`], `switched.rs`: sharp, for drops of 22 bits |
//! | reduction | [`ReducedBits`], `reduced.rs`: simple, for drops of 27.7 bits and more |
//!
//! Approximations: rounding noise is normal and independent from switch to switch; key switching, round keys and public
//! bits add normal noise of given variance. All of it grows with κ, so the largest κ_j of a key stands for all.

mod reduced;
mod switched;

pub use reduced::ReducedBits;
pub use switched::{Carried, SwitchedBits};

use homaes_aes::folded::BitMatrix;
use homaes_aes::slp::tower::{self, Core};
use homaes_aes::{BitEval, Direction, EvalError, slp};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::Mutex;

/// State bits that enter one output: eight from each of four bytes.
const INPUTS: usize = 32;
/// Ciphertexts of a bit-sliced state.
pub const CIPHERTEXTS: usize = 128;

/// Pairs of places in a round between which an operand is lowered on its own. Place 0 is that of the state.
///
/// # Panics
/// If `depth`, the depth of an S-box, is neither 3 nor 4.
#[must_use]
pub fn descents(depth: usize) -> Vec<[usize; 2]> {
    let circuit = Circuit::of_depth(depth, Descent::Reduction, 0..0);
    circuit.descents.into_iter().collect()
}

/// How an operand is lowered to the level of the other one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Descent {
    Switch,
    Reduction,
}

/// A linear form in atoms, and the place of its level in the round.
#[derive(Clone, Debug)]
struct Form {
    place: usize,
    terms: BTreeMap<usize, f64>,
}

type Sum = Vec<(Form, Form)>;

/// A sum of products as a coefficient per pair of atoms.
#[derive(Clone, Debug)]
struct Pairs {
    /// place of the products' level
    place: usize,
    coefficients: BTreeMap<(usize, usize), f64>,
}

impl Pairs {
    fn new(sum: &Sum) -> Self {
        let mut coefficients = BTreeMap::new();
        for (a, b) in sum {
            for (&i, x) in &a.terms {
                for (&j, y) in &b.terms {
                    *coefficients.entry((i, j)).or_insert(0.0) += x * y;
                }
            }
        }
        Self {
            place: sum[0].0.place,
            coefficients,
        }
    }
}

#[derive(Clone, Debug)]
enum Kind {
    State,
    Lowered,
    Relinearised(Pairs),
}

#[derive(Clone, Debug)]
struct Atom {
    kind: Kind,
    /// S-box that it belongs to
    family: usize,
}

struct Circuit {
    atoms: Vec<Atom>,
    /// places between which operands are lowered
    descents: BTreeSet<[usize; 2]>,
    /// of encryption, then of decryption
    outputs: Vec<Pairs>,
}

impl Circuit {
    /// Keeps the outputs `rows`; the four bytes of a column are equal up to renaming.
    fn new<const P: usize>(core: &Core<P>, descent: Descent, rows: Range<usize>) -> Self {
        let tracer = Tracer {
            descent,
            atoms: Mutex::default(),
            descents: Mutex::default(),
        };
        let state = (0..INPUTS).map(|i| tracer.atom(0, i / 8, Kind::State));
        let state: Vec<Form> = state.collect();
        let bytes = state.as_chunks::<8>().0.iter();
        let inputs = bytes.map(|s| s.each_ref()).collect();
        let begun = slp::begin(&tracer, &core.program, inputs).expect("nothing fails");
        let products: Vec<Sum> = begun
            .into_iter()
            .flat_map(|copy| copy.finish().expect("nothing fails"))
            .collect();
        let products: Vec<&Sum> = products.iter().collect();
        let outputs = Direction::ALL.into_iter().flat_map(|dir| {
            let matrix = BitMatrix::round(core, dir, true);
            tracer.sums(&products, &matrix.rows()[rows.clone()])
        });
        Self {
            outputs: outputs.map(|sum| Pairs::new(&sum)).collect(),
            atoms: tracer.atoms.into_inner().expect(HELD),
            descents: tracer.descents.into_inner().expect(HELD),
        }
    }

    fn of_depth(depth: usize, descent: Descent, rows: Range<usize>) -> Self {
        assert!(
            [3, 4].contains(&depth),
            "S-boxes have depth 3 or 4, not {depth}"
        );
        match depth {
            3 => Self::new(&tower::DEPTH_3, descent, rows),
            _ => Self::new(&tower::DEPTH_4, descent, rows),
        }
    }

    /// The sum that an atom carries; `None` for state bits and lowered operands.
    fn carried(&self, atom: usize) -> Option<&Pairs> {
        match &self.atoms[atom].kind {
            Kind::Relinearised(pairs) => Some(pairs),
            Kind::State | Kind::Lowered => None,
        }
    }

    fn is_state(&self, atom: usize) -> bool {
        matches!(self.atoms[atom].kind, Kind::State)
    }
}

struct Tracer {
    descent: Descent,
    atoms: Mutex<Vec<Atom>>,
    descents: Mutex<BTreeSet<[usize; 2]>>,
}

const HELD: &str = "no panic while it was held";

impl Tracer {
    fn atom(&self, place: usize, family: usize, kind: Kind) -> Form {
        let mut atoms = self.atoms.lock().expect(HELD);
        atoms.push(Atom { kind, family });
        let terms = BTreeMap::from([(atoms.len() - 1, 1.0)]);
        Form { place, terms }
    }

    fn family(&self, form: &Form) -> usize {
        let atoms = self.atoms.lock().expect(HELD);
        let mut families = form.terms.keys().map(|&atom| atoms[atom].family);
        let first = families.next().expect("a form has a term");
        assert!(families.all(|family| family == first));
        first
    }

    /// Both forms at the lower of their levels.
    fn meet(&self, a: &Form, b: &Form) -> (Form, Form) {
        let place = a.place.max(b.place);
        let down = |c: &Form| {
            if c.place == place {
                return c.clone();
            }
            let mut descents = self.descents.lock().expect(HELD);
            descents.insert([c.place, place]);
            match self.descent {
                Descent::Switch => self.atom(place, self.family(c), Kind::Lowered),
                Descent::Reduction => Form { place, ..c.clone() },
            }
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
            place: 0,
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
        // the lowered operand goes left, where the norms of `SwitchedBits` are sharper
        Ok(vec![if b.place < a.place { (y, x) } else { (x, y) }])
    }

    fn xor_product(&self, mut a: Sum, b: &Sum) -> Sum {
        a.extend_from_slice(b);
        a
    }

    fn relinearize(&self, sum: Sum) -> Result<Form, EvalError> {
        let family = self.family(&sum[0].0);
        let pairs = Pairs::new(&sum);
        Ok(self.atom(pairs.place + 1, family, Kind::Relinearised(pairs)))
    }
}

#[cfg(test)]
mod tests;
