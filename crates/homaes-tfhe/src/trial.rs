//! Keys of any shape from a seed, for measurements and tests.

use crate::parts::{Shape, Spectra};
use crate::ring::extract;
use crate::rows::Secrets;
use homaes_math::{Fourier, Words, torus};
use rand_chacha::ChaCha20Rng;
use rand_core::{Rng, SeedableRng};

/// Both secret keys and the evaluation key.
pub(crate) struct Trial {
    shape: Shape,
    pub(crate) fouriers: [Fourier; 2],
    /// n bits
    pub(crate) lwe: Vec<u64>,
    /// k N bits
    pub(crate) glwe: Vec<u64>,
    pub(crate) spectra: Spectra,
}

impl Trial {
    pub(crate) fn new(shape: Shape, seed: [u8; 32]) -> Self {
        let mut rng = ChaCha20Rng::from_seed(seed);
        let fouriers = shape.fouriers();
        let [mut lwe, mut glwe] =
            [shape.lwe_dimension, shape.big_dimension()].map(|len| vec![0; len]);
        torus::binary(&mut rng, &mut lwe);
        torus::binary(&mut rng, &mut glwe);
        // of the masks
        let mut public = [0; 32];
        rng.fill_bytes(&mut public);
        let secrets = Secrets::new(fouriers.each_ref(), &lwe, &glwe);
        let bodies: Vec<Vec<u64>> = shape
            .parts()
            .into_iter()
            .map(|part| part.bodies(&shape, &secrets, &public, &mut rng))
            .collect();
        let spectra = Spectra::new(&shape, fouriers.each_ref(), &public, &bodies);
        drop(secrets);
        Self {
            shape,
            fouriers,
            lwe,
            glwe,
            spectra,
        }
    }

    pub(crate) fn secrets(&self) -> Secrets<'_> {
        Secrets::new(self.fouriers.each_ref(), &self.lwe, &self.glwe)
    }

    /// LWE ciphertexts of torus elements under the GLWE key, with fresh noise; the same every time.
    pub(crate) fn encrypt(&self, messages: impl IntoIterator<Item = u64>) -> Vec<Words> {
        let (secrets, n, rank) = (self.secrets(), self.shape.degree, self.shape.rank);
        let sigma = self.shape.glwe_log2_sigma.exp2();
        let mut rng = ChaCha20Rng::from_seed([77; 32]);
        let each = (0..).zip(messages).map(|(i, message)| {
            let mut glwe = vec![0; (rank + 1) * n];
            let (masks, body) = glwe.split_at_mut(rank * n);
            torus::uniform(&[9; 32], i, masks);
            body[0] = message;
            secrets.glwe.encrypt((&[9; 32], i), sigma, &mut rng, body);
            let mut lwe = Words::zeroed(rank * n + 1);
            extract(&glwe, n, 0, &mut lwe);
            lwe
        });
        each.collect()
    }
}

/// b - <a, s>.
pub(crate) fn phase(lwe: &[u64], key: &[u64]) -> u64 {
    let (mask, body) = lwe.split_at(key.len());
    let terms = mask.iter().zip(key);
    terms.fold(body[0], |sum, (a, s)| sum.wrapping_sub(a.wrapping_mul(*s)))
}
