//! The ring R = Z\[X\]/Φ_m(X) for m a product of distinct Fermat primes, its quadratic extension K, and their
//! automorphisms.
//!
//! Write m = ∏ r over a subset of {17, 257, 3, 5} and ζ = ∏ ζ_r. Since m is squarefree, the powers {ζ^k :
//! k ∈ (Z/m)^*} are a basis, the *normal basis*: the tensor product over r of {ζ_r, …, ζ_r^(r-1)}. Discrete
//! logarithms k ≡ g_r^(e_r) mod r label basis elements and, equally, the embeddings ζ -> ω^f by the group G = ∏
//! Z/(r-1). Both domains use one layout:
//!
//! ```text
//! index(e) = ((e17 · |Z256| + e257) · |Z2| + e3) · |Z4| + e5
//!            row           column     └── lane, 8 for m = 65535 ──┘
//! ```
//!
//! An automorphism ζ -> ζ^t translates G by log t in both domains ([`GaloisMap`]): rows, columns and lanes only move.
//!
//! K = R\[w\], w² = w - 2 ([`Ring::extended`]), so w = (1 ± √-7)/2. A polynomial a_0 + w·a_1 has two polynomials of R,
//! its *halves*; in evaluation form, they are its values for the two roots w. Every row holds both, one after the
//! other, so it has two *lines* of columns. Modulo a prime p the roots exist if p is 1, 2 or 4 modulo 7. Modulo 2 they
//! are 0 and 1: the plaintexts are pairs of plaintexts of R. Automorphisms ζ -> ζ^t fix w and act on both halves alike.

use crate::simd::Backend;

/// The axes in storage order: (Fermat prime r, generator of (Z/r)^*).
const AXES: [(u64, u64); 4] = [(17, 3), (257, 3), (3, 2), (5, 2)];

/// The ring Z\[X\]/Φ_m, m squarefree over Fermat primes, or its quadratic extension, and the layout of its polynomials.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ring {
    m: u64,
    lens: [usize; 4],
    /// 1, or 2 for the extension
    halves: usize,
    backend: Backend,
}

impl Ring {
    /// The ring of conductor `m`; `None` unless m > 1 is a product of distinct primes out of 3, 5, 17, 257.
    pub fn new(m: u64) -> Option<Self> {
        Self::with_backend(m, Backend::detect())
    }

    /// [`Ring::new`] with the kernels of `backend` (for tests that compare them).
    pub fn with_backend(m: u64, backend: Backend) -> Option<Self> {
        let mut rest = m;
        let lens = AXES.map(|(r, _)| {
            if rest.is_multiple_of(r) {
                rest /= r;
                r as usize - 1
            } else {
                1
            }
        });
        (m > 1 && rest == 1).then_some(Self {
            m,
            lens,
            halves: 1,
            backend,
        })
    }

    /// This ring with the kernels of `backend`.
    #[cfg(test)]
    pub(crate) fn on(&self, backend: Backend) -> Self {
        Self {
            backend,
            ..self.clone()
        }
    }

    /// The quadratic extension K = R\[w\], w² = w - 2.
    #[must_use]
    pub fn extended(self) -> Self {
        Self { halves: 2, ..self }
    }

    /// R itself, for R and for K.
    #[must_use]
    pub fn base(&self) -> Self {
        Self {
            halves: 1,
            ..self.clone()
        }
    }

    /// Polynomials of R in one of this ring: 1, or 2 for K.
    pub fn halves(&self) -> usize {
        self.halves
    }

    /// Position in this ring of position `i` of R, in the half number `half`.
    pub fn place(&self, half: usize, i: usize) -> usize {
        let len = self.line_len();
        (i / len * self.halves + half) * len + i % len
    }

    /// The conductor m.
    pub fn m(&self) -> u64 {
        self.m
    }

    /// The degree n, φ(m) or twice that: words of one polynomial modulo one prime.
    pub fn n(&self) -> usize {
        self.halves * self.lens.iter().product::<usize>()
    }

    /// Length of the axis of 17 (1 if absent). Elements of Z\[ζ_17\] are constant on rows in evaluation form.
    pub fn rows(&self) -> usize {
        self.lens[0]
    }

