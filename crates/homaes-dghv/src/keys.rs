//! Secret keys: ℓ primes of η bits, and q0.
//!
//! x0 = q0·Π p_j² exactly, of γ or γ - 1 bits. q0 is a product of primes of 1024 bits, and one of up to 2048, so that
//! elliptic curves find no factor in less than 2^156 cycles. The paper demands no prime factor below 2^(λ²) (CLT14
//! Definition 3), which its own primes of η bits do not satisfy.

use crate::crt::{Crt, has_bits};
use crate::draw;
use crate::error::{Error, Result};
use crate::params::Params;
use crate::prime::{Prime, Secret};
use crypto_bigint::U2048;
use crypto_primes::{Flavor, random_prime};
use homaes_math::integer::product;
use homaes_math::natural::{bit_length, words_of};
use homaes_math::sample::Seed;
use homaes_scheme::FieldError;
use homaes_wire::KeyId;
use rand_chacha::ChaCha20Rng;
use rand_core::{CryptoRng, SeedableRng};
use rayon::prelude::*;
use std::sync::Arc;
use zeroize::Zeroizing;

const FACTOR_BITS: usize = 1024;
/// Primes per thread between two calls of `tick`.
const TICK_PRIMES: usize = 8;
/// First stream of the primes of q0; those of the p_j begin at 0.
const FACTOR_STREAM: u64 = 1 << 32;

/// The primes and q0, zeroized on drop.
pub struct SecretKey {
    pub(crate) params: Arc<Params>,
    pub(crate) id: KeyId,
    crt: Crt,
    pub(crate) q0: Secret,
    x0: Vec<u64>,
}

/// The random numbers of a seed and stream.
pub(crate) fn stream(seed: &Seed, stream: u64) -> ChaCha20Rng {
    let mut rng = ChaCha20Rng::from_seed(*seed);
    rng.set_stream(stream);
    rng
}

/// Primes of `bits` ≤ 1024 bits, one per stream; calls `tick` with the number drawn so far.
fn primes_of(
    params: &Params,
    seed: &Seed,
    streams: core::ops::Range<u64>,
    bits: usize,
    tick: &mut (dyn FnMut(u64) + Send),
) -> Vec<Secret> {
    let step = TICK_PRIMES * rayon::current_num_threads();
    let mut all = Vec::with_capacity((streams.end - streams.start) as usize);
    for first in streams.clone().step_by(step) {
        let part = first..(first + step as u64).min(streams.end);
        let part = part.into_par_iter();
        all.par_extend(part.map(|i| draw::prime(&mut stream(seed, i), bits, params.backend())));
        tick(all.len() as u64);
    }
    all
}

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
    /// Draws the primes. Each 1024 bits of x0 take a thread 15 ms, or 50 ms without vector instructions.
    pub fn generate(params: &Arc<Params>, rng: &mut impl CryptoRng) -> Result<Self> {
        Self::generate_watched(params, rng, &mut |_, _| ())
    }

    /// [`generate`](Self::generate) that calls `tick` with the number of primes drawn and the total.
    pub fn generate_watched(
        params: &Arc<Params>,
        rng: &mut impl CryptoRng,
        tick: &mut (dyn FnMut(u64, u64) + Send),
    ) -> Result<Self> {
        let set = params.set();
        let mut seed = Zeroizing::new(Seed::default());
        rng.fill_bytes(seed.as_mut());
        let mut id = [0; 16];
        rng.fill_bytes(&mut id);
        let slots = set.slots as u64;
        // the last one has nearly twice the bits
        let all = slots + ((set.gamma - 2 * set.slots * set.eta) / FACTOR_BITS) as u64;
        let primes = primes_of(params, &seed, 0..slots, set.eta, &mut |done| {
            tick(done, all)
        });
        let squares: Vec<Secret> = primes
            .iter()
            .map(|p| Zeroizing::new(product(p, p, params.backend())))
            .collect();
        let pi = product_of_all(params, &squares);
        // leaves one to two lengths for the last prime; each factor may lose a bit of the product
        let whole = (set.gamma - bit_length(&pi)) / FACTOR_BITS - 1;
        let mut next = FACTOR_STREAM + whole as u64;
        let streams = FACTOR_STREAM..next;
        let factors = primes_of(params, &seed, streams, FACTOR_BITS, &mut |done| {
            tick(slots + done, all);
        });
        let mut q0 = product_of_all(params, &factors);
        // the product divides x0 and is secret
        let bits_left = |q0: &[u64]| {
            let divisor = Zeroizing::new(product(&pi, q0, params.backend()));
            set.gamma - bit_length(&divisor)
        };
        let mut left = bits_left(&q0);
        while left >= 2 * FACTOR_BITS {
            let factor = draw::prime(&mut stream(&seed, next), FACTOR_BITS, params.backend());
            q0 = Zeroizing::new(product(&q0, &factor, params.backend()));
            left = bits_left(&q0);
            next += 1;
        }
        let last: U2048 = random_prime(&mut stream(&seed, next), Flavor::Any, left as u32);
        let last = Zeroizing::new(last);
        let words = Zeroizing::new(last.to_words());
        q0 = Zeroizing::new(product(&q0, &words[..], params.backend()));
        let words = words_of(bit_length(&q0));
        q0.truncate(words);
        Self::from_parts(params, KeyId(id), &primes, q0)
    }

    /// A key of these primes. Primality is not checked: a wrong file gives wrong bits, like a wrong key.
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
        let crt = Crt::new(all, params.backend()).map_err(|number| Error::Prime {
            number,
            what: "not coprime to another prime",
        })?;
        let x0 = product(crt.modulus().modulus(), &q0, params.backend());
        let bits = bit_length(&x0);
        let gamma = params.set().gamma;
        if !(gamma - 1..=gamma).contains(&bits) {
            return Err(FieldError::new("bits of x0", bits as u64, gamma as u64).into());
        }
        Ok(Self {
            params: params.clone(),
            id,
            crt,
            q0,
            x0: x0[..words_of(bits)].to_vec(),
        })
    }

    #[cfg(test)]
    pub(crate) fn parts(&self) -> (Vec<Secret>, Secret) {
        let words = words_of(self.params.set().eta);
        let primes = self.crt.primes().iter().map(|p| &p.words()[..words]);
        let primes = primes.map(|p| Zeroizing::new(p.to_vec()));
        (primes.collect(), self.q0.clone())
    }

    pub(crate) fn crt(&self) -> &Crt {
        &self.crt
    }

    pub(crate) fn x0(&self) -> &[u64] {
        &self.x0
    }
}

homaes_wire::debug_fields!(SecretKey, id);
