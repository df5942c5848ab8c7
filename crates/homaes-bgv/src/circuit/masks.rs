//! Comparisons, and logic on their results: masks with 0 or 1 in every slot.

use crate::ciphertext::Ciphertext;
use crate::circuit::evaluate::Evaluator;
use crate::error::{Error, Result};
use homaes_aes::{Block, gf256};
use rayon::prelude::*;
use std::num::NonZeroU8;

impl Evaluator<'_> {
    /// x^255 of every slot: 0 for 0, otherwise 1.
    ///
    /// With s the squaring map: x^3 = x·s(x), x^15 = x^3·s²(x^3), x^255 = x^15·s⁴(x^15). Level: three below, plus those
    /// that the noise requires. Noise: a product's. Cost: three products, and one Frobenius map because there is no key
    /// for s·s⁴(s).
    pub fn is_nonzero(&self, x: &Ciphertext) -> Result<Ciphertext> {
        let deep = self.in_all(3, x.level);
        let x3 = self.multiply_frobenius(x, x, 1).map_err(deep)?;
        let x15 = self.multiply_frobenius(&x3, &x3, 2).map_err(deep)?;
        self.multiply_frobenius(&x15, &x15, 4).map_err(deep)
    }

    /// 1 where x is 0, else 0: 1 - x^255. Level, noise and cost: as [`Evaluator::is_nonzero`].
    pub fn is_zero(&self, x: &Ciphertext) -> Result<Ciphertext> {
        self.not(&self.is_nonzero(x)?)
    }

    /// 1 where x is the public byte `b`, else 0: 1 - (x - b)^255. Level, noise and cost: as [`Evaluator::is_nonzero`].
    pub fn equals_byte(&self, x: &Ciphertext, b: u8) -> Result<Ciphertext> {
        self.is_zero(&self.add_byte(x, b)?)
    }

    /// 1 where x is the public byte of that slot, else 0; missing bytes are zero.
    pub fn equals_public(&self, x: &Ciphertext, bytes: &[u8]) -> Result<Ciphertext> {
        self.is_zero(&self.add_public(x, bytes)?)
    }

    /// 1 where all sixteen bytes of a block equal the public `block`, else 0. `bytes` are the sixteen ciphertexts of a
    /// sliced state: byte i of every block is in ciphertext i.
    ///
    /// Level: seven below. Cost: sixteen comparisons and fifteen products, on all threads.
    pub fn equals_block(&self, bytes: &[Ciphertext], block: &Block) -> Result<Ciphertext> {
        if bytes.len() != block.len() {
            let what = "ciphertexts of a sliced state";
            return Err(Error::field(what, bytes.len(), block.len()));
        }
        let all: Vec<&Ciphertext> = bytes.iter().collect();
        // three levels for the comparisons, four for the products
        let deep = self.in_all(7, self.common_level(&all)?);
        let masks: Vec<Ciphertext> = bytes
            .par_iter()
            .zip(block)
            .map(|(x, &b)| self.equals_byte(x, b))
            .collect::<Result<_>>()
            .map_err(deep)?;
        self.all(&masks.iter().collect::<Vec<_>>()).map_err(deep)
    }

    /// The bits of every byte, lowest first, each as a mask: traces of the eight Frobenius images times constants.
    ///
    /// Level: kept. Noise: key switches times the constants; a product should follow. Cost: seven key switches.
    pub fn bits(&self, x: &Ciphertext) -> Result<Vec<Ciphertext>> {
        let images = (0..8).into_par_iter().with_max_len(1);
        let images: Vec<_> = images
            .map(|k| self.frobenius(x, k))
            .collect::<Result<_>>()?;
        let bit = |i: u32| {
            let constants = gf256::linearised(|x| x >> i & 1);
            let terms: Vec<_> = images.iter().zip(constants).collect();
            self.combine(&terms)
        };
        (0..8).map(bit).collect()
    }

    /// 1 where x is below the public byte `b` as a number from 0 to 255, else 0.
    ///
    /// Halves of the bits are compared by x < b ⇔ high x < high b, or equal high halves and low x < low b. Level: three
    /// below, and what the noise of [`Evaluator::bits`] requires. Cost: seven key switches and at most eleven products.
    pub fn below_byte(&self, x: &Ciphertext, b: NonZeroU8) -> Result<Ciphertext> {
        let deep = self.in_all(3, x.level);
        let leaf = |(i, bit): (usize, Ciphertext)| match b.get() >> i & 1 {
            1 => Ok((Some(self.not(&bit)?), bit)),
            _ => Ok((None, self.not(&bit)?)),
        };
        // whether lower, if that is possible, and whether equal
        let mut row: Vec<(Option<Ciphertext>, Ciphertext)> =
            (0..).zip(self.bits(x)?).map(leaf).collect::<Result<_>>()?;
        while row.len() > 1 {
            let pairs = row.par_chunks(2).enumerate();
            let halved = pairs.map(|(place, pair)| {
                let [(low_lower, low_equal), (lower, equal)] = pair else {
                    unreachable!("eight bits halve evenly");
                };
                let in_low = low_lower.as_ref().map(|low| self.and(equal, low));
                let lower = match (lower, in_low.transpose()?) {
                    (Some(high), Some(low)) => Some(self.add(high, &low)?),
                    (high, low) => high.clone().or(low),
                };
                // nobody asks whether the lowest bits are equal
                let equal = match place {
                    0 => equal.clone(),
                    _ => self.and(equal, low_equal)?,
                };
                Ok((lower, equal))
            });
            row = halved.collect::<Result<_>>().map_err(deep)?;
        }
        let lower = row.pop().and_then(|(lower, _)| lower);
        Ok(lower.expect("some bit of b is 1"))
    }

    /// 1 - a of a mask. Keeps level and noise. Cost: one addition per word.
    pub fn not(&self, a: &Ciphertext) -> Result<Ciphertext> {
        self.add_byte(a, 1)
    }

    /// a·b of masks: [`Evaluator::multiply`].
    pub fn and(&self, a: &Ciphertext, b: &Ciphertext) -> Result<Ciphertext> {
        self.multiply(a, b)
    }

    /// 1 - (1 - a)(1 - b) of masks. Level, noise and cost: as [`Evaluator::multiply`].
    pub fn or(&self, a: &Ciphertext, b: &Ciphertext) -> Result<Ciphertext> {
        self.not(&self.multiply(&self.not(a)?, &self.not(b)?)?)
    }

    /// The product of all masks, at least one: 1 where every mask is 1. A balanced tree of ⌈log2 k⌉ levels.
    ///
    /// The last three factors share a three-way product where there is a key. An odd factor waits for the next row.
    pub fn all(&self, masks: &[&Ciphertext]) -> Result<Ciphertext> {
        let mut row: Vec<Ciphertext> = masks.iter().map(|&m| m.clone()).collect();
        let start = self.common_level(masks)?;
        let needed = masks.len().next_power_of_two().ilog2() as usize;
        while row.len() > 1 {
            row = self.halved(&row).map_err(self.in_all(needed, start))?;
        }
        row.pop().ok_or(Error::NoOperands)
    }

    /// 1 where at least one mask is 1: [`Evaluator::all`] of the complements, complemented.
    pub fn any(&self, masks: &[&Ciphertext]) -> Result<Ciphertext> {
        let complements: Vec<Ciphertext> =
            masks.iter().map(|m| self.not(m)).collect::<Result<_>>()?;
        self.not(&self.all(&complements.iter().collect::<Vec<_>>())?)
    }

    /// Products of neighbours; if exactly three are left, their product.
    fn halved(&self, row: &[Ciphertext]) -> Result<Vec<Ciphertext>> {
        if let [a, b, c] = row {
            let level = a.level.min(b.level).min(c.level);
            if level > 2 && level <= self.params().rotation_level() {
                return Ok(vec![self.multiply_three(a, b, c)?]);
            }
        }
        row.par_chunks(2)
            .map(|pair| match pair {
                [a, b] => self.multiply(a, b),
                _ => Ok(pair[0].clone()),
            })
            .collect()
    }
}
