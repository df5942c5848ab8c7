//! Ciphertexts of types I and II; encryption and decryption with the secret key.

use crate::element::{compressed, expand, half_prime};
use crate::error::{Error, Result};
use crate::keys::SecretKey;
use crate::noise::Noise;
use crate::params::Params;
use crate::prime::{Prime, Secret};
use homaes_math::natural::{add_assign, bits_from, set_bits, sub_assign, subtract_if_not_less};
use homaes_math::sample::Seed;
use homaes_math::torus;
use homaes_scheme::bits::{BitScheme, BitSecret};
use homaes_scheme::{Owner, mismatch};
use num_bigint::{BigInt, BigUint};
use rand_chacha::ChaCha20Rng;
use rand_core::{CryptoRng, SeedableRng};
use zeroize::Zeroizing;

/// One bit per slot: a type I ciphertext r + (m + 2r*)(p_j - 1)/2 modulo p_j² (CLT14, equation 7).
#[derive(Clone)]
pub struct Ciphertext {
    pub(crate) owner: Owner,
    pub(crate) level: usize,
    /// below 2^(γ + 64), not reduced modulo x0
    pub(crate) words: Vec<u64>,
    pub(crate) noise: Noise,
}

/// A sum of products: a type II ciphertext r + m(p_j² - 1)/2 modulo p_j² (CLT14, equation 8). Conversion turns it into
/// a [`Ciphertext`].
#[derive(Clone)]
pub struct Product {
    pub(crate) owner: Owner,
    pub(crate) level: usize,
    /// below 2^(2γ + 64)
    pub(crate) words: Vec<u64>,
    pub(crate) noise: Noise,
}

impl Ciphertext {
    /// One more than the multiplications left.
    pub fn level(&self) -> usize {
        self.level
    }

    /// Noise by the model.
    pub fn noise(&self) -> Noise {
        self.noise
    }

    /// CLT14 §3.3, Add.
    pub(crate) fn add(&mut self, other: &Self) {
        add_assign(&mut self.words, &other.words);
        self.owner = self.owner.with(other.owner);
        self.level = self.level.min(other.level);
        self.noise = self.noise.plus(other.noise);
    }

    /// Bits between the model's noise and the size at which a bit decrypts wrongly.
    pub fn capacity_bits(&self, params: &Params) -> f64 {
        params.noise().capacity_bits(self.noise)
    }
}

impl Product {
    pub(crate) fn add(&mut self, other: &Self) {
        add_assign(&mut self.words, &other.words);
        self.owner = self.owner.with(other.owner);
        self.noise = self.noise.plus_product(other.noise);
    }
}

homaes_wire::debug_fields!(Ciphertext, level, noise);
homaes_wire::debug_fields!(Product, level);

/// Decrypted bits, and the distance from a wrong decryption.
#[derive(Debug)]
pub struct Decrypted {
    /// 0 or 1 per slot
    pub bits: Zeroizing<Vec<u8>>,
    /// log2 of (a quarter of a prime) / (largest noise r); at most 62.5, as only high bits are compared
    pub margin_bits: f64,
}

/// Parity and absolute value of 2a modulo m, centred; a < m.
#[inline(never)]
fn doubled_centred(a: &[u64], m: &[u64]) -> (u8, Secret) {
    let words = m.len() + 1;
    let mut t = Zeroizing::new(vec![0; words]);
    set_bits(&mut t, a, 1);
    subtract_if_not_less(&mut t, m);
    // m - t is the smaller one if t is above m/2
    let mut other = Zeroizing::new(vec![0; words]);
    other[..m.len()].copy_from_slice(m);
    sub_assign(&mut other, &t);
    let mut less = other.clone();
    // 1 if m - t < t
    let beyond = sub_assign(&mut less, &t);
    // m is odd, so t - m has the other parity
    let parity = (t[0] & 1 ^ beyond) as u8;
    let mask = beyond.wrapping_neg();
    for (t, o) in t.iter_mut().zip(other.iter()) {
        *t = *t & !mask | o & mask;
    }
    (parity, t)
}

impl SecretKey {
    /// Encrypts one bit per slot; missing bits are `false`.
    ///
    /// # Errors
    /// If there are more bits than slots.
    pub fn encrypt(&self, bits: &[bool], rng: &mut impl CryptoRng) -> Result<Ciphertext> {
        let params = self.params();
        mismatch::check_count("bits", bits.len(), params.slots())?;
        let mut public = Seed::default();
        rng.fill_bytes(&mut public);
        let mut own = Zeroizing::new(Seed::default());
        rng.fill_bytes(own.as_mut());
        let mut rng = ChaCha20Rng::from_seed(*own);
        let bit = |j: usize| u64::from(bits.get(j).is_some_and(|&b| b));
        let correction = compressed(self, &mut rng, (&public, 0), |j| {
            half_prime(self, j, bit(j))
        });
        Ok(Ciphertext {
            owner: Owner::new(params.id(), Some(self.id())),
            level: params.top_level(),
            words: expand(params, &public, 0, &correction),
            noise: params.fresh(),
        })
    }

