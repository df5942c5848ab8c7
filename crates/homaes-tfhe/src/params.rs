//! Checked parameters.

use crate::error::{Error, Result};
use crate::nibble::noise::NibbleNoise;
use crate::noise::{
    self, Accounting, BIT_THRESHOLD, Mixture, NoiseModel, log2_erfc, log2_sigma, log2_sum,
    log2_tail, rounded_to,
};
use crate::set::{BitsSet, ParamSet, ParamsError, Shape, Variant};
use core::f64::consts::SQRT_2;
use homaes_aes::{KeySize, Layout};
use homaes_math::Fourier;
use homaes_scheme::{MAX_LOG2_P_FAIL, SetId};
use std::sync::Arc;

/// Enough to share work between counters, few enough to show progress.
const BLOCKS_PER_BATCH: usize = 32;

/// Checked parameters with the transforms of their rings and the noise model.
#[derive(Debug)]
pub struct Params {
    set: ParamSet,
    digest: [u8; 32],
    shape: Shape,
    /// of the GLWE ring and of the key-switch ring
    fouriers: [Fourier; 2],
    noise: Noise,
}

#[derive(Debug)]
enum Noise {
    Bits(Box<NoiseModel>),
    Nibble(Box<NibbleNoise>),
}

impl Params {
    /// Checks a set, and builds its transforms and noise model.
    ///
    /// # Errors
    /// If a number is outside its range.
    pub fn new(set: &ParamSet) -> Result<Arc<Self>, ParamsError> {
        set.check()?;
        let (shape, noise) = match &set.variant {
            Variant::Bits(set) => {
                let model = NoiseModel::new(set, Accounting::Uniform);
                (Shape::from(set), Noise::Bits(Box::new(model)))
            }
            Variant::Nibble(set) => {
                let model = NibbleNoise::new(set);
                (Shape::from(set), Noise::Nibble(Box::new(model)))
            }
        };
        Ok(Arc::new(Self {
            set: set.clone(),
            digest: set.digest(),
            shape,
            fouriers: shape.fouriers(),
            noise,
        }))
    }

    /// The set as declared.
    pub fn set(&self) -> &ParamSet {
        &self.set
    }

