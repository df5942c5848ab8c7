//! Three-way products (GHS12 appendix A): x·y·z with one key switching and one switch down by two levels.
//!
//! ```text
//! (x0 + x1 s)(y0 + y1 s)(z0 + z1 s) = r0 + r1 s + r2 s² + r3 s³
//! ```
//!
//! r2 and r3 are switched to (1, s) in one pass, from keys for s² and s³, and the division that ends it drops two
//! levels. Three noises ρ make ρ³, which two drops bring back to ρ, as two products in turn would. Against those, this
//! saves the division of one product and the switch that brings z to the other factor's level; see docs/papers.md.

use crate::ciphertext::{Ciphertext, History};
use crate::circuit::bounds::{cubic_bound, relinearized_bound};
use crate::circuit::evaluate::{Evaluator, only};
use crate::error::Result;
use crate::keys::Target;
use crate::noise::bound::Bound;
use crate::params::Params;
use homaes_math::kernel::{self, Tensor};
use homaes_rns::{Poly, Stage, SwitchPlan};

/// Key-switched polynomials, those under s² and s³.
const PIECES: usize = 2;

impl Evaluator<'_> {
    /// Slot-wise product of three ciphertexts, two levels below the lowest of theirs, but at least at level 1. The key
    /// for s³ reaches [`Params::rotation_level`](crate::Params::rotation_level).
    ///
    /// Noise: the product of the three, divided by both drops, plus ρ. Cost: 12 products per word and one key switch of
    /// two polynomials.
    pub fn three_way(&self, x: &Ciphertext, y: &Ciphertext, z: &Ciphertext) -> Result<Ciphertext> {
        let params = self.params();
        let level = x.level.min(y.level).min(z.level);
        let most = params.rotation_level();
        if level > most {
            return Err(params.no_key("three-way product", level, most));
        }
        let down = |c| -> Result<Ciphertext> { self.lowered(&self.with_bound(c)?, level) };
        let [x, y, z] = [down(x)?, down(y)?, down(z)?];
        let plan = three_way_plan(params, level);
        let parts = self.tensor_three([&x, &y, &z], &plan)?;
        let targets = [Target::Product(0), Target::Cube];
        let noise = x.noise.times(y.noise).times(z.noise);
        let mut out = only(self.switched_products(&plan, level, &targets, &[(&parts, noise)])?);
        let [x, y, z] = [x, y, z].map(|c| c.bound(params));
        out.history = History::known(three_way_bound(params, &plan, [&x, &y, &z]));
        self.checked("three-way product", out)
    }

    /// r0 … r3, the last two times the plan's scale.
    fn tensor_three(&self, [x, y, z]: [&Ciphertext; 3], plan: &SwitchPlan) -> Result<[Poly; 4]> {
        for c in [x, y, z] {
            c.fetch()?;
        }
        let params = self.params();
        let n = params.ring().n();
        let mut out = [(); 4].map(|()| Poly::scratch(n, plan.from.len()));
        let mut scratch = Poly::scratch(n, 4).limbs;
        for (at, &i) in plan.from.iter().enumerate() {
            let m = params.modulus(i);
            let [x, y, z] = [x, y, z].map(|c| c.parts.each_ref().map(|p| &*p.limbs[at]));
            let [s0, s1, s2, s3] = &mut scratch[..] else {
                continue; // there are four
            };
            let [r0, r1, r2, r3] = out.each_mut().map(|p| &mut p.limbs[at]);
            let (ring, one) = (params.ring(), m.shoup(1));
            self.meter().time(Stage::Tensor, || {
                // x·y: parts under 1, s, s²
                kernel::product(ring, m, [x, y], one, [s0, s1, s2]);
                // the last part times z, twice; r0 and r1 are overwritten
                let t = Tensor {
                    x: [s2, s2],
                    y: z,
                    map: params.frobenius(0),
                    scale: one,
                };
                kernel::tensor(ring, m, &t, [r0, r2, r1, r3]);
                kernel::product(ring, m, [[s0, s1], z], one, [r0, r1, s3]);
                kernel::scale_add(ring, m, s3, one, r2);
                for r in [r2, r3] {
                    kernel::scale_canonical(params.ring(), m, plan.scale[at], r);
                }
            });
        }
        Ok(out)
    }
}

/// Key switching at `level` with the switch down by two levels, but at least to level 1.
fn three_way_plan(params: &Params, level: usize) -> SwitchPlan {
    params.switch_plan(level, level.saturating_sub(2).max(1))
}

pub(crate) fn three_way_outcome(params: &Params, level: usize, x: [&Bound; 3]) -> (usize, Bound) {
    let plan = three_way_plan(params, level);
    (plan.to_level, three_way_bound(params, &plan, x))
}

fn three_way_bound(params: &Params, plan: &SwitchPlan, factors: [&Bound; 3]) -> Bound {
    relinearized_bound(params, plan, &cubic_bound(params, factors), PIECES)
}
