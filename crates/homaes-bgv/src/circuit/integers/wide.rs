//! Numbers of several bytes, joined when they are decrypted.

use super::{Integers, Lifting};
use crate::ciphertext::Ciphertext;
use crate::circuit::evaluate::Evaluator;
use crate::error::{Error, Result};
use crate::keys::SecretKey;
use rayon::prelude::*;
use zeroize::Zeroizing;

/// Bytes of the widest number.
const MOST: usize = 4;

/// Which byte of a number comes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ByteOrder {
    /// the highest
    Big,
    /// the lowest
    Little,
}

/// A number of up to four bytes in every slot: a column of [`Integers`] for each byte.
///
/// Decryption joins them to Σ 256^i v_i. So a sum of numbers needs only room for sums of their bytes: 2^18 for the
/// 1,024 slots of a class at m = 65535, also for numbers of 32 bits.
#[derive(Clone, Debug)]
pub struct Wide {
    /// lowest first
    bytes: Vec<Integers>,
}

impl Lifting<'_> {
    /// Numbers from the ciphertexts of their bytes, one to four, in the order of the block.
    ///
    /// Cost: [`Lifting::lift`] for each.
    ///
    /// # Errors
    /// [`Error::Field`] for another count; as [`Lifting::lift`].
    pub fn wide(&self, bytes: &[&Ciphertext], order: ByteOrder) -> Result<Wide> {
        if !(1..=MOST).contains(&bytes.len()) {
            return Err(Error::field("bytes of a number", bytes.len(), MOST));
        }
        let lifted = bytes.par_iter().with_max_len(1).map(|c| self.lift(c));
        let mut bytes = lifted.collect::<Result<Vec<_>>>()?;
        if order == ByteOrder::Big {
            bytes.reverse();
        }
        Ok(Wide { bytes })
    }
}

impl Wide {
    /// The numbers after the same operation on every byte's column: a rotation, a sum over slots, a product with a
    /// number or with integers 0 and 1.
    ///
    /// # Errors
    /// Those of `operation`.
    pub fn each(&self, operation: impl Fn(&Integers) -> Result<Integers>) -> Result<Self> {
        let bytes = self.bytes.iter().map(operation).collect::<Result<_>>()?;
        Ok(Self { bytes })
    }

    /// Slot-wise sum of numbers of the same width. Columns have no carries, so differences are not joined rightly.
    ///
    /// # Errors
    /// [`Error::Field`] for another width; as [`Integers::add`].
    pub fn add(&self, eval: &Evaluator<'_>, other: &Self) -> Result<Self> {
        if self.bytes.len() != other.bytes.len() {
            return Err(Error::field(
                "bytes of a number",
                other.bytes.len(),
                self.bytes.len(),
            ));
        }
        let pairs = self.bytes.iter().zip(&other.bytes);
        let bytes = pairs.map(|(a, b)| a.add(eval, b)).collect::<Result<_>>()?;
        Ok(Self { bytes })
    }
}

impl SecretKey {
    /// The numbers in all slots, joined from their bytes' columns, which are read from 0 to 2^k - 1: right while no sum
    /// of bytes reaches 2^k.
    ///
    /// # Errors
    /// As [`SecretKey::integers`].
    pub fn wide(&self, a: &Wide) -> Result<Vec<u64>> {
        let columns = a
            .bytes
            .iter()
            .map(|x| Ok(Zeroizing::new(self.integers(x)?)));
        let columns = columns.collect::<Result<Vec<_>>>()?;
        let slots = 0..self.params().slots().count();
        let join = |slot: usize| {
            columns
                .iter()
                .rev()
                .fold(0u64, |x, column| (x << 8) + column[slot])
        };
        Ok(slots.map(join).collect())
    }
}