    /// Name and digest, as files and errors show them.
    pub fn id(&self) -> SetId<'_> {
        SetId::new(self.set.name.as_str(), &self.digest)
    }

    /// The only layout: bit-sliced (one ciphertext per bit) or byte-sliced (two digits per byte).
    pub fn layouts(&self) -> &'static [Layout] {
        match self.set.variant {
            Variant::Bits(_) => &[Layout::Bits],
            Variant::Nibble(_) => &[Layout::Sliced],
        }
    }

    /// Most blocks of one batch. Smaller batches cost less and have shorter records: nothing is padded.
    pub fn blocks_per_batch(&self) -> usize {
        BLOCKS_PER_BATCH
    }

    /// log2 of the probability that a full batch under an AES key of `size` comes out wrong, including the server's key
    /// expansion.
    pub fn log2_p_fail(&self, size: KeySize) -> f64 {
        let blocks = (BLOCKS_PER_BATCH as f64).log2();
        let [one, expansion] = match &self.noise {
            Noise::Bits(model) => [model.log2_p_block(size), model.log2_p_expansion(size)],
            Noise::Nibble(model) => model.log2_p(size),
        };
        log2_sum(one + blocks, expansion)
    }

    pub(crate) fn bits(&self) -> Result<&BitsSet> {
        match &self.set.variant {
            Variant::Bits(set) => Ok(set),
            Variant::Nibble(_) => Err(Error::NotBits {
                set: self.set.name.as_str(),
            }),
        }
    }

    /// log2 of the probability that a look-up of one byte misreads a bit, if the bits have noise of standard deviation
    /// 2^`log2_sigma`. Masks that are `rounded` lose nothing in the key switch. `None` for sets on digits.
    pub fn log2_p_look_up(&self, log2_sigma: f64, rounded: bool) -> Option<f64> {
        let Noise::Bits(model) = &self.noise else {
            return None;
        };
        let own = (2.0 * log2_sigma).exp2();
        let lost = match rounded {
            true => model.key_switch - model.key_switch_rounding,
            false => model.key_switch,
        };
        let noise = Mixture::of_normal(own + lost + model.modulus_switch);
        Some(3.0 + log2_tail(&noise, BIT_THRESHOLD))
    }

    /// log2 of a bound on the probability that any digit of `blocks` blocks decrypts wrongly, under normal noise of
    /// standard deviation 2^`log2_sigma`.
    pub(crate) fn log2_p_decrypt(&self, blocks: usize, log2_sigma: f64) -> f64 {
        let digits = (blocks * 128 / self.digit_bits() as usize) as f64;
        let threshold = (f64::from(self.digit_shift()) - 65.0).exp2();
        let one = log2_erfc(threshold / log2_sigma.exp2() / SQRT_2);
        (digits.log2() + one).min(0.0)
    }

    /// Rejects blocks that decrypt wrongly with probability above 2^-64.
    pub(crate) fn check_decryption(&self, blocks: usize, log2_sigma: f64) -> Result<()> {
        let log2_p = self.log2_p_decrypt(blocks, log2_sigma);
        check("decryption of these blocks", log2_p)
    }

    /// Rejects blocks whose bits a bootstrap misreads with probability above 2^-64.
    pub(crate) fn check_look_up(
        &self,
        blocks: usize,
        log2_sigma: f64,
        rounded: bool,
    ) -> Result<()> {
        let byte = self.log2_p_look_up(log2_sigma, rounded).unwrap_or(0.0);
        let log2_p = ((16 * blocks) as f64).log2() + byte;
        check("a look-up of these blocks", log2_p)
    }

    /// log2 of the noise after words are rounded to multiples of 2^32, for the worst key: all bits 1.
    pub(crate) fn rounded_log2_sigma(&self, log2_sigma: f64) -> f64 {
        let rounding = rounded_to(32f64.exp2(), self.big_dimension() as f64);
        noise::log2_sigma((2.0 * log2_sigma).exp2() + rounding)
    }

    /// log2 of the noise of a result in its record, if the state has 2^`log2_sigma`: packed on bits.
    pub(crate) fn result_log2_sigma(&self, log2_sigma: f64) -> f64 {
        match &self.noise {
            Noise::Bits(model) => noise::log2_sigma((2.0 * log2_sigma).exp2() + model.packing),
            Noise::Nibble(_) => self.rounded_log2_sigma(log2_sigma),
        }
    }

    /// Variance of the noise of packing; none on digits, which are not packed.
    pub(crate) fn packing(&self) -> f64 {
        match &self.noise {
            Noise::Bits(model) => model.packing,
            Noise::Nibble(_) => 0.0,
        }
    }

    pub(crate) fn state_log2_sigma(&self, round: usize, rounds: usize) -> f64 {
        match &self.noise {
            Noise::Bits(model) => log2_sigma(if round == 0 {
                model.round_key
            } else if round < rounds {
                model.linear.total() + model.round_key
            } else {
                model.output.total()
            }),
            Noise::Nibble(model) => model.state_log2_sigma(round),
        }
    }

    pub(crate) fn fouriers(&self) -> [&Fourier; 2] {
        self.fouriers.each_ref()
    }

    pub(crate) fn shape(&self) -> &Shape {
        &self.shape
    }

    /// k N: dimension of the LWE key of states.
    pub(crate) fn big_dimension(&self) -> usize {
        self.shape.big_dimension()
    }

    pub(crate) fn digit_bits(&self) -> u32 {
        match self.set.variant {
            Variant::Bits(_) => 1,
            Variant::Nibble(_) => 4,
        }
    }

    /// log2 of the encoding of digit 1: bits fill the torus, base-16 digits its lower half.
    pub(crate) fn digit_shift(&self) -> u32 {
        match self.set.variant {
            Variant::Bits(_) => 63,
            Variant::Nibble(_) => 59,
        }
    }

    pub(crate) fn state_words(&self, blocks: usize) -> usize {
        blocks * (128 / self.digit_bits() as usize) * (self.big_dimension() + 1)
    }
}

/// Rejects an operation `what` that fails with probability above 2^-64.
fn check(what: &'static str, log2_p: f64) -> Result<()> {
    let found = log2_p.min(0.0);
    match found <= MAX_LOG2_P_FAIL {
        true => Ok(()),
        false => Err(Error::Unreliable { what, found }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::set::LweKey;
    use crate::sets;
    use crate::tests::changed;

    #[test]
    fn unsound_sets_are_refused_by_name() {
        let (dimension, step) = ("LWE dimension", "key bits per step of blind rotation");
        type Damage = fn(&mut BitsSet);
        let cases: [(&str, Damage); 15] = [
            ("degree", |s| s.degree = 4096),
            ("degree", |s| s.degree = 100),
            ("rank", |s| s.rank = 3),
            ("rank", |s| s.rank = usize::MAX),
            ("log2 of values per rotation", |s| s.log2_values = 64),
            ("GGSW levels", |s| s.log2_values = 1),
            ("LWE noise", |s| s.lwe_log2_sigma = f64::NAN),
            ("GLWE noise", |s| s.glwe_log2_sigma = 0.5),
            (step, |s| s.unroll = 3),
            (step, |s| s.lwe_key = LweKey::Blocks),
            (dimension, |s| (s.lwe_key, s.unroll) = (LweKey::Blocks, 3)),
            (dimension, |s| s.lwe_dimension = 7),
            (dimension, |s| s.lwe_dimension = 1024),
            ("digits of the trace", |s| s.trace.base_log = 32),
            ("digits of key switching", |s| s.key_switch.levels = 0),
        ];
        for (name, change) in cases {
            let set = changed(&sets::TOY, change, |_| ());
            assert_eq!(Params::new(&set).unwrap_err().what, name);
        }
    }
}
