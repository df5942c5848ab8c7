//! Packing for bridges: as many LWE ciphertexts as the key has bits, in one RLWE ciphertext.

use super::Packing;
use crate::bootstrap::Bootstrap;
use crate::error::{Error, Result};
use crate::noise::Ring;
use crate::parts::{Part, Spectra};
use crate::rows::Secrets;
use crate::set::{Gadget, LweKey, Shape, gadget};
use homaes_math::sample::Seed;
use homaes_math::{Fourier, Reals, Words};
use homaes_scheme::read::{put_words, take_words};
use homaes_scheme::{Cancel, FieldError, SetId};
use rand_core::CryptoRng;
use rayon::prelude::*;
use zeroize::Zeroizing;

/// Digits of the key switches.
const DIGITS: Gadget = gadget(9, 4);

/// Keys for the automorphisms X -> X^(2^t + 1) of Z\[X\]/(X^N + 1) under a binary key of N bits: public.
pub struct PackingKey {
    shape: Shape,
    fourier: Fourier,
    /// per automorphism the bodies of its rows; masks come from a seed
    bodies: Vec<Vec<u64>>,
    spectra: Spectra,
}

impl PackingKey {
    /// log2 of the standard deviation of its noise on the torus.
    pub const LOG2_SIGMA: f64 = homaes_scheme::lwe::PACKING_LOG2_SIGMA;

    /// Whether there are such keys in this degree.
    pub fn exists(degree: usize) -> bool {
        degree.is_power_of_two() && (homaes_math::fourier::MIN_DEGREE..=2048).contains(&degree)
    }

    fn shape(degree: usize) -> Shape {
        Shape {
            lwe_dimension: 0,
            lwe_log2_sigma: Self::LOG2_SIGMA,
            lwe_key: LweKey::Independent,
            unroll: 1,
            rank: 1,
            degree,
            glwe_log2_sigma: Self::LOG2_SIGMA,
            rotation_mask: DIGITS,
            rotation_body: DIGITS,
            automorphism: DIGITS,
            scheme_switch: None,
            key_switch: DIGITS,
            key_switch_degree: degree,
        }
    }

    fn parts(degree: usize) -> impl IndexedParallelIterator<Item = Part> {
        let all: Vec<Part> = (1..=degree.ilog2()).map(Part::Automorphism).collect();
        all.into_par_iter()
    }

    /// Makes a key under `bits`, the lowest bit of each word, with masks from streams of `seed` that have the name of
    /// `set`.
    ///
    /// # Panics
    /// Unless [`exists`](Self::exists) for as many bits.
    pub fn generate(set: SetId<'_>, seed: &Seed, bits: &[u64], rng: &mut impl CryptoRng) -> Self {
        assert!(Self::exists(bits.len()));
        let shape = Self::shape(bits.len());
        let fourier = Fourier::new(shape.degree);
        let bits = Zeroizing::new(bits.iter().map(|bit| bit & 1).collect::<Vec<_>>());
        let secrets = Secrets::new([&fourier; 2], &[], &bits);
        let automorphisms = (1..=shape.degree.ilog2()).map(Part::Automorphism);
        let bodies = automorphisms
            .map(|part| part.bodies(&shape, &secrets, &part.masks(set, seed), rng))
            .collect();
        drop(secrets);
        Self::new(set, seed, shape, fourier, bodies)
    }

    fn new(
        set: SetId<'_>,
        seed: &Seed,
        shape: Shape,
        fourier: Fourier,
        bodies: Vec<Vec<u64>>,
    ) -> Self {
        let both = [&fourier; 2];
        let spectra = Self::parts(shape.degree).zip(&bodies);
        let automorphisms = spectra
            .map(|(part, bodies)| part.spectra(&shape, both, &part.masks(set, seed), bodies))
            .collect();
        let nothing = || Reals::zeroed(0);
        Self {
            spectra: Spectra {
                steps: Vec::new(),
                automorphisms,
                scheme_switch: nothing(),
                key_switch: nothing(),
            },
            shape,
            fourier,
            bodies,
        }
    }

    /// Records of a key in this degree.
    pub fn records(degree: usize) -> usize {
        degree.ilog2() as usize
    }

    /// Bytes of each record in this degree.
    pub fn record_bytes(degree: usize) -> u64 {
        (DIGITS.levels * degree * size_of::<u64>()) as u64
    }

    /// Record `index`: the bodies of an automorphism, words of 64 bits.
    pub fn record(&self, index: usize) -> Vec<u8> {
        put_words(&self.bodies[index])
    }

