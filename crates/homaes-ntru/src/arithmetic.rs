//! What the variants do differently: ring elements modulo the chain.

use crate::error::{ParamsError, Result};
use crate::sets::ParamSet;
use homaes_math::Ring;
use homaes_rns::Meter;
use homaes_scheme::Cancel;
use homaes_wire::{Decoder, Encoder};
use rayon::prelude::*;
use zeroize::Zeroizing;

/// Which power of the secret f an element decrypts under.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyPower {
    /// f: ciphertexts.
    One,
    /// f²: products.
    Two,
}

/// Products that are relinearised together where they share each load of the key.
const LOT: usize = 4;

/// `task` on all items, [`LOT`] of them at a time, in their order.
///
/// # Errors
/// One of the errors of `task`.
pub(crate) fn in_lots<T: Send, U: Send>(
    items: Vec<T>,
    task: impl Fn(Vec<T>) -> Result<Vec<U>> + Sync + Send,
) -> Result<Vec<U>> {
    let mut items = items.into_iter();
    let lots = core::iter::from_fn(|| {
        let lot: Vec<T> = items.by_ref().take(LOT).collect();
        (!lot.is_empty()).then_some(lot)
    });
    let lots: Vec<Vec<T>> = lots.collect();
    let done = lots.into_par_iter().with_max_len(1).map(task);
    let done = done.collect::<Result<Vec<_>>>()?;
    Ok(done.into_iter().flatten().collect())
}

/// Arithmetic in Z_q\[X\]/Φ_m for the moduli q_ℓ of all levels ℓ of a chain.
///
/// Small polynomials are given by their coefficients in the normal basis, whose size is that of the powerful basis: the two differ by the factor ζ.
pub trait Arithmetic: Sized + Send + Sync + 'static {
    /// An element modulo q_ℓ.
    type Element: Clone + Send + Sync;
    /// A sum of products of two elements modulo q_ℓ.
    type Product: Clone + Send + Sync;
    /// One polynomial ζ of the evaluation key.
    type KeyPart: Send + Sync;
    /// f and h. Overwritten when dropped.
    type Secret: Send + Sync;
    /// h.
    type Public: Clone + Send + Sync;

    /// The arithmetic of a set.
    ///
    /// # Errors
    /// Names the first number that does not fit.
    fn new(set: &ParamSet, ring: Ring) -> Result<Self, ParamsError>;

    /// The ring.
    fn ring(&self) -> &Ring;
    /// The numbers that define the chain, for the digest of the set.
    fn numbers(&self) -> Vec<u64>;
    /// log2 q_ℓ.
    fn log2_modulus(&self, level: usize) -> f64;
    /// log2 of the modulus that the evaluation key is made for.
    fn log2_key(&self) -> f64;
    /// Bits by which the relinearisation of products of `level` lowers the modulus.
    fn log2_drop(&self, level: usize) -> f64;
    /// Σ (D/P)² over the digits of a product of `level`, D being the size of a digit, whose coefficients are uniform in an interval of that length, and P the
    /// special modulus, 1 if there is none.
    fn digit_power(&self, level: usize) -> f64;

    /// A small polynomial.
    fn small(&self, level: usize, coefficients: &[i64]) -> Self::Element;
    /// a + b modulo q_ℓ.
    fn sum(&self, level: usize, a: &Self::Element, b: &Self::Element) -> Self::Element;
    /// The same value at a lower level.
    fn lower(&self, meter: &Meter, from: usize, to: usize, a: &Self::Element) -> Self::Element;
    /// Bits by which [`lower`](Self::lower) divides; nothing if it reduces modulo q_to, which q_from is a multiple of, and so keeps the noise.
    fn lowering_log2(&self, from: usize, to: usize) -> Option<f64>;
    /// a·b modulo q_ℓ, not relinearised.
    fn multiply(
        &self,
        meter: &Meter,
        level: usize,
        a: &Self::Element,
        b: &Self::Element,
    ) -> Self::Product;
    /// a + b modulo q_ℓ, of products.
    fn sum_of_products(&self, level: usize, a: &Self::Product, b: &Self::Product) -> Self::Product;
    /// Sum k is that of `products[i]` for i in `rows[k]`.
    fn sums(
        &self,
        meter: &Meter,
        level: usize,
        products: &[&Self::Product],
        rows: &[Vec<u16>],
    ) -> Vec<Self::Product>;
    /// Products of `level` multiplied by f under encryption, and switched to the level below, parities kept.
    ///
    /// # Errors
    /// [`Cancelled`](crate::Error::Cancelled).
    fn relinearize(
        &self,
        meter: &Meter,
        key: &[Self::KeyPart],
        level: usize,
        products: Vec<Self::Product>,
        cancel: &Cancel,
    ) -> Result<Vec<Self::Element>>;

    /// f = 2f' + 1 and h = 2g/f, or nothing if f is not invertible.
    fn secret(&self, f_prime: &[i64], g: &[i64]) -> Option<Self::Secret>;
    /// h.
    fn public(secret: &Self::Secret) -> &Self::Public;
    /// `h s + noise` modulo q_ℓ, or modulo a multiple of it, which is then divided away, parities kept.
    fn encrypt(&self, h: &Self::Public, level: usize, s: &[i64], noise: &[i64]) -> Self::Element;
    /// Bits that [`encrypt`](Self::encrypt) divides away.
    fn encryption_drop(&self) -> f64;
    /// Parities of the centred coefficients of f·c or f²·c, and the largest of them over q_ℓ, at most 1/2, in units of 2^-63.
    fn parities(
        &self,
        secret: &Self::Secret,
        level: usize,
        power: KeyPower,
        c: &Self::Element,
    ) -> (Zeroizing<Vec<u64>>, u64);
    /// The centred coefficients of f·c or f²·c, as far as they are below 2^125.
    fn noise(
        &self,
        secret: &Self::Secret,
        level: usize,
        power: KeyPower,
        c: &Self::Element,
    ) -> Zeroizing<Vec<f64>>;
    /// A product as an element, for decryption.
    fn of_product(&self, level: usize, product: &Self::Product) -> Self::Element;

    /// Polynomials of the evaluation key.
    fn key_parts(&self) -> usize;
    /// Polynomial `number`: `h s + noise + P G f`, G being element `number` of the gadget, as the file has it.
    fn key_part(&self, secret: &Self::Secret, number: usize, s: &[i64], noise: &[i64]) -> Vec<u8>;
    /// Bytes of a polynomial of the evaluation key.
    fn key_part_bytes(&self) -> u64;
    /// Polynomial `number` from the file.
    ///
    /// # Errors
    /// Names what is wrong with the record.
    fn take_key_part(&self, number: usize, input: &mut Decoder<'_>) -> Result<Self::KeyPart>;

    /// Bytes of an element.
    fn element_bytes(&self, level: usize) -> u64;
    /// Appends an element.
    fn put(&self, level: usize, a: &Self::Element, out: Encoder) -> Encoder;
    /// Reads what [`put`](Self::put) has appended.
    ///
    /// # Errors
    /// Names what is wrong with the record.
    fn take(
        &self,
        level: usize,
        what: &'static str,
        input: &mut Decoder<'_>,
    ) -> Result<Self::Element>;
}
