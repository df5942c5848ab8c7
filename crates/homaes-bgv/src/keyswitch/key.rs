//! Key-switching keys in memory.

use crate::params::KeyPart;
use homaes_math::{KeyLimb, Words};
use homaes_rns::{Copies, Poly, Resident, SwitchPlan};
use std::sync::{Mutex, PoisonError};

/// One half of a key's digit: a canonical limb for each prime of the set, empty for primes that the key does not hold.
/// Every device can have a copy.
pub struct KeyPoly {
    limbs: Vec<KeyLimb>,
    /// locked while limbs are copied to a device, so that each device gets one copy
    resident: Mutex<Copies>,
}

impl KeyPoly {
    /// From the canonical limbs of `poly` modulo `primes`, out of `count` primes.
    pub(crate) fn new(count: usize, primes: &[usize], poly: Poly) -> Self {
        let mut limbs: Vec<KeyLimb> = (0..count).map(|_| KeyLimb::new(&[])).collect();
        for (limb, &i) in poly.limbs.into_iter().zip(primes) {
            limbs[i] = KeyLimb::new(&limb);
        }
        Self::of(limbs)
    }

    fn of(limbs: Vec<KeyLimb>) -> Self {
        let resident = Mutex::default();
        Self { limbs, resident }
    }

    /// The limbs, one per prime of the set.
    pub fn limbs(&self) -> &[KeyLimb] {
        &self.limbs
    }

    /// The device copy of this kind for which `own` is true; otherwise `upload` makes one. Both run under a lock
    /// and must not call this method.
    pub fn resident<R: Resident + Clone, E>(
        &self,
        own: impl Fn(&R) -> bool,
        upload: impl FnOnce(&[KeyLimb]) -> Result<R, E>,
    ) -> Result<R, E> {
        let mut resident = self.resident.lock().unwrap_or_else(PoisonError::into_inner);
        resident.own(own, |_| upload(&self.limbs))
    }

    /// A copy in which `change` was applied to the canonical words of each limb, with the number of its prime.
    pub(crate) fn map(&self, change: impl Fn(usize, &mut Words)) -> Self {
        let limbs = self.limbs.iter().enumerate().map(|(i, limb)| {
            let mut words = limb.words();
            if !words.is_empty() {
                change(i, &mut words);
            }
            KeyLimb::new(&words)
        });
        Self::of(limbs.collect())
    }
}

/// Pairs (b_i, a_i) for the digits i, by part.
pub struct SwitchKey {
    pub(crate) parts: [Vec<[KeyPoly; 2]>; KeyPart::ALL.len()],
}

impl SwitchKey {
    /// The pairs that `plan` reads, one per digit of the gadget.
    pub fn digits(&self, plan: &SwitchPlan) -> &[[KeyPoly; 2]] {
        &self.parts[plan.part]
    }

    /// Whether the key holds all that `plan` reads.
    pub(crate) fn covers(&self, plan: &SwitchPlan) -> bool {
        let digits = self.digits(plan);
        let held = |i: &usize| digits.iter().flatten().all(|p| !p.limbs[*i].is_empty());
        plan.digits.iter().all(|d| d.number < digits.len()) && plan.extended.iter().all(held)
    }
}
