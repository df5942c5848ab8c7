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

/// Form of the moduli, and of relinearisation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Variant {
    /// The paper's own form: powers of one prime, digits of `word` bits.
    Paper {
        /// bits per digit, at most 46
        word: u32,
    },
    /// Each level drops one prime; the digits of relinearisation are residues. As in DHS14, each modulus divides the
    /// next, so one key serves all levels.
    Rns,
    /// Larger primes, dropped in turn with exchanges of a tail prime; relinearisation has a special modulus.
    Hybrid,
}

/// A parameter set as declared.
#[derive(Clone, Debug, PartialEq)]
pub struct ParamSet {
    /// `ntru/…`
    pub name: SetName,
    /// purpose
    pub purpose: Purpose,
    /// conductor of the ring
    pub m: u64,
    /// form of the moduli
    pub variant: Variant,
    /// circuit of an S-box
    pub sbox: SboxDepth,
    /// AES rounds that fit the chain
    pub rounds: usize,
}

impl ParamSet {
    /// Highest level: one above the multiplications.
    pub fn top_level(&self) -> usize {
        self.rounds * self.sbox.levels() + 1
    }
}

/// The fastest form.
pub const HYBRID: ParamSet = ParamSet {
    name: SetName::from_static("ntru/hybrid"),
    purpose: Purpose::Paper,
    m: 65535,
    variant: Variant::Hybrid,
    sbox: SboxDepth::Four,
    rounds: 10,
};

/// [`HYBRID`] with levels for AES-192 and AES-256.
pub const HYBRID_256: ParamSet = ParamSet {
    name: SetName::from_static("ntru/hybrid256"),
    rounds: 14,
    ..HYBRID
};

/// The paper's structure in RNS.
pub const RNS: ParamSet = ParamSet {
    name: SetName::from_static("ntru/rns"),
    variant: Variant::Rns,
    ..HYBRID
};

/// [`RNS`] with fewer levels and more products.
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

/// [`PAPER`] with digits of 16 bits.
pub const PAPER_16: ParamSet = ParamSet {
    name: SetName::from_static("ntru/paper16"),
    variant: Variant::Paper { word: 16 },
    ..HYBRID
};

/// Toy of [`HYBRID_256`] with 16 slots.
pub const TOY_255: ParamSet = ParamSet {
    name: SetName::from_static("ntru/toy-255"),
    purpose: Purpose::Toy,
    m: 255,
    rounds: 14,
    ..HYBRID
};

/// Toy with 256 slots; m without 3 and 5 exercises the portable kernels.
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

/// Toy of [`PAPER`] with digits of 28 bits: one bit takes minutes in any ring, 31 bits would leave too much noise.
pub const TOY_PAPER: ParamSet = ParamSet {
    name: SetName::from_static("ntru/toy-paper"),
    variant: Variant::Paper { word: 28 },
    rounds: 10,
    ..TOY_255
};

/// All sets, those of the full ring first.
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

/// The set called `name`.
pub fn by_name(name: &str) -> Option<&'static ParamSet> {
    ALL.into_iter().find(|set| set.name.as_str() == name)
}
