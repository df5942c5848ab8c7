//! Modulus switches: division by the dropped primes, rounded so that the message is kept.

use crate::context::RnsContext;
use crate::convert::{Axes, Target, convert};
use crate::meter::{Meter, Stage};
use crate::poly::Poly;
use homaes_math::rns::Conversion;
use homaes_math::transform::Source;
use homaes_math::{Modulus, Shoup, Words, kernel};
use std::ops::Range;

/// A modulus switch between two bases: `c' = (Y c + δ)/X` with X the product of the dropped primes, Y that of the added
/// ones, and δ ≡ -Y c mod X even (GHS12 §3.2, extended to added primes).
#[derive(Clone)]
pub struct ModSwitch {
    /// positions of the dropped primes in the source basis
    dropped: Vec<usize>,
    dropped_primes: Vec<usize>,
    conversion: Conversion,
    to: Vec<usize>,
    /// per target prime: its position in the source basis and the factor Y/X; `None` for added primes
    kept: Vec<Option<(usize, Shoup)>>,
    log2_drop: f64,
}

impl ModSwitch {
    /// The switch from the basis `from` to the basis `to`.
    pub fn new(rns: &RnsContext, from: &[usize], to: &[usize]) -> Self {
        let x: Vec<usize> = from.iter().copied().filter(|i| !to.contains(i)).collect();
        let y: Vec<usize> = to.iter().copied().filter(|i| !from.contains(i)).collect();
        let moduli =
            |idx: &[usize]| -> Vec<Modulus> { idx.iter().map(|&i| *rns.modulus(i)).collect() };
        let added = |m: &Modulus| rns.product(m, y.iter().copied());
        let dropped_inv = |m: &Modulus| m.inv(rns.product(m, x.iter().copied()));
        let conversion = Conversion::new(
            &moduli(&x),
            &moduli(to),
            |m| m.sub(0, m.mul(added(m), m.inv(2))),
            |m| m.mul(2, dropped_inv(m)),
        );
        let place = |i: &usize| from.iter().position(|j| j == i);
        let kept = |i: &usize| {
            let m = rns.modulus(*i);
            let factor = m.shoup(m.mul(added(m), dropped_inv(m)));
            place(i).map(|at| (at, factor))
        };
        Self {
            dropped: x.iter().filter_map(place).collect(),
            conversion,
            to: to.to_vec(),
            kept: to.iter().map(kept).collect(),
            log2_drop: rns.log2(x.iter().copied()) - rns.log2(y.iter().copied()),
            dropped_primes: x,
        }
    }

    /// Positions of the dropped primes in the source basis.
    pub fn dropped(&self) -> &[usize] {
        &self.dropped
    }

    /// The dropped primes.
    pub fn dropped_primes(&self) -> &[usize] {
        &self.dropped_primes
    }

    /// The conversion from the dropped primes to those of the target.
    pub fn conversion(&self) -> &Conversion {
        &self.conversion
    }

    /// Y/X modulo the `j`-th target prime, if it is in the source basis.
    pub fn factor(&self, j: usize) -> Option<Shoup> {
        self.kept[j].map(|(_, factor)| factor)
    }

    /// The target basis.
    pub fn to(&self) -> &[usize] {
        &self.to
    }

    /// Position of the `j`-th target prime in the source basis, if it is in there.
    pub fn source(&self, j: usize) -> Option<usize> {
        self.kept[j].map(|(at, _)| at)
    }

    /// log2 (X/Y): the bits by which the modulus shrinks.
    pub fn log2_drop(&self) -> f64 {
        self.log2_drop
    }

    /// Turns the limb of the `k`-th dropped prime into the word y of the conversion.
    pub fn start(&self, rns: &RnsContext, meter: &Meter, k: usize, limb: &mut Words) {
        let t = rns.transform(self.dropped_primes[k]);
        meter.time(Stage::Transform, || {
            t.inverse_scaled(Source::InPlace, self.conversion.scales()[k], limb);
        });
    }

    /// As [`start`](Self::start), from coefficient form.
    pub fn start_coefficients(&self, rns: &RnsContext, meter: &Meter, k: usize, limb: &mut Words) {
        meter.time(Stage::Conversion, || {
            self.conversion.prepare_in_place(rns.ring(), k, limb);
        });
    }

