//! Base conversion to several primes at once, and what it is mostly for: digits of ring elements, which are residues
//! modulo some primes of a basis, extended to the other primes.

use crate::context::RnsContext;
use crate::meter::{Meter, Stage};
use homaes_math::kernel::{self, AT_ONCE, Combination, MAX_SOURCES};
use homaes_math::packed_limbs::{self, HALF_BITS};
use homaes_math::rns::Conversion;
use homaes_math::transform::Source;
use homaes_math::{Modulus, Words};

#[derive(Clone, Copy)]
pub(crate) struct Target {
    pub(crate) number: usize,
    pub(crate) prime: usize,
}

/// How much of the transform follows a conversion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Axes {
    /// All of it: the result is in evaluation form.
    All,
    /// The first half, [`Transform::forward_rows`](homaes_math::Transform::forward_rows); the kernel that reads the
    /// result does the second.
    First,
}

/// Converts `sources` (words y of all source primes, then v) to each target, followed by these axes of the transform.
///
/// Each source row is read from memory once per [`AT_ONCE`] targets. The target rows take the first axis of the
/// transform while they are in cache.
pub(crate) fn convert(
    rns: &RnsContext,
    meter: &Meter,
    conversion: &Conversion,
    sources: &[&[u64]],
    (targets, axes): (&[Target], Axes),
    out: &mut [&mut [u64]],
) {
    assert!(sources.len() <= MAX_SOURCES && targets.len() == out.len());
    let (ring, n) = (rns.ring(), rns.ring().n());
    // without the axis of 257 rows are too short to be worth a pass each
    let len = if ring.cols() > 1 { ring.row_len() } else { n };
    for (targets, out) in targets.chunks(AT_ONCE).zip(out.chunks_mut(AT_ONCE)) {
        meter.converts_from(sources.len());
        let mut combinations = [conversion.combination(targets[0].number); AT_ONCE];
        for (combination, target) in combinations.iter_mut().zip(targets) {
            *combination = conversion.combination(target.number);
        }
        let combinations: &[Combination<'_>] = &combinations[..targets.len()];
        for start in (0..n).step_by(len) {
            let range = start..start + len;
            let mut parts = [&[][..]; MAX_SOURCES];
            for (part, source) in parts.iter_mut().zip(sources) {
                *part = &source[range.clone()];
            }
            let parts = &parts[..sources.len()];
            let mut rows = out.iter_mut().map(|out| &mut out[range.clone()]);
            let mut rows: [&mut [u64]; AT_ONCE] =
                [(); AT_ONCE].map(|()| rows.next().unwrap_or_default());
            let rows = &mut rows[..targets.len()];
            meter.part(Stage::Conversion, || {
                kernel::combine(ring, combinations, parts, rows);
            });
            meter.part(Stage::Transform, || {
                for (row, target) in rows.iter_mut().zip(targets) {
                    rns.transform(target.prime).forward_rows(row);
                }
            });
        }
        for (out, target) in out.iter_mut().zip(targets) {
            let t = rns.transform(target.prime);
            match axes {
                Axes::All => meter.time(Stage::Transform, || t.forward_columns(out)),
                Axes::First => meter.transform(),
            }
        }
    }
}

/// One digit of a decomposition: the element modulo the product of the digit's primes, as a centred integer polynomial.
pub struct Digit {
    /// Its number in the gadget.
    pub number: usize,
    /// Positions of its primes in the source basis.
    pub own: Vec<usize>,
    /// to every prime of the extended basis outside the digit, in order
    conversion: Conversion,
    /// per prime of the extended basis: its number among the conversion's targets
    target: Vec<Option<usize>>,
    /// set if the digit has one prime, of at most `HALF_BITS` bits: its residues are centred without a quotient
    single: Option<Modulus>,
}

impl Digit {
    /// The digit of the primes at positions `own` of `from`, to be extended to `extended`, which begins with `from`.
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

    /// The conversion from its primes to all others of the extended basis.
    pub fn conversion(&self) -> &Conversion {
        &self.conversion
    }

    /// Target number of the prime at position `at` of the extended basis; `None` for the digit's own primes.
    pub fn target(&self, at: usize) -> Option<usize> {
        self.target[at]
    }

    /// Whether the digit owns the prime at position `at` of the extended basis: its residue is then the element's.
    pub fn owns(&self, at: usize) -> bool {
        self.target[at].is_none()
    }

    /// Residues of the digit modulo the given (position in the extended basis, prime) pairs, after these axes of the
    /// transform. `number` is the digit's position in the list that `coefficients` were prepared for. Cost: one
    /// conversion and one transform per prime.
    ///
    /// # Panics
    /// If one of the primes belongs to the digit.
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

/// An element's coefficients, prepared for the conversions of all its digits: the words y of every source limb (packed
/// for a digit of one small prime) and the quotients v of the other digits.
pub struct Coefficients {
    y: Vec<Words>,
    v: Vec<Words>,
}

impl Coefficients {
    /// Writes the word y of the limb `source` (evaluation form) at position `at` of a source basis. Cost: a transform.
    ///
    /// # Panics
    /// If no digit contains this position.
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

    /// Prepares `digits` from the words of all limbs, as made by [`words_of`](Self::words_of).
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

    /// The words y of the source limb at position `at`.
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
