//! The card of a set: sizes, security and failure probability, all computed.

use crate::codec::{file_bytes, result_bytes};
use crate::params::Params;
use crate::set::{LweKey, Variant};
use homaes_aes::KeySize;
use homaes_scheme::{Published, Purpose, SecretWeight, SetCard, lwe};

/// Published only with feature `tfhe-rs`, on request, and under the user's key of the crate `tfhe`.
const EXPORT_KEY: &str = "export key to FheUint8, under the key of tfhe";
/// Dimension of that key; its ring has the same degree.
const EXPORT_DEGREE: usize = 2048;
/// Noise of the crate's default parameters: `TUniform` with bound 2^17.
pub(crate) const EXPORT_LOG2_SIGMA: f64 = -47.79;

impl Params {
    /// The set's card. The failure probability is that of a full batch under an AES-256 key.
    pub fn card(&self) -> SetCard {
        let set = self.set();
        let [secret_key_bytes, eval_key_bytes, wrapped_key_bytes] = file_bytes(self);
        let (blocks, published) = (self.blocks_per_batch(), self.published());
        SetCard {
            paper: set.paper,
            purpose: set.purpose,
            security_bits_claimed: set.security_bits_claimed,
            log2_p_fail: self.log2_p_fail(KeySize::Aes256),
            blocks_per_batch: blocks as u64,
            eval_key_bytes,
            wrapped_key_bytes,
            ciphertext_bytes_per_batch: result_bytes(self, blocks),
            secret_key_bytes,
            secret_weight: self.block().map(SecretWeight::Blocks),
            assumptions: self.assumptions(&published),
            published,
            ..SetCard::new(set.name)
        }
    }

    /// Bits of a block of a block binary key.
    fn block(&self) -> Option<u32> {
        let shape = self.shape();
        (shape.lwe_key == LweKey::Blocks).then_some(shape.unroll as u32)
    }

    /// Assumptions beyond those of other sets: block binary keys, under which the first line is published, resist all
    /// attacks but the known ones.
    fn assumptions(&self, published: &[Published]) -> Vec<String> {
        let estimate = published.first().and_then(|small| small.estimate.as_ref());
        let both = self.block().zip(estimate);
        let assumption = both.map(|(block, e)| lwe::assumption_of_blocks(block, e));
        assumption.into_iter().collect()
    }

    fn published(&self) -> Vec<Published> {
        let shape = self.shape();
        let under = |what, dimension: usize, block, log2_sigma, degree: usize| {
            lwe::published(what, dimension as u32, block, log2_sigma, degree as u32)
        };
        let small = |what| {
            let (n, sigma) = (shape.lwe_dimension, shape.lwe_log2_sigma);
            under(what, n, self.block(), sigma, shape.key_switch_degree)
        };
        let big = |what| {
            let (n, sigma) = (shape.big_dimension(), shape.glwe_log2_sigma);
            under(what, n, None, sigma, shape.degree)
        };
        let lines = match self.set().variant {
            Variant::Bits(_) => vec![
                small("key switching key"),
                big("blind rotation keys"),
                big("automorphism and scheme switching keys"),
                big("wrapped AES key"),
                under(
                    EXPORT_KEY,
                    EXPORT_DEGREE,
                    None,
                    EXPORT_LOG2_SIGMA,
                    EXPORT_DEGREE,
                ),
            ],
            Variant::Nibble(_) => vec![
                small("key switching key"),
                big("blind rotation and packing keys"),
                big("wrapped AES key"),
            ],
        };
        let toy = self.set().purpose == Purpose::Toy;
        lines
            .into_iter()
            .map(|line| {
                let estimate = line.estimate.filter(|_| !toy);
                Published { estimate, ..line }
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use crate::{Params, sets};

    #[test]
    fn every_card_keeps_its_promise() {
        for set in sets::ALL {
            Params::new(set).unwrap().card().check().unwrap();
        }
    }

    #[test]
    fn keys_are_within_their_limits() {
        for (set, most) in [
            (&sets::P64, 27_500_000),
            (&sets::P128, 29_500_000),
            (&sets::P64_BLOCKS, 22_500_000),
            (&sets::NIBBLE128, 29_000_000),
        ] {
            let card = Params::new(set).unwrap().card();
            assert!(card.eval_key_bytes <= most, "{}", card.eval_key_bytes);
            assert!(card.wrapped_key_bytes <= 64 << 10);
        }
    }
}
