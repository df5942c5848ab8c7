//! Ciphertexts and products; encryption and decryption.

use crate::arithmetic::Arithmetic;
use crate::error::{Error, Result};
use crate::keys::{PublicKey, SecretKey, masked};
use crate::noise::Noise;
use crate::params::Params;
use homaes_math::torus;
use homaes_rns::Poly;
use homaes_scheme::bits::{BitScheme, BitSecret};
use homaes_scheme::{Owner, mismatch, signs};
use homaes_wire::{Decoder, KeyId};
use rand_core::CryptoRng;
use zeroize::Zeroizing;

/// An element with the bit of every slot, and its noise by the model.
#[derive(Clone)]
pub struct Encrypted<E> {
    pub(crate) owner: Owner,
    pub(crate) level: usize,
    pub(crate) element: E,
    pub(crate) noise: Noise,
}

/// One bit per slot, encrypted under f.
pub type Ciphertext<A> = Encrypted<<A as Arithmetic>::Element>;

/// A sum of products of ciphertexts, encrypted under f². Relinearisation turns it into a [`Ciphertext`].
pub type Product<A> = Encrypted<<A as Arithmetic>::Product>;

impl<E> Encrypted<E> {
    /// One more than the multiplications left.
    pub fn level(&self) -> usize {
        self.level
    }

    /// Noise by the model.
    pub fn noise(&self) -> Noise {
        self.noise
    }

    /// Bits between the standard deviation of a coefficient of the noise and half the modulus.
    pub fn capacity_bits<A: Arithmetic>(&self, params: &Params<A>) -> f64 {
        let modulus = params.log2_modulus(self.level);
        params.noise().capacity_bits(self.noise, modulus)
    }
}

homaes_wire::debug_fields!(Encrypted<E> where E: Sized, level, noise);

/// The sum of two ciphertexts of one level.
pub(crate) fn sum<A: Arithmetic>(
    params: &Params<A>,
    a: &Ciphertext<A>,
    b: &Ciphertext<A>,
) -> Ciphertext<A> {
    Encrypted {
        owner: a.owner.with(b.owner),
        level: a.level,
        element: params.arithmetic().sum(a.level, &a.element, &b.element),
        noise: a.noise.plus(b.noise),
    }
}

/// The coefficients, 0 and 1, of the plaintext of `bits`, one per slot; missing bits are `false`.
#[inline(never)]
pub(crate) fn plaintext<A: Arithmetic>(
    params: &Params<A>,
    bits: &[bool],
) -> Result<Zeroizing<Vec<i64>>> {
    let slots = params.slots().count();
    mismatch::check_count("bits", bits.len(), slots)?;
    let mut bytes = Zeroizing::new(vec![0; slots]);
    for (byte, &bit) in bytes.iter_mut().zip(bits) {
        *byte = u8::from(bit);
    }
    let mut coefficients = Zeroizing::new(vec![0u64; params.ring().n()]);
    params.slots().encode(&bytes, &mut coefficients);
    let signed = coefficients.iter().map(|&c| c as i64);
    Ok(Zeroizing::new(signed.collect()))
}

/// Public bits at a level: their plaintext with pseudorandom signs ([`signs`]), without key and error. The noise is f
/// times the plaintext.
pub(crate) fn public<A: Arithmetic>(
    params: &Params<A>,
    level: usize,
    bits: &[bool],
) -> Result<Ciphertext<A>> {
    let mut coefficients = plaintext(params, bits)?;
    let bytes: Vec<u8> = bits.iter().map(|&bit| u8::from(bit)).collect();
    signs::randomize_signs(&bytes, &mut coefficients);
    Ok(Encrypted {
        owner: Owner::new(params.id(), None),
        level,
        element: params.arithmetic().small(level, &coefficients),
        noise: params.noise().public(),
    })
}

/// Reads the element that fills `body`.
pub(crate) fn take_element<A: Arithmetic>(
    params: &Params<A>,
    level: usize,
    what: &'static str,
    body: &[u8],
) -> Result<A::Element> {
    let mut input = Decoder::new(body);
    let element = params.arithmetic().take(level, what, &mut input)?;
    input.finish(what)?;
    Ok(element)
}

