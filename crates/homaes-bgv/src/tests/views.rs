//! BGV as the byte view of `homaes-aes`: each operation key-switches on its own.

use super::*;
use homaes_aes::ByteEval;

/// One ciphertext as `slots` elements of GF(2^8).
pub(super) struct BgvBytes<'k>(pub(super) Evaluator<'k>);

impl ByteEval for BgvBytes<'_> {
    type Error = Error;
    type Byte = Ciphertext;
    type Product = Product;

    fn slots(&self) -> usize {
        self.0.params().slots().count()
    }

    fn public(&self, v: &[u8]) -> Ciphertext {
        self.0.public(v).unwrap()
    }

    fn add(&self, a: &Ciphertext, b: &Ciphertext) -> Ciphertext {
        self.0.add(a, b).unwrap()
    }

    fn scale(&self, a: &Ciphertext, c: u8) -> Ciphertext {
        self.0.multiply_byte(a, c).unwrap()
    }

    fn frobenius(&self, a: &Ciphertext, k: u32) -> Result<Ciphertext> {
        self.0.frobenius(a, k as usize)
    }

    fn mul(&self, a: &Ciphertext, b: &Ciphertext) -> Result<Product> {
        self.0.mul(a, b)
    }

    fn add_product(&self, a: Product, b: &Product) -> Product {
        self.0.add_product(a, b).unwrap()
    }

    fn relinearize(&self, p: Product) -> Result<Ciphertext> {
        self.0.relinearize(&p)
    }
}
