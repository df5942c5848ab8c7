//! Secret keys: ℓ primes of η bits, and q0.
//!
//! x0 = q0·Π p_j² exactly, of γ or γ - 1 bits; q0 is a product of primes of 1024 bits and one of up to twice as many, so that no factor of it is found by elliptic curves (CLT14 §4, and
//! Definition 3 for what q0 is to be).

use crate::crt::{Crt, has_bits};
use crate::error::{Error, Result};
use crate::params::Params;
use crate::prime::{Prime, Secret};
use crypto_bigint::{U1024, U2048};
use crypto_primes::{Flavor, is_prime, random_prime};
use homaes_math::integer::natural::{bit_length, words_of};
use homaes_math::integer::product;
use homaes_math::sample::Seed;
use homaes_wire::{Encoder, KeyId};
use rand_chacha::ChaCha20Rng;
use rand_core::{CryptoRng, SeedableRng};
use rayon::prelude::*;
use std::sync::Arc;
use zeroize::{Zeroize, Zeroizing};

/// Bits of the primes of q0.
const FACTOR_BITS: u32 = 1024;
/// Streams of the primes of q0 begin here, those of the p_j at 0.
const FACTOR_STREAM: u64 = 1 << 32;

/// The primes and q0. Overwritten when dropped.
pub struct SecretKey {
    params: Arc<Params>,
    id: KeyId,
    crt: Crt,
    q0: Secret,
    x0: Vec<u64>,
}

fn stream(seed: &Seed, stream: u64) -> ChaCha20Rng {
    let mut rng = ChaCha20Rng::from_seed(*seed);
    rng.set_stream(stream);
    rng
}

/// A prime of `bits` ≤ 1024 bits from its own stream.
fn prime_of(seed: &Seed, number: u64, bits: u32) -> Secret {
    let p: U1024 = random_prime(&mut stream(seed, number), Flavor::Any, bits);
    let mut words = Zeroizing::new(p.to_words().to_vec());
    words.truncate(words_of(bits as usize));
    words
}

/// The product of all, by a balanced tree.
fn product_of_all(params: &Params, factors: &[Secret]) -> Secret {
    match factors {
        [] => Zeroizing::new(vec![1]),
        [one] => one.clone(),
        _ => {
            let (left, right) = factors.split_at(factors.len() / 2);
            let (a, b) = rayon::join(
                || product_of_all(params, left),
                || product_of_all(params, right),
            );
            let mut all = Zeroizing::new(product(&a, &b, params.backend()));
            let words = words_of(bit_length(&all));
            all.truncate(words);
            all
        }
    }
}

impl SecretKey {
    /// Draws the primes; about 50 ms for each 1024 bits of x0 and thread.
    ///
    /// # Errors
    /// None for keys that are made here.
    pub fn generate(params: &Arc<Params>, rng: &mut impl CryptoRng) -> Result<Self> {
        let set = params.set();
        let mut seed = Zeroizing::new(Seed::default());
        rng.fill_bytes(seed.as_mut());
        let mut id = [0; 16];
        rng.fill_bytes(&mut id);
        let primes = (0..set.slots as u64).into_par_iter();
        let primes: Vec<Secret> = primes.map(|j| prime_of(&seed, j, set.eta as u32)).collect();
        let squares: Vec<Secret> = primes
            .iter()
            .map(|p| Zeroizing::new(product(p, p, params.backend())))
            .collect();
        let pi = product_of_all(params, &squares);
        // as many as leave one to two of their length; each may lose a bit of the product
        let whole = (set.gamma - bit_length(&pi)) / FACTOR_BITS as usize - 1;
        let factors = (0..whole as u64).into_par_iter();
        let mut factors: Vec<Secret> = factors
            .map(|i| prime_of(&seed, FACTOR_STREAM + i, FACTOR_BITS))
            .collect();
        let mut q0 = product_of_all(params, &factors);
        let mut left = set.gamma - bit_length(&product(&pi, &q0, params.backend()));
        let mut next = FACTOR_STREAM + whole as u64;
        while left >= 2 * FACTOR_BITS as usize {
            factors.push(prime_of(&seed, next, FACTOR_BITS));
            q0 = Zeroizing::new(product(&q0, &factors[factors.len() - 1], params.backend()));
            left = set.gamma - bit_length(&product(&pi, &q0, params.backend()));
            next += 1;
        }
        let last: U2048 = random_prime(&mut stream(&seed, next), Flavor::Any, left as u32);
        q0 = Zeroizing::new(product(&q0, &last.to_words(), params.backend()));
        let words = words_of(bit_length(&q0));
        q0.truncate(words);
        Self::from_parts(params, KeyId(id), &primes, q0)
    }

