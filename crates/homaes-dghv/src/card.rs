//! The card of a set.

use crate::codec::file_bytes;
use crate::params::Params;
use homaes_scheme::bits::batch_bytes;
use homaes_scheme::{Published, SetCard, agcd};

const PAPER: &str = "Coron, Lepoint, Tibouchi: Scale-Invariant Fully Homomorphic Encryption over the Integers (PKC 2014)";

/// The set's card.
pub(crate) fn card(params: &Params) -> SetCard {
    let set = params.set();
    let slots = params.slots() as u64;
    let [secret_key_bytes, eval_key_bytes, wrapped_key_bytes] = file_bytes(params);
    let line = |what: &'static str| Published {
        what: what.into(),
        dimension: set.theta as u32,
        log2_sigma: set.rho as f64 - set.eta as f64,
        ring_degree: 1,
        weight: None,
        modulus_bits: set.gamma as f64,
        estimate: agcd::estimate(set.slots, set.rho, set.eta, set.gamma, set.theta),
    };
    SetCard {
        paper: PAPER,
        purpose: set.purpose,
        security_bits_claimed: set.lambda,
        log2_p_fail: crate::bound::log2_p_fail(set, set.rounds),
        slots,
        blocks_per_batch: slots,
        eval_key_bytes,
        wrapped_key_bytes,
        ciphertext_bytes_per_batch: batch_bytes(params, 1),
        secret_key_bytes,
        log2_qp: Some(set.gamma as f64),
        published: vec![
            line("x0, z and σ of the evaluation key"),
            line("wrapped AES key"),
        ],
        ..SetCard::new(set.name)
    }
}
