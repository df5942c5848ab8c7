//! Public-key encryption: subset sums of encryptions of 0 with factors of β bits (CLT14 §3.3, §5).
//!
//! c = Σ_j m_j·e_j + Σ_i b_i·x_i modulo x0, with encryptions e_j of the unit vectors and x_i of 0, and random b_i below
//! 2^β. The leftover hash lemma demands τβ ≥ γ + 2λ. Table 1 has one column for τ and Θ, but τ = Θ would need β = 2000,
//! and b_i·r_i would fill a prime. Here β is as large as the noise of a conversion allows, and τ follows.

use crate::ciphertext::Ciphertext;
use crate::element::{compressed, expand, half_prime, random_bits};
use crate::error::Result;
use crate::keys::{self, SecretKey};
use crate::params::Params;
use homaes_math::integer::Reducer;
use homaes_math::natural::{add_assign, add_products, words_of};
use homaes_math::sample::Seed;
use homaes_scheme::bits::{BitScheme, BitSecret};
use homaes_scheme::{Owner, mismatch};
use homaes_wire::KeyId;
use rand_core::CryptoRng;
use rayon::prelude::*;
use std::sync::Arc;
use zeroize::Zeroizing;

/// First stream of the encryptions of 0; those of the unit vectors begin at 0.
const ZERO_STREAM: u64 = 1 << 32;

/// Encrypts for the holder of the primes. In memory only: transciphering needs no public key.
pub struct PublicKey {
    params: Arc<Params>,
    id: KeyId,
    seed: Seed,
    reducer: Reducer,
    /// corrections of the encryptions of unit vectors and of 0
    units: Vec<Vec<u64>>,
    zeros: Vec<Vec<u64>>,
}

impl Params {
    /// β, bits of the factors in public-key encryption.
    pub fn factor_bits(&self) -> usize {
        let room = self.noise().floor_log2() - self.set().rho as f64 - 16.0;
        (room.max(8.0) as usize).min(1024)
    }

    /// τ, number of encryptions of 0, with τβ ≥ γ + 2λ.
    pub fn zeros(&self) -> usize {
        let lambda = self.set().lambda.unwrap_or(0) as usize;
        (self.set().gamma + 2 * lambda).div_ceil(self.factor_bits())
    }

    /// Bytes of a public key: corrections, x0, and a seed.
    pub fn public_key_bytes(&self) -> u64 {
        let corrections = (self.zeros() + self.slots()) * words_of(self.correction_bits());
        8 * (corrections + self.words()) as u64 + 32
    }
}

impl PublicKey {
    /// A public key of `secret`.
    pub fn generate(secret: &SecretKey, rng: &mut impl CryptoRng) -> Result<Self> {
        let params = secret.params();
        let mut seed = Seed::default();
        rng.fill_bytes(&mut seed);
        let mut errors = Zeroizing::new(Seed::default());
        rng.fill_bytes(errors.as_mut());
        let element = |stream: u64, bit: &(dyn Fn(usize) -> u64 + Sync)| {
            let mut rng = keys::stream(&errors, stream);
            let message = |j: usize| half_prime(secret, j, bit(j));
            compressed(secret, &mut rng, (&seed, stream), message).to_vec()
        };
        let units = (0..params.slots()).into_par_iter();
        let zeros = (0..params.zeros() as u64).into_par_iter();
        Ok(Self {
            units: units
                .map(|j| element(j as u64, &|k| u64::from(j == k)))
                .collect(),
            zeros: zeros.map(|i| element(ZERO_STREAM + i, &|_| 0)).collect(),
            reducer: Reducer::new(secret.x0(), params.backend()),
            params: params.clone(),
            id: secret.id(),
            seed,
        })
    }

    /// Encrypts one bit per slot; missing bits are `false`.
    ///
    /// # Errors
    /// If there are more bits than slots.
    pub fn encrypt(&self, bits: &[bool], rng: &mut impl CryptoRng) -> Result<Ciphertext> {
        let params = &self.params;
        mismatch::check_count("bits", bits.len(), params.slots())?;
        let beta = params.factor_bits();
        let factors: Vec<_> = self
            .zeros
            .iter()
            .map(|_| Zeroizing::new(random_bits(rng, beta)))
            .collect();
        let words = params.type_one_words() + words_of(beta) + 1;
        let empty = || Zeroizing::new(vec![0; words]);
        let added = |mut sum: Zeroizing<Vec<u64>>, other: Zeroizing<Vec<u64>>| {
            add_assign(&mut sum, &other);
            sum
        };
        let terms = self.zeros.par_iter().zip(&factors).enumerate();
        let terms = terms.fold(empty, |mut sum, (i, (zero, factor))| {
            let x = expand(params, &self.seed, ZERO_STREAM + i as u64, zero);
            add_products(&mut sum, &x, factor);
            sum
        });
        let mut sum = terms.reduce(empty, added);
        for (j, unit) in self.units.iter().enumerate() {
            // adds every element, masked to zero for bits that are 0
            let bit = u64::from(bits.get(j).is_some_and(|&b| b));
            let mask = core::hint::black_box(bit.wrapping_neg());
            let mut e = Zeroizing::new(expand(params, &self.seed, j as u64, unit));
            e.iter_mut().for_each(|word| *word &= mask);
            add_assign(&mut sum, &e);
        }
        let mut words = self.reducer.reduce(&sum);
        words.resize(params.type_one_words(), 0);
        Ok(Ciphertext {
            owner: Owner::new(params.id(), Some(self.id)),
            level: params.top_level(),
            words,
            noise: params.noise().encrypted(self.zeros.len(), beta),
        })
    }
}
