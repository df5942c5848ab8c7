//! Packing of results: many LWE ciphertexts of bits in one GLWE ciphertext, for files.
//!
//! Chen, Dai, Kim, Song 2021: the automorphisms of the trace merge ciphertexts pairwise, so packing needs no key of its
//! own. A ciphertext has up to N bits. Its words are rounded: masks to the digits of the key switch, bodies to
//! [`PACKED_BODY_BITS`].
//!
//! # The rounding of masks
//!
//! A look-up starts with a key switch, which rounds masks to its digits. Masks that are multiples of the smallest digit
//! lose nothing there, so packing costs a look-up only the noise of the automorphisms and of the body. A finer rounding
//! would not help: words halfway between two multiples become common, and the key switch negates words before it rounds
//! them, so it rounds these the other way than the mean that it removes supposes. The error then has a mean, which grows
//! with k N and in `tfhe/p64` misreads bits.

mod key;

pub use key::PackingKey;

use crate::bootstrap::Bootstrap;
use crate::ciphertext::Glwe;
use crate::ring;
use crate::set::{BitsSet, PACKED_BODY_BITS};
use crate::switching::centre;
use homaes_math::Reals;
use rayon::prelude::*;

/// Packs bits in GLWE ciphertexts, N bits in each but the last, on the current thread pool. `lwes` are their words,
/// mask before body. Bit i of c is coefficient i · [`stride`]; the others are not used.
///
/// Noise: [`packing`](crate::noise::packing). Cost: N automorphisms for N bits.
pub(crate) fn pack(base: &Bootstrap<'_>, set: &BitsSet, lwes: &[u64]) -> Vec<Glwe> {
    let words = set.rank * set.degree + 1;
    let each = lwes.par_chunks(set.degree * words);
    let each = each.map(|lwes| {
        let mut out = Packing::new(base, lwes.chunks_exact(words).collect()).run();
        round(set, &mut out);
        out
    });
    each.collect()
}

/// Distance of the coefficients of `count` bits in one ciphertext.
pub(crate) fn stride(set: &BitsSet, count: usize) -> usize {
    set.degree / count.next_power_of_two()
}

/// Rounds masks and body, with mean compensation.
fn round(set: &BitsSet, packed: &mut Glwe) {
    let (masks, body) = packed.split_mut();
    centre(set.key_switch, set.degree, masks, body);
    ring::round(masks, set.key_switch.bits());
    ring::round(body, PACKED_BODY_BITS);
}

struct Packing<'a> {
    base: &'a Bootstrap<'a>,
    lwes: Vec<&'a [u64]>,
    /// spectra of digits, and of results
    memory: [Reals; 2],
}

impl<'a> Packing<'a> {
    fn new(base: &'a Bootstrap<'a>, lwes: Vec<&'a [u64]>) -> Self {
        let shape = base.shape();
        let spectra = [shape.rank * shape.automorphism.levels, shape.rank + 1];
        Self {
            base,
            lwes,
            memory: spectra.map(|count| Reals::zeroed(count * shape.degree)),
        }
    }

    /// All bits in one ciphertext; coefficients between them are 0.
    fn run(&mut self) -> Glwe {
        let log = self.base.shape().degree.trailing_zeros();
        let merged = self.lwes.len().next_power_of_two().trailing_zeros();
        let mut out = self.merged(0, 1);
        for t in merged + 1..=log {
            let [rows, sums] = &mut self.memory;
            self.base.fold(t, &mut out, [rows, sums]);
        }
        out
    }

    /// Bits start, start + step, … in coefficients 0, step · stride, …, divided by what the remaining automorphisms
    /// multiply them by. `step` is a power of two.
    fn merged(&mut self, start: usize, step: usize) -> Glwe {
        let count = self.lwes.len();
        if step >= count {
            return self.single(self.lwes[start]);
        }
        let t = (count.next_power_of_two() / step).trailing_zeros();
        let mut even = self.merged(start, 2 * step);
        let odd = (start + step < count).then(|| self.merged(start + step, 2 * step));
        let [rows, sums] = &mut self.memory;
        match odd {
            Some(odd) => self.base.merge(t, &mut even, &odd, [rows, sums]),
            None => self.base.fold(t, &mut even, [rows, sums]),
        }
        even
    }

    /// One bit over N, in the constant coefficient; the others are arbitrary.
    fn single(&self, lwe: &[u64]) -> Glwe {
        let n = self.base.shape().degree;
        let mut out = self.base.zero();
        let (masks, body) = out.split_mut();
        let (mask, own) = lwe.split_at(masks.len());
        for (from, to) in mask.chunks_exact(n).zip(masks.chunks_exact_mut(n)) {
            ring::extract(from, 0, to);
        }
        body[0] = own[0];
        out.divide(n.trailing_zeros());
        out
    }
}

#[cfg(test)]
mod tests;
