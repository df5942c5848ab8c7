//! The view of bits (`BitEval`): sums, products, and relinearisation merged with the modulus switch.
//!
//! A relinearised product is one level below its factors. An operand of a higher level is reduced modulo the lower
//! modulus if that divides the higher one, which is free and keeps the noise (DHS14 §4); otherwise it is switched.

use crate::arithmetic::Arithmetic;
use crate::ciphertext::{Ciphertext, Encrypted, Product, public, sum};
use crate::error::{Error, Result};
use crate::keys::EvalKey;
use crate::params::Params;
use core::cmp::Ordering;
use homaes_aes::{BitEval, EvalError};
use homaes_rns::Meter;
use homaes_scheme::bits::BitScheme;
use homaes_scheme::{Cancel, Owner};

/// Bits under one evaluation key.
pub struct Bits<'k, A: Arithmetic> {
    pub(crate) key: &'k EvalKey<A>,
    pub(crate) meter: &'k Meter,
    pub(crate) cancel: Cancel,
}

impl<'k, A: Arithmetic> Bits<'k, A> {
    /// The view under `key`; `meter` counts what it does.
    pub fn new(key: &'k EvalKey<A>, meter: &'k Meter) -> Self {
        Self {
            key,
            meter,
            cancel: Cancel::new(),
        }
    }

    fn params(&self) -> &'k Params<A> {
        &self.key.params
    }

    fn arithmetic(&self) -> &'k A {
        self.params().arithmetic()
    }

    /// The same bits at `level`.
    ///
    /// # Panics
    /// If `level` is above that of `c`.
    pub fn lowered(&self, c: &Ciphertext<A>, level: usize) -> Ciphertext<A> {
        assert!((1..=c.level).contains(&level), "a level below");
        if level == c.level {
            return c.clone();
        }
        let arithmetic = self.arithmetic();
        let noise = match arithmetic.lowering_log2(c.level, level) {
            None => c.noise,
            Some(drop) => c.noise.switched(drop, self.params().noise()),
        };
        Encrypted {
            owner: c.owner,
            level,
            element: arithmetic.lower(self.meter, c.level, level, &c.element),
            noise,
        }
    }

    fn relinearized(&self, products: Vec<Product<A>>) -> Result<Vec<Ciphertext<A>>> {
        let Some(level) = products.first().map(|p| p.level) else {
            return Ok(Vec::new());
        };
        assert!(
            products.iter().all(|p| p.level == level),
            "products of one pass are at one level"
        );
        self.meter.pass(products.len());
        let (arithmetic, model) = (self.arithmetic(), self.params().noise());
        let added = model.relinearisation(arithmetic.digit_power(level));
        let drop = arithmetic.log2_drop(level);
        let made = |p: &Product<A>| (p.owner, p.noise.plus(added).switched(drop, model));
        let figures: Vec<_> = products.iter().map(made).collect();
        let products = products.into_iter().map(|p| p.element).collect();
        let parts = &self.key.parts;
        let elements = arithmetic.relinearize(self.meter, parts, level, products, &self.cancel)?;
        let pairs = elements.into_iter().zip(figures);
        let bits = pairs.map(|(element, (owner, noise))| Encrypted {
            owner,
            level: level - 1,
            element,
            noise,
        });
        Ok(bits.collect())
    }
}

impl<A: Arithmetic> BitEval for Bits<'_, A> {
    type Error = Error;
    type Bit = Ciphertext<A>;
    type Product = Product<A>;

    fn slots(&self) -> usize {
        self.params().slot_count()
    }

    fn public(&self, v: &[bool]) -> Ciphertext<A> {
        let bits = public(self.params(), self.params().top_level(), v);
        bits.expect("at most one bit per slot, as the trait asks")
    }

    fn xor(&self, a: &Ciphertext<A>, b: &Ciphertext<A>) -> Ciphertext<A> {
        let params = self.params();
        match a.level.cmp(&b.level) {
            Ordering::Equal => sum(params, a, b),
            Ordering::Less => sum(params, a, &self.lowered(b, a.level)),
            Ordering::Greater => sum(params, &self.lowered(a, b.level), b),
        }
    }

    fn and(&self, a: &Ciphertext<A>, b: &Ciphertext<A>) -> Result<Product<A>> {
        let level = a.level.min(b.level);
        if level <= 1 {
            return Err(EvalError::OutOfDepth { needed: 1, left: 0 }.into());
        }
        let [x, y] = [a, b].map(|c| match c.level == level {
            true => None,
            false => Some(self.lowered(c, level)),
        });
        let (x, y) = (x.as_ref().unwrap_or(a), y.as_ref().unwrap_or(b));
        let arithmetic = self.arithmetic();
        Ok(Encrypted {
            owner: a.owner.with(b.owner),
            level,
            element: arithmetic.multiply(self.meter, level, &x.element, &y.element),
            noise: x.noise.times(y.noise),
        })
    }

    fn xor_product(&self, mut a: Product<A>, b: &Product<A>) -> Product<A> {
        assert_eq!(a.level, b.level, "products of one depth are at one level");
        let arithmetic = self.arithmetic();
        a.element = arithmetic.sum_of_products(a.level, &a.element, &b.element);
        a.owner = a.owner.with(b.owner);
        a.noise = a.noise.plus(b.noise);
        a
    }

    fn sums(&self, products: &[&Product<A>], rows: &[Vec<u16>]) -> Vec<Product<A>> {
        let level = products[0].level;
        assert!(
            products.iter().all(|p| p.level == level),
            "products of one depth are at one level"
        );
        let sources: Vec<&A::Product> = products.iter().map(|p| &p.element).collect();
        let sums = self.arithmetic().sums(self.meter, level, &sources, rows);
        let pairs = sums.into_iter().zip(rows);
        let sum = |(element, row): (A::Product, &Vec<u16>)| {
            let own = || row.iter().map(|&i| products[usize::from(i)]);
            let noise = own().map(|p| p.noise).reduce(|a, b| a.plus(b));
            let owner = own().map(|p| p.owner).reduce(Owner::with);
            Encrypted {
                owner: owner.expect("a row names a product"),
                level,
                element,
                noise: noise.expect("a row names a product"),
            }
        };
        pairs.map(sum).collect()
    }

    fn relinearize(&self, p: Product<A>) -> Result<Ciphertext<A>> {
        let mut one = self.relinearized(vec![p])?;
        Ok(one.pop().expect("one of one"))
    }

    fn relinearize_all(&self, products: Vec<Product<A>>) -> Result<Vec<Ciphertext<A>>> {
        self.relinearized(products)
    }

    fn each<S: Send, T: Send>(
        &self,
        items: Vec<S>,
        task: impl Fn(S) -> Result<T> + Sync,
    ) -> Result<Vec<T>> {
        self.cancel.each(items, task)
    }
}
