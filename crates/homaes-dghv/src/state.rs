//! The state of a batch of blocks: 128 ciphertexts.

use crate::ciphertext::Ciphertext;
use crate::error::Result;
use crate::eval::EvalKey;
use crate::keys::SecretKey;
use crate::meter::Meter;
use crate::params::Params;
use homaes_aes::slp::tower;
use homaes_aes::{Block, Folding};
use homaes_scheme::{Cancel, Decrypted, mismatch};
use rayon::prelude::*;

/// Bits of a block: ciphertext 8i + j holds bit j of byte i.
pub(crate) const BITS: usize = 128;

/// The coordinates of states and keys.
pub(crate) fn folding() -> Folding {
    Folding::new(&tower::DEPTH_4)
}

/// Encrypted AES blocks: 128 ciphertexts at one level, block b in slot b.
#[derive(Debug)]
pub struct State {
    pub(crate) bits: Vec<Ciphertext>,
}

impl State {
    /// The ciphertexts.
    pub fn bits(&self) -> &[Ciphertext] {
        &self.bits
    }

    /// Level of the ciphertexts.
    pub fn level(&self) -> usize {
        self.bits.iter().map(|c| c.level).min().unwrap_or(0)
    }

    /// log2 of the largest root mean square of the noise.
    pub fn noise_bits(&self) -> f64 {
        let bits = self.bits.iter().map(|c| c.noise.r_log2);
        bits.fold(f64::NEG_INFINITY, f64::max)
    }

    /// Least of [`Ciphertext::capacity_bits`].
    pub fn capacity_bits(&self, params: &Params) -> f64 {
        let bits = self.bits.iter().map(|c| c.capacity_bits(params));
        bits.fold(f64::INFINITY, f64::min)
    }

    /// Public blocks; missing ones are zero.
    ///
    /// # Errors
    /// If there are more than slots, or the key's file has become unreadable.
    pub(crate) fn public(
        key: &EvalKey,
        level: usize,
        blocks: &[Block],
        meter: &Meter,
        cancel: &Cancel,
    ) -> Result<Self> {
        check_count(&key.params, blocks)?;
        let bit = |k: usize| blocks.iter().map(move |b| b[k / 8] >> (k % 8) & 1 == 1);
        let bits: Vec<Vec<bool>> = (0..BITS).map(|k| bit(k).collect()).collect();
        let bits = key.public(level, &bits, meter, cancel)?;
        Ok(Self { bits })
    }

    pub(crate) fn add(&mut self, other: &Self) {
        let pairs = self.bits.par_iter_mut().zip(&other.bits);
        pairs.for_each(|(a, b)| a.add(b));
    }
}

pub(crate) fn check_count(params: &Params, blocks: &[Block]) -> Result<()> {
    let expected = params.slots();
    Ok(mismatch::check_count("blocks", blocks.len(), expected)?)
}

impl SecretKey {
    /// The blocks of a state, one per slot. Between two rounds they are in the coordinates of [`Folding`].
    ///
    /// # Errors
    /// As [`SecretKey::decrypt`].
    pub fn decrypt_blocks(&self, state: &State) -> Result<Decrypted> {
        let decrypted = state.bits.par_iter().with_max_len(1);
        let decrypted: Vec<_> = decrypted.map(|c| self.decrypt(c)).collect::<Result<_>>()?;
        let bits = decrypted
            .iter()
            .map(|found| (&found.bits[..], found.margin_bits));
        Ok(Decrypted::of_bits(self.params().slots(), bits))
    }
}
