//! The state of a batch of blocks: 128 ciphertexts, and the coordinates that bytes stand in.

use super::{BITS, BitEvalKey, BitScheme, BitSecret, Result};
use crate::{Cancel, Decrypted, Quality, mismatch};
use homaes_aes::Block;
use rayon::prelude::*;

/// Encrypted AES blocks: 128 ciphertexts at one level, block b in slot b.
pub struct State<P: BitScheme> {
    pub(super) bits: Vec<P::Ciphertext>,
}

impl<P: BitScheme> State<P> {
    /// The ciphertexts.
    #[must_use]
    pub fn bits(&self) -> &[P::Ciphertext] {
        &self.bits
    }

    /// The quality of the worst ciphertext.
    ///
    /// # Panics
    /// Never: a state has ciphertexts.
    #[must_use]
    pub fn quality(&self, params: &P) -> Quality {
        let each = self.bits.iter().map(|c| params.quality(c));
        each.reduce(Quality::worst).expect("a state of 128 bits")
    }

    /// Public blocks; missing ones are zero.
    ///
    /// # Errors
    /// If there are more than slots, or the key's file has become unreadable.
    pub(super) fn public(
        key: &P::EvalKey,
        level: usize,
        blocks: &[Block],
        meter: &P::Meter,
        cancel: &Cancel,
    ) -> Result<Self> {
        mismatch::check_count("blocks", blocks.len(), key.params().slot_count())?;
        let bit = |k: usize| blocks.iter().map(move |b| b[k / 8] >> (k % 8) & 1 == 1);
        let bits: Vec<Vec<bool>> = (0..BITS).map(|k| bit(k).collect()).collect();
        let bits = key.public(level, &bits, meter, cancel)?;
        Ok(Self { bits })
    }

    /// Adds another in place.
    pub(super) fn add(&mut self, params: &P, other: &Self) {
        let pairs = self.bits.par_iter_mut().zip(&other.bits);
        pairs.for_each(|(a, b)| params.add(a, b));
    }

    /// The blocks, one per slot. Between two rounds they are in the coordinates of [`homaes_aes::Folding`].
    ///
    /// # Errors
    /// As [`BitSecret::bits_of`].
    pub fn decrypt(&self, secret: &P::SecretKey) -> Result<Decrypted> {
        let decrypted = self.bits.par_iter().with_max_len(1);
        let decrypted: Vec<_> = decrypted
            .map(|c| secret.bits_of(c))
            .collect::<Result<_>>()?;
        let bits = decrypted.iter().map(|(bits, margin)| (&bits[..], *margin));
        Ok(Decrypted::of_bits(secret.params().slot_count(), bits))
    }

    /// log2 of the root mean square of the noise of all ciphertexts together.
    pub(super) fn measure_noise(&self, secret: &P::SecretKey) -> f64 {
        let all = self.bits.par_iter().with_max_len(1);
        let logs: Vec<f64> = all.flat_map_iter(|c| secret.noises_log2(c)).collect();
        // the squares may be beyond what f64 holds
        let largest = logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let squares = logs.iter().map(|log| f64::exp2(2.0 * (log - largest)));
        largest + 0.5 * (squares.sum::<f64>() / logs.len() as f64).log2()
    }
}

homaes_wire::debug_fields!(State<P> where P: BitScheme);
