//! The view in the clear: an item is its values.

use crate::error::{EvalError, Result};
use crate::view::BitEval;

pub(crate) fn zip(a: &[bool], b: &[bool], f: impl Fn(bool, bool) -> bool) -> Vec<bool> {
    a.iter().zip(b).map(|(&a, &b)| f(a, b)).collect()
}

/// The view in the clear.
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
        assert!(
            v.len() <= self.slots,
            "{} values for {} slots",
            v.len(),
            self.slots
        );
        let mut v = v.to_vec();
        v.resize(self.slots, false);
        v
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
        ClearBits::new(2).public(&[true; 3]);
    }
}
