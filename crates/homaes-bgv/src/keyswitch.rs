//! Key switching with digits and special primes (GHS12 §3.1 and its hybrid with digit decomposition).
//!
//! A key from t to s holds, for every digit i of the gadget, a pair (b_i, a_i) modulo the primes of its part ([`Tail`](crate::params::Tail)) with
//! b_i + a_i s = 2 e_i + P g_i t, where P is the product of the special primes and g_i is 1 modulo the
//! primes of digit i and 0 modulo the others. A polynomial d known modulo Q is split into centred
//! digits d_i = \[d\]_{Q_i}; then Σ d_i·(b_i, a_i) = encryption of P·d·t modulo Q·P, which the modulus
//! switch that follows divides by P. Using only a factor P_l of P saves limbs at low levels: with
//! d·(P/P_l)^{-1} in place of d the sum encrypts P_l·d·t.
//!
//! Everything between the two basis conversions is local to one prime, so the work goes prime by
//! prime, and within a prime over all jobs of a [`Pass`]: a key's limbs are read from memory once for
//! all of them.

use crate::ciphertext::Ciphertext;
use crate::meter::{Meter, Stage};
use crate::params::{Digit, DownPlan, Params, SwitchPlan};
use crate::poly::Poly;
use homaes_math::kernel::{self, RowTerm, Tensor, Term};
use homaes_math::{GaloisMap, Words};
use rayon::prelude::*;

/// By tail, pairs (b_i, a_i) for the digits i, canonical limbs over all primes (empty for primes that the part does not
/// hold).
#[derive(Clone)]
pub(crate) struct SwitchKey {
    pub(crate) parts: [Vec<[Poly; 2]>; 3],
}

impl SwitchKey {
    /// The pairs that `plan` reads.
    fn digits(&self, plan: &SwitchPlan) -> &[[Poly; 2]] {
        &self.parts[plan.tail as usize]
    }

    /// Whether the key holds all that `plan` reads.
    pub(crate) fn covers(&self, plan: &SwitchPlan) -> bool {
        let digits = self.digits(plan);
        let held = |i: &usize| digits.iter().flatten().all(|p| !p.limbs[*i].is_empty());
        plan.digits.iter().all(|d| d.number < digits.len()) && plan.extended.iter().all(held)
    }
}

/// What all jobs of one pass have in common: the keys their pieces meet, and how addends enter.
pub(crate) struct Shape<'a> {
    /// per piece d, each (σ, key) of `Σ σ(d)·key`
    pub(crate) uses: Vec<Vec<(&'a GaloisMap, &'a SwitchKey)>>,
    pub(crate) addends: Vec<Addend<'a>>,
}

/// How a polynomial is added: as it is, times a constant of Z\[ζ_17\]; nothing modulo special primes,
/// because the constants contain P_l.
#[derive(Clone, Copy)]
pub(crate) struct Addend<'a> {
    pub(crate) map: &'a GaloisMap,
    /// stored constants per row, per prime of the source basis
    pub(crate) by_row: &'a [Vec<u64>],
    pub(crate) second: bool,
}

/// The polynomials that one output ciphertext is made of, over the plan's source basis.
pub(crate) enum Job<'a> {
    /// pieces, already multiplied by the plan's `scale`, and addends
    Stored {
        pieces: Vec<&'a Poly>,
        addends: Vec<&'a Poly>,
    },
    /// x·σ(y): its parts under σ(s) and s·σ(s) are the pieces, those under 1 and s the addends. They
    /// are computed one prime at a time, twice, rather than written to memory and read back.
    Product {
        x: &'a Ciphertext,
        y: &'a Ciphertext,
        map: &'a GaloisMap,
    },
}

impl Job<'_> {
    /// The four parts of a product modulo the `at`-th source prime.
    fn tensor(
        &self,
        params: &Params,
        meter: &Meter,
        plan: &SwitchPlan,
        at: usize,
        out: &mut [Words],
    ) {
        let (Self::Product { x, y, map }, [d0, d1, d2, d3]) = (self, out) else {
            return;
        };
        let t = Tensor {
            x: x.parts.each_ref().map(|p| &*p.limbs[at]),
            y: y.parts.each_ref().map(|p| &*p.limbs[at]),
            map,
            scale: plan.scale[at],
        };
        meter.time(Stage::Tensor, || {
            kernel::tensor(
                params.ring(),
                params.modulus(plan.from[at]),
                &t,
                [d0, d1, d2, d3],
            );
        });
    }

    fn pieces(&self) -> usize {
        match self {
            Self::Stored { pieces, .. } => pieces.len(),
            Self::Product { .. } => 2,
        }
    }

    /// Piece `k` modulo the `at`-th source prime; `local` holds a product's parts there.
    fn piece<'b>(&'b self, k: usize, at: usize, local: &'b [Words]) -> &'b [u64] {
        match self {
            Self::Stored { pieces, .. } => &pieces[k].limbs[at],
            Self::Product { .. } => &local[2 + k],
        }
    }

    fn addend<'b>(&'b self, k: usize, at: usize, local: &'b [Words]) -> &'b [u64] {
        match self {
            Self::Stored { addends, .. } => &addends[k].limbs[at],
            Self::Product { .. } => &local[k],
        }
    }
}

