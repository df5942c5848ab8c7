//! BGV as the byte view of `homaes-aes`.

use crate::ciphertext::{Ciphertext, History, Product};
use crate::circuit::evaluate::Evaluator;
use crate::error::{Error, Result};
use crate::noise::bound::Bound;
use homaes_aes::ByteEval;

/// One ciphertext as `slots` elements of GF(2^8), for circuits written against [`ByteEval`].
///
/// The unfused route: each operation key-switches on its own, for as long as the noise allows. A
/// Frobenius map at a level 3r with r > 3 adds about 2^22 of noise at n = 32768 and is best followed by a
/// switch; the full ring's chain does not carry ten rounds of AES written against this view. Those, at
/// speed, are [`crate::Aes`].
///
/// Sums and products with a byte cannot fail here, so their result may be too noisy; products and Frobenius maps of it are
/// refused, and so is its decryption ([`Ciphertext::failure_log2`] tells).
pub struct BgvBytes<'k>(pub Evaluator<'k>);

/// `c` in memory, where sums and multiples of it cannot fail.
fn fetched(c: Ciphertext) -> Result<Ciphertext> {
    c.fetch()?;
    Ok(c)
}

/// A sum or multiple that cannot be had: the operand belongs to another key, or its device does not give it, or nothing is known of its
/// noise. Every use and every decryption of it is refused.
fn nowhere(a: &Ciphertext) -> Ciphertext {
    let owner = a.owner.nowhere();
    Ciphertext { owner, ..a.clone() }
}

impl ByteEval for BgvBytes<'_> {
    type Error = Error;
    type Byte = Ciphertext;
    type Product = Product;

    fn slots(&self) -> usize {
        self.0.params().slots().count()
    }

    fn public(&self, v: &[u8]) -> Ciphertext {
        self.0
            .public(v)
            .expect("at most one byte per slot, as the trait asks")
    }

    fn add(&self, a: &Ciphertext, b: &Ciphertext) -> Ciphertext {
        match (self.0.with_bound(a), self.0.with_bound(b)) {
            (Ok(a), Ok(b)) => {
                let sum = self.0.sum(&a, &b).and_then(fetched);
                // operands are in memory by now: without its device, the processor adds them
                let sum = sum.or_else(|_| self.0.on_cpu().sum(&a, &b));
                sum.unwrap_or_else(|_| nowhere(&a))
            }
            _ => nowhere(a),
        }
    }

    fn scale(&self, a: &Ciphertext, c: u8) -> Ciphertext {
        match self.0.with_bound(a) {
            Ok(a) => self.0.scaled_by(&a, c),
            Err(_) => nowhere(a),
        }
    }

    fn frobenius(&self, a: &Ciphertext, k: u32) -> Result<Ciphertext> {
        self.0.frobenius(a, k as usize).and_then(fetched)
    }

    fn mul(&self, a: &Ciphertext, b: &Ciphertext) -> Result<Product> {
        self.0.mul(a, b)
    }

    fn add_product(&self, a: Product, b: &Product) -> Product {
        let nothing = Product {
            history: History::known(Bound::public(f64::INFINITY)),
            ..a.clone()
        };
        // which cannot be relinearised
        self.0.add_product(a, b).unwrap_or(nothing)
    }

    fn relinearize(&self, p: Product) -> Result<Ciphertext> {
        self.0.relinearize(&p).and_then(fetched)
    }
}
