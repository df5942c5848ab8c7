//! Limbs at rest modulo primes below 2^32: two residues per word.
//!
//! Word i of a packed limb holds canonical residue i in its low half and residue i + n/2 in its high half, which
//! halves memory and traffic. Sums and [`dot`] read packed limbs; other products need [`unpack`].

use crate::aligned::Words;
use crate::kernel;
use crate::modulus::{Modulus, Shoup};
use crate::ring::Ring;
use crate::simd;

/// Bits of a half; primes are below `2^HALF_BITS`.
pub const HALF_BITS: u32 = 32;
const LOW: u64 = u32::MAX as u64;

fn check(ring: &Ring, m: &Modulus, halves: &[&[u64]]) {
    assert!(m.bits() <= HALF_BITS && halves.iter().all(|h| 2 * h.len() == ring.n()));
}

/// Packs lazy words.
pub fn pack(ring: &Ring, m: &Modulus, words: &[u64], out: &mut [u64]) {
    check(ring, m, &[out]);
    assert_eq!(words.len(), ring.n());
    if let Some(backend) = ring.vectorised() {
        return simd::pack(backend, m, words, out);
    }
    pack_words(m, words, out);
}

/// The residues as words, canonical.
pub fn unpack(ring: &Ring, halves: &[u64], out: &mut [u64]) {
    assert!(2 * halves.len() == ring.n() && out.len() == ring.n());
    if let Some(backend) = ring.vectorised() {
        return simd::unpack(backend, halves, out);
    }
    unpack_words(halves, out);
}

/// `out = a + b`.
pub fn add(ring: &Ring, m: &Modulus, a: &[u64], b: &[u64], out: &mut [u64]) {
    check(ring, m, &[a, b, out]);
    if let Some(backend) = ring.vectorised() {
        return simd::add_halves(backend, m, a, b, out);
    }
    add_words(m, a, b, out);
}

/// As [`crate::kernel::sums`].
pub fn sums(
    ring: &Ring,
    m: &Modulus,
    sources: &[&[u64]],
    rows: &[Vec<u16>],
    out: &mut [&mut [u64]],
) {
    assert!(sources.len() <= 1024 && rows.len() == out.len());
    check(ring, m, sources);
    out.iter().for_each(|o| check(ring, m, &[o]));
    if let Some(backend) = ring.vectorised() {
        return simd::sums_of_halves(backend, m, sources, rows, out);
    }
    sums_of_rows(m, sources, rows, out);
}

/// The centred representatives of packed residues modulo the odd `source`, as stored lazy words modulo `m`.
pub fn centred(ring: &Ring, m: &Modulus, source: &Modulus, halves: &[u64], out: &mut [u64]) {
    check(ring, source, &[halves]);
    assert_eq!(out.len(), ring.n());
    if let Some(backend) = ring.vectorised() {
        return simd::centred(backend, m, source, halves, out);
    }
    let Centring { half, factor, less } = Centring::new(m, source);
    let one = |y: u64| {
        let above = u64::from(y > half).wrapping_neg();
        Modulus::sub_if_ge(m.mul_shoup(y, factor) + (less & above), 2 * m.p())
    };
    let (low, high) = out.split_at_mut(halves.len());
    for ((a, b), &h) in low.iter_mut().zip(high).zip(halves) {
        (*a, *b) = (one(h & LOW), one(h >> HALF_BITS));
    }
}

/// Constants of [`centred`].
pub(crate) struct Centring {
    /// the largest residue that is its own representative
    pub(crate) half: u64,
    /// into stored form
    pub(crate) factor: Shoup,
    /// minus the source, stored
    pub(crate) less: u64,
}

impl Centring {
    pub(crate) fn new(m: &Modulus, source: &Modulus) -> Self {
        Self {
            half: source.p() / 2,
            factor: m.shoup(m.r()),
            less: m.to_stored(m.sub(0, source.p() % m.p())),
        }
    }
}

/// As [`crate::kernel::dot`], with lazy words x_i and packed y_i.
pub fn dot(ring: &Ring, m: &Modulus, terms: &[[&[u64]; 2]], add: bool, out: &mut [u64]) {
    assert!(2 * terms.len() <= kernel::MAX_TERMS && out.len() == ring.n());
    for [x, halves] in terms {
        assert_eq!(x.len(), ring.n());
        check(ring, m, &[halves]);
    }
    if let Some(backend) = ring.vectorised() {
        return simd::dot_halves(backend, m, terms, add, out);
    }
    let words = terms.iter().map(|[_, halves]| {
        let mut words = Words::scratch(ring.n());
        unpack_words(halves, &mut words);
        words
    });
    let words: Vec<Words> = words.collect();
    let terms = terms.iter().zip(&words).map(|([x, _], y)| [*x, &y[..]]);
    kernel::dot(ring, m, &terms.collect::<Vec<_>>(), add, out);
}

/// [`pack`], inlined to use the caller's vector instructions, like the functions below.
#[inline(always)]
pub(crate) fn pack_words(m: &Modulus, words: &[u64], out: &mut [u64]) {
    let (low, high) = words.split_at(words.len() / 2);
    for ((o, &a), &b) in out.iter_mut().zip(low).zip(high) {
        *o = m.canonical(a) | m.canonical(b) << HALF_BITS;
    }
}

#[inline(always)]
pub(crate) fn unpack_words(halves: &[u64], out: &mut [u64]) {
    let (low, high) = out.split_at_mut(out.len() / 2);
    for ((a, b), &h) in low.iter_mut().zip(high).zip(halves) {
        (*a, *b) = (h & LOW, h >> HALF_BITS);
    }
}

