//! The view of bits (`BitEval`): sums, products, and conversions of many products in one pass over the key.

use crate::ciphertext::{Ciphertext, Product};
use crate::error::{Error, Result};
use crate::eval::EvalKey;
use crate::meter::{Meter, Stage};
use crate::params::Params;
use homaes_aes::{BitEval, EvalError};
use homaes_math::natural::exceeds;
use homaes_scheme::Cancel;
use homaes_scheme::bits::BitScheme;
use rayon::prelude::*;
use std::borrow::Cow;

/// Bits under one evaluation key.
pub struct Bits<'k> {
    pub(crate) key: &'k EvalKey,
    pub(crate) meter: &'k Meter,
    pub(crate) cancel: Cancel,
}

impl<'k> Bits<'k> {
    /// The view under `key`; `meter` counts what it does.
    pub fn new(key: &'k EvalKey, meter: &'k Meter) -> Self {
        Self {
            key,
            meter,
            cancel: Cancel::new(),
        }
    }

    fn params(&self) -> &'k Params {
        &self.key.params
    }

    /// Reduces a sum modulo x0 if it exceeds `most` bits, which never happens in AES.
    fn trim(&self, words: &mut Vec<u64>, most: usize) {
        if exceeds(words, most) {
            let len = words.len();
            *words = self.key.reduced(words);
            words.resize(len, 0);
        }
    }

    /// A factor small enough that sums of products have room.
    fn factor<'c>(&self, c: &'c Ciphertext) -> Cow<'c, Ciphertext> {
        let most = self.params().set().gamma + FACTOR_EXCESS;
        match exceeds(&c.words, most) {
            false => Cow::Borrowed(c),
            true => {
                let mut c = c.clone();
                self.trim(&mut c.words, most);
                Cow::Owned(c)
            }
        }
    }
}

/// A sum may exceed γ by this many bits, of 64.
const SUM_EXCESS: usize = 40;
/// A factor may exceed γ by this many bits.
const FACTOR_EXCESS: usize = 20;
/// A sum of products may exceed 2γ by this many bits, of 64.
const PRODUCTS_EXCESS: usize = 60;

impl BitEval for Bits<'_> {
    type Error = Error;
    type Bit = Ciphertext;
    type Product = Product;

    fn slots(&self) -> usize {
        self.params().slots()
    }

    fn public(&self, v: &[bool]) -> Ciphertext {
        assert!(v.len() <= self.slots(), "at most one bit per slot");
        let level = self.params().top_level();
        let bits = self
            .key
            .public(level, &[v.to_vec()], self.meter, &Cancel::new());
        let one = bits.map(|mut bits| bits.pop());
        match one {
            Ok(Some(one)) => one,
            // `public` cannot return an error: an unreadable key gives a ciphertext that no key accepts
            _ => Ciphertext {
                owner: homaes_scheme::Owner::new(self.params().id(), None).nowhere(),
                level,
                words: vec![0; self.params().type_one_words()],
                noise: self.params().noise().public(),
            },
        }
    }

    fn xor(&self, a: &Ciphertext, b: &Ciphertext) -> Ciphertext {
        let mut sum = a.clone();
        self.xor_assign(&mut sum, b);
        sum
    }

    fn xor_assign(&self, a: &mut Ciphertext, b: &Ciphertext) {
        self.meter.time(Stage::Sum, || a.add(b));
        self.trim(&mut a.words, self.params().set().gamma + SUM_EXCESS);
    }

    fn and(&self, a: &Ciphertext, b: &Ciphertext) -> Result<Product> {
        let level = a.level.min(b.level);
        if level <= 1 {
            return Err(EvalError::OutOfDepth { needed: 1, left: 0 }.into());
        }
        let (a, b) = (self.factor(a), self.factor(b));
        Ok(self
            .meter
            .time(Stage::Product, || self.key.multiply(&a, &b, level)))
    }

    fn xor_product(&self, mut a: Product, b: &Product) -> Product {
        self.meter.time(Stage::Sum, || {
            a.add(b);
            a.level = a.level.min(b.level);
        });
        self.trim(
            &mut a.words,
            2 * self.params().set().gamma + PRODUCTS_EXCESS,
        );
        a
    }

    fn sums(&self, products: &[&Product], rows: &[Vec<u16>]) -> Vec<Product> {
        let sum = |row: &Vec<u16>| {
            let (first, rest) = row.split_first().expect("a row names a product");
            let start = products[usize::from(*first)].clone();
            rest.iter().fold(start, |sum, &i| {
                self.xor_product(sum, products[usize::from(i)])
            })
        };
        rows.par_iter().with_max_len(1).map(sum).collect()
    }

    fn relinearize(&self, p: Product) -> Result<Ciphertext> {
        let mut one = self.relinearize_all(vec![p])?;
        Ok(one.pop().expect("one of one"))
    }

    fn relinearize_all(&self, products: Vec<Product>) -> Result<Vec<Ciphertext>> {
        self.key.convert(products, self.meter, &self.cancel)
    }

    fn each<S: Send, T: Send>(
        &self,
        items: Vec<S>,
        task: impl Fn(S) -> Result<T> + Sync,
    ) -> Result<Vec<T>> {
        self.cancel.each(items, task)
    }
}
