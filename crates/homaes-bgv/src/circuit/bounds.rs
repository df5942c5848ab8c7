//! The bounds of the operations of [`crate::Evaluator`], and the names of the noises that they add.

use crate::noise::bound::{Bound, Form, Fresh, hash, worst_key_switch_spread};
use crate::params::Params;
use homaes_rns::SwitchPlan;

/// Kinds of operations, which keep their noises apart.
#[derive(Hash)]
enum Kind {
    Switch,
    Digits,
    Image,
    Relinearized,
}

/// Names the noise of one operation on c1 of `form`; `None` if the form is unknown, or c1 is 0 and adds no noise.
///
/// The level is no part of the name: a·c1 and b·c1 have the same rounding errors at two levels whose moduli are as b to
/// a, and a digit may vanish.
fn name(kind: Kind, form: Form) -> Option<u64> {
    let family = form.family().filter(|_| !form.is_trivial());
    family.map(|f| hash(&(kind, f)))
}

/// After a modulus switch by `drop` bits.
pub(crate) fn lowered_bound(params: &Params, b: &Bound, drop: f64) -> Bound {
    let fresh = Fresh {
        key_switch_log2: f64::NEG_INFINITY,
        digits: Vec::new(),
        rounding: name(Kind::Switch, b.form),
    };
    b.divided(drop, &fresh, params.noise().bounds())
}

pub(crate) fn cubic_bound(params: &Params, [x, y, z]: [&Bound; 3]) -> Bound {
    let bounds = params.noise().bounds();
    let mut product = x.times(y, bounds).times(z, bounds);
    product.form = Form::product(&[(x.form, 0), (y.form, 0), (z.form, 0)]);
    product.named()
}

/// The bound of x·σ_k(y), before its key switch.
pub(crate) fn product_bound(params: &Params, x: &Bound, y: &Bound, k: usize) -> Bound {
    let bounds = params.noise().bounds();
    let mut product = x.times(&y.moved(frobenius(params, k), bounds), bounds);
    product.form = Form::product(&[(x.form, 0), (y.form, k)]);
    product.named()
}

/// 2^k modulo m.
fn frobenius(params: &Params, k: usize) -> u64 {
    (0..k).fold(1, |t, _| 2 * t % params.ring().m())
}

/// log2 of the variance that key switching `pieces` polynomials by `plan` adds at the worst embedding, after division.
pub(crate) fn key_switch_variance_log2(params: &Params, plan: &SwitchPlan, pieces: usize) -> f64 {
    let model = params.noise();
    let mean = model.key_switch_log2(pieces, plan) - plan.log2_drop();
    let shares = plan.shares().repeat(pieces);
    2.0 * mean + worst_key_switch_spread(&shares, params.set().log2_p_fail).log2()
}

/// The bound after a product's key switch by `plan`.
pub(crate) fn relinearized_bound(
    params: &Params,
    plan: &SwitchPlan,
    b: &Bound,
    pieces: usize,
) -> Bound {
    let form = b
        .form
        .switched(1, hash(&Kind::Relinearized), params.ring().m());
    let fresh = Fresh {
        key_switch_log2: key_switch_variance_log2(params, plan, pieces),
        digits: vec![(name(Kind::Digits, b.form), 1)],
        // the division rounds like a switch after the key switch
        rounding: name(Kind::Switch, form),
    };
    let drop = plan.log2_drop();
    let mut out = b.divided(drop, &fresh, params.noise().bounds());
    (out.form, out.size) = (form, 0.0);
    out
}

/// The bound of σ_t(x), with its key switch by `plan`.
pub(crate) fn image_bound(params: &Params, plan: &SwitchPlan, b: &Bound, galois: u64) -> Bound {
    let (bounds, m) = (params.noise().bounds(), params.ring().m());
    let form = b.form.switched(galois, hash(&Kind::Image), m);
    let fresh = Fresh {
        key_switch_log2: key_switch_variance_log2(params, plan, 1),
        digits: vec![(name(Kind::Digits, b.form), galois)],
        rounding: name(Kind::Switch, form),
    };
    let drop = plan.log2_drop();
    let mut image = b.moved(galois, bounds).divided(drop, &fresh, bounds);
    (image.form, image.size) = (form, 0.0);
    image
}
