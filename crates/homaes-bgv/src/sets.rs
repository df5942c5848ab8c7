//! The declared parameter sets.
//!
//! Primes are 1 modulo 65535·256 and, except in sets with AES in K (below), less than 2^47, so the fastest transform
//! serves everywhere. A round costs one base prime, which fixes d1 + d2 + dL, the bits that its three levels drop. D =
//! 2^d/ρ keeps noise from growing, and ρ grows with the weight h of the secret, so there are two sizes of rounds:
//!
//! | h | last, low, middle, base (log2) | d1, d2, dL | D | sets |
//! |---|---|---|---|---|
//! | 256 | 28.32, 27.00, 41.82, 46.24 | 13.50, 13.50, 19.24 | 6.9 | aes128, aes128+8, aes192, bridge128 and the toys |
//! | 384 | 28.32, 27.46, 42.05, 46.985 | 13.73, 13.73, 19.53 | 6.6 | aes192+5, aes256 |
//! | 256 | 29.29, 27.46, 43.02, 46.985 | 13.73, 13.73, 19.53 | 8.1 | aes128-p128, bridge128-p128 |
//!
//! The split has the smallest failure bound (`noise::runaway`), and the last prime holds the output noise
//! under that bound. A digit may exceed the special modulus by 6.25 bits (`Params::digit_excess`; 4.6 in K), and by
//! less where all digits do so, as the switch of S2 follows the linear layer. AES decryption multiplies noise by 2^4.54
//! there, encryption by 2^4.03.
//!
//! A set with T base primes has 3(T + 1) levels. A cipher of R rounds that starts at 3t ends at 3(t - R), or at 1 for
//! t = R. The largest published modulus QP consists of last, low, base and special primes; the middle prime is in keys
//! of its own (module `params`). Fewer special primes mean more digits and slower, larger keys. Key parts for the last
//! seven rounds have enough special primes to hold these rounds in one digit ([`OneDigit`]); log2 of all their primes
//! is less than QP:
//!
//! | set | base primes and tail | further special primes | log2 of all |
//! |---|---|---|---|
//! | aes128, aes192, bridge128 | 332.8 | 2, 3, 3 × 47.0 | 661.8 |
//! | aes128+8 | 332.8 | 5 × 47.0 | 701.3 |
//! | aes256, aes192+5 | 337.7 | 5 × 47.0 | 709.5 |
//! | aes128-p128, bridge128-p128 | 338.7 | 4 × 47.0 | 714.7 |
//!
//! In aes128-p128 the key parts in one digit have the largest modulus.
//!
//! For an eighth round, 379 bits, they would need 755 bits in all, which is more than QP of aes128 and costs eight bits
//! of its security.
//!
//! | set | h | levels | digits (base primes, first with the tail) | special | log2 QP |
//! |---|---|---|---|---|---|
//! | aes128 | 256 | 30 | 4, 5 | 5 × 47.0 | 706.5 |
//! | aes128-p128 | 256 | 30 | 2, 4, 3 | 4 × 47.0 | 667.6 |
//! | aes192, bridge128 | 256 | 36 | 3, 4, 4 | 4 × 47.0 | 751.9 |
//! | bridge128-p128 | 256 | 36 | 2, 3, 3, 3 | 4 × 47.0 | 761.6 |
//! | aes128+8 | 256 | 39 | 1, 3, 3, 3, 2 | 3 × 44.5 | 743.7 |
//! | aes256, aes192+5 | 384 | 42 | 1, 3, 3, 3, 3 | 3 × 45.6 | 803.4 |
//! | bits128 | 640 | 41, four a round | 0, then 2 each | 2 × 34.0 | 834.5 |
//!
//! **Final results.** A set joins them in pairs (`codec/rounded.rs`) if the bound that key generation tests leaves ten
//! bits (`nightly_results_are_joined_where_keys_leave_room`, docs/noise.md): not aes128+8, nor the sets of weight 384.
//!
//! **Bits.** The chain of `bits128` has the four levels of a bit-sliced round ([`crate::Steps::Four`]): last 24.00,
//! middle 41.13, low 44.63, base primes of 38.5 and 35.76 bits in turn. The switches behind the four levels of
//! conjunctions drop 18.61, 17.13, 17.86 and 20.63 bits: D = 2^7.24, 2^5.76, 2^6.49 and 2^9.26. The last is behind sums
//! of up to 40 products, the first behind sums of state bits. Together these four D have 28.75 bits a round;
//! [`SwitchedBits`](homaes_rns::noise::SwitchedBits) bounds the failure probability by 2^-64 from 26.25 bits on, for a
//! key whose largest embedding is 11 times the usual one (`nightly_splits_of_the_drops`), so 2.5 bits a round are
//! spare. The weight 640 costs 0.65 bits a level over 256, 26 in all, and raises the modulus at which 128 bits end from
//! 790 to 842.
//!
//! **AES in K.** Two sets evaluate AES in K = R\[w\] (module `leave`), of degree 65536, with primes below 2^48 and h = 130:
//! last 27.70, low 28.32, middle 41.86, base 48.00, so drops of 14.16, 14.16 and 19.68 and D = 7.2. The last twelve
//! rounds are one digit with thirteen special primes. K admits primes that are 1, 2 or 4 modulo 7.
//!
//! | set | levels | digits (base primes, first with the tail) | special | log2 QP |
//! |---|---|---|---|---|
//! | aes256+8 | 51 | 7, 9 | 9 × 48.0 | 1256.0 |
//! | aes256+17 | 60 | 5, 7, 7 | 7 × 48.0 | 1304.0 |
//!
//! Results are in R at levels up to 21, in digits of three base primes with five special ones, log2 QP = 579.0 at
//! h = 384; the key between both rings has 728.0.
//!
//! The weight 384 is for the long chains, where it gives 130 bits with the ring's rotations counted (`tools/estimate`).
//! At h = 256 such a chain has 13 bits less, 790 bits, which is where 128 bits end; at h = 384 they end at 818. A
//! larger weight would need base primes above 2^47 for the same D.