    /// Completes target prime `j` after [`ScaledRemainder::remainders`]: the second half of the transform of `out`,
    /// plus (Y/X)·`source`. `source` is the limb of that prime, ignored for an added prime.
    pub fn finish(
        &self,
        rns: &RnsContext,
        meter: &Meter,
        j: usize,
        source: &[u64],
        out: &mut [u64],
    ) {
        let t = rns.transform(self.to[j]);
        meter.part(Stage::Transform, || match self.kept[j] {
            Some((_, factor)) => t.forward_columns_plus(source, factor, out),
            None => t.forward_columns(out),
        });
    }

    /// Switches `poly` from the source basis to the target basis. Cost: one transform per dropped and per target prime.
    pub fn apply(&self, rns: &RnsContext, meter: &Meter, poly: &Poly) -> Poly {
        let n = rns.ring().n();
        let dropped = self.dropped.iter().map(|&at| poly.limbs[at].clone());
        let mut residues: Vec<Words> = dropped.collect();
        for (k, limb) in residues.iter_mut().enumerate() {
            self.start(rns, meter, k, limb);
        }
        let division = ScaledRemainder::new(rns, meter, self, residues);
        let mut out = Poly::scratch(n, self.to.len());
        let mut limbs: Vec<&mut [u64]> = out.limbs.iter_mut().map(|limb| &mut **limb).collect();
        division.remainders(rns, meter, self, 0..limbs.len(), &mut limbs);
        for (j, limb) in limbs.into_iter().enumerate() {
            let source = self.source(j).map_or(&[][..], |at| &poly.limbs[at]);
            self.finish(rns, meter, j, source, limb);
        }
        out
    }
}

/// A modulus switch whose dropped limbs are prepared.
pub struct ScaledRemainder {
    y: Vec<Words>,
    v: Words,
}

impl ScaledRemainder {
    /// From the limbs of the dropped primes after [`ModSwitch::start`].
    pub fn new(rns: &RnsContext, meter: &Meter, plan: &ModSwitch, started: Vec<Words>) -> Self {
        let mut v = Words::scratch(rns.ring().n());
        let ys: Vec<&[u64]> = started.iter().map(|l| &**l).collect();
        meter.time(Stage::Conversion, || {
            plan.conversion.quotient(rns.ring(), &ys, &mut v);
        });
        Self { y: started, v }
    }

    /// δ/X modulo the primes `targets`, after the first half of the transform; [`ModSwitch::finish`] completes each.
    pub fn remainders(
        &self,
        rns: &RnsContext,
        meter: &Meter,
        plan: &ModSwitch,
        targets: Range<usize>,
        out: &mut [&mut [u64]],
    ) {
        let targets = targets.map(|number| Target {
            number,
            prime: plan.to[number],
        });
        let targets: Vec<Target> = targets.collect();
        let sources = self.sources();
        convert(
            rns,
            meter,
            &plan.conversion,
            &sources,
            (&targets, Axes::First),
            out,
        );
    }

    /// The result modulo the `j`-th target prime, from the source's coefficients there (ignored for an added prime).
    pub fn limb_of_coefficients(
        &self,
        rns: &RnsContext,
        meter: &Meter,
        plan: &ModSwitch,
        j: usize,
        source: &[u64],
        out: &mut Words,
    ) {
        let sources = self.sources();
        meter.time(Stage::Conversion, || {
            plan.conversion.combine(rns.ring(), j, &sources, out);
        });
        if let Some((_, factor)) = plan.kept[j] {
            let m = rns.modulus(plan.to[j]);
            meter.time(Stage::Elementwise, || {
                kernel::scale_add(rns.ring(), m, source, factor, out);
            });
        }
        let t = rns.transform(plan.to[j]);
        meter.time(Stage::Transform, || t.forward(out));
    }

    /// The words y, then the quotient v.
    fn sources(&self) -> Vec<&[u64]> {
        let words = self.y.iter().map(|limb| &**limb);
        words.chain([&*self.v]).collect()
    }
}
