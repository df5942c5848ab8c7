//! From K back to R: a ciphertext with results of AES in K = R\[w\] becomes two ciphertexts of R.
//!
//! A key switch takes c0 + c1·s to c0' + c1'·s' for a secret s' of R. Split both parts as c' = a + w·b. Then a_0 +
//! a_1·s' and b_0 + b_1·s' are the halves of the noise polynomial, so a and b are ciphertexts of R. Modulo 2 the values
//! of w are 0 and 1: a encrypts the first half of the bytes, a + b the second.
//!
//! *Noise.* Two embeddings of K lie over one of R. With roots w and w' there, and values ν and ν' of the noise,
//!
//! ```text
//! a = (w' ν - w ν')/(w' - w)     a + b = ((w' - 1) ν - (w - 1) ν')/(w' - w)     |w| = |w - 1| = √2, |w' - w| = √7
//! ```
//!
//! If ν and ν' are independent, both results have 4/7 of their mean square. In any case, their squares are at most
//! [`LEAVING`] times the larger of |ν|² and |ν'|². The rounding by the special primes adds one rounding of R to a and
//! two to a + b. Both results depend on the same noise; the bound of circuits allows for that ([`crate::noise`]).

use crate::ciphertext::Ciphertext;
use crate::circuit::evaluate::{Evaluator, only};
use crate::circuit::images::Image;
use crate::error::Result;
use crate::keys::Target;
use crate::keyswitch::Post;
use crate::noise::Noise;
use crate::noise::bound::LEAVING;
use crate::params::Params;
use homaes_math::Words;
use homaes_rns::Poly;
use homaes_scheme::Owner;
use rayon::prelude::*;

/// The factor on the mean square of independent values.
const MEAN: f64 = 4.0 / 7.0;

impl Evaluator<'_> {
    /// The ciphertexts of R in results of AES in K, those of the first half of the blocks first.
    pub(crate) fn leave(&self, to: &Params, all: &[Ciphertext]) -> Result<[Vec<Ciphertext>; 2]> {
        let Some(level) = all.first().map(|c| c.level) else {
            return Ok([Vec::new(), Vec::new()]);
        };
        let (from, plan) = (self.params(), &self.params().leave_plan(level));
        self.key().key_at(Target::Leave, plan, level)?;
        let image = [Image::new(
            self.key(),
            Target::Leave,
            vec![0],
            &self.cancel,
        )?];
        let switched = all.par_iter().map(|c| {
            self.cancel.check()?;
            let made = self.sum_of_images(plan, &image, &[c], 1.0, Post::None)?;
            let [first, second] = only(made).parts;
            let [[a0, b0], [a1, b1]] =
                [halves(from, level, &first)?, halves(from, level, &second)?];
            let noise = c.noise.times_constant(MEAN, LEAVING);
            let noise = noise.with(from.noise().key_switch_log2(1, plan));
            // of one rounding, and of the sum of two
            let rho = to.noise().rho_log2;
            let noises = [rho, rho + 0.5].map(|rho| noise.with(rho));
            let out = [([a0, a1], noises[0]), ([b0, b1], noises[1])];
            Ok(out.map(|(parts, noise)| Ciphertext {
                owner: Owner::new(to.id(), Some(self.key_id())),
                level,
                parts,
                noise: Noise::carried(noise.rms_log2, noise.tail_log2),
                history: c.history.clone(),
            }))
        });
        let switched: Vec<[Ciphertext; 2]> = switched.collect::<Result<_>>()?;
        let (first, second) = switched.into_iter().map(|[a, b]| (a, b)).unzip();
        Ok([first, second])
    }
}

/// a and a + b of a polynomial a + w·b.
fn halves(params: &Params, level: usize, poly: &Poly) -> Result<[Poly; 2]> {
    poly.limbs.fetch()?;
    let n = params.ring().base().n();
    let limbs = poly.limbs.iter().zip(params.basis(level));
    let limbs = limbs.map(|(limb, &i)| {
        let [mut a, mut sum] = [(); 2].map(|()| Words::scratch(n));
        params.transform(i).halves(limb, [&mut a, &mut sum]);
        (a, sum)
    });
    let (first, second): (Vec<Words>, Vec<Words>) = limbs.unzip();
    Ok([first, second].map(|limbs| limbs.into_iter().collect()))
}
