//! Switching of keys: LWE ciphertexts to the key of blind rotation, automorphic images back to their own key; and what
//! rounding loses on the way, on average.

use crate::ciphertext::{Big, Glwe, Lwe, Small};
use crate::ring::{Automorphism, extract};
use crate::set::Gadget;
use homaes_math::{Fourier, Reals, Words};
use std::sync::Arc;

/// From the flattened GLWE key to the LWE key of n bits.
///
/// The mask becomes k N/d polynomials of degree d whose product with the key has <a, s> as constant coefficient; a GLWE key
/// switch in that ring follows, and the constant coefficient of its phase is read off.
pub(crate) struct KeySwitch<'k> {
    /// of degree d
    pub(crate) fourier: &'k Fourier,
    /// (k N/d) · levels rows, as many columns as the LWE key has polynomials, and one
    pub(crate) key: &'k Reals,
    pub(crate) gadget: Gadget,
    /// n
    pub(crate) dimension: usize,
}

impl KeySwitch<'_> {
    /// The messages of `lwes` under the key of n bits, and the number of transforms that took.
    ///
    /// Noise: [`key_switch`](crate::noise::key_switch).
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
            // the last polynomial may have more coefficients than the key has bits left
            for (mask, out) in switched.chunks_exact(d).zip(out.mask_mut().chunks_mut(d)) {
                extract(mask, 0, out);
            }
            out.add_constant(switched[(columns - 1) * d]);
        }
        (out, transforms)
    }
}

/// The automorphisms X -> X^(2^t + 1) of GLWE ciphertexts, with the switch back to the key.
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

    /// x ↦ ψ(x); the number of transforms that took. `rows` and `sums` are working memory for k · levels and k + 1 spectra.
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

/// Precision of torus elements that is given up for room in sums of them.
const SPARE_BITS: u32 = 8;

/// What a gadget's digits leave of a word, in units of 2^`SPARE_BITS`.
fn lost(gadget: Gadget, x: u64) -> i64 {
    let kept = gadget.levels as u32 * gadget.base_log;
    // the part below the last digit as a signed number
    ((x << kept) as i64) >> kept >> SPARE_BITS
}

/// Half of what digits leave of an LWE mask: what the key, of mean 1/2, makes of it on average.
fn half_lost(gadget: Gadget, mask: &[u64]) -> u64 {
    let all = mask
        .iter()
        .fold(0i64, |sum, &x| sum.wrapping_add(lost(gadget, x)));
    ((all >> 1) << SPARE_BITS) as u64
}

/// Takes from the body what the rounding of the masks will add to the phase on average, so that key bits count as ±1/2 and
/// the variance of the rounding is a quarter of the errors', not a half.
///
/// With errors ε the mean is ε (1 + X + … + X^(N-1))/2: its coefficient h is Σ_(j ≤ h) ε_j less half of all.
pub(crate) fn centre(gadget: Gadget, n: usize, masks: &[u64], body: &mut [u64]) {
    for mask in masks.chunks_exact(n) {
        let mut sum = half_lost(gadget, mask).wrapping_neg();
        for (x, b) in mask.iter().zip(&mut *body) {
            sum = sum.wrapping_add((lost(gadget, *x) << SPARE_BITS) as u64);
            *b = b.wrapping_sub(sum);
        }
    }
}
