//! Multiply-accumulate and element-wise kernels on evaluation-form limbs, with their portable twins.
//!
//! A *limb* is one polynomial modulo one prime: `n` lazy words. Limbs in evaluation form carry the factor R = 2^52
//! (see [`crate::modulus`]). All functions panic on slices of the wrong length.
//!
//! Sums of products cost two multiplications per product and one reduction per output word.

use crate::key_limb::KeyLimb;
use crate::modulus::{MASK, Modulus, Shoup, WORD_BITS};
use crate::ring::{GaloisMap, Ring};
use crate::simd;
use core::ops::Range;

/// `σ(source) · key`, for both polynomials of a key and every output that uses it.
#[derive(Clone, Copy)]
pub struct Term<'a> {
    /// one lazy limb per output
    pub sources: &'a [&'a [u64]],
    /// automorphism applied to the sources on the fly
    pub map: &'a GaloisMap,
    /// two canonical limbs
    pub key: [&'a KeyLimb; 2],
}

/// `σ(source) · c` for c ∈ Z\[ζ_17\], which is constant on rows.
#[derive(Clone, Copy)]
pub struct RowTerm<'a> {
    /// one lazy limb per output
    pub sources: &'a [&'a [u64]],
    /// automorphism applied to the sources on the fly
    pub map: &'a GaloisMap,
    /// one canonical stored constant per row
    pub by_row: &'a [u64],
    /// whether the term goes to the second output
    pub second: bool,
}

