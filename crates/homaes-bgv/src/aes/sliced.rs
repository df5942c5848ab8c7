//! Byte-sliced AES (GHS12 §4.2): one round fused from the parts of [`crate::keyswitch`].
//!
//! Sixteen ciphertexts hold the state: byte i of block b is in slot b of ciphertext i. The inversion of SubBytes, up to
//! one squaring, is x^127 of each byte by four products at depth three:
//!
//! ```text
//! c'   = switch(c)              S0 -> S1
//! c3   = c  · σ(c)              S0 -> S1      x^3
//! c7   = c' · σ(c3)             S1 -> S2      x^7
//! c15  = c3 · σ²(c3)            S1 -> S2      x^15
//! c127 = c7 · σ³(c15)           S2            x^127, only P is divided out
//! ```
//!
//! Frobenius images are not relinearised first: x·σ(y) is switched directly from σ(s) and s·σ(s), which saves two key
//! switches per product. With c127 of all bytes, one round is, encrypting,
//!
//! ```text
//! S    = Σ_k γ_k σ^(k+1)(c127)       S2, times P   seven hoisted key switches, σ^8 = id on bytes
//! out  = MixColumns(S) + key         S2, times P   -> S0 of the next round in one switch
//! ```
//!
//! and, decrypting, with InvMixColumns first and the affine map of the next inversion last ([`crate::linear`]),
//!
//! ```text
//! M    = Σ_j c'_j c127_j             S2            four products by constants
//! out  = Σ_k λ_k σ^(k+1)(M) + key    S2, times P   -> S0 of the next round in one switch
//! ```
//!
//! The constants γ_k or λ_k are folded into the keys once, so a sum is one inner product of 7d + 9 terms per word, for
//! d digits: 7d with keys, 8 first parts and 1 second part.
//!
//! Products are one rayon task per byte. The linear layer is one task per output column, whose four bytes share every
//! pass over its keys, or a single task where the device prefers that; further threads share the primes of a pass. All
//! threads go through the steps together, so the keys of a step are read from memory once.

use crate::aes::maps::byte_map;
use crate::aes::reuse::Reuse;
use crate::aes::state::{State, check_level};
use crate::ciphertext::{Ciphertext, History};
use crate::circuit::evaluate::Evaluator;
use crate::circuit::images::Image;
use crate::device::{ByRow, constant_over};
use crate::error::Result;
use crate::keys::{EvalKey, Target};
use crate::keyswitch::Post;
use crate::linear::LinearLayer;
use homaes_aes::Direction;
use homaes_aes::state::shift_source;
use homaes_scheme::Cancel;
use rayon::prelude::*;
use std::sync::Arc;

/// The byte-sliced circuit under one evaluation key and one AES key. Cheap to clone; clones share cached rounds.
#[derive(Clone)]
pub(crate) struct SlicedAes<'k> {
    pub(crate) eval: Evaluator<'k>,
    linear: LinearLayer,
    /// Σ γ_k σ^(k+1)
    bytes: Vec<Image>,
    /// σ, all that the last decrypting round applies to x^127
    square: [Image; 1],
    pub(crate) reuse: Arc<Reuse>,
}

impl<'k> SlicedAes<'k> {
    /// Folds the constants into keys, which takes the memory of 6 keys encrypting (one γ is 1) and of 7 decrypting.
    pub(crate) fn new(key: &'k EvalKey, direction: Direction, cancel: &Cancel) -> Result<Self> {
        let linear = LinearLayer::new(key.params.slots(), direction);
        Ok(Self {
            eval: Evaluator::new(key),
            bytes: byte_map(key, &linear, cancel)?,
            square: [Image::new(key, Target::Frobenius(1), vec![0], cancel)?],
            linear,
            reuse: Arc::default(),
        })
    }

    /// The linear layer of some columns; `mix` is false in the last round.
    fn linear_layer(
        &self,
        eval: &Evaluator<'k>,
        c127: &[&Ciphertext],
        keys: &[&Ciphertext],
        mix: bool,
    ) -> Result<Vec<Ciphertext>> {
        let level = c127[0].level;
        check_level(level, keys)?;
        let plan = eval.params().switching(level);
        let keys: Vec<_> = keys.iter().map(|c| &c.parts).collect();
        let add = Post::Keys(&keys);
        let [bytes, _, both] = self.linear.mean_powers();
        match (self.linear.direction, mix) {
            (Direction::Encrypt, true) => eval.sum_of_images(
                plan,
                &self.bytes,
                c127,
                both,
                Post::MixKeys(&self.linear.mix[0], &keys),
            ),
            (Direction::Encrypt, false) => eval.sum_of_images(plan, &self.bytes, c127, bytes, add),
            (Direction::Decrypt, true) => {
                let mixed = self.mix_ciphertexts(c127)?;
                let mixed: Vec<&Ciphertext> = mixed.iter().collect();
                eval.sum_of_images(plan, &self.bytes, &mixed, bytes, add)
            }
            (Direction::Decrypt, false) => eval.sum_of_images(plan, &self.square, c127, 1.0, add),
        }
    }

