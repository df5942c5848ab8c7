//! The declared parameter sets.
//!
//! All use chains of primes below 2^47, so that the fastest transform serves everywhere, each 1 modulo
//! 65535·256. Sizes in bits: last 28.32, low 27.00, middle 41.82, base 46.24. The three levels of a
//! round drop 13.50, 13.50 and 19.24 bits, so that D = 2^drop/ρ is 6.9 at h = 256 and the linear
//! layer's growth of 2^4.03 (decrypting 2^4.54) is taken up together with the key-switching noise of many digits.
//!
//! How the sizes came about: a round costs one base prime, which fixes d1 + d2 + dL; a digit may
//! exceed the special modulus by 6.25 bits (`params::DIGIT_EXCESS_BITS`); the last prime
//! must hold the output noise under the proven bound of [`crate::stability`], not only the typical
//! one. Within that, the split is the one with the smallest computed failure probability.
//!
//! A set with T base primes and one more carries T + 1 times three levels. A cipher of R rounds that
//! starts at 3t ends at 3(t - R), or at 1 for t = R. What the modulus has room for at 128 bits
//! (log2 QP at most 833 for n = 32768, h = 256) is shared between levels and special primes: fewer
//! special primes mean more digits and slower, larger keys.
//!
//! | set | levels | digits (base primes, first with the tail) | special | log2 QP |
//! |---|---|---|---|---|
//! | aes128 | 30 | 4, 5 | 5 × 47.0 | 748.3 |
//! | aes192 | 36 | 3, 4, 4 | 4 × 47.0 | 793.8 |
//! | aes128+8 | 39 | 2, 4, 4, 2 | 4 × 44.9 | 831.6 |
//! | aes256, aes192+5 | 42 | 1, 3, 3, 3, 3 | 3 × 44.5 | 831.8 |
//! | aes256+2 | 45 | 0, 2, 2, 2, 2, 2, 2, 2 | 2 × 43.7 | 831.8 |

use crate::params::{Chain, ParamSet};
use homaes_aes::Layout;
use homaes_params::{Purpose, SetName};

const PAPER: &str =
    "Gentry, Halevi, Smart: Homomorphic Evaluation of the AES Circuit (CRYPTO 2012)";

/// The largest primes below 2^46.24.
const BASE: [u64; 18] = [
    83_104_939_791_361,
    83_104_688_136_961,
    83_104_604_252_161,
    83_104_520_367_361,
    83_104_201_605_121,
    83_104_084_166_401,
    83_104_017_058_561,
    83_103_966_727_681,
    83_103_547_303_681,
    83_103_530_526_721,
    83_103_211_764_481,
    83_102_976_887_041,
    83_102_960_110_081,
    83_102_607_793_921,
    83_102_456_801_281,
    83_102_339_362_561,
    83_102_272_254_721,
    83_102_205_146_881,
];

/// The largest primes below 2^47.
const SPECIAL: [u64; 7] = [
    140_737_437_991_681,
    140_737_337_329_921,
    140_737_303_776_001,
    140_737_186_337_281,
    140_737_035_344_641,
    140_737_018_567_681,
    140_736_934_682_881,
];

/// The largest primes below 2^44.9.
const SPECIAL_44_9: [u64; 4] = [
    32_828_098_379_521,
    32_828_048_048_641,
    32_828_014_494_721,
    32_827_980_940_801,
];

/// The largest primes below 2^44.5.
const SPECIAL_44_5: [u64; 3] = [24_879_057_292_801, 24_878_973_408_001, 24_878_939_854_081];

/// The largest primes below 2^43.65.
const SPECIAL_43_65: [u64; 2] = [13_802_455_322_881, 13_802_404_992_001];

/// `rounds` times three levels.
const fn chain(rounds: usize, special: &'static [u64], first_digit: usize, digit: usize) -> Chain {
    Chain {
        last: 335_539_201,
        low: 134_215_681,
        middle: 3_886_902_869_761,
        base: BASE.split_at(rounds - 1).0,
        special,
        first_digit,
        digit,
    }
}

