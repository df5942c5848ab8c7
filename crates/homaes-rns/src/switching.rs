//! Key switches merged with a modulus switch, planned once per pair of bases.

use crate::context::RnsContext;
use crate::convert::Digit;
use crate::mod_switch::ModSwitch;
use homaes_math::Shoup;
use std::ops::Range;

/// How the keys of a set are made: the special primes, and the digit of every other prime.
pub struct Gadget<'a> {
    /// Number of the part of every key that is made so.
    pub part: usize,
    /// Places of the special primes.
    pub special: Range<usize>,
    /// Digit of the prime with a given index.
    pub digit_of: &'a dyn Fn(usize) -> usize,
    /// Bits by which a digit may exceed the special modulus in use.
    pub excess_bits: f64,
}

/// A key switch in one basis, followed by the modulus switch to another basis without special primes.
///
/// It uses only as many special primes as the largest digit needs. With P the product of all special primes and P_l of
/// those in use, the element is first multiplied by (P/P_l)⁻¹; its digits then meet keys that contain P.
pub struct SwitchPlan {
    /// The basis of the element.
    pub from: Vec<usize>,
    /// The part of every key that is read.
    pub part: usize,
    /// Level of the target.
    pub to_level: usize,
    /// `from`, then the special primes in use.
    pub extended: Vec<usize>,
    /// The digits with primes in `from`.
    pub digits: Vec<Digit>,
    /// (P/P_l)⁻¹ per prime of `from`.
    pub scale: Vec<Shoup>,
    /// P_l modulo each prime of `from`, stored.
    pub special_products: Vec<Shoup>,
    /// Whether all special primes are in use, so that `scale` is 1.
    pub all_special: bool,
    /// The modulus switch to the target.
    pub down: ModSwitch,
    /// log2 of each digit's modulus over P_l.
    pub excesses: Vec<f64>,
    /// log2 of P_l.
    pub log2_special: f64,
}

impl SwitchPlan {
    /// From the basis `from` to the level `to_level`, whose basis is `to`.
    pub fn new(
        rns: &RnsContext,
        from: &[usize],
        (to_level, to): (usize, &[usize]),
        gadget: &Gadget<'_>,
    ) -> Self {
        let numbers: Vec<usize> = from.iter().map(|&i| (gadget.digit_of)(i)).collect();
        let count = numbers.iter().max().map_or(0, |d| d + 1);
        let own = |d: usize| -> Vec<usize> {
            let places = 0..from.len();
            places.filter(|&i| numbers[i] == d).collect()
        };
        let sets = (0..count).map(|d| (d, own(d)));
        let sets: Vec<(usize, Vec<usize>)> = sets.filter(|(_, own)| !own.is_empty()).collect();
        let bits = |own: &[usize]| rns.log2(own.iter().map(|&i| from[i]));
        let largest = sets.iter().map(|(_, own)| bits(own)).fold(0.0, f64::max);
        let Range { start, end } = gadget.special;
        let special_bits = |k: usize| rns.log2(start..start + k);
        let special = (1..end - start)
            .find(|&k| special_bits(k) + gadget.excess_bits >= largest)
            .unwrap_or(end - start);
        let used = start..start + special;
        let extended: Vec<usize> = from.iter().copied().chain(used.clone()).collect();
        let log2_special = rns.log2(used.clone());
        let scale = from.iter().map(|&i| {
            let m = rns.modulus(i);
            m.shoup(m.inv(rns.product(m, used.end..end)))
        });
        let special_products = from.iter().map(|&i| {
            let m = rns.modulus(i);
            m.shoup(m.to_stored(rns.product(m, used.clone())))
        });
        Self {
            part: gadget.part,
            to_level,
            scale: scale.collect(),
            special_products: special_products.collect(),
            all_special: used.end == end,
            down: ModSwitch::new(rns, &extended, to),
            excesses: sets
                .iter()
                .map(|(_, own)| bits(own) - log2_special)
                .collect(),
            digits: sets
                .into_iter()
                .map(|(number, own)| Digit::new(rns, number, own, from, &extended))
                .collect(),
            log2_special,
            from: from.to_vec(),
            extended,
        }
    }

    /// Number of special primes in use.
    pub fn special(&self) -> usize {
        self.extended.len() - self.from.len()
    }

    /// The digits' shares in the variance of key-switching noise: the squares of digit modulus over P_l.
    pub fn shares(&self) -> Vec<f64> {
        let squares = self.excesses.iter().map(|bits| (2.0 * bits).exp2());
        squares.collect()
    }

    /// log2 of the root mean square, over the digits, of digit modulus over P_l.
    pub fn log2_digit_excess(&self) -> f64 {
        0.5 * (self.shares().iter().sum::<f64>() / self.excesses.len() as f64).log2()
    }

    /// Bits by which the modulus shrinks: from that of `from` to that of the target.
    pub fn log2_drop(&self) -> f64 {
        self.down.log2_drop() - self.log2_special
    }
}