impl<A: Arithmetic> PublicKey<A> {
    /// Encrypts one bit per slot at the top level (DHS14 §2, Encrypt); missing bits are `false`.
    ///
    /// # Errors
    /// If there are more bits than slots.
    pub fn encrypt(&self, bits: &[bool], rng: &mut impl CryptoRng) -> Result<Ciphertext<A>> {
        encrypt(&self.params, self.id, &self.h, bits, rng)
    }
}

fn encrypt<A: Arithmetic>(
    params: &Params<A>,
    id: KeyId,
    h: &Poly,
    bits: &[bool],
    rng: &mut impl CryptoRng,
) -> Result<Ciphertext<A>> {
    let (arithmetic, level) = (params.arithmetic(), params.top_level());
    let message = plaintext(params, bits)?;
    let element = masked(params.ring(), &message, rng, |s, noise| {
        arithmetic.encrypt(h, level, s, noise)
    });
    Ok(Encrypted {
        owner: Owner::new(params.id(), Some(id)),
        level,
        element,
        noise: params.fresh(),
    })
}

impl<A: Arithmetic> SecretKey<A> {
    pub(crate) fn encrypt_at(
        &self,
        level: usize,
        message: &[i64],
        rng: &mut impl CryptoRng,
    ) -> A::Element {
        let (arithmetic, h) = (self.params().arithmetic(), &self.secret.h);
        masked(arithmetic.ring(), message, rng, |s, noise| {
            arithmetic.encrypt(h, level, s, noise)
        })
    }

    /// [`PublicKey::encrypt`] with the public key of this secret.
    ///
    /// # Errors
    /// If there are more bits than slots.
    pub fn encrypt(&self, bits: &[bool], rng: &mut impl CryptoRng) -> Result<Ciphertext<A>> {
        encrypt(&self.params, self.id, &self.secret.h, bits, rng)
    }

    /// The bit of every slot as a byte 0 or 1, and log2 of (half the modulus) / (largest coefficient of the noise).
    ///
    /// # Errors
    /// [`Error::NotBits`] if a slot is not a bit: another key, or too much noise. [`Error::Mismatch`] if the ciphertext
    /// is known to be of another set or key.
    pub fn decrypt(&self, c: &Ciphertext<A>) -> Result<(Zeroizing<Vec<u8>>, f64)> {
        c.owner.check("ciphertext", self.params.id(), self.id)?;
        self.bits_and_margin(c.level, 1, &c.element)
    }

    /// [`SecretKey::decrypt`] of a product, under f².
    ///
    /// # Errors
    /// As [`decrypt`](Self::decrypt).
    pub fn decrypt_product(&self, p: &Product<A>) -> Result<(Zeroizing<Vec<u8>>, f64)> {
        p.owner.check("ciphertext", self.params.id(), self.id)?;
        let element = self.params.arithmetic().of_product(p.level, &p.element);
        self.bits_and_margin(p.level, 2, &element)
    }

    #[inline(never)]
    fn bits_and_margin(
        &self,
        level: usize,
        power: usize,
        c: &A::Element,
    ) -> Result<(Zeroizing<Vec<u8>>, f64)> {
        let params = self.params();
        let (parities, largest) = params.arithmetic().parities(&self.secret, level, power, c);
        let bytes = params.slots().decode(&parities);
        let bytes = Zeroizing::new(bytes.map_err(|_| Error::NotBits)?);
        // over all slots, so that a wrong one is not revealed
        if bytes.iter().fold(0, |all, &byte| all | byte) > 1 {
            return Err(Error::NotBits);
        }
        // 1/2 over `largest` · 2^-63; no noise counts as one unit
        Ok((bytes, -2.0 - torus::log2_fraction(largest | 1)))
    }

    /// Measures the noise: log2 of its root mean square over the embeddings.
    pub fn measure_noise(&self, c: &Ciphertext<A>) -> f64 {
        let params = self.params();
        let noise = params.arithmetic().noise(&self.secret, c.level, &c.element);
        let squares = homaes_math::embed::squared_magnitudes(params.ring(), &noise);
        0.5 * (squares.iter().sum::<f64>() / squares.len() as f64).log2()
    }
}
