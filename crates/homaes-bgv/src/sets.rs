//! The declared parameter sets.
//!
//! All three use one chain of primes below 2^47, so that the fastest transform serves everywhere, each
//! 1 modulo 65535·256. Sizes in bits: last 28.32, low 27.70, middle 42.17, base 9 × 46.24, special
//! 5 × 47.00. The three levels of a round drop 13.85, 13.85 and 18.54 bits, so that D = 2^drop/ρ is 8.8 at
//! h = 256 and the linear layer's growth of 2^4.03 is taken up.
//!
//! How the sizes came about: a round costs one base prime, which fixes d1 + d2 + dL; the first digit (tail
//! and four base primes, 241 bits) may exceed the special modulus (235 bits) by six bits; the last prime
//! must hold the output noise under the proven bound of [`crate::stability`], not only the typical one. Within
//! that, the split is the one with the smallest computed failure probability. A larger last prime with
//! base primes of 47 bits would break the second condition, one of 24 bits the third.

use crate::params::{Chain, ParamSet};
use homaes_params::{Purpose, SetName};

const PAPER: &str =
    "Gentry, Halevi, Smart: Homomorphic Evaluation of the AES Circuit (CRYPTO 2012)";

/// Ten rounds of byte-sliced AES at three levels each.
const TEN_ROUNDS: Chain = Chain {
    last: 335_539_201,
    low: 218_100_481,
    middle: 4_947_710_050_561,
    base: &[
        83_104_939_791_361,
        83_104_688_136_961,
        83_104_604_252_161,
        83_104_520_367_361,
        83_104_201_605_121,
        83_104_084_166_401,
        83_104_017_058_561,
        83_103_966_727_681,
        83_103_547_303_681,
    ],
    special: &[
        140_737_437_991_681,
        140_737_337_329_921,
        140_737_303_776_001,
        140_737_186_337_281,
        140_737_035_344_641,
    ],
    first_digit: 4,
    digit: 5,
};

/// AES-128, 2048 blocks a batch, at least 128-bit security.
pub const AES128: ParamSet = ParamSet {
    name: SetName::from_static("bgv/aes128"),
    paper: PAPER,
    purpose: Purpose::Secure,
    security_bits_claimed: Some(128),
    m: 65535,
    weight: 256,
    chain: TEN_ROUNDS,
};

/// The smallest ring with 16 slots of GF(2^8): for tests and demonstrations, no security.
pub const TOY_255: ParamSet = ParamSet {
    name: SetName::from_static("bgv/toy-255"),
    paper: PAPER,
    purpose: Purpose::Toy,
    security_bits_claimed: None,
    m: 255,
    weight: 64,
    chain: TEN_ROUNDS,
};

/// 256 slots without the primes 3 and 5: exercises the portable kernels, no security.
pub const TOY_4369: ParamSet = ParamSet {
    name: SetName::from_static("bgv/toy-4369"),
    paper: PAPER,
    purpose: Purpose::Toy,
    security_bits_claimed: None,
    m: 4369,
    weight: 64,
    chain: TEN_ROUNDS,
};

/// Every declared set, secure ones first.
pub const ALL: [&ParamSet; 3] = [&AES128, &TOY_255, &TOY_4369];

/// The set called `name`.
pub fn by_name(name: &str) -> Option<&'static ParamSet> {
    ALL.into_iter().find(|s| s.name.as_str() == name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use homaes_math::prime::{is_prime, largest_primes};

    #[test]
    fn primes_are_the_largest_of_their_size() {
        let step = 65535 * 256;
        let c = TEN_ROUNDS;
        let below = |bits: f64, count| largest_primes(bits.exp2() as u64, step, count);
        assert_eq!(c.special, below(47.0, 5));
        assert_eq!(c.base, below(46.24, 9));
        assert_eq!([c.middle].as_slice(), below(42.17, 1));
        assert_eq!([c.last].as_slice(), below(28.33, 1));
        assert_eq!([c.low].as_slice(), below(28.0, 1));
        for p in [&[c.last, c.low, c.middle], c.base, c.special].concat() {
            assert!(is_prime(p) && p % step == 1, "{p}");
        }
    }
}
