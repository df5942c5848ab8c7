//! The declared parameter sets.
//!
//! All three use one chain of primes below 2^47, so that the fastest transform serves everywhere.
//! They are the largest primes of their size that are 1 modulo 65535·256; `tests` re-derives them.
//! Sizes, in bits: last 24.00, low 28.64, middle 38.30, base 9 × 47.00, special 5 × 47.00. With the
//! drops that follow (14.34, 14.30 and 18.36 bits at the three levels of a round) the ratio D of
//! [`crate::noise`] is about 12 at h = 256.

use crate::params::{Chain, ParamSet};
use homaes_params::{Purpose, SetName};

const PAPER: &str =
    "Gentry, Halevi, Smart: Homomorphic Evaluation of the AES Circuit (CRYPTO 2012)";

/// Ten rounds of byte-sliced AES at three levels each.
const TEN_ROUNDS: Chain = Chain {
    last: 16_776_961,
    low: 419_424_001,
    middle: 338_408_060_161,
    base: &[
        140_737_437_991_681,
        140_737_337_329_921,
        140_737_303_776_001,
        140_737_186_337_281,
        140_737_035_344_641,
        140_737_018_567_681,
        140_736_934_682_881,
        140_736_867_575_041,
        140_736_850_798_081,
    ],
    special: &[
        140_736_683_028_481,
        140_736_599_143_681,
        140_736_146_165_761,
        140_736_112_611_841,
        140_736_079_057_921,
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
    fn primes_are_the_largest_of_their_class() {
        let step = 65535 * 256;
        let c = TEN_ROUNDS;
        let top = largest_primes(47, step, 15);
        assert_eq!([c.base, c.special].concat(), {
            let mut expected = top.clone();
            expected.retain(|p| c.base.contains(p) || c.special.contains(p));
            expected
        });
        for p in [&[c.last, c.low, c.middle], c.base, c.special].concat() {
            assert!(is_prime(p) && p % step == 1, "{p}");
        }
    }
}