    /// Columns of a row: the axis of 257 (1 if absent), in both halves of K.
    pub fn cols(&self) -> usize {
        self.halves * self.lens[1]
    }

    /// Words of a line: a row, or in K one half of it.
    pub fn line_len(&self) -> usize {
        self.row_len() / self.halves
    }

    /// Lines of columns, the halves of all rows.
    pub(crate) fn lines(&self) -> usize {
        self.halves * self.rows()
    }

    /// Columns of a line: the axis of 257 (1 if absent).
    pub(crate) fn line_cols(&self) -> usize {
        self.lens[1]
    }

    /// Words that share row and column.
    pub fn lanes(&self) -> usize {
        self.lens[2] * self.lens[3]
    }

    /// Words of one row.
    pub fn row_len(&self) -> usize {
        self.cols() * self.lanes()
    }

    /// Axis lengths of R in storage order (17, 257, 3, 5).
    pub fn lens(&self) -> [usize; 4] {
        self.lens
    }

    /// The subring Z\[ζ_{m/17}\] of R: in evaluation form all rows of its elements equal their evaluation form in the
    /// subring. `None` if 17 does not divide m, or m = 17, and for K.
    pub fn row_ring(&self) -> Option<Self> {
        let m = self.m / 17;
        (self.rows() > 1 && self.halves == 1).then(|| Self::with_backend(m, self.backend))?
    }

    /// Mean of |b|² over basis elements b, the same at every embedding: 1 in R, and (1 + |w|²)/2 = 3/2 in K.
    pub fn power(&self) -> f64 {
        (1 + self.halves) as f64 / 2.0
    }

    /// The kernels this ring's operations run on.
    pub fn backend(&self) -> Backend {
        self.backend
    }

    /// The backend, or the portable one if the ring lacks the eight lanes of the vector kernels.
    pub(crate) fn vectors(&self) -> Backend {
        if self.lanes() == 8 {
            self.backend
        } else {
            Backend::Portable
        }
    }

    /// The backend, if it has vector kernels for this ring.
    pub(crate) fn vectorised(&self) -> Option<Backend> {
        Some(self.vectors()).filter(|&b| b != Backend::Portable)
    }

    /// Whether there is an axis longer than those of 3 and 5.
    pub(crate) fn has_long_axis(&self) -> bool {
        self.lens[0] * self.lens[1] > 1
    }

    /// Multiplicative order of 2 modulo m: the degree of the slots of F_2\[X\]/Φ_m.
    pub fn order_of_two(&self) -> usize {
        let mut k = 1;
        let mut x = 2 % self.m;
        while x != 1 {
            x = x * 2 % self.m;
            k += 1;
        }
        k
    }

