//! Checks of parameter sets.

use super::{ParamSet, Params, TAIL};
use crate::chain::{Chain, KeyPart, OneDigit, Steps, Tail};
use homaes_aes::Layout;
use homaes_math::sample::LOT;
use std::ops::RangeInclusive;

const MAX_DIGITS: usize = 12;
/// Most source primes of a base conversion: it combines sixteen words, one of which is the quotient.
const CONVERSION_SOURCES: usize = 15;
const MAX_PRIMES: usize = 64;

/// Reason why a [`ParamSet`] is unusable.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ParamsError {
    /// The conductor is too small, or not a product of distinct primes 3, 5, 17, 257 that includes 17.
    #[error(
        "conductor {m}: expected a product of distinct primes 3, 5, 17, 257 that includes 17, of a ring whose degree is \
         a multiple of {LOT}"
    )]
    Conductor {
        /// found
        m: u64,
    },
    /// A modulus is unusable in this ring.
    #[error("modulus {p}: expected a prime below 2^48 that is 1 modulo {step}")]
    Modulus {
        /// found
        p: u64,
        /// expected residue class
        step: u64,
    },
    /// Two moduli coincide.
    #[error("modulus {p} appears twice")]
    Repeated {
        /// found
        p: u64,
    },
    /// The secret's weight does not fit the ring.
    #[error("secret weight {weight}: expected 1 to {n}")]
    Weight {
        /// found
        weight: usize,
        /// ring degree
        n: usize,
    },
    /// The ring or the chain cannot carry a layout.
    #[error("layout {layout}: {why}")]
    Layout {
        /// declared
        layout: Layout,
        /// what is missing
        why: &'static str,
    },
    /// The chain of moduli has an unusable shape.
    #[error("{what}: found {found}, expected {expected:?}")]
    Chain {
        /// which number
        what: &'static str,
        /// found
        found: usize,
        /// expected
        expected: RangeInclusive<usize>,
    },
}

impl Params {
    /// No digit of any level may exceed the special modulus by more than [`Params::digit_excess`].
    pub(super) fn check_digits(&self) -> Result<(), ParamsError> {
        for (what, one_digit) in [
            ("bits of the largest digit", false),
            ("bits of the only digit", true),
        ] {
            let special = self.specials(KeyPart::new(Tail::Outer, one_digit));
            let limit = self.log2(special) + self.digit_excess();
            let levels = 1..=self.top_level();
            let levels = levels.filter(|&level| !one_digit || level <= self.one_digit_level());
            let digits = levels.flat_map(|level| {
                let part = KeyPart::new(Tail::of(self.basis(level)), one_digit);
                (0..self.digits_at(level, part)).map(move |digit| {
                    let own = self.basis(level).iter().copied();
                    self.log2(own.filter(|&i| self.digit_of(part, i) == digit))
                })
            });
            let largest = digits.fold(0.0, f64::max);
            if largest > limit {
                return Err(ParamsError::Chain {
                    what,
                    found: largest.ceil() as usize,
                    expected: 1..=limit as usize,
                });
            }
        }
        Ok(())
    }
}

/// Checks the counts of a chain before anything is computed from it.
pub(super) fn counts(c: &Chain) -> Result<(), ParamsError> {
    let within = |what, found, expected: RangeInclusive<usize>| {
        if expected.contains(&found) {
            return Ok(());
        }
        Err(ParamsError::Chain {
            what,
            found,
            expected,
        })
    };
    let (base, special) = (c.base.len(), c.special.len());
    within("base primes", base, 1..=MAX_PRIMES)?;
    // a switch drops the special primes and at most two of the tail
    within("special primes", special, 1..=CONVERSION_SOURCES - 2)?;
    within("primes in all", TAIL + base + special, 1..=MAX_PRIMES)?;
    within("base primes of the first digit", c.first_digit, 0..=base)?;
    within("base primes of a digit", c.digit, 1..=MAX_PRIMES)?;
    // a level's basis has at most two tail primes
    within(
        "primes of the first digit",
        2 + c.first_digit,
        1..=CONVERSION_SOURCES,
    )?;
    within(
        "primes of a further digit",
        c.digit.min(base - c.first_digit),
        0..=CONVERSION_SOURCES,
    )?;
    let digits = 1 + (base - c.first_digit).div_ceil(c.digit);
    within("digits", digits, 1..=MAX_DIGITS)?;
    if let Some(OneDigit {
        rounds,
        special: further,
    }) = c.one_digit
    {
        let special = special + further.len();
        within("special primes", special, 1..=CONVERSION_SOURCES - 2)?;
        within("primes in all", TAIL + base + special, 1..=MAX_PRIMES)?;
        let most = match c.steps {
            // two tail primes, and one base prime for each round but the last
            Steps::Three => base.min(CONVERSION_SOURCES - 2) + 1,
            Steps::Four => 0,
        };
        within("rounds in one digit", rounds, 1..=most)?;
    }
    match c.steps {
        Steps::Three => Ok(()),
        Steps::Four => within("base primes beyond pairs", base % 2, 0..=0),
    }
}

/// The chain of results is the beginning of the cipher's: results keep their primes.
pub(super) fn results(own: &Chain, cipher: &Chain) -> Result<(), ParamsError> {
    let tail = |c: &Chain| (c.steps, c.last, c.low, c.middle);
    let common = own.base.iter().zip(cipher.base).take_while(|(a, b)| a == b);
    let common = common.count();
    let expected = own.base.len()..=cipher.base.len();
    if tail(own) == tail(cipher) && expected.contains(&common) {
        return Ok(());
    }
    Err(ParamsError::Chain {
        what: "base primes that results share with AES",
        found: common,
        expected,
    })
}

/// Packing needs two independent rotations of order four (see [`crate::aes::packed`]).
pub(super) fn layouts(set: &ParamSet) -> Result<(), ParamsError> {
    let square = set.m.is_multiple_of(5) && set.m.is_multiple_of(257);
    let bytes = set.layouts.iter().find(|&&l| l != Layout::Bits);
    if let (Steps::Four, Some(&layout)) = (set.chain.steps, bytes) {
        return Err(ParamsError::Layout {
            layout,
            why: "needs a chain of three levels a round",
        });
    }
    if set.layouts.contains(&Layout::Packed) && !square {
        return Err(ParamsError::Layout {
            layout: Layout::Packed,
            why: "needs a conductor divisible by 5 and 257",
        });
    }
    Ok(())
}
