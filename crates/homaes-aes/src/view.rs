//! The three views of a backend: encrypted bytes, bytes that can move, and bits.
//!
//! A backend implements the views its scheme is good at and nothing else. The schemes do not offer
//! the same algebra, and pretending that they do would cost an order of magnitude:
//!
//! | view | an item holds | cheap | dear |
//! |---|---|---|---|
//! | [`ByteEval`] | `slots` elements of GF(2^8) | sum, public factor | product, then Frobenius |
//! | [`PackedEval`] | the same, and slots can move | | permutation |
//! | [`BitEval`] | `slots` bits | exclusive or | conjunction |
//!
//! **Lazy products.** `mul` and `and` return a `Product`; products add; `relinearize` turns a sum of
//! products into an item that can be multiplied again. Products are the three-part ciphertexts of
//! BGV, the ciphertexts under f² of NTRU, the type II ciphertexts of DGHV; where there is nothing to
//! delay, `Product` is the item itself. A product does not add to an item: under some schemes the two
//! live under different keys.
//!
//! **Noise.** `refresh` is the only hook: the circuits call it before each non-linear layer, with the
//! depth that the layer uses. A backend may also lower the modulus or bootstrap inside its products.
//!
//! **Laws.** Below, `D` is decryption, slot by slot. Every law holds as long as no error is returned.
//! Items of one evaluator may be combined at whatever levels they are. Combining items of different
//! evaluators is a programming error and may panic.

use crate::error::{Depth, EvalError};

/// View 1. An item is `slots()` slots, each an element of GF(2^8) as in [`gf256`](crate::gf256).
///
/// Laws:
/// - `D(public(v)) = v`, completed with zeros
/// - `D(add(a, b)) = D(a) + D(b)`
/// - `D(scale(a, c)) = c·D(a)`; `scale(a, 1)` is `a`
/// - `D(frobenius(a, k)) = D(a)^(2^k)`; in particular `D(frobenius(a, 8)) = D(a)`
/// - `D(relinearize(mul(a, b))) = D(a)·D(b)`
/// - `D(relinearize(add_product(p, q))) = D(relinearize(p)) + D(relinearize(q))`
/// - `refresh` changes no value
pub trait ByteEval {
    /// What can stop an evaluation.
    type Error: From<EvalError>;
    /// Encrypted bytes, one per slot.
    type Byte: Clone;
    /// A sum of products of two `Byte`s before relinearisation.
    type Product;

    /// Number of independent slots, at least 1.
    fn slots(&self) -> usize;

    /// Public bytes as an item, one per slot; zeros in the slots beyond `v`. Needs no secret key.
    ///
    /// # Panics
    /// If `v` is longer than `slots()`.
    fn public(&self, v: &[u8]) -> Self::Byte;

    /// Slot-wise sum (exclusive or).
    fn add(&self, a: &Self::Byte, b: &Self::Byte) -> Self::Byte;

    /// Slot-wise product by one public constant.
    fn scale(&self, a: &Self::Byte, c: u8) -> Self::Byte;

    /// Slot-wise x ↦ x^(2^k). Uses no depth.
    ///
    /// # Errors
    /// If the key for this power, or a level, is missing.
    fn frobenius(&self, a: &Self::Byte, k: u32) -> Result<Self::Byte, Self::Error>;

    /// Slot-wise product, not relinearised. Uses depth 1.
    ///
    /// # Errors
    /// If a level is missing.
    fn mul(&self, a: &Self::Byte, b: &Self::Byte) -> Result<Self::Product, Self::Error>;

    /// Slot-wise sum of two products.
    fn add_product(&self, a: Self::Product, b: &Self::Product) -> Self::Product;

    /// The item that holds the value of a product and can be multiplied again.
    ///
    /// # Errors
    /// If the relinearisation key, or a level, is missing.
    fn relinearize(&self, p: Self::Product) -> Result<Self::Byte, Self::Error>;

    /// Makes room for a layer of depth `depth` on all of `items`. By default does nothing.
    ///
    /// # Errors
    /// If room is lacking and the backend cannot make it.
    fn refresh(&self, _items: &mut [Self::Byte], _depth: Depth) -> Result<(), Self::Error> {
        Ok(())
    }
}

/// View 1 with data movement: the slots form `slots() / 16` blocks of 16 consecutive slots.
///
/// Laws, with (p∘q)\[i\] = p\[q\[i\]\]:
/// - `D(permute(a, p))[16b + i] = D(a)[16b + p[i]]` for every block b and every i < 16
/// - hence `permute(permute(a, p), q)` and `permute(a, p∘q)` hold the same values
/// - `slots()` is a multiple of 16
pub trait PackedEval: ByteEval {
    /// In each block, slot i of the result is slot `p[i]` of `a`. `p` need not be a permutation of
    /// any special form. Uses no depth.
    ///
    /// # Errors
    /// If a key for the movement, or a level, is missing.
    fn permute(&self, a: &Self::Byte, p: &[usize; 16]) -> Result<Self::Byte, Self::Error>;
}

