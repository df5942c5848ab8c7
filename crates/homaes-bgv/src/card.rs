//! What a set says about itself: sizes, security and failure probability, all computed.

use crate::codec::{batch_bytes, file_bytes};
use crate::params::Params;
use crate::quality::LOG2_P_FAIL;
use homaes_aes::Layout;
use homaes_math::sample::SIGMA;
use homaes_params::{Published, Ring, SecretWeight, SetCard, rlwe};

impl Params {
    /// The set's card. Every published key has its own line with its own modulus.
    pub fn card(&self) -> SetCard {
        let set = self.set();
        let n = self.ring().n() as u64;
        let weight = SecretWeight::Hamming(set.weight as u32);
        let published = |what: &'static str, modulus_bits: f64| Published {
            what: what.into(),
            modulus_bits,
            estimate: rlwe::estimate(n as u32, weight, modulus_bits, SIGMA),
        };
        let top = self.log2_modulus(self.top_level());
        let first_special = self.log2_primes(self.prime_count() - self.special_count()..)
            - self.log2_primes(self.prime_count() - self.special_count() + 1..);
        let rotation = self.log2(self.primes_up_to(self.rotation_level().max(1)).into_iter())
            + self.log2_primes(self.special_from()..);
        let layout = set.layouts.first().copied().unwrap_or(Layout::Sliced);
        let output = self.first_course().map_or(1, |c| c.output_level());
        let [secret_key_bytes, eval_key_bytes, wrapped_key_bytes] = file_bytes(self);
        SetCard {
            name: set.name,
            scheme: set.name.scheme(),
            paper: set.paper,
            purpose: set.purpose,
            security_bits_claimed: set.security_bits_claimed,
            log2_p_fail: LOG2_P_FAIL,
            slots: self.slots().count() as u64,
            blocks_per_batch: self.blocks_per_batch(layout) as u64,
            eval_key_bytes,
            wrapped_key_bytes,
            ciphertext_bytes_per_batch: batch_bytes(self, layout, output),
            secret_key_bytes,
            ring: Some(Ring { m: set.m, n }),
            secret_weight: Some(weight),
            sigma: Some(SIGMA),
            log2_qp: Some(self.log2_qp()),
            published: vec![
                published("key-switching keys for s^(2^k), k = 1..7", self.log2_qp()),
                published(
                    "key-switching keys for s * s^(2^k), k = 0..3",
                    self.log2_qp(),
                ),
                published(
                    "key-switching keys of packed columns (if offered)",
                    self.log2_qp(),
                ),
                published("rotation keys (if any)", rotation),
                published("public key (if made)", top + first_special),
                published("wrapped AES key", top),
            ],
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::{Params, sets};

    #[test]
    fn every_card_keeps_its_promise() {
        for set in sets::ALL {
            let card = Params::new(set).unwrap().card();
            card.check().unwrap();
            println!("{card:#?}");
        }
    }

    #[test]
    fn the_secure_set_fits_its_limits_on_disk() {
        let card = Params::new(&sets::AES128).unwrap().card();
        assert!(card.eval_key_bytes <= 250 << 20, "{}", card.eval_key_bytes);
        assert!(
            card.wrapped_key_bytes <= 300 << 20,
            "{}",
            card.wrapped_key_bytes
        );
    }
}
