//! Keys of any set from a seed, and phases under them.

use crate::ciphertext::{Big, Glwe, Lwe};
use crate::parts::{Part, Spectra};
use crate::rotation::{Exponents, step_log};
use crate::rows::Secrets;
use crate::secret::lwe_bits;
use crate::set::Shape;
use homaes_math::sample::Seed;
use homaes_math::{Fourier, torus};
use rand_chacha::ChaCha20Rng;
use rand_core::{Rng, SeedableRng};

/// A word as a signed fraction of the torus.
pub(crate) fn torus_of(x: u64) -> f64 {
    x as i64 as f64 * 2f64.powi(-64)
}

/// Of errors with mean 0.
pub(crate) fn variance(errors: &[f64]) -> f64 {
    errors.iter().map(|e| e * e).sum::<f64>() / errors.len() as f64
}

pub(crate) fn refs(lwes: &[Lwe<Big>]) -> Vec<&Lwe<Big>> {
    lwes.iter().collect()
}

pub(crate) struct Trial<S> {
    pub(crate) set: S,
    shape: Shape,
    /// of the masks of the evaluation key
    pub(crate) public: Seed,
    /// of the parts of the evaluation key
    pub(crate) bodies: Vec<Vec<u64>>,
    pub(crate) fouriers: [Fourier; 2],
    /// n bits
    pub(crate) lwe: Vec<u64>,
    /// k N bits
    pub(crate) glwe: Vec<u64>,
    pub(crate) spectra: Spectra,
}

impl<S: Clone> Trial<S>
where
    for<'s> Shape: From<&'s S>,
{
    pub(crate) fn new(set: &S, seed: [u8; 32]) -> Self {
        let shape = Shape::from(set);
        let mut rng = ChaCha20Rng::from_seed(seed);
        let fouriers = shape.fouriers();
        let [mut lwe, mut glwe] =
            [shape.lwe_dimension, shape.big_dimension()].map(|len| vec![0; len]);
        lwe_bits(shape.lwe_key, &mut rng, &mut lwe);
        torus::binary(&mut rng, &mut glwe);
        let mut public = Seed::default();
        rng.fill_bytes(&mut public);
        let secrets = Secrets::new(fouriers.each_ref(), &lwe, &glwe);
        let masks = |part: Part| part.numbered_masks(&shape, &public);
        let parts = shape.parts().into_iter();
        let bodies = parts.map(|part| part.bodies(&shape, &secrets, &masks(part), &mut rng));
        let bodies: Vec<Vec<u64>> = bodies.collect();
        let spectra = Spectra::new(&shape, fouriers.each_ref(), masks, &bodies);
        drop(secrets);
        Self {
            set: set.clone(),
            shape,
            public,
            bodies,
            fouriers,
            lwe,
            glwe,
            spectra,
        }
    }

    pub(crate) fn secrets(&self) -> Secrets<'_> {
        Secrets::new(self.fouriers.each_ref(), &self.lwe, &self.glwe)
    }

    /// Encrypts torus elements under the GLWE key with fresh noise. Deterministic.
    pub(crate) fn encrypt(&self, messages: impl IntoIterator<Item = u64>) -> Vec<Lwe<Big>> {
        let secrets = self.secrets();
        let sigma = self.shape.glwe_log2_sigma.exp2();
        let mut rng = ChaCha20Rng::from_seed([77; 32]);
        let each = (0..).zip(messages).map(|(i, message)| {
            let mut glwe = Glwe::zeroed(self.shape.rank, self.shape.degree);
            let (masks, body) = glwe.split_mut();
            torus::uniform(&[9; 32], i, masks);
            body[0] = message;
            secrets.glwe.encrypt((&[9; 32], i), sigma, &mut rng, body);
            glwe.extract(0)
        });
        each.collect()
    }

    /// The middle of the phases that are rounded to these exponents, in steps of 2^grid.
    pub(crate) fn rounded(&self, exponents: &Exponents, grid: u32) -> u64 {
        let products = exponents.mask.iter().zip(&self.lwe);
        let sum: usize = products.map(|(a, s)| a * *s as usize).sum();
        let step = step_log(self.shape.degree);
        let phase = (exponents.body as u64).wrapping_sub(sum as u64) << step;
        phase.wrapping_add(1 << (step + grid - 1))
    }
}
