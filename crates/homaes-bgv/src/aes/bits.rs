//! Bit-sliced AES (GHS12 §4.2): 128 ciphertexts of one bit per slot, by [`homaes_aes::FoldedBits`].
//!
//! Bits are the bytes 0 and 1. An S-box is inversion in a tower of fields ([`tower::DEPTH_4`]): 36 conjunctions at
//! depth four. Each relinearisation is merged with the switch to the level below, so a round takes four levels and four
//! passes: 64, 32 and 64 products for the inversions of 16 bytes, then 128 sums, by the linear layer, of the last 288
//! conjunctions. A pass is one parallel loop over its products, so threads share key words in the cache.
//!
//! An operand several levels above the other comes down in one switch. The linear forms at the inputs of an inversion
//! are summed before they come down, so different conjunctions have independent rounding noise.
//!
//! [`tower::DEPTH_3`] would take 3520 relinearisations for AES-128 in place of 2880, and forty levels fit (`sets`).

use crate::ciphertext::{Ciphertext, History, Product};
use crate::circuit::evaluate::{Evaluator, out_of_depth};
use crate::error::{Error, Result};
use homaes_aes::slp::tower;
use homaes_aes::{BitEval, FoldedBits, Folding};
use homaes_math::kernel;
use homaes_rns::{Poly, Stage};
use homaes_scheme::Owner;
use rayon::prelude::*;

pub(crate) fn folding() -> Folding {
    Folding::new(&tower::DEPTH_4)
}

/// [`BitEval`] sums cannot fail, so their operands must be in memory.
const IN_MEMORY: &str = "the processor switches what is in memory";

/// Bits under one evaluation key, always in memory: a device only relinearises them. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Bits<'k>(pub(crate) Evaluator<'k>);

impl Bits<'_> {
    pub(crate) fn folded(&self) -> FoldedBits<'_, Self> {
        FoldedBits::new(self, &tower::DEPTH_4)
    }
}

impl BitEval for Bits<'_> {
    type Error = Error;
    type Bit = Ciphertext;
    type Product = Product;

    fn slots(&self) -> usize {
        self.0.params().slots().count()
    }

    fn public(&self, v: &[bool]) -> Ciphertext {
        let bytes: Vec<u8> = v.iter().map(|&b| u8::from(b)).collect();
        self.0
            .public(&bytes)
            .expect("at most one bit per slot, as the trait asks")
    }

    fn xor(&self, a: &Ciphertext, b: &Ciphertext) -> Ciphertext {
        let (mut out, b) = if a.level <= b.level {
            (a.clone(), b)
        } else {
            (b.clone(), a)
        };
        self.xor_assign(&mut out, b);
        out
    }

    fn xor_assign(&self, a: &mut Ciphertext, b: &Ciphertext) {
        let on_cpu = || self.0.on_cpu();
        if a.level > b.level {
            *a = on_cpu().lowered(a, b.level).expect(IN_MEMORY);
        }
        let b = on_cpu().at_most(b, a.level).expect(IN_MEMORY);
        let params = self.0.params();
        for (x, y) in a.parts.iter_mut().zip(&b.parts) {
            x.add_assign(params.rns(), params.basis(a.level), y);
        }
        a.owner = a.owner.with(b.owner);
        a.noise = a.noise.plus(b.noise);
        a.history = History::AES;
    }

    /// Adds the constant polynomial 1, which is 1 in every slot and at every embedding.
    fn not(&self, mut a: Ciphertext) -> Ciphertext {
        let params = self.0.params();
        for (limb, &i) in a.parts[0].limbs.iter_mut().zip(params.basis(a.level)) {
            let m = params.modulus(i);
            limb.iter_mut()
                .for_each(|x| *x = m.add(m.canonical(*x), m.r()));
        }
        a
    }

    fn and(&self, a: &Ciphertext, b: &Ciphertext) -> Result<Product> {
        if a.level.min(b.level) <= 1 {
            return Err(out_of_depth(1, 0));
        }
        self.0.raw_product(a, b, 0)
    }

    fn xor_product(&self, a: Product, b: &Product) -> Product {
        self.0
            .add_product(a, b)
            .expect("products of one depth are at one level")
    }

    /// Goes limb by limb, so each limb of a product is read from memory once for all rows.
    fn sums(&self, products: &[&Product], rows: &[Vec<u16>]) -> Vec<Product> {
        let (params, n) = (self.0.params(), self.0.params().ring().n());
        let (level, parts) = (products[0].level, products[0].parts.len());
        assert!(
            products.iter().all(|p| p.level == level),
            "products of one depth are at one level"
        );
        let basis = params.basis(level);
        let limb = |task: usize| {
            let (part, at) = (task / basis.len(), task % basis.len());
            let sources: Vec<&[u64]> = products.iter().map(|p| &*p.parts[part].limbs[at]).collect();
            let mut out = Poly::scratch(n, rows.len()).limbs.into_words();
            let mut sums: Vec<&mut [u64]> = out.iter_mut().map(|o| &mut o[..]).collect();
            self.0.meter().time(Stage::Elementwise, || {
                kernel::sums(
                    params.ring(),
                    params.modulus(basis[at]),
                    &sources,
                    rows,
                    &mut sums,
                );
            });
            out
        };
        let tasks = (0..parts * basis.len()).into_par_iter().with_max_len(1);
        let limbs: Vec<_> = tasks.map(limb).collect();
        let mut limbs: Vec<_> = limbs.into_iter().map(Vec::into_iter).collect();
        let sum = |row: &Vec<u16>| {
            let own = || row.iter().map(|&i| products[usize::from(i)]);
            let mut limbs = limbs
                .iter_mut()
                .map(|l| l.next().expect("one limb per row"));
            let mut part = || Poly {
                limbs: limbs.by_ref().take(basis.len()).collect(),
            };
            let noises = own().map(|p| p.noise);
            let owners = own().map(|p| p.owner);
            Product {
                owner: owners.reduce(Owner::with).expect("a row names a product"),
                level,
                frobenius: 0,
                parts: (0..parts).map(|_| part()).collect(),
                noise: noises
                    .reduce(|a, b| a.plus(b))
                    .expect("a row names a product"),
                history: History::AES,
            }
        };
        rows.iter().map(sum).collect()
    }

    fn relinearize(&self, p: Product) -> Result<Ciphertext> {
        self.0.cancel.check()?;
        let bit = self.0.relinearize(&p)?;
        bit.fetch()?;
        Ok(bit)
    }

    fn relinearize_all(&self, products: Vec<Product>) -> Result<Vec<Ciphertext>> {
        self.0.meter().pass(products.len());
        let one = Self(self.0.beside(products.len()));
        self.each(products, |p| one.relinearize(p))
    }

    fn each<S: Send, T: Send>(
        &self,
        items: Vec<S>,
        task: impl Fn(S) -> Result<T> + Sync,
    ) -> Result<Vec<T>> {
        let tasks = items.into_par_iter().with_max_len(1);
        tasks.map(&task).collect()
    }
}