    /// A key of these primes. Whether they are prime is not looked at: a wrong file gives wrong bits, as a wrong key does.
    pub(crate) fn from_parts(
        params: &Arc<Params>,
        id: KeyId,
        primes: &[Secret],
        q0: Secret,
    ) -> Result<Self> {
        let mut all = Vec::with_capacity(primes.len());
        for (number, p) in primes.iter().enumerate() {
            let wrong = |what| Error::Prime { number, what };
            if !has_bits(p, params.set().eta) {
                return Err(wrong("not of η bits"));
            }
            all.push(Prime::new(p, params.set().eta).ok_or(wrong("even"))?);
        }
        let crt = Crt::new(all, params.backend());
        let x0 = product(crt.modulus().modulus(), &q0, params.backend());
        let bits = bit_length(&x0);
        let gamma = params.set().gamma;
        if !(gamma - 1..=gamma).contains(&bits) {
            let error = homaes_scheme::FieldError::new("bits of x0", bits as u64, gamma as u64);
            return Err(error.into());
        }
        Ok(Self {
            params: params.clone(),
            id,
            crt,
            q0,
            x0: x0[..words_of(bits)].to_vec(),
        })
    }

    /// The primes and q0.
    #[cfg(test)]
    pub(crate) fn parts(&self) -> (Vec<Secret>, Secret) {
        let words = words_of(self.params.set().eta);
        let primes = self.crt.primes().iter().map(|p| &p.words()[..words]);
        let primes = primes.map(|p| Zeroizing::new(p.to_vec()));
        (primes.collect(), self.q0.clone())
    }

    /// The parameters.
    pub fn params(&self) -> &Arc<Params> {
        &self.params
    }

    /// Random public name that ties keys and ciphertexts to this secret.
    pub fn id(&self) -> KeyId {
        self.id
    }

    pub(crate) fn crt(&self) -> &Crt {
        &self.crt
    }

    /// x0, which is public.
    pub(crate) fn x0(&self) -> &[u64] {
        &self.x0
    }

    /// The primes and q0, as a file has them: words, lowest first.
    pub(crate) fn packed(&self) -> Zeroizing<Vec<u8>> {
        let words = words_of(self.params.set().eta);
        let [primes_bytes, q0_bytes] = Self::body_bytes(&self.params);
        let primes = self.crt.primes().iter().map(|p| &p.words()[..words]);
        let mut out = Encoder::with_capacity(primes_bytes + q0_bytes);
        for word in primes.flatten().chain(self.q0.iter()) {
            out = out.u64(*word);
        }
        let mut out = Zeroizing::new(out.finish());
        out.resize(primes_bytes + q0_bytes, 0);
        out
    }

    /// Whether all p_j are prime: for keys from elsewhere; a second for a thousand of them.
    pub fn primes_are_prime(&self) -> bool {
        let primes = self.crt.primes().par_iter();
        primes.all(|p| {
            let mut words = Zeroizing::new([0; 16]);
            words.copy_from_slice(p.words());
            is_prime(Flavor::Any, &U1024::from_words(*words))
        })
    }
}

impl Drop for SecretKey {
    fn drop(&mut self) {
        self.q0.zeroize();
    }
}

impl core::fmt::Debug for SecretKey {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("SecretKey")
            .field("id", &self.id)
            .finish_non_exhaustive()
    }
}
