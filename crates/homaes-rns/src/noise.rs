//! Bounds on the probability that the noise of a bit-sliced AES evaluation runs away.
//!
//! A product squares noise, and the modulus switch behind it divides it by D: noise well below D is forgotten, and noise well above squares itself round after round. Bits never
//! meet a Frobenius map, so that every embedding has a recursion of its own, which knows of the key only κ_j, how large the key is there. The recursion is read off the circuit:
//! `Circuit` runs the folded round on a [`BitEval`] whose items are linear forms in *atoms*, the noises that a switch leaves. Units are ρ, the standard
//! deviation of rounding noise in the mean over embeddings. Every atom has a *fresh* part, a circular normal of variance κ and that of key switching, and a *carried* part:
//!
//! - a state bit: what the round before left, `Z`, and the noise of a round key;
//! - an operand that was brought down by a modulus switch: nothing, as its own noise is divided by at least 2^13 (left out, as the copies of the byte layouts);
//! - a relinearised sum of products `Σ A·B` of forms: that sum, over `D` of its place.
//!
//! An operand that comes down by reduction modulo a divisor of its modulus keeps its noise, and so its atoms.
//!
//! | | bound |
//! |---|---|
//! | operands come down by modulus switches | [`SwitchedBits`], `switched.rs`: sharp, for drops of 22 bits |
//! | operands come down by reduction | [`ReducedBits`], `reduced.rs`: plain, for drops of 27.7 bits and more |
//!
//! # Approximations
//!
//! Rounding noise counts as normal, and roundings as independent from switch to switch; key switching as normal noise of given variance. What is added to a state, round keys and
//! public bits, has a given variance too. All of it grows with κ: the largest κ_j of a key stands for all.

mod reduced;
mod simulate;
mod switched;

pub use reduced::ReducedBits;
pub use switched::{Carried, SwitchedBits};

use homaes_aes::folded::BitMatrix;
use homaes_aes::slp::tower::{self, Core};
use homaes_aes::{BitEval, Direction, EvalError, slp};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::Mutex;

/// State bits that enter one output: eight of each of four bytes.
const INPUTS: usize = 32;
/// Ciphertexts of a state.
pub const CIPHERTEXTS: usize = 128;

/// The places of a round between which operands come down by themselves, place 0 being that of a state.
///
/// # Panics
/// If the depth of an S-box is neither 3 nor 4.
#[must_use]
pub fn descents(depth: usize) -> Vec<[usize; 2]> {
    let circuit = Circuit::of_depth(depth, Descent::Reduction, 0..0);
    circuit.descents.into_iter().collect()
}

/// How an operand comes down to the level of the other one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Descent {
    Switch,
    Reduction,
}

/// A linear form: place of its level in the round, and the coefficients of atoms.
#[derive(Clone, Debug)]
struct Form {
    place: usize,
    terms: BTreeMap<usize, f64>,
}

/// Sum of products of two forms.
type Sum = Vec<(Form, Form)>;

/// A sum of products: the coefficient of every pair of atoms.
#[derive(Clone, Debug)]
struct Pairs {
    /// of the level of the products
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
    /// the S-box that it belongs to
    family: usize,
}

/// One round of both directions.
struct Circuit {
    atoms: Vec<Atom>,
    /// places between which operands come down
    descents: BTreeSet<[usize; 2]>,
    /// of encryption, then of decryption
    outputs: Vec<Pairs>,
}

impl Circuit {
    /// With the rows of the outputs that are wanted: the four bytes of a column are the same up to renaming.
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
        Self {
            outputs: outputs.map(|sum| Pairs::new(&sum)).collect(),
            atoms: tracer.atoms.into_inner().expect(HELD),
            descents: tracer.descents.into_inner().expect(HELD),
        }
    }

    /// That of S-boxes of a depth.
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

    /// The sum that an atom carries, and nothing for state bits and what was brought down.
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

/// The view of bits that writes down atoms.
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

    /// The S-box that a form belongs to.
    fn family(&self, form: &Form) -> usize {
        let atoms = self.atoms.lock().expect(HELD);
        let mut families = form.terms.keys().map(|&atom| atoms[atom].family);
        let first = families.next().expect("a form has a term");
        assert!(families.all(|family| family == first));
        first
    }

    /// Both at the lower of their levels.
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
        // what was brought down by itself stands on the left, where the norms of `SwitchedBits` are sharper
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
