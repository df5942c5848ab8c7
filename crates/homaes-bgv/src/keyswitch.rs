//! Key switching with digits and special primes (GHS12 §3.1 and its hybrid with digit decomposition).
//!
//! A key from t to s holds, for every digit i of the gadget, a pair (b_i, a_i) modulo all primes with
//! b_i + a_i s = 2 e_i + P g_i t, where P is the product of the special primes and g_i is 1 modulo the
//! primes of digit i and 0 modulo the others. A polynomial d known modulo Q is split into centred
//! digits d_i = \[d\]_{Q_i}; then Σ d_i·(b_i, a_i) = encryption of P·d·t modulo Q·P, which the modulus
//! switch that follows divides by P. Using only a factor P_l of P saves limbs at low levels: with
//! d·(P/P_l)^{-1} in place of d the sum encrypts P_l·d·t.
//!
//! Everything between the two basis conversions is local to one prime, so the work goes prime by
//! prime, and within a prime over all ciphertexts of a group: a key's limbs are read from memory
//! once per group.

use crate::meter::{Meter, Stage};
use crate::params::{DownPlan, Params, SwitchPlan};
use crate::poly::Poly;
use homaes_math::kernel::{self, RowTerm, Term};
use homaes_math::{GaloisMap, Words};

/// Pairs (b_i, a_i) for the digits i, canonical limbs over all primes.
pub(crate) struct SwitchKey {
    pub(crate) digits: Vec<[Poly; 2]>,
}

/// One polynomial to be switched, under each (σ, key) it is used with: `Σ σ(d)·key`.
pub(crate) struct Piece<'a> {
    /// evaluation form over the plan's source basis, already multiplied by the plan's `scale`
    pub(crate) poly: &'a Poly,
    pub(crate) uses: Vec<(&'a GaloisMap, &'a SwitchKey)>,
}

/// A polynomial added as it is, times a constant of Z\[ζ_17\]; nothing modulo special primes, because the
/// constants contain P_l.
pub(crate) struct Addend<'a> {
    pub(crate) poly: &'a Poly,
    pub(crate) map: &'a GaloisMap,
    /// stored constants per row, per prime of the source basis
    pub(crate) by_row: &'a [Vec<u64>],
    pub(crate) second: bool,
}

/// All that adds up to one ciphertext modulo Q·P_l.
pub(crate) struct Job<'a> {
    pub(crate) pieces: Vec<Piece<'a>>,
    pub(crate) addends: Vec<Addend<'a>>,
}

/// Words y of every source limb and quotients v of every digit.
struct Prepared {
    y: Vec<Words>,
    v: Vec<Words>,
}

