//! The state of one batch of blocks.

use crate::aes::placement::{from_slots, packed_slot, to_slots};
use crate::aes::reuse::Origin;
use crate::ciphertext::{Ciphertext, History, MODE_SUMMANDS};
use crate::circuit::evaluate::{Evaluator, lower};
use crate::device::{Device, Processor};
use crate::encrypt::{Plaintext, without_key};
use crate::error::{Error, Result};
use crate::keys::SecretKey;
use crate::params::Params;
use homaes_aes::{Block, Layout};
use homaes_rns::{Meter, Poly};
use homaes_scheme::{Decrypted, signs};
use rayon::prelude::*;
use zeroize::Zeroizing;

/// Encrypted AES blocks: 1, 16 or 128 ciphertexts at one level.
#[derive(Clone, Debug)]
pub struct State {
    pub(crate) layout: Layout,
    pub(crate) ciphertexts: Vec<Ciphertext>,
    /// number of ShiftRows in the placement of packed bytes, modulo 4; 0 in finished states
    pub(crate) slope: usize,
    /// whether this is a result of AES, not a state between rounds
    pub(crate) finished: bool,
    /// its origin, if other batches may share it
    pub(crate) origin: Option<Origin>,
    pub(crate) form: Form,
}

/// How ciphertexts hold a state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// as they were computed
    Whole,
    /// rounded, for decryption alone
    Rounded,
    /// rounded, two of them in one
    Joined,
}

impl Form {
    /// Ciphertexts of the layout in one.
    pub(crate) fn members(self) -> usize {
        match self {
            Self::Whole | Self::Rounded => 1,
            Self::Joined => 2,
        }
    }
}

impl State {
    /// A result of AES.
    pub(crate) fn finished(layout: Layout, ciphertexts: Vec<Ciphertext>, form: Form) -> Self {
        Self {
            layout,
            ciphertexts,
            slope: 0,
            finished: true,
            origin: None,
            form,
        }
    }

    /// Where bytes lie in the ciphertexts.
    pub fn layout(&self) -> Layout {
        self.layout
    }

    /// The ciphertexts, in the order of [`Layout`]. Final results that were read from a file hold up to two of them in
    /// one, and only [`SecretKey::decrypt_blocks`] takes these.
    pub fn ciphertexts(&self) -> &[Ciphertext] {
        &self.ciphertexts
    }

    /// Where byte `byte` of block `block` lies: number of the ciphertext, and slot in it.
    ///
    /// # Errors
    /// In the bit layout, for a state between rounds, and for a final result that was read from a file.
    pub fn place(&self, params: &Params, block: usize, byte: usize) -> Result<(usize, usize)> {
        match self.layout {
            _ if !self.finished => Err(Error::NotFinished),
            _ if self.form != Form::Whole => Err(Error::Final),
            Layout::Packed => Ok((0, packed_slot(params, block, byte, self.slope))),
            Layout::Sliced => Ok((byte, block)),
            Layout::Bits => Err(Error::BitsLayout),
        }
    }

    /// Whether this is a final result from a file, rounded for decryption alone.
    pub fn is_final(&self) -> bool {
        self.form != Form::Whole
    }

    /// Level of the ciphertexts: at level ℓ, ℓ - 1 multiplications are left.
    pub fn level(&self) -> usize {
        self.ciphertexts.iter().map(|c| c.level).min().unwrap_or(0)
    }

    /// Least of [`Ciphertext::capacity_bits`].
    pub fn capacity_bits(&self, params: &Params) -> f64 {
        let bits = self.ciphertexts.iter().map(|c| c.capacity_bits(params));
        bits.fold(f64::INFINITY, f64::min)
    }

    /// Largest of [`Ciphertext::noise_bits`].
    pub fn noise_bits(&self) -> f64 {
        let bits = self.ciphertexts.iter().map(Ciphertext::noise_bits);
        bits.fold(f64::NEG_INFINITY, f64::max)
    }

    /// Trivial encryptions of public `blocks`, missing ones zero, each added to one of `onto` unless that is empty.
    pub(crate) fn public(
        device: &dyn Device,
        params: &Params,
        layout: Layout,
        blocks: &[Block],
        (level, slope): (usize, usize),
        onto: &[&Poly],
    ) -> Result<Self> {
        let slots = to_slots(params, layout, blocks, slope)?;
        let plain = slots.par_iter();
        // bytes from a file, with signs that nobody can choose
        let plain = plain.map(|bytes| Plaintext {
            bytes,
            signs: signs::of(bytes, params.ring().n()),
        });
        let plain: Vec<_> = plain.collect();
        let messages = device.public(params, params.basis(level), &plain, onto)?;
        let messages = messages.into_iter();
        Ok(Self {
            layout,
            ciphertexts: messages.map(|m| without_key(params, m, level)).collect(),
            slope,
            finished: false,
            origin: None,
            form: Form::Whole,
        })
    }

