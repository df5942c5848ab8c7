//! The declared parameter sets.

use crate::nibble::params::{nibble_paper, nibble_toy, nibble128};
use crate::set::{BLOCK, BitsSet, LweKey, ParamSet, Variant, gadget};
use homaes_scheme::{Purpose, SetName};

const PAPER: &str = "Trama, Clet, Boudguiga, Sirdey: A Homomorphic AES Evaluation in Less than 30 Seconds by Means of TFHE (2023)";

const BLOCKS_PAPER: &str = "AES as in tfhe/p64; LWE keys of Lee, Min, Seo, Song: Faster TFHE Bootstrapping with Block Binary Keys (2023)";

const BITS: BitsSet = BitsSet {
    lwe_dimension: 608,
    lwe_key: LweKey::Independent,
    unroll: 2,
    lwe_log2_sigma: -12.76,
    rank: 2,
    degree: 1024,
    glwe_log2_sigma: -49.52,
    rotation_mask: gadget(15, 2),
    rotation_body: gadget(21, 1),
    log2_values: 2,
    ggsw: gadget(3, 4),
    trace: gadget(12, 3),
    scheme_switch: gadget(17, 2),
    key_switch: gadget(2, 5),
    key_switch_degree: 128,
};

const TOY_BITS: BitsSet = BitsSet {
    lwe_dimension: 16,
    lwe_log2_sigma: -30.0,
    rank: 1,
    degree: 256,
    glwe_log2_sigma: -60.0,
    trace: gadget(12, 3),
    key_switch: gadget(4, 4),
    ..BITS
};

/// AES on bits; a batch fails with probability at most 2^-64.
pub const P64: ParamSet = ParamSet {
    name: SetName::from_static("tfhe/p64"),
    paper: PAPER,
    purpose: Purpose::Secure,
    security_bits_claimed: Some(128),
    variant: Variant::Bits(BITS),
};

/// AES on bits; a batch fails with probability at most 2^-128.
pub const P128: ParamSet = ParamSet {
    name: SetName::from_static("tfhe/p128"),
    variant: Variant::Bits(BitsSet {
        lwe_dimension: 652,
        lwe_log2_sigma: -13.87,
        key_switch: gadget(2, 6),
        ..BITS
    }),
    ..P64
};

/// [`P64`] with a block binary LWE key: faster blind rotation, a less certain security estimate. At most 2^-64 per
/// batch.
pub const P64_BLOCKS: ParamSet = ParamSet {
    name: SetName::from_static("tfhe/p64-blocks"),
    paper: BLOCKS_PAPER,
    variant: Variant::Bits(BitsSet {
        lwe_dimension: 735,
        lwe_key: LweKey::Blocks,
        unroll: BLOCK,
        lwe_log2_sigma: -12.75,
        ..BITS
    }),
    ..P64
};

/// Insecure, for tests: AES-128 in tens of milliseconds.
pub const TOY: ParamSet = ParamSet {
    name: SetName::from_static("tfhe/toy"),
    purpose: Purpose::Toy,
    security_bits_claimed: None,
    variant: Variant::Bits(TOY_BITS),
    ..P64
};

/// [`TOY`] with a block binary LWE key.
pub const TOY_BLOCKS: ParamSet = ParamSet {
    name: SetName::from_static("tfhe/toy-blocks"),
    paper: BLOCKS_PAPER,
    variant: Variant::Bits(BitsSet {
        lwe_dimension: 24,
        lwe_key: LweKey::Blocks,
        unroll: BLOCK,
        ..TOY_BITS
    }),
    ..TOY
};

/// The method of TCBS23 with new parameters; a batch fails with probability at most 2^-64.
pub const NIBBLE128: ParamSet = ParamSet {
    name: SetName::from_static("tfhe/nibble128"),
    paper: PAPER,
    variant: Variant::Nibble(nibble128()),
    ..P64
};

/// The method of TCBS23 with its own parameters (base 16, tree-based). The security estimate is near the claimed 128
/// bits; the failure probability is not acceptable today.
pub const NIBBLE_PAPER: ParamSet = ParamSet {
    name: SetName::from_static("tfhe/nibble-paper"),
    purpose: Purpose::Paper,
    variant: Variant::Nibble(nibble_paper()),
    ..NIBBLE128
};

/// The method of TCBS23, insecure, for tests: AES-128 in about a second.
pub const NIBBLE_TOY: ParamSet = ParamSet {
    name: SetName::from_static("tfhe/nibble-toy"),
    purpose: Purpose::Toy,
    security_bits_claimed: None,
    variant: Variant::Nibble(nibble_toy()),
    ..NIBBLE128
};

/// All sets, secure ones first.
pub const ALL: &[&ParamSet] = &[
    &P64,
    &P128,
    &P64_BLOCKS,
    &NIBBLE128,
    &NIBBLE_PAPER,
    &TOY,
    &TOY_BLOCKS,
    &NIBBLE_TOY,
];

/// The set called `name`.
pub fn by_name(name: &str) -> Option<&'static ParamSet> {
    ALL.iter().copied().find(|set| set.name.as_str() == name)
}
