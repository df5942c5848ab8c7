//! The declared sets on digits.
//!
//! Blind rotation takes one key bit per step, as in the paper. Two would be a third faster, with a key 1.5 times as
//! large.
//!
//! | set | n, log2 σ | N, log2 σ | blind rotation, mask / body | packing | key switch |
//! |---|---|---|---|---|---|
//! | [`nibble128`] | 768, -16.92 | 2048, -49.8 | 2^15 · 2 / 2^20 · 1 | 2^12 · 3 | 2^1 · 15 |
//! | [`nibble_paper`] | 1024, -23.87 | 2048, -33.28 | 2^8 · 3 / 2^8 · 3 | 2^2 · 15 | 2^2 · 10 |
//! | [`nibble_toy`] | 16, -30 | 256, -50 | as nibble128 | | |

use crate::set::{NibbleSet, gadget};

/// At least 128.5 bits on both sides; a batch of 32 blocks fails with probability below 2^-64.
///
/// n = 6 · 128 fills the polynomials of the key switch. One body digit and two mask digits suffice: only the mask's
/// rounding meets the key.
pub(crate) const fn nibble128() -> NibbleSet {
    NibbleSet {
        digit_bits: 4,
        lwe_dimension: 768,
        unroll: 1,
        lwe_log2_sigma: -16.92,
        degree: 2048,
        glwe_log2_sigma: -49.8,
        rotation: gadget(15, 2),
        rotation_body: gadget(20, 1),
        packing: gadget(12, 3),
        key_switch: gadget(1, 15),
        key_switch_degree: 128,
    }
}

/// The poster's row "tree-based method, 16": n = 1024, N = 2048, l = 3, B_g = 2^8, B_KS = 2^10, t = 2, TRLWE noise
/// 9.6e-11, TLWE noise 6.5e-8.
///
/// Differences: The torus has 64 bits, not 32. The poster's switching keys hold every multiple of a digit, N t B_KS
/// ciphertexts, so digits do not multiply the noise; here they do, hence ten digits of two bits, with the same
/// precision 2^-20. Packing differs too ([`crate::nibble::engine`]) and needs small digits with so much noise in the
/// ring.
pub(crate) const fn nibble_paper() -> NibbleSet {
    NibbleSet {
        digit_bits: 4,
        lwe_dimension: 1024,
        unroll: 1,
        // log2 6.5e-8
        lwe_log2_sigma: -23.875,
        degree: 2048,
        // log2 9.6e-11
        glwe_log2_sigma: -33.278,
        rotation: gadget(8, 3),
        rotation_body: gadget(8, 3),
        packing: gadget(2, 15),
        key_switch: gadget(2, 10),
        key_switch_degree: 256,
    }
}

/// Insecure; a block of AES-128 in about a second.
pub(crate) const fn nibble_toy() -> NibbleSet {
    NibbleSet {
        digit_bits: 4,
        lwe_dimension: 16,
        unroll: 1,
        lwe_log2_sigma: -30.0,
        degree: 256,
        glwe_log2_sigma: -50.0,
        rotation: gadget(15, 2),
        rotation_body: gadget(20, 1),
        packing: gadget(12, 3),
        key_switch: gadget(4, 5),
        key_switch_degree: 128,
    }
}
