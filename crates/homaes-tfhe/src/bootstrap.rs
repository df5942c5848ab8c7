//! The steps of a bootstrap that bits and digits have in common.

use crate::ciphertext::{Big, Glwe, Lwe, Small};
use crate::meter::{Meter, Stage};
use crate::parts::Spectra;
use crate::rotation::{BlindRotation, Rotation};
use crate::set::Shape;
use crate::switching::{Automorphisms, KeySwitch};
use homaes_math::Fourier;
use homaes_scheme::Cancel;
use std::sync::Arc;

/// The bootstrapping keys of a set, with a meter. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Bootstrap<'k> {
    shape: Shape,
    pub(crate) fourier: &'k Fourier,
    small: &'k Fourier,
    pub(crate) key: &'k Spectra,
    automorphisms: Automorphisms<'k>,
    pub(crate) meter: Arc<Meter>,
    /// after cancellation, rotations return garbage immediately
    pub(crate) cancel: Cancel,
}

impl<'k> Bootstrap<'k> {
    /// `fourier` and `small`: transforms of the GLWE ring and of the key-switch ring.
    pub(crate) fn new(shape: Shape, [fourier, small]: [&'k Fourier; 2], key: &'k Spectra) -> Self {
        Self {
            automorphisms: Automorphisms::new(fourier, &key.automorphisms, shape.automorphism),
            shape,
            fourier,
            small,
            key,
            meter: Arc::default(),
            cancel: Cancel::new(),
        }
    }

    pub(crate) fn zero(&self) -> Glwe {
        Glwe::zeroed(self.shape.rank, self.shape.degree)
    }

    /// Arbitrary content, to be overwritten.
    pub(crate) fn scratch(&self) -> Glwe {
        Glwe::scratch(self.shape.rank, self.shape.degree)
    }

    pub(crate) fn key_switch(&self, lwes: &[&Lwe<Big>]) -> Vec<Lwe<Small>> {
        let switch = KeySwitch {
            fourier: self.small,
            key: &self.key.key_switch,
            gadget: self.shape.key_switch,
            dimension: self.shape.lwe_dimension,
        };
        let run = || switch.run(lwes);
        let (out, transforms) = self.meter.time(Stage::KeySwitch, run);
        self.meter.transforms(transforms);
        out
    }

    /// X^-phase · test for each of `rotations`, in one pass over the key.
    pub(crate) fn blind_rotate(&self, rotations: &[Rotation<'_>]) -> Vec<Glwe> {
        let shape = &self.shape;
        let key = BlindRotation {
            fourier: self.fourier,
            steps: &self.key.steps,
            lwe_key: shape.lwe_key,
            unroll: shape.unroll,
            rank: shape.rank,
            mask: shape.rotation_mask,
            body: shape.rotation_body,
            cancel: &self.cancel,
        };
        let run = || key.run(rotations);
        let (out, transforms) = self.meter.time(Stage::Rotation, run);
        self.meter.rotations(rotations.len());
        self.meter.transforms(transforms);
        out
    }

    /// X -> X^(2^t + 1), switched back to the key.
    pub(crate) fn automorphism(&self, t: u32, x: &Glwe, out: &mut Glwe, memory: [&mut [f64]; 2]) {
        let transforms = self.automorphisms.apply(t, x, out, memory);
        self.meter.transforms(transforms);
    }
}
