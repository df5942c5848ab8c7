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
    pub(crate) fn new(
        shape: Shape,
        [fourier, small]: [&'k Fourier; 2],
        key: &'k Spectra,
        cancel: &Cancel,
    ) -> Self {
        Self {
            automorphisms: Automorphisms::new(fourier, &key.automorphisms, shape.automorphism),
            shape,
            fourier,
            small,
            key,
            meter: Arc::default(),
            cancel: cancel.clone(),
        }
    }

    pub(crate) fn shape(&self) -> &Shape {
        &self.shape
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

    /// ψ(x) for X -> X^(2^t + 1), switched back to the key; garbage after cancellation.
    pub(crate) fn automorphism(&self, t: u32, x: &Glwe, out: &mut Glwe, memory: Memory<'_>) {
        if !self.cancel.is_cancelled() {
            let transforms = self.automorphisms.apply(t, x, out, memory);
            self.meter.transforms(transforms);
        }
    }

    /// A step of the trace: adds ψ(x) to x, which doubles what ψ keeps and cancels what it negates.
    pub(crate) fn fold(&self, t: u32, x: &mut Glwe, memory: Memory<'_>) {
        let mut image = self.scratch();
        self.automorphism(t, x, &mut image, memory);
        x.add(&image);
    }

    /// Turns x into (x + X^(N/2^t) y) + ψ(x - X^(N/2^t) y): both constants in one ciphertext, N/2^t apart.
    pub(crate) fn merge(&self, t: u32, x: &mut Glwe, y: &Glwe, memory: Memory<'_>) {
        let mut turned = self.scratch();
        y.rotate(self.shape.degree >> t, &mut turned);
        let mut difference = x.clone();
        difference.sub(&turned);
        x.add(&turned);
        self.automorphism(t, &difference, &mut turned, memory);
        x.add(&turned);
    }

    /// The inverse of [`merge`](Self::merge), doubled: x + ψ(x) and X^-(N/2^t) (x - ψ(x)).
    pub(crate) fn split(&self, t: u32, mut x: Glwe, memory: Memory<'_>) -> [Glwe; 2] {
        let n = self.shape.degree;
        let [mut image, mut odd] = [self.scratch(), self.scratch()];
        self.automorphism(t, &x, &mut image, memory);
        let mut difference = x.clone();
        difference.sub(&image);
        difference.rotate(2 * n - (n >> t), &mut odd);
        x.add(&image);
        [x, odd]
    }
}

/// Spectra of digits, and of results: k · levels and k + 1 of them.
pub(crate) type Memory<'m> = [&'m mut [f64]; 2];
