//! Ring elements modulo the chain: what differs between the variants.

use crate::error::{ParamsError, Result};
use crate::sets::ParamSet;
use homaes_math::{Modulus, Ring};
use homaes_rns::secret::{self, lots, lots_mut};
use homaes_rns::{Meter, Poly, SecretPoly};
use homaes_scheme::Cancel;
use homaes_wire::{Decoder, Encoder};
use rayon::prelude::*;
use zeroize::Zeroizing;

/// f and h modulo all primes of the arithmetic, stored and canonical; f is zeroized on drop.
pub struct Secret {
    /// f.
    pub f: SecretPoly,
    /// h.
    pub h: Poly,
}

/// Adds x·y to `out`, canonical.
pub(crate) fn add_product(m: &Modulus, [x, y]: [&[u64]; 2], out: &mut [u64]) {
    let factors = lots(x).iter().zip(lots(y));
    for (out, (x, y)) in lots_mut(out).iter_mut().zip(factors) {
        secret::add_product(m, [x, y], out);
    }
}

/// Products relinearised together, so that they share each load of the key.
const LOT: usize = 4;

/// Applies `task` to all items in order, [`LOT`] at a time.
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

/// Arithmetic in Z_q\[X\]/Φ_m for the moduli q_ℓ of the levels ℓ of a chain.
///
/// Small polynomials are given by coefficients in the normal basis, of the same size as in the powerful basis: the two
/// differ by the factor ζ.
pub trait Arithmetic: Sized + Send + Sync + 'static {
    /// An element modulo q_ℓ.
    type Element: Clone + Send + Sync;
    /// A sum of products of two elements modulo q_ℓ.
    type Product: Clone + Send + Sync;
    /// A polynomial ζ_j of the evaluation key.
    type KeyPart: Send + Sync;

    /// The arithmetic of a set.
    ///
    /// # Errors
    /// Names the first number that is out of range.
    fn new(set: &ParamSet, ring: Ring) -> Result<Self, ParamsError>;

    /// The ring.
    fn ring(&self) -> &Ring;
    /// The numbers that define the chain, for the set's digest.
    fn numbers(&self) -> Vec<u64>;
    /// log2 q_ℓ.
    fn log2_modulus(&self, level: usize) -> f64;
    /// log2 of the modulus of the evaluation key.
    fn log2_key(&self) -> f64;
    /// Bits by which relinearisation at `level` lowers the modulus.
    fn log2_drop(&self, level: usize) -> f64;
    /// Σ (D/P)² over the digits of a product at `level`. A digit has uniform coefficients in an interval of length D; P
    /// is the special modulus, or 1.
    fn digit_power(&self, level: usize) -> f64;

    /// A small polynomial.
    fn small(&self, level: usize, coefficients: &[i64]) -> Self::Element;
    /// a + b modulo q_ℓ.
    fn sum(&self, level: usize, a: &Self::Element, b: &Self::Element) -> Self::Element;
    /// The same value at a lower level.
    fn lower(&self, meter: &Meter, from: usize, to: usize, a: &Self::Element) -> Self::Element;
    /// Bits by which [`lower`](Self::lower) divides; `None` if q_to divides q_from, so that it reduces and keeps the
    /// noise.
    fn lowering_log2(&self, from: usize, to: usize) -> Option<f64>;
    /// a·b modulo q_ℓ, not relinearised.
    fn multiply(
        &self,
        meter: &Meter,
        level: usize,
        a: &Self::Element,
        b: &Self::Element,
    ) -> Self::Product;
    /// a + b modulo q_ℓ.
    fn sum_of_products(&self, level: usize, a: &Self::Product, b: &Self::Product) -> Self::Product;
    /// Sum k adds `products[i]` for i in `rows[k]`.
    fn sums(
        &self,
        meter: &Meter,
        level: usize,
        products: &[&Self::Product],
        rows: &[Vec<u16>],
    ) -> Vec<Self::Product>;
    /// Multiplies products at `level` by f under encryption, and switches them one level down; parities are kept.
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

    /// f = 2f' + 1 and h = 2g/f; `None` if f is not invertible.
    fn secret(&self, f_prime: &[i64], g: &[i64]) -> Option<Secret>;
    /// `h s + noise` modulo q_ℓ, or modulo a multiple that is then divided away; parities are kept.
    fn encrypt(&self, h: &Poly, level: usize, s: &[i64], noise: &[i64]) -> Self::Element;
    /// Bits that [`encrypt`](Self::encrypt) divides away.
    fn encryption_drop(&self) -> f64;
    /// Parities of the centred coefficients of f·c, or of f²·c for `power` 2, and the largest coefficient over q_ℓ, in
    /// units of 2^-63.
    fn parities(
        &self,
        secret: &Secret,
        level: usize,
        power: usize,
        c: &Self::Element,
    ) -> (Zeroizing<Vec<u64>>, u64);
    /// The centred coefficients of f·c, as far as they are below 2^125.
    fn noise(&self, secret: &Secret, level: usize, c: &Self::Element) -> Zeroizing<Vec<f64>>;
    /// A product as an element, for decryption.
    fn of_product(&self, level: usize, product: &Self::Product) -> Self::Element;

    /// Polynomials of the evaluation key.
    fn key_parts(&self) -> usize;
    /// Polynomial `number` as in the file: `h s + noise + P G f` for element `number`, G, of the gadget.
    fn key_part(&self, secret: &Secret, number: usize, s: &[i64], noise: &[i64]) -> Vec<u8>;
    /// Bytes of a polynomial of the evaluation key.
    fn key_part_bytes(&self) -> u64;
    /// Reads polynomial `number` from the file.
    ///
    /// # Errors
    /// Names what is wrong with the record.
    fn take_key_part(&self, number: usize, input: &mut Decoder<'_>) -> Result<Self::KeyPart>;

    /// Bytes of an element.
    fn element_bytes(&self, level: usize) -> u64;
    /// Appends an element.
    fn put(&self, level: usize, a: &Self::Element, out: Encoder) -> Encoder;
    /// Reads an element written by [`put`](Self::put).
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
