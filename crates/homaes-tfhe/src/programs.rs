//! Programs on states of bits: results of AES, or what came over a bridge, and on without an end.

use crate::bits::engine::{Engine, LweByte, bytes_per_task};
use crate::bits::table::{Entry, polynomials};
use crate::ciphertext::{Big, Lwe};
use crate::error::{Error, Result};
use crate::keys::EvalKey;
use crate::noise::log2_sum;
use crate::state::{State, words_of};
use homaes_scheme::Owner;
use rayon::prelude::*;

impl EvalKey {
    /// `table[x]` for every byte x of a state, with the current thread pool: what SubBytes is in a round.
    ///
    /// Noise: that of a result of AES, whatever came in. Failure: that of eight bootstrappings a byte,
    /// [`log2_p_look_up`](crate::Params::log2_p_look_up). Cost: eight circuit bootstraps and a tree of CMux gates a
    /// byte, a tenth of a block of AES for 16 bytes.
    ///
    /// # Errors
    /// If the set is not on bits or the state belongs to another set or secret; [`Error::Unreliable`] if any bit of the
    /// state would be read wrongly with a probability above 2^-64. Sums of two results pass.
    pub fn look_up(&self, state: &State, table: &[u8; 256]) -> Result<State> {
        let params = self.params();
        let set = params.bits()?;
        state.check(params, self.key_id())?;
        params.check_look_up(state.blocks, state.log2_sigma)?;
        let table = table.map(Entry::from);
        let table = polynomials(&table, 0);
        let engine = Engine::new(set, params.fouriers(), self.spectra());
        let len = params.big_dimension() + 1;
        let bytes = bytes_per_task(state.lwes.len() / (8 * len));
        let tasks = state.lwes.par_chunks(8 * bytes * len);
        let bits = tasks.with_max_len(1).flat_map_iter(|words| {
            let bytes = words.chunks_exact(8 * len).map(|words| {
                let bits = |i| Lwe::from_words(&words[len * i..len * (i + 1)]);
                core::array::from_fn(bits)
            });
            let bytes: Vec<LweByte> = bytes.collect();
            let bytes: Vec<&LweByte> = bytes.iter().collect();
            let found = engine.look_up(&bytes, &vec![&table[..]; bytes.len()]);
            let bits = found
                .iter()
                .flat_map(|glwe| (0..8).map(|bit| glwe.extract(bit)));
            bits.collect::<Vec<_>>()
        });
        let bits: Vec<Lwe<Big>> = bits.collect();
        Ok(State {
            lwes: words_of(&bits.iter().collect::<Vec<_>>()),
            blocks: state.blocks,
            log2_sigma: params.state_log2_sigma(1, 1),
            owner: state
                .owner
                .with(Owner::new(params.id(), Some(self.key_id()))),
            finished: true,
        })
    }

    /// The exclusive or of two states, block by block. Free. Standard deviations of noise add, as those of a state and itself do.
    ///
    /// # Errors
    /// If the set is not on bits, a state belongs to another set or secret, or they have different numbers of blocks;
    /// [`Error::Unreliable`] if the sum would decrypt wrongly with a probability above 2^-64.
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
        let log2_sigma = log2_sum(a.log2_sigma, b.log2_sigma);
        params.check_decryption(a.blocks, log2_sigma)?;
        let mut out = a.clone();
        for (x, y) in out.lwes.iter_mut().zip(b.lwes.iter()) {
            *x = x.wrapping_add(*y);
        }
        out.owner = a.owner.with(b.owner);
        out.finished &= b.finished;
        out.log2_sigma = log2_sigma;
        Ok(out)
    }
}
