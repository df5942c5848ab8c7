//! The card of a set.

use crate::arithmetic::Arithmetic;
use crate::codec::file_bytes;
use crate::params::Params;
use homaes_scheme::bits::{BitScheme, batch_bytes};
use homaes_scheme::{Published, Ring, SetCard, ntru};

const PAPER: &str = "Doröz, Hu, Sunar: Homomorphic AES Evaluation using NTRU (2014)";

/// log2 of the bound on a batch's failure probability. A test of [`crate::bound`] checks it for every set.
pub(crate) const LOG2_P_FAIL: f64 = -64.0;

const SIGMA: f64 = 1.0;

/// The set's card.
pub(crate) fn card<A: Arithmetic>(params: &Params<A>) -> SetCard {
    let set = params.set();
    let n = params.ring().n() as u64;
    let slots = params.slots().count() as u64;
    let log2_qp = params.arithmetic().log2_key();
    let [secret_key_bytes, eval_key_bytes, wrapped_key_bytes] = file_bytes(params);
    let line = |what: &'static str, modulus_bits: f64| Published {
        what: what.into(),
        dimension: n as u32,
        log2_sigma: SIGMA.log2() - modulus_bits,
        ring_degree: n as u32,
        weight: None,
        modulus_bits,
        estimate: ntru::estimate(n as u32, modulus_bits),
    };
    SetCard {
        paper: PAPER,
        purpose: set.purpose,
        log2_p_fail: LOG2_P_FAIL,
        slots,
        blocks_per_batch: slots,
        eval_key_bytes,
        wrapped_key_bytes,
        ciphertext_bytes_per_batch: batch_bytes(params, 1),
        secret_key_bytes,
        ring: Some(Ring { m: set.m, n }),
        sigma: Some(SIGMA),
        log2_qp: Some(log2_qp),
        published: vec![
            line("relinearisation key", log2_qp),
            line("wrapped AES key", params.log2_modulus(params.top_level())),
        ],
        ..SetCard::new(set.name)
    }
}
