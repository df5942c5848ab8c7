//! Relinearisation for sets whose digits are residues modulo single primes ([`homaes_rns::grouped`]).
//!
//! Transforms at level ℓ: ℓ for the coefficients of the product, 4ℓ for its digits modulo four auxiliary primes, four
//! per group of primes, and ℓ - 1 for the result, which is divided by the special prime and the dropped one in
//! coefficient form. Extending digits to all primes would take ℓ² + 2ℓ + 1.

use super::Residues;
use super::Rns;
use super::chain::Chain;
use super::limb::Limb;
use crate::error::{ParamsError, Result};
use crate::sets::Variant;
use homaes_math::prime::largest_primes;
use homaes_math::rns::Conversion;
use homaes_math::transform::Source;
use homaes_math::{Modulus, Ring, Words, packed_limbs};
use homaes_rns::grouped::{Shape, inner_products};
use homaes_rns::{Coefficients, Meter, Poly, RnsContext, ScaledRemainder, Stage};
use homaes_scheme::Cancel;

/// Primes per group, and bits of auxiliary primes.
const GROUP: usize = 4;
const AUXILIARY_BITS: u32 = 47;

pub(super) struct Groups {
    auxiliary: RnsContext,
    groups: Vec<Group>,
}

struct Group {
    primes: Vec<usize>,
    to: Conversion,
    from: Conversion,
}

impl Groups {
    /// The special prime with the first three, then four at a time.
    pub(super) fn new(context: &RnsContext, chain: &Chain) -> Result<Self, ParamsError> {
        let ring = context.ring();
        let order: Vec<usize> = chain
            .special
            .clone()
            .chain(0..chain.special.start)
            .collect();
        let groups = order.chunks(GROUP);
        let log2 = |primes: &[usize]| context.log2(primes.iter().copied());
        let group = groups.clone().map(log2).fold(0.0, f64::max);
        let single = (0..context.count()).map(|i| log2(&[i])).fold(0.0, f64::max);
        // factors are at most half their modulus, sums at most half of what the primes represent, with one bit to spare
        let digits = (chain.special.start as f64).log2();
        let bits = single + group + ring.product_log2() + digits;
        let count = (bits / f64::from(AUXILIARY_BITS)).ceil() as usize;
        let step = ring.modulus_step();
        let (count, primes) = (count..)
            .map(|count| (count, largest_primes(1 << AUXILIARY_BITS, step, count)))
            .find(|(_, primes)| primes.iter().map(|&p| (p as f64).log2()).sum::<f64>() >= bits)
            .expect("more primes are more bits");
        assert_eq!(primes.len(), count);
        let modulus = |p| ParamsError::Modulus { p, step };
        let auxiliary = RnsContext::new(ring.clone(), &primes).map_err(modulus)?;
        let all: Vec<Modulus> = (0..count).map(|t| *auxiliary.modulus(t)).collect();
        let groups = groups.map(|primes| {
            let own: Vec<Modulus> = primes.iter().map(|&i| *context.modulus(i)).collect();
            Group {
                primes: primes.to_vec(),
                to: Conversion::new(&own, &all, |_| 1, |_| 1),
                from: Conversion::new(&all, &own, |_| 1, |_| 1),
            }
        });
        Ok(Self {
            groups: groups.collect(),
            auxiliary,
        })
    }

    /// A key polynomial modulo the auxiliary primes, by group, canonical, from its lazy limbs modulo all primes.
    pub(super) fn key(&self, context: &RnsContext, mut poly: Poly) -> Vec<Words> {
        let (ring, meter) = (context.ring(), Meter::default());
        for (i, limb) in poly.limbs.iter_mut().enumerate() {
            context.transform(i).inverse(limb);
        }
        let mut out = Vec::with_capacity(self.groups.len() * self.auxiliary.count());
        for group in &self.groups {
            for (k, &i) in group.primes.iter().enumerate() {
                group.to.prepare_in_place(ring, k, &mut poly.limbs[i]);
            }
            let ys = group.primes.iter().map(|&i| &*poly.limbs[i]);
            let mut ys: Vec<&[u64]> = ys.collect();
            let mut quotient = Words::scratch(ring.n());
            group.to.quotient(ring, &ys, &mut quotient);
            ys.push(&quotient);
            for t in 0..self.auxiliary.count() {
                let mut limb = Words::scratch(ring.n());
                group.to.combine(ring, t, &ys, &mut limb);
                let transform = self.auxiliary.transform(t);
                meter.time(Stage::Transform, || transform.forward(&mut limb));
                let m = transform.modulus();
                limb.iter_mut().for_each(|x| *x = m.canonical(*x));
                out.push(limb);
            }
        }
        out
    }
}

