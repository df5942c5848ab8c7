//! Checked parameters.

use crate::arithmetic::Arithmetic;
use crate::error::ParamsError;
use crate::noise::{Noise, NoiseModel};
use crate::sets::{ParamSet, Variant};
use homaes_math::sample::LOT;
use homaes_math::slots::Slots;
use homaes_math::{Backend, Ring};
use homaes_scheme::DigestBuilder;
use homaes_scheme::bits::BitScheme;
use std::sync::Arc;

/// Position of the second class of slots on the axis of 17 ([`Slots::new`]); any choice gives the same bits.
const SECOND_CLASS: usize = 7;

/// Checked parameters with all precomputation, shared by keys, ciphertexts and evaluators.
pub struct Params<A> {
    set: ParamSet,
    arithmetic: A,
    slots: Slots,
    noise: NoiseModel,
    digest: [u8; 32],
}

impl<A: Arithmetic> Params<A> {
    /// Checks `set` and computes its constants, in about half a second at n = 32768.
    ///
    /// # Errors
    /// Names the first number that is out of range.
    pub fn new(set: &ParamSet) -> Result<Arc<Self>, ParamsError> {
        Self::with_ring(set, Ring::new(set.m))
    }

    /// [`Params::new`] with the kernels of `backend`, for tests.
    ///
    /// # Errors
    /// As [`Params::new`].
    pub fn with_backend(set: &ParamSet, backend: Backend) -> Result<Arc<Self>, ParamsError> {
        Self::with_ring(set, Ring::with_backend(set.m, backend))
    }

    fn with_ring(set: &ParamSet, ring: Option<Ring>) -> Result<Arc<Self>, ParamsError> {
        let conductor = ParamsError::Conductor { m: set.m };
        // secrets are processed in lots
        let ring = ring.filter(|ring| ring.n().is_multiple_of(LOT));
        let ring = ring.ok_or(conductor.clone())?;
        let slots = Slots::new(&ring, SECOND_CLASS).ok_or(conductor)?;
        let rounds = set.rounds;
        if !(10..=14).contains(&rounds) {
            return Err(ParamsError::Rounds { rounds });
        }
        let noise = NoiseModel::new(&ring);
        let arithmetic = A::new(set, ring)?;
        let digest = DigestBuilder::new("ntru")
            .str("name", set.name.as_str())
            .u64("m", set.m)
            .u64("variant", variant_code(set.variant))
            .u64("depth of an S-box", set.sbox.levels() as u64)
            .u64("rounds", rounds as u64)
            .u64_list("chain", &arithmetic.numbers())
            .finish();
        Ok(Arc::new(Self {
            set: set.clone(),
            arithmetic,
            slots,
            noise,
            digest,
        }))
    }

    /// The declared numbers.
    pub fn set(&self) -> &ParamSet {
        &self.set
    }

    /// Arithmetic of ring elements.
    pub fn arithmetic(&self) -> &A {
        &self.arithmetic
    }

    /// The ring.
    pub fn ring(&self) -> &Ring {
        self.arithmetic.ring()
    }

    /// Bits to plaintexts and back: a bit is the byte 0 or 1.
    pub fn slots(&self) -> &Slots {
        &self.slots
    }

    /// log2 of the modulus at `level`; 0 if there is no such level.
    pub fn log2_modulus(&self, level: usize) -> f64 {
        match (1..=self.top_level()).contains(&level) {
            true => self.arithmetic.log2_modulus(level),
            false => 0.0,
        }
    }

    /// The noise model of the ring.
    pub fn noise(&self) -> &NoiseModel {
        &self.noise
    }

    pub(crate) fn fresh(&self) -> Noise {
        self.noise.fresh(self.arithmetic.encryption_drop())
    }

    /// BLAKE3 digest of the numbers that define the set; files carry it.
    pub(crate) fn digest(&self) -> &[u8; 32] {
        &self.digest
    }
}

fn variant_code(variant: Variant) -> u64 {
    match variant {
        Variant::Rns => 0,
        Variant::Hybrid => 1,
        Variant::Paper { word } => 2 | u64::from(word) << 8,
    }
}
