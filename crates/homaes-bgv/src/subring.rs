//! From ciphertexts over one prime to LWE ciphertexts under a key of the subring of degree n/16, on the processor. The
//! crate `homaes-bridge` explains both steps.

use crate::params::Params;
use homaes_math::{GaloisMap, Modulus, Transform, Words, kernel};
use homaes_rns::Poly;
use rayon::prelude::*;

/// Readings of one task.
const PER_TASK: usize = 32;
/// Readings whose sums fit the L2 cache.
const TOGETHER: usize = 8;

/// A switch to the key of the subring of degree n/16.
#[derive(Clone, Copy)]
pub struct RingSwitch<'a> {
    /// Dropped bits of c1.
    pub low: u32,
    /// Bits of a digit; the last one has the rest.
    pub base: u32,
    /// For each digit a pair (b, a) over one prime, stored and canonical.
    pub pairs: &'a [[Poly; 2]],
}

/// A slot to read.
#[derive(Clone, Copy)]
pub struct Reading<'a> {
    /// Body and mask, made by [`Device::ring_switch`](crate::device::Device::ring_switch); canonical where the processor
    /// reads them.
    pub of: &'a [Poly; 2],
    /// The dual embedding of the functional that reads a slot, over the same prime: canonical and plain.
    pub dual: &'a Poly,
    /// The translation of the subring from there to this slot.
    pub map: &'a GaloisMap,
    /// Number of the LWE ciphertext among the outputs.
    pub to: usize,
}

impl Reading<'_> {
    /// Whether both read the same ciphertext by the same functional; adjacent ones share loads.
    pub fn shares(&self, other: &Self) -> bool {
        core::ptr::eq(self.of, other.of) && core::ptr::eq(self.dual, other.dual)
    }
}

/// Slots to read.
#[derive(Clone, Copy)]
pub struct Readings<'a> {
    /// In any order; adjacent ones that [share loads](Reading::shares) are read together.
    pub all: &'a [Reading<'a>],
    /// The transform of the subring modulo the prime.
    pub transform: &'a Transform,
}

impl Readings<'_> {
    /// Words of an LWE ciphertext.
    pub fn words(&self) -> usize {
        self.transform.ring().n() + 1
    }
}

