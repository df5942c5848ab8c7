//! Moving slots, and sums and products over them.
//!
//! Automorphisms move slots along the axes e3, e5 and e257 ([`homaes_math::slots`]): a byte at (class, e3, e5, e257)
//! can reach any slot of its class. The two classes cannot be exchanged, so sums over "all" slots are sums over each
//! class. Keys exist for steps that are powers of two (GHS12 appendix A: generators instead of all automorphisms);
//! other steps take a key switch per bit.

use crate::ciphertext::Ciphertext;
use crate::circuit::evaluate::Evaluator;
use crate::error::{Error, Result};

/// An axis of slots.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Axis {
    /// along the prime 3: two places, or one where 3 does not divide m
    E3,
    /// along the prime 5: four places, or one
    E5,
    /// along the prime 257: the 128 consecutive slots of a run, or one
    E257,
}

impl Axis {
    /// The three axes: together they reach every slot of a class.
    pub const ALL: [Self; 3] = [Self::E3, Self::E5, Self::E257];
}

impl Evaluator<'_> {
    /// Places along `axis`.
    pub fn places(&self, axis: Axis) -> usize {
        self.params().slots().axes()[axis as usize]
    }

    /// Moves slots cyclically along `axis`: the slot at e gets the byte at e + `steps`.
    ///
    /// Level: kept; keys reach [`Params::rotation_level`](crate::Params::rotation_level). Noise: a key switch and ρ per
    /// step taken. Cost: one key switch per bit of `steps` modulo the axis's length.
    pub fn rotate(&self, a: &Ciphertext, axis: Axis, steps: usize) -> Result<Ciphertext> {
        self.common_level(&[a])?;
        let mut left = steps % self.places(axis);
        let mut out = a.clone();
        while left > 0 {
            let bit = left & left.wrapping_neg();
            left ^= bit;
            out = self.step(&out, axis, bit)?;
        }
        Ok(out)
    }

    /// The sum (XOR) over each of `axes`, in all of its places.
    ///
    /// Level: kept. Noise: one bit of bound and one key switch per doubling. Cost: log2 of each axis's length in key
    /// switches, 10 for all slots of a class at m = 65535.
    pub fn sum_slots(&self, a: &Ciphertext, axes: &[Axis]) -> Result<Ciphertext> {
        self.doubled(a, axes, |x, y| self.add(x, y))
    }

    /// The product of a mask over each of `axes`: 1 if all places hold 1.
    ///
    /// Level: one below per doubling: 7 along a run, 10 for all slots of a class at m = 65535. Cost: as many rotations
    /// and products.
    pub fn all_slots(&self, a: &Ciphertext, axes: &[Axis]) -> Result<Ciphertext> {
        self.doubled(a, axes, |x, y| self.multiply(x, y))
    }

    /// 1 if at least one place holds 1: see [`Evaluator::all_slots`].
    pub fn any_slots(&self, a: &Ciphertext, axes: &[Axis]) -> Result<Ciphertext> {
        self.not(&self.all_slots(&self.not(a)?, axes)?)
    }

    /// Folds every axis of `axes` by halves: x <- op(x, x moved by 1, 2, 4, …).
    fn doubled(
        &self,
        a: &Ciphertext,
        axes: &[Axis],
        op: impl Fn(&Ciphertext, &Ciphertext) -> Result<Ciphertext>,
    ) -> Result<Ciphertext> {
        let mut out = a.clone();
        self.common_level(&[a])?;
        for &axis in axes {
            let places = self.places(axis);
            let steps = (0..8).map(|k| 1 << k).take_while(|&step| step < places);
            for step in steps {
                out = op(&out, &self.step(&out, axis, step)?)?;
            }
        }
        Ok(out)
    }

    /// Moves by a power of two below the axis's length.
    fn step(&self, a: &Ciphertext, axis: Axis, step: usize) -> Result<Ciphertext> {
        let mut by = [0; 3];
        by[axis as usize] = step;
        let params = self.params();
        self.translate(a, by).map_err(|error| match error {
            Error::Cancelled(_) => error,
            _ => params.no_key("rotation", a.level, params.rotation_level()),
        })
    }
}