impl Rns {
    pub(super) fn relinearize_grouped(
        &self,
        meter: &Meter,
        groups: &Groups,
        key: &[&[Words]],
        level: usize,
        products: Vec<Residues>,
        cancel: &Cancel,
    ) -> Result<Vec<Residues>> {
        let (context, plan) = (&self.context, self.plan(level));
        let (ring, auxiliary) = (context.ring(), &groups.auxiliary);
        assert!(plan.all_special && plan.digits.len() == level);
        let digits = products.into_iter().map(|product| {
            let limbs = product.limbs.into_iter().zip(&plan.from).enumerate();
            let words = limbs.map(|(at, (limb, &i))| {
                let mut limb = limb.into_words(ring);
                let from = Source::InPlace;
                Coefficients::words_of(context, meter, &plan.digits, (at, i), from, &mut limb);
                limb
            });
            Coefficients::new(context, meter, words.collect(), &plan.digits)
        });
        let digits: Vec<Coefficients> = digits.collect();
        let digit = |element: usize, number: usize, t: usize, out: &mut Words| {
            let (m, source) = (auxiliary.modulus(t), context.modulus(plan.from[number]));
            meter.time(Stage::Conversion, || {
                packed_limbs::centred(ring, m, source, digits[element].words(number), out);
            });
            meter.time(Stage::Transform, || auxiliary.transform(t).forward(out));
        };
        // groups with primes of this level
        let count = (level + context.count() - self.chain.special.start).div_ceil(GROUP);
        let shape = Shape {
            elements: digits.len(),
            digits: level,
            groups: count,
            primes: auxiliary.count(),
        };
        let check = || cancel.check();
        let sums = inner_products(auxiliary, meter, shape, digit, |j| key[j], check)?;
        drop(digits);
        let lowered = sums.into_iter().map(|sums| {
            let residues = groups.residues(ring, meter, &plan.extended, sums);
            self.divided(meter, level, residues)
        });
        Ok(lowered.collect())
    }

    /// The division of relinearisation, on coefficients modulo the extended basis.
    fn divided(&self, meter: &Meter, level: usize, mut residues: Vec<Words>) -> Residues {
        let (context, down) = (&self.context, &self.plan(level).down);
        let dropped = down.dropped().iter().enumerate().map(|(k, &at)| {
            let mut limb = core::mem::replace(&mut residues[at], Words::scratch(0));
            down.start_coefficients(context, meter, k, &mut limb);
            limb
        });
        let dropped = dropped.collect();
        let division = ScaledRemainder::new(context, meter, down, dropped);
        let limbs = down.to().iter().enumerate().map(|(j, &i)| {
            let source = down.source(j).expect("no primes are added");
            let mut out = Words::scratch(context.ring().n());
            division.limb_of_coefficients(context, meter, down, j, &residues[source], &mut out);
            Limb::of(Variant::Rns, context.ring(), context.modulus(i), out)
        });
        limbs.collect()
    }
}

impl Groups {
    /// Coefficients modulo the primes of `extended`, from the sums of the groups that contain any of them.
    fn residues(
        &self,
        ring: &Ring,
        meter: &Meter,
        extended: &[usize],
        mut sums: Vec<Words>,
    ) -> Vec<Words> {
        let primes = self.auxiliary.count();
        let mut out: Vec<Words> = extended.iter().map(|_| Words::scratch(0)).collect();
        let mut quotient = Words::scratch(ring.n());
        for (sums, group) in sums.chunks_exact_mut(primes).zip(&self.groups) {
            for (t, sum) in sums.iter_mut().enumerate() {
                let transform = self.auxiliary.transform(t);
                meter.time(Stage::Transform, || transform.inverse(sum));
            }
            meter.time(Stage::Conversion, || {
                for (t, sum) in sums.iter_mut().enumerate() {
                    group.from.prepare_in_place(ring, t, sum);
                }
                let mut ys: Vec<&[u64]> = sums.iter().map(|s| &**s).collect();
                group.from.quotient(ring, &ys, &mut quotient);
                ys.push(&quotient);
                for (k, i) in group.primes.iter().enumerate() {
                    if let Some(at) = extended.iter().position(|j| j == i) {
                        let mut limb = Words::scratch(ring.n());
                        group.from.combine(ring, k, &ys, &mut limb);
                        out[at] = limb;
                    }
                }
            });
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arithmetic::Arithmetic;
    use crate::{Params, sets};
    use homaes_math::sample;

    /// Grouped sums are bit-identical to those of digits extended to all primes, at every level.
    #[test]
    fn groups_change_nothing() {
        let params = Params::<Rns>::new(&sets::TOY_RNS).unwrap();
        let rns = params.arithmetic();
        let groups = rns.groups.as_ref().unwrap();
        let mut streams = 0..;
        let mut uniform = |basis: &[usize]| {
            let limbs = basis.iter().zip(&mut streams).map(|(&i, stream)| {
                let mut limb = Words::scratch(rns.n());
                sample::uniform(&[4; 32], stream, rns.context.modulus(i), &mut limb);
                limb
            });
            limbs.collect::<Poly>()
        };
        let all = rns.all();
        let (mut whole, mut grouped) = (Vec::new(), Vec::new());
        for _ in 0..rns.key_parts() {
            let poly = uniform(&all);
            whole.push(rns.rest_modulo(&all, poly.clone()));
            grouped.push(groups.key(&rns.context, poly));
        }
        let whole: Vec<&Residues> = whole.iter().collect();
        let grouped: Vec<&[Words]> = grouped.iter().map(|limbs| &limbs[..]).collect();
        let (meter, cancel) = (Meter::default(), Cancel::new());
        for level in 2..=41 {
            let products = [(); 3].map(|()| rns.rest(level, uniform(rns.basis(level))));
            let want = products.clone().map(|product| {
                let lowered = rns.relinearize_one(&meter, &whole, level, product);
                rns.words(&lowered)
            });
            let own = products.to_vec();
            let found = rns.relinearize_grouped(&meter, groups, &grouped, level, own, &cancel);
            for (found, want) in found.unwrap().iter().zip(&want) {
                // packed limbs are canonical
                let found = rns.words(found);
                let pairs = found.limbs.iter().zip(&want.limbs);
                assert!(pairs.clone().all(|(a, b)| a[..] == b[..]), "level {level}");
                assert_eq!(pairs.len(), level - 1);
            }
        }
    }
}
