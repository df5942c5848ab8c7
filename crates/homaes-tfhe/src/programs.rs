//! Programs on states of bits: AES results, or ciphertexts from the bridge.

use crate::bits::engine::{Engine, LweByte, bytes_per_task};
use crate::bits::table::{Entry, polynomials};
use crate::ciphertext::{Big, Lwe};
use crate::error::{Error, Result};
use crate::keys::EvalKey;
use crate::noise;
use crate::params::Params;
use crate::set::BitsSet;
use crate::state::{MaskForm, State, words_of};
use homaes_scheme::{Cancel, Owner};
use rayon::prelude::*;

impl EvalKey {
    /// Applies `table` to every byte of a state, on the current thread pool.
    ///
    /// Noise: that of an AES result, for any input. Failure: [`log2_p_look_up`](crate::Params::log2_p_look_up) per
    /// byte. Cost per byte: eight circuit bootstraps and a CMux tree; 16 bytes cost a tenth of an AES block.
    ///
    /// # Errors
    /// If the set is not on bits, or the state is of another set or secret; [`Error::Unreliable`] if any bit is misread
    /// with probability above 2^-64. Sums of two results pass.
    pub fn look_up(&self, state: &State, table: &[u8; 256]) -> Result<State> {
        let params = self.params();
        let set = params.bits()?;
        state.check(params, self.key_id())?;
        params.check_look_up(
            state.blocks,
            state.log2_sigma,
            state.mask_form != MaskForm::Any,
        )?;
        let table = table.map(Entry::from);
        let table = polynomials(&table, 0);
        let bits = self.by_bytes(set, state, |engine, lwes| {
            let bytes: Vec<&LweByte> = lwes.as_chunks().0.iter().collect();
            let found = engine.look_up(&bytes, &vec![&table[..]; bytes.len()]);
            let bits = found
                .iter()
                .flat_map(|glwe| (0..8).map(|bit| glwe.extract(bit)));
            bits.collect::<Vec<Lwe<Big>>>()
        });
        Ok(State {
            lwes: words_of(&bits.iter().collect::<Vec<_>>()),
            blocks: state.blocks,
            log2_sigma: params.state_log2_sigma(1, 1),
            owner: state
                .owner
                .with(Owner::new(params.id(), Some(self.key_id()))),
            finished: true,
            mask_form: MaskForm::Any,
        })
    }

    /// Runs `work` on the ciphertexts of some bytes at a time, on the current thread pool.
    pub(crate) fn by_bytes<T: Send>(
        &self,
        set: &BitsSet,
        state: &State,
        work: impl Fn(&Engine<'_>, &[Lwe<Big>]) -> Vec<T> + Sync,
    ) -> Vec<T> {
        let params = self.params();
        let engine = Engine::new(set, params.fouriers(), self.spectra(), &Cancel::new());
        let len = params.big_dimension() + 1;
        let bytes = bytes_per_task(state.lwes.len() / (8 * len));
        let tasks = state.lwes.par_chunks(8 * bytes * len).with_max_len(1);
        let done = tasks.flat_map_iter(|words| {
            let lwes: Vec<Lwe<Big>> = words.chunks_exact(len).map(Lwe::from_words).collect();
            work(&engine, &lwes)
        });
        done.collect()
    }

    /// XOR of two states, block by block. Free. Standard deviations of the noise add, which holds for dependent states
    /// too; of the noise of packing, variances add.
    ///
    /// # Errors
    /// If the set is not on bits, a state is of another set or secret, or the numbers of blocks differ;
    /// [`Error::Unreliable`] if the sum decrypts wrongly with probability above 2^-64.
    pub fn xor(&self, a: &State, b: &State) -> Result<State> {
        let params = self.params();
        params.bits()?;
        for state in [a, b] {
            state.check(params, self.key_id())?;
        }
        if a.blocks != b.blocks {
            let (found, expected) = (b.blocks, a.blocks);
            return Err(Error::Blocks { found, expected });
        }
        let log2_sigma = log2_sigma_of_sum(params, a, b);
        params.check_decryption(a.blocks, log2_sigma)?;
        let mut out = a.clone();
        for (x, y) in out.lwes.iter_mut().zip(b.lwes.iter()) {
            *x = x.wrapping_add(*y);
        }
        out.owner = a.owner.with(b.owner);
        out.finished &= b.finished;
        out.mask_form = match [a.mask_form, b.mask_form].contains(&MaskForm::Any) {
            true => MaskForm::Any,
            false => MaskForm::Rounded,
        };
        out.log2_sigma = log2_sigma;
        Ok(out)
    }
}

/// log2 of the standard deviation of the noise of a + b. The noise of packing depends on masks alone, which are
/// pseudorandom, so it is independent of all other noise, and in two records unless they share masks.
pub(crate) fn log2_sigma_of_sum(params: &Params, a: &State, b: &State) -> f64 {
    let len = params.big_dimension() + 1;
    let mut pairs = a.lwes.chunks_exact(len).zip(b.lwes.chunks_exact(len));
    let shared = pairs.any(|(x, y)| x[..len - 1] == y[..len - 1]);
    let packing = |state: &State| match state.mask_form == MaskForm::Packed && !shared {
        true => params.packing(),
        false => 0.0,
    };
    let own = |state: &State| {
        let variance = (2.0 * state.log2_sigma).exp2() - packing(state);
        variance.max(0.0).sqrt()
    };
    let sum = own(a) + own(b);
    noise::log2_sigma(sum * sum + packing(a) + packing(b))
}