    /// SubBytes of bytes in the key schedule, from their x^127 and without its constant, plus `words`, at the same
    /// level: only P is divided out.
    pub(crate) fn substituted(
        &self,
        eval: &Evaluator<'_>,
        c127: &[&Ciphertext],
        words: &[&Ciphertext],
    ) -> Result<Vec<Ciphertext>> {
        let level = c127[0].level;
        check_level(level, words)?;
        let plan = eval.params().staying(level);
        let words: Vec<_> = words.iter().map(|c| &c.parts).collect();
        let [bytes, ..] = self.linear.mean_powers();
        eval.sum_of_images(plan, &self.bytes, c127, bytes, Post::Keys(&words))
    }

    /// Σ_j c'_j b_{r+j} for the four rows r of each column.
    fn mix_ciphertexts(&self, b: &[&Ciphertext]) -> Result<Vec<Ciphertext>> {
        let level = b[0].level;
        let params = self.eval.params();
        let power = self.linear.mean_powers()[1];
        let basis = params.basis(level);
        let mix = self
            .linear
            .mix
            .each_ref()
            .map(|e| constant_over(params, basis, e));
        let row = |r: usize| (0..4).map(|j| mix[(j + 4 - r) % 4].clone()).collect();
        let rows: Vec<Vec<ByRow>> = (0..4).map(row).collect();
        let columns: Vec<Vec<&Ciphertext>> = b.chunks(4).map(<[_]>::to_vec).collect();
        let mixed = self.eval.combined(level, &rows, &[], &columns)?;
        let ciphertexts = mixed.into_iter().flatten().zip(b);
        let ciphertexts = ciphertexts.map(|(parts, c)| Ciphertext {
            owner: c.owner,
            level,
            parts,
            noise: c.noise.scaled(power),
            history: History::AES,
        });
        Ok(ciphertexts.collect())
    }
}

impl Evaluator<'_> {
    /// x^127 of every slot, from level 3r to level 3r - 2; the last product is not switched down.
    ///
    /// Takes two ciphertexts per thread at a time, at least four, so that few powers are in memory.
    pub(crate) fn power_127(&self, c: &[&Ciphertext]) -> Result<Vec<Ciphertext>> {
        let at_once = match self.device().joins() {
            true => c.len().max(1),
            false => (2 * rayon::current_num_threads()).max(4),
        };
        let mut all = Vec::with_capacity(c.len());
        for c in c.chunks(at_once) {
            let c3 = self.multiply_many(c, c, 1, true)?;
            let c3: Vec<&Ciphertext> = c3.iter().collect();
            let copies = self.mod_switch_all(c)?;
            let copies: Vec<&Ciphertext> = copies.iter().collect();
            let c7 = self.multiply_many(&copies, &c3, 1, true)?;
            let c15 = self.multiply_many(&c3, &c3, 2, true)?;
            let (c7, c15): (Vec<_>, Vec<_>) = (c7.iter().collect(), c15.iter().collect());
            all.extend(self.multiply_many(&c7, &c15, 3, false)?);
        }
        Ok(all)
    }
}

impl SlicedAes<'_> {
    /// One round or its inverse, with MixColumns if `mix`; the key is added before the division that ends the round.
    pub(crate) fn fused_round(
        &self,
        dir: Direction,
        s: &State,
        key: &[Ciphertext],
        mix: bool,
    ) -> Result<State> {
        let origin = s.origin.as_ref();
        let c127 = self.reuse.inversions(origin, |bytes| {
            let bytes: Vec<&Ciphertext> = bytes.iter().map(|&i| &s.ciphertexts[i]).collect();
            self.eval.power_127(&bytes)
        })?;
        let sources = |col: usize| core::array::from_fn(|row| shift_source(dir, row + 4 * col));
        let (ciphertexts, origin) = self.reuse.columns(origin, sources, |missing| {
            let at_once = match self.eval.device().joins() {
                true => missing.len().max(1),
                false => 1,
            };
            let eval = self.eval.beside(missing.len().div_ceil(at_once));
            let columns = missing.par_chunks(at_once).map(|columns| {
                let input = columns.iter().flat_map(|&col| sources(col));
                let input: Vec<&Ciphertext> = input.map(|at| &*c127[at]).collect();
                let keys = columns.iter().flat_map(|&col| &key[4 * col..][..4]);
                let keys: Vec<&Ciphertext> = keys.collect();
                eval.cancel.check()?;
                let out = self.linear_layer(&eval, &input, &keys, mix)?;
                let mut out = out.into_iter();
                let columns = columns.iter().map(|_| out.by_ref().take(4).collect());
                Ok(columns.collect::<Vec<Vec<Ciphertext>>>())
            });
            let columns: Vec<_> = columns.collect::<Result<_>>()?;
            Ok(columns.into_iter().flatten().collect())
        })?;
        Ok(State {
            origin,
            ..s.with(ciphertexts)
        })
    }
}
