//! One pass of key switching over a group of outputs, prime by prime; and products x·σ(y), which are computed twice
//! prime by prime rather than written to memory and read back.

use super::{Pass, SwitchKey};
use crate::error::Result;
use homaes_math::kernel::{AT_ONCE, Tensor};
use homaes_math::product::{Factor, OUTPUTS_AT_ONCE, ProductSums, product_sums};
use homaes_math::transform::Source;
use homaes_math::{GaloisMap, KeyLimb, Words};
use homaes_rns::{Axes, Coefficients, Fault, Poly, ScaledRemainder, Stage, SwitchPlan, transposed};
use rayon::prelude::*;
use std::ops::Range;

impl Pass<'_> {
    /// Coefficients of `source`, a piece's limb modulo the `at`-th source prime.
    pub(super) fn words(&self, at: usize, source: Source<'_>) -> Words {
        let (rns, plan) = (self.params.rns(), self.plan);
        let mut words = Words::scratch(rns.ring().n());
        let place = (at, plan.from[at]);
        Coefficients::words_of(rns, self.meter, &plan.digits, place, source, &mut words);
        words
    }
}

/// The differences between products and sums: the source of pieces, and how digits meet keys.
pub(super) trait Work: Sync {
    /// Axes of the transform that digits go through before they meet the keys.
    const AXES: Axes;

    fn outputs(&self) -> usize;

    fn pieces(&self) -> usize;

    /// Coefficients of a piece modulo the `at`-th source prime.
    fn words(&self, pass: &Pass<'_>, output: usize, piece: usize, at: usize) -> Words;

    /// The sums of all outputs modulo the `at`-th prime of the extended basis, from their digits modulo that prime.
    fn sums(
        &self,
        pass: &Pass<'_>,
        at: usize,
        digits: &mut [Vec<Words>],
        out: &mut [[&mut [u64]; 2]],
    );
}

/// Outputs that share each reading of a key.
pub(super) struct Group<'a, W> {
    pub(super) pass: &'a Pass<'a>,
    pub(super) work: &'a W,
    pub(super) spread: bool,
}

/// Working memory of a pass, reused for every prime.
struct Buffers {
    /// per prime of a group and output: one limb per piece and digit
    digits: Vec<Vec<Vec<Words>>>,
    /// both sums of every output, in turn
    sums: Vec<Words>,
}

pub(super) fn pairs(sums: &mut [Words]) -> Vec<[&mut [u64]; 2]> {
    let pairs = sums.as_chunks_mut().0.iter_mut();
    pairs
        .map(|pair: &mut [Words; 2]| pair.each_mut().map(|sum| &mut sum[..]))
        .collect()
}

