//! Key switches: LWE ciphertexts to the key of blind rotation, images of automorphisms back to their key. Both
//! compensate the mean of the rounding error.

use crate::ciphertext::{Big, Glwe, Lwe, Small};
use crate::ring::{Automorphism, extract};
use crate::set::Gadget;
use homaes_math::{Fourier, Reals, Words};
use std::sync::Arc;

/// Key switch from the flattened GLWE key to the LWE key of n bits.
///
/// The mask becomes k N/d polynomials of degree d whose product with the key has <a, s> as constant coefficient. A GLWE
/// key switch in that ring follows; the result is the constant coefficient.
pub(crate) struct KeySwitch<'k> {
    /// of degree d
    pub(crate) fourier: &'k Fourier,
    /// (k N/d) · levels rows of ⌈n/d⌉ + 1 columns
    pub(crate) key: &'k Reals,
    pub(crate) gadget: Gadget,
    /// n
    pub(crate) dimension: usize,
}

impl KeySwitch<'_> {
    /// Switches `lwes`, with noise [`key_switch`](crate::noise::key_switch); also returns the number of transforms.
    pub(crate) fn run(&self, lwes: &[&Lwe<Big>]) -> (Vec<Lwe<Small>>, usize) {
        let (n, d) = (self.dimension, self.fourier.degree());
        let columns = n.div_ceil(d) + 1;
        let count = self.key.len() / (columns * d);
        let levels = self.gadget.levels;
        let transforms = lwes.len() * (count + columns);
        let mut out = vec![Lwe::zeroed(n); lwes.len()];
        let mut rows = Reals::zeroed(count * d);
        let mut sums = Reals::zeroed(columns * d);
        let mut poly = Words::zeroed(d);
        let mut switched = Words::zeroed(columns * d);
        for (lwe, out) in lwes.iter().zip(&mut out) {
            for (i, a) in lwe.mask().chunks_exact(d).enumerate() {
                extract(a, 0, &mut poly);
                let digits = self.gadget.digits();
                self.fourier
                    .forward_digits(digits, &poly, &mut rows, i * levels);
            }
            sums.fill(0.0);
            self.fourier
                .multiply_add(&rows, self.key, columns, &mut sums);
            switched.fill(0);
            switched[(columns - 1) * d] =
                lwe.body().wrapping_sub(half_lost(self.gadget, lwe.mask()));
            for (c, poly) in switched.chunks_exact_mut(d).enumerate() {
                self.fourier.inverse_add(&sums, c, poly);
            }
            // the last polynomial may be longer than the rest of the key
            for (mask, out) in switched.chunks_exact(d).zip(out.mask_mut().chunks_mut(d)) {
                extract(mask, 0, out);
            }
            out.add_constant(switched[(columns - 1) * d]);
        }
        (out, transforms)
    }
}

/// Automorphisms X -> X^(2^t + 1) of GLWE ciphertexts, each with the switch back to the key.
#[derive(Clone)]
pub(crate) struct Automorphisms<'k> {
    fourier: &'k Fourier,
    /// t = 1, 2, …: k · levels rows, k + 1 columns
    keys: &'k [Reals],
    gadget: Gadget,
    maps: Arc<Vec<Automorphism>>,
}

impl<'k> Automorphisms<'k> {
    pub(crate) fn new(fourier: &'k Fourier, keys: &'k [Reals], gadget: Gadget) -> Self {
        let maps = (1..).take(keys.len());
        let maps = maps.map(|t| Automorphism::new(fourier.degree(), t));
        Self {
            fourier,
            keys,
            gadget,
            maps: Arc::new(maps.collect()),
        }
    }

    /// Writes ψ(x) to `out` and returns the number of transforms. `rows` and `sums` hold k · levels and k + 1 spectra.
    ///
    /// Noise: [`automorphism`](crate::noise::automorphism) in every coefficient.
    pub(crate) fn apply(
        &self,
        t: u32,
        x: &Glwe,
        out: &mut Glwe,
        [rows, sums]: [&mut [f64]; 2],
    ) -> usize {
        let (n, levels) = (self.fourier.degree(), self.gadget.levels);
        let columns = x.polynomials().len();
        let rank = columns - 1;
        let map = &self.maps[t as usize - 1];
        for (x, out) in x.polynomials().zip(out.polynomials_mut()) {
            map.apply(x, out);
        }
        let rows = &mut rows[..rank * levels * n];
        let (masks, _) = out.split_mut();
        for (i, mask) in masks.chunks_exact(n).enumerate() {
            self.fourier
                .forward_digits(self.gadget.digits(), mask, rows, i * levels);
        }
        let sums = &mut sums[..columns * n];
        sums.fill(0.0);
        let key = &self.keys[t as usize - 1];
        self.fourier.multiply_add(rows, key, columns, sums);
        masks.fill(0);
        for (c, poly) in out.polynomials_mut().enumerate() {
            self.fourier.inverse_add(sums, c, poly);
        }
        rank * levels + columns
    }
}

/// Rounding errors drop this many bits, so that sums of them do not overflow.
const SPARE_BITS: u32 = 8;

/// The rounding error of a word under a gadget, in units of 2^`SPARE_BITS`.
fn lost(gadget: Gadget, x: u64) -> i64 {
    let kept = gadget.bits();
    ((x << kept) as i64) >> kept >> SPARE_BITS
}

/// The mean effect of a mask's rounding errors: half their sum, as key bits have mean 1/2.
fn half_lost(gadget: Gadget, mask: &[u64]) -> u64 {
    let all = mask
        .iter()
        .fold(0i64, |sum, &x| sum.wrapping_add(lost(gadget, x)));
    ((all >> 1) << SPARE_BITS) as u64
}

/// Subtracts the mean effect of the masks' rounding errors from the body. A key bit then counts as ±1/2, which halves
/// the variance from rounding.
///
/// For errors ε the mean is ε (1 + X + … + X^(N-1))/2: coefficient h is Σ_(j ≤ h) ε_j minus half the sum of all ε_j.
pub(crate) fn centre(gadget: Gadget, n: usize, masks: &[u64], body: &mut [u64]) {
    for mask in masks.chunks_exact(n) {
        let mut sum = half_lost(gadget, mask).wrapping_neg();
        for (x, b) in mask.iter().zip(&mut *body) {
            sum = sum.wrapping_add((lost(gadget, *x) << SPARE_BITS) as u64);
            *b = b.wrapping_sub(sum);
        }
    }
}