/// The operands of a product of two ciphertexts before relinearisation.
#[derive(Clone, Copy)]
pub struct Tensor<'a> {
    /// (x0, x1), decrypting under (1, s)
    pub x: [&'a [u64]; 2],
    /// (y0, y1), before the automorphism
    pub y: [&'a [u64]; 2],
    /// automorphism σ applied to y
    pub map: &'a GaloisMap,
    /// constant multiplied into σ(y1): the components to be key-switched
    pub scale: Shoup,
}

/// Maximum products of one [`inner_product`]: each adds at most p/8 to the reduced value, which must stay below 8p.
pub const MAX_TERMS: usize = 48;

/// For every output, `out_c = Σ_terms σ(source)·key_c + Σ_rows σ(source)·c`, lazy; at most [`MAX_TERMS`] terms.
///
/// Outputs share each load of a key word.
pub fn inner_product(
    ring: &Ring,
    m: &Modulus,
    terms: &[Term<'_>],
    rows: &[RowTerm<'_>],
    out: &mut [[&mut [u64]; 2]],
) {
    check_inner_product(ring, terms, rows, out);
    if let Some(backend) = ring.vectorised() {
        return simd::inner_product(backend, ring, m, terms, rows, out);
    }
    let (mut moved, mut keys) = ([0; BLOCK], [0; BLOCK]);
    for (output, [out0, out1]) in out.iter_mut().enumerate() {
        for range in blocks(ring) {
            let moved = &mut moved[..range.len()];
            let keys = &mut keys[..range.len()];
            let mut sums = [[0u128; BLOCK]; 2];
            for t in terms {
                t.map.gather(t.sources[output], range.start, moved);
                for (sums, key) in sums.iter_mut().zip(t.key) {
                    key.copy_to(range.start, keys);
                    for ((sum, &x), &k) in sums.iter_mut().zip(&*moved).zip(&*keys) {
                        *sum += u128::from(x) * u128::from(k);
                    }
                }
            }
            for t in rows {
                t.map.gather(t.sources[output], range.start, moved);
                let c = u128::from(t.by_row[range.start / ring.row_len()]);
                let sums = &mut sums[usize::from(t.second)];
                for (sum, &x) in sums.iter_mut().zip(&*moved) {
                    *sum += u128::from(x) * c;
                }
            }
            for (out, sums) in [&mut *out0, &mut *out1].into_iter().zip(sums) {
                for (o, sum) in out[range.clone()].iter_mut().zip(sums) {
                    *o = m.lazy(reduce(m, sum));
                }
            }
        }
    }
}

/// How many of the `left` remaining outputs share each load of a key word next, on AVX-512 IFMA.
#[must_use]
pub(crate) fn sharing(left: usize) -> usize {
    match left {
        0 | 1 => left,
        2 | 3 => 2,
        _ => 4,
    }
}

/// How often the AVX-512 IFMA kernels read the keys of an [`inner_product`] with `outputs` outputs.
#[must_use]
pub fn key_readings(outputs: usize) -> usize {
    let mut left = outputs;
    core::iter::from_fn(|| {
        let together = sharing(left);
        left -= together;
        (together > 0).then_some(())
    })
    .count()
}

/// Asserts that all limbs of an inner product have n words, and that no reduction sums too many products.
pub(crate) fn check_inner_product(
    ring: &Ring,
    terms: &[Term<'_>],
    rows: &[RowTerm<'_>],
    out: &[[&mut [u64]; 2]],
) {
    assert!(terms.len() + rows.len() <= MAX_TERMS);
    let (n, outputs) = (ring.n(), out.len());
    assert!(out.iter().flatten().all(|o| o.len() == n));
    let fit = |sources: &[&[u64]]| sources.len() == outputs && sources.iter().all(|s| s.len() == n);
    for t in terms {
        assert!(fit(t.sources) && t.key.iter().all(|k| k.len() == n));
    }
    for t in rows {
        assert!(fit(t.sources) && t.by_row.len() == ring.rows());
    }
}

/// Asserts that sources and outputs have one length, which it returns, and that every source has a constant.
pub(crate) fn check_combine(
    combinations: &[Combination<'_>],
    sources: &[&[u64]],
    out: &[&mut [u64]],
) -> usize {
    let len = sources.first().map_or(0, |s| s.len());
    assert!(sources.len() <= MAX_SOURCES && sources.iter().all(|s| s.len() == len));
    assert!(combinations.len() == out.len() && out.iter().all(|o| o.len() == len));
    assert!(
        combinations
            .iter()
            .all(|c| c.constants.len() == sources.len())
    );
    len
}

/// Sums over the rows of a larger ring, whose rows are limbs of this one: for each σ of `maps`, `out_c = Σ_r
/// σ(x_r) · key_c,r`, canonical; at most [`MAX_TERMS`] rows, all canonical.
///
/// Results share each load of a key word, and all but the first read x from the cache.
pub fn row_sums(
    ring: &Ring,
    m: &Modulus,
    x: &[u64],
    keys: [&[u64]; 2],
    maps: &[&GaloisMap],
    out: &mut [[&mut [u64]; 2]],
) {
    let n = ring.n();
    assert!(ring.rows() == 1 && x.len().is_multiple_of(n) && x.len() / n <= MAX_TERMS);
    assert!(keys.iter().all(|k| k.len() == x.len()) && maps.len() == out.len());
    assert!(out.iter().flatten().all(|o| o.len() == n));
    if let Some(backend) = ring.vectorised() {
        return simd::row_sums(backend, ring, m, x, keys, maps, out);
    }
    let mut moved = [0; BLOCK];
    for (map, outs) in maps.iter().zip(out) {
        for range in blocks(ring) {
            let moved = &mut moved[..range.len()];
            let mut sums = [[0u128; BLOCK]; 2];
            for (row, x) in x.chunks_exact(n).enumerate() {
                map.gather(x, range.start, moved);
                for (sums, key) in sums.iter_mut().zip(keys) {
                    let key = &key[row * n..][range.clone()];
                    for ((sum, &x), &k) in sums.iter_mut().zip(&*moved).zip(key) {
                        *sum += u128::from(x) * u128::from(k);
                    }
                }
            }
            for (out, sums) in outs.iter_mut().zip(sums) {
                for (o, sum) in out[range.clone()].iter_mut().zip(sums) {
                    *o = m.canonical(m.lazy(reduce(m, sum)));
                }
            }
        }
    }
}

/// x/p on the torus, in units of 2^-64, for lazy plain residues x; the error is at most 2^-50 of the torus.
pub fn to_torus(ring: &Ring, m: &Modulus, x: &[u64], out: &mut [u64]) {
    assert!(x.len() == out.len() && x.len().is_multiple_of(ring.lanes()));
    let constants = torus_constants(m);
    if let Some(backend) = ring.vectorised() {
        return simd::to_torus(backend, m, x, constants, out);
    }
    to_torus_words(m, x, constants, out);
}

/// The constants s and f of [`to_torus`]: a canonical x gives floor(x 2^s f / 2^52) 2^13 + 2^12.
pub fn torus_constants(m: &Modulus) -> [u64; 2] {
    let factor = (1u128 << (51 + m.bits())) / u128::from(m.p());
    [u64::from(52 - m.bits()), factor as u64]
}

/// [`to_torus`], inlined to use the caller's vector instructions.
#[inline(always)]
pub(crate) fn to_torus_words(m: &Modulus, x: &[u64], [shift, factor]: [u64; 2], out: &mut [u64]) {
    for (o, &x) in out.iter_mut().zip(x) {
        let product = u128::from(m.canonical(x) << shift) * u128::from(factor);
        // plus half of the truncated part
        *o = ((product >> 52) as u64) << 13 | 1 << 12;
    }
}

/// `out = Σ x_i · y_i`, plus the previous `out` with `add`; lazy. At most [`MAX_TERMS`]/2 products of lazy limbs.
pub fn dot(ring: &Ring, m: &Modulus, terms: &[[&[u64]; 2]], add: bool, out: &mut [u64]) {
    assert!(2 * terms.len() <= MAX_TERMS && out.len() == ring.n());
    assert!(terms.iter().flatten().all(|s| s.len() == out.len()));
    if let Some(backend) = ring.vectorised() {
        return simd::dot(backend, m, terms, add, out);
    }
    dot_words(m, terms, add, out);
}

/// [`dot`] for several elements with the same canonical y_i, on any range of limbs that is a multiple of [`RANGE`]
/// words; `x[e]` are the lazy x_i of element e. At most [`MAX_TERMS`] products.
///
/// Elements share each load of a y_i. Meanwhile `next`, the y of the next call, is prefetched.
pub fn dots(
    ring: &Ring,
    m: &Modulus,
    x: &[&[&[u64]]],
    [y, next]: [&[&[u64]]; 2],
    add: bool,
    out: &mut [&mut [u64]],
) {
    assert!(y.len() <= MAX_TERMS && x.len() == out.len());
    let len = out.first().map_or(0, |o| o.len());
    assert!(len.is_multiple_of(RANGE) && out.iter().all(|o| o.len() == len));
    assert!(
        y.iter()
            .chain(x.iter().copied().flatten())
            .all(|s| s.len() == len)
    );
    assert!(next.len() == y.len() && next.iter().all(|s| s.len() == len));
    assert!(x.iter().all(|x| x.len() == y.len()));
    if let Some(backend) = ring.vectorised() {
        return simd::dots(backend, m, x, [y, next], add, out);
    }
    for (x, out) in x.iter().zip(out) {
        let terms = x.iter().zip(y).map(|(x, y)| [*x, *y]);
        dot_words(m, &terms.collect::<Vec<_>>(), add, out);
    }
}

/// Limbs of the integers `Σ y_t c_t`, 46 bits each: output k holds limb k of all coefficients, the last outputs what
/// is carried out of the limbs of the c_t. `constants[t]` are the limbs of c_t, equally many for all. At most 64
/// terms, all words below 2^46, in ranges that are multiples of [`RANGE`] words.
///
/// Cost: two multiplications per term and limb of a coefficient.
pub fn limb_sums(ring: &Ring, y: &[&[u64]], constants: &[Vec<u64>], out: &mut [&mut [u64]]) {
    let (len, limbs) = (out[0].len(), constants.first().map_or(0, Vec::len));
    assert!(y.len() <= 64 && y.len() == constants.len() && limbs + 2 <= out.len());
    assert!(len.is_multiple_of(RANGE) && out.iter().all(|o| o.len() == len));
    assert!(y.iter().all(|y| y.len() == len) && constants.iter().all(|c| c.len() == limbs));
    if let Some(backend) = ring.vectorised() {
        return simd::limb_sums(backend, y, constants, out);
    }
    limb_sums_words(y, constants, out);
}

/// [`limb_sums`], inlined to use the caller's vector instructions.
#[inline(always)]
pub(crate) fn limb_sums_words(y: &[&[u64]], constants: &[Vec<u64>], out: &mut [&mut [u64]]) {
    let mut carried = vec![0u128; out[0].len()];
    for (k, out) in out.iter_mut().enumerate() {
        for (y, c) in y.iter().zip(constants) {
            let c = c.get(k).copied().unwrap_or(0);
            for (sum, &y) in carried.iter_mut().zip(*y) {
                *sum += u128::from(y) * u128::from(c);
            }
        }
        for (o, sum) in out.iter_mut().zip(&mut carried) {
            *o = *sum as u64 & LIMB_MASK;
            *sum >>= LIMB_BITS;
        }
    }
}

/// Bits of a limb of [`limb_sums`].
pub const LIMB_BITS: u32 = 46;
pub(crate) const LIMB_MASK: u64 = (1 << LIMB_BITS) - 1;

/// Ranges of [`dots`] and [`limb_sums`] are multiples of this.
pub const RANGE: usize = 32;

fn dot_words(m: &Modulus, terms: &[[&[u64]; 2]], add: bool, out: &mut [u64]) {
    let keep = u64::from(add).wrapping_neg();
    for (start, out) in (0..).step_by(BLOCK).zip(out.chunks_mut(BLOCK)) {
        let range = start..start + out.len();
        let mut sums = [0u128; BLOCK];
        for [x, y] in terms {
            let factors = x[range.clone()].iter().zip(&y[range.clone()]);
            for (sum, (&x, &y)) in sums.iter_mut().zip(factors) {
                *sum += u128::from(x) * u128::from(y);
            }
        }
        for (o, sum) in out.iter_mut().zip(sums) {
            let sum = m.lazy(reduce(m, sum));
            *o = Modulus::sub_if_ge(sum + (*o & keep), 2 * m.p());
        }
    }
}

/// Words per block of the portable kernels, whose sums stay in the first-level cache.
const BLOCK: usize = 64;

/// The positions of a limb in blocks of at most [`BLOCK`] words of one row.
fn blocks(ring: &Ring) -> impl Iterator<Item = Range<usize>> {
    let row_len = ring.row_len();
    (0..ring.n()).step_by(row_len).flat_map(move |row| {
        let ends = row + row_len;
        (row..ends)
            .step_by(BLOCK)
            .map(move |start| start..ends.min(start + BLOCK))
    })
}

/// Reduces a sum of products to a word, as [`Modulus::reduce`] does.
#[inline(always)]
fn reduce(m: &Modulus, sum: u128) -> u64 {
    m.reduce(sum as u64 & MASK, (sum >> WORD_BITS) as u64)
}

/// `(x0 σ(y0), x1 σ(y0), x0 σ(y1) c, x1 σ(y1) c)`: the 1, s, σ(s) and s·σ(s) components, lazy.
pub fn tensor(ring: &Ring, m: &Modulus, t: &Tensor<'_>, out: [&mut [u64]; 4]) {
    let n = ring.n();
    assert!(t.x.iter().chain(&t.y).all(|s| s.len() == n) && out.iter().all(|o| o.len() == n));
    if let Some(backend) = ring.vectorised() {
        return simd::tensor(backend, ring, m, t, out);
    }
    let [o0, o1, o2, o3] = out;
    let mul = |x: u64, y: u64| reduce(m, u128::from(x) * u128::from(y));
    let mut moved = [[0; BLOCK]; 2];
    for range in blocks(ring) {
        for (moved, y) in moved.iter_mut().zip(t.y) {
            t.map.gather(y, range.start, &mut moved[..range.len()]);
        }
        for (at, i) in range.enumerate() {
            let (x0, x1, y0) = (t.x[0][i], t.x[1][i], moved[0][at]);
            let y1 = m.mul_shoup(moved[1][at], t.scale);
            (o0[i], o1[i], o2[i], o3[i]) = (mul(x0, y0), mul(x1, y0), mul(x0, y1), mul(x1, y1));
        }
    }
}

/// The switched component of [`tensor`] with x_`part`, under σ(s) or s·σ(s): `x_part σ(y1) c`, lazy.
pub fn tensor_part(ring: &Ring, m: &Modulus, t: &Tensor<'_>, part: usize, out: &mut [u64]) {
    let n = ring.n();
    assert!(t.x[part].len() == n && t.y[1].len() == n && out.len() == n);
    if let Some(backend) = ring.vectorised() {
        return simd::tensor_part(backend, ring, m, t, part, out);
    }
    let mut moved = [0; BLOCK];
    for range in blocks(ring) {
        t.map.gather(t.y[1], range.start, &mut moved[..range.len()]);
        for (at, i) in range.enumerate() {
            let y1 = m.mul_shoup(moved[at], t.scale);
            out[i] = reduce(m, u128::from(t.x[part][i]) * u128::from(y1));
        }
    }
}

/// `(x0 y0, x0 y1 + x1 y0, x1 y1 c)`: the 1, s and s² components, lazy.
pub fn product(ring: &Ring, m: &Modulus, [x, y]: [[&[u64]; 2]; 2], c: Shoup, out: [&mut [u64]; 3]) {
    let n = ring.n();
    assert!(x.iter().chain(&y).all(|s| s.len() == n) && out.iter().all(|o| o.len() == n));
    if let Some(backend) = ring.vectorised() {
        return simd::product(backend, m, [x, y], c, out);
    }
    let [o0, o1, o2] = out;
    let mul = |x: u64, y: u64| u128::from(x) * u128::from(y);
    for i in 0..n {
        let (x0, x1, y0, y1) = (x[0][i], x[1][i], y[0][i], y[1][i]);
        o0[i] = reduce(m, mul(x0, y0));
        o1[i] = reduce(m, mul(x0, y1) + mul(x1, y0));
        o2[i] = reduce(m, mul(x1, m.mul_shoup(y1, c)));
    }
}

/// A target modulus of [`combine`], with a canonical constant per source.
#[derive(Clone, Copy)]
pub struct Combination<'a> {
    /// The modulus.
    pub modulus: &'a Modulus,
    /// One per source.
    pub constants: &'a [u64],
}

/// Combinations that [`combine`] makes per reading of its sources.
pub const AT_ONCE: usize = 8;

/// Sources that [`combine`] may sum.
pub const MAX_SOURCES: usize = 16;

/// For each combination `out = Σ_i sources_i · constants_i / R`, lazy. At most [`MAX_SOURCES`] sources, below 2^48,
/// in ranges of whole vectors of lanes. The sources are read once per [`AT_ONCE`] combinations.
pub fn combine(
    ring: &Ring,
    combinations: &[Combination<'_>],
    sources: &[&[u64]],
    out: &mut [&mut [u64]],
) {
    let len = check_combine(combinations, sources, out);
    assert!(len.is_multiple_of(ring.lanes()));
    if let Some(backend) = ring.vectorised() {
        return simd::combine(backend, combinations, sources, out);
    }
    for (combination, out) in combinations.iter().zip(out) {
        for (start, out) in (0..).step_by(BLOCK).zip(out.chunks_mut(BLOCK)) {
            let mut sums = [0u128; BLOCK];
            for (source, &c) in sources.iter().zip(combination.constants) {
                for (sum, &x) in sums.iter_mut().zip(&source[start..start + out.len()]) {
                    *sum += u128::from(x) * u128::from(c);
                }
            }
            for (o, sum) in out.iter_mut().zip(sums) {
                *o = reduce(combination.modulus, sum);
            }
        }
    }
}

/// `out = round(Σ_i sources_i · inverses_i)`.
///
/// The double-precision sum decides ties within 2^-48 either way. Both answers are centred representatives up to that
/// fraction of the modulus, and all targets share the one chosen.
pub fn quotient(ring: &Ring, sources: &[&[u64]], inverses: &[f64], out: &mut [u64]) {
    assert_eq!(sources.len(), inverses.len());
    assert!(sources.iter().all(|s| s.len() == ring.n()) && out.len() == ring.n());
    if let Some(backend) = ring.vectorised() {
        return simd::quotient(backend, sources, inverses, out);
    }
    for (i, o) in out.iter_mut().enumerate() {
        let sum = sources
            .iter()
            .zip(inverses)
            .fold(0.5, |sum, (s, inv)| sum + s[i] as f64 * inv);
        *o = whole(sum);
    }
}

/// The integer part of 0 ≤ x < 2^51. A cast would branch to saturate.
#[inline(always)]
fn whole(x: f64) -> u64 {
    const TWO_52: f64 = (1u64 << 52) as f64;
    let near = x + TWO_52;
    (near.to_bits() - TWO_52.to_bits()) - u64::from(near - TWO_52 > x)
}

/// `a = a · c`, canonical.
pub fn scale_canonical(ring: &Ring, m: &Modulus, c: Shoup, a: &mut [u64]) {
    assert_eq!(a.len(), ring.n());
    if let Some(backend) = ring.vectorised() {
        return simd::scale_canonical(backend, m, c, a);
    }
    for x in a {
        *x = m.scale(*x, c);
    }
}

/// `out = a + b`, lazy.
pub fn add(ring: &Ring, m: &Modulus, a: &[u64], b: &[u64], out: &mut [u64]) {
    assert!([a.len(), b.len(), out.len()] == [ring.n(); 3]);
    if let Some(backend) = ring.vectorised() {
        return simd::add(backend, m, a, b, out);
    }
    add_words(m, a, b, out);
}

/// [`add`], inlined to use the caller's vector instructions.
#[inline(always)]
pub(crate) fn add_words(m: &Modulus, a: &[u64], b: &[u64], out: &mut [u64]) {
    for ((o, &a), &b) in out.iter_mut().zip(a).zip(b) {
        *o = Modulus::sub_if_ge(a + b, 2 * m.p());
    }
}

/// `out += a · c`, lazy.
pub fn scale_add(ring: &Ring, m: &Modulus, a: &[u64], c: Shoup, out: &mut [u64]) {
    assert!(a.len() == ring.n() && out.len() == ring.n());
    if let Some(backend) = ring.vectorised() {
        return simd::scale_add(backend, m, a, c, out);
    }
    for (o, &x) in out.iter_mut().zip(a) {
        *o = Modulus::sub_if_ge(*o + m.mul_shoup(x, c), 2 * m.p());
    }
}

/// Words per block of [`sums`]: those of 72 sources fit a second-level cache.
const SUMS_BLOCK: usize = 512;

/// `out_k = Σ sources[i]` over the i in `rows[k]`, lazy; at most 1024 sources, each below 4p.
///
/// Reads every source from memory once. Cost: one addition per entry of the rows, one reduction per output word.
pub fn sums(
    ring: &Ring,
    m: &Modulus,
    sources: &[&[u64]],
    rows: &[Vec<u16>],
    out: &mut [&mut [u64]],
) {
    let n = ring.n();
    assert!(sources.len() <= 1024 && rows.len() == out.len());
    assert!(sources.iter().all(|s| s.len() == n) && out.iter().all(|o| o.len() == n));
    if let Some(backend) = ring.vectorised() {
        return simd::sums(backend, m, sources, rows, out);
    }
    sums_of_rows(m, sources, rows, out);
}

/// Division of any word by p.
#[derive(Clone, Copy)]
pub(crate) struct Remainder {
    p: u64,
    /// ⌊2^64 / p⌋, p odd
    inverse: u64,
}

impl Remainder {
    pub(crate) fn new(m: &Modulus) -> Self {
        let p = m.p();
        let inverse = u64::MAX / p;
        Self { p, inverse }
    }

    /// a modulo p, below 2p.
    #[inline(always)]
    pub(crate) fn lazy(self, a: u64) -> u64 {
        // the quotient is at most 1 too small
        let q = ((u128::from(a) * u128::from(self.inverse)) >> 64) as u64;
        a - q * self.p
    }
}

/// [`sums`], inlined to use the caller's vector instructions.
#[inline(always)]
pub(crate) fn sums_of_rows(
    m: &Modulus,
    sources: &[&[u64]],
    rows: &[Vec<u16>],
    out: &mut [&mut [u64]],
) {
    let n = out.first().map_or(0, |o| o.len());
    let remainder = Remainder::new(m);
    let mut acc = [0u64; SUMS_BLOCK];
    for start in (0..n).step_by(SUMS_BLOCK) {
        let range = start..n.min(start + SUMS_BLOCK);
        for (row, out) in rows.iter().zip(out.iter_mut()) {
            let acc = &mut acc[..range.len()];
            acc.fill(0);
            for &i in row {
                let source = &sources[usize::from(i)][range.clone()];
                acc.iter_mut().zip(source).for_each(|(a, x)| *a += x);
            }
            for (o, &a) in out[range.clone()].iter_mut().zip(&*acc) {
                *o = remainder.lazy(a);
            }
        }
    }
}

/// MixColumns on four limbs in place: `s_i <- 2 s_i + 3 s_{i+1} + s_{i+2} + s_{i+3}`, lazy, where
/// "2" is the element of Z\[ζ_17\] with the given values (one per row) and 3s = 2s + s.
pub fn mix_column(ring: &Ring, m: &Modulus, two_by_row: &[Shoup], s: [&mut [u64]; 4]) {
    assert!(s.iter().all(|s| s.len() == ring.n()) && two_by_row.len() == ring.rows());
    if let Some(backend) = ring.vectorised() {
        return simd::mix_column(backend, ring, m, two_by_row, s);
    }
    let (row_len, one) = (ring.row_len(), m.shoup(1));
    for i in 0..ring.n() {
        let x = [s[0][i], s[1][i], s[2][i], s[3][i]];
        let d = x.map(|x| m.mul_shoup(x, two_by_row[i / row_len]));
        let sum: u64 = x.iter().sum();
        for j in 0..4 {
            s[j][i] = m.mul_shoup(sum - x[j] + d[j] + d[(j + 1) % 4], one);
        }
    }
}

#[cfg(test)]
mod tests;
