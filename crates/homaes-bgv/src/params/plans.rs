//! The plans of a parameter set.

use super::{DIGIT_EXCESS_BITS, Params};
use crate::chain::Tail;
use crate::plan::SwitchPlan;
use homaes_leveled::Gadget;

impl Params {
    pub(crate) fn switch_plan(&self, level: usize, to_level: usize) -> SwitchPlan {
        let gadget = Gadget {
            special: self.special_from()..self.prime_count(),
            digit_of: &|i| self.digit_of(i),
            excess_bits: DIGIT_EXCESS_BITS,
        };
        let [from, to] = [level, to_level].map(|level| self.basis(level));
        SwitchPlan {
            switch: homaes_leveled::SwitchPlan::new(self.pool(), from, to, &gadget),
            tail: Tail::of(from),
            to_level,
        }
    }
}
