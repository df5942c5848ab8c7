//! The plans of a parameter set.

use super::{DIGIT_EXCESS_BITS, Params};
use crate::chain::Tail;
use crate::plan::SwitchPlan;
use homaes_leveled::{Digit, Lowering};

impl Params {
    pub(crate) fn switch_plan(&self, level: usize, to_level: usize) -> SwitchPlan {
        let from = self.basis(level).to_vec();
        let numbers: Vec<usize> = from.iter().map(|&i| self.digit_of(i)).collect();
        let count = numbers.iter().max().map_or(0, |d| d + 1);
        let own = |d: usize| {
            (0..from.len())
                .filter(move |&i| numbers[i] == d)
                .collect::<Vec<_>>()
        };
        let sets: Vec<(usize, Vec<usize>)> = (0..count)
            .map(|d| (d, own.clone()(d)))
            .filter(|(_, o)| !o.is_empty())
            .collect();
        let bits = |o: &[usize]| self.log2(o.iter().map(|&i| from[i]));
        let largest = sets.iter().map(|(_, o)| bits(o)).fold(0.0, f64::max);
        let all = self.set().chain.special.len();
        let special_from = self.special_from();
        let special_bits = |k: usize| self.log2(special_from..special_from + k);
        let special = (1..all)
            .find(|&k| special_bits(k) + DIGIT_EXCESS_BITS >= largest)
            .unwrap_or(all);
        let extended: Vec<usize> = from
            .iter()
            .copied()
            .chain(special_from..special_from + special)
            .collect();
        let excess = |o: &[usize]| (2.0 * (bits(o) - special_bits(special))).exp2();
        let mean = sets.iter().map(|(_, o)| excess(o)).sum::<f64>() / sets.len() as f64;
        let digits = sets
            .into_iter()
            .map(|(number, own)| Digit::new(self.pool(), number, own, &from, &extended))
            .collect();
        let left_out = special_from + special..special_from + all;
        SwitchPlan {
            scale: from
                .iter()
                .map(|&i| {
                    let m = self.modulus(i);
                    m.shoup(m.inv(self.product(m, left_out.clone())))
                })
                .collect(),
            all_special: special == all,
            down: Lowering::new(self.pool(), &extended, self.basis(to_level)),
            tail: Tail::of(&from),
            from,
            extended,
            digits,
            to_level,
            special,
            log2_digit_excess: 0.5 * mean.log2(),
        }
    }
}

impl SwitchPlan {
    /// log2 of every digit's modulus over the special modulus in use.
    pub(crate) fn digit_excesses(&self, params: &Params) -> impl Iterator<Item = f64> {
        let special = self.log2_special(params);
        let own = move |d: &Digit| params.log2(d.own.iter().map(|&at| self.from[at]));
        self.digits.iter().map(move |d| own(d) - special)
    }

    /// Bits by which the switch lowers the modulus.
    pub(crate) fn log2_drop(&self, params: &Params) -> f64 {
        self.down.log2_drop() - self.log2_special(params)
    }

    /// log2 of the special primes in use.
    pub(crate) fn log2_special(&self, params: &Params) -> f64 {
        params.log2(self.extended[self.from.len()..].iter().copied())
    }
}