impl<W: Work> Group<'_, W> {
    /// Makes all outputs.
    ///
    /// The primes that the division drops come first, and only their limbs are kept. Every other limb goes from its sum
    /// to its final value while it is in the cache.
    ///
    /// Cost per output: digits·(L + K) transforms per piece and 2(K + dropped + target) for the division, for L source
    /// and K special primes, with the numbers of dropped and target primes.
    pub(super) fn run(&self) -> Vec<[Poly; 2]> {
        let (params, meter, down) = (self.pass.params, self.pass.meter, &self.pass.plan.down);
        let (n, count) = (params.ring().n(), self.work.outputs());
        let prepared: Vec<Vec<Coefficients>> =
            (0..count).map(|output| self.prepare(output)).collect();
        // first and second parts alternate
        let residues = self.each(down.dropped().len(), |buffers, group| {
            let places = &down.dropped()[group.clone()];
            self.extend(places, &prepared, buffers);
            let limbs = group.enumerate().map(|(number, k)| {
                let mut limbs = Poly::scratch(n, 2 * count).limbs.into_words();
                let (at, digits) = (places[number], &mut buffers.digits[number]);
                self.work
                    .sums(self.pass, at, digits, &mut pairs(&mut limbs));
                for limb in &mut limbs {
                    down.start(params.rns(), meter, k, limb);
                }
                limbs
            });
            limbs.collect()
        });
        let divisions: Vec<ScaledRemainder> = transposed(residues, 2 * count)
            .into_iter()
            .map(|limbs| ScaledRemainder::new(params.rns(), meter, down, limbs))
            .collect();
        let out = self.each(down.to().len(), |buffers, group| {
            let places: Vec<usize> = group.clone().filter_map(|j| down.source(j)).collect();
            self.extend(&places, &prepared, buffers);
            let limbs = |_| Poly::scratch(n, 2 * count).limbs.into_words();
            let mut out: Vec<Vec<Words>> = group.clone().map(limbs).collect();
            for (at, division) in divisions.iter().enumerate() {
                let mut limbs: Vec<&mut [u64]> = out.iter_mut().map(|o| &mut *o[at]).collect();
                division.remainders(params.rns(), meter, down, group.clone(), &mut limbs);
            }
            let mut numbers = 0..places.len();
            for (j, out) in group.zip(&mut out) {
                if let Some(at) = down.source(j) {
                    let number = numbers.next().expect("one for each source");
                    let digits = &mut buffers.digits[number];
                    self.work
                        .sums(self.pass, at, digits, &mut pairs(&mut buffers.sums));
                }
                for (sum, out) in buffers.sums.iter().zip(out) {
                    down.finish(params.rns(), meter, j, sum, out);
                }
            }
            out
        });
        let mut out = transposed(out, 2 * count).into_iter();
        (0..count)
            .map(|_| {
                [(); 2].map(|()| Poly {
                    limbs: out.next().expect("two parts per output").into(),
                })
            })
            .collect()
    }

    /// The results of `task` for `0..count` in groups, whose primes share each reading of the source; on all threads if
    /// the pass is spread.
    fn each<T: Send>(
        &self,
        count: usize,
        task: impl Fn(&mut Buffers, Range<usize>) -> Vec<T> + Sync,
    ) -> Vec<T> {
        let threads = match self.spread {
            true => rayon::current_num_threads(),
            false => 1,
        };
        // equal numbers of groups per thread keep all threads busy
        let rounds = count.div_ceil(AT_ONCE * threads).max(1);
        let at_once = count.div_ceil(rounds * threads).max(1);
        let groups: Vec<Range<usize>> = (0..count)
            .step_by(at_once)
            .map(|start| start..count.min(start + at_once))
            .collect();
        let buffers = || self.buffers(at_once);
        if self.spread {
            let tasks = groups.into_par_iter().with_max_len(1);
            let made: Vec<Vec<T>> = tasks.map_init(buffers, &task).collect();
            return made.into_iter().flatten().collect();
        }
        let mut buffers = buffers();
        let made = groups.into_iter().map(|group| task(&mut buffers, group));
        made.flatten().collect()
    }

    fn buffers(&self, at_once: usize) -> Buffers {
        let (n, outputs) = (self.pass.params.ring().n(), self.work.outputs());
        let limbs = |count| Poly::scratch(n, count).limbs.into_words();
        let digits = self.work.pieces() * self.pass.plan.digits.len();
        let of_prime = |_| (0..outputs).map(|_| limbs(digits)).collect();
        Buffers {
            digits: (0..at_once).map(of_prime).collect(),
            sums: limbs(2 * outputs),
        }
    }

    /// The coefficients of an output's pieces, prepared for the conversions of all digits.
    fn prepare(&self, output: usize) -> Vec<Coefficients> {
        let (rns, plan) = (self.pass.params.rns(), self.pass.plan);
        let (pieces, count) = (self.work.pieces(), plan.from.len());
        let words = |piece: usize, at: usize| self.work.words(self.pass, output, piece, at);
        let coefficients = |words| Coefficients::new(rns, self.pass.meter, words, &plan.digits);
        if self.spread {
            let all = (0..pieces * count).into_par_iter();
            let all: Vec<Words> = all.map(|i| words(i / count, i % count)).collect();
            let mut all = all.into_iter();
            let pieces = (0..pieces).map(|_| coefficients(all.by_ref().take(count).collect()));
            return pieces.collect();
        }
        // quotients are computed while the last limbs of a piece are in the cache
        let pieces = (0..pieces).map(|piece| {
            let words = (0..count).map(|at| words(piece, at));
            coefficients(words.collect())
        });
        pieces.collect()
    }

    /// All digits of all outputs modulo the primes at some places of the extended basis, transformed as far as needed
    /// before they meet the keys. A digit that owns the prime is skipped: its piece is read directly.
    fn extend(&self, places: &[usize], prepared: &[Vec<Coefficients>], buffers: &mut Buffers) {
        let (rns, plan) = (self.pass.params.rns(), self.pass.plan);
        for (output, prepared) in prepared.iter().enumerate() {
            let pieces = prepared.iter().flat_map(|coefficients| {
                plan.digits
                    .iter()
                    .enumerate()
                    .map(move |d| (coefficients, d))
            });
            for (at, (coefficients, (number, digit))) in pieces.enumerate() {
                let mut limbs: Vec<&mut [u64]> = Vec::with_capacity(places.len());
                let mut targets = Vec::with_capacity(places.len());
                for (&place, digits) in places.iter().zip(&mut buffers.digits) {
                    if !digit.owns(place) {
                        targets.push((place, plan.extended[place]));
                        limbs.push(&mut digits[output][at]);
                    }
                }
                digit.extend(
                    rns,
                    self.pass.meter,
                    (&targets, W::AXES),
                    coefficients,
                    number,
                    &mut limbs,
                );
            }
        }
    }
}

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