    /// The prime factors r of m present, with their axis number in storage order.
    pub(crate) fn factors(&self) -> impl Iterator<Item = (usize, u64, u64)> + '_ {
        (0..4)
            .filter(|&i| self.lens[i] > 1)
            .map(|i| (i, AXES[i].0, AXES[i].1))
    }

    /// Whether the prime p can be a modulus: 1 modulo [`Ring::modulus_step`], and in K a square root of -7 exists.
    pub fn admits(&self, p: u64) -> bool {
        p % self.modulus_step() == 1 && (self.halves == 1 || matches!(p % 7, 1 | 2 | 4))
    }

    /// Primes p usable as moduli are 1 modulo this: lcm of m and all r - 1.
    pub fn modulus_step(&self) -> u64 {
        self.m * self.factors().map(|(_, r, _)| r - 1).max().unwrap_or(1)
    }

    /// log2 of the largest coefficient of a product in the normal basis, relative to the product of the factors'
    /// largest coefficients. As ζ^0 = -ζ - … - ζ^(r-1), a coefficient is a sum of r - 2 products minus r - 1 others,
    /// for every prime r of m; and the halves of a product are a_0 b_0 - 2 a_1 b_1 and a_0 b_1 + a_1 b_0 + a_1 b_1.
    pub fn product_log2(&self) -> f64 {
        let terms = self.factors().map(|(_, r, _)| (2 * r - 3) as f64);
        let halves = (2 * self.halves - 1) as f64;
        terms.chain([halves]).map(f64::log2).sum()
    }

    /// Position of group element `e` (coordinates in storage order, taken modulo the axis lengths) in the first half.
    pub fn index(&self, e: [usize; 4]) -> usize {
        let at = (0..4).fold(0, |acc, i| acc * self.lens[i] + e[i] % self.lens[i]);
        self.place(0, at)
    }

    /// Coordinates of position `idx` within its half.
    pub fn coordinates(&self, mut idx: usize) -> [usize; 4] {
        let mut e = [0; 4];
        for i in (0..4).rev() {
            e[i] = idx % self.lens[i];
            idx /= if i == 1 { self.cols() } else { self.lens[i] };
        }
        e
    }

    /// The half that position `idx` lies in.
    pub fn half(&self, idx: usize) -> usize {
        idx / self.line_len() % self.halves
    }

    /// The exponent k ∈ (Z/m)^* of position `idx`: basis element ζ^k, or embedding ζ -> ω^k.
    pub fn exponent(&self, idx: usize) -> u64 {
        let e = self.coordinates(idx);
        self.factors().fold(0, |acc, (i, r, g)| {
            // CRT term: the multiple of m/r that is g^e mod r
            let cofactor = self.m / r;
            let residue = pow_mod(g, e[i] as u64, r);
            let scale = residue * pow_mod(cofactor % r, r - 2, r) % r;
            (acc + cofactor * scale) % self.m
        })
    }

    /// The units modulo m in ascending order: the exponents of all positions.
    pub fn units(&self) -> Vec<u64> {
        (1..self.m)
            .filter(|k| self.factors().all(|(_, r, _)| k % r != 0))
            .collect()
    }

    /// The map σ_t : ζ -> ζ^t, or `None` unless t is invertible modulo m.
    pub fn galois(&self, t: u64) -> Option<GaloisMap> {
        let mut shift = [0; 4];
        for (i, r, g) in self.factors() {
            let mut x = 1;
            shift[i] = (0..self.lens[i]).find(|_| {
                let hit = x == t % r;
                x = x * g % r;
                hit
            })?;
        }
        Some(GaloisMap::new(self, shift))
    }

    /// The translation that adds to e3, e5 and e257, each modulo its axis. It moves slots without changing their
    /// contents (up to σ^8, the identity on bytes) and fixes Z\[ζ_17\].
    pub fn translation(&self, [e3, e5, e257]: [usize; 3]) -> GaloisMap {
        let [_, n257, n3, n5] = self.lens;
        GaloisMap::new(self, [0, e257 % n257, e3 % n3, e5 % n5])
    }

    /// Frobenius modulo 2, σ_{2^k}: maps the slots x -> x^(2^k). `k` counts modulo the order of 2.
    pub fn frobenius(&self, k: usize) -> GaloisMap {
        let t = pow_mod(2, (k % self.order_of_two()) as u64, self.m);
        self.galois(t).expect("2 is invertible modulo an odd m")
    }
}

fn pow_mod(base: u64, e: u64, m: u64) -> u64 {
    (0..e).fold(1 % m, |x, _| x * base % m)
}

/// An automorphism as a translation of G: `out[i] = in[source(i)]` in evaluation form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GaloisMap {
    shift: [usize; 4],
    /// by lines, an even number in K
    pub(crate) line_shift: usize,
    pub(crate) col_shift: usize,
    /// source lane of each lane, padded with the identity
    pub(crate) lane_source: [u64; 8],
    lanes: usize,
    lines: usize,
    /// columns of a line
    cols: usize,
}

impl GaloisMap {
    fn new(ring: &Ring, shift: [usize; 4]) -> Self {
        let [_, _, n3, n5] = ring.lens;
        let lane_source = core::array::from_fn(|l| {
            if l < ring.lanes() {
                let (e3, e5) = ((l / n5 + shift[2]) % n3, (l + shift[3]) % n5);
                (e3 * n5 + e5) as u64
            } else {
                l as u64
            }
        });
        Self {
            shift,
            line_shift: ring.halves * shift[0],
            col_shift: shift[1],
            lane_source,
            lanes: ring.lanes(),
            lines: ring.lines(),
            cols: ring.line_cols(),
        }
    }