#[inline(always)]
pub(crate) fn add_words(m: &Modulus, a: &[u64], b: &[u64], out: &mut [u64]) {
    for ((o, &a), &b) in out.iter_mut().zip(a).zip(b) {
        let low = m.canonical((a & LOW) + (b & LOW));
        let high = m.canonical((a >> HALF_BITS) + (b >> HALF_BITS));
        *o = low | high << HALF_BITS;
    }
}

/// Words per block of [`sums`].
const SUMS_BLOCK: usize = 512;

#[inline(always)]
pub(crate) fn sums_of_rows(
    m: &Modulus,
    sources: &[&[u64]],
    rows: &[Vec<u16>],
    out: &mut [&mut [u64]],
) {
    let n = out.first().map_or(0, |o| o.len());
    let remainder = kernel::Remainder::new(m);
    let reduced = |a: u64| m.canonical(remainder.lazy(a));
    let mut low = [0u64; SUMS_BLOCK];
    let mut high = [0u64; SUMS_BLOCK];
    for start in (0..n).step_by(SUMS_BLOCK) {
        let range = start..n.min(start + SUMS_BLOCK);
        for (row, out) in rows.iter().zip(out.iter_mut()) {
            let (low, high) = (&mut low[..range.len()], &mut high[..range.len()]);
            low.fill(0);
            high.fill(0);
            for &i in row {
                let source = &sources[usize::from(i)][range.clone()];
                for ((l, h), &x) in low.iter_mut().zip(&mut *high).zip(source) {
                    *l += x & LOW;
                    *h += x >> HALF_BITS;
                }
            }
            for ((o, &l), &h) in out[range.clone()].iter_mut().zip(&*low).zip(&*high) {
                *o = reduced(l) | reduced(h) << HALF_BITS;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::{limb, on_each, rings, same_on_each};

    /// A limb that begins with edges.
    fn with_edges(n: usize, edges: &[u64], bound: u64, seed: u64) -> Vec<u64> {
        let mut words = limb(n, bound, seed);
        words[..edges.len()].copy_from_slice(edges);
        words
    }

    fn packed(ring: &Ring, m: &Modulus, words: &[u64]) -> Vec<u64> {
        let mut out = vec![0; ring.n() / 2];
        pack(ring, m, words, &mut out);
        out
    }

    fn canonical(m: &Modulus, words: &[u64]) -> Vec<u64> {
        words.iter().map(|&x| m.canonical(x)).collect()
    }

    #[test]
    fn halves_are_the_words_they_hold() {
        for (p, ring) in [16_776_961, 4_244_570_881]
            .into_iter()
            .flat_map(|p| on_each(&Ring::new(255).unwrap(), |ring| (p, ring.clone())))
        {
            let (m, ring, n) = (&Modulus::new(p), &ring, ring.n());
            let edges = [0, p - 1, p, 2 * p - 1];
            let words: Vec<_> = (0..40).map(|k| with_edges(n, &edges, 2 * p, k)).collect();
            let halves: Vec<_> = words.iter().map(|w| packed(ring, m, w)).collect();
            let unpacked = |halves: &[u64]| {
                let mut out = vec![0; n];
                unpack(ring, halves, &mut out);
                out
            };
            assert_eq!(unpacked(&halves[3]), canonical(m, &words[3]));
            let sources: Vec<&[u64]> = halves.iter().map(Vec::as_slice).collect();
            let rows = [vec![7], (0..40).collect(), vec![1, 5], vec![0, 1]];
            let mut out = vec![vec![0; n / 2]; 4];
            let [a, b, c, sum] = &mut out[..] else {
                unreachable!()
            };
            sums(ring, m, &sources, &rows[..3], &mut [a, b, c]);
            add(ring, m, sources[0], sources[1], sum);
            for (row, out) in rows.iter().zip(&out) {
                let sum = |i: usize| {
                    let terms = row.iter().map(|&k| words[usize::from(k)][i] % p);
                    terms.sum::<u64>() % p
                };
                assert_eq!(unpacked(out), (0..n).map(sum).collect::<Vec<_>>());
            }
        }
    }

    #[test]
    fn centred_residues_and_products_with_halves() {
        let targets = [16_776_961u64, 4_244_570_881, 140_737_437_991_681].map(Modulus::new);
        let source = &Modulus::new(4_043_247_361);
        let p = source.p();
        for ring in rings([255, 65535]) {
            same_on_each(&ring, |ring| {
                let n = ring.n();
                let y = with_edges(n, &[0, 1, p / 2, p / 2 + 1, p - 1], p, 0);
                let halves = packed(ring, source, &y);
                let mut all = Vec::new();
                for m in &targets {
                    let mut out = vec![0; n];
                    centred(ring, m, source, &halves, &mut out);
                    for (&y, &x) in y.iter().zip(&out) {
                        let y = y as i64 - if y > p / 2 { p as i64 } else { 0 };
                        assert!(x < 2 * m.p());
                        assert_eq!(m.from_stored(x), m.from_signed(y));
                    }
                    all.push(canonical(m, &out));
                }
                let x = limb(n, 2 * p, 1);
                for add in [false, true] {
                    let [mut out, mut want] = [(); 2].map(|()| x.clone());
                    dot(ring, source, &[[&x, &halves], [&y, &halves]], add, &mut out);
                    kernel::dot(ring, source, &[[&x, &y], [&y, &y]], add, &mut want);
                    assert_eq!(canonical(source, &out), canonical(source, &want));
                    all.push(canonical(source, &out));
                }
                all
            });
        }
    }
}