use crate::circuit::lift::LIFT_LEVEL;
use crate::params::{Chain, Cipher, OneDigit, ParamSet, Steps};
use homaes_aes::Layout;
use homaes_scheme::{Purpose, SetName};

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

/// The fifth to the eighth of them.
const FURTHER: [u64; 4] = [
    140_737_035_344_641,
    140_737_018_567_681,
    140_736_934_682_881,
    140_736_867_575_041,
];

/// The largest primes below 2^46.985.
const BASE_46_985: [u64; 13] = [
    139_281_634_064_641,
    139_281_483_072_001,
    139_281_281_748_481,
    139_281_264_971_521,
    139_281_214_640_641,
    139_280_862_324_481,
    139_280_828_770_561,
    139_280_728_108_801,
    139_280_661_000_961,
    139_280_426_123_521,
    139_280_258_353_921,
    139_280_191_246_081,
    139_280_023_476_481,
];

/// The largest primes below 2^45.6.
const SPECIAL_45_6: [u64; 3] = [53_329_493_168_641, 53_329_275_068_161, 53_328_939_528_961];

/// The largest primes below 2^44.5.
const SPECIAL_44_5: [u64; 3] = [24_879_057_292_801, 24_878_973_408_001, 24_878_939_854_081];

/// In turn, the largest primes below 2^38.5 and 2^35.76, dropped behind a round's third and first conjunctions.
const BASE_BITS: [u64; 20] = [
    388_487_285_761,
    58_148_943_361,
    388_470_508_801,
    57_897_288_961,
    388_269_185_281,
    57_830_181_121,
    388_051_084_801,
    57_813_404_161,
    387_900_092_161,
    57_679_188_481,
    387_849_761_281,
    57_578_526_721,
    387_715_545_601,
    57_461_088_001,
    387_530_999_041,
    57_410_757_121,
    387_312_898_561,
    57_310_095_361,
    387_229_013_761,
    57_242_987_521,
];

/// The largest primes below 2^34.03.
const SPECIAL_34_03: [u64; 2] = [17_364_153_601, 17_297_045_761];

/// The largest primes below 2^48 that K admits, for keys.
const SPECIAL_K: [u64; 13] = [
    281_474_758_544_641,
    281_474_657_882_881,
    281_474_406_228_481,
    281_474_339_120_641,
    281_473_953_250_561,
    281_473_517_049_601,
    281_473_114_402_561,
    281_472_879_525_121,
    281_472_460_101_121,
    281_472_191_669_761,
    281_472_074_231_041,
    281_471_956_792_321,
    281_471_705_137_921,
];

