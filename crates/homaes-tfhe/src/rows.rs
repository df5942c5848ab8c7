//! Rows of evaluation keys: GLWE encryptions with masks from a seed, and their spectra.

use crate::ring::RingSecret;
use crate::set::Gadget;
use homaes_math::sample::Seed;
use homaes_math::{Fourier, Reals, torus};
use rand_core::CryptoRng;

/// The secret keys of a set, each in the ring of its rows.
pub(crate) struct Secrets<'a> {
    /// n bits
    pub(crate) lwe: &'a [u64],
    pub(crate) glwe: RingSecret<'a>,
    /// the LWE key as polynomials; zeros fill the last one
    pub(crate) small: RingSecret<'a>,
}

impl<'a> Secrets<'a> {
    /// `fourier` and `small`: transforms of the GLWE ring and of the key-switch ring.
    pub(crate) fn new([fourier, small]: [&'a Fourier; 2], lwe: &'a [u64], glwe: &[u64]) -> Self {
        Self {
            lwe,
            glwe: RingSecret::new(fourier, glwe),
            small: RingSecret::new(small, lwe),
        }
    }
}

/// Gadget unit of digit `level`, from 0.
pub(crate) fn unit(gadget: Gadget, level: usize) -> u64 {
    1 << (64 - (level as u32 + 1) * gadget.base_log)
}

/// Source of the masks of a part: row r has stream `first + r`.
pub(crate) struct Masks {
    pub(crate) seed: Seed,
    pub(crate) first: u64,
}

/// Encrypts in place: replaces each message polynomial by the body of its row.
pub(crate) fn encrypt(
    secret: &RingSecret<'_>,
    sigma: f64,
    masks: &Masks,
    rng: &mut impl CryptoRng,
    bodies: &mut [u64],
) {
    for (stream, body) in (masks.first..).zip(bodies.chunks_mut(secret.degree())) {
        secret.encrypt((&masks.seed, stream), sigma, rng, body);
    }
}

/// Spectra of rows: row r has those of its `rank` masks and its body, from number `place(r)` on.
pub(crate) fn spectra(
    fourier: &Fourier,
    rank: usize,
    Masks { seed, first }: &Masks,
    bodies: &[u64],
    place: impl Fn(usize) -> usize,
) -> Reals {
    let n = fourier.degree();
    let count = bodies.len() / n * (rank + 1);
    let mut out = Reals::zeroed(count * n);
    let mut masks = vec![0; rank * n];
    for (row, body) in bodies.chunks(n).enumerate() {
        torus::uniform(seed, first + row as u64, &mut masks);
        for (i, poly) in masks.chunks(n).chain([body]).enumerate() {
            fourier.forward(poly, &mut out, place(row) + i);
        }
    }
    out
}
