//! The state of one batch of blocks.

use crate::ciphertext::{Big, Lwe};
use crate::error::{Error, Result};
use crate::keys::SecretKey;
use crate::params::Params;
use crate::secret::{self, lots};
use core::fmt;
use homaes_math::{Words, torus};
use homaes_scheme::{Decrypted, FieldError, Owner};
use homaes_wire::KeyId;
use rayon::prelude::*;
use zeroize::Zeroizing;

/// Callback after every round: its number, and the words of the state.
pub(crate) type Observe<'o> = &'o mut dyn FnMut(usize, Words);

/// What errors call a state.
pub(crate) const STATE: &str = "state";

/// Encrypted AES blocks: LWE ciphertexts of their digits under the flattened GLWE key, k N + 1 words each, mask before body.
///
/// Digit i of byte j of a block is ciphertext j·(8/width) + i, the least significant digit first. It holds digit · 2^63 for bits,
/// digit · 2^59 for base 16, in units of 2^-64.
#[derive(Clone)]
pub struct State {
    pub(crate) lwes: Words,
    pub(crate) blocks: usize,
    /// of the noise by the model
    pub(crate) log2_sigma: f64,
    pub(crate) owner: Owner,
    /// whether it is the result of AES, not a state between rounds
    pub(crate) finished: bool,
}

impl State {
    /// Number of blocks.
    pub fn blocks(&self) -> usize {
        self.blocks
    }

    /// The ciphertexts of all blocks, one after the other; see [`State`].
    pub fn lwes(&self) -> &[u64] {
        &self.lwes
    }

    /// A state of LWE ciphertexts that were made elsewhere: bits over 2 under [`SecretKey::glwe`] of the key called `id`, 128 of them a block, of noise
    /// 2^`log2_sigma` of the torus. See [`State`] for their order.
    ///
    /// # Errors
    /// If the set is not on bits, these are not whole blocks, or they would decrypt wrongly with a probability above
    /// 2^-64.
    pub fn from_lwes(params: &Params, id: KeyId, lwes: Words, log2_sigma: f64) -> Result<Self> {
        params.bits()?;
        let state = Self {
            blocks: lwes.len() / params.state_words(1),
            lwes,
            log2_sigma,
            owner: Owner::new(params.id(), Some(id)),
            finished: true,
        };
        state.check_set(params)?;
        params.check_decryption(state.blocks, log2_sigma)?;
        Ok(state)
    }

    /// Always 1: TFHE has no levels.
    pub fn level(&self) -> usize {
        1
    }

    /// log2 of the standard deviation of the noise by the model, in units of 2^-64 of the torus.
    pub fn noise_bits(&self) -> f64 {
        64.0 + self.log2_sigma
    }

    /// log2 of the distance at which a digit decrypts wrongly over that standard deviation.
    ///
    /// -∞ under another set's parameters.
    pub fn capacity_bits(&self, params: &Params) -> f64 {
        if !self.owner.is_of(params.id()) {
            return f64::NEG_INFINITY;
        }
        f64::from(params.digit_shift() - 1) - self.noise_bits()
    }

    /// log2 of a bound on the probability that any digit of the state decrypts wrongly, by the noise that it carries.
    ///
    /// It counts this noise alone: the AES and the look-ups behind a state fail with probabilities of their own.
    /// Standard deviations of summands add, which covers summands that depend on each other. Sums and records with more
    /// than 2^-64 are refused. 0 under another set's parameters.
    pub fn failure_log2(&self, params: &Params) -> f64 {
        match self.owner.is_of(params.id()) {
            true => params.log2_p_decrypt(self.blocks, self.log2_sigma),
            false => 0.0,
        }
    }

    /// Whether it is of the set.
    pub(crate) fn check_set(&self, params: &Params) -> Result<()> {
        self.owner.check_set(STATE, params.id())?;
        let (found, expected) = (self.lwes.len(), params.state_words(self.blocks));
        if found == expected {
            return Ok(());
        }
        let error = FieldError::new("words of a state", found as u64, expected as u64);
        Err(error.into())
    }

    /// Checks that it goes with keys of the set and of the secret key called `id`.
    ///
    /// # Errors
    /// If it does not.
    pub fn check(&self, params: &Params, id: KeyId) -> Result<()> {
        self.check_set(params)?;
        Ok(self.owner.check_key(STATE, id)?)
    }
}

/// The words of a state of these ciphertexts.
pub(crate) fn words_of(lwes: &[&Lwe<Big>]) -> Words {
    let len = lwes.first().map_or(1, |lwe| lwe.words().len());
    let mut out = Words::scratch(lwes.len() * len);
    for (lwe, out) in lwes.iter().zip(out.chunks_exact_mut(len)) {
        out.copy_from_slice(lwe.words());
    }
    out
}

impl fmt::Debug for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("State")
            .field("blocks", &self.blocks)
            .field("log2_sigma", &self.log2_sigma)
            .finish_non_exhaustive()
    }
}

impl SecretKey {
    /// The blocks of a state.
    ///
    /// # Errors
    /// If the state is of another set or another key, or digits have outgrown their range: too much noise, or another key if the state was
    /// read without its file's.
    #[inline(never)]
    pub fn decrypt_blocks(&self, state: &State) -> Result<Decrypted> {
        let params = self.params();
        let (width, shift) = (params.digit_bits(), params.digit_shift());
        let digits = self.rounded(state)?;
        // whether all are digits is told, which are not is not
        let all = digits.iter().fold(0, |all, &[digit, _]| all | digit);
        if all >> width != 0 {
            return Err(Error::NotDigits);
        }
        let worst = digits
            .iter()
            .fold(0, |worst, d| secret::greater(worst, d[1]));
        let per_byte = (8 / width) as usize;
        let byte = |digits: &[[u64; 2]]| {
            let each = (0..8).step_by(width as usize).zip(digits);
            each.fold(0, |byte, (i, &[digit, _])| byte | (digit as u8) << i)
        };
        let bytes: Zeroizing<Vec<u8>> = Zeroizing::new(digits.chunks(per_byte).map(byte).collect());
        Ok(Decrypted {
            blocks: Zeroizing::new(bytes.as_chunks().0.to_vec()),
            // a noise of nothing counts as one unit
            margin_bits: f64::from(shift) - 65.0 - torus::log2_fraction(worst | 1),
        })
    }

    /// The measured noise of a state: log2 of its root mean square over all ciphertexts, in units of 2^-64 of the torus.
    ///
    /// # Errors
    /// If the state is of another set or another key.
    pub fn measure_noise(&self, state: &State) -> Result<f64> {
        let digits = self.rounded(state)?;
        let squares = digits.iter().map(|&[_, error]| (error as f64).powi(2));
        Ok(0.5 * (squares.sum::<f64>() / digits.len() as f64).log2())
    }

    /// The digit of every ciphertext, and the distance of its phase from it: data, and errors that tell about the key.
    fn rounded(&self, state: &State) -> Result<Zeroizing<Vec<[u64; 2]>>> {
        let params = self.params();
        state.check(params, self.id())?;
        let (secret, shift) = (self.glwe(), params.digit_shift());
        let lwes = state.lwes.par_chunks_exact(secret.len() + 1);
        let digits = lwes.map(|lwe| {
            let (mask, body) = lwe.split_at(secret.len());
            let lots = lots(mask).iter().zip(lots(secret));
            let phase = lots.fold(body[0], |phase, (a, s)| {
                secret::subtract_product(a, s, phase)
            });
            secret::round(phase, shift)
        });
        Ok(digits.collect::<Vec<_>>().into())
    }
}
