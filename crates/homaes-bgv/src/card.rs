//! The card of a set: sizes, security and failure probability, all computed.

use crate::codec::{batch_bytes, file_bytes};
use crate::params::{KeyPart, Params};
use homaes_aes::{KeySize, Layout};
use homaes_math::sample::SIGMA;
use homaes_scheme::{Published, Purpose, Ring, SecretWeight, SetCard, lwe, rlwe};
use std::borrow::Cow;

impl Params {
    /// The set's card, with one line for every published key and its modulus.
    pub fn card(&self) -> SetCard {
        let set = self.set();
        let n = self.of_aes().ring().n() as u64;
        let weight = SecretWeight::Hamming(self.of_aes().set().weight as u32);
        let layout = set.layouts.first().copied().unwrap_or(Layout::Sliced);
        let output = self.first_plan().map_or(1, |c| c.output_level());
        let halves = self.of_aes().ring().halves() as u64;
        let [secret_key_bytes, eval_key_bytes, wrapped_key_bytes] = file_bytes(self);
        SetCard {
            name: set.name,
            paper: set.paper,
            purpose: set.purpose,
            security_bits_claimed: set.security_bits_claimed,
            log2_p_fail: set.log2_p_fail,
            slots: self.of_aes().slots().count() as u64,
            blocks_per_batch: self.of_aes().blocks_per_batch(layout) as u64,
            eval_key_bytes,
            wrapped_key_bytes,
            ciphertext_bytes_per_batch: halves * batch_bytes(self, layout, output),
            secret_key_bytes,
            ring: Some(Ring { m: set.m, n }),
            secret_weight: Some(weight),
            sigma: Some(SIGMA),
            log2_qp: Some(self.of_aes().log2_qp()),
            published: self.published(),
            assumptions: self.assumptions(),
        }
    }

    fn assumptions(&self) -> Vec<String> {
        let secure = self.set().purpose == Purpose::Secure;
        let of_k = self.cipher().filter(|_| secure).map(|cipher| {
            let n = cipher.ring().n();
            format!(
                "ring-LWE in K = R(√-7), a ring of degree {n} that is not cyclotomic, is as hard as estimated, which is a \
                 younger assumption than that of cyclotomic rings"
            )
        });
        of_k.into_iter().collect()
    }

    /// Everything that may be published, each at its largest modulus. Lines under the secret of K come first.
    fn published(&self) -> Vec<Published> {
        let Some(cipher) = self.cipher() else {
            return self.published_in(|what| what.into());
        };
        let mut out = cipher.published_in(|what| format!("{what}, in K").into());
        out.extend(self.published_in(|what| what.into()));
        out
    }

    /// Everything that may be published under the secret of this ring.
    fn published_in(&self, name: impl Fn(&'static str) -> Cow<'static, str>) -> Vec<Published> {
        let n = self.ring().n() as u32;
        let h = self.set().weight as u32;
        let weight = SecretWeight::Hamming(h);
        // the card states the weight of AES's secret
        let own = self.cipher().map(|_| h);
        let line = |what: &'static str, modulus_bits: f64| Published {
            what: name(what),
            dimension: n,
            log2_sigma: SIGMA.log2() - modulus_bits,
            ring_degree: n,
            weight: own,
            modulus_bits,
            estimate: rlwe::estimate(n, weight, modulus_bits, SIGMA),
        };
        let (top, all) = (self.log2_modulus(self.top_level()), self.log2_qp());
        let special = self.special_from();
        let first_special = self.log2(special..special + 1);
        let mut out = if self.has_bytes() {
            vec![
                line("key-switching keys for s^(2^k), k = 1..7", all),
                line("key-switching keys for s * s^(2^k), k = 0..3", all),
            ]
        } else {
            vec![line("key-switching key for s^2", all)]
        };
        if self.offers(Layout::Packed) && self.cipher().is_none() {
            out.push(line("key-switching keys of packed columns", all));
        }
        if self.rotation_level() > 0 {
            let low = self.log2_key(self.rotation_level());
            out.push(line("key-switching keys for rotations and for s^3", low));
        }
        // the level above the top is that of compact wrapped keys
        let wrapped = match self.expands() {
            true => self.log2_modulus(self.top_level() + 1),
            false => top,
        };
        if self.expands() {
            let expand = self.log2(self.expand_primes().into_iter());
            out.push(line("key-switching keys that expand wrapped keys", expand));
        }
        if !self.leaves() {
            out.push(line("public key (library only)", top + first_special));
        }
        match self.cipher() {
            None => out.push(line("wrapped AES key", wrapped)),
            Some(cipher) => {
                let back = cipher.key_primes(cipher.leaving_level(), KeyPart::LEAVE);
                out.push(line(
                    "key-switching key from K",
                    cipher.log2(back.into_iter()),
                ));
            }
        }
        out.extend(self.bridge_key());
        out.extend(self.packing_key());
        out
    }

    /// The bridge key (crate `homaes-bridge`) of sets that have one. It is under a binary key of another set; the table
    /// gives its noise over its modulus.
    fn bridge_key(&self) -> Option<Published> {
        let n = self.bridge_ring()?.n() as u32;
        let log2_sigma = SIGMA.log2() - self.descent_transform().modulus().log2();
        let what = "bridge key, under the key on the other side";
        Some(lwe::published(what, n, None, log2_sigma, n))
    }

    /// The packing key of a bridge to a link key, in sets that leave the eight multiplications that the crossing takes.
    fn packing_key(&self) -> Option<Published> {
        let n = self.bridge_ring()?.n() as u32;
        let leaves = |&layout: &Layout| self.levels_left(layout, KeySize::Aes128) >= Some(8);
        self.set().layouts.iter().any(leaves).then(|| {
            let what = "packing key of a bridge to a link key, under the link key";
            lwe::published(what, n, None, lwe::PACKING_LOG2_SIGMA, n)
        })
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
    fn the_secure_set_fits_its_limits_on_disk() {
        let card = Params::new(&sets::AES128).unwrap().card();
        let sizes = [card.eval_key_bytes, card.wrapped_key_bytes];
        assert!(sizes[0] <= 250 << 20 && sizes[1] <= 300 << 20, "{sizes:?}");
    }
}
