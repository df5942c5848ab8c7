//! The declared parameter sets: the instances of CLT14's Table 1, and toys. None is secure.
//!
//! | set | λ | ℓ | ρ | η | γ | Θ | digits | AES |
//! |---|---|---|---|---|---|---|---|---|
//! | `dghv/toy` | 42 | 9 | 42 | 971 | 0.27·10^6 | 135 | 1 of 468 bits | 128, 192, 256 |
//! | `dghv/small` | 52 | 35 | 52 | 976 | 1.1·10^6 | 525 | 1 of 468 bits | 128, 192, 256 |
//! | `dghv/medium` | 62 | 140 | 62 | 981 | 4.2·10^6 | 2100 | 1 of 456 bits | 128, 192 |
//! | `dghv/large` | 72 | 569 | 72 | 986 | 15.8·10^6 | 8535 | 2 of 304 bits | 128, 192, 256 |
//! | `dghv/extra` | 80 | 1875 | 86 | 993 | 35.9·10^6 | 28125 | 2 of 302 bits | 128, 192, 256 |
//! | `dghv/…-paper` | | | | | | | of 64 bits, unsigned | the same |
//!
//! The table has one column for Θ and τ; here τ, the number of public encryptions of 0, is
//! [`Params::zeros`](crate::Params::zeros).

use homaes_scheme::{Purpose, SetName};

/// Digit decomposition in a conversion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Digits {
    /// η': conversions are modulo 2^η'; η in the paper
    pub target: usize,
    /// ω, bits per digit
    pub word: usize,
    /// digits from -2^(ω-1) to 2^(ω-1), or from 0 to 2^ω as in the paper
    pub signed: bool,
}

impl Digits {
    /// Digits of a number below 2^η'.
    pub const fn count(self) -> usize {
        self.target.div_ceil(self.word)
    }
}

/// A parameter set as declared, in the paper's letters.
#[derive(Clone, Debug, PartialEq)]
pub struct ParamSet {
    /// `dghv/…`
    pub name: SetName,
    /// purpose
    pub purpose: Purpose,
    /// λ, claimed by the paper
    pub lambda: Option<u32>,
    /// ℓ, plaintext bits per ciphertext
    pub slots: usize,
    /// ρ, bits of fresh noise
    pub rho: usize,
    /// η, bits of a secret prime
    pub eta: usize,
    /// γ, bits of a ciphertext
    pub gamma: usize,
    /// Θ, terms of a conversion
    pub theta: usize,
    /// digits of a conversion
    pub digits: Digits,
    /// AES rounds that fit the noise
    pub rounds: usize,
}

/// Table 1, Toy.
pub const TOY: ParamSet = ParamSet {
    name: SetName::from_static("dghv/toy"),
    purpose: Purpose::Paper,
    lambda: Some(42),
    slots: 9,
    rho: 42,
    eta: 971,
    gamma: 270_000,
    theta: 135,
    digits: Digits {
        target: 468,
        word: 468,
        signed: true,
    },
    rounds: 14,
};

/// Table 1, Small.
pub const SMALL: ParamSet = ParamSet {
    name: SetName::from_static("dghv/small"),
    lambda: Some(52),
    slots: 35,
    rho: 52,
    eta: 976,
    gamma: 1_100_000,
    theta: 525,
    ..TOY
};

/// Table 1, Medium.
pub const MEDIUM: ParamSet = ParamSet {
    name: SetName::from_static("dghv/medium"),
    lambda: Some(62),
    slots: 140,
    rho: 62,
    eta: 981,
    gamma: 4_200_000,
    theta: 2100,
    digits: Digits {
        target: 456,
        word: 456,
        signed: true,
    },
    rounds: 12,
    ..SMALL
};

/// Table 1, Large.
pub const LARGE: ParamSet = ParamSet {
    name: SetName::from_static("dghv/large"),
    lambda: Some(72),
    slots: 569,
    rho: 72,
    eta: 986,
    gamma: 15_800_000,
    theta: 8535,
    digits: Digits {
        target: 608,
        word: 304,
        signed: true,
    },
    ..SMALL
};

/// Table 1, Extra.
pub const EXTRA: ParamSet = ParamSet {
    name: SetName::from_static("dghv/extra"),
    lambda: Some(80),
    slots: 1875,
    rho: 86,
    eta: 993,
    gamma: 35_900_000,
    theta: 28125,
    digits: Digits {
        target: 604,
        word: 302,
        signed: true,
    },
    ..SMALL
};

/// The paper's conversion: unsigned digits of 64 bits, η' = η.
const fn of_the_paper(set: ParamSet, name: &'static str) -> ParamSet {
    ParamSet {
        name: SetName::from_static(name),
        digits: Digits {
            target: set.eta,
            word: 64,
            signed: false,
        },
        ..set
    }
}

/// [`TOY`] with the paper's digits.
pub const TOY_PAPER: ParamSet = of_the_paper(TOY, "dghv/toy-paper");

/// [`SMALL`] with the paper's digits.
pub const SMALL_PAPER: ParamSet = of_the_paper(SMALL, "dghv/small-paper");

/// [`MEDIUM`] with the paper's digits.
pub const MEDIUM_PAPER: ParamSet = of_the_paper(MEDIUM, "dghv/medium-paper");

/// Insecure, three slots, for tests.
pub const MICRO: ParamSet = ParamSet {
    name: SetName::from_static("dghv/micro"),
    purpose: Purpose::Toy,
    lambda: None,
    slots: 3,
    rho: 16,
    eta: 640,
    gamma: 8_000,
    theta: 40,
    digits: Digits {
        target: 416,
        word: 208,
        signed: true,
    },
    rounds: 14,
};

/// Insecure, one slot: the scheme of CLT14 §3.
pub const SINGLE: ParamSet = ParamSet {
    name: SetName::from_static("dghv/single"),
    slots: 1,
    gamma: 6_000,
    rounds: 10,
    digits: Digits {
        target: 312,
        word: 312,
        signed: true,
    },
    ..MICRO
};

/// [`MICRO`] with the paper's digits.
pub const MICRO_PAPER: ParamSet = ParamSet {
    rounds: 12,
    ..of_the_paper(MICRO, "dghv/micro-paper")
};

/// All sets, the fast forms of Table 1 first.
pub const ALL: [&ParamSet; 11] = [
    &TOY,
    &SMALL,
    &MEDIUM,
    &LARGE,
    &EXTRA,
    &TOY_PAPER,
    &SMALL_PAPER,
    &MEDIUM_PAPER,
    &MICRO,
    &SINGLE,
    &MICRO_PAPER,
];

/// The set called `name`.
pub fn by_name(name: &str) -> Option<&'static ParamSet> {
    ALL.into_iter().find(|set| set.name.as_str() == name)
}
