//! The chain of moduli by the roles of its primes; `params` explains how it is cut into levels.

/// How a chain is cut into levels; see `params`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Steps {
    /// three levels and one base prime a round
    Three,
    /// four levels and two base primes a round: the bit layout only
    Four,
}

/// The primes of a set, by role. See `params`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Chain {
    /// levels per round
    pub steps: Steps,
    /// only prime of the last level; part of S0 and S2
    pub last: u64,
    /// second tail prime of S0
    pub low: u64,
    /// tail prime of S1
    pub middle: u64,
    /// b_1, b_2, …: one per round but the last
    pub base: &'static [u64],
    /// special primes of key switching
    pub special: &'static [u64],
    /// base primes that share the first digit with the tail
    pub first_digit: usize,
    /// base primes of every further digit
    pub digit: usize,
    /// key parts for the last rounds, whose only digit holds the whole polynomial; needs three levels a round
    pub one_digit: Option<OneDigit>,
}

/// Key parts for the last rounds alone, in one digit: few base primes leave room for more special primes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OneDigit {
    /// largest number of rounds left
    pub rounds: usize,
    /// special primes beyond those of the other parts
    pub special: &'static [u64],
}

/// Numbers for AES in the ring K = R\[w\], w² = w - 2, which has twice the degree. Results leave K for R (module
/// `leave`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cipher {
    /// Hamming weight of K's secret
    pub weight: usize,
    /// moduli; the tail and the first base primes are those of the results
    pub chain: Chain,
}

/// Number of keys for s·σ^k(s), k = 0, 1, …
pub(crate) const PRODUCT_KEYS: usize = 4;

pub(crate) const LAST: usize = 0;
pub(crate) const LOW: usize = 1;
pub(crate) const MIDDLE: usize = 2;

/// The tail primes of a modulus.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tail {
    /// last and low, or last alone: S0 and S2
    Outer,
    /// middle: S1
    Middle,
    /// low alone: levels 4r - 2 of a chain of four levels a round
    Low,
}

impl Tail {
    pub(crate) fn of(basis: &[usize]) -> Self {
        if basis.contains(&MIDDLE) {
            Self::Middle
        } else if basis.contains(&LAST) {
            Self::Outer
        } else {
            Self::Low
        }
    }

    pub(crate) fn primes(self, steps: Steps) -> &'static [usize] {
        match (self, steps) {
            (Self::Outer, Steps::Three) => &[LAST, LOW],
            (Self::Outer, Steps::Four) => &[LAST],
            (Self::Middle, _) => &[MIDDLE],
            (Self::Low, _) => &[LOW],
        }
    }
}

/// Part of a key: a separate encryption modulo the primes of some levels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct KeyPart {
    pub(crate) tail: Tail,
    /// whether it is for the last rounds alone, in one digit ([`OneDigit`])
    pub(crate) one_digit: bool,
    /// whether it belongs to the keys that expand compact wrapped keys
    pub(crate) expands: bool,
    /// whether it belongs to the key from K's secret to that of R
    pub(crate) leaves: bool,
}

impl KeyPart {
    /// All possible parts of a key, in the order of files.
    pub(crate) const ALL: [Self; 7] = [
        Self::new(Tail::Outer, false),
        Self::new(Tail::Middle, false),
        Self::new(Tail::Low, false),
        Self::new(Tail::Outer, true),
        Self::new(Tail::Middle, true),
        Self::EXPAND,
        Self::LEAVE,
    ];

    /// The only part of keys that expand compact wrapped keys, with digits and special primes of its own.
    pub(crate) const EXPAND: Self = Self {
        expands: true,
        ..Self::new(Tail::Outer, false)
    };

    /// The only part of the key from K's secret to that of R, for the levels of results, with special primes of its
    /// own.
    pub(crate) const LEAVE: Self = Self {
        leaves: true,
        ..Self::new(Tail::Outer, false)
    };

    pub(crate) const fn new(tail: Tail, one_digit: bool) -> Self {
        Self {
            tail,
            one_digit,
            expands: false,
            leaves: false,
        }
    }

    pub(crate) fn number(self) -> usize {
        match (self.expands, self.one_digit) {
            _ if self.leaves => 6,
            (true, _) => 5,
            (_, true) => self.tail as usize + 3,
            (_, false) => self.tail as usize,
        }
    }
}