/// View 2. An item is `slots()` slots, each one bit.
///
/// Laws:
/// - `D(public(v)) = v`, completed with `false`
/// - `D(xor(a, b)) = D(a) ⊕ D(b)`, and `xor_assign(a, b)` makes `a` hold the same
/// - `D(not(a)) = ¬D(a)`
/// - `D(relinearize(and(a, b))) = D(a) ∧ D(b)`
/// - `D(relinearize(xor_product(p, q))) = D(relinearize(p)) ⊕ D(relinearize(q))`
/// - `relinearize_all(ps)`, `sums(ps, rows)` and `each(items, f)` give what their default bodies give
/// - `refresh` changes no value
///
/// Bits are many where bytes are few, so this view is shared between threads.
pub trait BitEval: Sync {
    /// What can stop an evaluation.
    type Error: From<EvalError> + Send;
    /// Encrypted bits, one per slot.
    type Bit: Clone + Send + Sync;
    /// A sum of conjunctions of two `Bit`s before relinearisation.
    type Product: Clone + Send + Sync;

    /// Number of independent slots, at least 1.
    fn slots(&self) -> usize;

    /// Public bits as an item, one per slot; `false` in the slots beyond `v`. Needs no secret key. What it costs, and whether
    /// the item carries noise, is up to the scheme: a public batch of DGHV is a sum of elements of the public key.
    ///
    /// # Panics
    /// If `v` is longer than `slots()`.
    fn public(&self, v: &[bool]) -> Self::Bit;

    /// Slot-wise exclusive or.
    fn xor(&self, a: &Self::Bit, b: &Self::Bit) -> Self::Bit;

    /// Slot-wise exclusive or, in place of `a`. By default replaces `a` by [`xor`](Self::xor).
    fn xor_assign(&self, a: &mut Self::Bit, b: &Self::Bit) {
        *a = self.xor(a, b);
    }

    /// Slot-wise complement. By default adds a public item of ones.
    fn not(&self, mut a: Self::Bit) -> Self::Bit {
        self.xor_assign(&mut a, &self.public(&vec![true; self.slots()]));
        a
    }

    /// Slot-wise conjunction, not relinearised. Uses depth 1.
    ///
    /// # Errors
    /// If a level is missing.
    fn and(&self, a: &Self::Bit, b: &Self::Bit) -> Result<Self::Product, Self::Error>;

    /// Slot-wise sum of two products.
    fn xor_product(&self, a: Self::Product, b: &Self::Product) -> Self::Product;

    /// Sums of products: sum k is that of `products[i]` for i in `rows[k]`. By default adds two at a time.
    ///
    /// # Panics
    /// If a row is empty, or names a product that does not exist.
    fn sums(&self, products: &[&Self::Product], rows: &[Vec<u16>]) -> Vec<Self::Product> {
        let sum = |row: &Vec<u16>| {
            let (first, rest) = row.split_first().expect("a row names a product");
            let start = products[usize::from(*first)].clone();
            rest.iter().fold(start, |sum, &i| {
                self.xor_product(sum, products[usize::from(i)])
            })
        };
        rows.iter().map(sum).collect()
    }

    /// The item that holds the value of a product and can be multiplied again.
    ///
    /// # Errors
    /// If the relinearisation key, or a level, is missing.
    fn relinearize(&self, p: Self::Product) -> Result<Self::Bit, Self::Error>;

    /// [`relinearize`](Self::relinearize) of many products that do not depend on each other: one pass over the relinearisation
    /// key, for a backend whose key is the bulk of the work. By default one after another.
    ///
    /// # Errors
    /// As [`relinearize`](Self::relinearize).
    fn relinearize_all(&self, products: Vec<Self::Product>) -> Result<Vec<Self::Bit>, Self::Error> {
        products.into_iter().map(|p| self.relinearize(p)).collect()
    }

    /// The results of independent tasks: one for each S-box, or each output, of a round. By default runs them one after
    /// another; a backend may run them side by side.
    ///
    /// # Errors
    /// That of one of the tasks that failed.
    fn each<S: Send, T: Send>(
        &self,
        items: Vec<S>,
        task: impl Fn(S) -> Result<T, Self::Error> + Sync,
    ) -> Result<Vec<T>, Self::Error> {
        items.into_iter().map(task).collect()
    }

    /// Makes room for a layer of depth `depth` on all of `items`. By default does nothing.
    ///
    /// # Errors
    /// If room is lacking and the backend cannot make it.
    fn refresh(&self, _items: &mut [Self::Bit], _depth: Depth) -> Result<(), Self::Error> {
        Ok(())
    }
}
