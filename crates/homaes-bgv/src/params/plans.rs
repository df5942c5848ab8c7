//! The plans of a parameter set.

use super::Params;
use crate::chain::{KeyPart, Tail};
use homaes_rns::{Gadget, SwitchPlan};

impl Params {
    pub(crate) fn switch_plan(&self, level: usize, to_level: usize) -> SwitchPlan {
        self.plan_with(self.part_of(level), [level, to_level], self.digit_excess())
    }

    /// Key switching within `level`, outside the middle prime, with the least noise: no digit exceeds the special
    /// modulus in sets with parts in one digit.
    pub(crate) fn quiet_plan(&self, level: usize) -> SwitchPlan {
        let one_digit = level <= self.one_digit_level();
        self.plan_with(KeyPart::new(Tail::Outer, one_digit), [level; 2], 0.0)
    }

    /// Chooses the special primes of the key to the ring of results, whose highest level is `top`: as many as one digit
    /// needs at that level.
    pub(super) fn plan_leaving(&mut self, top: usize) {
        let (from, end) = (self.special_from(), self.rns().count());
        let digit = self.log2_modulus(top);
        let enough = (from + 1..end).find(|&to| self.log2(from..to) >= digit);
        self.leaving = (top, from..enough.unwrap_or(end));
    }

    /// Highest level at which results leave for R.
    pub(crate) fn leaving_level(&self) -> usize {
        self.leaving.0
    }

    /// Key switching to the secret of results, within `level`.
    pub(crate) fn leave_plan(&self, level: usize) -> SwitchPlan {
        self.plan_with(KeyPart::LEAVE, [level; 2], 0.0)
    }

    fn plan_with(&self, part: KeyPart, levels: [usize; 2], excess_bits: f64) -> SwitchPlan {
        let [(_, from), (to_level, to)] = levels.map(|level| (level, self.basis(level)));
        let gadget = Gadget {
            part: part.number(),
            special: self.specials(part),
            digit_of: &|i| self.digit_of(part, i),
            excess_bits,
        };
        SwitchPlan::new(self.rns(), from, (to_level, to), &gadget)
    }

    /// The part of every key that is used at `level`. Parts in one digit are used if they save digits and `level` is
    /// above those of users' circuits, where some keys end.
    pub(crate) fn part_of(&self, level: usize) -> KeyPart {
        let tail = Tail::of(self.basis(level));
        KeyPart::new(tail, level == self.one_digit_below(level))
    }

    /// Highest level of the parts in one digit; 0 if the set has none.
    pub(crate) fn one_digit_level(&self) -> usize {
        self.set().chain.one_digit.map_or(0, |o| 3 * o.rounds)
    }

    /// Highest level of a key's part in one digit, for a key that otherwise reaches up to `level`; 0 if no level up to
    /// there uses such a part.
    pub(crate) fn one_digit_below(&self, level: usize) -> usize {
        let usual = KeyPart::new(Tail::of(self.basis(level)), false);
        if level <= self.rotation_level() || self.digits_at(level, usual) == 1 {
            return 0;
        }
        level.min(self.one_digit_level())
    }

    /// Digits of a polynomial at `level` in `part` of a key; 0 at level 0.
    pub(crate) fn digits_at(&self, level: usize, part: KeyPart) -> usize {
        let digits = self
            .basis(level)
            .iter()
            .map(|&i| self.digit_of(part, i) + 1);
        digits.max().unwrap_or(0)
    }

    /// Numbers of the special primes of `part` of every key.
    pub(crate) fn specials(&self, part: KeyPart) -> std::ops::Range<usize> {
        if part.leaves {
            return self.leaving.1.clone();
        }
        if part.expands {
            return self.expand_special.clone();
        }
        let (from, chain) = (self.special_from(), &self.set().chain);
        let further = chain.one_digit.filter(|_| part.one_digit);
        from..from + chain.special.len() + further.map_or(0, |o| o.special.len())
    }
}
