//! The state of a batch of blocks: 128 ciphertexts, and the coordinates that bytes stand in.

use crate::arithmetic::Arithmetic;
use crate::ciphertext::{Ciphertext, public};
use crate::error::Result;
use crate::keys::SecretKey;
use crate::params::Params;
use crate::sets::SboxDepth;
use homaes_aes::slp::tower;
use homaes_aes::{Block, Folding};
use homaes_scheme::{Decrypted, mismatch};
use rayon::prelude::*;

/// Bits of a block: ciphertext 8i + j holds bit j of byte i.
pub(crate) const BITS: usize = 128;

/// The coordinates of states and keys.
pub(crate) fn folding(sbox: SboxDepth) -> Folding {
    match sbox {
        SboxDepth::Four => Folding::new(&tower::DEPTH_4),
        SboxDepth::Three => Folding::new(&tower::DEPTH_3),
    }
}

/// Encrypted AES blocks: 128 ciphertexts at one level, block b in slot b.
#[derive(Debug)]
pub struct State<A: Arithmetic> {
    pub(crate) bits: Vec<Ciphertext<A>>,
}

impl<A: Arithmetic> State<A> {
    /// The ciphertexts.
    pub fn bits(&self) -> &[Ciphertext<A>] {
        &self.bits
    }

    /// Level of the ciphertexts.
    pub fn level(&self) -> usize {
        self.bits.iter().map(|c| c.level).min().unwrap_or(0)
    }

    /// log2 of the largest root mean square of the noise over the embeddings.
    pub fn noise_bits(&self) -> f64 {
        let bits = self.bits.iter().map(|c| c.noise.rms_log2);
        bits.fold(f64::NEG_INFINITY, f64::max)
    }

    /// Least of [`Ciphertext::capacity_bits`].
    pub fn capacity_bits(&self, params: &Params<A>) -> f64 {
        let bits = self.bits.iter().map(|c| c.capacity_bits(params));
        bits.fold(f64::INFINITY, f64::min)
    }

    /// Public blocks; missing ones are zero.
    ///
    /// # Errors
    /// If there are more than slots.
    pub(crate) fn public(params: &Params<A>, level: usize, blocks: &[Block]) -> Result<Self> {
        check_count(params, blocks)?;
        let bits = (0..BITS).into_par_iter().map(|k| {
            let own: Vec<bool> = blocks
                .iter()
                .map(|b| b[k / 8] >> (k % 8) & 1 == 1)
                .collect();
            public(params, level, &own)
        });
        Ok(Self {
            bits: bits.collect::<Result<_>>()?,
        })
    }

    /// Adds public blocks: what the mode adds to the output of AES.
    ///
    /// # Errors
    /// If there are more than slots.
    pub fn xor_public(&mut self, params: &Params<A>, blocks: &[Block]) -> Result<()> {
        let public = Self::public(params, self.level(), blocks)?;
        for (a, b) in self.bits.iter_mut().zip(&public.bits) {
            *a = a.plus(params, b);
        }
        Ok(())
    }
}

pub(crate) fn check_count<A: Arithmetic>(params: &Params<A>, blocks: &[Block]) -> Result<()> {
    let expected = params.slots().count();
    Ok(mismatch::check_count("blocks", blocks.len(), expected)?)
}

impl<A: Arithmetic> SecretKey<A> {
    /// The blocks of a state, one per slot. Between two rounds they are in the coordinates of [`Folding`].
    ///
    /// # Errors
    /// As [`SecretKey::decrypt`].
    pub fn decrypt_blocks(&self, state: &State<A>) -> Result<Decrypted> {
        let slots = self.params().slots().count();
        let decrypted = state.bits.par_iter().map(|c| self.decrypt(c));
        let decrypted: Vec<_> = decrypted.collect::<Result<_>>()?;
        let bits = decrypted.iter().map(|(bits, margin)| (&bits[..], *margin));
        Ok(Decrypted::of_bits(slots, bits))
    }
}
