//! The declared parameter sets. None is secure.
//!
//! | set | ring | moduli | AES |
//! |---|---|---|---|
//! | `ntru/hybrid` | m = 65535, n = 32768 | two primes a round and a tail, special modulus | 128, depth 40 |
//! | `ntru/hybrid256` | the same | as many for fourteen rounds | 128, 192, 256 |
//! | `ntru/rns` | the same | 41 primes of 31 bits on average, one special prime | 128, depth 40 |
//! | `ntru/rns-depth3` | the same | 31 primes | 128, depth 30 |
//! | `ntru/paper` | the same | q = p^41, p of 31 bits, digits of one bit | 128, depth 40 |
//! | `ntru/paper16` | the same | the same, digits of 16 bits | 128, depth 40 |
//! | `ntru/toy-…` | m = 255, 4369 | the same forms | 128, 192, 256 |
//!
//! DHS14 evaluates AES with n = 32768 and log q = 1271, and with n = 27000 and log q = 1230.

pub use homaes_scheme::bits::SboxDepth;
use homaes_scheme::{Purpose, SetName};

/// How elements modulo a chain are represented, and how products are relinearised.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Variant {
    /// Powers of one prime, and digits of `word` bits: the paper's own form.
    Paper {
        /// bits of a digit, at most 46
        word: u32,
    },
    /// One prime is dropped at every level, and the digits of relinearisation are the residues modulo the primes. As in DHS14 every modulus
    /// divides the one before, so that one key serves all levels.
    Rns,
    /// Larger primes, dropped by turns with exchanges of a tail prime, and a special modulus for relinearisation.
    Hybrid,
}

/// A parameter set as declared.
#[derive(Clone, Debug, PartialEq)]
pub struct ParamSet {
    /// `ntru/…`
    pub name: SetName,
    /// what it is for
    pub purpose: Purpose,
    /// conductor of the ring
    pub m: u64,
    /// form of the moduli
    pub variant: Variant,
    /// the circuit of an S-box
    pub sbox: SboxDepth,
    /// AES rounds that the chain carries
    pub rounds: usize,
}

impl ParamSet {
    /// Highest level: one above the multiplications.
    pub fn top_level(&self) -> usize {
        self.rounds * self.sbox.levels() + 1
    }
}

/// The modern form: fastest.
pub const HYBRID: ParamSet = ParamSet {
    name: SetName::from_static("ntru/hybrid"),
    purpose: Purpose::Paper,
    m: 65535,
    variant: Variant::Hybrid,
    sbox: SboxDepth::Four,
    rounds: 10,
};

/// The same with levels for AES-192 and AES-256.
pub const HYBRID_256: ParamSet = ParamSet {
    name: SetName::from_static("ntru/hybrid256"),
    rounds: 14,
    ..HYBRID
};

/// The paper's structure in residues.
pub const RNS: ParamSet = ParamSet {
    name: SetName::from_static("ntru/rns"),
    variant: Variant::Rns,
    ..HYBRID
};

/// The same with fewer levels and more products.
pub const RNS_DEPTH_3: ParamSet = ParamSet {
    name: SetName::from_static("ntru/rns-depth3"),
    sbox: SboxDepth::Three,
    ..RNS
};

/// The paper's own form: q = p^41, digits of one bit.
pub const PAPER: ParamSet = ParamSet {
    name: SetName::from_static("ntru/paper"),
    variant: Variant::Paper { word: 1 },
    ..HYBRID
};

/// The same with digits of 16 bits.
pub const PAPER_16: ParamSet = ParamSet {
    name: SetName::from_static("ntru/paper16"),
    variant: Variant::Paper { word: 16 },
    ..HYBRID
};

/// 16 slots, for tests.
pub const TOY_255: ParamSet = ParamSet {
    name: SetName::from_static("ntru/toy-255"),
    purpose: Purpose::Toy,
    m: 255,
    rounds: 14,
    ..HYBRID
};

/// 256 slots without the primes 3 and 5: exercises the portable kernels.
pub const TOY_4369: ParamSet = ParamSet {
    name: SetName::from_static("ntru/toy-4369"),
    m: 4369,
    rounds: 10,
    ..TOY_255
};

/// Toy of [`RNS`].
pub const TOY_RNS: ParamSet = ParamSet {
    name: SetName::from_static("ntru/toy-rns"),
    variant: Variant::Rns,
    rounds: 10,
    ..TOY_255
};

/// Toy of [`RNS_DEPTH_3`].
pub const TOY_DEPTH_3: ParamSet = ParamSet {
    name: SetName::from_static("ntru/toy-depth3"),
    sbox: SboxDepth::Three,
    ..TOY_RNS
};

/// Toy of [`PAPER`], with digits of 28 bits, as those of one bit take minutes in any ring. Digits of 31 bits would leave too much noise.
pub const TOY_PAPER: ParamSet = ParamSet {
    name: SetName::from_static("ntru/toy-paper"),
    variant: Variant::Paper { word: 28 },
    rounds: 10,
    ..TOY_255
};

/// All of them, those for the full ring first.
pub const ALL: [&ParamSet; 11] = [
    &HYBRID,
    &HYBRID_256,
    &RNS,
    &RNS_DEPTH_3,
    &PAPER,
    &PAPER_16,
    &TOY_255,
    &TOY_4369,
    &TOY_RNS,
    &TOY_DEPTH_3,
    &TOY_PAPER,
];

/// The set of this name.
pub fn by_name(name: &str) -> Option<&'static ParamSet> {
    ALL.into_iter().find(|set| set.name.as_str() == name)
}