    /// Decrypts a ciphertext: (2c mod p_j) mod 2.
    ///
    /// # Errors
    /// [`Error::Noise`] if the noise exceeds a prime: another key, or too many operations. [`Error::Mismatch`] if the
    /// ciphertext is known to be of another set or key.
    pub fn decrypt(&self, c: &Ciphertext) -> Result<Decrypted> {
        c.owner.check("ciphertext", self.params.id(), self.id)?;
        let remainders = self.remainders(&c.words);
        let pairs = self.crt().primes().iter().zip(&remainders);
        self.decoded(
            pairs.map(|(p, r)| doubled_centred(r, p.words())),
            self.params().set().eta,
        )
    }

    fn remainders(&self, words: &[u64]) -> Vec<Secret> {
        let reduced = Zeroizing::new(self.crt().modulus().reduce(words));
        self.crt().remainders(&reduced)
    }

    /// [`SecretKey::decrypt`] of a product, modulo p_j². Slow.
    ///
    /// # Errors
    /// As [`decrypt`](Self::decrypt).
    pub fn decrypt_product(&self, p: &Product) -> Result<Decrypted> {
        p.owner.check("ciphertext", self.params.id(), self.id)?;
        let reduced = Zeroizing::new(self.crt().modulus().reduce(&p.words));
        let remainders = self.crt().remainders_of_squares(&reduced);
        let pairs = self.crt().primes().iter().zip(&remainders);
        let values = pairs.map(|(p, r)| doubled_centred(r, p.square()));
        self.decoded(values, 2 * self.params().set().eta)
    }

    #[inline(never)]
    fn decoded(
        &self,
        values: impl Iterator<Item = (u8, Secret)>,
        modulus_bits: usize,
    ) -> Result<Decrypted> {
        let mut bits = Zeroizing::new(Vec::with_capacity(self.params().slots()));
        // the top 63 bits of the largest value
        let mut largest = Zeroizing::new(0);
        for (bit, value) in values {
            bits.push(bit);
            let mut top = [0; 1];
            bits_from(&value, modulus_bits - 64, &mut top);
            *largest = (*largest).max(top[0]);
        }
        // as a fraction of 2^64, half a modulus is between 2^-2 and 2^-1
        let margin_bits = -1.5 - torus::log2_fraction(*largest | 1);
        match margin_bits < 1.0 {
            true => Err(Error::Noise),
            false => Ok(Decrypted { bits, margin_bits }),
        }
    }

    /// For tests: (log2 |r|, M) per slot, where c is r + M(p_j - 1)/2; M as far as it fits.
    pub fn measure_noise(&self, c: &Ciphertext) -> Vec<(f64, f64)> {
        let reduced = self.crt().modulus().reduce(&c.words);
        let squares = self.crt().remainders_of_squares(&reduced);
        let pairs = self.crt().primes().iter().zip(squares);
        pairs.map(|(p, c)| split(p, &c)).collect()
    }
}

/// (log2 |r|, M) of c = r + M(p - 1)/2 modulo p² with |r| < p/4, from 2c + M = 2r + Mp.
fn split(p: &Prime, c: &[u64]) -> (f64, f64) {
    let value = |x: &BigUint| {
        let digits = x.iter_u64_digits().rev();
        digits.fold(0.0, |x, digit| x * 2f64.powi(64) + digit as f64)
    };
    let [c, square, p] = [c, p.square(), p.words()].map(big);
    // centred modulo p²
    let negative = square - &c;
    let (sign, size) = match negative < c {
        true => (-1.0, negative),
        false => (1.0, c),
    };
    let twice = size * 2u8;
    // 2c/p rounds to M
    let m = (&twice * 2u8 + &p) / (&p * 2u8);
    // (2c - Mp + M)/2, with M negligible
    let rest = BigInt::from(twice) - BigInt::from(&m * p);
    let r = (value(rest.magnitude()) / 2.0).max(0.5);
    (r.log2(), sign * value(&m))
}

pub(crate) fn big(words: &[u64]) -> BigUint {
    let halves = words.iter().flat_map(|&w| [w as u32, (w >> 32) as u32]);
    BigUint::new(halves.collect())
}