/// LWE ciphertexts, one after the other.
pub enum Lwes<'a> {
    /// Whole words.
    Words(&'a mut [u64]),
    /// Their upper halves, rounded, little-endian.
    Upper(&'a mut [u8]),
}

/// A stored lazy residue, centred, rounded to multiples of 2^`low`.
fn high_part(m: &Modulus, x: u64, low: u32) -> i64 {
    let x = m.from_stored(m.canonical(x));
    let x = if x > m.p() / 2 {
        x as i64 - m.p() as i64
    } else {
        x as i64
    };
    (x + (1 << (low - 1))) >> low
}

/// The lowest digit of `base` bits, centred.
fn low_digit(x: i64, base: u32) -> i64 {
    let half = 1 << (base - 1);
    (x + half).rem_euclid(1 << base) - half
}

/// [`Device::ring_switch`](crate::device::Device::ring_switch) of one ciphertext.
pub(crate) fn switched(
    params: &Params,
    switch: &RingSwitch<'_>,
    [c0, c1]: [&Poly; 2],
) -> [Poly; 2] {
    let transform = params.descent_transform();
    let (ring, m, levels) = (params.ring(), transform.modulus(), switch.pairs.len());
    let mut coefficients = c1.limbs[0].to_vec();
    transform.inverse(&mut coefficients);
    let high = coefficients.iter().map(|&x| high_part(m, x, switch.low));
    let mut rest: Vec<i64> = high.collect();
    let digits = (0..levels).map(|level| {
        let mut digit = Words::scratch(rest.len());
        for (x, rest) in digit.iter_mut().zip(&mut rest) {
            let d = match level + 1 == levels {
                true => *rest,
                false => low_digit(*rest, switch.base),
            };
            *rest = (*rest - d) >> switch.base;
            *x = m.to_stored(m.from_signed(d));
        }
        transform.forward(&mut digit);
        digit
    });
    let digits: Vec<Words> = digits.collect();
    let dot = |part: usize| {
        let mut out = Poly::scratch(ring.n(), 1);
        let pairs = digits.iter().zip(switch.pairs);
        let terms = pairs.map(|(d, pair)| [&**d, &*pair[part].limbs[0]]);
        let terms: Vec<[&[u64]; 2]> = terms.collect();
        kernel::dot(ring, m, &terms, false, &mut out.limbs[0]);
        out
    };
    let [mut body, mut mask] = [dot(0), dot(1)];
    for (x, &c) in body.limbs[0].iter_mut().zip(c0.limbs[0].iter()) {
        *x = m.add(m.canonical(*x), m.canonical(c));
    }
    mask.limbs[0].iter_mut().for_each(|x| *x = m.canonical(*x));
    [body, mask]
}

/// [`Device::read`](crate::device::Device::read).
pub(crate) fn read(readings: &Readings<'_>, out: Lwes<'_>) {
    let len = readings.words();
    match out {
        Lwes::Words(out) => read_all(readings, out, len, <[u64]>::copy_from_slice),
        Lwes::Upper(out) => read_all(readings, out, 4 * len, |out, lwe| {
            for (out, &x) in out.as_chunks_mut().0.iter_mut().zip(lwe) {
                *out = upper(x).to_le_bytes();
            }
        }),
    }
}

/// The upper half of a word, rounded.
pub fn upper(x: u64) -> u32 {
    (x.wrapping_add(1 << 31) >> 32) as u32
}

fn read_all<T: Send>(
    readings: &Readings<'_>,
    out: &mut [T],
    len: usize,
    put: impl Fn(&mut [T], &[u64]) + Sync,
) {
    assert_eq!(out.len(), readings.all.len() * len, "one place per reading");
    let mut parts: Vec<Option<&mut [T]>> = out.chunks_exact_mut(len).map(Some).collect();
    let mut tasks = Vec::new();
    for readings in readings.all.chunks(PER_TASK) {
        let parts = readings.iter().map(|reading| parts[reading.to].take());
        let parts = parts.collect::<Option<Vec<_>>>();
        tasks.push((readings, parts.expect("every place is filled once")));
    }
    let words = readings.words();
    let scratch = || {
        let pair = || [(); 2].map(|()| Words::scratch(words - 1));
        let sums: Vec<[Words; 2]> = (0..TOGETHER).map(|_| pair()).collect();
        (sums, Words::scratch(TOGETHER * words))
    };
    let tasks = tasks.into_par_iter();
    tasks.for_each_init(scratch, |(sums, lwes), (all, mut parts)| {
        let mut parts = parts.iter_mut();
        for some in all
            .chunk_by(Reading::shares)
            .flat_map(|some| some.chunks(TOGETHER))
        {
            let lwes = lwes.chunks_exact_mut(words).take(some.len());
            let mut lwes: Vec<&mut [u64]> = lwes.collect();
            read_some(readings.transform, some, sums, &mut lwes);
            for (lwe, part) in lwes.iter().zip(parts.by_ref()) {
                put(part, lwe);
            }
        }
    });
}

/// Readings of one ciphertext and functional, which share loads.
fn read_some(
    transform: &Transform,
    some: &[Reading<'_>],
    sums: &mut [[Words; 2]],
    out: &mut [&mut [u64]],
) {
    let (ring, m) = (transform.ring(), transform.modulus());
    let maps: Vec<&GaloisMap> = some.iter().map(|reading| reading.map).collect();
    let pairs = sums.iter_mut().take(maps.len());
    let mut sums: Vec<[&mut [u64]; 2]> = pairs
        .map(|pair| pair.each_mut().map(|sum| &mut sum[..]))
        .collect();
    let [body, mask] = some[0].of.each_ref().map(|part| &*part.limbs[0]);
    let dual = &some[0].dual.limbs[0];
    kernel::row_sums(ring, m, dual, [mask, body], &maps, &mut sums);
    for ([a, b], out) in sums.into_iter().zip(out) {
        transform.forward(a);
        let (mask, last) = out.split_at_mut(ring.n());
        kernel::to_torus(ring, m, a, mask);
        // canonical residues: 2^17 of them fit a word
        b[0] = b.iter().sum::<u64>() % m.p();
        let lanes = ring.lanes();
        b[1..lanes].fill(0);
        kernel::to_torus(ring, m, &b[..lanes], &mut a[..lanes]);
        last[0] = a[0].wrapping_neg();
    }
}