/// The next smaller ones.
const BASE_K: [u64; 19] = [
    281_471_587_699_201,
    281_471_470_260_481,
    281_471_352_821_761,
    281_471_168_275_201,
    281_470_782_405_121,
    281_470_648_189_441,
    281_470_111_326_721,
    281_469_708_679_681,
    281_468_551_069_441,
    281_468_433_630_721,
    281_467_963_875_841,
    281_467_494_120_961,
    281_466_940_481_281,
    281_465_715_763_201,
    281_465_531_216_641,
    281_465_413_777_921,
    281_465_380_224_001,
    281_465_262_785_281,
    281_464_709_145_601,
];

/// `rounds` times three levels with the primes of K.
const fn chain_k(
    rounds: usize,
    special: &'static [u64],
    first_digit: usize,
    digit: usize,
) -> Chain {
    Chain {
        last: 218_100_481,
        low: 335_539_201,
        middle: 3_996_540_303_361,
        base: BASE_K.split_at(rounds - 1).0,
        ..chain(2, special, first_digit, digit)
    }
}

/// `rounds` rounds in K: one digit in the last twelve, else digits of as many primes as there are special ones.
const fn cipher(rounds: usize, special: usize, first_digit: usize) -> Cipher {
    let (special, further) = SPECIAL_K.split_at(special);
    Cipher {
        weight: 130,
        chain: Chain {
            one_digit: Some(OneDigit {
                rounds: 12,
                special: further,
            }),
            ..chain_k(rounds, special, first_digit, special.len())
        },
    }
}

/// AES in K with keys in two digits.
const CIPHER: Cipher = cipher(17, 9, 7);

/// The chain of results of AES in K: up to seven rounds.
const RESULTS: Chain = chain_k(7, SPECIAL.split_at(5).0, 3, 3);

/// `rounds` times three levels for a secret of weight 256.
const fn chain(rounds: usize, special: &'static [u64], first_digit: usize, digit: usize) -> Chain {
    Chain {
        steps: Steps::Three,
        last: 335_539_201,
        low: 134_215_681,
        middle: 3_886_902_869_761,
        base: BASE.split_at(rounds - 1).0,
        special,
        first_digit,
        digit,
        one_digit: None,
    }
}

/// Adds key parts for the last seven rounds, whose only digit has up to 333 bits, 338 for weight [`HEAVY`].
const fn with_one_digit(chain: Chain, special: &'static [u64]) -> Chain {
    let rounds = 7;
    Chain {
        one_digit: Some(OneDigit { rounds, special }),
        ..chain
    }
}

/// `rounds` times three levels for a secret of weight [`HEAVY`].
const fn heavy(rounds: usize, special: &'static [u64], first_digit: usize, digit: usize) -> Chain {
    Chain {
        low: 184_546_561,
        middle: 4_553_015_289_601,
        base: BASE_46_985.split_at(rounds - 1).0,
        ..chain(rounds, special, first_digit, digit)
    }
}

/// `rounds` times three levels for a secret of weight 256 and failures of at most 2^-128 a batch.
const fn p128(rounds: usize, digit: usize) -> Chain {
    let chain = Chain {
        last: 654_301_441,
        low: 184_546_561,
        middle: 8_918_699_043_841,
        base: BASE_46_985.split_at(rounds - 1).0,
        ..chain(rounds, SPECIAL.split_at(4).0, 2, digit)
    };
    with_one_digit(chain, &FURTHER)
}

/// Weight of the secret in the sets with the longest chains.
const HEAVY: usize = 384;

/// The base of all secure sets.
const SECURE: ParamSet = ParamSet {
    name: SetName::from_static("bgv/aes128"),
    paper: PAPER,
    purpose: Purpose::Secure,
    security_bits_claimed: Some(128),
    m: 65535,
    weight: 256,
    chain: with_one_digit(
        chain(10, SPECIAL.split_at(5).0, 4, 5),
        SPECIAL.split_at(5).1,
    ),
    spare: 0,
    layouts: &[Layout::Sliced, Layout::Packed],
    log2_p_fail: -64.0,
    joins: true,
    cipher: None,
};

/// AES-128, 2048 blocks a batch (128 packed), at least 128-bit security.
pub const AES128: ParamSet = SECURE;