/// One pass of key switching over a group of jobs.
pub(crate) struct Pass<'a> {
    pub(crate) params: &'a Params,
    pub(crate) meter: &'a Meter,
    pub(crate) plan: &'a SwitchPlan,
    pub(crate) shape: &'a Shape<'a>,
    pub(crate) jobs: &'a [Job<'a>],
    /// whether to spread the primes over threads: for when there are fewer passes than threads
    pub(crate) spread: bool,
}

/// Working memory of a pass, reused from prime to prime.
struct Buffers {
    /// per job: one limb per piece and digit
    digits: Vec<Vec<Words>>,
    /// per job: the parts of a product
    local: Vec<Vec<Words>>,
    /// per job: both sums
    sums: Vec<Words>,
}

impl Pass<'_> {
    /// Switches all jobs and divides by P_l, to the plan's target basis. `post(at, limbs)` may change the
    /// sums modulo the `at`-th prime of the extended basis before the division.
    ///
    /// The primes that the division drops come first: only their limbs are kept. Every other limb goes
    /// from its sum to its final value while it is in the cache.
    ///
    /// Cost per job: digits·(L + K) transforms per piece and 2(K + dropped + kept) for the division, for
    /// L source and K special primes.
    pub(crate) fn run(
        &self,
        post: impl Fn(usize, &mut [[&mut [u64]; 2]]) + Sync,
    ) -> Vec<[Poly; 2]> {
        let (params, meter, down) = (self.params, self.meter, &self.plan.down);
        let (n, count) = (params.ring().n(), self.jobs.len());
        let prepared: Vec<Vec<Prepared>> = self.jobs.iter().map(|j| self.prepare(j)).collect();
        // outputs of all jobs, first and second parts alternating
        let residues = self.each(down.dropped.len(), |buffers, k| {
            let mut limbs = Poly::scratch(n, 2 * count).limbs;
            core::mem::swap(&mut buffers.sums, &mut limbs);
            self.sums(down.dropped[k], &prepared, buffers, &post);
            core::mem::swap(&mut buffers.sums, &mut limbs);
            for limb in &mut limbs {
                start_division(params, meter, down, k, limb);
            }
            limbs
        });
        let divisions: Vec<Division> = transposed(residues, 2 * count)
            .into_iter()
            .map(|p| Division::new(params, meter, down, p))
            .collect();
        let out = self.each(down.to.len(), |buffers, j| {
            if let Some((at, _)) = down.kept[j] {
                self.sums(at, &prepared, buffers, &post);
            }
            let mut out = Poly::scratch(n, 2 * count).limbs;
            for ((division, sum), out) in divisions.iter().zip(&buffers.sums).zip(&mut out) {
                division.limb(params, meter, down, j, sum, out);
            }
            out
        });
        let mut out = transposed(out, 2 * count).into_iter();
        (0..count)
            .map(|_| [(); 2].map(|()| out.next().expect("two parts per job")))
            .collect()
    }

    /// `task(0), …, task(count - 1)`, on all threads if the pass is to be spread.
    fn each<T: Send>(
        &self,
        count: usize,
        task: impl Fn(&mut Buffers, usize) -> T + Sync,
    ) -> Vec<T> {
        if self.spread {
            let tasks = (0..count).into_par_iter().with_max_len(1);
            return tasks
                .map_init(|| self.buffers(), |buffers, k| task(buffers, k))
                .collect();
        }
        let mut buffers = self.buffers();
        (0..count).map(|k| task(&mut buffers, k)).collect()
    }

    fn buffers(&self) -> Buffers {
        let n = self.params.ring().n();
        let digits = self.plan.digits.len();
        let per_job = |limbs: fn(&Job<'_>, usize) -> usize| {
            let jobs = self.jobs.iter();
            jobs.map(|j| Poly::scratch(n, limbs(j, digits)).limbs)
                .collect()
        };
        Buffers {
            digits: per_job(|job, digits| job.pieces() * digits),
            local: per_job(|_, _| 4),
            sums: Poly::scratch(n, 2 * self.jobs.len()).limbs,
        }
    }

    /// The sums of all jobs modulo the `at`-th prime of the extended basis, to `buffers.sums`.
    fn sums(
        &self,
        at: usize,
        prepared: &[Vec<Prepared>],
        buffers: &mut Buffers,
        post: &impl Fn(usize, &mut [[&mut [u64]; 2]]),
    ) {
        let jobs = self.jobs.iter().zip(prepared);
        let scratch = buffers.digits.iter_mut().zip(&mut buffers.local);
        for ((job, prepared), (digits, local)) in jobs.zip(scratch) {
            self.extend(at, prepared, digits);
            if at < self.plan.from.len() {
                job.tensor(self.params, self.meter, self.plan, at, local);
            }
        }
        let mut sums = core::mem::take(&mut buffers.sums);
        let mut pairs: Vec<[&mut [u64]; 2]> = sums
            .chunks_exact_mut(2)
            .map(|pair| {
                let (a, b) = pair.split_at_mut(1);
                [&mut a[0][..], &mut b[0][..]]
            })
            .collect();
        self.meter.time(Stage::InnerProduct, || {
            self.inner_product(at, buffers, &mut pairs)
        });
        post(at, &mut pairs);
        buffers.sums = sums;
    }

    /// Coefficients of a job's pieces, as the conversions of all digits want them.
    fn prepare(&self, job: &Job<'_>) -> Vec<Prepared> {
        let (params, plan) = (self.params, self.plan);
        let n = params.ring().n();
        let mut out: Vec<Prepared> = (0..job.pieces())
            .map(|_| Prepared {
                y: Vec::with_capacity(plan.from.len()),
                v: Vec::with_capacity(plan.digits.len()),
            })
            .collect();
        let coefficients = |at: usize| {
            let mut limbs: Vec<Words> = match job {
                Job::Stored { pieces, .. } => pieces.iter().map(|p| p.limbs[at].clone()).collect(),
                Job::Product { .. } => {
                    let mut parts = Poly::scratch(n, 4).limbs;
                    job.tensor(params, self.meter, plan, at, &mut parts);
                    parts.split_off(2)
                }
            };
            let t = params.transform(plan.from[at]);
            for limb in &mut limbs {
                self.meter.time(Stage::Transform, || t.inverse(limb));
            }
            limbs
        };
        let limbs: Vec<Vec<Words>> = if self.spread {
            let all = (0..plan.from.len()).into_par_iter();
            all.map(coefficients).collect()
        } else {
            (0..plan.from.len()).map(coefficients).collect()
        };
        for limb in limbs {
            for (prepared, limb) in out.iter_mut().zip(limb) {
                prepared.y.push(limb);
            }
        }
        self.meter.time(Stage::Conversion, || {
            for prepared in &mut out {
                for digit in &plan.digits {
                    prepared.split(params, digit);
                }
            }
        });
        out
    }

    /// All digits of one job modulo one prime of the extended basis, in evaluation form. Digits that
    /// own the prime are left out: their piece is read itself.
    fn extend(&self, at: usize, prepared: &[Prepared], buffers: &mut [Words]) {
        let t = self.params.transform(self.plan.extended[at]);
        let mut buffers = buffers.iter_mut();
        for prepared in prepared {
            for (digit, v) in self.plan.digits.iter().zip(&prepared.v) {
                let buffer = buffers.next().expect("one buffer per piece and digit");
                let Some(target) = digit.target[at] else {
                    continue;
                };
                self.meter.time(Stage::Conversion, || {
                    let mut ys: Vec<&[u64]> = digit.own.iter().map(|&j| &*prepared.y[j]).collect();
                    ys.push(v);
                    let ring = self.params.ring();
                    digit.conversion.combine(ring, target, &ys, buffer);
                });
                self.meter.time(Stage::Transform, || t.forward(buffer));
            }
        }
    }

    fn inner_product(&self, at: usize, buffers: &Buffers, out: &mut [[&mut [u64]; 2]]) {
        let (plan, shape) = (self.plan, self.shape);
        let i = plan.extended[at];
        let digits = plan.digits.len();
        let jobs = || {
            self.jobs
                .iter()
                .zip(buffers.digits.iter().zip(&buffers.local))
        };
        // per piece and digit: the limb of every job
        let sources: Vec<Vec<&[u64]>> = (0..shape.uses.len() * digits)
            .map(|k| {
                let own = plan.digits[k % digits].target[at].is_none();
                jobs()
                    .map(|(job, (digit, local))| {
                        if own {
                            job.piece(k / digits, at, local)
                        } else {
                            &*digit[k]
                        }
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
                    key: key.digits(plan)[number].each_ref().map(|p| &*p.limbs[i]),
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
                jobs()
                    .map(|(job, (_, local))| job.addend(k, at, local))
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

/// Per output the limbs of all primes, from per prime the limbs of all outputs.
fn transposed(limbs: Vec<Vec<Words>>, outputs: usize) -> Vec<Poly> {
    let mut out: Vec<Poly> = (0..outputs)
        .map(|_| Poly {
            limbs: Vec::with_capacity(limbs.len()),
        })
        .collect();
    for prime in limbs {
        for (out, limb) in out.iter_mut().zip(prime) {
            out.limbs.push(limb);
        }
    }
    out
}

/// Words y of every source limb and quotients v of every digit.
struct Prepared {
    y: Vec<Words>,
    v: Vec<Words>,
}

impl Prepared {
    fn split(&mut self, params: &Params, digit: &Digit) {
        let ring = params.ring();
        for (source, &at) in digit.own.iter().enumerate() {
            digit
                .conversion
                .prepare_in_place(ring, source, &mut self.y[at]);
        }
        let ys: Vec<&[u64]> = digit.own.iter().map(|&at| &*self.y[at]).collect();
        let mut quotient = Words::scratch(ring.n());
        digit.conversion.quotient(ring, &ys, &mut quotient);
        self.v.push(quotient);
    }
}

/// Turns the limb of the `k`-th dropped prime into the word the conversion wants.
fn start_division(params: &Params, meter: &Meter, plan: &DownPlan, k: usize, limb: &mut Words) {
    let t = params.transform(plan.dropped_primes[k]);
    meter.time(Stage::Transform, || t.inverse(limb));
    meter.time(Stage::Conversion, || {
        plan.conversion.prepare_in_place(params.ring(), k, limb);
    });
}

/// A modulus switch whose dropped limbs have been prepared.
struct Division {
    y: Vec<Words>,
    v: Words,
}

impl Division {
    fn new(params: &Params, meter: &Meter, plan: &DownPlan, residues: Poly) -> Self {
        let mut v = Words::scratch(params.ring().n());
        let ys: Vec<&[u64]> = residues.limbs.iter().map(|l| &**l).collect();
        meter.time(Stage::Conversion, || {
            plan.conversion.quotient(params.ring(), &ys, &mut v);
        });
        Self {
            y: residues.limbs,
            v,
        }
    }

    /// The result modulo the `j`-th target prime, from the source's limb there (ignored for an added
    /// prime).
    fn limb(
        &self,
        params: &Params,
        meter: &Meter,
        plan: &DownPlan,
        j: usize,
        source: &[u64],
        out: &mut Words,
    ) {
        let mut sources: Vec<&[u64]> = self.y.iter().map(|l| &**l).collect();
        sources.push(&self.v);
        meter.time(Stage::Conversion, || {
            plan.conversion.combine(params.ring(), j, &sources, out);
        });
        let t = params.transform(plan.to[j]);
        meter.time(Stage::Transform, || t.forward(out));
        if let Some((_, factor)) = plan.kept[j] {
            meter.time(Stage::Elementwise, || {
                kernel::scale_add(params.ring(), t.modulus(), source, factor, out);
            });
        }
    }
}

/// Switches `poly` from the plan's source basis to its target basis.
///
/// Cost: one transform per dropped and per target prime.
pub(crate) fn mod_down(params: &Params, meter: &Meter, plan: &DownPlan, poly: &Poly) -> Poly {
    let n = params.ring().n();
    let mut residues = Poly {
        limbs: plan
            .dropped
            .iter()
            .map(|&at| poly.limbs[at].clone())
            .collect(),
    };
    for (k, limb) in residues.limbs.iter_mut().enumerate() {
        start_division(params, meter, plan, k, limb);
    }
    let division = Division::new(params, meter, plan, residues);
    let mut out = Poly::scratch(n, plan.to.len());
    for (j, limb) in out.limbs.iter_mut().enumerate() {
        let source = plan.kept[j].map_or(&[][..], |(at, _)| &poly.limbs[at]);
        division.limb(params, meter, plan, j, source, limb);
    }
    out
}
