//! Modulus switching: division by the primes that are dropped, rounded to what keeps the message.

use crate::meter::{Meter, Stage};
use crate::params::{DownPlan, Params};
use crate::poly::Poly;
use homaes_math::Words;
use homaes_math::kernel;

/// Turns the limb of the `k`-th dropped prime into the word the conversion wants.
pub(super) fn start_division(
    params: &Params,
    meter: &Meter,
    plan: &DownPlan,
    k: usize,
    limb: &mut Words,
) {
    let t = params.transform(plan.dropped_primes[k]);
    meter.time(Stage::Transform, || t.inverse(limb));
    meter.time(Stage::Conversion, || {
        plan.conversion.prepare_in_place(params.ring(), k, limb);
    });
}

/// A modulus switch whose dropped limbs have been prepared.
pub(super) struct Division {
    y: Vec<Words>,
    v: Words,
}

impl Division {
    pub(super) fn new(params: &Params, meter: &Meter, plan: &DownPlan, residues: Poly) -> Self {
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
    pub(super) fn limb(
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
