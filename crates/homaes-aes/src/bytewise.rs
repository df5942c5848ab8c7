//! The S-box on encrypted bytes: inversion by four products at depth 3, then the affine map by Frobenius sums.
//!
//! With σ(x) = x², the inverse x^254 is σ(x^127). Names give the exponents:
//!
//! ```text
//!   c3   = c  · σ(c)          c15  = c3 · σ²(c3)
//!   c7   = c  · σ(c3)         c127 = c7 · σ³(c15)
//! ```
//!
//! Every product has the form x·σ^a(y), and nothing else uses σ^a(y), so a backend can multiply a Frobenius image
//! before its key switch. The final σ is free: it joins the linearised polynomial Σ_k γ_k·σ^k of the affine map,
//! which follows the inversion when encrypting and precedes it when decrypting. σ^8 is the identity, so that
//! polynomial takes seven Frobenius maps.
//!
//! Reference: GHS12 section 4.1. Their chain has the same products and depth, and three Frobenius maps, two of them
//! used twice; with the affine map it needs 10, this one 11.
//!
//! Cost of an S-box, both directions: 4 products, 4 relinearisations, 11 Frobenius maps, depth 3.

use crate::error::Depth;
use crate::gf256;
use crate::sliced::AesByte;
use crate::state::{Direction, try_array};
use crate::view::ByteEval;

/// AES bytes over a [`ByteEval`].
pub struct Bytewise<'e, E: ByteEval> {
    eval: &'e E,
    /// Coefficients of σ∘A, for the linear part A of the affine map.
    encrypt: [u8; 8],
    /// Coefficients of σ∘A^{-1}.
    decrypt: [u8; 8],
    /// The affine constant in every slot.
    constant: E::Byte,
}

impl<'e, E: ByteEval> Bytewise<'e, E> {
    /// Depth of one S-box.
    pub const SBOX_DEPTH: Depth = 3;

    /// The adapter of a backend.
    pub fn new(eval: &'e E) -> Self {
        Self {
            eval,
            encrypt: gf256::linearised(|x| gf256::affine_linear(gf256::frobenius(x, 1))),
            decrypt: gf256::linearised(|x| gf256::frobenius(gf256::affine_linear_inv(x), 1)),
            constant: eval.public(&vec![gf256::AFFINE_CONSTANT; eval.slots()]),
        }
    }

    /// The backend.
    pub fn eval(&self) -> &'e E {
        self.eval
    }

    /// Σ_k c_k·σ^k(a).
    fn linear(&self, a: &E::Byte, c: &[u8; 8]) -> Result<E::Byte, E::Error> {
        let mut sum = self.eval.scale(a, c[0]);
        for (k, &c) in (0..).zip(c).skip(1) {
            let term = self.eval.scale(&self.eval.frobenius(a, k)?, c);
            sum = self.eval.add(&sum, &term);
        }
        Ok(sum)
    }

    /// x·σ^k(y).
    fn times(&self, x: &E::Byte, y: &E::Byte, k: u32) -> Result<E::Byte, E::Error> {
        let product = self.eval.mul(x, &self.eval.frobenius(y, k)?)?;
        self.eval.relinearize(product)
    }

    /// c^127, the square root of the inverse.
    fn inverse_sqrt(&self, c: &E::Byte) -> Result<E::Byte, E::Error> {
        let c3 = self.times(c, c, 1)?;
        let c7 = self.times(c, &c3, 1)?;
        let c15 = self.times(&c3, &c3, 2)?;
        self.times(&c7, &c15, 3)
    }
}

impl<E: ByteEval> AesByte for Bytewise<'_, E> {
    type Error = E::Error;
    type Byte = E::Byte;

    fn slots(&self) -> usize {
        self.eval.slots()
    }

    fn public(&self, v: &[u8]) -> E::Byte {
        self.eval.public(v)
    }

    fn xor(&self, a: &E::Byte, b: &E::Byte) -> Result<E::Byte, E::Error> {
        Ok(self.eval.add(a, b))
    }

    fn sbox_times<const K: usize>(
        &self,
        dir: Direction,
        a: &E::Byte,
        c: [u8; K],
    ) -> Result<[E::Byte; K], E::Error> {
        let y = match dir {
            Direction::Encrypt => {
                let root = self.inverse_sqrt(a)?;
                self.eval
                    .add(&self.linear(&root, &self.encrypt)?, &self.constant)
            }
            Direction::Decrypt => {
                let shifted = self.eval.add(a, &self.constant);
                self.inverse_sqrt(&self.linear(&shifted, &self.decrypt)?)?
            }
        };
        try_array(|k| {
            Ok(match c[k] {
                1 => y.clone(),
                c => self.eval.scale(&y, c),
            })
        })
    }

    fn refresh(&self, state: &mut [E::Byte; 16]) -> Result<(), E::Error> {
        self.eval.refresh(state, Self::SBOX_DEPTH)
    }
}
