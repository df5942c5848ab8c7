//! One pass of key switching over the inputs of many outputs, prime by prime.

use super::{Post, Shape, Summands, SwitchKey};
use crate::error::Result;
use crate::params::Params;
use homaes_math::kernel::{self, AT_ONCE, RowTerm, Tensor, Term};
use homaes_math::product::{Factor, OUTPUTS_AT_ONCE, ProductSums, product_sums};
use homaes_math::transform::Source;
use homaes_math::{GaloisMap, KeyLimb, Words};
use homaes_rns::{Coefficients, Digit, Meter, Poly, ScaledRemainder, Stage, SwitchPlan, transposed};
use homaes_scheme::Cancel;
use rayon::prelude::*;
use std::ops::Range;

/// One pass of key switching over a group of outputs.
pub struct Pass<'a> {
    /// The set.
    pub params: &'a Params,
    /// Counts what is done.
    pub meter: &'a Meter,
    /// Looked at before every output that is a product.
    pub cancel: &'a Cancel,
    /// What is switched from where to where.
    pub plan: &'a SwitchPlan,
    /// What the outputs have in common.
    pub shape: &'a Shape<'a>,
    /// Products alone, or none.
    pub outputs: &'a [Summands<'a>],
    /// What is done to the sums.
    pub post: Post<'a>,
    /// How many calls are side by side, this one among them.
    pub calls: usize,
}

/// What a processor does at once: a group of outputs that share the reading of keys, or one product.
struct Group<'a> {
    params: &'a Params,
    meter: &'a Meter,
    plan: &'a SwitchPlan,
    shape: &'a Shape<'a>,
    outputs: &'a [Summands<'a>],
    post: Post<'a>,
    /// whether to spread the primes over threads: for when there are fewer groups than threads
    spread: bool,
}

/// Working memory of a pass, reused from prime to prime.
struct Buffers {
    /// per prime of a group and output: one limb per piece and digit
    digits: Vec<Vec<Vec<Words>>>,
    /// both sums of every output, one after the other
    sums: Vec<Words>,
}

impl Pass<'_> {
    /// Makes all outputs on the processor: switches pieces, adds addends and divides by P_l, to the plan's target basis. Where the groups side by side do not keep all
    /// threads busy, each is spread over threads.
    ///
    /// # Errors
    /// If it is cancelled.
    pub(crate) fn run(&self) -> Result<Vec<[Poly; 2]>> {
        if let Post::MixKeys(two, keys) = self.post
            && self.outputs.len() > 4
        {
            let columns = self.outputs.chunks(4).zip(keys.chunks(4));
            let columns = columns.map(|(outputs, keys)| {
                let post = Post::MixKeys(two, keys);
                let pass = Pass {
                    outputs,
                    post,
                    ..*self
                };
                pass.run()
            });
            let columns = columns.collect::<Result<Vec<_>>>()?;
            return Ok(columns.into_iter().flatten().collect());
        }
        let group = |outputs, groups: usize| Group {
            params: self.params,
            meter: self.meter,
            plan: self.plan,
            shape: self.shape,
            outputs,
            post: self.post,
            spread: groups < rayon::current_num_threads(),
        };
        if let [Summands::Stored { .. }, ..] = self.outputs {
            if !self.shape.unscaled || self.plan.all_special {
                return Ok(group(self.outputs, self.calls).run());
            }
            let scaled: Vec<Vec<Poly>> = self.outputs.iter().map(|o| self.scaled(o)).collect();
            let outputs: Vec<Summands<'_>> = self
                .outputs
                .iter()
                .zip(&scaled)
                .map(|(output, scaled)| Summands::Stored {
                    pieces: scaled.iter().collect(),
                    addends: match output {
                        Summands::Stored { addends, .. } => addends.clone(),
                        Summands::Product(_) => Vec::new(),
                    },
                })
                .collect();
            return Ok(group(&outputs, self.calls).run());
        }
        // groups of one or two products at the same time: threads work on the same key, so that what one has fetched the
        // others find in the shared cache. Two read each key once, where no thread does more for it.
        let groups = |size: usize| self.calls * self.outputs.len().div_ceil(size);
        let longest = |size: usize| size * groups(size).div_ceil(rayon::current_num_threads());
        let size = match longest(OUTPUTS_AT_ONCE) <= longest(1) {
            true => OUTPUTS_AT_ONCE,
            false => 1,
        };
        let groups = groups(size);
        let products = self.outputs.par_chunks(size).map(|output| {
            self.cancel.check()?;
            Ok(group(output, groups).run())
        });
        let products = products.collect::<Result<Vec<_>>>()?;
        Ok(products.into_iter().flatten().collect())
    }

    /// The pieces of an output times the plan's scale.
    fn scaled(&self, output: &Summands<'_>) -> Vec<Poly> {
        let (params, plan) = (self.params, self.plan);
        let Summands::Stored { pieces, .. } = output else {
            return Vec::new();
        };
        let scaled = |piece: &&Poly| {
            let mut out = Poly::clone(piece);
            for ((limb, &i), &c) in out.limbs.iter_mut().zip(&plan.from).zip(&plan.scale) {
                self.meter.time(Stage::Elementwise, || {
                    kernel::scale_canonical(params.ring(), params.modulus(i), c, limb);
                });
            }
            out
        };
        pieces.iter().map(scaled).collect()
    }
}