    /// The key with these records, [`records`](Self::records) of [`record_bytes`](Self::record_bytes) each.
    ///
    /// # Errors
    /// [`FieldError`] for other numbers.
    pub fn from_records(
        set: SetId<'_>,
        seed: &Seed,
        degree: usize,
        records: &[Vec<u8>],
    ) -> Result<Self> {
        let wrong = |what, found: usize, expected| FieldError::new(what, found as u64, expected);
        if !Self::exists(degree) || records.len() != Self::records(degree) {
            let expected = degree.checked_ilog2().unwrap_or(0);
            return Err(wrong("count of packing keys", records.len(), expected.into()).into());
        }
        let bytes = Self::record_bytes(degree);
        if let Some(other) = records.iter().find(|body| body.len() as u64 != bytes) {
            return Err(wrong("bytes of a packing key", other.len(), bytes).into());
        }
        let bodies = records.iter().map(|body| take_words(body)).collect();
        let (shape, fourier) = (Self::shape(degree), Fourier::new(degree));
        Ok(Self::new(set, seed, shape, fourier, bodies))
    }

    /// log2 of the standard deviation of the noise that packing adds, on the torus.
    pub fn noise_log2(degree: usize) -> f64 {
        let ring = Ring::new(1, degree, Self::LOG2_SIGMA);
        let doublings = ((degree * degree) as f64 - 1.0) / 3.0;
        0.5 * (doublings * ring.automorphism(DIGITS)).log2()
    }

    /// Packs N LWE ciphertexts of N + 1 words each, mask before body: the number of ciphertext i becomes coefficient i
    /// of an RLWE ciphertext, whose mask and body are returned, N words each. Its phase is body - mask·z.
    ///
    /// Noise: [`noise_log2`](Self::noise_log2) is added. Cost: N - 1 automorphisms of six transforms.
    ///
    /// # Errors
    /// [`FieldError`] for other numbers of ciphertexts or words; [`Error::Cancelled`].
    pub fn pack(&self, lwes: Vec<&[u64]>, cancel: &Cancel) -> Result<Words> {
        let n = self.shape.degree;
        let wrong = |what, found: usize, expected: usize| {
            FieldError::new(what, found as u64, expected as u64)
        };
        if lwes.len() != n {
            return Err(wrong("ciphertexts to pack", lwes.len(), n).into());
        }
        if let Some(other) = lwes.iter().find(|lwe| lwe.len() != n + 1) {
            return Err(wrong("words of a ciphertext to pack", other.len(), n + 1).into());
        }
        let base = Bootstrap::new(self.shape, [&self.fourier; 2], &self.spectra, cancel);
        let packed = Packing::new(&base, lwes).run();
        cancel.check().map_err(Error::from)?;
        let mut out = Words::scratch(2 * n);
        out.copy_from_slice(packed.words());
        Ok(out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ring::RingSecret;
    use homaes_math::torus;
    use rand_chacha::ChaCha20Rng;
    use rand_core::{Rng, SeedableRng};

    const SET: SetId<'_> = SetId {
        name: "bgv/toy-4369",
        digest: &[3; 32],
    };

    /// Every number arrives at its coefficient, with the noise of the model.
    fn packs(degree: usize) {
        let mut rng = ChaCha20Rng::from_seed([5; 32]);
        let mut bits = vec![0; degree];
        torus::binary(&mut rng, &mut bits);
        let made = PackingKey::generate(SET, &[4; 32], &bits, &mut rng);
        let records: Vec<_> = (0..PackingKey::records(degree))
            .map(|i| made.record(i))
            .collect();
        let key = PackingKey::from_records(SET, &[4; 32], degree, &records).unwrap();
        let mut want = Vec::new();
        let mut lwes = Vec::new();
        for _ in 0..degree {
            let mask: Vec<u64> = (0..degree).map(|_| rng.next_u64()).collect();
            let phase = rng.next_u64();
            let terms = mask.iter().zip(&bits).map(|(a, s)| a.wrapping_mul(*s));
            lwes.push(terms.fold(phase, u64::wrapping_add));
            let at = lwes.len() - 1;
            lwes.splice(at..at, mask);
            want.push(phase);
        }
        let lwes: Vec<&[u64]> = lwes.chunks(degree + 1).collect();
        let packed = key.pack(lwes.clone(), &Cancel::new()).unwrap();
        let fourier = Fourier::new(degree);
        let secret = RingSecret::new(&fourier, &bits);
        let mut phase = vec![0; degree];
        secret.add_mask_product(&packed[..degree], &mut phase);
        let errors = packed[degree..].iter().zip(&phase).zip(&want);
        let squares = errors.map(|((body, product), want)| {
            let error = body.wrapping_sub(*product).wrapping_sub(*want) as i64 as f64;
            (error / 2f64.powi(64)).powi(2)
        });
        let found = 0.5 * (squares.sum::<f64>() / degree as f64).log2();
        let derived = PackingKey::noise_log2(degree);
        println!("degree {degree}: 2^{found:.2}, derived 2^{derived:.2}");
        // every key has its own errors
        assert!((found - derived).abs() < 0.5);
        let cancelled = Cancel::new();
        cancelled.cancel();
        assert!(key.pack(lwes.clone(), &cancelled).is_err());
        assert!(key.pack(lwes[1..].to_vec(), &Cancel::new()).is_err());
        assert!(PackingKey::from_records(SET, &[4; 32], degree, &records[1..]).is_err());
    }

    #[test]
    fn numbers_are_packed() {
        packs(256);
        packs(2048);
    }
}
