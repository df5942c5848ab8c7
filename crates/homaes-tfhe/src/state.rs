//! Encrypted blocks.

use crate::ciphertext::{Big, Lwe};
use crate::error::{Error, Result};
use crate::keys::SecretKey;
use crate::params::Params;
use crate::secret::{self, lots};
use homaes_math::{Words, torus};
use homaes_scheme::{Decrypted, FieldError, Owner};
use homaes_wire::KeyId;
use rayon::prelude::*;
use zeroize::Zeroizing;

/// Called after every round with its number and the words of the state.
pub(crate) type Observe<'o> = &'o mut dyn FnMut(usize, Words);

pub(crate) const STATE: &str = "state";

/// Encrypted AES blocks: LWE ciphertexts of digits under the flattened GLWE key, k N + 1 words each, mask before body.
///
/// Digit i of byte j of a block, least significant first, is ciphertext j·(8/width) + i. It encodes digit · 2^63 for
/// bits and digit · 2^59 for base 16, in units of 2^-64.
#[derive(Clone)]
pub struct State {
    pub(crate) lwes: Words,
    pub(crate) blocks: usize,
    /// noise by the model
    pub(crate) log2_sigma: f64,
    pub(crate) owner: Owner,
    /// whether it is a result, not a state between rounds
    pub(crate) finished: bool,
    pub(crate) mask_form: MaskForm,
}

/// What is known of the masks of a state; see [`crate::packing`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MaskForm {
    Any,
    /// multiples of the smallest digit of the key switch
    Rounded,
    /// those of a packed record
    Packed,
}

impl State {
    /// Number of blocks.
    pub fn blocks(&self) -> usize {
        self.blocks
    }

    /// The words of all ciphertexts in order; see [`State`].
    pub fn lwes(&self) -> &[u64] {
        &self.lwes
    }

    /// A state of LWE ciphertexts made elsewhere: bit · 2^63 under [`SecretKey::glwe`] of the key called `id`, 128 per
    /// block in the order of [`State`], with noise of standard deviation 2^`log2_sigma` (of the torus).
    ///
    /// # Errors
    /// If the set is not on bits, the blocks are not whole, or they decrypt wrongly with probability above 2^-64.
    pub fn from_lwes(params: &Params, id: KeyId, lwes: Words, log2_sigma: f64) -> Result<Self> {
        params.bits()?;
        let state = Self {
            blocks: lwes.len() / params.state_words(1),
            lwes,
            log2_sigma,
            owner: Owner::new(params.id(), Some(id)),
            finished: true,
            mask_form: MaskForm::Any,
        };
        state.check_set(params)?;
        params.check_decryption(state.blocks, log2_sigma)?;
        Ok(state)
    }

    /// log2 of the standard deviation of the noise, by the model, in units of 2^-64 of the torus.
    pub fn noise_bits(&self) -> f64 {
        64.0 + self.log2_sigma
    }

    /// log2 of (distance at which a digit decrypts wrongly) / (standard deviation of the noise); -∞ under another set's
    /// parameters.
    pub fn capacity_bits(&self, params: &Params) -> f64 {
        if !self.owner.is_of(params.id()) {
            return f64::NEG_INFINITY;
        }
        f64::from(params.digit_shift() - 1) - self.noise_bits()
    }

    /// log2 of a bound on the probability that any digit decrypts wrongly; 0 under another set's parameters.
    ///
    /// It counts the state's noise alone, not the bootstraps that led to it. Sums add standard deviations, which holds
    /// for dependent summands too. Sums and records above 2^-64 are rejected.
    pub fn failure_log2(&self, params: &Params) -> f64 {
        match self.owner.is_of(params.id()) {
            true => params.log2_p_decrypt(self.blocks, self.log2_sigma),
            false => 0.0,
        }
    }

    pub(crate) fn check_set(&self, params: &Params) -> Result<()> {
        self.owner.check_set(STATE, params.id())?;
        let (found, expected) = (self.lwes.len(), params.state_words(self.blocks));
        if found == expected {
            return Ok(());
        }
        let error = FieldError::new("words of a state", found as u64, expected as u64);
        Err(error.into())
    }

    /// Checks that the state belongs to the set and to the secret key called `id`.
    ///
    /// # Errors
    /// If it does not.
    pub fn check(&self, params: &Params, id: KeyId) -> Result<()> {
        self.check_set(params)?;
        Ok(self.owner.check_key(STATE, id)?)
    }
}

pub(crate) fn words_of(lwes: &[&Lwe<Big>]) -> Words {
    let len = lwes.first().map_or(1, |lwe| lwe.words().len());
    let mut out = Words::scratch(lwes.len() * len);
    for (lwe, out) in lwes.iter().zip(out.chunks_exact_mut(len)) {
        out.copy_from_slice(lwe.words());
    }
    out
}

homaes_wire::debug_fields!(State, blocks, log2_sigma);

impl SecretKey {
    /// Decrypts a state.
    ///
    /// # Errors
    /// If the state is of another set or key, or a value is not a digit: too much noise, or the wrong key for a state
    /// that was decoded without a key's name.
    #[inline(never)]
    pub fn decrypt_blocks(&self, state: &State) -> Result<Decrypted> {
        let params = self.params();
        let (width, shift) = (params.digit_bits(), params.digit_shift());
        let digits = self.rounded(state)?;
        // reveals whether all values are digits, not which ones are not
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
            // no noise counts as one unit
            margin_bits: f64::from(shift) - 65.0 - torus::log2_fraction(worst | 1),
        })
    }

    /// Measures the noise: log2 of its root mean square over all ciphertexts, in units of 2^-64 of the torus.
    ///
    /// # Errors
    /// If the state is of another set or key.
    pub fn measure_noise(&self, state: &State) -> Result<f64> {
        let digits = self.rounded(state)?;
        let squares = digits.iter().map(|&[_, error]| (error as f64).powi(2));
        Ok(0.5 * (squares.sum::<f64>() / digits.len() as f64).log2())
    }

    /// The digit of each ciphertext, and the distance of the phase from it. Both are secret.
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