/// AES-128 with a failure probability of at most 2^-128 a batch: larger drops, and a larger last prime.
pub const AES128_P128: ParamSet = ParamSet {
    name: SetName::from_static("bgv/aes128-p128"),
    chain: p128(10, 4),
    log2_p_fail: -128.0,
    ..SECURE
};

/// AES-128 with eight multiplications left on the output, or AES-192 with two.
pub const AES128_8: ParamSet = ParamSet {
    name: SetName::from_static("bgv/aes128+8"),
    chain: with_one_digit(chain(13, &SPECIAL_44_5, 1, 3), SPECIAL.split_at(5).0),
    spare: 8,
    joins: false,
    ..SECURE
};

/// AES-192, or AES-128 with up to five multiplications left.
pub const AES192: ParamSet = ParamSet {
    name: SetName::from_static("bgv/aes192"),
    chain: with_one_digit(
        chain(12, SPECIAL.split_at(4).0, 3, 4),
        SPECIAL.split_at(4).1,
    ),
    ..SECURE
};

/// AES-128 with the five multiplications left that lifting its bits to modulo 32 takes, for a bridge to TFHE.
pub const BRIDGE128: ParamSet = ParamSet {
    name: SetName::from_static("bgv/bridge128"),
    spare: LIFT_LEVEL - 1,
    ..AES192
};

/// The same with a failure probability of at most 2^-128 a batch, of AES and of the bridge. Digits of three base primes
/// are as many as digits of four, and leave less noise.
pub const BRIDGE128_P128: ParamSet = ParamSet {
    name: SetName::from_static("bgv/bridge128-p128"),
    chain: p128(12, 3),
    spare: LIFT_LEVEL - 1,
    ..AES128_P128
};

/// AES-192 with five multiplications left, or AES-128 with up to eleven.
pub const AES192_5: ParamSet = ParamSet {
    name: SetName::from_static("bgv/aes192+5"),
    spare: 5,
    ..AES256
};

/// AES-256, or smaller keys with multiplications left.
pub const AES256: ParamSet = ParamSet {
    name: SetName::from_static("bgv/aes256"),
    weight: HEAVY,
    chain: with_one_digit(heavy(14, &SPECIAL_45_6, 1, 3), SPECIAL.split_at(5).0),
    joins: false,
    ..SECURE
};

/// AES-128 bit by bit (GHS12 §4.2), 2048 blocks a batch: forty levels, four a round.
pub const BITS128: ParamSet = ParamSet {
    name: SetName::from_static("bgv/bits128"),
    weight: 640,
    chain: Chain {
        steps: Steps::Four,
        last: 16_776_961,
        low: 27_224_795_063_041,
        middle: 2_405_899_948_801,
        base: &BASE_BITS,
        special: &SPECIAL_34_03,
        first_digit: 0,
        digit: 2,
        one_digit: None,
    },
    layouts: &[Layout::Bits],
    joins: false,
    ..SECURE
};

/// The smallest ring with 16 slots of GF(2^8), for tests: every key size sliced and bit-sliced, no security.
pub const TOY_255: ParamSet = ParamSet {
    name: SetName::from_static("bgv/toy-255"),
    purpose: Purpose::Toy,
    security_bits_claimed: None,
    m: 255,
    weight: 64,
    chain: chain(19, SPECIAL.split_at(5).0, 4, 5),
    layouts: &[Layout::Sliced, Layout::Bits],
    joins: false,
    ..SECURE
};

/// 256 slots without the primes 3 and 5: exercises the portable kernels, no security.
pub const TOY_4369: ParamSet = ParamSet {
    name: SetName::from_static("bgv/toy-4369"),
    m: 4369,
    chain: with_one_digit(TOY_255.chain, SPECIAL.split_at(5).1),
    layouts: &[Layout::Sliced],
    joins: true,
    ..TOY_255
};

/// The smallest ring whose slots form the square of the packed layout: 64 blocks to a ciphertext, no security.
pub const TOY_21845: ParamSet = ParamSet {
    name: SetName::from_static("bgv/toy-21845"),
    m: 21845,
    chain: chain(14, &SPECIAL, 6, 7),
    layouts: &[Layout::Sliced, Layout::Packed],
    joins: true,
    ..TOY_255
};

