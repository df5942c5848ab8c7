//! The levels and keys that expand compact wrapped keys ([`crate::aes::expand`]).
//!
//! Round keys of the compact form are one round above their use: at levels S2, and for a cipher that starts at the top
//! level, at a level above it,
//!
//! ```text
//! b_1 … b_{T-1} · last · w      top level + 1
//! ```
//!
//! where w is the last special prime of the set. The two keys hold these primes, and as special primes as many of those
//! before w as keep their modulus below the largest one that the set publishes. So the keys move no security claim.
//! With s of them, every digit has s primes, the first one `last` among them.

use super::{LAST, Params, TAIL};
use crate::chain::{KeyPart, Steps};
use homaes_rns::{Gadget, SwitchPlan};

impl Params {
    /// Whether the set has the keys that expand compact wrapped keys: it takes bytes and an axis of 257.
    pub(crate) fn expands(&self) -> bool {
        !self.expand_special.is_empty()
    }

    /// Chooses the special primes, and adds the level above the top.
    pub(super) fn plan_expansion(&mut self) {
        let three = self.set.chain.steps == Steps::Three;
        let [_, cols, ..] = self.ring().lens();
        if !three || !self.has_bytes() || cols == 1 || self.set.cipher.is_some() {
            return;
        }
        let last_special = self.rns.count() - 1;
        let base = TAIL..self.special_from();
        let basis: Vec<usize> = [LAST]
            .into_iter()
            .chain(base)
            .chain([last_special])
            .collect();
        let room = self.log2_qp() - self.log2(basis.iter().copied());
        let fits = |&from: &usize| self.log2(from..last_special) <= room;
        let from = (self.special_from()..=last_special).find(fits);
        let from = from.unwrap_or(last_special);
        if from < last_special {
            self.expand_special = from..last_special;
            self.levels.push(basis);
        }
    }

    /// Primes of the keys that expand compact wrapped keys.
    pub(crate) fn expand_primes(&self) -> Vec<usize> {
        let Some(basis) = self.levels.last().filter(|_| self.expands()) else {
            return Vec::new();
        };
        basis
            .iter()
            .copied()
            .chain(self.specials(KeyPart::EXPAND))
            .collect()
    }

    /// Digit of these keys that contains the RNS prime `i`.
    pub(super) fn expand_digit(&self, i: usize) -> usize {
        let place = match i {
            LAST => 0,
            i if i < self.special_from() => i - TAIL + 1,
            _ => self.special_from() - TAIL + 1,
        };
        place / self.expand_special.len()
    }

    /// Key switching by these keys within `level`.
    pub(crate) fn expand_plan(&self, level: usize) -> SwitchPlan {
        let gadget = Gadget {
            part: KeyPart::EXPAND.number(),
            special: self.specials(KeyPart::EXPAND),
            digit_of: &|i| self.digit_of(KeyPart::EXPAND, i),
            excess_bits: 0.0,
        };
        let basis = self.basis(level);
        SwitchPlan::new(self.rns(), basis, (level, basis), &gadget)
    }
}
