//! The primes of a set, and those in the modulus of each level.
//!
//! **RNS** (DHS14 §4, with q = ∏ p_i for p^L). The modulus of level ℓ is the product of the first ℓ primes, so each
//! modulus divides those above, and a ciphertext comes down by dropping limbs. The primes are the largest below 2^32,
//! so that two residues share a word in memory: 41 primes from 2^27.7 to 2^32 for m = 65535. Levels with small products
//! drop small primes. The next smaller prime is special: without it, relinearisation adds noise of 2^25.6 at an
//! embedding, 2^28 times as much as with the paper's 1271 digits of one bit, and at 31 bits per level noise runs away
//! in the third round of AES (n = 32768).
//!
//! **Hybrid.** A state with r rounds left is at level 4r + 1:
//!
//! ```text
//! level 4r + 1   b_1 … b_2r · high        level 4r - 1   b_1 … b_{2r-1} · high
//! level 4r       b_1 … b_2r · low         level 4r - 2   b_1 … b_{2r-1} · low
//! level 1        low
//! ```
//!
//! A round drops two base primes, which the tail divides into four drops: 22.1, 20.7, 22.1 and 24.3 bits. The
//! transform needs primes between 2^24 and 2^47, so levels of 22 bits cannot have one prime each. Keys are modulo base,
//! tail and special primes.

use crate::sets::{ParamSet, Variant};
use homaes_math::prime::largest_primes;
use std::ops::Range;

/// log2 of the bounds of a hybrid chain's tail primes.
const LOW: f64 = 24.0;
const HIGH: f64 = 46.1;
/// log2 of the bounds of base primes b_1, b_3, … and b_2, b_4, …, and of special primes.
const BASE_ODD: f64 = 46.4;
const BASE_EVEN: f64 = 42.8;
const SPECIAL: f64 = 44.07;
/// Number of special primes, and of other primes per digit.
const SPECIALS: usize = 7;
const DIGIT: usize = 7;

pub(crate) struct Chain {
    pub(crate) primes: Vec<u64>,
    /// primes of each level; index 0 is unused
    pub(crate) levels: Vec<Vec<usize>>,
    pub(crate) special: Range<usize>,
    /// for every prime that is not special
    pub(crate) digit_of: Vec<usize>,
}

impl Chain {
    pub(crate) fn new(set: &ParamSet, step: u64) -> Self {
        match set.variant {
            Variant::Rns => Self::rns(set, step),
            Variant::Hybrid => Self::hybrid(set, step),
            Variant::Paper { .. } => unreachable!("sets of residues"),
        }
    }

    pub(crate) fn with_special(&self, level: usize) -> Vec<usize> {
        let own = self.levels[level].iter().copied();
        own.chain([self.special.start]).collect()
    }

    fn rns(set: &ParamSet, step: u64) -> Self {
        let (top, depth) = (set.top_level(), set.sbox.levels());
        let mut sorted = largest_primes(1 << 32, step, top + 1);
        let special = sorted.pop();
        sorted.sort_unstable();
        // levels of a round by the bits they need: products of bits of norms least, sums of up to 40 products most
        let order: &[usize] = match depth {
            4 => &[1, 2, 0, 3],
            _ => &[1, 0, 2],
        };
        // level 1 keeps the largest
        let mut primes = vec![sorted[top - 1]; top];
        let mut next = sorted.into_iter();
        for &place in order {
            let own = (2..=top).filter(|&level| (top - level) % depth == place);
            for level in own {
                primes[level - 1] = next.next().expect("one prime for every level");
            }
        }
        Self {
            levels: (0..=top).map(|level| (0..level).collect()).collect(),
            special: top..top + 1,
            digit_of: (0..top).collect(),
            primes: primes.into_iter().chain(special).collect(),
        }
    }

    fn hybrid(set: &ParamSet, step: u64) -> Self {
        let below = |log2: f64, count| largest_primes(log2.exp2() as u64, step, count);
        let rounds = set.rounds;
        let [odd, even] = [BASE_ODD, BASE_EVEN].map(|log2| below(log2, rounds));
        let base = odd
            .into_iter()
            .zip(even)
            .flat_map(|(odd, even)| [odd, even]);
        let mut primes = [below(LOW, 1), below(HIGH, 1)].concat();
        primes.extend(base);
        let special = primes.len()..primes.len() + SPECIALS;
        primes.extend(below(SPECIAL, SPECIALS));
        let level = |level: usize| -> Vec<usize> {
            let pairs = (level + 2) / 4 * 2;
            let (base, tail) = match level % 4 {
                _ if level <= 1 => (0, 0),
                1 => (pairs, 1),
                0 => (pairs, 0),
                3 => (pairs - 1, 1),
                _ => (pairs - 1, 0),
            };
            (2..2 + base).chain([tail]).collect()
        };
        Self {
            levels: (0..=set.top_level()).map(level).collect(),
            digit_of: (0..special.start)
                .map(|i| i.saturating_sub(1) / DIGIT)
                .collect(),
            special,
            primes,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sets;

    #[test]
    fn the_levels_of_a_hybrid_round() {
        let chain = Chain::new(&sets::HYBRID, 65535 * 256);
        let [t, high] = [0, 1];
        assert_eq!(chain.levels[1], [t]);
        assert_eq!(chain.levels[2], [2, t]);
        assert_eq!(chain.levels[3], [2, high]);
        assert_eq!(chain.levels[4], [2, 3, t]);
        assert_eq!(chain.levels[5], [2, 3, high]);
        assert_eq!(chain.levels[6], [2, 3, 4, t]);
        assert_eq!(chain.levels[41].len(), 21);
        let log2 = |primes: &[u64]| primes.iter().map(|&p| (p as f64).log2()).sum::<f64>();
        let all = log2(&chain.primes);
        assert!((1265.0..1271.0).contains(&all), "{all}");
        // three digits, at most slightly above the special modulus
        let special = log2(&chain.primes[chain.special.clone()]);
        for digit in 0..3 {
            let own = chain.levels[41]
                .iter()
                .filter(|&&i| chain.digit_of[i] == digit);
            let own: Vec<u64> = own.map(|&i| chain.primes[i]).collect();
            assert_eq!(own.len(), 7);
            assert!(log2(&own) - special < 5.6);
        }
    }
}