/// AES in K over the smallest ring, for tests: 32 blocks a batch, no security.
pub const TOY_K_255: ParamSet = ParamSet {
    name: SetName::from_static("bgv/toy-k-255"),
    chain: RESULTS,
    spare: 8,
    layouts: &[Layout::Sliced],
    cipher: Some(Cipher {
        weight: 64,
        ..CIPHER
    }),
    ..TOY_255
};

/// The smallest K whose slots form squares of the packed layout: 128 blocks to a ciphertext, no security.
pub const TOY_K_21845: ParamSet = ParamSet {
    name: SetName::from_static("bgv/toy-k-21845"),
    m: 21845,
    layouts: &[Layout::Sliced, Layout::Packed],
    ..TOY_K_255
};

/// AES-256 with eight multiplications left, AES-192 with fourteen, AES-128 with twenty: 4096 blocks a batch (256
/// packed), in both directions.
pub const AES256_8: ParamSet = ParamSet {
    name: SetName::from_static("bgv/aes256+8"),
    weight: HEAVY,
    chain: RESULTS,
    spare: 8,
    joins: false,
    cipher: Some(CIPHER),
    ..SECURE
};

/// As [`AES256_8`], with three more rounds, in three digits: AES-256 leaves seventeen multiplications, smaller keys up
/// to twenty.
pub const AES256_17: ParamSet = ParamSet {
    name: SetName::from_static("bgv/aes256+17"),
    spare: 17,
    cipher: Some(cipher(20, 7, 5)),
    ..AES256_8
};

/// Every declared set, secure ones first.
pub const ALL: [&ParamSet; 16] = [
    &AES128,
    &AES128_P128,
    &AES128_8,
    &AES192,
    &AES192_5,
    &AES256,
    &AES256_8,
    &AES256_17,
    &BITS128,
    &BRIDGE128,
    &BRIDGE128_P128,
    &TOY_255,
    &TOY_4369,
    &TOY_21845,
    &TOY_K_255,
    &TOY_K_21845,
];

/// The set called `name`.
pub fn by_name(name: &str) -> Option<&'static ParamSet> {
    ALL.into_iter().find(|s| s.name.as_str() == name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use homaes_math::prime::{is_prime, largest_primes};
    use homaes_math::ring::Ring;

    #[test]
    fn primes_are_the_largest_of_their_size() {
        let step = 65535 * 256;
        let below = |bits: f64, count| largest_primes(bits.exp2() as u64, step, count);
        let turns = below(38.5, 10).into_iter().zip(below(35.76, 10));
        let turns: Vec<u64> = turns.flat_map(|(a, b)| [a, b]).collect();
        let [bits, toy, long] = [BITS128.chain, TOY_255.chain, AES256.chain];
        for (found, expected) in [
            (&SPECIAL_34_03[..], below(34.03, 2)),
            (&[bits.middle], below(41.13, 1)),
            (&[bits.low], below(44.63, 1)),
            (&[bits.last], below(24.01, 1)),
            (bits.base, turns),
            (&SPECIAL, below(47.0, 7)),
            (&FURTHER, below(47.0, 8)[4..].to_vec()),
            (&SPECIAL_44_5, below(44.5, 3)),
            (&SPECIAL_45_6, below(45.6, 3)),
            (&BASE_46_985, below(46.985, 13)),
            (&BASE, below(46.24, 18)),
            (&[toy.middle], below(41.8218, 1)),
            (&[toy.last], below(28.33, 1)),
            (&[toy.low], below(27.0, 1)),
            (&[long.middle], below(42.05, 1)),
            (&[long.low], below(27.5, 1)),
        ] {
            assert_eq!(found, expected);
        }
        let ring = Ring::new(65535).unwrap().extended();
        let mut admitted = below(48.0, 100);
        admitted.retain(|&p| ring.admits(p));
        assert_eq!([&SPECIAL_K[..], &BASE_K].concat(), admitted[..32]);
        let ciphers = ALL.iter().filter_map(|set| set.cipher.as_ref());
        for c in ALL
            .iter()
            .map(|set| &set.chain)
            .chain(ciphers.map(|c| &c.chain))
        {
            let tail = [c.last, c.low, c.middle];
            for &p in tail.iter().chain(c.base).chain(c.special) {
                assert!(is_prime(p) && p % step == 1, "{p}");
            }
        }
    }
}
