//! Products x·σ(y), computed twice prime by prime rather than written to memory and read back.

use super::pass::{Group, Work};
use super::{Pass, SwitchKey};
use crate::error::Result;
use homaes_math::kernel::Tensor;
use homaes_math::product::{Factor, OUTPUTS_AT_ONCE, ProductSums, product_sums};
use homaes_math::transform::Source;
use homaes_math::{GaloisMap, KeyLimb, Words};
use homaes_rns::{Axes, Fault, Poly, Stage, SwitchPlan};
use rayon::prelude::*;

/// Products x·σ(y) over the source basis of a plan, σ not the identity. The components under σ(s) and s·σ(s) are the
/// pieces, which are key-switched; those under 1 and s are added.
#[derive(Clone, Copy)]
pub struct Products<'a> {
    /// x and y of each product; both decrypt under (1, s), y before the automorphism.
    pub factors: &'a [[&'a [Poly; 2]; 2]],
    /// σ.
    pub map: &'a GaloisMap,
    /// From σ(s) and from s·σ(s).
    pub keys: [&'a SwitchKey; 2],
    /// P_l, stored, per source prime and row; it multiplies the addends.
    pub by_row: &'a [Vec<u64>],
}

impl<'a> Products<'a> {
    pub(crate) fn fetch(&self) -> Result<(), Fault> {
        let polys = self.factors.iter().flatten().copied().flatten();
        polys.into_iter().try_for_each(|p| p.limbs.fetch())
    }

    /// All products on the processor, key-switched and divided by P_l to the target basis.
    pub(crate) fn run(&self, pass: &Pass<'_>) -> Result<Vec<[Poly; 2]>> {
        // All groups run at the same time, so threads share key words in the cache. A group of two products reads each
        // key once; it is used unless it makes a thread compute more products.
        let threads = rayon::current_num_threads();
        let groups = |size: usize| self.factors.len().div_ceil(size);
        let longest = |size: usize| size * groups(size).div_ceil(threads);
        let size = match longest(OUTPUTS_AT_ONCE) <= longest(1) {
            true => OUTPUTS_AT_ONCE,
            false => 1,
        };
        let spread = pass.spread && groups(size) < threads;
        let products = self.factors.par_chunks(size).map(|factors| {
            pass.cancel.check()?;
            let work = &Self { factors, ..*self };
            Ok(Group { pass, work, spread }.run())
        });
        let products = products.collect::<Result<Vec<_>>>()?;
        Ok(products.into_iter().flatten().collect())
    }

    fn operands(&self, plan: &SwitchPlan, [x, y]: [&'a [Poly; 2]; 2], at: usize) -> Tensor<'a> {
        let [x, y] = [x, y].map(|parts| parts.each_ref().map(|p| &*p.limbs[at]));
        let (map, scale) = (self.map, plan.scale[at]);
        Tensor { x, y, map, scale }
    }
}

impl Work for Products<'_> {
    /// the kernel where digits meet keys does the rest
    const AXES: Axes = Axes::First;

    fn outputs(&self) -> usize {
        self.factors.len()
    }

    fn pieces(&self) -> usize {
        self.keys.len()
    }

    fn words(&self, pass: &Pass<'_>, output: usize, piece: usize, at: usize) -> Words {
        let product = self.operands(pass.plan, self.factors[output], at);
        pass.words(at, Source::Product(&product, piece))
    }

    fn sums(
        &self,
        pass: &Pass<'_>,
        at: usize,
        digits: &mut [Vec<Words>],
        out: &mut [[&mut [u64]; 2]],
    ) {
        let plan = pass.plan;
        let i = plan.extended[at];
        // the factors that meet the digits, in order
        let parts = [Factor::Third, Factor::Fourth].into_iter().zip(self.keys);
        let uses = parts.flat_map(|(part, key)| plan.digits.iter().map(move |d| (part, key, d)));
        let mut extended: Vec<Vec<&mut [u64]>> = digits
            .iter_mut()
            .map(|digits| {
                let limbs = uses.clone().zip(digits);
                let limbs = limbs.filter(|((_, _, digit), _)| !digit.owns(at));
                limbs.map(|(_, limb)| &mut limb[..]).collect()
            })
            .collect();
        let mut number = 0;
        let terms = uses.map(|(part, key, digit)| {
            let factor = match digit.owns(at) {
                true => part,
                false => {
                    number += 1;
                    Factor::Digit(number - 1)
                }
            };
            let key = key.digits(plan)[digit.number].each_ref();
            (factor, key.map(|p| &p.limbs()[i]))
        });
        let terms: Vec<(Factor, [&KeyLimb; 2])> = terms.collect();
        let readings = self.outputs().div_ceil(OUTPUTS_AT_ONCE);
        pass.meter.reads_keys(2 * terms.len() * readings);
        let is_source = at < plan.from.len();
        let own = if is_source { self.factors } else { &[] };
        let tensors = own.iter().map(|&factors| self.operands(plan, factors, at));
        let tensors: Vec<Tensor<'_>> = tensors.collect();
        let sums = ProductSums {
            tensors: &tensors,
            by_row: if is_source { &self.by_row[at] } else { &[] },
            terms: &terms,
        };
        let (ring, transform) = (pass.params.ring(), pass.params.transform(i));
        pass.meter.time(Stage::InnerProduct, || {
            product_sums(ring, transform, &sums, &mut extended, out);
        });
    }
}