/// The sums of all jobs over the plan's extended basis.
///
/// Cost per job: digits·(L + K) transforms per piece, for L source and K special primes.
pub(crate) fn accumulate(
    params: &Params,
    meter: &Meter,
    plan: &SwitchPlan,
    jobs: &[Job<'_>],
) -> Vec<[Poly; 2]> {
    let n = params.ring().n();
    let prepared: Vec<Vec<Prepared>> = jobs
        .iter()
        .map(|job| {
            let pieces = job.pieces.iter();
            pieces
                .map(|p| prepare(params, meter, plan, p.poly))
                .collect()
        })
        .collect();
    let mut out: Vec<[Poly; 2]> = jobs
        .iter()
        .map(|_| [(); 2].map(|()| Poly::scratch(n, plan.extended.len())))
        .collect();
    let mut buffers: Vec<Vec<Words>> = jobs
        .iter()
        .map(|j| Poly::scratch(n, j.pieces.len() * plan.digits.len()).limbs)
        .collect();
    for at in 0..plan.extended.len() {
        for (prepared, buffers) in prepared.iter().zip(&mut buffers) {
            extend(params, meter, plan, at, prepared, buffers);
        }
        let mut pairs: Vec<[&mut [u64]; 2]> = out
            .iter_mut()
            .map(|pair| pair.each_mut().map(|p| &mut *p.limbs[at]))
            .collect();
        meter.time(Stage::InnerProduct, || {
            sum(params, plan, at, jobs, &buffers, &mut pairs);
        });
    }
    out
}

/// Coefficients of `poly`, as the conversions of all digits want them.
fn prepare(params: &Params, meter: &Meter, plan: &SwitchPlan, poly: &Poly) -> Prepared {
    let (ring, n) = (params.ring(), params.ring().n());
    let mut y = poly.limbs.clone();
    let mut v = Vec::with_capacity(plan.digits.len());
    for (limb, &i) in y.iter_mut().zip(&plan.from) {
        meter.time(Stage::Transform, || params.transform(i).inverse(limb));
    }
    meter.time(Stage::Conversion, || {
        for digit in &plan.digits {
            for (source, &at) in digit.own.iter().enumerate() {
                digit.conversion.prepare_in_place(ring, source, &mut y[at]);
            }
            let ys: Vec<&[u64]> = digit.own.iter().map(|&at| &*y[at]).collect();
            let mut quotient = Words::scratch(n);
            digit.conversion.quotient(ring, &ys, &mut quotient);
            v.push(quotient);
        }
    });
    Prepared { y, v }
}

/// All digits of one job modulo one prime of the extended basis, in evaluation form. Digits that own
/// the prime are left out: [`sum`] reads their piece itself.
fn extend(
    params: &Params,
    meter: &Meter,
    plan: &SwitchPlan,
    at: usize,
    prepared: &[Prepared],
    buffers: &mut [Words],
) {
    let t = params.transform(plan.extended[at]);
    let mut buffers = buffers.iter_mut();
    for prepared in prepared {
        for (digit, v) in plan.digits.iter().zip(&prepared.v) {
            let buffer = buffers.next().expect("one buffer per piece and digit");
            let Some(target) = digit.target[at] else {
                continue;
            };
            meter.time(Stage::Conversion, || {
                let mut ys: Vec<&[u64]> = digit.own.iter().map(|&j| &*prepared.y[j]).collect();
                ys.push(v);
                digit.conversion.combine(params.ring(), target, &ys, buffer);
            });
            meter.time(Stage::Transform, || t.forward(buffer));
        }
    }
}

/// The sums of all jobs modulo one prime. Jobs have the same shape: the same uses and addends.
fn sum(
    params: &Params,
    plan: &SwitchPlan,
    at: usize,
    jobs: &[Job<'_>],
    buffers: &[Vec<Words>],
    out: &mut [[&mut [u64]; 2]],
) {
    let i = plan.extended[at];
    let shape = &jobs[0];
    let digits = plan.digits.len();
    // per piece and digit: the limb of every job
    let sources: Vec<Vec<&[u64]>> = (0..shape.pieces.len() * digits)
        .map(|k| {
            let own = plan.digits[k % digits].target[at].is_none();
            jobs.iter()
                .zip(buffers)
                .map(|(job, buffers)| {
                    if own {
                        &*job.pieces[k / digits].poly.limbs[at]
                    } else {
                        &*buffers[k]
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
            let uses = shape.pieces[k / digits].uses.iter();
            uses.map(move |&(map, key)| Term {
                sources,
                map,
                key: key.digits[number].each_ref().map(|p| &*p.limbs[i]),
            })
        })
        .collect();
    let count = if at < plan.from.len() {
        shape.addends.len()
    } else {
        0
    };
    let added: Vec<Vec<&[u64]>> = (0..count)
        .map(|k| jobs.iter().map(|j| &*j.addends[k].poly.limbs[at]).collect())
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
    let m = params.modulus(i);
    kernel::inner_product(params.ring(), m, &terms, &rows, out);
}

/// Switches `poly` from the plan's source basis to its target basis; the source's limbs are consumed.
///
/// Cost: one transform per dropped and per target prime.
pub(crate) fn mod_down(params: &Params, meter: &Meter, plan: &DownPlan, mut poly: Poly) -> Poly {
    let (ring, n) = (params.ring(), params.ring().n());
    let (mut out, mut v) = (Poly::scratch(n, plan.to.len()), Words::scratch(n));
    for (source, (&at, &i)) in plan.dropped.iter().zip(&plan.dropped_primes).enumerate() {
        let limb = &mut poly.limbs[at];
        meter.time(Stage::Transform, || params.transform(i).inverse(limb));
        meter.time(Stage::Conversion, || {
            plan.conversion.prepare_in_place(ring, source, limb);
        });
    }
    let mut sources: Vec<&[u64]> = plan.dropped.iter().map(|&at| &*poly.limbs[at]).collect();
    meter.time(Stage::Conversion, || {
        plan.conversion.quotient(ring, &sources, &mut v);
    });
    sources.push(&v);
    for (j, (&i, limb)) in plan.to.iter().zip(&mut out.limbs).enumerate() {
        meter.time(Stage::Conversion, || {
            plan.conversion.combine(ring, j, &sources, limb);
        });
        let t = params.transform(i);
        meter.time(Stage::Transform, || t.forward(limb));
        if let Some((at, factor)) = plan.kept[j] {
            meter.time(Stage::Elementwise, || {
                kernel::scale_add(ring, t.modulus(), &poly.limbs[at], factor, limb);
            });
        }
    }
    out
}
