//! Ciphertexts and products, and what needs the secret key: encryption and decryption.

use crate::arithmetic::{Arithmetic, KeyPower};
use crate::error::{Error, Result};
use crate::keys::{PublicKey, SecretKey, masked};
use crate::noise::Noise;
use crate::params::Params;
use homaes_math::torus;
use homaes_scheme::bits::{BitScheme, BitSecret};
use homaes_scheme::{Owner, mismatch, signs};
use homaes_wire::{Decoder, KeyId};
use rand_core::CryptoRng;
use zeroize::Zeroizing;

/// One bit in every slot, encrypted under f.
pub struct Ciphertext<A: Arithmetic> {
    pub(crate) owner: Owner,
    pub(crate) level: usize,
    pub(crate) element: A::Element,
    pub(crate) noise: Noise,
}

/// A sum of products of ciphertexts, which decrypts under f². It is no ciphertext until it is relinearised.
pub struct Product<A: Arithmetic> {
    pub(crate) owner: Owner,
    pub(crate) level: usize,
    pub(crate) product: A::Product,
    pub(crate) noise: Noise,
}

// derived, it would ask for `A: Clone`
impl<A: Arithmetic> Clone for Ciphertext<A> {
    fn clone(&self) -> Self {
        Self {
            element: self.element.clone(),
            ..*self
        }
    }
}

impl<A: Arithmetic> Clone for Product<A> {
    fn clone(&self) -> Self {
        Self {
            product: self.product.clone(),
            ..*self
        }
    }
}

impl<A: Arithmetic> Ciphertext<A> {
    /// Its level: one more than the multiplications left.
    pub fn level(&self) -> usize {
        self.level
    }

    /// The sum of two of one level.
    pub(crate) fn plus(&self, params: &Params<A>, other: &Self) -> Self {
        Self {
            owner: self.owner.with(other.owner),
            level: self.level,
            element: params
                .arithmetic()
                .sum(self.level, &self.element, &other.element),
            noise: self.noise.plus(other.noise),
        }
    }

    /// Its noise by the model.
    pub fn noise(&self) -> Noise {
        self.noise
    }

    /// Bits between the standard deviation of a coefficient of the noise and half the modulus.
    pub fn capacity_bits(&self, params: &Params<A>) -> f64 {
        let modulus = params.log2_modulus(self.level);
        params.noise().capacity_bits(self.noise, modulus)
    }
}

impl<A: Arithmetic> core::fmt::Debug for Ciphertext<A> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Ciphertext")
            .field("level", &self.level)
            .field("noise", &self.noise)
            .finish_non_exhaustive()
    }
}

/// The coefficients 0 and 1 of the plaintext of `bits`, one per slot; `false` in the slots beyond.
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

/// Public bits at a level, one per slot: their plaintext with signs ([`signs`]), without key and error. The noise is f times the plaintext.
pub(crate) fn public<A: Arithmetic>(
    params: &Params<A>,
    level: usize,
    bits: &[bool],
) -> Result<Ciphertext<A>> {
    let mut coefficients = plaintext(params, bits)?;
    let bytes: Vec<u8> = bits.iter().map(|&bit| u8::from(bit)).collect();
    signs::randomize_signs(&bytes, &mut coefficients);
    Ok(Ciphertext {
        owner: Owner::new(params.id(), None),
        level,
        element: params.arithmetic().small(level, &coefficients),
        noise: params.noise().public(),
    })
}

/// An element that is all there is in `body`.
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
    /// Encrypts one bit per slot at the top level (DHS14 §2, Encrypt); `false` in the slots beyond `bits`.
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
    h: &A::Public,
    bits: &[bool],
    rng: &mut impl CryptoRng,
) -> Result<Ciphertext<A>> {
    let (arithmetic, level) = (params.arithmetic(), params.top_level());
    let message = plaintext(params, bits)?;
    let element = masked(params.ring(), &message, rng, |s, noise| {
        arithmetic.encrypt(h, level, s, noise)
    });
    Ok(Ciphertext {
        owner: Owner::new(params.id(), Some(id)),
        level,
        element,
        noise: params.fresh(),
    })
}

impl<A: Arithmetic> SecretKey<A> {
    /// Encrypts coefficients 0 and 1 at `level`.
    pub(crate) fn encrypt_at(
        &self,
        level: usize,
        message: &[i64],
        rng: &mut impl CryptoRng,
    ) -> A::Element {
        let (arithmetic, h) = (self.params().arithmetic(), A::public(self.secret()));
        masked(arithmetic.ring(), message, rng, |s, noise| {
            arithmetic.encrypt(h, level, s, noise)
        })
    }

    /// As [`PublicKey::encrypt`].
    ///
    /// # Errors
    /// As there.
    pub fn encrypt(&self, bits: &[bool], rng: &mut impl CryptoRng) -> Result<Ciphertext<A>> {
        encrypt(
            self.params(),
            self.id(),
            A::public(self.secret()),
            bits,
            rng,
        )
    }

    /// The bit of every slot as a byte 0 or 1, and log2 of half the modulus over the largest coefficient of the noise.
    ///
    /// # Errors
    /// [`Error::NotBits`] if the result is no vector of bits: another key, or noise beyond the modulus. [`Error::Mismatch`] if the ciphertext is known to belong
    /// to another set or key.
    pub fn decrypt(&self, c: &Ciphertext<A>) -> Result<(Zeroizing<Vec<u8>>, f64)> {
        self.check(c.owner)?;
        self.bits_and_margin(c.level, KeyPower::One, &c.element)
    }

    /// [`SecretKey::decrypt`] of a product, under f².
    ///
    /// # Errors
    /// As there.
    pub fn decrypt_product(&self, p: &Product<A>) -> Result<(Zeroizing<Vec<u8>>, f64)> {
        self.check(p.owner)?;
        let element = self.params().arithmetic().of_product(p.level, &p.product);
        self.bits_and_margin(p.level, KeyPower::Two, &element)
    }

    fn check(&self, owner: Owner) -> Result<()> {
        owner.check_set("ciphertext", self.params().id())?;
        Ok(owner.check_key("ciphertext", self.id())?)
    }

    #[inline(never)]
    fn bits_and_margin(
        &self,
        level: usize,
        power: KeyPower,
        c: &A::Element,
    ) -> Result<(Zeroizing<Vec<u8>>, f64)> {
        let params = self.params();
        let (parities, largest) = params.arithmetic().parities(self.secret(), level, power, c);
        let bytes = params.slots().decode(&parities);
        let bytes = Zeroizing::new(bytes.map_err(|_| Error::NotBits)?);
        // all slots, so that nothing shows where one is wrong
        if bytes.iter().fold(0, |all, &byte| all | byte) > 1 {
            return Err(Error::NotBits);
        }
        // of 1/2 over `largest` 2^-63; a noise of nothing counts as one unit
        Ok((bytes, -2.0 - torus::log2_fraction(largest | 1)))
    }

    /// The measured noise of a ciphertext: log2 of the root mean square over the embeddings.
    pub fn measure_noise(&self, c: &Ciphertext<A>) -> f64 {
        let params = self.params();
        let noise = params
            .arithmetic()
            .noise(self.secret(), c.level, KeyPower::One, &c.element);
        let squares = homaes_math::embed::squared_magnitudes(params.ring(), &noise);
        0.5 * (squares.iter().sum::<f64>() / squares.len() as f64).log2()
    }
}