impl Group<'_> {
    /// Makes all outputs.
    ///
    /// The primes that the division drops come first: only their limbs are kept. Every other limb goes
    /// from its sum to its final value while it is in the cache.
    ///
    /// Cost per output: digits·(L + K) transforms per piece and 2(K + dropped + target) for the division, for
    /// L source and K special primes, with the numbers of primes that are dropped and of those of the target.
    fn run(&self) -> Vec<[Poly; 2]> {
        let (params, meter, down) = (self.params, self.meter, &self.plan.down);
        let (n, count) = (params.ring().n(), self.outputs.len());
        let prepared: Vec<Vec<Coefficients>> =
            self.outputs.iter().map(|o| self.prepare(o)).collect();
        // of all outputs, first and second parts alternating
        let residues = self.each(down.dropped().len(), |buffers, group| {
            let places = &down.dropped()[group.clone()];
            self.extend(places, &prepared, buffers);
            let limbs = group.enumerate().map(|(number, k)| {
                let mut limbs = Poly::scratch(n, 2 * count).limbs.into_words();
                core::mem::swap(&mut buffers.sums, &mut limbs);
                self.sums(places[number], number, buffers);
                core::mem::swap(&mut buffers.sums, &mut limbs);
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
                    self.sums(at, number, buffers);
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

    /// What `task` makes of `0..count` in groups, whose primes share the reading of what is extended; on all threads if the pass is to be spread.
    fn each<T: Send>(
        &self,
        count: usize,
        task: impl Fn(&mut Buffers, Range<usize>) -> Vec<T> + Sync,
    ) -> Vec<T> {
        let threads = match self.spread {
            true => rayon::current_num_threads(),
            false => 1,
        };
        // as many groups for every thread, rather than large ones and threads that wait
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
        let n = self.params.ring().n();
        let digits = self.plan.digits.len();
        let each = || self.outputs.iter();
        Buffers {
            digits: (0..at_once)
                .map(|_| {
                    each()
                        .map(|o| Poly::scratch(n, o.pieces() * digits).limbs.into_words())
                        .collect()
                })
                .collect(),
            sums: Poly::scratch(n, 2 * self.outputs.len()).limbs.into_words(),
        }
    }

    /// The sums of all outputs modulo the `at`-th prime of the extended basis, to `buffers.sums`; that prime is number `number` of those that
    /// [`extend`](Self::extend) was called with.
    fn sums(&self, at: usize, number: usize, buffers: &mut Buffers) {
        let Buffers { digits, sums } = buffers;
        let mut pairs: Vec<[&mut [u64]; 2]> = sums
            .chunks_exact_mut(2)
            .map(|pair| {
                let (a, b) = pair.split_at_mut(1);
                [&mut a[0][..], &mut b[0][..]]
            })
            .collect();
        self.meter.time(Stage::InnerProduct, || match self.outputs {
            [Summands::Product(_), ..] => {
                self.product_sums(at, &mut digits[number], &mut pairs);
            }
            _ => self.inner_product(at, &digits[number], &mut pairs),
        });
        self.post(at, &mut pairs);
    }

    fn post(&self, at: usize, sums: &mut [[&mut [u64]; 2]]) {
        match self.post {
            Post::None => {}
            Post::Keys(keys) => self.add_keys(at, sums, keys),
            Post::MixKeys(two, keys) => {
                self.mix(at, sums, two);
                self.add_keys(at, sums, keys);
            }
        }
    }

    /// MixColumns of four sums.
    fn mix(&self, at: usize, sums: &mut [[&mut [u64]; 2]], two: &[u8]) {
        let [s0, s1, s2, s3] = sums else { return };
        let t = self.params.transform(self.plan.extended[at]);
        let m = t.modulus();
        let two: Vec<_> = t.row_values(two).into_iter().map(|v| m.shoup(v)).collect();
        for part in 0..2 {
            let column = [&mut *s0, &mut *s1, &mut *s2, &mut *s3].map(|s| &mut *s[part]);
            self.meter.time(Stage::Elementwise, || {
                kernel::mix_column(self.params.ring(), m, &two, column);
            });
        }
    }

    /// Adds P_l times `keys` modulo primes of the source basis.
    fn add_keys(&self, at: usize, sums: &mut [[&mut [u64]; 2]], keys: &[&[Poly; 2]]) {
        let (params, plan) = (self.params, self.plan);
        if at >= plan.from.len() {
            return;
        }
        let i = plan.from[at];
        let m = params.modulus(i);
        let p = m.shoup(params.special_product(plan.special(), i));
        for (sum, key) in sums.iter_mut().zip(keys) {
            for (s, k) in sum.iter_mut().zip(*key) {
                self.meter.time(Stage::Elementwise, || {
                    kernel::scale_add(params.ring(), m, &k.limbs[at], p, s);
                });
            }
        }
    }

    /// The sums of products.
    fn product_sums(&self, at: usize, digits: &mut [Vec<Words>], out: &mut [[&mut [u64]; 2]]) {
        let (plan, shape) = (self.plan, self.shape);
        let i = plan.extended[at];
        let mut extended: Vec<Vec<&mut [u64]>> = digits
            .iter_mut()
            .map(|digits| {
                let limbs = self.factors().zip(digits);
                let limbs = limbs.filter(|((_, _, digit), _)| !digit.owns(at));
                limbs.map(|(_, limb)| &mut limb[..]).collect()
            })
            .collect();
        let mut terms: Vec<(Factor, [&KeyLimb; 2])> = Vec::new();
        let mut number = 0;
        for (uses, part, digit) in self.factors() {
            let factor = match digit.owns(at) {
                true => part,
                false => {
                    number += 1;
                    Factor::Digit(number - 1)
                }
            };
            for (_, key) in uses {
                let key = key.digits(plan)[digit.number].each_ref();
                terms.push((factor, key.map(|p| &p.limbs()[i])));
            }
        }
        let readings = self.outputs.len().div_ceil(OUTPUTS_AT_ONCE);
        self.meter.reads_keys(2 * terms.len() * readings);
        let is_source = at < plan.from.len();
        let products = self.outputs.iter().filter_map(|output| match output {
            Summands::Product(factors) if is_source => Some(factors.operands(plan, at)),
            _ => None,
        });
        let tensors: Vec<Tensor<'_>> = products.collect();
        let sums = ProductSums {
            tensors: &tensors,
            by_row: match &shape.addends[..] {
                [first, ..] if is_source => &first.by_row[at],
                _ => &[],
            },
            terms: &terms,
        };
        let transform = self.params.transform(i);
        product_sums(self.params.ring(), transform, &sums, &mut extended, out);
    }

    /// What the digits of a product's last two parts meet, in the order of [`Buffers::digits`].
    fn factors(&self) -> impl Iterator<Item = (&[(&GaloisMap, &SwitchKey)], Factor, &Digit)> {
        let parts = self.shape.uses.iter().zip([Factor::Third, Factor::Fourth]);
        parts.flat_map(|(uses, part)| {
            let digits = self.plan.digits.iter();
            digits.map(move |digit| (&uses[..], part, digit))
        })
    }

    /// Coefficients of an output's pieces, as the conversions of all digits want them.
    fn prepare(&self, output: &Summands<'_>) -> Vec<Coefficients> {
        let (rns, plan) = (self.params.rns(), self.plan);
        let (n, count) = (rns.ring().n(), plan.from.len());
        let words_of = |piece: usize, at: usize| {
            let product;
            let source = match output {
                Summands::Stored { pieces, .. } => Source::Limb(&pieces[piece].limbs[at]),
                Summands::Product(factors) => {
                    product = factors.operands(plan, at);
                    Source::Product(&product, piece)
                }
            };
            let (place, mut words) = ((at, plan.from[at]), Words::scratch(n));
            Coefficients::words_of(rns, self.meter, &plan.digits, place, source, &mut words);
            words
        };
        let coefficients = |words| Coefficients::new(rns, self.meter, words, &plan.digits);
        let pieces = output.pieces();
        if self.spread {
            let all = (0..pieces * count).into_par_iter();
            let all: Vec<Words> = all.map(|i| words_of(i / count, i % count)).collect();
            let mut all = all.into_iter();
            let pieces = (0..pieces).map(|_| coefficients(all.by_ref().take(count).collect()));
            return pieces.collect();
        }
        // the quotients of a piece are made while its last limbs are in the cache
        let pieces = (0..pieces).map(|piece| {
            let words = (0..count).map(|at| words_of(piece, at));
            coefficients(words.collect())
        });
        pieces.collect()
    }

    /// All digits of all outputs modulo the primes at some places of the extended basis, in evaluation form. Digits that
    /// own a prime are left out there: their piece is read itself.
    fn extend(&self, places: &[usize], prepared: &[Vec<Coefficients>], buffers: &mut Buffers) {
        let (rns, plan) = (self.params.rns(), self.plan);
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
                let axes = self.outputs[output].axes();
                for (&place, digits) in places.iter().zip(&mut buffers.digits) {
                    if !digit.owns(place) {
                        targets.push((place, plan.extended[place]));
                        limbs.push(&mut digits[output][at]);
                    }
                }
                digit.extend(
                    rns,
                    self.meter,
                    (&targets, axes),
                    coefficients,
                    number,
                    &mut limbs,
                );
            }
        }
    }

    fn inner_product(&self, at: usize, digits_of: &[Vec<Words>], out: &mut [[&mut [u64]; 2]]) {
        let (plan, shape) = (self.plan, self.shape);
        let i = plan.extended[at];
        let digits = plan.digits.len();
        let outputs = || {
            let stored = self.outputs.iter().map(|output| match output {
                Summands::Stored { pieces, addends } => (pieces, addends),
                Summands::Product(_) => unreachable!("a product has a pass of its own"),
            });
            stored.zip(digits_of)
        };
        // per piece and digit: the limb of every output
        let sources: Vec<Vec<&[u64]>> = (0..shape.uses.len() * digits)
            .map(|k| {
                let own = plan.digits[k % digits].owns(at);
                outputs()
                    .map(|((pieces, _), digit)| match own {
                        true => &*pieces[k / digits].limbs[at],
                        false => &*digit[k],
                    })
                    .collect()
            })
            .collect();
        let terms: Vec<Term<'_>> = sources
            .iter()
            .enumerate()
            .flat_map(|(k, sources)| {
                let number = plan.digits[k % digits].number;
                shape.uses[k / digits].iter().map(move |&(map, key)| Term {
                    sources,
                    map,
                    key: key.digits(plan)[number].each_ref().map(|p| &p.limbs()[i]),
                })
            })
            .collect();
        let count = if at < plan.from.len() {
            shape.addends.len()
        } else {
            0
        };
        let added: Vec<Vec<&[u64]>> = (0..count)
            .map(|k| {
                outputs()
                    .map(|((_, addends), _)| &*addends[k].limbs[at])
                    .collect()
            })
            .collect();
        let rows: Vec<RowTerm<'_>> = added
            .iter()
            .zip(&shape.addends)
            .map(|(sources, a)| RowTerm {
                sources,
                map: a.map,
                by_row: &a.by_row[at],
                second: a.second,
            })
            .collect();
        let readings = kernel::key_readings(self.outputs.len());
        self.meter.reads_keys(2 * terms.len() * readings);
        let (ring, m) = (self.params.ring(), self.params.modulus(i));
        let (first, rest) = terms.split_at(terms.len().min(kernel::MAX_TERMS - rows.len()));
        kernel::inner_product(ring, m, first, &rows, out);
        // keys of many digits: what one reduction cannot hold
        for terms in rest.chunks(kernel::MAX_TERMS) {
            let mut more = Poly::scratch(ring.n(), 2 * out.len()).limbs;
            let mut sums = more.chunks_exact_mut(2).map(|pair| {
                let (a, b) = pair.split_at_mut(1);
                [&mut a[0][..], &mut b[0][..]]
            });
            let mut sums: Vec<[&mut [u64]; 2]> = sums.by_ref().collect();
            kernel::inner_product(ring, m, terms, &[], &mut sums);
            for (out, sum) in out.iter_mut().flatten().zip(sums.iter().flatten()) {
                kernel::scale_add(ring, m, sum, m.shoup(1), out);
            }
        }
    }
}