/// What all secure sets share.
const SECURE: ParamSet = ParamSet {
    name: SetName::from_static("bgv/aes128"),
    paper: PAPER,
    purpose: Purpose::Secure,
    security_bits_claimed: Some(128),
    m: 65535,
    weight: 256,
    chain: chain(10, SPECIAL.split_at(5).0, 4, 5),
    spare: 0,
    layouts: &[Layout::Sliced, Layout::Packed],
};

/// AES-128, 2048 blocks a batch (128 packed), at least 128-bit security.
pub const AES128: ParamSet = SECURE;

/// AES-128 with eight multiplications left on the output, or AES-192 with two.
pub const AES128_8: ParamSet = ParamSet {
    name: SetName::from_static("bgv/aes128+8"),
    chain: chain(13, &SPECIAL_44_9, 2, 4),
    spare: 8,
    ..SECURE
};

/// AES-192, or AES-128 with up to five multiplications left.
pub const AES192: ParamSet = ParamSet {
    name: SetName::from_static("bgv/aes192"),
    chain: chain(12, SPECIAL.split_at(4).0, 3, 4),
    ..SECURE
};

/// AES-192 with five multiplications left, or AES-128 with up to eleven.
pub const AES192_5: ParamSet = ParamSet {
    name: SetName::from_static("bgv/aes192+5"),
    spare: 5,
    ..AES256
};

/// AES-256 with two multiplications left: what the ring has room for at 128 bits, with many small digits.
pub const AES256_2: ParamSet = ParamSet {
    name: SetName::from_static("bgv/aes256+2"),
    chain: chain(15, &SPECIAL_43_65, 0, 2),
    spare: 2,
    ..SECURE
};

/// AES-256, or smaller keys with multiplications left.
pub const AES256: ParamSet = ParamSet {
    name: SetName::from_static("bgv/aes256"),
    chain: chain(14, &SPECIAL_44_5, 1, 3),
    ..SECURE
};

/// The smallest ring with 16 slots of GF(2^8): every key size sliced and bit-sliced, for tests and
/// demonstrations, no security.
pub const TOY_255: ParamSet = ParamSet {
    name: SetName::from_static("bgv/toy-255"),
    purpose: Purpose::Toy,
    security_bits_claimed: None,
    m: 255,
    weight: 64,
    chain: chain(19, SPECIAL.split_at(5).0, 4, 5),
    layouts: &[Layout::Sliced, Layout::Bits],
    ..SECURE
};

/// 256 slots without the primes 3 and 5: exercises the portable kernels, no security.
pub const TOY_4369: ParamSet = ParamSet {
    name: SetName::from_static("bgv/toy-4369"),
    m: 4369,
    layouts: &[Layout::Sliced],
    ..TOY_255
};

/// The smallest ring whose slots form the square of the packed layout: 64 blocks to a ciphertext, no security.
pub const TOY_21845: ParamSet = ParamSet {
    name: SetName::from_static("bgv/toy-21845"),
    m: 21845,
    chain: chain(14, &SPECIAL, 6, 7),
    layouts: &[Layout::Sliced, Layout::Packed],
    ..TOY_255
};

/// Every declared set, secure ones first.
pub const ALL: [&ParamSet; 9] = [
    &AES128, &AES128_8, &AES192, &AES192_5, &AES256, &AES256_2, &TOY_255, &TOY_4369, &TOY_21845,
];

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
        let below = |bits: f64, count| largest_primes(bits.exp2() as u64, step, count);
        assert_eq!(SPECIAL.as_slice(), below(47.0, 7));
        assert_eq!(SPECIAL_44_9.as_slice(), below(44.9, 4));
        assert_eq!(SPECIAL_44_5.as_slice(), below(44.5, 3));
        assert_eq!(SPECIAL_43_65.as_slice(), below(43.65, 2));
        assert_eq!(BASE.as_slice(), below(46.24, 18));
        let c = TOY_255.chain;
        assert_eq!([c.middle].as_slice(), below(41.8218, 1));
        assert_eq!([c.last].as_slice(), below(28.33, 1));
        assert_eq!([c.low].as_slice(), below(27.0, 1));
        for p in ALL.iter().flat_map(|s| {
            [
                &[s.chain.last, s.chain.low, s.chain.middle],
                s.chain.base,
                s.chain.special,
            ]
            .concat()
        }) {
            assert!(is_prime(p) && p % step == 1, "{p}");
        }
    }
}
