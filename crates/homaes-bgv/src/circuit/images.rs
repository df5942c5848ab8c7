//! Hoisted sums of automorphic images: Σ_i c_i σ_i(x) with constants c_i of Z\[ζ_17\], in one key switch.
//!
//! The digits of x are computed once for all σ_i (GHS12 §4 and appendix: automorphisms commuted with constants, sums
//! before the switch down). Each constant is folded into the key of its σ_i, so a word of the sum is one inner product.

use crate::ciphertext::Ciphertext;
use crate::circuit::bounds::image_bound;
use crate::circuit::evaluate::{Evaluator, only};
use crate::error::Result;
use crate::keys::{EvalKey, Target};
use crate::keyswitch::{Addend, KeyPoly, Post, Shape, Summands, SwitchKey};
use crate::params::{KeyPart, Params, Tail};
use homaes_math::GaloisMap;
use homaes_rns::SwitchPlan;
use homaes_scheme::Cancel;
use std::sync::Arc;

/// A term c·σ of a sum, with the switching key from σ(s) unless σ is the identity.
#[derive(Clone)]
pub(crate) struct Image {
    map: GaloisMap,
    /// exponents of ζ_17 that sum to c
    constant: Vec<u8>,
    key: Option<Arc<SwitchKey>>,
}

impl Image {
    /// c·σ for the σ of `target`. c = 1 (`[0]`) shares the key; other constants multiply a copy.
    pub(crate) fn new(
        key: &EvalKey,
        target: Target,
        constant: Vec<u8>,
        cancel: &Cancel,
    ) -> Result<Self> {
        let params = &key.params;
        let own = key.key(target)?;
        Ok(Self {
            map: target.map(params),
            key: Some(match constant == [0] {
                true => own.clone(),
                false => Arc::new(fold(params, own, &constant, cancel)?),
            }),
            constant,
        })
    }

    /// c times the identity.
    pub(crate) fn identity(params: &Params, constant: Vec<u8>) -> Self {
        Self {
            map: params.frobenius(0).clone(),
            constant,
            key: None,
        }
    }
}

impl Evaluator<'_> {
    pub(crate) fn image(
        &self,
        a: &Ciphertext,
        target: Target,
        plan: &SwitchPlan,
    ) -> Result<Ciphertext> {
        let params = self.params();
        let mut out = self.raw_image(a, target, plan)?;
        let galois = params.ring().exponent(target.map(params).source(0));
        out.history = a.history.one(|b| image_bound(params, plan, b, galois));
        self.checked("automorphism", out)
    }

    /// The image under `target`, without a bound.
    pub(crate) fn raw_image(
        &self,
        a: &Ciphertext,
        target: Target,
        plan: &SwitchPlan,
    ) -> Result<Ciphertext> {
        self.key().key_at(target, plan, a.level)?;
        let image = Image::new(self.key(), target, vec![0], &self.cancel)?;
        Ok(only(self.sum_of_images(
            plan,
            &[image],
            &[a],
            1.0,
            Post::None,
        )?))
    }

    /// Σ_i c_i σ_i(x) for every x of `inputs`, switched by `plan`; the inputs share every pass over the keys. `post` is
    /// applied to the sums, which are P_l times the result, before the division.
    ///
    /// Noise: multiplied by `power`, the mean of Σ|c_i|² (and of `post`); plus the key switch. Cost: see
    /// `keyswitch/pass.rs`.
    pub(crate) fn sum_of_images(
        &self,
        plan: &SwitchPlan,
        images: &[Image],
        inputs: &[&Ciphertext],
        power: f64,
        post: Post<'_>,
    ) -> Result<Vec<Ciphertext>> {
        let special: Vec<Vec<Vec<u64>>> = images
            .iter()
            .map(|i| self.special_constants(plan, &i.constant))
            .collect();
        let addend = |k: usize, second| Addend {
            map: &images[k].map,
            by_row: &special[k],
            second,
        };
        let keyless = || (0..images.len()).filter(|&k| images[k].key.is_none());
        let firsts = (0..images.len()).map(|k| addend(k, false));
        let keyed = images
            .iter()
            .filter_map(|i| Some((&i.map, i.key.as_deref()?)));
        let shape = Shape {
            uses: vec![keyed.collect()],
            addends: firsts.chain(keyless().map(|k| addend(k, true))).collect(),
            unscaled: true,
        };
        let outputs: Vec<Summands<'_>> = inputs
            .iter()
            .map(|c| Summands {
                pieces: vec![&c.parts[1]],
                addends: vec![&c.parts[0]; images.len()]
                    .into_iter()
                    .chain(keyless().map(|_| &c.parts[1]))
                    .collect(),
            })
            .collect();
        let parts = self.sums(plan, &shape, &outputs, post)?;
        let all = parts.into_iter().zip(inputs);
        // constants multiply the noise of the switched images by `power` in all, as if there were so many pieces
        let pieces = power.ceil() as usize;
        let all = all.map(|(parts, c)| self.finish(plan, parts, c.noise.scaled(power), pieces));
        Ok(all.collect())
    }
}

/// The constant c times a switching key, row by row; only the parts for S0 and S2, the levels of all sums with
/// constants.
fn fold(params: &Params, key: &SwitchKey, constant: &[u8], cancel: &Cancel) -> Result<SwitchKey> {
    let row_len = params.ring().row_len();
    let fold_poly = |poly: &KeyPoly| {
        poly.map(|i, limb| {
            let t = params.transform(i);
            let m = t.modulus();
            for (row, value) in limb.chunks_exact_mut(row_len).zip(t.row_values(constant)) {
                let c = m.shoup(value);
                row.iter_mut().for_each(|x| *x = m.scale(*x, c));
            }
        })
    };
    let fold_pair = |pair: &[KeyPoly; 2]| {
        cancel.check()?;
        Ok(pair.each_ref().map(fold_poly))
    };
    let mut parts = [const { Vec::new() }; KeyPart::ALL.len()];
    for part in KeyPart::ALL.into_iter().filter(|p| p.tail == Tail::Outer) {
        let own = key.parts[part.number()].iter();
        parts[part.number()] = own.map(fold_pair).collect::<Result<_>>()?;
    }
    Ok(SwitchKey { parts })
}
