//! Digits of ring elements: residues modulo some primes of a basis, taken to the other primes.

use crate::context::RnsContext;
use crate::convert::{Axes, Target, convert};
use crate::meter::{Meter, Stage};
use homaes_math::packed_limbs::{self, HALF_BITS};
use homaes_math::rns::Conversion;
use homaes_math::transform::Source;
use homaes_math::{Modulus, Words};

/// One digit of a decomposition: the element modulo the product of its primes, centred, as an integer polynomial of its own.
pub struct Digit {
    /// Which digit of the gadget it is.
    pub number: usize,
    /// Places of its primes in the source basis.
    pub own: Vec<usize>,
    /// to every prime of the extended basis outside the digit, in that order
    conversion: Conversion,
    /// per prime of the extended basis: index among the conversion's targets
    target: Vec<Option<usize>>,
    /// the only prime, if there is only one and its residues fit halves of words: they are centred and reduced without a quotient
    single: Option<Modulus>,
}

impl Digit {
    /// Digit `number`, of the primes at places `own` of the basis `from`, taken to those of `extended`, which begins with `from`.
    pub fn new(
        rns: &RnsContext,
        number: usize,
        own: Vec<usize>,
        from: &[usize],
        extended: &[usize],
    ) -> Self {
        let sources: Vec<Modulus> = own.iter().map(|&i| *rns.modulus(from[i])).collect();
        let mut targets = Vec::new();
        let places = extended.iter().enumerate();
        let target = places
            .map(|(at, &i)| {
                (!own.contains(&at)).then(|| {
                    targets.push(*rns.modulus(i));
                    targets.len() - 1
                })
            })
            .collect();
        let single = match sources[..] {
            [prime] if prime.bits() <= HALF_BITS => Some(prime),
            _ => None,
        };
        Self {
            number,
            own,
            single,
            conversion: Conversion::new(&sources, &targets, |_| 1, |_| 1),
            target,
        }
    }

    /// From its primes to all others of the extended basis.
    pub fn conversion(&self) -> &Conversion {
        &self.conversion
    }

    /// Number among the conversion's targets of the prime at place `at` of the extended basis; nothing for its own.
    pub fn target(&self, at: usize) -> Option<usize> {
        self.target[at]
    }

    /// Whether the prime at place `at` of the extended basis is one of its own: its residue there is the element's.
    pub fn owns(&self, at: usize) -> bool {
        self.target[at].is_none()
    }

    /// Its residues modulo the primes at some places of the extended basis, which are not its own, after these axes of the transform; `number` is its place in
    /// the list that `coefficients` were prepared for. Cost: a conversion and a transform for each.
    ///
    /// # Panics
    /// If one of the primes is its own.
    pub fn extend(
        &self,
        rns: &RnsContext,
        meter: &Meter,
        (places, axes): (&[(usize, usize)], Axes),
        coefficients: &Coefficients,
        number: usize,
        out: &mut [&mut [u64]],
    ) {
        if let Some(source) = &self.single {
            for (&(at, prime), out) in places.iter().zip(out) {
                assert!(!self.owns(at), "a prime of the digit");
                let (ring, m) = (rns.ring(), rns.modulus(prime));
                meter.time(Stage::Conversion, || {
                    packed_limbs::centred(ring, m, source, &coefficients.y[self.own[0]], out);
                });
                meter.time(Stage::Transform, || match axes {
                    Axes::All => rns.transform(prime).forward(out),
                    Axes::First => rns.transform(prime).forward_rows(out),
                });
            }
            return;
        }
        let own = self.own.iter().map(|&j| &*coefficients.y[j]);
        let mut ys: Vec<&[u64]> = own.collect();
        ys.push(&coefficients.v[number]);
        let targets = places.iter().map(|&(at, prime)| Target {
            number: self.target[at].expect("a prime of another digit"),
            prime,
        });
        let targets: Vec<Target> = targets.collect();
        convert(rns, meter, &self.conversion, &ys, (&targets, axes), out);
    }
}

/// An element's coefficients, as the conversions of all its digits want them: words y of every source limb, packed for digits of a single small prime, and quotients
/// v of the other digits.
pub struct Coefficients {
    y: Vec<Words>,
    v: Vec<Words>,
}

impl Coefficients {
    /// The words y of `digits` of an element at place `at` of a source basis, modulo `prime`, to `out`, from its limb in evaluation form. Cost: a transform.
    ///
    /// # Panics
    /// If no digit has this place.
    pub fn words_of(
        rns: &RnsContext,
        meter: &Meter,
        digits: &[Digit],
        (at, prime): (usize, usize),
        source: Source<'_>,
        out: &mut Words,
    ) {
        let scale = digits.iter().find_map(|digit| {
            let number = digit.own.iter().position(|&own| own == at)?;
            Some(digit.conversion.scales()[number])
        });
        let scale = scale.expect("digits of all places");
        meter.time(Stage::Transform, || {
            rns.transform(prime).inverse_scaled(source, scale, out);
        });
    }

    /// From the words of all limbs modulo a source basis, which [`words_of`](Self::words_of) made, for `digits`.
    pub fn new(rns: &RnsContext, meter: &Meter, words: Vec<Words>, digits: &[Digit]) -> Self {
        let mut out = Self {
            y: words,
            v: Vec::with_capacity(digits.len()),
        };
        meter.time(Stage::Conversion, || {
            for digit in digits {
                out.split(rns, digit);
            }
        });
        out
    }

    /// The words y of the source limb at a place.
    pub fn words(&self, at: usize) -> &[u64] {
        &self.y[at]
    }

    fn split(&mut self, rns: &RnsContext, digit: &Digit) {
        let ring = rns.ring();
        if let Some(source) = &digit.single {
            let y = &mut self.y[digit.own[0]];
            let mut packed = Words::scratch(ring.n() / 2);
            packed_limbs::pack(ring, source, y, &mut packed);
            *y = packed;
            self.v.push(Words::scratch(0));
            return;
        }
        let ys: Vec<&[u64]> = digit.own.iter().map(|&at| &*self.y[at]).collect();
        let mut quotient = Words::scratch(ring.n());
        digit.conversion.quotient(ring, &ys, &mut quotient);
        self.v.push(quotient);
    }
}
