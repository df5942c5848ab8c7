//! The view of a scheme on bits: what AES asks of it. An item holds `slots` encrypted bits; an XOR is cheap and an AND
//! expensive.
//!
//! **Lazy products.** `and` returns a `Product`. Products add; `relinearize` turns a sum of products into an
//! item that can be multiplied again. A product is a three-part ciphertext in BGV, a ciphertext under f² in NTRU, a
//! type II ciphertext in DGHV, and the item itself where nothing is deferred. A product does not add to an item: in
//! some schemes the two are under different keys.
//!
//! **Noise.** The circuits call `refresh` before each non-linear layer, with the depth that the layer uses. A backend
//! may also switch the modulus or bootstrap inside its products.
//!
//! **Laws.** `D` is decryption, slot by slot. Every law holds unless an error is returned. Items of one evaluator may
//! be combined at any levels. Combining items of different evaluators is a bug and may panic.
//!
//! **Errors.** An operation fails if a level or the key that it needs is missing, `refresh` if it cannot make room,
//! and `each` with the error of one of the failed tasks.

use crate::error::{Depth, EvalError};

/// An item is `slots()` bits.
///
/// Laws:
/// - `D(public(v)) = v`, padded with `false`
/// - `D(xor(a, b)) = D(a) ⊕ D(b)`, and `xor_assign(a, b)` makes `a` hold the same
/// - `D(not(a)) = ¬D(a)`
/// - `D(relinearize(and(a, b))) = D(a) ∧ D(b)`
/// - `D(relinearize(xor_product(p, q))) = D(relinearize(p)) ⊕ D(relinearize(q))`
/// - `relinearize_all(ps)`, `sums(ps, rows)` and `each(items, f)` give what their default bodies give
/// - `refresh` changes no value
///
/// The view is shared between threads.
pub trait BitEval: Sync {
    /// Why an evaluation stopped.
    type Error: From<EvalError> + Send;
    /// Encrypted bits, one per slot.
    type Bit: Clone + Send + Sync;
    /// A sum of ANDs of two `Bit`s before relinearisation.
    type Product: Clone + Send + Sync;

    /// Number of independent slots, at least 1.
    fn slots(&self) -> usize;

    /// Public bits as an item, one per slot; slots beyond `v` hold `false`. Needs no secret key. Cost and noise
    /// depend on the scheme: in DGHV, a public item is a sum of elements of the public key.
    ///
    /// # Panics
    /// If `v` is longer than `slots()`.
    fn public(&self, v: &[bool]) -> Self::Bit;

    /// Slot-wise XOR.
    fn xor(&self, a: &Self::Bit, b: &Self::Bit) -> Self::Bit;

    /// Adds `b` to `a` in place. Default: replaces `a` by [`xor`](Self::xor).
    fn xor_assign(&self, a: &mut Self::Bit, b: &Self::Bit) {
        *a = self.xor(a, b);
    }

    /// Slot-wise complement. Default: adds a public item of ones.
    fn not(&self, mut a: Self::Bit) -> Self::Bit {
        self.xor_assign(&mut a, &self.public(&vec![true; self.slots()]));
        a
    }

    /// Slot-wise AND, not relinearised. Uses depth 1.
    fn and(&self, a: &Self::Bit, b: &Self::Bit) -> Result<Self::Product, Self::Error>;

    /// Slot-wise sum of two products.
    fn xor_product(&self, a: Self::Product, b: &Self::Product) -> Self::Product;

    /// Sums of products: sum k adds `products[i]` for i in `rows[k]`. Default: two at a time.
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

    /// Turns a product into an item that can be multiplied again.
    fn relinearize(&self, p: Self::Product) -> Result<Self::Bit, Self::Error>;

    /// [`relinearize`](Self::relinearize) of independent products, in one pass over the relinearisation key where
    /// reading the key is most of the work. Default: one after another.
    fn relinearize_all(&self, products: Vec<Self::Product>) -> Result<Vec<Self::Bit>, Self::Error> {
        products.into_iter().map(|p| self.relinearize(p)).collect()
    }

    /// The results of independent tasks, such as one per S-box of a round. Default: in sequence; a backend may use
    /// threads.
    fn each<S: Send, T: Send>(
        &self,
        items: Vec<S>,
        task: impl Fn(S) -> Result<T, Self::Error> + Sync,
    ) -> Result<Vec<T>, Self::Error> {
        items.into_iter().map(task).collect()
    }

    /// Makes room for a layer of depth `depth` on all `items`. Default: does nothing.
    fn refresh(&self, _items: &mut [Self::Bit], _depth: Depth) -> Result<(), Self::Error> {
        Ok(())
    }
}
