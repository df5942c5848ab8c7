//! Evaluators in the clear: an item is its value.

use crate::error::{EvalError, Result};
use crate::gf256;
use crate::view::{BitEval, ByteEval, PackedEval};

/// `v` padded to `slots` values with zeros.
fn complete<T: Copy + Default>(v: &[T], slots: usize) -> Vec<T> {
    assert!(v.len() <= slots, "{} values for {slots} slots", v.len());
    let mut v = v.to_vec();
    v.resize(slots, T::default());
    v
}

fn zip<T: Copy>(a: &[T], b: &[T], f: impl Fn(T, T) -> T) -> Vec<T> {
    a.iter().zip(b).map(|(&a, &b)| f(a, b)).collect()
}

/// The byte and packed views in the clear.
#[derive(Clone, Debug)]
pub struct ClearBytes {
    slots: usize,
}

impl ClearBytes {
    /// An evaluator of items with `slots` slots. [`PackedEval`] needs a multiple of 16.
    pub fn new(slots: usize) -> Self {
        Self { slots }
    }
}

impl ByteEval for ClearBytes {
    type Error = EvalError;
    type Byte = Vec<u8>;
    type Product = Vec<u8>;

    fn slots(&self) -> usize {
        self.slots
    }

    fn public(&self, v: &[u8]) -> Vec<u8> {
        complete(v, self.slots)
    }

    fn add(&self, a: &Vec<u8>, b: &Vec<u8>) -> Vec<u8> {
        zip(a, b, |a, b| a ^ b)
    }

    fn scale(&self, a: &Vec<u8>, c: u8) -> Vec<u8> {
        a.iter().map(|&a| gf256::mul(a, c)).collect()
    }

    fn frobenius(&self, a: &Vec<u8>, k: u32) -> Result<Vec<u8>> {
        Ok(a.iter().map(|&a| gf256::frobenius(a, k)).collect())
    }

    fn mul(&self, a: &Vec<u8>, b: &Vec<u8>) -> Result<Vec<u8>> {
        Ok(zip(a, b, gf256::mul))
    }

    fn add_product(&self, a: Vec<u8>, b: &Vec<u8>) -> Vec<u8> {
        self.add(&a, b)
    }

    fn relinearize(&self, p: Vec<u8>) -> Result<Vec<u8>> {
        Ok(p)
    }
}

impl PackedEval for ClearBytes {
    fn permute(&self, a: &Vec<u8>, p: &[usize; 16]) -> Result<Vec<u8>> {
        let (blocks, rest) = a.as_chunks::<16>();
        assert!(rest.is_empty(), "{} slots are not whole blocks", a.len());
        Ok(blocks
            .iter()
            .flat_map(|block| p.map(|source| block[source]))
            .collect())
    }
}

/// The bit view in the clear.
#[derive(Clone, Debug)]
pub struct ClearBits {
    slots: usize,
}

impl ClearBits {
    /// An evaluator of items with `slots` slots.
    pub fn new(slots: usize) -> Self {
        Self { slots }
    }
}

impl BitEval for ClearBits {
    type Error = EvalError;
    type Bit = Vec<bool>;
    type Product = Vec<bool>;

    fn slots(&self) -> usize {
        self.slots
    }

    fn public(&self, v: &[bool]) -> Vec<bool> {
        complete(v, self.slots)
    }

    fn xor(&self, a: &Vec<bool>, b: &Vec<bool>) -> Vec<bool> {
        zip(a, b, |a, b| a ^ b)
    }

    fn xor_assign(&self, a: &mut Vec<bool>, b: &Vec<bool>) {
        for (a, b) in a.iter_mut().zip(b) {
            *a ^= b;
        }
    }

    fn and(&self, a: &Vec<bool>, b: &Vec<bool>) -> Result<Vec<bool>> {
        Ok(zip(a, b, |a, b| a & b))
    }

    fn xor_product(&self, a: Vec<bool>, b: &Vec<bool>) -> Vec<bool> {
        self.xor(&a, b)
    }

    fn relinearize(&self, p: Vec<bool>) -> Result<Vec<bool>> {
        Ok(p)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[should_panic(expected = "3 values for 2 slots")]
    fn more_values_than_slots_panic() {
        ClearBytes::new(2).public(&[0; 3]);
    }
}
