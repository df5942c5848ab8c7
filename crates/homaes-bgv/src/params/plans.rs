//! The plans of a parameter set.

use super::{DIGIT_EXCESS_BITS, Params};
use crate::chain::Tail;
use crate::plan::{Digit, DownPlan, SwitchPlan};
use homaes_math::Modulus;
use homaes_math::rns::Conversion;

impl Params {
    pub(crate) fn down_plan(&self, from: &[usize], to: &[usize]) -> DownPlan {
        let x: Vec<usize> = from.iter().copied().filter(|i| !to.contains(i)).collect();
        let y: Vec<usize> = to.iter().copied().filter(|i| !from.contains(i)).collect();
        let moduli =
            |idx: &[usize]| -> Vec<Modulus> { idx.iter().map(|&i| *self.modulus(i)).collect() };
        let added = |m: &Modulus| self.product(m, y.iter().copied());
        let dropped_inv = |m: &Modulus| m.inv(self.product(m, x.iter().copied()));
        let conversion = Conversion::new(
            &moduli(&x),
            &moduli(to),
            |m| m.sub(0, m.mul(added(m), m.inv(2))),
            |m| m.mul(2, dropped_inv(m)),
        );
        DownPlan {
            dropped: x.iter().map(|&i| position(from, i)).collect(),
            dropped_primes: x.clone(),
            conversion,
            to: to.to_vec(),
            kept: to
                .iter()
                .map(|&i| {
                    let m = self.modulus(i);
                    let at = from.iter().position(|&j| j == i)?;
                    Some((at, m.shoup(m.mul(added(m), dropped_inv(m)))))
                })
                .collect(),
            log2_drop: self.log2(x.iter().copied()) - self.log2(y.iter().copied()),
        }
    }

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
            .map(|(number, own)| self.digit(number, own, &from, &extended))
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
            down: self.down_plan(&extended, self.basis(to_level)),
            tail: Tail::of(&from),
            from,
            extended,
            digits,
            to_level,
            special,
            log2_digit_excess: 0.5 * mean.log2(),
        }
    }

    fn digit(&self, number: usize, own: Vec<usize>, from: &[usize], extended: &[usize]) -> Digit {
        let sources: Vec<Modulus> = own.iter().map(|&i| *self.modulus(from[i])).collect();
        let mut targets = Vec::new();
        let target = extended
            .iter()
            .enumerate()
            .map(|(at, &i)| {
                (!own.contains(&at)).then(|| {
                    targets.push(*self.modulus(i));
                    targets.len() - 1
                })
            })
            .collect();
        Digit {
            number,
            own,
            conversion: Conversion::new(&sources, &targets, |_| 1, |_| 1),
            target,
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
        self.down.log2_drop - self.log2_special(params)
    }

    /// log2 of the special primes in use.
    pub(crate) fn log2_special(&self, params: &Params) -> f64 {
        params.log2(self.extended[self.from.len()..].iter().copied())
    }
}

fn position(basis: &[usize], i: usize) -> usize {
    basis
        .iter()
        .position(|&j| j == i)
        .expect("a dropped prime comes from its source basis")
}