    /// Where position `i` of the image of an evaluation-form polynomial comes from.
    #[inline]
    pub fn source(&self, i: usize) -> usize {
        let (v, lane) = (i / self.lanes, i % self.lanes);
        let (line, col) = (v / self.cols, v % self.cols);
        let line = (line + self.line_shift) % self.lines;
        let col = (col + self.col_shift) % self.cols;
        (line * self.cols + col) * self.lanes + self.lane_source[lane] as usize
    }

    /// Positions `start..start + out.len()` of the image in evaluation form: whole vectors of lanes in one row.
    ///
    /// Saves the divisions of [`GaloisMap::source`], which cost the portable kernels more than their products.
    #[inline]
    pub(crate) fn gather(&self, source: &[u64], start: usize, out: &mut [u64]) {
        let first = start / self.lanes;
        let mut at = first % self.cols;
        let mut base = (first / self.cols + self.line_shift) % self.lines * self.cols;
        let mut col = (at + self.col_shift) % self.cols;
        for to in out.chunks_exact_mut(self.lanes) {
            let from = &source[(base + col) * self.lanes..][..self.lanes];
            for (x, &lane) in to.iter_mut().zip(&self.lane_source) {
                *x = from[lane as usize];
            }
            (at, col) = (at + 1, if col + 1 == self.cols { 0 } else { col + 1 });
            if at == self.cols {
                (at, base) = (0, base + self.cols);
            }
        }
    }

    /// The shifts of rows and columns, and the source of each of eight lanes.
    pub fn shifts(&self) -> ([usize; 2], [u64; 8]) {
        ([self.shift[0], self.col_shift], self.lane_source)
    }

    /// Where position `i` of the image of a coefficient-form polynomial comes from.
    pub fn coefficient_source(&self, ring: &Ring, i: usize) -> usize {
        let mut e = ring.coordinates(i);
        for (e, (shift, len)) in e.iter_mut().zip(self.shift.iter().zip(ring.lens)) {
            *e += len - shift;
        }
        let offset = ring.half(i) * ring.line_len();
        ring.index(e) + offset
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn admitted_conductors() {
        let large = [(21845, 16384, 1024), (65535, 32768, 2048)];
        for (m, n, slots) in [(255, 128, 16), (4369, 4096, 256)].into_iter().chain(large) {
            let ring = Ring::new(m).unwrap();
            assert_eq!(ring.n(), n);
            assert_eq!(n / ring.order_of_two(), slots);
        }
        for m in [0, 1, 2, 7, 9, 255 * 3, 65537] {
            assert_eq!(Ring::new(m), None, "m = {m}");
        }
    }

    #[test]
    fn exponents_are_the_units_and_galois_maps_multiply_them() {
        let rings = [15, 255, 4369].map(|m| Ring::new(m).unwrap());
        let extended = rings.clone().map(Ring::extended);
        for ring in rings.into_iter().chain(extended) {
            let m = ring.m();
            let exps: Vec<u64> = (0..ring.n()).map(|i| ring.exponent(i)).collect();
            for half in 0..ring.halves() {
                let places = (0..ring.base().n()).map(|i| ring.place(half, i));
                let mut sorted: Vec<u64> = places.map(|i| exps[i]).collect();
                sorted.sort_unstable();
                assert_eq!(sorted, ring.units());
            }
            for t in [1u64, 2, 4, 7, 11, m - 1] {
                let map = ring.galois(t).unwrap();
                for i in 0..ring.n() {
                    // (σ_t a)(ω^f) = a(ω^{tf}); σ_t moves ζ^e to ζ^{te}
                    assert_eq!(exps[map.source(i)], exps[i] * t % m);
                    assert_eq!(exps[map.coefficient_source(&ring, i)] * t % m, exps[i]);
                    let halves = [map.source(i), map.coefficient_source(&ring, i)];
                    assert_eq!(halves.map(|i| ring.half(i)), [ring.half(i); 2]);
                }
            }
        }
        let ring = Ring::new(255).unwrap();
        assert!(ring.galois(5).is_none());
        assert_eq!(ring.frobenius(8 * (usize::MAX / 8) + 3), ring.frobenius(3));
    }
}
