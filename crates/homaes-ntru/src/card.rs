//! The card of a set.

use crate::arithmetic::Arithmetic;
use crate::codec::{batch_bytes, file_bytes};
use crate::params::Params;
use homaes_scheme::{Published, Ring, SetCard, ntru};

const PAPER: &str =
    "Doröz, Hu, Sunar: Homomorphic AES Evaluation using the Modified LTV Scheme (2014)";

/// log2 of the bound on a batch's failure probability. A test of [`crate::bound`] checks it for every set.
pub(crate) const LOG2_P_FAIL: f64 = -64.0;

const SIGMA: f64 = 1.0;

impl<A: Arithmetic> Params<A> {
    /// The set's card.
    pub fn card(&self) -> SetCard {
        let set = self.set();
        let n = self.ring().n() as u64;
        let slots = self.slots().count() as u64;
        let log2_qp = self.arithmetic().log2_key();
        let [secret_key_bytes, eval_key_bytes, wrapped_key_bytes] = file_bytes(self);
        let line = |what: &'static str, modulus_bits: f64| Published {
            what: what.into(),
            dimension: n as u32,
            log2_sigma: SIGMA.log2() - modulus_bits,
            ring_degree: n as u32,
            modulus_bits,
            estimate: ntru::estimate(n as u32, modulus_bits),
        };
        SetCard {
            name: set.name,
            scheme: set.name.scheme(),
            paper: PAPER,
            purpose: set.purpose,
            security_bits_claimed: None,
            log2_p_fail: LOG2_P_FAIL,
            slots,
            blocks_per_batch: slots,
            eval_key_bytes,
            wrapped_key_bytes,
            ciphertext_bytes_per_batch: batch_bytes(self, 1),
            secret_key_bytes,
            ring: Some(Ring { m: set.m, n }),
            secret_weight: None,
            sigma: Some(SIGMA),
            log2_qp: Some(log2_qp),
            published: vec![
                line("relinearisation key", log2_qp),
                line("wrapped AES key", self.log2_modulus(self.top_level())),
            ],
            assumptions: Vec::new(),
        }
    }
}