    /// The same bytes at level 1, for decryption alone: the record of such a state is the smallest.
    ///
    /// Needs no key. Noise: as for modulus switches down to level 1. Cost: one transform per part and switch for every
    /// prime dropped and every prime of the target.
    ///
    /// # Errors
    /// In the bit layout, and for a state between rounds.
    pub fn finish(&self, params: &Params) -> Result<Self> {
        match self.layout {
            _ if !self.finished => return Err(Error::NotFinished),
            Layout::Bits => return Err(Error::BitsLayout),
            Layout::Sliced | Layout::Packed => {}
        }
        let mut all = self.ciphertexts.clone();
        for c in &mut all {
            c.check_shape(params)?;
            if c.level > 1 {
                c.history = History::Known(c.bound(params));
            }
        }
        let mut level = self.level();
        while level > 1 {
            level = level.saturating_sub(params.hop()).max(1);
            let from: Vec<&Ciphertext> = all.iter().collect();
            all = lower(&Processor, params, &Meter::default(), &from, level)?;
        }
        Ok(self.with(all))
    }

    /// Adds public blocks: turns an encrypted key stream into encrypted data (CTR), or adds the previous ciphertext
    /// blocks (CBC). Missing blocks are zero.
    ///
    /// # Errors
    /// If there are more blocks than the batch holds, or the ciphertexts are at different levels; [`Error::TooNoisy`]
    /// if the result could decrypt wrongly with a probability above 2^-64.
    pub fn xor_public(&mut self, params: &Params, blocks: &[Block]) -> Result<()> {
        self.xor_public_on(&Processor, params, blocks)
    }

    pub(crate) fn xor_public_on(
        &mut self,
        device: &dyn Device,
        params: &Params,
        blocks: &[Block],
    ) -> Result<()> {
        let level = self.level();
        if let Some(other) = self.ciphertexts.iter().find(|c| c.level != level) {
            return Err(Error::field("level of a state byte", other.level, level));
        }
        for c in &self.ciphertexts {
            c.check_set(params)?;
        }
        let parts = self.ciphertexts.iter().map(|c| &c.parts[0]);
        let parts: Vec<&Poly> = parts.collect();
        let at = (level, self.slope);
        let sums = Self::public(device, params, self.layout, blocks, at, &parts)?;
        // the failure probability of AES covers a mode's public blocks; beyond these, the bound of circuits decides
        let covered = self.ciphertexts.iter().all(
            |c| matches!(c.history, History::Aes { summands, .. } if summands < MODE_SUMMANDS),
        );
        if covered {
            self.become_sums(params, sums);
            return Ok(());
        }
        let mut sum = self.clone();
        sum.become_sums(params, sums);
        for c in &sum.ciphertexts {
            c.checked(params, "an addition of public blocks")?;
        }
        *self = sum;
        Ok(())
    }

    /// Takes over the sums of the first parts with public blocks.
    fn become_sums(&mut self, params: &Params, sums: Self) {
        for (s, sum) in self.ciphertexts.iter_mut().zip(sums.ciphertexts) {
            [s.parts[0], _] = sum.parts;
            // noises add as bounds, because the same blocks can be added again
            s.noise = s.noise.plus_public(sum.noise);
            match &mut s.history {
                History::Aes { summands, .. } => *summands = summands.saturating_add(1),
                History::Known(bound) => {
                    let message = params.noise().bounds().message_log2;
                    *bound = bound.with_public(message).into();
                }
            }
        }
    }

    /// Sum with a round key of the same shape.
    pub(crate) fn plus(&self, eval: &Evaluator<'_>, key: &[Ciphertext]) -> Result<Self> {
        let sums = self.ciphertexts.iter().zip(key);
        let sums = sums.map(|(a, b)| eval.sum(a, b)).collect::<Result<_>>()?;
        Ok(Self {
            origin: self.origin.clone(),
            ..self.with(sums)
        })
    }

    /// A state with these ciphertexts, which no other batch shares.
    pub(crate) fn with(&self, ciphertexts: Vec<Ciphertext>) -> Self {
        Self {
            ciphertexts,
            origin: None,
            ..*self
        }
    }
}

pub(crate) fn check_level(level: usize, keys: &[&Ciphertext]) -> Result<()> {
    match keys.iter().find(|k| k.level != level) {
        None => Ok(()),
        Some(key) => Err(Error::field("level of a round key", key.level, level)),
    }
}

impl SecretKey {
    /// The blocks of a state. A state between rounds decrypts to the form that
    /// [`Aes::evaluate_with`](crate::Aes::evaluate_with) describes.
    ///
    /// # Errors
    /// As [`SecretKey::decrypt`]; [`Error::NotBytes`] also if a slot of the bit layout is neither 0 nor 1.
    pub fn decrypt_blocks(&self, state: &State) -> Result<Decrypted> {
        let (mut margin_bits, mut slots) = (f64::INFINITY, Vec::new());
        for c in &state.ciphertexts {
            let (all, margin) = self.decrypt_members(c, state.form == Form::Joined)?;
            margin_bits = margin_bits.min(margin);
            slots.extend(all.into_iter().map(Zeroizing::new));
        }
        let params = state
            .ciphertexts
            .first()
            .map_or(self, |c| self.of(c))
            .params();
        let blocks = from_slots(params, state.layout, &slots, state.slope);
        let blocks = blocks.ok_or(Error::NotBytes)?;
        Ok(Decrypted {
            blocks: Zeroizing::new(blocks),
            margin_bits,
        })
    }
}
